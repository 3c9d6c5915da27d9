"""Turns a job into the `http` scope of ASGI, as uvicorn with --proxy-headers would build it behind the gate.

The gate adds the address of its peer to X-Forwarded-For. If that peer is this machine or is named in FORWARDED_ALLOW_IPS, it is a
trusted proxy: its X-Forwarded-Proto and the hops before it count. Otherwise they are ignored.
"""
from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from ..job import Job

_WITH_BODY = frozenset(("POST", "PUT", "PATCH"))  # they get a Content-Length even if it is 0
_SCHEMES = frozenset(("http", "https"))


class Scopes:
    """Makes scopes. Holds what all scopes of a process share. `state` is the lifespan's; each scope gets a copy."""

    def __init__(self, state: dict[str, Any], environment: Mapping[str, str] = os.environ) -> None:
        self._state = state
        self._root_path = environment.get("UVICORN_ROOT_PATH", "")
        self._is_trusted = _trusted_hops(environment.get("FORWARDED_ALLOW_IPS", "127.0.0.1, ::1"))

    def scope_of(self, job: Job) -> dict[str, Any]:
        route, cut = job.route, job.method_length
        method = route[:cut].decode("latin-1")
        raw_path, _, query = route[cut:].partition(b"?")
        path = raw_path.decode("latin-1")
        headers = [_pair(line) for line in job.fields.split(b"\r\n") if line]
        known = dict(headers)
        host = known.get(b"host")
        if not host:  # a proof comes from no client; an app may need a Host
            host = b"localhost"
            headers.insert(0, (b"host", host))
        if b"content-length" not in known and (job.length() or method in _WITH_BODY):
            headers.append((b"content-length", b"%d" % job.length()))
        client, scheme = self._origin(known)
        return {"type": "http", "asgi": {"version": "3.0", "spec_version": "2.3"}, "http_version": "1.1", "method": method,
                "scheme": scheme, "path": _unquoted(path) if "%" in path else path, "raw_path": raw_path, "query_string": query,
                "root_path": self._root_path, "headers": headers, "client": client, "server": _server_address(host, scheme),
                "state": self._state.copy()}

    def _origin(self, known: dict[bytes, bytes]) -> tuple[tuple[str, int] | None, str]:
        """Returns client and scheme. The client is the nearest hop that is not a trusted proxy, or the first if all are trusted."""
        hops = known.get(b"x-forwarded-for", b"").decode("latin-1")
        if not hops:
            return None, "http"
        names = hops.split(",")
        name = names[-1].strip()
        if not self._is_trusted(name):
            return (name, 0), "http"
        said = known.get(b"x-forwarded-proto")
        scheme = "http" if said is None else said.partition(b",")[0].strip().lower().decode("latin-1")
        for hop in reversed(names):
            name = hop.strip()
            if not self._is_trusted(name):
                break
        return (name, 0), scheme if scheme in _SCHEMES else "http"


def _pair(line: bytes) -> tuple[bytes, bytes]:
    name, _, value = line.partition(b":")
    return name.lower(), value.strip(b" \t")


def _trusted_hops(said: str) -> Any:
    """Returns a function that tells whether an address is trusted. `said` is `*`, or addresses and networks separated by
    commas, as in uvicorn. Entries that are neither are ignored."""
    names = frozenset(name.strip() for name in said.split(","))
    if "*" in names:
        return lambda _: True
    if "/" not in said:
        return names.__contains__
    from ipaddress import ip_address

    networks = [network for name in names if "/" in name for network in _network(name)]

    def is_trusted(name: str) -> bool:
        try:
            return name in names or any(ip_address(name) in network for network in networks)
        except ValueError:  # not an address
            return False
    return is_trusted


def _network(name: str) -> list[Any]:
    from ipaddress import ip_network

    try:
        return [ip_network(name, False)]
    except ValueError:
        return []


def _server_address(host: bytes, scheme: str) -> tuple[str, int]:
    name, colon, port = host.decode("latin-1").rpartition(":")
    if colon and port.isdigit():
        return name.strip("[]"), int(port)
    return host.decode("latin-1").strip("[]"), 443 if scheme == "https" else 80


def _unquoted(path: str) -> str:
    from urllib.parse import unquote  # only for paths that need it

    return unquote(path)
