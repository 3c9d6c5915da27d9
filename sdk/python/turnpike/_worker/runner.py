"""Runs jobs: calls the model and sends what it returns. serial_runner.py, thread_runner.py and loop_runner.py build on it."""
from __future__ import annotations

import threading

from ..errors import Cancelled, WorkerEnded
from ..job import Batch, Job, current
from ..messages import Response
from . import answers, failures, frames, json_text
from .model_adapter import PREDICT, ModelAdapter, checked_list

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable

    from .link import Link

_READ_EVERY_BYTES = 1 << 20  # of a stream, between two reads from the gate


class Runner:
    """Takes jobs, sends frames. Subclasses define how to wait while the gate has paused a stream."""

    def __init__(self, link: Link, adapter: ModelAdapter, leave: Callable[[int], Any]) -> None:
        self.link = link
        self.adapter = adapter
        self._leave = leave

    def run(self) -> None:
        """Serves until the gate says stop."""
        raise NotImplementedError

    def wait_while_paused(self, job: Job) -> None:
        """Waits until the gate resumes or cancels the job."""
        raise NotImplementedError

    def read_pending(self) -> None:
        """Reads what the gate has sent, if no other thread would read it now. Does not wait."""

    # ── in other threads ──

    def serve_in_thread(self, work: Job | list[Job]) -> None:
        """Like serve(), but sys.exit and KeyboardInterrupt end the process, not only the thread. In tests `leave` raises WorkerEnded."""
        try:
            self.serve(work)
        except SystemExit as error:
            self._leave(exit_code(error))
        except KeyboardInterrupt:
            self._leave(130)

    def serve_aside(self, job: Job) -> None:
        """Serves a cheap request in a thread of its own, beside the running job."""
        try:
            threading.Thread(target=self._serve_aside, args=(job,), name="turnpike-aside", daemon=True).start()
        except RuntimeError as error:  # the system allows no more threads; only this aside pays for it
            self.fail(job, RuntimeError(f"no thread could be started for this aside: {error} (see ulimit -u, pids.max and memory limits)"))

    def _serve_aside(self, job: Job) -> None:
        try:
            self.serve_in_thread(job)
        except WorkerEnded:
            pass

    # ── one job ──

    def serve(self, work: Job | list[Job]) -> None:
        if type(work) is not Job:
            return self.serve_batch(work)  # type: ignore[arg-type]
        if self.adapter.takes_lists:
            return self.serve_batch([work])
        current.set(work)
        try:
            if work.cancelled:
                raise Cancelled("the job was cancelled before it began")
            self.answer(work, self.adapter.call(work))
        except BaseException as error:
            self.fail(work, error)

    def answer(self, job: Job, value: Any) -> None:
        """Sends what the model returned."""
        if type(value) is dict and job.purpose != frames.PROOF:  # the usual case, without the questions below
            return self.link.finish(job, 200, answers.JSON_FIELDS, json_text.encode(value))
        if isinstance(value, BaseException):
            raise value
        response = value if isinstance(value, Response) else None
        body = value if response is None else response.body
        if answers.is_stream(body):
            return self.stream(job, body, response)
        if job.purpose == frames.PROOF and self.adapter.check is not None:
            self.adapter.judge(self.adapter.check(value))
        self.link.finish(job, *answers.encode_answer(value))

    def fail(self, job: Job, error: BaseException) -> None:
        """Tells the gate that the job failed. Raises the exception again if it is meant to end the process."""
        if isinstance(error, (SystemExit, KeyboardInterrupt)):
            log_process_end(error)
            raise error
        if isinstance(error, WorkerEnded):
            raise error
        frame = failures.report(job, error)
        if self.link.end(job):  # else the answer was sent already, and closing the stream failed
            self.link.send(frame)

    # ── streams ──

    def stream(self, job: Job, items: Any, response: Response | None) -> None:
        """Sends each item as it comes. If the stream ends early, the generator is closed: GeneratorExit at its yield."""
        if hasattr(type(items), "__anext__"):
            raise TypeError("the model is not async, but returned an async generator; write `async def` where it is made")
        try:
            if job.purpose == frames.PROOF and self.adapter.check is not None:
                items = self._checked(items)
            self._send_stream(job, iter(items), response)
        finally:
            close = getattr(items, "close", None)
            if close is not None:
                close()

    def _send_stream(self, job: Job, items: Any, response: Response | None) -> None:
        pieces, sent_since_read, link = answers.Pieces(), 0, self.link
        opening = None
        for item in items:
            data = pieces.encode(item)
            if opening is None:
                opening = opening_frame(job, pieces, response)
                link.send(opening + frames.chunks(job.number, data))
            elif data:
                link.send(frames.chunks(job.number, data))
            sent_since_read += len(data)
            if sent_since_read >= _READ_EVERY_BYTES:
                sent_since_read = 0
                self.read_pending()
            if job.paused:
                self.wait_while_paused(job)
            if job.cancelled:
                raise Cancelled("the job was cancelled")
        last = (b"" if opening else opening_frame(job, pieces, response)) + frames.done(job.number, 0, b"", b"")
        link.end(job)
        link.send(last)

    def _checked(self, items: Any) -> Any:
        """Returns all items of a proof's stream, after the model's own check has accepted them."""
        assert self.adapter.check is not None
        known = list(items)
        self.adapter.judge(self.adapter.check(known))
        return iter(known)

    # ── batches ──

    def serve_batch(self, jobs: list[Job]) -> None:
        """Calls predict once for all jobs. If that fails, calls it for each job alone, so that a bad job fails only itself."""
        inputs = self.collect_inputs(jobs)
        if not inputs:
            return
        batch = [job for job, _ in inputs]
        try:
            values = self._predict_all(inputs)
        except BaseException as error:
            if len(inputs) == 1 or not failures.is_ordinary(batch[0], error):
                return self._fail_all(batch, error)
            return self._one_by_one(inputs)
        for job, value in zip(batch, values):
            self._answer_member(job, value)

    def collect_inputs(self, jobs: list[Job]) -> list[tuple[Job, Any]]:
        """Returns the jobs that are for `predict`, with their inputs, and answers the other jobs."""
        found = []
        for job in jobs:
            current.set(job)
            try:
                if job.cancelled:
                    raise Cancelled("the job was cancelled before it began")
                if job.route in PREDICT or self.adapter.is_predict(job):
                    found.append((job, self.adapter.input_of(job)))
                else:
                    self.answer(job, self.adapter.answer_other(job))
            except BaseException as error:
                self.fail(job, error)
        return found

    def _predict_all(self, inputs: list[tuple[Job, Any]]) -> list[Any]:
        assert self.adapter.predict is not None
        current.set(Batch([job for job, _ in inputs]))
        return checked_list(self.adapter.predict([x for _, x in inputs]), len(inputs))

    def _one_by_one(self, inputs: list[tuple[Job, Any]]) -> None:
        for pair in inputs:
            try:
                values = self._predict_all([pair])
            except BaseException as error:
                self.fail(pair[0], error)
            else:
                self._answer_member(pair[0], values[0])

    def _answer_member(self, job: Job, value: Any) -> None:
        current.set(job)
        try:
            refuse_stream(value)
            self.answer(job, value)
        except BaseException as error:
            self.fail(job, error)

    def _fail_all(self, jobs: list[Job], error: BaseException) -> None:
        for job in jobs:
            self.fail(job, error)


def log_process_end(error: BaseException) -> None:
    """Logs that the model ends its process during a job."""
    how = f"sys.exit({error.code!r})" if isinstance(error, SystemExit) else type(error).__name__
    failures.say(f"turnpike: the model ended its own process, by {how}\n")


def opening_frame(job: Job, pieces: answers.Pieces, response: Response | None) -> bytes:
    """Returns the frame that opens a stream."""
    if response is None:
        return frames.begin(job.number, 200, pieces.fields)
    return frames.begin(job.number, response.status, answers.header_lines(response, pieces.fields))


def refuse_stream(value: Any) -> None:
    if answers.is_stream(value.body if isinstance(value, Response) else value):
        raise TypeError("a member of a batch can't be answered by a stream")


def exit_code(error: SystemExit) -> int:
    """Returns the exit code that Python would use."""
    if error.code is None:
        return 0
    return error.code & 0xFF if isinstance(error.code, int) else 1
