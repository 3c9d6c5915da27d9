"""Async models: an event loop in the main thread, a task per job.

A cancel sets `turnpike.job().cancelled` and closes an async generator at its next yield; it does not
cancel the task, because models seldom expect that at every `await`.
"""
from __future__ import annotations

import asyncio

from . import answers, failures, frames
from .errors import Cancelled
from .job import Batch, Job, current
from .messages import Response
from .serving import exit_code
from .served import PREDICT, the_list
from .serving import Serving, begin, refuse_stream
from .watch import STOP_PATIENCE_S

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable

    from .link import Link
    from .served import Served
    from .watch import Watch


class Looped(Serving):
    def __init__(self, link: Link, served: Served, watch: Watch, leave: Callable[[int], Any]) -> None:
        super().__init__(link, served, leave)
        self.loop = asyncio.new_event_loop()
        asyncio.set_event_loop(self.loop)
        self._watch = watch
        self._tasks: set[asyncio.Task[None]] = set()
        self._paused: dict[Job, asyncio.Future[None]] = {}
        self._end: asyncio.Future[None] = self.loop.create_future()
        link.incoming.flags_changed = self._call_soon_wake

    def run(self) -> None:
        watch = self._watch
        watch.shares = True
        watch.after_read = lambda: self.loop.call_soon_threadsafe(self._start_jobs)
        self.loop.add_reader(self.link.fileno(), self._read)
        self._start_jobs()
        try:
            self.loop.run_until_complete(self._end)
        except _Ended as ended:
            raise SystemExit(ended.code) from None
        self.loop.remove_reader(self.link.fileno())
        self.loop.run_until_complete(self._finish())

    async def _finish(self) -> None:
        if self._tasks:
            await asyncio.wait(set(self._tasks), timeout=STOP_PATIENCE_S)

    def _read(self) -> None:
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
            task = self.loop.create_task(self._serve(work))
            self._tasks.add(task)
            task.add_done_callback(self._ended)
            if self._watch.work is None:
                self._watch.work = self
                if self._watch.is_asleep:
                    self._watch.wake()

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not self._tasks:
            self._watch.work = None
        error = None if task.cancelled() else task.exception()
        if error is not None:
            self._over(error)

    def _over(self, error: BaseException | None) -> None:
        """The loop's end: the gate said stop, or the model ended its process."""
        if self._end.done():
            return
        if error is None:
            self._end.set_result(None)
        else:
            self._end.set_exception(error)

    async def _serve(self, work: Job | list[Job]) -> None:
        try:
            if isinstance(work, Job) and not self.served.takes_lists:
                await self._serve_one(work)
            else:
                await self._serve_many([work] if isinstance(work, Job) else work)
        except (SystemExit, KeyboardInterrupt) as error:
            # asyncio would let these pass through everything at once, the loop left half done
            raise _Ended(exit_code(error) if isinstance(error, SystemExit) else 130) from None

    async def _serve_one(self, job: Job) -> None:
        current.set(job)
        try:
            if job.cancelled:
                raise Cancelled("the job was cancelled before it began")
            await self._answer(job, await _awaited(self.served.call(job)))
        except BaseException as error:
            self.fail(job, error)

    async def _answer(self, job: Job, value: Any) -> None:
        body = value.body if isinstance(value, Response) else value
        if answers.streams(body):
            return await self._stream(job, body, value if isinstance(value, Response) else None)
        if isinstance(value, BaseException):
            raise value
        if job.purpose == frames.PROOF and self.served.check is not None:
            self.served.judge(await _awaited(self.served.check(value)))
        self.link.finish(job, *answers.of(value))

    # ── streams ──

    async def _stream(self, job: Job, items: Any, response: Response | None) -> None:
        try:
            if job.purpose == frames.PROOF and self.served.check is not None:
                known = [item async for item in _async_items(items)]
                self.served.judge(await _awaited(self.served.check(known)))
                await self._send_items(job, iter(known), response)
            else:
                await self._send_items(job, items, response)
        finally:
            close = getattr(items, "aclose", None) or getattr(items, "close", None)
            if close is not None:
                await _awaited(close())

    async def _send_items(self, job: Job, items: Any, response: Response | None) -> None:
        pieces, is_open = answers.Pieces(), False
        async for item in _async_items(items):
            data = pieces.take(item)
            opening = b"" if is_open else begin(job, pieces, response)
            is_open = True
            if opening or data:
                self.link.send(opening + frames.chunks(job.number, data))
            await self._breathe(job)
            if job.cancelled:
                raise Cancelled("the job was cancelled")
        opening = b"" if is_open else begin(job, pieces, response)
        self.link.end(job)
        self.link.send(opening + frames.done(job.number, 0, b"", b""))

    async def _breathe(self, job: Job) -> None:
        """Lets the loop read between two items, and waits while the gate has paused the job."""
        await asyncio.sleep(0)
        while job.paused and not job.cancelled:
            self._paused[job] = self.loop.create_future()
            await self._paused[job]

    def _call_soon_wake(self) -> None:
        self.loop.call_soon_threadsafe(self._wake_paused)

    def _wake_paused(self) -> None:
        for job in [job for job in self._paused if job.cancelled or not job.paused]:
            self._paused.pop(job).set_result(None)

    # ── batches ──

    async def _serve_many(self, jobs: list[Job]) -> None:
        inputs = []
        for job in jobs:
            if job.route in PREDICT or self.served.is_predict(job):
                inputs += self.inputs([job])
            else:
                await self._serve_one(job)
        if not inputs:
            return
        try:
            values = await self._predict_many(inputs)
        except BaseException as error:
            if len(inputs) == 1 or not failures.is_ordinary(inputs[0][0], error):
                return self._fail_all([job for job, _ in inputs], error)
            return await self._each_alone(inputs)
        for (job, _), value in zip(inputs, values):
            await self._answer_one(job, value)

    async def _predict_many(self, inputs: list[tuple[Job, Any]]) -> list[Any]:
        assert self.served.predict is not None
        current.set(Batch([job for job, _ in inputs]))
        return the_list(await _awaited(self.served.predict([x for _, x in inputs])), len(inputs))

    async def _each_alone(self, inputs: list[tuple[Job, Any]]) -> None:
        for pair in inputs:
            try:
                values = await self._predict_many([pair])
            except BaseException as error:
                self.fail(pair[0], error)
            else:
                await self._answer_one(pair[0], values[0])

    async def _answer_one(self, job: Job, value: Any) -> None:
        current.set(job)
        try:
            refuse_stream(value)
            await self._answer(job, value)
        except BaseException as error:
            self.fail(job, error)


class _Ended(Exception):
    """The model ended its process by sys.exit, inside of a task."""

    def __init__(self, code: int) -> None:
        self.code = code


async def _awaited(value: Any) -> Any:
    return await value if hasattr(value, "__await__") else value


async def _async_items(items: Any) -> Any:
    if hasattr(type(items), "__anext__"):
        async for item in items:
            yield item
    else:
        for item in items:
            yield item
