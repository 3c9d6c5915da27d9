"""Keeps the exceptions that a framework answers itself and only writes to a log, as Django, Quart and Falcon do.

If a log record of level ERROR or above has an exception, the running job keeps the exception, and asgi_call.py finds it there.
"""
from __future__ import annotations

import logging

from ..job import current

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..job import Job

_is_on = False


def keep_logged_errors() -> None:
    """Starts to keep exceptions, for the rest of the process. Adds no log handler, because then logging.basicConfig() would do
    nothing."""
    global _is_on
    if _is_on:
        return
    _is_on = True
    factory = logging.getLogRecordFactory()

    def record_and_keep(*facts: Any, **more: Any) -> logging.LogRecord:
        record = factory(*facts, **more)
        if record.exc_info and record.levelno >= logging.ERROR:
            _keep_error(current.get(), record.exc_info)
        return record

    logging.setLogRecordFactory(record_and_keep)


def _keep_error(job: Job, info: Any) -> None:
    """`info` is what the app passed to the logger. Does nothing for a job that has ended: a task that outlives its job still has
    the job in its context."""
    is_whole = isinstance(info, tuple) and len(info) == 3 and isinstance(info[1], BaseException)
    if is_whole and job._link is not None and job.number in job._link.aboard:
        job.logged_error = info[1]


def error_of(job: Job) -> BaseException | None:
    """Returns the last exception that was logged during the job, or None."""
    return getattr(job, "logged_error", None)


def forget(job: Job) -> None:
    """Must be called at the end of a job: the frames of a kept traceback hold tensors."""
    job.logged_error = None
