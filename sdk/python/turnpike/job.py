"""The running job, as the model sees it: `turnpike.job()`."""
from __future__ import annotations

import os
from contextvars import ContextVar

from ._worker import frames, memfd
from .errors import Cancelled

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from ._worker.link import Link


class Job:
    """One request of a client, from arrival to its one answer.

    Attributes to read: `number` (the gate's), `attempt` (counts from 1) and `cancelled` (True once no client
    waits for the answer any more).
    """

    __slots__ = ("number", "attempt", "purpose", "cancelled", "paused", "route", "method_length", "fields",
                 "logged_error", "_name", "_body", "_fd", "_length", "_link")

    logged_error: BaseException | None  # set only after an error was logged (logged_errors.py)

    def __init__(self, link: Link | None, number: int, attempt: int, purpose: int, name: bytes, route: bytes,
                 method_length: int, fields: bytes, body: bytes, fd: int = -1, length: int = 0) -> None:
        self.number = number
        self.attempt = attempt
        self.purpose = purpose
        self.cancelled = False
        self.paused = False
        self.route = route  # method and target, joined
        self.method_length = method_length
        self.fields = fields
        self._name = name
        self._body = body
        self._fd = fd
        self._length = length
        self._link = link

    @property
    def id(self) -> str:
        """The job's id, as in the header `Turnpike-Job`."""
        return self._name.decode("utf-8", "replace")

    def progress(self, fraction: float | None = None, text: str = "") -> None:
        """Reports how far the job is (0 … 1, or None if unknown), for `/-/jobs/ID`. Renews `job_timeout`.

        May be called from any thread. Does nothing after the job's end.
        """
        if self._link is not None and not self._link.is_cut:
            self._link.send_about(self, frames.progress(self.number, fraction, text))

    def raise_if_cancelled(self) -> None:
        """Raises Cancelled, which ends the job, if no client waits for it any more."""
        if self.cancelled:
            raise Cancelled("the job was cancelled")

    def body(self) -> bytes:
        """Returns the request's body. A body in a descriptor is read at the first call."""
        if self._fd >= 0:
            fd, self._fd = self._fd, -1
            try:
                self._body = memfd.read(fd, self._length)
            finally:
                os.close(fd)
        return self._body

    def length(self) -> int:
        """Returns the length of the body."""
        return self._length if self._fd >= 0 else len(self._body)

    def part(self, at: int, most: int) -> bytes:
        """Returns a part of the body, without reading the rest of a body in a descriptor."""
        return os.pread(self._fd, most, at) if self._fd >= 0 else self._body[at:at + most]

    def close_body(self) -> None:
        """Closes the body's descriptor, once the job has ended."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1


class Batch(Job):
    """What `turnpike.job()` returns while a batch runs.

    `jobs` are the members. The batch is `cancelled` once all members are.
    """

    __slots__ = ("jobs",)

    def __init__(self, jobs: Sequence[Job]) -> None:
        first = jobs[0]
        self.jobs = tuple(jobs)
        self.number, self.attempt, self.purpose = first.number, first.attempt, first.purpose
        self._name = first._name

    @property
    def cancelled(self) -> bool:  # type: ignore[override]
        return all(job.cancelled for job in self.jobs)

    def progress(self, fraction: float | None = None, text: str = "") -> None:
        for job in self.jobs:
            job.progress(fraction, text)


_no_job = Job(None, 0, 1, frames.JOB_PURPOSE, b"", b"POST/predict", 4, b"", b"")
current: ContextVar[Job] = ContextVar("turnpike.job", default=_no_job)


def job() -> Job:
    """Returns the running job. Outside of a job (in `load`, in a unit test) it returns an empty job that does nothing."""
    return current.get()
