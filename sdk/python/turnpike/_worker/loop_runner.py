"""Runs an event loop in the main thread, with one task per job: for async models (async_runner.py) and ASGI apps (asgi_runner.py).

A cancel sets `turnpike.job().cancelled`. It does not cancel the task, because few models expect that at every `await`.
"""
from __future__ import annotations

import asyncio

from .event_loop import Readable
from .runner import Runner, exit_code, log_process_end
from .watch import STOP_PATIENCE_S

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable

    from ..job import Job
    from .link import Link
    from .watch import Watch


class LoopRunner(Runner):
    """Subclasses define in run_work() what a task does."""

    def __init__(self, link: Link, adapter: Any, watch: Watch, leave: Callable[[int], Any]) -> None:
        super().__init__(link, adapter, leave)
        self.loop = self.new_loop()
        asyncio.set_event_loop(self.loop)
        self._watch = watch
        self._tasks: dict[int, asyncio.Task[None]] = {}
        self._last_number = 0
        self._end: asyncio.Future[None] = self.loop.create_future()
        self._changed = asyncio.Event()
        link.incoming.on_flags_changed = self._notify_change_from_any_thread

    def new_loop(self) -> asyncio.AbstractEventLoop:
        return asyncio.new_event_loop()

    async def run_work(self, work: Any) -> None:
        """Serves a job or a batch. An exception that it raises ends the process."""
        raise NotImplementedError

    # ── the loop ──

    def run(self) -> None:
        watch = self._watch
        watch.main_thread_reads = True
        watch.after_read = lambda: self.loop.call_soon_threadsafe(self._start_jobs)
        readable = Readable(self.loop, self.link.fileno())
        readable.watch(self.read_pending)
        self._start_jobs()
        try:
            self.loop.run_until_complete(self._wait_for_end())
        except ModelExited as exited:
            raise SystemExit(exited.code) from None
        except (SystemExit, KeyboardInterrupt) as error:  # from a task that the model made itself
            log_process_end(error)
            raise
        readable.close()
        self.loop.run_until_complete(self._finish_tasks())

    async def _wait_for_end(self) -> None:
        """Waits for the end. This is a task and not just a future, because anyio keeps its threads as long as the outermost task
        lives."""
        await self._end

    async def _finish_tasks(self) -> None:
        if self._tasks:
            await asyncio.wait(list(self._tasks.values()), timeout=STOP_PATIENCE_S)

    def read_pending(self) -> None:
        if not self.link.reading.acquire(blocking=False):
            return
        try:
            self.link.read(at_once=True)
        except BaseException as error:
            self._end_loop(error)
        finally:
            self.link.reading.release()
        if self.link.inbox:
            self._start_jobs()

    def _start_jobs(self) -> None:
        inbox = self.link.inbox
        while inbox:
            work = inbox.popleft()
            if work is None:
                self._end_loop(None)
                return
            self._last_number = number = self._last_number + 1
            self._tasks[number] = self.loop.create_task(self._run_task(number, work))
            if self._watch.work is None:
                self._watch.work = self
                if self._watch.is_asleep:
                    self._watch.wake()

    async def _run_task(self, number: int, work: Any) -> None:
        """Removes itself from _tasks at its end: a done-callback would cost a turn of the loop."""
        try:
            await self.run_work(work)
        except (SystemExit, KeyboardInterrupt) as error:  # asyncio would raise these out of the loop at once
            self._end_loop(ModelExited(exit_code(error) if isinstance(error, SystemExit) else 130))
        except asyncio.CancelledError:
            raise
        except BaseException as error:
            self._end_loop(error)
        finally:
            del self._tasks[number]
            if not self._tasks:
                self._watch.work = None

    def _end_loop(self, error: BaseException | None) -> None:
        """Ends the loop. `error` is None if the gate said stop."""
        if self._end.done():
            return
        if error is None:
            self._end.set_result(None)
        else:
            self._end.set_exception(error)

    # ── waiting for the gate ──

    async def while_paused(self, job: Job) -> None:
        """Waits until the gate resumes or cancels the job."""
        while job.paused and not job.cancelled:
            await self._changed.wait()

    async def wait_for_change(self) -> None:
        """Waits until some job was cancelled, paused or resumed."""
        await self._changed.wait()

    def notify_change(self) -> None:
        """Wakes all tasks that wait for a change."""
        self._changed.set()
        self._changed = asyncio.Event()

    def _notify_change_from_any_thread(self) -> None:
        self.loop.call_soon_threadsafe(self.notify_change)


class ModelExited(Exception):
    """The model called sys.exit inside of a task."""

    def __init__(self, code: int) -> None:
        self.code = code
