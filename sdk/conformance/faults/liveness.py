"""Faults with pings, cancels and stacks."""
import minimal_worker as right
from minimal_worker import CANCEL, PING, PONG, STACKS, Worker

from . import OddFrame, fault


@fault("a_cancel_ends_a_job", "no sign of the end of a job that was cancelled")
class ignores_cancel(Worker):
    def take(self, kind, flags, number, payload):
        if kind != CANCEL:
            super().take(kind, flags, number, payload)


@fault("pings_are_answered_while_computing", "no sign of a pong while the model computes")
class silent_while_computing(Worker):
    def take(self, kind, flags, number, payload):
        if kind != PING or not self.jobs:
            super().take(kind, flags, number, payload)


@fault("pings_are_answered_while_loading", "no sign of a pong while the model loads")
class silent_while_loading(Worker):
    is_ready = False

    def ready(self):
        self.is_ready = True
        super().ready()

    def take(self, kind, flags, number, payload):
        if kind != PING or self.is_ready:
            super().take(kind, flags, number, payload)


@fault("pings_are_answered_while_idle", "no sign of a pong")
class never_answers_a_ping(Worker):
    def take(self, kind, flags, number, payload):
        if kind != PING:
            super().take(kind, flags, number, payload)


@fault("pings_are_answered_while_idle", "no such ping was sent")
class pong_of_another_number(Worker):
    def take(self, kind, flags, number, payload):
        super().take(kind, flags, number + 1 if kind == PING else number, payload)


@fault("a_job_is_answered", "no such ping was sent")
class pong_unasked(OddFrame):
    def odd(self, job):
        self.write(PONG, 4711)


@fault("a_job_is_answered", "but nobody asked for them")
class stacks_unasked(OddFrame):
    def odd(self, job):
        self.write(STACKS, 4711, b"here I am")


@fault("stacks_while_computing", "no sign of its stacks")
class keeps_its_stacks(Worker):
    def take(self, kind, flags, number, payload):
        if kind != right.ASK_STACKS:
            super().take(kind, flags, number, payload)
