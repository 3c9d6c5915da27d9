"""A job → the `http` scope of ASGI, as uvicorn with --proxy-headers would give it behind the gate."""
from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .job import Job

_WITH_BODY = frozenset(("POST", "PUT", "PATCH"))  # their length is told even if it is 0
_OURS = "127.0.0.1"  # a hop between the client and us that is the machine itself


def http_scope(job: Job, state: dict[str, Any]) -> dict[str, Any]:
    """`state` is the lifespan's; each scope has a copy."""
    route, cut = job.route, job.method_length
    method = route[:cut].decode("latin-1")
    raw_path, _, query = route[cut:].partition(b"?")
    path = raw_path.decode("latin-1")
    headers: list[tuple[bytes, bytes]] = []
    host, hops, scheme, is_told = b"", b"", "http", False
    for line in job.fields.split(b"\r\n"):
        name, _, value = line.partition(b":")
        if not name:
            continue
        name, value = name.lower(), value.strip(b" \t")
        if name == b"host":
            host = value
        elif name == b"x-forwarded-for":
            hops = value
        elif name == b"x-forwarded-proto":
            scheme = value.decode("latin-1").strip()
        elif name == b"content-length":
            is_told = True
        headers.append((name, value))
    if not host:  # of a proof, which nobody sent; an app may count on it
        host = b"localhost"
        headers.insert(0, (b"host", host))
    length = job.length()
    if not is_told and (length or method in _WITH_BODY):
        headers.append((b"content-length", b"%d" % length))
    return {"type": "http", "asgi": {"version": "3.0", "spec_version": "2.3"}, "http_version": "1.1", "method": method,
            "scheme": scheme, "path": _unquoted(path) if "%" in path else path, "raw_path": raw_path, "query_string": query,
            "root_path": "", "headers": headers, "client": _client(hops), "server": _server(host, scheme), "state": state.copy()}


def _client(hops: bytes) -> tuple[str, int] | None:
    """The nearest hop that is not this machine; the first one if all are."""
    if not hops:
        return None
    names = [hop.strip() for hop in hops.decode("latin-1").split(",")]
    return next((name for name in reversed(names) if name != _OURS), names[0]), 0


def _server(host: bytes, scheme: str) -> tuple[str, int]:
    name, colon, port = host.decode("latin-1").rpartition(":")
    if colon and port.isdigit():
        return name.strip("[]"), int(port)
    return host.decode("latin-1").strip("[]"), 443 if scheme == "https" else 80


def _unquoted(path: str) -> str:
    from urllib.parse import unquote  # only for paths that need it

    return unquote(path)
