"""Checks of slots and batches."""
import json

from . import check, frames
from .gate import Failure, Job
from .jobs import must_be


def send_at_once(gate, jobs):
    """Sends the jobs [(body, parts)] in one write, and returns their records."""
    data, records = b"", []
    for body, parts in jobs:
        number = gate.next_number()
        records.append(gate.jobs.setdefault(number, Job(number)))
        data += frames.job(number, json.dumps(body).encode(), **parts)
    gate.send(data)
    return records


def send_batch(gate, bodies):
    return send_at_once(gate, [(body, {"index": index, "size": len(bodies)}) for index, body in enumerate(bodies)])


def wait_for_all(gate, jobs, what):
    gate.wait(lambda: all(job.ended for job in jobs), what)


@check(variant="slots")
def slots_run_at_once(gate):
    """four slots run four jobs at once, which wait for each other"""
    gate.until_ready()
    must_be("slots", gate.ready.slots, 4)
    jobs = send_at_once(gate, [({"meet": 4}, {})] * 4)
    wait_for_all(gate, jobs, "the end of four jobs that wait for each other")
    for job in jobs:
        must_be("the answer", job.json, {"met": 4})


@check(variant="slots")
def many_jobs_in_one_write(gate):
    """each of several jobs and pings in one write is answered"""
    gate.until_ready()
    for turn in range(25):
        jobs = send_at_once(gate, [({"echo": [turn, member]}, {}) for member in range(4)])
        gate.ping()
        wait_for_all(gate, jobs, "the end of four jobs that came in one write")
        for member, job in enumerate(jobs):
            must_be("the answer", job.json, {"echo": [turn, member]})


@check(variant="slots")
def a_cancel_ends_one_of_many(gate):
    """a cancel ends its job and no other"""
    gate.until_ready()
    sleepers = [gate.send_job({"sleep": 600}) for _ in range(3)]
    wait_for = gate.wait
    wait_for(lambda: all(job.progress for job in sleepers), "progress of three jobs that sleep")
    gate.tell(frames.CANCEL, sleepers[1])
    wait_for(lambda: sleepers[1].ended, "the end of a job that was cancelled")
    must_be("a job beside them", gate.answer({"echo": 1}).json, {"echo": 1})
    must_be("ends of the others", [sleepers[0].ended, sleepers[2].ended], [False, False])
    gate.tell(frames.CANCEL, sleepers[0])
    gate.tell(frames.CANCEL, sleepers[2])
    wait_for_all(gate, sleepers, "the end of the others, once cancelled")


@check(variant="batch")
def a_batch_is_answered_member_by_member(gate):
    """a batch reaches the model together, and each member gets its own answer"""
    gate.until_ready()
    must_be("batch", gate.ready.batch, 8)
    for size in (1, 2, 5, 8):
        jobs = send_batch(gate, [{"echo": member} for member in range(size)])
        wait_for_all(gate, jobs, f"the end of each of {size} members of a batch")
        for member, job in enumerate(jobs):
            if job.failed:
                raise Failure(f"member {member} of {size} failed: {job.failed.message}")
            must_be("the answer", job.json, {"echo": member, "together": size})


@check(variant="batch")
def a_batch_in_pieces(gate):
    """a batch whose members come in pieces is one batch"""
    gate.until_ready()
    jobs, data = [], b""
    for member in range(3):
        number = gate.next_number()
        jobs.append(gate.jobs.setdefault(number, Job(number)))
        data += frames.job(number, b'{"echo": %d}' % member, index=member, size=3)
    for at in range(0, len(data), 23):
        gate.send(data[at:at + 23])
        gate.wait_until_read()
    wait_for_all(gate, jobs, "the end of each of 3 members of a batch")
    must_be("the answers", [job.json for job in jobs], [{"echo": member, "together": 3} for member in range(3)])


@check(variant="batch")
def a_batch_that_fails(gate):
    """an exception in a batch fails the member that caused it; the others fail, too, or are tried alone"""
    gate.until_ready()
    jobs = send_batch(gate, [{"echo": 1}, {"fail": "exception", "message": "no"}, {"echo": 3}])
    wait_for_all(gate, jobs, "the end of each of 3 members of a batch")
    must_be("why the member that caused it failed", jobs[1].failed and jobs[1].failed.why, "exception")
    for job in (jobs[0], jobs[2]):
        must_be("how another ended", job.failed.why if job.failed else job.status, "exception" if job.failed else 200)
    must_be("a job after that", gate.answer({"echo": 1}).json, {"echo": 1, "together": 1})


@check(variant="batch")
def one_bad_member_of_a_batch(gate):
    """a member with bad input fails alone"""
    gate.until_ready()
    jobs = send_batch(gate, [{"echo": 1}, {"fail": "bad_input", "message": "no"}, {"echo": 3}])
    wait_for_all(gate, jobs, "the end of each of 3 members of a batch")
    must_be("why", [job.failed and job.failed.why for job in jobs], [None, "bad_input", None])
    must_be("the answer beside it", jobs[2].json.get("echo"), 3)


@check(variant="batch")
def a_cancelled_member_still_ends(gate):
    """a member that is cancelled ends, and so do the others"""
    gate.until_ready()
    jobs = send_batch(gate, [{"echo": 1}, {"echo": 2}])
    gate.tell(frames.CANCEL, jobs[0])
    wait_for_all(gate, jobs, "the end of both members, one of them cancelled")
    must_be("the answer to the other", jobs[1].json.get("echo"), 2)
