"""One call of an ASGI app: its `receive` and `send` on one side, the frames of a job on the other.

    fresh ──start──▶ started ──the whole body──▶ over
                        ├──the whole body, of a 5xx──▶ held ──▶ over
                        └──first body, or a moment──▶ streaming ──last body──▶ over

A body is whole if the app says so, or if it has the Content-Length that the app announced: then the app may owe an empty last
message (so do Quart and Starlette's middleware). A 5xx is held for a moment, because frameworks send theirs and then raise, or
have logged, what it was for: out of GPU memory and the like are for the gate to know, and outrank the app's answer. Rules and
words are uvicorn's, where it has some.
"""
from __future__ import annotations

import asyncio
import re
from enum import Enum

from ..errors import Cancelled
from . import failures, frames, logged_errors

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..job import Job
    from .asgi_runner import AsgiRunner

_PIECE = 256 * 1024  # of a request's body, where it does not come in one
_LOOK_EVERY = 1 << 20  # bytes of a stream between two looks at what the gate says
_DEAF_SENDS = 64  # to nobody, without a turn of the loop
_LINES = re.compile(rb"(?:[!#$%&'*+.^_`|~0-9a-z-]+: [\t\x20-\x7e\x80-\xff]*\r\n)*")
_FRAMING = frozenset((b"content-length", b"transfer-encoding", b"connection"))


class State(Enum):
    fresh, started, held, streaming, over = range(5)


_FRESH, _STARTED, _HELD, _STREAMING, _OVER = tuple(State)


