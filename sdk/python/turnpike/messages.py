"""Requests and answers as bytes, for models that want more than JSON."""
from __future__ import annotations

import re
from collections.abc import Mapping

from ._worker import json_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any, Union

    from .job import Job

    Fields = Union[Mapping[str, str], Iterable[tuple[str, str]]]

_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_VALUE = re.compile(r"[\t\x20-\x7e\x80-\xff]*")
_FRAMING = frozenset(("content-length", "transfer-encoding", "connection"))


class Headers(Mapping[str, str]):
    """Header fields. Names match in any case. If a name came several times, its values are joined by ", "."""

    def __init__(self, fields: Fields = ()) -> None:
        self.pairs: list[tuple[str, str]] = list(fields.items() if isinstance(fields, Mapping) else fields)
        self._joined: dict[str, str] = {}
        for name, value in self.pairs:
            known = self._joined.get(name.lower())
            self._joined[name.lower()] = value if known is None else known + ", " + value

    @classmethod
    def parsed(cls, lines: bytes) -> Headers:
        """Makes Headers from `Name: value\\r\\n` lines, which the gate has checked."""
        cut = (line.partition(":") for line in lines.decode("latin-1").split("\r\n") if line)
        return cls((name, value.strip(" \t")) for name, _, value in cut)

    def __getitem__(self, name: str) -> str:
        return self._joined[name.lower()]

    def __iter__(self) -> Iterator[str]:
        return iter(self._joined)

    def __len__(self) -> int:
        return len(self._joined)

    def __repr__(self) -> str:
        return f"Headers({self.pairs!r})"

    def all(self, name: str) -> list[str]:
        """Returns all values of this name."""
        return [value for known, value in self.pairs if known.lower() == name.lower()]


class Request:
    """A client's request.

    `method`, `path` (percent-decoded), `query` (as it came, without the `?`), `headers`, `body`.
    """

    __slots__ = ("method", "path", "query", "_headers", "_body", "_job")

    def __init__(self, method: str = "POST", path: str = "/predict", query: str = "", headers: Fields = (),
                 body: bytes = b"") -> None:
        self.method = method
        self.path = path
        self.query = query
        self._headers: Headers | None = Headers(headers)
        self._body: bytes | None = body
        self._job: Job | None = None

    @classmethod
    def of(cls, job: Job) -> Request:
        """Makes the Request of a job. Headers and body are decoded only if the model reads them."""
        new = cls.__new__(cls)
        route = job.route.decode("utf-8", "replace")
        new.method = route[:job.method_length]
        path, _, new.query = route[job.method_length:].partition("?")
        new.path = _unquoted(path) if "%" in path else path
        new._headers = new._body = None
        new._job = job
        return new

    @property
    def headers(self) -> Headers:
        if self._headers is None:
            assert self._job is not None
            self._headers = Headers.parsed(self._job.fields)
        return self._headers

    @property
    def body(self) -> bytes:
        if self._body is None:
            assert self._job is not None
            self._body = self._job.body()
        return self._body

    def json(self) -> Any:
        """Returns the decoded body. Raises BadInput if it is not JSON."""
        return json_text.decode(self.body)

    def __repr__(self) -> str:
        return f"<Request {self.method} {self.path}>"


class Response:
    """A complete answer: body, status and headers.

    The body is bytes, str, anything that JSON can express, or a generator, which streams.
    """

    __slots__ = ("body", "status", "headers", "content_type")

    def __init__(self, body: Any = b"", status: int = 200, headers: Fields = (),
                 content_type: str | None = None) -> None:
        self.body = body
        self.status = status
        self.headers = headers if isinstance(headers, Headers) else Headers(headers)
        self.content_type = content_type
        self.fields()  # so that a mistake raises where it was made

    def fields(self) -> list[tuple[str, str]]:
        """Returns names and values of the header lines. Raises ValueError if the answer can't be sent. Checks again on each
        call, since attributes may have been set."""
        if not isinstance(self.status, int) or not 200 <= self.status <= 599:
            raise ValueError(f"the status of an answer must be 200 … 599, not {self.status!r}")
        headers = self.headers if isinstance(self.headers, Headers) else Headers(self.headers)
        fields = headers.pairs
        if self.content_type is not None:  # takes precedence over one in `headers`
            fields = [("Content-Type", self.content_type)] + [field for field in fields if field[0].lower() != "content-type"]
        for name, value in fields:
            _check_field(name, value)
        return fields

    def json(self) -> Any:
        """Returns the decoded body: for tests, where answers come as bytes."""
        return json_text.decode(self.body)

    def __repr__(self) -> str:
        return f"<Response {self.status}>"


def is_field_value(value: Any) -> bool:
    """True if the value may stand in a header line."""
    return isinstance(value, str) and _VALUE.fullmatch(value) is not None


def _check_field(name: str, value: str) -> None:
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise ValueError(f"{name!r} is not the name of a header field")
    if not is_field_value(value):
        raise ValueError(f"{value!r} can't be the value of the header field {name}")
    if name.lower() in _FRAMING:
        raise ValueError(f"a model must not set the header field {name}: Turnpike sets it")


def _unquoted(path: str) -> str:
    from urllib.parse import unquote  # only for paths that need it

    return unquote(path, errors="replace")
