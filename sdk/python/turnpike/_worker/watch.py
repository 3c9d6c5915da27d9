"""The thread that reads from the gate while the model computes. It costs nothing while no job runs.

    asleep ──a job after a pause──▶ ticking ──the same job at two ticks──▶ listening
       ◀──nothing ran for a while──┘  ◀──────────that job is over──────────┘

While ticking, the thread only checks which job runs. So a worker with short jobs pays one wake-up per tick
(5 ms), not per job, and a ping or a cancel during a long job is read within two ticks.
"""
from __future__ import annotations

import select
import threading
import time
from queue import SimpleQueue

from ..errors import WorkerEnded

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable

    from .link import Link

TICK_S = 0.005
SHARED_TICK_S = 0.02  # while an event loop reads by itself
IDLE_TICKS = 40
STOP_PATIENCE_S = 2.0  # for jobs that still run when the gate says stop


class Watch:
    """The main thread sets `work` to what it is busy with, or None, and calls wake() if `is_asleep`."""

    def __init__(self, link: Link, leave: Callable[[int], Any]) -> None:
        self.work: Any = None
        self.is_asleep = False
        self.is_loading = False
        self.stop_patience_s = STOP_PATIENCE_S
        self.main_thread_reads = False  # the main thread reads as well while it is busy (an event loop)
        self.after_read: Callable[[], object] | None = None
        self.thread = threading.Thread(target=self._run, name="turnpike-watch", daemon=True)
        self._link, self._leave = link, leave
        self._alarm: SimpleQueue[None] = SimpleQueue()
        self._stop_at: float | None = None
        self._is_closed = False
        self._poll = select.poll()
        self._poll.register(link.fileno(), select.POLLIN)

    def wake(self) -> None:
        self.is_asleep = False
        self._alarm.put(None)

    def close(self) -> None:
        """Ends the thread (for tests in one process)."""
        self._is_closed = True
        if self.is_asleep:
            self.wake()

    def _run(self) -> None:
        try:
            self._watch()
        except WorkerEnded:
            pass

    def _watch(self) -> None:
        seen, idle, reads = None, 0, -1
        while not self._is_closed:
            work, tick = self.work, TICK_S
            if work is not None and work is seen:
                if self.main_thread_reads and self._link.reads != reads:  # the main thread reads
                    reads, tick = self._link.reads, SHARED_TICK_S
                elif not self._listen():
                    continue
            idle = 0 if work is not seen or work is not None else idle + 1
            seen = work
            if idle >= IDLE_TICKS:
                idle = 0
                self._sleep()
            else:
                time.sleep(tick)

    def _sleep(self) -> None:
        self.is_asleep = True
        if self.work is not None:  # the job began just now and did not wake this thread
            self.is_asleep = False
            return
        self._alarm.get()

    def _listen(self) -> bool:
        """Waits for data and reads once, while the main thread is busy. Returns False if it should be called again at once."""
        link = self._link
        if link.incoming.is_stopping and self._stop_at is None:
            self._stop()
        patience = None if self._stop_at is None else max(0.0, self._stop_at - time.monotonic())
        if self.main_thread_reads:
            patience = 0
        found = self._poll.poll(None if patience is None else patience * 1000)
        if self._stop_at is not None and time.monotonic() >= self._stop_at:
            self._leave(0)
        if not found or self._is_closed or not link.reading.acquire(blocking=False):
            return True
        try:
            link.read(at_once=True)
        finally:
            link.reading.release()
        if self.after_read is not None:
            self.after_read()
        return self.main_thread_reads

    def _stop(self) -> None:
        if self.is_loading:
            self._leave(0)
        self._stop_at = time.monotonic() + self.stop_patience_s
