"""All workers with a fault. For each name: its class, the check that finds the fault, and a part of the check's message."""
from minimal_worker import Worker

FAULTS = {}


def fault(check, reason):
    def mark(kind):
        FAULTS[kind.__name__] = kind, check, reason
        return kind
    return mark


class OddFrame(Worker):
    """Sends something wrong instead of each answer."""

    def odd(self, job):
        raise NotImplementedError

    def raw(self, data):
        with self.writing:
            self.socket.sendall(data)

    def done(self, job, *parts, **more):
        self.odd(job)


def all_faults():
    from . import starting, odd_frames, jobs, streams, bodies, liveness, endings, gate_breaches  # noqa: F401
    return FAULTS