class Call:
    """`receive` and `send` are for the app, in the loop's thread; then comes failed() or returned()."""

    __slots__ = ("job", "scope", "_host", "_link", "_state", "_given", "_is_waited_for", "_status", "_fields", "_left", "_length",
                 "_body", "_owes", "_unseen", "_unheard")

    def __init__(self, host: AsgiRunner, job: Job) -> None:
        self.job = job
        self.scope = host.scopes.of(job)
        self._host = host
        self._link = host.link
        self._state = _FRESH
        self._given: int | None = 0  # bytes of the request's body; None: all
        self._is_waited_for = False
        self._left: int | None = None  # bytes until the Content-Length that the app announced
        self._length = b""  # its line
        self._owes = False  # a last message, though the answer is whole
        self._unseen = self._unheard = 0

    # ── the request ──

    async def receive(self) -> dict[str, Any]:
        if self._is_live() and self._given is not None:
            return self._piece(self._given)
        while self._is_live():
            self._is_waited_for = True
            await self._host.change()
        return {"type": "http.disconnect"}

    def _is_live(self) -> bool:
        """Does a client wait for more?"""
        return not self.job.cancelled and (self._owes or self._state not in (_OVER, _HELD))

    def _piece(self, at: int) -> dict[str, Any]:
        length = self.job.length()
        most = length if length <= frames.INLINE_MAX else _PIECE
        body = self.job.part(at, most)
        more = at + len(body) < length
        self._given = at + len(body) if more else None
        return {"type": "http.request", "body": body, "more_body": more}

    # ── the answer ──

    async def send(self, message: Any) -> None:
        kind, state = message["type"], self._state
        if self.job.cancelled:
            return await self._send_to_nobody(kind, message)
        if state is _FRESH:
            if kind != "http.response.start":
                raise RuntimeError(f"Expected ASGI message 'http.response.start', but got '{kind}'.")
            return self._start(message)
        if state is _OVER or state is _HELD:
            return self._rest(kind, message)
        if kind != "http.response.body":
            raise RuntimeError(f"Expected ASGI message 'http.response.body', but got '{kind}'.")
        body = message.get("body", b"")
        if type(body) is not bytes:
            body = bytes(memoryview(body))  # not five zeros of a 5
        more = message.get("more_body", False)
        if self._left is not None:
            self._count(len(body), more)
        if state is _STARTED and (not more or self._left == 0) and self.scope["method"] != "HEAD":
            self._owes = more
            self._whole(body)
        else:
            await self._stream(body, more)

    def _rest(self, kind: str, message: Any) -> None:
        if not self._owes:
            raise RuntimeError(f"Unexpected ASGI message '{kind}' sent, after response already completed.")
        if kind != "http.response.body":
            raise RuntimeError(f"Expected ASGI message 'http.response.body', but got '{kind}'.")
        if message.get("body"):
            raise RuntimeError("Response content longer than Content-Length")
        if not message.get("more_body", False):
            self._owes = False
            if self._is_waited_for:
                self._host.wake()

    async def _send_to_nobody(self, kind: str, message: Any) -> None:
        """The client is gone. Who waits for that gets a chance to hear it, if nothing else gives one: a cancel that met the app
        here would leave its generator to the garbage collector, and its `finally` for long."""
        self._unheard += 1
        if self._unheard % _DEAF_SENDS == 0:
            await asyncio.sleep(0)
        if kind == "http.response.body" and not message.get("more_body", False):
            self._end_cancelled()

    def _start(self, message: Any) -> None:
        self._status = status = int(message["status"])
        if not 200 <= status <= 599:
            raise RuntimeError(f"The status of a response is 200 to 599, not {status}.")
        pairs = message.get("headers", ())
        lines = []
        for name, value in pairs:
            name = name.lower()
            if name not in _FRAMING:
                lines.append(b"%b: %b\r\n" % (name, value))
            elif name == b"content-length":
                self._left = _number(value)
                self._length = b"Content-Length: %d\r\n" % self._left
        fields = b"".join(lines)
        if fields.count(b"\n") != len(lines) or _LINES.fullmatch(fields) is None:
            raise RuntimeError("Invalid HTTP header name or value.")
        if len(fields) > frames.FIELDS_MAX - 64:
            raise RuntimeError(f"The headers of a response are at most {frames.FIELDS_MAX - 64} bytes; these are {len(fields)}.")
        self._fields = fields
        self._state = _STARTED
        self._host.linger(self)

    def _has_body(self) -> bool:
        return self.scope["method"] != "HEAD" and self._status not in (204, 304)

    def _count(self, size: int, more: bool) -> None:
        """Holds the app to the length that it announced."""
        if not self._has_body():
            return
        assert self._left is not None
        if size > self._left:
            raise RuntimeError("Response content longer than Content-Length")
        if size < self._left and not more:
            raise RuntimeError("Response content shorter than Content-Length")
        self._left -= size

    def _whole(self, body: bytes) -> None:
        if self._status < 500:
            self._over()
            return self._link.finish(self.job, self._status, self._fields, body)
        self._body = body
        self._state = _HELD
        self._host.linger(self)

    async def _stream(self, body: bytes, more: bool) -> None:
        """In parts of which none is larger than a frame may be; after each, the gate may say that it is enough for now."""
        size = len(body) if self._has_body() else 0
        for at in range(0, size or 1, frames.INLINE_MAX):
            if self.job.paused:
                await self._host.while_paused(self.job)
            if self.job.cancelled:
                return None if more else self._end_cancelled()
            end = min(size, at + frames.INLINE_MAX)
            self._part(body[at:end] if end - at != len(body) else body, is_last=not more and end == size)
            self._unseen += end - at
            if self._unseen >= _LOOK_EVERY:
                self._unseen = 0
                self._host.look()
                await asyncio.sleep(0)

    def _part(self, part: bytes, is_last: bool) -> None:
        number = self.job.number
        data = frames.chunks(number, part)
        if self._state is _STARTED:
            self._state = _STREAMING
            data = frames.begin(number, self._status, self._fields + self._length) + data
        if is_last:
            self._over()
            self._link.end(self.job)
            data += frames.done(number, 0, b"", b"")
        if data:
            self._link.send(data)

    def moment_passed(self) -> None:
        """Since the start, or since the answer is held: what waits goes out."""
        if self._state is _HELD:
            self._judge_held()
        elif self._state is _STARTED and not self.job.cancelled:
            self._part(b"", is_last=False)

    def _release(self) -> None:
        self._over()
        self._link.finish(self.job, self._status, self._fields, self._body)

    def _over(self) -> None:
        self._state = _OVER
        logged_errors.forget(self.job)
        if self._is_waited_for:
            self._host.wake()

    # ── the end of the call ──

    def returned(self) -> None:
        if self._state is _HELD:
            self._judge_held()
        elif self._state is not _OVER and self.job.cancelled:
            return self._end_cancelled()
        if self._state is not _OVER or self._owes:
            missing = "starting" if self._state is _FRESH else "completing"
            self.failed(RuntimeError(f"ASGI callable returned without {missing} response."))

    def _judge_held(self) -> None:
        """A bare 500 is what frameworks say that keep the exception to themselves."""
        error = logged_errors.error_of(self.job) if self._status == 500 else None
        if error is None or failures.why(self.job, error) == frames.EXCEPTION:
            self._release()
        else:
            self.failed(error)

    def failed(self, error: BaseException) -> None:
        """What the app sent stands, unless the gate has to know better."""
        if self._state is _OVER:  # a background task's, as a rule
            failures.report(self.job, error)
        elif self._state is _HELD and failures.why(self.job, error) == frames.EXCEPTION:
            failures.report(self.job, error)
            self._release()
        else:
            self._host.fail(self.job, error)
            self._over()

    def _end_cancelled(self) -> None:
        if self._state is not _OVER:
            self._host.fail(self.job, Cancelled("the job was cancelled"))
            self._over()


def _number(value: bytes) -> int:
    if not value.isdigit():
        raise RuntimeError(f"{value!r} is not a Content-Length.")
    return int(value)
