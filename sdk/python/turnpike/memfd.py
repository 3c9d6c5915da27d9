"""Bodies over 1 MiB: sealed memfds, which nobody can change or shorten any more. Read with pread, never mapped."""
from __future__ import annotations

import fcntl
import os

from .errors import GateBreach

SEALS = fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_WRITE | fcntl.F_SEAL_SEAL
_ONE_READ = 1 << 30


def sealed(body: bytes) -> int:
    """A descriptor with the body in it; the caller closes it."""
    fd = os.memfd_create("turnpike-answer", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    try:
        left = memoryview(body)
        while left:
            left = left[os.write(fd, left):]
        fcntl.fcntl(fd, fcntl.F_ADD_SEALS, SEALS)
    except BaseException:
        os.close(fd)
        raise
    return fd


def check(fd: int, length: int) -> None:
    """Raises GateBreach if this is not what it was announced as."""
    try:
        seals = fcntl.fcntl(fd, fcntl.F_GET_SEALS)
    except OSError:
        raise GateBreach("a body's descriptor is not a memfd") from None
    if seals & SEALS != SEALS:
        raise GateBreach("a body's memfd is not sealed")
    if os.fstat(fd).st_size != length:
        raise GateBreach("a body's memfd is of another length than was announced")


def read(fd: int, length: int) -> bytes:
    """All of it."""
    if length <= _ONE_READ:
        data = os.pread(fd, length, 0)
        if len(data) == length:
            return data
    parts, at = [], 0
    while at < length:
        part = os.pread(fd, min(length - at, _ONE_READ), at)
        if not part:
            raise OSError("a body's memfd ended early")
        parts.append(part)
        at += len(part)
    return b"".join(parts)
