"""One job at a time, in the thread that reads: no hand-over between threads on the way of a job."""
from __future__ import annotations

from .serving import Serving

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .job import Job
    from .link import Link
    from .served import Served
    from .watch import Watch


class Direct(Serving):
    def __init__(self, link: Link, served: Served, watch: Watch) -> None:
        super().__init__(link, served)
        self.watch = watch

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
                if not inbox:  # the watch may have read while the model computed
                    link.read()

    def wait(self, job: Job) -> None:
        while job.paused and not job.cancelled:
            with self.link.reading:
                if job.paused and not job.cancelled:
                    self.link.read()

    def look(self) -> None:
        if self.link.reading.acquire(blocking=False):  # else the watch is at it
            try:
                self.link.read(at_once=True)
            finally:
                self.link.reading.release()
