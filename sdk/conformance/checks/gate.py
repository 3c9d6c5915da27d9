"""The kit's gate: starts a worker with a socket, sends frames, and checks every frame of the worker.

    with Gate(command, patience=20) as gate:
        gate.until_ready()
        job = gate.send_job({"echo": 1})
        gate.wait(lambda: job.ended, "the end of the job")

Nothing sleeps for a fixed time: every wait ends when the expected thing happens, or fails after `patience` seconds.
"""
import array
import fcntl
import json
import os
import select
import signal
import socket
import struct
import subprocess
import tempfile
import termios
import time
from dataclasses import dataclass, field

from . import frames
from .frames import Breach

SEALS = 0x0001 | 0x0002 | 0x0004 | 0x0008  # seal, shrink, grow, write
PAUSED_MAX = 8 * 1024 * 1024
DESCRIPTORS_MAX = 16  # in one message


class Failure(Exception):
    """A check failed; the text says why."""


class NoWorker(Exception):
    """The worker's command can't be run at all."""


@dataclass
class Job:
    number: int
    status: int = 0
    fields: list = field(default_factory=list)
    body: bytes = b""
    streams: bool = False
    in_descriptor: bool = False
    progress: list = field(default_factory=list)
    failed: object = None
    ended: bool = False
    paused_bytes: object = None  # bytes since the pause; None if not paused

    @property
    def json(self):
        try:
            return json.loads(self.body)
        except ValueError:
            raise Failure(f"the answer is not JSON: {self.body[:200]!r}") from None

    def header(self, name):
        return next((value for key, value in self.fields if key == name), None)


