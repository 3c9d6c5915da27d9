"""Exceptions that a framework answers by itself, and of which it only writes into a log: so do Django, Quart and Falcon.

Each record of an error that has an exception leaves it at the job that runs there, where asgi_call.py looks.
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
    """From now on, in this process. No handler is added: who calls logging.basicConfig() must find none."""
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
    """`info` is what an app passed. A job that is over may live on in the context of a task that it made: nothing is for it."""
    is_whole = isinstance(info, tuple) and len(info) == 3 and isinstance(info[1], BaseException)
    if is_whole and job._link is not None and job.number in job._link.aboard:
        job.logged_error = info[1]


def error_of(job: Job) -> BaseException | None:
    """The last one."""
    return getattr(job, "logged_error", None)


def forget(job: Job) -> None:
    """It is over. The frames of a traceback hold tensors."""
    job.logged_error = None
