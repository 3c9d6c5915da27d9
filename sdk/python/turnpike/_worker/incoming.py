"""Decodes the gate's frames: puts jobs into the `inbox`, sets flags on jobs, answers pings at once.

Bytes may be split anywhere. Anything that docs/worker-protocol.md does not allow raises GateBreach. The texts and
header lines of a job are not decoded here: the gate has checked them, and most models never read them.
"""
from __future__ import annotations

import array
import socket
from collections import deque

from ..errors import GateBreach
from ..job import Job
from . import frames, memfd
from .frames import HEADER, JOB_FRAME

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Callable, Union

    from .link import Link

    Work = Union[Job, list[Job], None]  # a job, a batch, or None for "stop"

TRUNCATED = int(socket.MSG_CTRUNC)
_PAYLOAD_MAX = frames.PAYLOAD_MAX


class Incoming:
    """The part of the conversation's state that the gate's frames change."""

    def __init__(self, link: Link, stacks: Callable[[], str]) -> None:
        self.inbox: deque[Work] = deque()
        self.aboard: dict[int, Job] = {}
        self.welcome: tuple[int, int, int, int, int, str] | None = None
        self.is_stopping = False
        self.on_flags_changed: Callable[[], None] = _do_nothing  # called when a job was cancelled, paused or resumed
        self.missing_bytes = 0  # of an incomplete frame
        self._link, self._stacks = link, stacks
        self._parts: list[bytes] = []
        self._fds: deque[int] = deque()
        self._batch: list[Job] = []
        self._batch_size = 0

    def take(self, data: bytes) -> None:
        if self._parts:
            self._parts.append(data)
            self.missing_bytes -= len(data)
            if self.missing_bytes > 0:
                return
            data = b"".join(self._parts)
            self._parts = []
        at, end, size = 0, 16, len(data)
        while end <= size:  # the header is complete
            if data[at + 4] == 0x02 and size - at >= 36:
                end = self._job(data, at, size)
            else:
                end = self._order(data, at, size)
            if end > size:
                break
            at, end = end, end + 16
        if at < size:
            self._parts.append(data[at:])
            self.missing_bytes = end - size
        else:
            self.missing_bytes = 0
            if self._fds:
                raise GateBreach("a descriptor came without a body for it")

    def _job(self, data: bytes, at: int, size: int) -> int:
        """Decodes the job that begins at `at`, if it has arrived completely. Returns where it ends."""
        (length, kind, flags, zero, number, attempt, purpose, zero2, index, count, name, method, target, zero3,
         fields) = JOB_FRAME.unpack_from(data, at)
        if flags > 1 or zero or not number or not 20 <= length <= _PAYLOAD_MAX:
            _check_header(length, kind, flags, zero, number)
        end: int = at + 16 + length
        if end > size:
            return end
        at += 36
        route = at + name
        lines = route + method + target
        body = lines + fields
        if body > end or zero2 or zero3 or not (attempt and method and target) or purpose > 2 \
                or not index < count <= 1024:
            raise GateBreach("a job's parts are out of bounds")
        if number in self.aboard or self.welcome is None or self.is_stopping:
            raise GateBreach(f"job {number} is out of turn")
        job = Job(self._link, number, attempt, purpose, data[at:route], data[route:lines], method, data[lines:body],
                  b"" if flags else data[body:end])
        if flags:
            job._fd, job._length = self._descriptor(data[body:end])
        self.aboard[number] = job
        if count == 1 and not self._batch:
            self.inbox.append(job)
        else:
            self._add_member(job, index, count)
        return end

    def _add_member(self, job: Job, index: int, count: int) -> None:
        batch = self._batch
        if index != len(batch) or (batch and count != self._batch_size):
            raise GateBreach("the members of a batch do not follow each other")
        self._batch_size = count
        batch.append(job)
        if index + 1 == count:
            self._batch = []
            self.inbox.append(batch)

    def _order(self, data: bytes, at: int, size: int) -> int:
        """Like _job, for all other frames and for a job whose fixed part is still incomplete."""
        length, kind, flags, zero, number = HEADER.unpack_from(data, at)
        _check_header(length, kind, flags, zero, number)
        end: int = at + 16 + length
        if end <= size:
            self._carry_out(kind, number, data[at + 16:end])
        return end

    def _carry_out(self, kind: int, number: int, payload: bytes) -> None:
        if kind == frames.WELCOME_KIND:
            self._welcome(payload)
        elif kind == frames.STOP:
            self._stop()
        elif kind == frames.PING:
            self._link.send(frames.plain(frames.PONG, number))
        elif kind == frames.ASK_STACKS:
            self._link.send(frames.plain(frames.STACKS, number, frames.utf8(self._stacks(), frames.STACKS_MAX)))
        else:
            self._flag(kind, number)

    def _stop(self) -> None:
        """Handles the frame `stop`: no client waits for the jobs aboard any more."""
        self.is_stopping = True
        self.inbox.append(None)
        for job in list(self.aboard.values()):
            job.cancelled = True
        self.on_flags_changed()

    def _flag(self, kind: int, number: int) -> None:
        job = self.aboard.get(number)
        if job is None:  # the job has just ended
            return
        if kind == frames.CANCEL:
            job.cancelled = True
        else:
            job.paused = kind == frames.PAUSE
        self.on_flags_changed()

    def _welcome(self, payload: bytes) -> None:
        if self.welcome is not None:
            raise GateBreach("a welcome came twice")
        *facts, length = frames.WELCOME.unpack_from(payload)
        if len(payload) != frames.WELCOME.size + length or max(facts[3:]) > frames.WIDTH_MAX:
            raise GateBreach("a welcome is malformed")
        if facts[0] != frames.VERSION:
            raise GateBreach(f"the gate speaks version {facts[0]} of the protocol, this SDK version {frames.VERSION}")
        self.welcome = (*facts, payload[frames.WELCOME.size:].decode("utf-8", "replace"))  # type: ignore[assignment]

    # ── descriptors ──

    def keep(self, rights: list[tuple[int, int, bytes]], flags: int) -> None:
        for level, kind, data in rights:
            if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
                fds = array.array("i")
                fds.frombytes(data[:len(data) - len(data) % fds.itemsize])
                self._fds.extend(fds)
        if flags & TRUNCATED or len(self._fds) > 1024:
            raise GateBreach("too many descriptors came")

    def _descriptor(self, rest: bytes) -> tuple[int, int]:
        if len(rest) != 8 or not self._fds:
            raise GateBreach("a frame announces a body in a descriptor, but no descriptor came")
        fd, (length,) = self._fds.popleft(), frames.LENGTH.unpack(rest)
        memfd.check(fd, length)
        return fd, length