class Gate:
    def __init__(self, command, patience, variant="full", environment=()):
        self.patience = patience
        self.hello = self.ready = self.stop_sent = None
        self.loading, self.logs, self.jobs, self.pongs, self.stacks = [], [], {}, set(), {}
        self.asked, self.asked_stacks = set(), set()
        self.out, self.pending, self.descriptors = [], bytearray(), []
        self.ended, self.number = False, 0
        self.output, self.errors = tempfile.TemporaryFile(), tempfile.TemporaryFile()
        self.socket, theirs = socket.socketpair()
        self.socket.setblocking(False)
        self.worker_descriptor = theirs.fileno()
        worker_environment = dict(os.environ, TURNPIKE_SOCKET=str(self.worker_descriptor), TURNPIKE_LANE="0", TURNPIKE_POOL="conformance",
                            CONFORMANCE=variant, PYTHONUNBUFFERED="1", **dict(environment))
        worker_environment.pop("CUDA_VISIBLE_DEVICES", None)
        with theirs:
            try:
                self.process = subprocess.Popen(command, pass_fds=[self.worker_descriptor], env=worker_environment, stdin=subprocess.DEVNULL,
                                                stdout=self.output, stderr=self.errors, start_new_session=True)
            except OSError as error:
                self.socket.close()
                raise NoWorker(f"the worker does not start: {error}") from None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for descriptor in self.descriptors:
            os.close(descriptor)
        self.socket.close()
        try:
            os.killpg(self.process.pid, signal.SIGKILL)  # the worker, and every process that it left in its session
        except ProcessLookupError:
            pass
        self.process.wait()
        self.output.close()
        self.errors.close()

    # ── sending ──────────────────────────────────────────────────────────────────────────────────

    def send(self, data, descriptors=()):
        """Queues data, and sends as much as the worker accepts; pump() sends the rest. Descriptors go with the first byte."""
        self.out.append((data, list(descriptors)))
        self.flush()

    def flush(self):
        while self.out:
            data, descriptors = self.out[0]
            rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", descriptors))] if descriptors else []
            try:
                sent = self.socket.sendmsg([data], rights)
            except BlockingIOError:
                return
            except (BrokenPipeError, ConnectionResetError):
                self.out.clear()
                return
            if sent < len(data):
                self.out[0] = data[sent:], []
            else:
                self.out.pop(0)

    def next_number(self):
        self.number += 1
        return self.number

    def send_job(self, body=b"", descriptor=None, **parts):
        """Sends a job. `body` is bytes, or a value that is sent as JSON. With `descriptor`, the body is in that descriptor."""
        number = self.next_number()
        if not isinstance(body, bytes):
            body = json.dumps(body, ensure_ascii=False).encode()
        self.jobs[number] = Job(number)
        self.send(frames.job(number, body, **parts), [] if descriptor is None else [descriptor])
        return self.jobs[number]

    def ask(self, body, what="the end of the job", **parts):
        """Sends a job and waits until it has ended."""
        job = self.send_job(body, **parts)
        self.wait(lambda: job.ended, what)
        return job

    def answer(self, body, **parts):
        """The same as ask(), for a job that must not fail."""
        job = self.ask(body, **parts)
        if job.failed:
            raise Failure(f"the job failed ({job.failed.why}): {job.failed.type}: {job.failed.message}")
        return job

    def tell(self, kind, job):
        if kind == frames.PAUSE:
            job.paused_bytes = 0
        if kind == frames.RESUME:
            job.paused_bytes = None
        self.send(frames.frame(kind, job.number))

    def ping(self, what="a pong"):
        number = self.next_number() + 1_000_000
        self.asked.add(number)
        self.send(frames.frame(frames.PING, number))
        self.wait(lambda: number in self.pongs, what)

    def ask_stacks(self):
        number = self.next_number() + 2_000_000
        self.asked_stacks.add(number)
        self.send(frames.frame(frames.ASK_STACKS, number))
        self.wait(lambda: number in self.stacks, "its stacks")
        return self.stacks[number]

    def stop(self):
        self.stop_sent = True
        self.send(frames.frame(frames.STOP))

    def wait_until_read(self):
        """Waits until the worker has read every byte that was sent."""
        def unread():
            return struct.unpack("i", fcntl.ioctl(self.socket, termios.TIOCOUTQ, b"\0" * 4))[0]
        deadline = time.monotonic() + self.patience
        while self.out or unread():
            if time.monotonic() > deadline:
                raise Failure("the worker does not read its socket")
            self.pump(0.0005)

    # ── waiting ──────────────────────────────────────────────────────────────────────────────────

    def wait(self, is_there, what):
        deadline = time.monotonic() + self.patience
        while not is_there():
            if self.ended:
                raise Failure(f"the worker {self.how_it_ended()} before {what}")
            if time.monotonic() > deadline:
                raise Failure(f"no sign of {what} within {self.patience:g} s")
            self.pump(0.5)

    def until_welcome(self, **parts):
        self.wait(lambda: self.hello, "hello")
        self.send(frames.welcome(**parts))

    def until_ready(self, **parts):
        self.until_welcome(**parts)
        self.wait(lambda: self.ready, "ready")
        return self

    def wait_for_end(self, what):
        """Waits until the process has ended, and returns its exit status. Still checks the frames that come meanwhile."""
        deadline = time.monotonic() + self.patience
        while self.process.poll() is None:
            if time.monotonic() > deadline:
                raise Failure(f"{what}, and {self.patience:g} s later the worker still runs")
            self.pump(0.02)
        return self.process.returncode

    def wait_for_silence(self, seconds, count):
        """Waits until count() has not changed for so many seconds."""
        deadline, seen, since = time.monotonic() + self.patience, count(), time.monotonic()
        while time.monotonic() - since < seconds:
            self.pump(0.05)
            if count() != seen:
                seen, since = count(), time.monotonic()
            if time.monotonic() > deadline:
                raise Failure(f"the worker does not fall silent within {self.patience:g} s")

    def how_it_ended(self):
        try:
            status = self.process.wait(1)
        except subprocess.TimeoutExpired:
            return "closed its socket"
        return f"ended ({status_in_words(status)}{', saying: ' + self.last_stderr_line() if self.last_stderr_line() else ''})"

    def stderr_text(self):
        self.errors.seek(0)
        return self.errors.read().decode(errors="replace")

    def last_stderr_line(self):
        return self.stderr_text().strip().rpartition("\n")[2][:300]

    # ── receiving ────────────────────────────────────────────────────────────────────────────────

    def pump(self, seconds):
        if self.ended:
            time.sleep(min(seconds, 0.01))
            return
        readable, _, _ = select.select([self.socket], [self.socket] if self.out else [], [], seconds)
        self.flush()
        if readable:
            self.receive()

    def receive(self):
        try:
            data, rights, _, _ = self.socket.recvmsg(1 << 18, socket.CMSG_SPACE(4 * DESCRIPTORS_MAX))
        except ConnectionResetError:
            data, rights = b"", []
        for level, kind, found in rights:
            if (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS):
                numbers = array.array("i")
                numbers.frombytes(found[:len(found) // 4 * 4])
                self.descriptors += numbers
        if not data:
            self.ended = True
            if self.pending:
                raise Breach(f"the socket ended within a frame, after {len(self.pending)} bytes of it")
            return
        self.pending += data
        self.decode()

    def decode(self):
        at = 0
        while len(self.pending) - at >= frames.HEADER.size:
            found, size = frames.header_of(self.pending[at:at + frames.HEADER.size])
            end = at + frames.HEADER.size + size
            if len(self.pending) < end:
                break
            self.take(frames.read(found, bytes(self.pending[at + frames.HEADER.size:end])))
            at = end
        del self.pending[:at]
        if self.descriptors and not self.pending:
            raise Breach("a descriptor came without the flag")

    def take(self, frame):
        name = frames.NAMES[frame.kind]
        if not self.hello and frame.kind != frames.HELLO:
            raise Breach(f"the first frame is {name}, not hello")
        if frame.kind in (frames.PROGRESS, frames.BEGIN, frames.CHUNK, frames.DONE, frames.FAILED):
            job = self.jobs.get(frame.id)
            if not job:
                raise Breach(f"{name} for job {frame.id}, which is not aboard")
            if job.ended:
                raise Breach(f"{name} for job {frame.id}, which has already ended")
            getattr(self, "take_" + name)(frame, job)
        else:
            getattr(self, "take_" + name)(frame)

    def take_hello(self, frame):
        if self.hello:
            raise Breach("a second hello")
        if not frame.low <= 1 <= frame.high:
            raise Breach(f"hello: versions {frame.low} … {frame.high}, without version 1")
        self.hello = frame

    def take_loading(self, frame):
        if self.ready:
            raise Breach("loading after ready")
        self.loading.append(frame)

    def take_ready(self, frame):
        if self.ready:
            raise Breach("a second ready")
        self.ready = frame

    def take_progress(self, frame, job):
        job.progress.append((frame.permille, frame.text))

    def take_begin(self, frame, job):
        if job.streams:
            raise Breach(f"a second begin for job {frame.id}")
        job.streams, job.status, job.fields, job.body = True, frame.status, frame.fields, bytearray()

    def take_chunk(self, frame, job):
        if not job.streams:
            raise Breach(f"chunk without begin for job {frame.id}")
        job.body += frame.bytes
        if job.paused_bytes is not None:
            job.paused_bytes += len(frame.bytes)
            if job.paused_bytes > PAUSED_MAX:
                raise Breach("more than 8 MiB of chunks after pause")

    def take_done(self, frame, job):
        if job.streams:
            if frame.status:
                raise Breach("done after begin must have status 0")
            announced = job.header("content-length")
            if announced is not None and int(announced) != len(job.body):
                raise Breach(f"an answer has {len(job.body)} bytes, but its content-length is {announced}")
        else:
            if not frame.status:
                raise Breach("done without begin must have a status")
            job.status, job.fields = frame.status, frame.fields
            job.body = self.body_in_descriptor(frame) if frame.flags else frame.body
            job.in_descriptor = bool(frame.flags)
        job.ended = True

    def body_in_descriptor(self, frame):
        if not self.descriptors:
            raise Breach("done: it has the flag, but no descriptor came with it")
        length, descriptor = struct.unpack("<Q", frame.body)[0], self.descriptors.pop(0)
        try:
            try:
                seals = fcntl.fcntl(descriptor, fcntl.F_GET_SEALS)
            except OSError:
                raise Breach("done: its descriptor is not a memfd") from None
            if seals & SEALS != SEALS:
                raise Breach(f"done: its memfd lacks seals: has 0x{seals:x}, must have 0x{SEALS:x}")
            size = os.fstat(descriptor).st_size
            if size != length:
                raise Breach(f"done: its memfd has {size} bytes, but the frame says {length}")
            return os.pread(descriptor, length, 0)
        finally:
            os.close(descriptor)

    def take_failed(self, frame, job):
        job.failed, job.ended = frame, True

    def take_pong(self, frame):
        if frame.id not in self.asked:
            raise Breach(f"a pong with the number {frame.id}, but no such ping was sent")
        self.asked.remove(frame.id)
        self.pongs.add(frame.id)

    def take_log(self, frame):
        self.logs.append(frame.text)

    def take_stacks(self, frame):
        if frame.id not in self.asked_stacks:
            raise Breach(f"stacks with the number {frame.id}, but nobody asked for them")
        self.asked_stacks.remove(frame.id)
        self.stacks[frame.id] = frame.text


def status_in_words(status):
    return f"signal {-status}" if status < 0 else f"exit code {status}"


def memfd(data, seals=SEALS):
    descriptor = os.memfd_create("body", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view):]
    fcntl.fcntl(descriptor, fcntl.F_ADD_SEALS, seals)
    return descriptor  # the file offset is now at the end, which must not matter
