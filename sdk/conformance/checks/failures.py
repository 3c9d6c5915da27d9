"""Checks of models that fail, and of requests that are wrong."""
from . import check
from .gate import Failure
from .jobs import must_be


def fails(gate, kind, why=None):
    job = gate.ask({"fail": kind, "message": "the ünlucky number"})
    if not job.failed:
        raise Failure(f"the job did not fail, but was answered with {job.status}")
    must_be("why", job.failed.why, why or kind)
    return job.failed


def still_serves(gate):
    must_be("the answer to a job after that", gate.answer({"echo": 1}).json, {"echo": 1})


@check()
def bad_input_is_the_clients_fault(gate):
    """BadInput gives failed (bad input) with the message, and the worker keeps serving"""
    gate.until_ready()
    must_be("message", fails(gate, "bad_input").message, "the ünlucky number")
    still_serves(gate)


@check()
def an_exception_fails_the_job(gate):
    """an exception gives failed (exception) with its type and message, and the worker keeps serving"""
    gate.until_ready()
    failed = fails(gate, "exception")
    if not failed.type:
        raise Failure("failed names no type of exception")
    if "the ünlucky number" not in failed.message:
        raise Failure(f"the exception's message is not in failed: {failed.message!r}")
    still_serves(gate)


@check()
def a_huge_message_is_cut(gate):
    """an exception with a message of 200 kB fails the job within the protocol's bounds"""
    gate.until_ready()
    job = gate.ask({"fail": "exception", "message": "é" * 100_000})
    must_be("why", job.failed.why if job.failed else None, "exception")
    still_serves(gate)


@check()
def out_of_memory_is_told(gate):
    """out of GPU memory gives failed (out of memory), and the worker keeps serving"""
    gate.until_ready(gpus=1)
    fails(gate, "out_of_memory")
    still_serves(gate)


@check()
def out_of_memory_needs_a_gpu(gate):
    """on a lane without GPUs nothing gives failed (out of memory)"""
    gate.until_ready(gpus=0)
    fails(gate, "out_of_memory", "exception")
    still_serves(gate)


@check()
def nan_is_an_error(gate):
    """an answer with NaN gives failed (non finite), and the worker keeps serving"""
    gate.until_ready()
    fails(gate, "non_finite")
    still_serves(gate)


@check()
def unhealthy_is_told(gate):
    """Unhealthy gives failed (unhealthy)"""
    gate.until_ready()
    fails(gate, "unhealthy")


@check()
def a_body_that_is_not_json(gate):
    """a body that is not JSON gives failed (bad input), or a 4xx"""
    gate.until_ready()
    for body in [b"{", b"", b"\xff\xfe"]:
        job = gate.ask(body)
        if not (job.failed and job.failed.why == "bad_input") and not 400 <= job.status < 500:
            raise Failure(f"the body {body!r} gave {job.failed.why if job.failed else job.status}")
    still_serves(gate)
