"""Bodies over 1 MiB: sealed memfds, which nobody can change any more. Read by position, never mapped."""
from __future__ import annotations

import fcntl
import io
import os

from ..errors import GateBreach

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

SEALS = fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_WRITE | fcntl.F_SEAL_SEAL
_ONE_READ = 1 << 30  # the kernel takes a little less than 2 GiB at a time


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
    """All of it, in memory once."""
    data = os.pread(fd, length, 0) if length <= _ONE_READ else b""
    if len(data) != length:
        data = io.BufferedReader(_FromStart(fd)).read(length)
    if len(data) != length:
        raise OSError("a body's memfd ended early")
    return data


class _FromStart(io.RawIOBase):
    """Reads by position: the descriptor's own offset is shared with whoever sent it."""

    def __init__(self, fd: int) -> None:
        self._fd, self._at = fd, 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        count = os.preadv(self._fd, [buffer], self._at)
        self._at += count
        return count
