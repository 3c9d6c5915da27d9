"""An event loop in the main thread, a task per job: for async models (async_runner.py) and ASGI apps (asgi_runner.py).

A cancel sets `turnpike.job().cancelled`; it does not cancel the task, because few expect that at every `await`.
"""
from __future__ import annotations

import asyncio

from .event_loop import Readable
from .runner import Runner, exit_code, leaving
from .watch import STOP_PATIENCE_S

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable

    from ..job import Job
    from .link import Link
    from .watch import Watch


class LoopRunner(Runner):
    """Subclasses say what a task does, in attend()."""

    def __init__(self, link: Link, adapter: Any, watch: Watch, leave: Callable[[int], Any]) -> None:
        super().__init__(link, adapter, leave)
        self.loop = self.new_loop()
        asyncio.set_event_loop(self.loop)
        self._watch = watch
        self._tasks: dict[int, asyncio.Task[None]] = {}
        self._last = 0
        self._end: asyncio.Future[None] = self.loop.create_future()
        self._changed = asyncio.Event()
        link.incoming.flags_changed = self._call_soon_wake

    def new_loop(self) -> asyncio.AbstractEventLoop:
        return asyncio.new_event_loop()

    async def attend(self, work: Any) -> None:
        """Serves a job, or a batch. What it raises ends the process."""
        raise NotImplementedError

    # ── the loop ──

    def run(self) -> None:
        watch = self._watch
        watch.shares = True
        watch.after_read = lambda: self.loop.call_soon_threadsafe(self._start_jobs)
        readable = Readable(self.loop, self.link.fileno())
        readable.watch(self.look)
        self._start_jobs()
        try:
            self.loop.run_until_complete(self._until_the_end())
        except Ended as ended:
            raise SystemExit(ended.code) from None
        except (SystemExit, KeyboardInterrupt) as error:  # of a task that the model made itself
            leaving(error)
            raise
        readable.close()
        self.loop.run_until_complete(self._finish())

    async def _until_the_end(self) -> None:
        """A task, and not only a future: anyio keeps its threads for as long as the outermost task lives."""
        await self._end

    async def _finish(self) -> None:
        if self._tasks:
            await asyncio.wait(list(self._tasks.values()), timeout=STOP_PATIENCE_S)

    def look(self) -> None:
        if not self.link.reading.acquire(blocking=False):
            return
        try:
            self.link.read(at_once=True)
        except BaseException as error:
            self._over(error)
        finally:
            self.link.reading.release()
        if self.link.inbox:
            self._start_jobs()

    def _start_jobs(self) -> None:
        inbox = self.link.inbox
        while inbox:
            work = inbox.popleft()
            if work is None:
                self._over(None)
                return
            self._last = number = self._last + 1
            self._tasks[number] = self.loop.create_task(self._run_task(number, work))
            if self._watch.work is None:
                self._watch.work = self
                if self._watch.is_asleep:
                    self._watch.wake()

    async def _run_task(self, number: int, work: Any) -> None:
        """Its own bookkeeping: a callback at its end would cost a turn of the loop."""
        try:
            await self.attend(work)
        except (SystemExit, KeyboardInterrupt) as error:  # asyncio would let these pass at once, the loop left half done
            self._over(Ended(exit_code(error) if isinstance(error, SystemExit) else 130))
        except asyncio.CancelledError:
            raise
        except BaseException as error:
            self._over(error)
        finally:
            del self._tasks[number]
            if not self._tasks:
                self._watch.work = None

    def _over(self, error: BaseException | None) -> None:
        """The loop's end: the gate said stop, or the model ended its process."""
        if self._end.done():
            return
        if error is None:
            self._end.set_result(None)
        else:
            self._end.set_exception(error)

    # ── waiting for the gate ──

    async def while_paused(self, job: Job) -> None:
        """Until the gate wants more of this job's stream, or cancels it."""
        while job.paused and not job.cancelled:
            await self._changed.wait()

    async def change(self) -> None:
        """Until some job was cancelled, paused or resumed."""
        await self._changed.wait()

    def wake(self) -> None:
        """All who wait for a change look again."""
        self._changed.set()
        self._changed = asyncio.Event()

    def _call_soon_wake(self) -> None:
        self.loop.call_soon_threadsafe(self.wake)


class Ended(Exception):
    """The model ended its process by sys.exit, inside of a task."""

    def __init__(self, code: int) -> None:
        self.code = code
