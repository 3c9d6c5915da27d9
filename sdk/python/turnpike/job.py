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
    """One request of a client on its way to its one answer.

    To read: `number` (the gate's own), `attempt` (counts from 1) and `cancelled`: nobody waits for the
    answer any more.
    """

    __slots__ = ("number", "attempt", "purpose", "cancelled", "paused", "route", "method_length", "fields",
                 "logged_error", "_name", "_body", "_fd", "_length", "_link")

    logged_error: BaseException | None  # not there before there is one (logged_errors.py)

    def __init__(self, link: Link | None, number: int, attempt: int, purpose: int, name: bytes, route: bytes,
                 method_length: int, fields: bytes, body: bytes, fd: int = -1, length: int = 0) -> None:
        self.number = number
        self.attempt = attempt
        self.purpose = purpose
        self.cancelled = False
        self.paused = False
        self.route = route  # method and target, one after the other
        self.method_length = method_length
        self.fields = fields
        self._name = name
        self._body = body
        self._fd = fd
        self._length = length
        self._link = link

    @property
    def id(self) -> str:
        """What people call the job: the header `Turnpike-Job`."""
        return self._name.decode("utf-8", "replace")

    def progress(self, fraction: float | None = None, text: str = "") -> None:
        """Tells how far the job is (0 … 1, or None: unknown), for `/-/jobs/ID`; renews `job_timeout`.

        From any thread. After the job's end it does nothing.
        """
        if self._link is not None and not self._link.is_cut:
            self._link.send_about(self, frames.progress(self.number, fraction, text))

    def raise_if_cancelled(self) -> None:
        """Ends the job here if nobody waits for it any more."""
        if self.cancelled:
            raise Cancelled("the job was cancelled")

    def body(self) -> bytes:
        """Of the request; one that came in a descriptor is read when it is first asked for."""
        if self._fd >= 0:
            fd, self._fd = self._fd, -1
            try:
                self._body = memfd.read(fd, self._length)
            finally:
                os.close(fd)
        return self._body

    def length(self) -> int:
        """Of the body."""
        return self._length if self._fd >= 0 else len(self._body)

    def part(self, at: int, most: int) -> bytes:
        """Of the body; one in a descriptor stays there."""
        return os.pread(self._fd, most, at) if self._fd >= 0 else self._body[at:at + most]

    def close_body(self) -> None:
        """The job has ended: its body is not needed any more."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1


class Batch(Job):
    """What `turnpike.job()` gives while a batch runs.

    `jobs` are its members; it is `cancelled` once all of them are.
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
    """The job that runs here. Outside of one (in `load`, in a unit test): an empty one that does nothing."""
    return current.get()
