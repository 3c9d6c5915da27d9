"""Every worker with a fault: by name, its class, the check of the kit that finds it, and a part of what that says."""
from minimal_worker import Worker

FAULTS = {}


def fault(check, reason):
    def mark(kind):
        FAULTS[kind.__name__] = kind, check, reason
        return kind
    return mark


class OddFrame(Worker):
    """Sends something odd in place of each answer."""

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
