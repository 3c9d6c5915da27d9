"""One call of an ASGI app: its `receive` and `send` on one side, the frames of a job on the other.

    fresh ──start──▶ started ──the whole body──▶ over
                        ├──the whole body, of a 5xx──▶ held ──▶ over
                        └──first body, or a delay──▶ streaming ──last body──▶ over

A body is whole if the app says so, or once it has the announced Content-Length. In the second case the app still owes an empty
last message (Quart and Starlette's middleware send one). A 5xx is held for a few milliseconds: frameworks send it and then raise
the exception, or have logged it. If that exception concerns the gate (such as out of GPU memory), the gate gets the exception
instead of the app's answer. Rules and error texts are uvicorn's, where uvicorn has them.
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

_PIECE = 256 * 1024  # bytes per message, for a request body too large for one
_READ_EVERY_BYTES = 1 << 20  # of a stream, between two reads from the gate
_SENDS_PER_YIELD = 64  # to a client that is gone
_LINES = re.compile(rb"(?:[!#$%&'*+.^_`|~0-9a-z-]+: [\t\x20-\x7e\x80-\xff]*\r\n)*")
_FRAMING = frozenset((b"content-length", b"transfer-encoding", b"connection"))


class State(Enum):
    fresh, started, held, streaming, over = range(5)


_FRESH, _STARTED, _HELD, _STREAMING, _OVER = tuple(State)


class Call:
    """The app calls `receive` and `send`, in the loop's thread. At the end the runner calls failed() or returned()."""

    __slots__ = ("job", "scope", "_runner", "_link", "_state", "_body_offset", "_is_receive_waiting", "_status", "_fields",
                 "_length_left", "_length_line", "_body", "_owes_last_message", "_bytes_since_read", "_ignored_sends")

    def __init__(self, runner: AsgiRunner, job: Job) -> None:
        self.job = job
        self.scope = runner.scopes.scope_of(job)
        self._runner = runner
        self._link = runner.link
        self._state = _FRESH
        self._body_offset: int | None = 0  # of the next part of the request's body; None after the last
        self._is_receive_waiting = False
        self._length_left: int | None = None  # bytes that the announced Content-Length still lacks
        self._length_line = b""  # the Content-Length header
        self._owes_last_message = False  # the answer is whole, but the app has not ended it yet
        self._bytes_since_read = self._ignored_sends = 0

    # ── the request ──

    async def receive(self) -> dict[str, Any]:
        if self._has_client() and self._body_offset is not None:
            return self._request_message(self._body_offset)
        while self._has_client():
            self._is_receive_waiting = True
            await self._runner.wait_for_change()
        return {"type": "http.disconnect"}

    def _has_client(self) -> bool:
        """True if a client still waits for more of the answer."""
        return not self.job.cancelled and (self._owes_last_message or self._state not in (_OVER, _HELD))

    def _request_message(self, at: int) -> dict[str, Any]:
        length = self.job.length()
        most = length if length <= frames.INLINE_MAX else _PIECE
        body = self.job.part(at, most)
        more = at + len(body) < length
        self._body_offset = at + len(body) if more else None
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
            return self._take_last_message(kind, message)
        if kind != "http.response.body":
            raise RuntimeError(f"Expected ASGI message 'http.response.body', but got '{kind}'.")
        body = message.get("body", b"")
        if type(body) is not bytes:
            body = bytes(memoryview(body))  # bytes(5) would be five zeros; memoryview(5) raises
        more = message.get("more_body", False)
        if self._length_left is not None:
            self._check_length(len(body), more)
        if state is _STARTED and (not more or self._length_left == 0) and self.scope["method"] != "HEAD":
            self._owes_last_message = more
            self._answer_whole(body)
        else:
            await self._stream(body, more)

    def _take_last_message(self, kind: str, message: Any) -> None:
        if not self._owes_last_message:
            raise RuntimeError(f"Unexpected ASGI message '{kind}' sent, after response already completed.")
        if kind != "http.response.body":
            raise RuntimeError(f"Expected ASGI message 'http.response.body', but got '{kind}'.")
        if message.get("body"):
            raise RuntimeError("Response content longer than Content-Length")
        if not message.get("more_body", False):
            self._owes_last_message = False
            if self._is_receive_waiting:
                self._runner.notify_change()

    async def _send_to_nobody(self, kind: str, message: Any) -> None:
        """Ignores a message for a client that is gone. Yields to the loop once in _SENDS_PER_YIELD calls, so that an app that awaits
        nothing else still receives `http.disconnect`. It does not yield each time: if a framework cancelled the app at this
        `await`, the app's generator, with its `finally`, would be left to the garbage collector."""
        self._ignored_sends += 1
        if self._ignored_sends % _SENDS_PER_YIELD == 0:
            await asyncio.sleep(0)
        if kind == "http.response.body" and not message.get("more_body", False):
            self._end_cancelled()

    def _start(self, message: Any) -> None:
        self._status = status = int(message["status"])
        if not 200 <= status <= 599:
            raise RuntimeError(f"The status of a response must be 200 to 599, not {status}.")
        pairs = message.get("headers", ())
        lines = []
        for name, value in pairs:
            name = name.lower()
            if name not in _FRAMING:
                lines.append(b"%b: %b\r\n" % (name, value))
            elif name == b"content-length":
                self._length_left = _content_length(value)
                self._length_line = b"Content-Length: %d\r\n" % self._length_left
        fields = b"".join(lines)
        if fields.count(b"\n") != len(lines) or _LINES.fullmatch(fields) is None:
            raise RuntimeError("Invalid HTTP header name or value.")
        if len(fields) > frames.FIELDS_MAX - 64:
            raise RuntimeError(f"The headers of a response may have at most {frames.FIELDS_MAX - 64} bytes; these have {len(fields)}.")
        self._fields = fields
        self._state = _STARTED
        self._runner.delay(self)

    def _has_body(self) -> bool:
        return self.scope["method"] != "HEAD" and self._status not in (204, 304)

    def _check_length(self, size: int, more: bool) -> None:
        """Raises RuntimeError if the app sends more or less than the Content-Length that it announced."""
        if not self._has_body():
            return
        assert self._length_left is not None
        if size > self._length_left:
            raise RuntimeError("Response content longer than Content-Length")
        if size < self._length_left and not more:
            raise RuntimeError("Response content shorter than Content-Length")
        self._length_left -= size

    def _answer_whole(self, body: bytes) -> None:
        if self._status < 500:
            self._end()
            return self._link.finish(self.job, self._status, self._fields, body)
        self._body = body
        self._state = _HELD
        self._runner.delay(self)

    async def _stream(self, body: bytes, more: bool) -> None:
        """Sends the body in parts that fit into a frame. Waits before each part while the gate has paused the job."""
        size = len(body) if self._has_body() else 0
        for at in range(0, size or 1, frames.INLINE_MAX):
            if self.job.paused:
                await self._runner.while_paused(self.job)
            if self.job.cancelled:
                return None if more else self._end_cancelled()
            end = min(size, at + frames.INLINE_MAX)
            self._send_part(body[at:end] if end - at != len(body) else body, is_last=not more and end == size)
            self._bytes_since_read += end - at
            if self._bytes_since_read >= _READ_EVERY_BYTES:
                self._bytes_since_read = 0
                self._runner.read_pending()
                await asyncio.sleep(0)

    def _send_part(self, part: bytes, is_last: bool) -> None:
        number = self.job.number
        data = frames.chunks(number, part)
        if self._state is _STARTED:
            self._state = _STREAMING
            data = frames.begin(number, self._status, self._fields + self._length_line) + data
        if is_last:
            self._end()
            self._link.end(self.job)
            data += frames.done(number, 0, b"", b"")
        if data:
            self._link.send(data)

    def delay_passed(self) -> None:
        """Sends what was delayed: a held answer, or the head of an answer whose body has not come yet."""
        if self._state is _HELD:
            self._settle_held()
        elif self._state is _STARTED and not self.job.cancelled:
            self._send_part(b"", is_last=False)

    def _release(self) -> None:
        self._end()
        self._link.finish(self.job, self._status, self._fields, self._body)

    def _end(self) -> None:
        self._state = _OVER
        logged_errors.forget(self.job)
        if self._is_receive_waiting:
            self._runner.notify_change()

    # ── the end of the call ──

    def returned(self) -> None:
        if self._state is _HELD:
            self._settle_held()
        elif self._state is not _OVER and self.job.cancelled:
            return self._end_cancelled()
        if self._state is not _OVER or self._owes_last_message:
            missing = "starting" if self._state is _FRESH else "completing"
            self.failed(RuntimeError(f"ASGI callable returned without {missing} response."))

    def _settle_held(self) -> None:
        """Sends the held answer, or fails the job if the framework turned an exception that concerns the gate into a bare 500. Such
        an exception was logged, so logged_errors.py has it."""
        error = logged_errors.error_of(self.job) if self._status == 500 else None
        if error is None or failures.reason_of(self.job, error) == frames.EXCEPTION:
            self._release()
        else:
            self.failed(error)

    def failed(self, error: BaseException) -> None:
        """Handles an exception of the app. An answer that the app has sent stands, unless the gate must know the exception."""
        if self._state is _OVER:  # usually an exception of a background task
            failures.report(self.job, error)
        elif self._state is _HELD and failures.reason_of(self.job, error) == frames.EXCEPTION:
            failures.report(self.job, error)
            self._release()
        else:
            self._runner.fail(self.job, error)
            self._end()

    def _end_cancelled(self) -> None:
        if self._state is not _OVER:
            self._runner.fail(self.job, Cancelled("the job was cancelled"))
            self._end()


def _content_length(value: bytes) -> int:
    if not value.isdigit():
        raise RuntimeError(f"{value!r} is not a Content-Length.")
    return int(value)
