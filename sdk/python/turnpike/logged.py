"""Exceptions that a framework answers by itself, and of which it only writes into a log: so do Django, Quart and Falcon.

Each record of an error that has an exception leaves it at the job that runs there, where asgi_call.py looks.
"""
from __future__ import annotations

import logging

from .job import current

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .job import Job

_is_on = False


def note_errors() -> None:
    """From now on, in this process. No handler is added: who calls logging.basicConfig() must find none."""
    global _is_on
    if _is_on:
        return
    _is_on = True
    made = logging.getLogRecordFactory()

    def noted(*facts: Any, **more: Any) -> logging.LogRecord:
        record = made(*facts, **more)
        if record.exc_info and record.levelno >= logging.ERROR:
            job = current.get()
            if job.number:
                job.logged = record.exc_info[1]
        return record

    logging.setLogRecordFactory(noted)


def error_of(job: Job) -> BaseException | None:
    """The last one."""
    return getattr(job, "logged", None)
