"""Faults with stop, and with the end of the socket."""
import time

from minimal_worker import STOP, Worker

from . import fault


@fault("stop_ends_an_idle_worker", "the worker still runs")
class ignores_stop(Worker):
    def take(self, kind, flags, number, payload):
        if kind != STOP:
            super().take(kind, flags, number, payload)


@fault("stop_ends_a_deaf_worker", "the worker still runs")
class stops_only_when_idle(Worker):
    def take(self, kind, flags, number, payload):
        if kind != STOP or not self.jobs:
            super().take(kind, flags, number, payload)


@fault("stop_ends_an_idle_worker", "exit code 5, not exit code 0")
class stops_with_an_error(Worker):
    def end(self, status, why=""):
        super().end(status or 5, why)


@fault("the_end_of_the_socket_ends_an_idle_worker", "the worker still runs")
class outlives_the_gate(Worker):
    def end(self, status, why=""):
        time.sleep(600)
