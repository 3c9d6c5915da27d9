"""A small blocking gate that speaks the worker protocol, for turnpike.testing and tests of workers."""
from __future__ import annotations

import array
import os
import socket
from struct import Struct

from . import frames, memfd

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

_NAMES = {frames.HELLO: "hello", frames.LOADING: "loading", frames.READY: "ready",
          frames.PROGRESS: "progress", frames.BEGIN: "begin", frames.CHUNK: "chunk", frames.DONE: "done",
          frames.FAILED: "failed", frames.PONG: "pong", frames.LOG: "log", frames.STACKS: "stacks"}
_FIXED = {"hello": Struct("<8sHHH"), "loading": Struct("<BBHH"), "ready": Struct("<HHBBHII"), "progress": Struct("<HH"),
          "begin": Struct("<HHI"), "done": Struct("<HHI"), "failed": Struct("<BBHI"), "log": Struct("<BB")}


class Frame:
    """A frame from a worker: `name` of its kind, `id`, and its parts as attributes."""

    def __init__(self, name: str, number: int, parts: dict[str, Any]) -> None:
        self.name = name
        self.id = number
        self.__dict__.update(parts)

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"{self!r} has no {name}")

    def __repr__(self) -> str:
        return f"Frame({self.__dict__!r})"[:400]


class WorkerGone(Exception):
    """The worker closed its end of the socket."""


class Gate:
    """Sends frames to a worker and receives the worker's frames."""

    def __init__(self, sock: socket.socket) -> None:
        self.sock = sock
        self._data = b""
        self._fds: list[int] = []

    # ── out ──

    def order(self, kind: int, number: int = 0, payload: bytes = b"", flags: int = 0) -> None:
        self.sock.sendall(frames.HEADER.pack(len(payload), kind, flags, 0, number) + payload)

    def welcome(self, lane: int = 0, gpus: int = 0, slots: int = 0, batch: int = 0, pool: str = "default",
                version: int = 1) -> None:
        name = pool.encode()
        self.order(frames.WELCOME_KIND, 0, frames.WELCOME.pack(version, lane, gpus, slots, batch, len(name)) + name)

    def job(self, number: int, body: bytes = b"", method: str = "POST", target: str = "/predict",
            fields: Iterable[tuple[str, str]] = (), attempt: int = 1, purpose: int = 0, index: int = 0,
            size: int = 1, name: str = "") -> None:
        """Sends a job. A body over 1 MiB goes in a descriptor."""
        texts = [(name or f"job-{number}").encode(), method.encode(), target.encode()]
        lines = "".join(f"{key}: {value}\r\n" for key, value in fields).encode("latin-1")
        lengths = [len(text) for text in texts]
        head = frames.JOB.pack(attempt, purpose, 0, index, size, *lengths, 0, len(lines)) + b"".join(texts) + lines
        if len(body) <= frames.INLINE_MAX:
            return self.order(frames.JOB_KIND, number, head + body)
        fd = memfd.sealed(body)
        self.with_descriptor(number, head + frames.LENGTH.pack(len(body)), fd)
        os.close(fd)

    def with_descriptor(self, number: int, payload: bytes, fd: int) -> None:
        data = frames.HEADER.pack(len(payload), frames.JOB_KIND, frames.IN_DESCRIPTOR, 0, number) + payload
        sent = self.sock.sendmsg([data], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [fd]))])
        if sent < len(data):  # sending nothing could fail, because the worker may be gone by now
            self.sock.sendall(data[sent:])

    # ── in ──

    def next(self) -> Frame:
        """Returns the next frame. Raises WorkerGone if the worker closed the socket."""
        head = self._bytes(frames.HEADER.size)
        size, kind, flags, zero, number = frames.HEADER.unpack(head)
        if size > frames.PAYLOAD_MAX or flags > 1 or zero or kind not in _NAMES:
            raise ValueError(f"the worker sent a malformed header: {head.hex()}")
        return self._frame(_NAMES[kind], number, self._bytes(size), flags)

    def until(self, *names: str) -> Frame:
        """Returns the next frame of one of these kinds, and drops the frames before it."""
        while True:
            frame = self.next()
            if frame.name in names:
                return frame

    def _bytes(self, count: int) -> bytes:
        while len(self._data) < count:
            data, rights, _, _ = self.sock.recvmsg(1 << 20, socket.CMSG_SPACE(32))
            for _, _, packed in rights:
                fds = array.array("i")
                fds.frombytes(packed)
                self._fds += fds
            if not data:
                raise WorkerGone("the worker closed its end of the socket")
            self._data += data
        taken, self._data = self._data[:count], self._data[count:]
        return taken

    def _frame(self, name: str, number: int, payload: bytes, flags: int) -> Frame:
        fixed = _FIXED.get(name)
        values = fixed.unpack_from(payload) if fixed else ()
        rest = _Rest(payload[fixed.size if fixed else 0:])
        return Frame(name, number, getattr(self, "_" + name, self._plain)(values, rest, flags))

    def _hello(self, values: Any, rest: _Rest, _: int) -> dict[str, Any]:
        return {"magic": values[0], "lowest": values[1], "highest": values[2], "sdk": rest.text(values[3])}

    def _loading(self, values: Any, rest: _Rest, _: int) -> dict[str, Any]:
        return {"phase": values[0], "permille": values[2], "text": rest.text(values[3])}

    def _ready(self, values: Any, rest: _Rest, _: int) -> dict[str, Any]:
        slots, batch, traits, _zero, kind, example, facts = values
        return {"slots": slots, "batch": batch, "has_example": bool(traits & 1), "checks": bool(traits & 2),
                "type": rest.text(kind), "example": rest.take(example), "facts": rest.take(facts)}

    def _progress(self, values: Any, rest: _Rest, _: int) -> dict[str, Any]:
        return {"permille": values[0], "text": rest.text(values[1])}

    def _begin(self, values: Any, rest: _Rest, _: int) -> dict[str, Any]:
        return {"status": values[0], "fields": rest.take(values[2])}

    def _done(self, values: Any, rest: _Rest, flags: int) -> dict[str, Any]:
        parts = {"status": values[0], "fields": rest.take(values[2]), "body": rest.data, "came_in_descriptor": bool(flags)}
        if flags:
            fd, (length,) = self._fds.pop(0), frames.LENGTH.unpack(rest.data)
            memfd.check(fd, length)
            parts["body"] = memfd.read(fd, length)
            os.close(fd)
        return parts

    def _failed(self, values: Any, rest: _Rest, _: int) -> dict[str, Any]:
        return {"why": values[0], "type": rest.text(values[2]), "message": rest.text(values[3])}

    def _log(self, values: Any, rest: _Rest, _: int) -> dict[str, Any]:
        return {"level": values[0], "text": rest.data.decode()}

    def _plain(self, _values: Any, rest: _Rest, _: int) -> dict[str, Any]:
        return {"rest": rest.data}


class _Rest:
    """The part of a payload that was not read yet."""

    def __init__(self, data: bytes) -> None:
        self.data = data

    def take(self, count: int) -> bytes:
        if count > len(self.data):
            raise ValueError("the worker sent a frame that is shorter than its parts")
        taken, self.data = self.data[:count], self.data[count:]
        return taken

    def text(self, count: int) -> str:
        return self.take(count).decode("utf-8")
