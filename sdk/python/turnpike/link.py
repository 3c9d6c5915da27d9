"""The socket to the gate: frames in, frames out.

Whoever reads holds `reading`, and handles at once what needs no model: pings, cancels, pauses, stacks. Jobs go to the
`inbox`. Mostly the main thread reads; while it computes, the watch does (watch.py). Frames are sent whole, by any thread.
"""
from __future__ import annotations

import array
import os
import socket
import threading
from collections import deque

from . import frames, memfd
from .errors import GateBreach
from .frames import HEADER, JOB
from .job import Job

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Union

    Work = Union[Job, list[Job], None]  # a job, a batch; None: stop

_READ_SIZE = 64 * 1024
_ANCILLARY_SIZE = socket.CMSG_SPACE(8 * 4)  # nobody sends more than one descriptor with a frame
_CLOEXEC = socket.MSG_CMSG_CLOEXEC
_AT_ONCE = socket.MSG_CMSG_CLOEXEC | socket.MSG_DONTWAIT


class Link:
    """`leave(code)` ends the process, and does not return: the gate is gone, or broke the protocol."""

    def __init__(self, sock: socket.socket, leave: Callable[[int], Any], stacks: Callable[[], str] = str) -> None:
        self.inbox: deque[Work] = deque()
        self.aboard: dict[int, Job] = {}
        self.reading = threading.Lock()
        self.welcome: tuple[int, int, int, int, int, str] | None = None
        self.reads = 0
        self.stopping = False
        self.is_cut = False
        self.flags_changed: Callable[[], None] = _nothing  # a job was cancelled, or may go on
        self._sock = sock
        self._recv, self._send = sock.recvmsg, sock.send
        self._sending = threading.Lock()
        self._leave, self._stacks = leave, stacks
        self._parts: list[bytes] = []  # of a frame that is not complete
        self._missing = 0
        self._fds: deque[int] = deque()
        self._batch: list[Job] = []

    def fileno(self) -> int:
        return self._sock.fileno()

    # ── out ──

    def send(self, data: bytes) -> None:
        """Whole frames. Waits while the socket is full; the gate always reads."""
        try:
            with self._sending:
                sent = self._send(data)
                if sent != len(data):
                    self._sock.sendall(memoryview(data)[sent:])
        except OSError:
            self._leave(0)

    def send_with(self, data: bytes, fd: int) -> None:
        """A frame and the descriptor that belongs to it."""
        rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [fd]))]
        try:
            with self._sending:
                sent = self._sock.sendmsg([data], rights)
                if sent != len(data):
                    self._sock.sendall(data[sent:])
        except OSError:
            self._leave(0)

    def finish(self, job: Job, status: int, fields: bytes, body: bytes) -> None:
        """The whole answer of a job."""
        if len(body) > frames.INLINE_MAX:
            fd = memfd.sealed(body)
            try:
                self.end(job)
                self.send_with(frames.done_in_descriptor(job.number, status, fields, len(body)), fd)
            finally:
                os.close(fd)
            return
        self.end(job)
        self.send(frames.done(job.number, status, fields, body))

    def end(self, job: Job) -> None:
        """The job is over, as far as the gate's later frames about it go. Comes right before its last frame."""
        self.aboard.pop(job.number, None)
        if job._fd >= 0:
            job.drop()

    # ── in; the caller holds `reading` ──

    def read(self, at_once: bool = False) -> bool:
        """Takes what has come; waits for something, unless `at_once`. False: nothing was there."""
        try:
            data, rights, flags, _ = self._recv(max(_READ_SIZE, self._missing), _ANCILLARY_SIZE, _AT_ONCE if at_once else _CLOEXEC)
        except BlockingIOError:
            return False
        except OSError:
            return bool(self._leave(0))
        self.reads += 1
        try:
            if rights or flags & socket.MSG_CTRUNC:
                self._keep(rights, flags)
            if not data:
                self._leave(0)
            self._take(data)
        except GateBreach as breach:
            self._broken(str(breach))
        return True

    def _take(self, data: bytes) -> None:
        if self._parts:
            self._parts.append(data)
            self._missing -= len(data)
            if self._missing > 0:
                return
            data = b"".join(self._parts)
            self._parts = []
        at, size = 0, len(data)
        missing = frames.HEADER.size
        while size - at >= 16:
            length, kind, flags, zero, number = HEADER.unpack_from(data, at)
            if length > frames.PAYLOAD_MAX or flags > 1 or zero:
                raise GateBreach(f"the header of a frame of kind {kind} is wrong")
            end = at + 16 + length
            if end > size:
                missing = 16 + length
                break
            if kind == 0x02:
                self._job(data, at + 16, end, flags, number)
            else:
                self._order(kind, number, data[at + 16:end], flags)
            at = end
        if at < size:
            self._parts.append(data[at:])
            self._missing = missing - (size - at)
        else:
            self._missing = 0
            if self._fds:
                raise GateBreach("a descriptor came without a body for it")

    def _job(self, data: bytes, at: int, end: int, flags: int, number: int) -> None:
        if end - at < 20:
            raise GateBreach("a job is shorter than its fixed part")
        attempt, purpose, zero, index, count, name, method, target, zero2, fields = JOB.unpack_from(data, at)
        at += 20
        route = at + name
        lines = route + method + target
        body = lines + fields
        if body > end or zero or zero2 or not attempt or purpose > 2 or not 0 < count <= 1024 or not method or not target:
            raise GateBreach("a job's parts are out of bounds")
        if not number or number in self.aboard or self.welcome is None or self.stopping:
            raise GateBreach(f"job {number} is out of turn")
        fd, length = (-1, 0) if not flags else self._descriptor(data[body:end])
        job = Job(self, number, attempt, purpose, data[at:route], data[route:lines], method, data[lines:body],
                  b"" if flags else data[body:end], fd, length)
        self.aboard[number] = job
        if count == 1 and not self._batch:
            self.inbox.append(job)
        else:
            self._member(job, index, count)

    def _member(self, job: Job, index: int, count: int) -> None:
        batch = self._batch
        if index != len(batch) or (batch and count != self._batch_size):
            raise GateBreach("the members of a batch do not follow each other")
        self._batch_size = count
        batch.append(job)
        if index + 1 == count:
            self._batch = []
            self.inbox.append(batch)

    def _order(self, kind: int, number: int, payload: bytes, flags: int) -> None:
        """Whatever is not a job."""
        if flags:
            raise GateBreach(f"a frame of kind {kind} has no body")
        if kind == frames.WELCOME_KIND:
            return self._welcome(payload, number)
        if payload:
            raise GateBreach(f"a frame of kind {kind} has no payload")
        if kind == frames.STOP:
            self.stopping = True
            self.inbox.append(None)
        elif kind == frames.PING:
            self.send(frames.plain(frames.PONG, number))
        elif kind == frames.ASK_STACKS:
            self.send(frames.plain(frames.STACKS, number, frames.utf8(self._stacks(), frames.STACKS_MAX)))
        elif kind in (frames.CANCEL, frames.PAUSE, frames.RESUME):
            self._flag(kind, number)
        else:
            raise GateBreach(f"a frame of the unknown kind {kind}")

    def _flag(self, kind: int, number: int) -> None:
        job = self.aboard.get(number)
        if job is None:  # it has just ended
            return
        if kind == frames.CANCEL:
            job.cancelled = True
        else:
            job.paused = kind == frames.PAUSE
        self.flags_changed()

    def _welcome(self, payload: bytes, number: int) -> None:
        if self.welcome is not None or number or len(payload) < frames.WELCOME.size:
            raise GateBreach("a welcome is malformed, or came twice")
        *facts, length = frames.WELCOME.unpack_from(payload)
        if len(payload) != frames.WELCOME.size + length:
            raise GateBreach("a welcome is malformed")
        if facts[0] != frames.VERSION:
            raise GateBreach(f"the gate speaks version {facts[0]} of the protocol, and this SDK {frames.VERSION}")
        self.welcome = (*facts, payload[frames.WELCOME.size:].decode("utf-8", "replace"))  # type: ignore[assignment]

    # ── descriptors ──

    def _keep(self, rights: list[tuple[int, int, bytes]], flags: int) -> None:
        for level, kind, data in rights:
            if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
                fds = array.array("i")
                fds.frombytes(data[:len(data) - len(data) % fds.itemsize])
                self._fds.extend(fds)
        if flags & socket.MSG_CTRUNC or len(self._fds) > 1024:
            raise GateBreach("too many descriptors came")

    def _descriptor(self, rest: bytes) -> tuple[int, int]:
        if len(rest) != 8 or not self._fds:
            raise GateBreach("a body is said to be in a descriptor, and none came")
        fd, (length,) = self._fds.popleft(), frames.LENGTH.unpack(rest)
        memfd.check(fd, length)
        return fd, length

    def _broken(self, why: str) -> None:
        os.write(2, f"turnpike: the gate broke the worker protocol: {why}\n".encode())
        self._leave(1)

    def cut_off(self) -> None:
        """In a forked child, to whom none of this belongs: it ends as soon as it wants to talk to the gate."""
        self._sock.close()
        self.is_cut = True
        self._leave = _child_ends
        self._send = self._recv = self._not_ours  # type: ignore[method-assign,assignment]
        self._sending = threading.Lock()
        self.reading = threading.Lock()

    def _not_ours(self, *_: Any) -> Any:
        raise OSError("a forked child has no gate")


def _nothing() -> None:
    pass


def _child_ends(_: int) -> None:
    os.write(2, b"turnpike: a forked child came back from the model; it ends here, and does not answer\n")
    os._exit(1)
