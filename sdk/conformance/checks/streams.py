"""Checks of answers that stream: begin, chunks, done; pause and resume."""
from . import check, frames
from .gate import Failure, Job
from .jobs import must_be

MIB = 1024 * 1024


def expected(count, size):
    return b"".join(b"%0*d\n" % (size - 1, number) for number in range(count))


def long_stream(gate, megabytes):
    job = gate.send_job({"stream": megabytes * 16, "size": 65536})
    gate.wait(lambda: len(job.body), "a chunk of the stream")
    return job


@check()
def a_stream_comes_in_order(gate):
    """a stream comes as begin, chunks and done, in this order, and no byte is lost"""
    gate.until_ready()
    for count, size in [(1, 8), (100, 8), (64, 65536)]:
        job = gate.answer({"stream": count, "size": size})
        must_be("whether it streams", job.streams, True)
        must_be("status", job.status, 200)
        if job.body != expected(count, size):
            raise Failure(f"a stream of {count} pieces of {size} bytes is wrong: {len(job.body)} bytes came")
    must_be("its content type", (job.header("content-type") or "").split(";")[0], "text/plain")


@check()
def an_empty_stream(gate):
    """a stream without a chunk is begin and done, or done alone"""
    gate.until_ready()
    job = gate.answer({"stream": 0, "size": 8})
    must_be("status and body", (job.status, bytes(job.body)), (200, b""))


@check()
def a_huge_piece_is_cut_into_chunks(gate):
    """a piece of 3 MiB is sent as chunks of at most 1 MiB"""
    gate.until_ready()
    job = gate.answer({"stream": 2, "size": 3 * MIB})
    if job.body != expected(2, 3 * MIB):
        raise Failure(f"a stream of 2 pieces of 3 MiB is wrong: {len(job.body)} bytes came")


@check()
def a_chunk_leaves_at_once(gate):
    """a chunk is sent at once, not only when the next one is there"""
    gate.until_ready()
    job = gate.send_job({"stream": 3, "size": 8, "then": "sleep"})
    gate.wait(lambda: len(job.body) == 24, "three chunks of a stream that goes on")
    gate.tell(frames.CANCEL, job)
    gate.wait(lambda: job.ended, "the end of a stream that was cancelled")


@check()
def a_stream_that_breaks(gate):
    """an exception after begin gives failed, and the worker keeps serving"""
    gate.until_ready()
    job = gate.ask({"stream": 3, "size": 8, "then": "fail"})
    must_be("why", job.failed and job.failed.why, "exception")
    must_be("what came before", bytes(job.body), expected(3, 8))
    must_be("a job after that", gate.answer({"echo": 1}).json, {"echo": 1})


@check()
def pause_and_resume(gate):
    """after pause come at most 8 MiB of chunks and then none; after resume comes the rest, and no byte is lost"""
    gate.until_ready()
    job = long_stream(gate, 64)
    gate.tell(frames.PAUSE, job)
    gate.wait_for_silence(0.5, lambda: len(job.body))
    gate.ping("a pong while a stream is paused")
    if job.ended:
        raise Failure("the stream ended, although it was paused")
    gate.tell(frames.RESUME, job)
    gate.wait(lambda: job.ended, "the end of the stream after resume")
    if job.failed or job.body != expected(1024, 65536):
        raise Failure(f"a stream of 64 MiB, paused and resumed, is wrong: {len(job.body)} bytes came")


@check()
def a_paused_stream_can_be_cancelled(gate):
    """a stream that is paused and then cancelled ends"""
    gate.until_ready()
    job = long_stream(gate, 1024)
    gate.tell(frames.PAUSE, job)
    gate.wait_for_silence(0.2, lambda: len(job.body))
    gate.tell(frames.CANCEL, job)
    gate.wait(lambda: job.ended, "the end of a stream that was paused, then cancelled")
    must_be("a job after that", gate.answer({"echo": 1}).json, {"echo": 1})


@check()
def a_running_stream_can_be_cancelled(gate):
    """a stream that is cancelled ends long before its last byte"""
    gate.until_ready()
    job = long_stream(gate, 1024)
    gate.tell(frames.CANCEL, job)
    gate.wait(lambda: job.ended, "the end of a stream that was cancelled")
    if len(job.body) > 512 * MIB:
        raise Failure(f"{len(job.body) // MIB} MiB came after the cancel")
    must_be("a job after that", gate.answer({"echo": 1}).json, {"echo": 1})


@check()
def late_orders_are_ignored(gate):
    """cancel, pause and resume for a job that has just ended do nothing"""
    gate.until_ready()
    job = gate.answer({"stream": 3, "size": 8})
    for kind in (frames.PAUSE, frames.RESUME, frames.CANCEL):
        gate.send(frames.frame(kind, job.number))
    must_be("a job after that", gate.answer({"echo": 1}).json, {"echo": 1})


@check()
def a_gate_that_does_not_read(gate):
    """a worker loses nothing if the gate does not read its answers for a while"""
    gate.until_ready()
    number = gate.next_number()
    job = gate.jobs.setdefault(number, Job(number))
    gate.socket.sendall(frames.job(number, b'{"stream": 256, "size": 65536}'))
    pings = [gate.next_number() + 1_000_000 for _ in range(50)]
    gate.asked.update(pings)
    gate.socket.sendall(b"".join(frames.frame(frames.PING, ping) for ping in pings))
    gate.wait(lambda: job.ended and gate.pongs.issuperset(pings), "the end of the stream and all pongs")
    if job.body != expected(256, 65536):
        raise Failure(f"a stream of 16 MiB is wrong: {len(job.body)} bytes came")
