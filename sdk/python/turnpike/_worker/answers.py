"""Turns what a model returns into status, header lines and body."""
from __future__ import annotations

from types import CoroutineType

from ..messages import Response
from . import frames, json_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

JSON_FIELDS = b"Content-Type: application/json\r\n"
TEXT_FIELDS = b"Content-Type: text/plain; charset=utf-8\r\n"
BYTES_FIELDS = b"Content-Type: application/octet-stream\r\n"
EVENT_FIELDS = b"Content-Type: text/event-stream\r\n"
_PIECE_FIELDS: dict[type, bytes] = {str: TEXT_FIELDS, bytes: BYTES_FIELDS, dict: EVENT_FIELDS}


def is_stream(value: Any) -> bool:
    """True for a generator or any other iterator, sync or async."""
    kind = type(value)
    return hasattr(kind, "__next__") or hasattr(kind, "__anext__")


def encode_value(value: Any) -> tuple[bytes, bytes]:
    """Returns header lines and body of a value that is not a stream."""
    if isinstance(value, str):
        return TEXT_FIELDS, value.encode("utf-8")
    if isinstance(value, (bytes, bytearray, memoryview)):
        return BYTES_FIELDS, bytes(value)
    if isinstance(value, CoroutineType):
        value.close()
        raise TypeError("predict returned a coroutine; write `async def predict`, or run the coroutine to its end")
    return JSON_FIELDS, json_text.encode(value)


def header_lines(response: Response, default: bytes) -> bytes:
    """Returns the header lines of a Response. `default` has the Content-Type of its body, if the Response names none."""
    pairs = response.fields()
    text = "".join(f"{name}: {value}\r\n" for name, value in pairs)
    kind = b"" if any(name.lower() == "content-type" for name, _ in pairs) else default
    fields = kind + text.encode("latin-1")
    if len(fields) > frames.FIELDS_MAX:
        raise ValueError(f"the header fields of an answer may have at most {frames.FIELDS_MAX} bytes; these have {len(fields)}")
    return fields


def encode_answer(value: Any) -> tuple[int, bytes, bytes]:
    """Returns status, header lines and body of a returned value that is not a stream."""
    if isinstance(value, Response):
        default, body = encode_value(value.body)
        return value.status, header_lines(value, default), body
    fields, body = encode_value(value)
    return 200, fields, body


def problem(status: int, title: str, detail: str, headers: dict[str, str] | None = None) -> Response:
    """Returns a 4xx of the SDK itself (not of the model): RFC 9457 problem details, and the `error` that OpenAI's clients read."""
    error = {"message": detail, "type": "invalid_request_error", "code": title.lower().replace(" ", "-")}
    body = {"type": "about:blank", "title": title, "status": status, "detail": detail, "error": error}
    return Response(body, status, headers or {}, "application/problem+json")


class Pieces:
    """Turns the items of a stream into bytes. All items must be of the first item's type."""

    __slots__ = ("fields", "_kind")

    def __init__(self) -> None:
        self.fields = TEXT_FIELDS  # for a stream without items
        self._kind: type | None = None

    def encode(self, item: Any) -> bytes:
        kind = self._kind_of(item)
        if self._kind is None:
            self._kind = kind
            self.fields = _PIECE_FIELDS[kind]
        elif kind is not self._kind:
            raise TypeError(f"a stream must be all str, all bytes or all dict: after {self._kind.__name__} came {kind.__name__}")
        if kind is dict:
            return b"data: " + json_text.encode(item) + b"\n\n"
        data: bytes = item.encode("utf-8") if kind is str else bytes(item)
        return data

    @staticmethod
    def _kind_of(item: Any) -> type:
        for kind in (str, bytes, dict):
            if isinstance(item, kind):
                return kind
        if isinstance(item, (bytearray, memoryview)):
            return bytes
        raise TypeError(f"a stream must yield str, bytes or dict, not {type(item).__name__}")
