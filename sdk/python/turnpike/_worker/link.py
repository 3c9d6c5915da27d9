"""The socket to the gate: frames in, frames out.

A thread must hold `reading` while it reads. Usually that is the main thread; while the model computes,
it is the watch (watch.py). incoming.py handles at once what needs no model, and puts jobs into the `inbox`.
Any thread may send; frames are sent whole.
"""
from __future__ import annotations

import array
import os
import socket
import threading

from ..errors import GateBreach
from . import frames, memfd
from .incoming import TRUNCATED, Incoming

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable

    from ..job import Job

_READ_SIZE = 64 * 1024
_ANCILLARY_SIZE = socket.CMSG_SPACE(8 * 4)  # room for eight descriptors, though a frame comes with at most one
_CLOEXEC = int(socket.MSG_CMSG_CLOEXEC)  # plain ints, because the module's enums are slow
_AT_ONCE = int(socket.MSG_CMSG_CLOEXEC | socket.MSG_DONTWAIT)


class Link:
    """Calls `leave(code)` if the gate is gone or broke the protocol. `leave` ends the process and does not return."""

    def __init__(self, sock: socket.socket, leave: Callable[[int], Any],
                 stacks: Callable[[], str] = str) -> None:
        self.incoming = Incoming(self, stacks)
        self.inbox, self.aboard = self.incoming.inbox, self.incoming.aboard
        self.reading = threading.Lock()
        self.reads = 0
        self.is_cut = False
        self._sock = sock
        self._recv, self._send = sock.recvmsg, sock.sendall
        self._sending = threading.Lock()
        self._leave = leave

    def fileno(self) -> int:
        return self._sock.fileno()

    @property
    def has_gpu(self) -> bool:
        """True if the lane has a GPU, as the gate's welcome says."""
        return self.incoming.welcome is not None and self.incoming.welcome[2] > 0

    def send(self, data: bytes) -> None:
        """Sends whole frames. Waits while the socket is full; the gate always reads."""
        try:
            with self._sending:
                self._send(data)
        except OSError:
            self._leave(0)

    def send_about(self, job: Job, data: bytes) -> None:
        """Sends a frame about a job, from any thread of the model. Sends nothing once the job has ended.

        A job is removed from `aboard` before its last frame is sent under the same lock, so nothing can follow that frame.
        """
        try:
            with self._sending:
                if job.number in self.aboard:
                    self._send(data)
        except OSError:
            self._leave(0)

    def send_with(self, data: bytes, fd: int) -> None:
        """Sends a frame together with its descriptor."""
        rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [fd]))]
        try:
            with self._sending:
                sent = self._sock.sendmsg([data], rights)
                if sent != len(data):
                    self._sock.sendall(data[sent:])
        except OSError:
            self._leave(0)

    def finish(self, job: Job, status: int, fields: bytes, body: bytes) -> None:
        """Sends the whole answer of a job, which ends the job."""
        if len(body) <= frames.INLINE_MAX:
            frame = frames.done(job.number, status, fields, body)
            self.end(job)
            return self.send(frame)
        fd = memfd.sealed(body)
        try:
            self.end(job)
            self.send_with(frames.done_in_descriptor(job.number, status, fields, len(body)), fd)
        finally:
            os.close(fd)

    def end(self, job: Job) -> bool:
        """Must be called right before the last frame of a job is sent. Returns False if the job has ended already: send nothing."""
        if job._fd >= 0:
            job.close_body()
        return self.aboard.pop(job.number, None) is not None

    def read(self, at_once: bool = False) -> bool:
        """Reads from the gate and handles what came. Waits for data, unless `at_once`. The caller must hold `reading`.

        Returns False if there was no data.
        """
        incoming = self.incoming
        size = _READ_SIZE if incoming.missing_bytes < _READ_SIZE else incoming.missing_bytes
        try:
            data, rights, flags, _ = self._recv(size, _ANCILLARY_SIZE, _AT_ONCE if at_once else _CLOEXEC)
        except BlockingIOError:
            return False
        except OSError:
            return bool(self._leave(0))
        self.reads += 1
        try:
            if rights or flags & TRUNCATED:
                incoming.keep(rights, flags)
            if not data:
                self._leave(0)
            incoming.take(data)
        except GateBreach as breach:
            os.write(2, f"turnpike: the gate broke the worker protocol: {breach}\n".encode())
            self._leave(1)
        return True

    def cut_off(self) -> None:
        """Called in a child that the model forked. The link is not the child's: the child ends if it tries to use it."""
        self._sock.close()
        self.is_cut = True
        self._leave = _end_child
        self._send = self._recv = _no_gate_in_child
        self._sending = threading.Lock()
        self.reading = threading.Lock()


def _no_gate_in_child(*_: Any) -> Any:
    raise OSError("a forked child has no gate")


def _end_child(_: int) -> None:
    os.write(2, b"turnpike: a child that the model forked came back from the model; it ends here and sends no answer\n")
    os._exit(1)
