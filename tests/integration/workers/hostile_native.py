"""Native workers that attack the gate: `hostile_native.py KIT CLASS`, where KIT is the path of sdk/conformance."""
import array
import os
import socket
import struct
import sys
import threading

sys.path.insert(0, sys.argv[1])
import minimal_worker as correct  # noqa: E402

RIGHTS_MAX = 250  # the kernel passes at most 253 descriptors at once


class Garbage(correct.Worker):
    def hello(self):
        while True:
            self.socket.sendall(os.urandom(1 << 16))


class GarbageLater(correct.Worker):
    def done(self, *_, **__):
        Garbage.hello(self)


class EndlessLoading(correct.Worker):
    def load(self):
        while True:
            self.loading(0.5, "x" * 60_000)


class EndlessLogs(correct.Worker):
    """Sends log frames without end, and serves meanwhile."""

    def ready(self):
        super().ready()
        threading.Thread(target=self.log_for_ever, daemon=True).start()

    def log_for_ever(self):
        text = b"\1\0" + b"a line of a log\n" * 4000
        while True:
            self.write(correct.LOG, 0, text)


class EndlessChunks(correct.Worker):
    """Streams without end, and ignores pause frames."""

    def predict_echo(self, job, asked):
        if asked["echo"] == "example":
            return super().predict_echo(job, asked)
        self.begin(job)
        while True:
            self.write(correct.CHUNK, job.number, b"x" * correct.INLINE_MAX)


class SteadyChunks(correct.Worker):
    """Streams without end, but heeds pause frames."""

    def predict_echo(self, job, asked):
        if asked["echo"] == "example":
            return super().predict_echo(job, asked)
        self.begin(job)
        while self.chunk(job, b"x" * correct.INLINE_MAX):
            pass
        self.done(job)


class EndlessPieces(EndlessChunks):
    """Streams small chunks without end."""

    def predict_echo(self, job, asked):
        if asked["echo"] == "example":
            return super().predict_echo(job, asked)
        self.begin(job)
        piece = correct.HEADER.pack(16, correct.CHUNK, 0, 0, job.number) + b"x" * 16
        while True:
            self.socket.sendall(piece * 1000)


class EndlessProgress(correct.Worker):
    def predict_echo(self, job, asked):
        while asked["echo"] != "example":
            self.progress(job, 0.5, "x" * 60_000)
        return super().predict_echo(job, asked)


class HalfAFrame(correct.Worker):
    """Announces a frame, sends only half of it, and stays connected."""

    def done(self, job, *parts, **more):
        if job.purpose == 1:
            return super().done(job, *parts, **more)
        self.socket.sendall(correct.HEADER.pack(1 << 20, correct.DONE, 0, 0, job.number) + b"\xc8\0")


class ManyDescriptors(correct.Worker):
    """Sends a thousand descriptors with the bytes of one frame."""

    def done(self, job, *_, **__):
        frame = correct.HEADER.pack(1 << 20, correct.DONE, 1, 0, job.number)
        rights = array.array("i", [os.open("/dev/null", os.O_RDONLY)] * RIGHTS_MAX)
        for at in range(4):
            self.socket.sendmsg([frame[4 * at:4 * at + 4]],
                                [(socket.SOL_SOCKET, socket.SCM_RIGHTS, rights)])


class DescriptorsWithoutNeed(correct.Worker):
    """Sends a descriptor with every log frame, without end."""

    def ready(self):
        super().ready()
        frame = correct.HEADER.pack(5, correct.LOG, 0, 0, 0) + b"\1\0abc"
        rights = array.array("i", [os.open("/dev/null", os.O_RDONLY)])
        while True:
            self.socket.sendmsg([frame], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, rights)])


class HugeMemfd(correct.Worker):
    """Answers with a memfd that is sealed as it should be, but 1 TiB long."""

    def done(self, job, *parts, **more):
        if job.purpose == 1:
            return super().done(job, *parts, **more)
        fd = os.memfd_create("huge", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        os.ftruncate(fd, 1 << 40)
        correct.fcntl.fcntl(fd, correct.fcntl.F_ADD_SEALS, correct.SEALS)
        head = struct.pack("<HHI", 200, 0, 0) + struct.pack("<Q", 1 << 40)
        self.write(correct.DONE, job.number, head, 1, fd)
        os.close(fd)


class NeverReads(correct.Worker):
    def read(self):
        threading.Event().wait() if self.welcomed.is_set() else super().read()


globals()[sys.argv[2]]().run()
