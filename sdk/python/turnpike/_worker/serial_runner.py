"""Runs one job at a time, in the thread that reads, so that no job is handed from thread to thread."""
from __future__ import annotations

from ..job import Job
from . import frames
from .runner import Runner

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable

    from .link import Link
    from .model_adapter import ModelAdapter
    from .watch import Watch


class SerialRunner(Runner):
    def __init__(self, link: Link, adapter: ModelAdapter, watch: Watch, leave: Callable[[int], Any]) -> None:
        super().__init__(link, adapter, leave)
        self.watch = watch
        watch.after_read = self._start_asides

    def run(self) -> None:
        link, watch, serve = self.link, self.watch, self.serve
        inbox, reading = link.inbox, link.reading
        while True:
            while inbox:
                work = inbox.popleft()
                if work is None:
                    return
                watch.work = work
                if watch.is_asleep:
                    watch.wake()
                serve(work)
                watch.work = None
            with reading:
                if not inbox:  # the watch may have read while the model was computing
                    link.read()

    def _start_asides(self) -> None:
        """Called by the watch after it has read while the model computes. Asides do not wait for the model."""
        inbox = self.link.inbox
        for work in list(inbox):
            if type(work) is not Job or work.purpose != frames.ASIDE:
                continue
            try:
                inbox.remove(work)
            except ValueError:  # the main thread has just taken it
                continue
            self.serve_aside(work)

    def wait_while_paused(self, job: Job) -> None:
        while job.paused and not job.cancelled:
            with self.link.reading:
                if job.paused and not job.cancelled:
                    self.link.read()

    def read_pending(self) -> None:
        if self.link.reading.acquire(blocking=False):  # else the watch is reading
            try:
                self.link.read(at_once=True)
            finally:
                self.link.reading.release()
