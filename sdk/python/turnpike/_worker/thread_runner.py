"""Runs several jobs at once, each in a thread of its own. The main thread reads."""
from __future__ import annotations

import threading
import time
from queue import SimpleQueue

from ..errors import WorkerEnded
from ..job import Job
from . import frames
from .runner import Runner
from .watch import STOP_PATIENCE_S

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable

    from .link import Link
    from .model_adapter import ModelAdapter


class ThreadRunner(Runner):
    def __init__(self, link: Link, adapter: ModelAdapter, leave: Callable[[int], Any]) -> None:
        super().__init__(link, adapter, leave)
        self._work: SimpleQueue[Any] = SimpleQueue()
        self._changed = threading.Condition()
        link.incoming.on_flags_changed = self._wake_paused

    def run(self) -> None:
        threads = [threading.Thread(target=self._run_slot, name=f"turnpike-slot-{slot}", daemon=True)
                   for slot in range(self.adapter.slots)]
        for thread in threads:
            thread.start()
        link = self.link
        while True:
            while link.inbox:
                work = link.inbox.popleft()
                if work is None:
                    return self._stop(threads)
                if type(work) is Job and work.purpose == frames.ASIDE:
                    self.serve_aside(work)
                else:
                    self._work.put(work)
            with link.reading:
                if not link.inbox:  # the watch may have read while the model was loading
                    link.read()

    def _run_slot(self) -> None:
        while True:
            work = self._work.get()
            if work is None:
                return
            try:
                self.serve_in_thread(work)
            except WorkerEnded:
                return

    def _stop(self, threads: list[threading.Thread]) -> None:
        for _ in threads:
            self._work.put(None)
        until = time.monotonic() + STOP_PATIENCE_S
        for thread in threads:
            thread.join(max(0.0, until - time.monotonic()))

    def _wake_paused(self) -> None:
        with self._changed:
            self._changed.notify_all()

    def wait_while_paused(self, job: Job) -> None:
        with self._changed:
            self._changed.wait_for(lambda: job.cancelled or not job.paused)
