"""Runs async models: one coroutine per job. A cancel closes an async generator at its next yield."""
from __future__ import annotations

import asyncio

from ..errors import Cancelled
from ..job import Batch, Job, current
from ..messages import Response
from . import answers, failures, frames
from .loop_runner import LoopRunner
from .model_adapter import PREDICT, checked_list
from .runner import opening_frame, refuse_stream

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class AsyncRunner(LoopRunner):
    async def run_work(self, work: Job | list[Job]) -> None:
        if isinstance(work, Job) and not self.adapter.takes_lists:
            await self._serve_one(work)
        else:
            await self._serve_many([work] if isinstance(work, Job) else work)

    async def _serve_one(self, job: Job) -> None:
        current.set(job)
        try:
            if job.cancelled:
                raise Cancelled("the job was cancelled before it began")
            await self._answer(job, await _awaited(self.adapter.call(job)))
        except BaseException as error:
            self.fail(job, error)

    async def _answer(self, job: Job, value: Any) -> None:
        body = value.body if isinstance(value, Response) else value
        if answers.is_stream(body):
            return await self._stream(job, body, value if isinstance(value, Response) else None)
        if isinstance(value, BaseException):
            raise value
        if job.purpose == frames.PROOF and self.adapter.check is not None:
            self.adapter.judge(await _awaited(self.adapter.check(value)))
        self.link.finish(job, *answers.encode_answer(value))

    # ── streams ──

    async def _stream(self, job: Job, items: Any, response: Response | None) -> None:
        try:
            if job.purpose == frames.PROOF and self.adapter.check is not None:
                known = [item async for item in _async_items(items)]
                self.adapter.judge(await _awaited(self.adapter.check(known)))
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
            data = pieces.encode(item)
            opening = b"" if is_open else opening_frame(job, pieces, response)
            is_open = True
            if opening or data:
                self.link.send(opening + frames.chunks(job.number, data))
            await self._yield_to_loop(job)
            if job.cancelled:
                raise Cancelled("the job was cancelled")
        opening = b"" if is_open else opening_frame(job, pieces, response)
        self.link.end(job)
        self.link.send(opening + frames.done(job.number, 0, b"", b""))

    async def _yield_to_loop(self, job: Job) -> None:
        """Lets the loop read between two items, and waits while the gate has paused the job."""
        await asyncio.sleep(0)
        await self.while_paused(job)

    # ── batches ──

    async def _serve_many(self, jobs: list[Job]) -> None:
        inputs = []
        for job in jobs:
            if job.route in PREDICT or self.adapter.is_predict(job):
                inputs += self.collect_inputs([job])
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
        assert self.adapter.predict is not None
        current.set(Batch([job for job, _ in inputs]))
        return checked_list(await _awaited(self.adapter.predict([x for _, x in inputs])), len(inputs))

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


async def _awaited(value: Any) -> Any:
    return await value if hasattr(value, "__await__") else value


async def _async_items(items: Any) -> Any:
    if hasattr(type(items), "__anext__"):
        async for item in items:
            yield item
    else:
        for item in items:
            yield item
