"""The lifespan protocol of ASGI: the app's start-up before the first job, its shutdown after the last.

Works like uvicorn's `--lifespan auto`: an app that does not support lifespan is served without it. An app has failed to start
only if it received `lifespan.startup` and then raised.
"""
from __future__ import annotations

import asyncio

from ..errors import NoModel
from . import failures

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_FINAL_ERROR_S = 1.0  # after `startup.failed`, to wait for its exception
_SHUTDOWN_S = 2.0


class Lifespan:
    """One task of the app, from start() to stop()."""

    def __init__(self, app: Any) -> None:
        self.state: dict[str, Any] = {}
        self._app = app
        self._messages: dict[str, str] = {}  # type of each message that the app sent → its text
        self._task: asyncio.Task[None] | None = None
        self._receive_count = 0  # how often the app has called receive()

    async def start(self) -> None:
        """Runs the app's start-up. Raises what the app raised, or NoModel if it only sent `startup.failed`."""
        self._message_came, self._stopping = asyncio.Event(), asyncio.Event()
        self._task = asyncio.get_running_loop().create_task(self._run())
        await self._wait_for("lifespan.startup.complete", "lifespan.startup.failed")
        if "lifespan.startup.failed" in self._messages:
            await asyncio.wait((self._task,), timeout=_FINAL_ERROR_S)
        if self._task.done() and "lifespan.startup.complete" not in self._messages:
            self._raise_if_failed(self._task)

    def _raise_if_failed(self, task: asyncio.Task[None]) -> None:
        """Called if the task ended before its start-up was complete."""
        error = None if task.cancelled() else task.exception()
        if error is not None and self._receive_count:
            raise error
        if "lifespan.startup.failed" in self._messages:
            raise NoModel(self._messages["lifespan.startup.failed"] or "the app's lifespan sent startup.failed, without a message")
        if error is not None:
            said = f"{type(error).__name__}: {error}".rstrip(": ")
            failures.say(f"turnpike: the app does not support lifespan ({said}); it is served without start-up\n")

    async def stop(self) -> None:
        """Runs the app's shutdown, for at most _SHUTDOWN_S. Failures go to the log."""
        if self._task is None or self._task.done():
            return
        self._stopping.set()
        try:
            await asyncio.wait_for(self._wait_for("lifespan.shutdown.complete", "lifespan.shutdown.failed"), _SHUTDOWN_S)
            await asyncio.wait((self._task,), timeout=_FINAL_ERROR_S)
        except asyncio.TimeoutError:
            return failures.say(f"turnpike: the app's shutdown did not end within {_SHUTDOWN_S:.0f} s\n")
        error = self._task.exception() if self._task.done() and not self._task.cancelled() else None
        if error is not None:
            failures.say(failures.traceback_of(error))
        elif "lifespan.shutdown.failed" in self._messages:
            failures.say(f"turnpike: the app's shutdown failed: {self._messages['lifespan.shutdown.failed']}\n")

    async def _run(self) -> None:
        try:
            scope = {"type": "lifespan", "asgi": {"version": "3.0", "spec_version": "2.0"}, "state": self.state}
            await self._app(scope, self._receive, self._send)
        finally:
            self._message_came.set()

    async def _wait_for(self, *kinds: str) -> None:
        """Waits for a message of one of these kinds, or for the end of the task."""
        assert self._task is not None
        while not self._task.done() and not any(kind in self._messages for kind in kinds):
            await self._message_came.wait()
            self._message_came.clear()
            await asyncio.sleep(0)  # so that done() is already true for a task that just ended

    async def _receive(self) -> dict[str, Any]:
        self._receive_count += 1
        if self._receive_count == 1:
            return {"type": "lifespan.startup"}
        await self._stopping.wait()
        return {"type": "lifespan.shutdown"}

    async def _send(self, message: Any) -> None:
        self._messages[message["type"]] = str(message.get("message", ""))
        self._message_came.set()
