"""The event loop of an app. Like uvicorn: uvloop if it is installed, unless UVICORN_LOOP=asyncio."""
from __future__ import annotations

import asyncio
import os
import select
from importlib import import_module

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def new_app_loop() -> asyncio.AbstractEventLoop:
    if os.environ.get("UVICORN_LOOP", "auto") != "asyncio":
        try:
            uvloop: Any = import_module("uvloop")
            loop: asyncio.AbstractEventLoop = uvloop.new_event_loop()
            return loop
        except ImportError:
            pass
    return asyncio.new_event_loop()


class Readable:
    """Lets a loop watch a socket that must stay blocking. uvloop makes what it watches non-blocking, so it gets an epoll of the
    socket instead."""

    def __init__(self, loop: asyncio.AbstractEventLoop, fd: int) -> None:
        self._loop = loop
        self._epoll: Any = None
        self._fd = fd
        if not isinstance(loop, asyncio.SelectorEventLoop):
            self._epoll = select.epoll()
            self._epoll.register(fd, select.EPOLLIN)
            self._fd = self._epoll.fileno()

    def watch(self, callback: Any) -> None:
        self._loop.add_reader(self._fd, callback)

    def close(self) -> None:
        self._loop.remove_reader(self._fd)
        if self._epoll is not None:
            self._epoll.close()
