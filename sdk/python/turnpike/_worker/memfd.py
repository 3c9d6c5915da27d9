"""Bodies over 1 MiB travel in sealed memfds, which nobody can change any more. They are read by position, never mapped."""
from __future__ import annotations

import fcntl
import io
import os

from ..errors import GateBreach

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

SEALS = fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_WRITE | fcntl.F_SEAL_SEAL
_ONE_READ = 1 << 30  # the kernel reads a little less than 2 GiB at a time


def sealed(body: bytes) -> int:
    """Returns a sealed descriptor that holds the body. The caller must close it."""
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
    """Raises GateBreach if the descriptor is not a sealed memfd of the announced length."""
    try:
        seals = fcntl.fcntl(fd, fcntl.F_GET_SEALS)
    except OSError:
        raise GateBreach("a body's descriptor is not a memfd") from None
    if seals & SEALS != SEALS:
        raise GateBreach("a body's memfd is not sealed")
    if os.fstat(fd).st_size != length:
        raise GateBreach("a body's memfd is of another length than was announced")


def read(fd: int, length: int) -> bytes:
    """Returns the whole body, without a second copy in memory."""
    data = os.pread(fd, length, 0) if length <= _ONE_READ else b""
    if len(data) != length:
        data = io.BufferedReader(_FromStart(fd)).read(length)
    if len(data) != length:
        raise OSError("a body's memfd ended early")
    return data


class _FromStart(io.RawIOBase):
    """Reads by position, because the sender shares the descriptor's own offset."""

    def __init__(self, fd: int) -> None:
        self._fd, self._at = fd, 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        count = os.preadv(self._fd, [buffer], self._at)
        self._at += count
        return count
