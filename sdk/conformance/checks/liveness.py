"""Checks of pings, stacks and cancels, above all while the model computes."""
from . import check, frames
from .gate import Failure, Job
from .jobs import must_be


def computing(gate, **more):
    """Sends a job that keeps a processor busy and looks at `cancelled` from time to time (unless deaf)."""
    job = gate.send_job({"compute": 600, **more})
    gate.wait(lambda: job.progress, "progress of a job that computes")
    return job


def cancel(gate, job, what):
    gate.tell(frames.CANCEL, job)
    gate.wait(lambda: job.ended, what)


@check()
def pings_are_answered_while_idle(gate):
    """each ping is answered by a pong with the same number"""
    gate.until_ready()
    for _ in range(20):
        gate.ping()


@check()
def pings_are_answered_while_computing(gate):
    """pings are answered while the model computes"""
    gate.until_ready()
    job = computing(gate)
    for _ in range(3):
        gate.ping("a pong while the model computes")
    must_be("whether the job has ended", job.ended, False)
    cancel(gate, job, "the end of a job that was cancelled while it computed")


@check()
def a_cancel_ends_a_job(gate):
    """a job that is cancelled while it runs ends, by failed (cancelled) or otherwise, and the worker keeps serving"""
    gate.until_ready()
    for turn in range(3):
        job = gate.send_job({"sleep": 600})
        gate.wait(lambda: job.progress, "progress of a job that sleeps")
        cancel(gate, job, "the end of a job that was cancelled while it ran")
    must_be("a job after that", gate.answer({"echo": 1}).json, {"echo": 1})


@check()
def a_cancel_right_behind_its_job(gate):
    """a cancel in the same write as its job ends the job"""
    gate.until_ready()
    for _ in range(10):
        number = gate.next_number()
        job = gate.jobs.setdefault(number, Job(number))
        gate.send(frames.job(number, b'{"sleep": 600}') + frames.frame(frames.CANCEL, number))
        gate.wait(lambda: job.ended, "the end of a job that was cancelled at once")


@check()
def a_cancel_does_not_hit_the_next(gate):
    """a cancel that comes too late does not cancel the next job"""
    gate.until_ready()
    for value in range(50):
        job = gate.send_job({"echo": value})
        gate.tell(frames.CANCEL, job)
        gate.wait(lambda: job.ended, "the end of a short job that was cancelled")
        must_be("the next job", gate.answer({"echo": "next"}).json, {"echo": "next"})


@check()
def stacks_while_idle(gate):
    """the worker answers a request for stacks while no job runs"""
    gate.until_ready()
    if not gate.ask_stacks().strip():
        raise Failure("the stacks are empty")


@check()
def stacks_while_computing(gate):
    """the worker answers a request for stacks while the model computes, and the answer is not empty"""
    gate.until_ready()
    job = computing(gate)
    if not gate.ask_stacks().strip():
        raise Failure("the stacks are empty")
    must_be("whether the job has ended", job.ended, False)
    cancel(gate, job, "the end of a job that was cancelled while it computed")
