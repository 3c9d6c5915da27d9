"""Checks of large bodies, in sealed memfds."""
import os

from . import check, frames
from .gate import Failure, Job, memfd
from .jobs import must_be

MIB = 1024 * 1024
RAW = b"Content-Type: application/octet-stream\r\n"


def pattern(size):
    return (b"0123456789abcdef" * (size // 16 + 1))[:size]


def echo(gate, body):
    """Sends a body in a descriptor to /bytes and expects it back."""
    descriptor = memfd(body)
    try:
        job = gate.send_job(descriptor=descriptor, target=b"/bytes", fields=RAW, in_descriptor=len(body))
        gate.wait(lambda: job.ended and not gate.out, "the end of a job whose body is in a descriptor")
    finally:
        os.close(descriptor)
    if job.failed:
        raise Failure(f"the job failed ({job.failed.why}): {job.failed.type}: {job.failed.message}")
    if job.body != body:
        raise Failure(f"sent {len(body)} bytes in a descriptor; {len(job.body)} bytes came back, and they differ")
    return job


@check()
def a_large_answer(gate):
    """an answer of more than 1 MiB comes in a sealed memfd of the right size; up to 1 MiB it may come either way"""
    gate.until_ready()
    for size in [0, 1, MIB - 1, MIB, MIB + 1, 5 * MIB + 3]:
        job = gate.answer({"size": size})
        if job.body != pattern(size):
            raise Failure(f"asked for {size} bytes; {len(job.body)} bytes came, or not the right ones")
    must_be("whether 5 MiB came in a descriptor", job.in_descriptor, True)


@check()
def a_large_body(gate):
    """a body in a sealed memfd is read from its beginning, also if it is small or empty"""
    gate.until_ready()
    for size in [MIB + 1, 7 * MIB, 5, 0]:
        echo(gate, pattern(size))


@check()
def a_large_body_to_predict(gate):
    """JSON of 2 MiB in a memfd reaches predict"""
    gate.until_ready()
    text = "x" * (2 * MIB)
    body = b'{"echo": "' + text.encode() + b'"}'
    descriptor = memfd(body)
    job = gate.send_job(descriptor=descriptor, in_descriptor=len(body))
    gate.wait(lambda: job.ended, "the end of a job whose body is in a descriptor")
    os.close(descriptor)
    if job.failed or job.json != {"echo": text}:
        raise Failure("JSON of 2 MiB in a memfd was not echoed")


@check()
def a_descriptor_with_any_byte(gate):
    """the descriptor may come with any byte of its frame: the first, one in the middle, the last"""
    gate.until_ready()
    body = pattern(100)
    for split in [0, 1, 15, 16, 17, 60, -1]:
        number = gate.next_number()
        data = frames.job(number, target=b"/bytes", fields=RAW, in_descriptor=len(body))
        split = split % len(data)
        job = gate.jobs.setdefault(number, Job(number))
        descriptor = memfd(body)
        if split:
            gate.send(data[:split])
        gate.send(data[split:split + 1], [descriptor])
        if data[split + 1:]:
            gate.send(data[split + 1:])
        gate.wait(lambda: job.ended, f"the end of a job whose descriptor came with byte {split}")
        os.close(descriptor)
        must_be(f"the answer to a job whose descriptor came with byte {split}", bytes(job.body), body)


@check(variant="slots")
def several_descriptors_in_turn(gate):
    """descriptors of jobs that follow each other directly are not mixed up"""
    gate.until_ready()
    bodies = [bytes([65 + member]) * (MIB + member) for member in range(4)]
    descriptors = [memfd(body) for body in bodies]
    jobs = [gate.send_job(descriptor=descriptor, target=b"/bytes", fields=RAW, in_descriptor=len(body))
            for body, descriptor in zip(bodies, descriptors)]
    gate.wait(lambda: all(job.ended for job in jobs) and not gate.out, "the end of four jobs with descriptors")
    for descriptor in descriptors:
        os.close(descriptor)
    for body, job in zip(bodies, jobs):
        if job.body != body:
            raise Failure("bodies of jobs that followed each other were mixed up")


@check()
def descriptors_are_closed(gate):
    """after twenty large bodies in both directions the worker holds no more descriptors than before"""
    gate.until_ready()
    def held():
        return len(os.listdir(f"/proc/{gate.process.pid}/fd"))
    for _ in range(3):
        echo(gate, pattern(MIB + 1))
    gate.answer({"echo": 1})
    before = held()
    for _ in range(20):
        echo(gate, pattern(MIB + 1))
    gate.answer({"echo": 1})
    if held() > before + 5:
        raise Failure(f"the worker held {before} descriptors, and {held()} after twenty large bodies")