# For each kind except jobs: the smallest and the largest payload, and whether its number is not 0 (None: either).
_ORDERS = {frames.WELCOME_KIND: (frames.WELCOME.size, frames.WELCOME.size + 0xFFFF, False), frames.STOP: (0, 0, False),
           frames.CANCEL: (0, 0, True), frames.PAUSE: (0, 0, True), frames.RESUME: (0, 0, True),
           frames.PING: (0, 0, None), frames.ASK_STACKS: (0, 0, None)}


def _check_header(length: int, kind: int, flags: int, zero: int, number: int) -> None:
    """Checks the header before the payload has arrived: the rest of a malformed frame may never come."""
    if length > _PAYLOAD_MAX or flags > 1 or zero:
        raise GateBreach(f"the header of a frame of kind {kind} is wrong")
    if kind == frames.JOB_KIND:
        if length < frames.JOB.size or not number:
            raise GateBreach("a job is shorter than its fixed part" if number else "job 0 is out of turn")
        return
    if kind not in _ORDERS:
        raise GateBreach(f"a frame of the unknown kind {kind}")
    smallest, largest, is_numbered = _ORDERS[kind]
    if flags:
        raise GateBreach(f"a frame of kind {kind} must not have a body")
    if not smallest <= length <= largest:
        raise GateBreach(f"a frame of kind {kind} must not have a payload of {length} bytes")
    if is_numbered is not None and bool(number) != is_numbered:
        raise GateBreach(f"a frame of kind {kind} has the wrong number {number}")


def _do_nothing() -> None:
    pass
