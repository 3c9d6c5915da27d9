"""A small gate and a real worker process, for tests of the frames between them."""
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import textwrap
import unittest
from pathlib import Path

SDK = Path(__file__).resolve().parents[2] / "sdk" / "python"
sys.path.insert(0, str(SDK))

from turnpike._worker import frames  # noqa: E402
from turnpike._worker.fake_gate import Gate, WorkerGone  # noqa: E402

PATIENCE_S = 60  # upper limit for a frame that must come; reached only if something is broken


class Talk:
    """One worker process and the gate's end of its socket."""

    def __init__(self, command, folder, environment):
        self.folder = folder
        ours, theirs = socket.socketpair()
        ours.settimeout(PATIENCE_S)
        self.gate = Gate(ours)
        self._stderr = open(folder / "stderr", "w+b")
        self._stdout = open(folder / "stdout", "w+b")
        environment = dict(os.environ, TURNPIKE_SOCKET=str(theirs.fileno()), PYTHONUNBUFFERED="1", PYTHONDONTWRITEBYTECODE="1", **environment)
        self.process = subprocess.Popen(command, env=environment, pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL,
                                        stdout=self._stdout, stderr=self._stderr)
        theirs.close()
        self._number = 0

    def stderr(self):
        return (self.folder / "stderr").read_text()

    def stdout(self):
        return (self.folder / "stdout").read_text()

    def greet(self, **welcome):
        hello = self.gate.next()
        assert hello.name == "hello", hello
        self.gate.welcome(**welcome)
        return hello

    def ready(self, **welcome):
        """Takes the worker through its start. Returns the frame `ready`."""
        self.greet(**welcome)
        return self.gate.until("ready")

    def send(self, value=None, body=None, **job):
        """Sends a job with a new number and returns the number."""
        self._number += 1
        self.gate.job(self._number, json.dumps(value).encode() if body is None else body, **job)
        return self._number

    def ask(self, value=None, body=None, **job):
        """Sends a job and returns the frame that ends it."""
        number = self.send(value, body, **job)
        end = self.gate.until("done", "failed")
        assert end.id == number, (end, number)
        return end

    def answer(self, value=None, **job):
        """Sends a job and returns the decoded JSON of its answer."""
        end = self.ask(value, **job)
        assert end.name == "done", end
        return json.loads(end.body)

    def batch(self, values, **job):
        """Sends a batch and returns the frames that end its members, by index."""
        first = self._number + 1
        for index, value in enumerate(values):
            self.send(value, index=index, size=len(values), **job)
        ends = [self.gate.until("done", "failed") for _ in values]
        return [frame for _, frame in sorted((frame.id - first, frame) for frame in ends)]

    def order(self, kind, number=0):
        self.gate.order(kind, number)

    def stop(self):
        self.order(frames.STOP)
        return self.exit_code()

    def exit_code(self):
        return self.process.wait(PATIENCE_S)

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        self.gate.sock.close()
        self._stderr.close()
        self._stdout.close()


class TalkCase(unittest.TestCase):
    def folder(self):
        folder = Path(tempfile.mkdtemp(prefix="turnpike-sdk-"))
        self.addCleanup(shutil.rmtree, folder, ignore_errors=True)
        return folder

    def start(self, source, name="", file="model.py", **environment):
        """Starts a worker with this source, and does not greet it yet."""
        folder = self.folder()
        (folder / file).write_text(textwrap.dedent(source))
        choice = f"{folder / file}{':' if name else ''}{name}"
        talk = Talk([sys.executable, str(SDK / "turnpike_worker.py"), choice], folder, environment)
        self.addCleanup(talk.close)
        return talk

    def serve(self, source, **welcome):
        """Starts a worker and returns once it is ready for jobs."""
        talk = self.start(source)
        try:
            talk.ready(**welcome)
        except WorkerGone:
            self.fail(f"the worker ended early: {talk.stderr()}")
        return talk

    def assert_ends(self, talk, code=0):
        self.assertEqual(talk.exit_code(), code, talk.stderr())

    def assert_fails(self, frame, why, words=""):
        self.assertEqual((frame.name, getattr(frame, "why", None)), ("failed", why), frame)
        self.assertIn(words, frame.message)

    def fifo(self):
        """Returns a path where a model can wait: its read() returns once the test calls release()."""
        path = self.folder() / "fifo"
        os.mkfifo(path)
        return path

    @staticmethod
    def release(path):
        path.write_bytes(b"go")
