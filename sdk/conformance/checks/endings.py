"""Checks of stop, and of the end of the socket."""
from . import check, frames
from .gate import Failure, status_in_words
from .liveness import computing
from .starting import hold_file
from .streams import long_stream


def must_stop(gate):
    gate.stop()
    status = gate.wait_for_end("stop was sent")
    if status != 0:
        raise Failure(f"after stop: {status_in_words(status)}, not exit code 0; its last line on stderr: {gate.last_stderr_line()!r}")


def must_end_without_gate(gate):
    gate.socket.close()
    gate.ended = True
    gate.wait_for_end("the socket has ended")


@check()
def stop_ends_an_idle_worker(gate):
    """an idle worker ends with exit code 0 after stop"""
    gate.until_ready()
    gate.answer({"echo": 1})
    must_stop(gate)


@check()
def stop_before_the_first_job(gate):
    """a worker ends with exit code 0 if stop comes right after ready"""
    gate.until_ready()
    must_stop(gate)


@check(environment=lambda: {"CONFORMANCE_HOLD": hold_file()})
def stop_ends_a_loading_worker(gate):
    """a worker ends with exit code 0 if stop comes while the model loads"""
    gate.until_welcome()
    gate.wait(lambda: gate.loading, "a loading frame")
    must_stop(gate)


@check()
def stop_ends_a_deaf_worker(gate):
    """stop ends a worker whose cancelled job keeps computing"""
    gate.until_ready()
    job = computing(gate, deaf=True)
    gate.tell(frames.CANCEL, job)
    must_stop(gate)


@check()
def the_end_of_the_socket_ends_an_idle_worker(gate):
    """the worker ends when the socket ends"""
    gate.until_ready()
    must_end_without_gate(gate)


@check()
def the_end_of_the_socket_ends_a_computing_worker(gate):
    """the worker ends when the socket ends while the model computes"""
    gate.until_ready()
    computing(gate, deaf=True)
    must_end_without_gate(gate)


@check()
def the_end_of_the_socket_ends_a_streaming_worker(gate):
    """the worker ends when the socket ends while an answer streams"""
    gate.until_ready()
    long_stream(gate, 4096)
    must_end_without_gate(gate)


@check()
def the_end_of_the_socket_ends_a_paused_worker(gate):
    """the worker ends when the socket ends while a stream is paused"""
    gate.until_ready()
    job = long_stream(gate, 4096)
    gate.tell(frames.PAUSE, job)
    gate.wait_for_silence(0.2, lambda: len(job.body))
    must_end_without_gate(gate)


@check(environment=lambda: {"CONFORMANCE_HOLD": hold_file()})
def the_end_of_the_socket_ends_a_loading_worker(gate):
    """the worker ends when the socket ends while the model loads"""
    gate.until_welcome()
    gate.wait(lambda: gate.loading, "a loading frame")
    must_end_without_gate(gate)


@check()
def the_end_of_the_socket_before_welcome(gate):
    """the worker ends when the socket ends before welcome"""
    gate.wait(lambda: gate.hello, "hello")
    must_end_without_gate(gate)
