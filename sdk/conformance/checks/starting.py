"""Checks from the start to ready."""
import json
import os
import tempfile

from . import check, frames
from .gate import Failure, status_in_words


@check()
def hello_comes_first(gate):
    """the first frame is hello, with our magic, a name of the SDK and version 1 among its versions"""
    gate.wait(lambda: gate.hello, "hello")
    if not gate.hello.sdk:
        raise Failure("hello names no SDK")


@check()
def ready_is_within_bounds(gate):
    """ready has valid slots and batch, and facts that are a JSON object or empty"""
    gate.until_ready()
    if gate.ready.facts and not isinstance(json.loads(gate.ready.facts), dict):
        raise Failure(f"ready: facts are not a JSON object: {gate.ready.facts[:100]}")
    if gate.ready.slots != 1 or gate.ready.batch != 1:
        raise Failure(f"ready: slots {gate.ready.slots} and batch {gate.ready.batch}; the conformance model has 1 and 1")


@check()
def loading_is_told(gate):
    """lane.progress() while loading gives a loading frame before ready"""
    gate.until_ready()
    if (500, "half") not in [(found.permille, found.text) for found in gate.loading if found.phase == 1]:
        raise Failure(f"no loading frame of phase 1 with permille 500 and text 'half'; there were {len(gate.loading)}")


@check()
def the_example_works(gate):
    """the example of ready, sent to POST /predict, is answered with 200"""
    gate.until_ready()
    if not gate.ready.traits & 1:
        raise Failure("ready has no example; the conformance model has one")
    fields = b"Content-Type: " + gate.ready.type.encode() + b"\r\n"
    job = gate.answer(gate.ready.example, fields=fields)
    if job.status != 200 or job.json != {"echo": "example"}:
        raise Failure(f"the example was answered with {job.status}, {bytes(job.body[:200])!r}")


@check()
def the_configured_width_counts(gate):
    """welcome with slots 2 gives ready with slots 2"""
    gate.until_ready(slots=2)
    if gate.ready.slots != 2:
        raise Failure(f"welcome had slots 2, but ready has {gate.ready.slots}")


@check()
def welcome_arrives_in_pieces(gate):
    """a welcome that arrives byte by byte is understood"""
    gate.wait(lambda: gate.hello, "hello")
    for byte in frames.welcome():
        gate.send(bytes([byte]))
        gate.wait_until_read()
    gate.wait(lambda: gate.ready, "ready")


@check(variant="fail_load")
def a_failed_load_ends_the_worker(gate):
    """a load that raises ends the worker: no ready, exit code not 0, the reason on stderr"""
    gate.until_welcome()
    status = gate.wait_for_end("load failed")
    if gate.ready:
        raise Failure("the worker sent ready, although load failed")
    if status == 0:
        raise Failure("the exit code is 0, although load failed")
    if "no such weights" not in gate.stderr_text():
        raise Failure(f"stderr does not say why load failed ('no such weights'): {gate.last_stderr_line()!r}")


@check()
def an_unknown_version_is_refused(gate):
    """a welcome with a version that the worker did not offer ends the worker: exit code not 0, the reason on stderr"""
    gate.until_welcome(version=99)
    status = gate.wait_for_end("welcome had version 99")
    if gate.ready:
        raise Failure("the worker sent ready, although welcome had version 99")
    if status == 0 or not gate.stderr_text().strip():
        raise Failure(f"after a welcome of version 99: {status_in_words(status)}, stderr: {gate.last_stderr_line()!r}")


@check()
def nothing_inherits_the_socket(gate):
    """the socket is close-on-exec, and ends with the worker even if a child of the worker lives on"""
    gate.until_ready()
    with open(f"/proc/{gate.process.pid}/fdinfo/{gate.worker_descriptor}") as info:
        flags = next(int(line.split()[1], 8) for line in info if line.startswith("flags:"))
    if not flags & os.O_CLOEXEC:
        raise Failure("the socket is not close-on-exec")
    child = gate.answer({"spawn": 600}).json.get("pid")
    gate.stop()
    gate.wait_for_end("stop was sent")
    gate.patience = min(gate.patience, 5)
    try:
        gate.wait(lambda: gate.ended, "the socket's end")
    except Failure:
        raise Failure(f"the worker has ended, but its socket has not: its child (process {child}) has inherited it") from None


def hold_file():
    return os.path.join(tempfile.mkdtemp(prefix="conformance-"), "go")


def let_go(gate):
    path = gate.environment["CONFORMANCE_HOLD"]
    open(path, "w").close()


@check(environment=lambda: {"CONFORMANCE_HOLD": hold_file()})
def pings_are_answered_while_loading(gate):
    """a ping during load is answered before ready"""
    gate.until_welcome()
    gate.wait(lambda: any(found.text == "half" for found in gate.loading), "the loading frame 'half'")
    gate.ping("a pong while the model loads")
    if gate.ready:
        raise Failure("the worker sent ready, although load had not ended")
    let_go(gate)
    gate.wait(lambda: gate.ready, "ready")
