"""Faults of workers that do not notice, or do not report, that the gate broke the protocol."""
import os

import minimal_worker as right
from minimal_worker import Worker

from . import fault


@fault("breach_unknown_kind", "the worker still runs")
class forgives_everything(Worker):
    def decode(self):
        try:
            super().decode()
        except right.GateBreach:
            self.pending.clear()


@fault("breach_wrong_size", "nothing is on stderr")
class ends_without_a_word(Worker):
    def end(self, status, why=""):
        super().end(status)


@fault("breach_memfd_lacks_one_seal", "the worker still runs")
class takes_any_memfd(Worker):
    def body_in_descriptor(self, rest):
        os.close(self.descriptors.popleft())
        return b"{}"


@fault("breach_unknown_kind", "exit code is 0, although")
class calls_a_breach_success(Worker):
    def end(self, status, why=""):
        super().end(0, why)
