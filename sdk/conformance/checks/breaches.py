"""Checks with a gate that breaks the protocol: the worker must end itself with an exit code other than 0, and say why on stderr.

There is one check for each breach, made from a table: name → (what is wrong, the function that sends it).
"""
import os
import struct
import tempfile

from . import check, frames
from .gate import Failure, Job, memfd
from .liveness import computing

SHORT = struct.pack("<HBBHHHHHHI", 1, 0, 0, 0, 1, 1, 4, 50_000, 0, 0) + b"jPOST/"  # the target is longer than the payload


def in_descriptor(length, descriptor):
    return lambda gate: gate.send(frames.job(1, in_descriptor=length), [descriptor()])


def data(*parts):
    return lambda gate: gate.send(b"".join(parts))


def regular_file():
    with tempfile.TemporaryFile() as file:
        file.write(b"x" * 100)
        file.flush()
        return os.dup(file.fileno())


BREACHES = {
    "unknown_kind": ("a frame of unknown kind", data(frames.frame(0x7F))),
    "kind_of_a_worker": ("a frame that only workers send", data(frames.frame(frames.PONG, 1))),
    "wrong_size": ("a cancel with a payload", data(frames.frame(frames.CANCEL, 1, b"1234"))),
    "size_too_large": ("a header with a size over the bound", data(frames.frame(frames.JOB, 1, size=1_310_721))),
    "lengths_beyond_the_payload": ("a job whose parts are longer than its payload", data(frames.frame(frames.JOB, 1, SHORT))),
    "cut_off_fixed_part": ("a job with half a fixed part", data(frames.frame(frames.JOB, 1, b"\1\0\0\0"))),
    "reserved_in_header": ("a header whose reserved part is not 0", data(frames.frame(frames.PING, 1, reserved=7))),
    "unknown_flags": ("a header with unknown flags", data(frames.frame(frames.PING, 1, flags=2))),
    "flag_on_a_ping": ("a ping with the flag of a descriptor", data(frames.frame(frames.PING, 1, flags=1))),
    "purpose_unknown": ("a job of unknown purpose", data(frames.job(1, b"{}", purpose=9))),
    "index_beyond_the_batch": ("a job with batch index 3 of 2", data(frames.job(1, b"{}", index=3, size=2))),
    "second_welcome": ("a second welcome", data(frames.welcome())),
    "flag_without_descriptor": ("a job with the flag and no descriptor", data(frames.job(1, in_descriptor=10))),
    "descriptor_without_flag": ("a descriptor without the flag",
                                lambda gate: gate.send(frames.frame(frames.PING, 1), [memfd(b"x")])),
    "memfd_without_seals": ("a memfd without seals", in_descriptor(100, lambda: memfd(b"x" * 100, seals=0))),
    "memfd_lacks_one_seal": ("a memfd that may still be written", in_descriptor(100, lambda: memfd(b"x" * 100, seals=1 | 2 | 4))),
    "memfd_of_other_length": ("a memfd shorter than the frame says", in_descriptor(101, lambda: memfd(b"x" * 100))),
    "not_a_memfd": ("a descriptor that is not a memfd", in_descriptor(100, regular_file)),
}


def must_end_itself(gate, what):
    status = gate.wait_for_end(f"the gate sent {what}")
    if status == 0:
        raise Failure(f"the exit code is 0, although the gate sent {what}")
    if status < 0:
        raise Failure(f"the worker died of signal {-status} when the gate sent {what}")
    if not gate.stderr_text().strip():
        raise Failure(f"nothing is on stderr, although the gate sent {what}")


def check_of(name, what, send):
    def run(gate):
        gate.until_ready()
        gate.asked.add(1)  # so that an answer of the worker is not a breach itself
        gate.jobs[1] = Job(1)
        send(gate)
        must_end_itself(gate, what)
    run.__name__ = "breach_" + name
    run.__doc__ = f"when the gate sends {what}, the worker ends itself and says why"
    check()(run)


for key, (wrong, sends) in BREACHES.items():
    check_of(key, wrong, sends)


@check()
def breach_job_before_welcome(gate):
    """when the gate sends a job instead of welcome, the worker ends itself and says why"""
    gate.wait(lambda: gate.hello, "hello")
    gate.send(frames.job(1, b"{}"))
    must_end_itself(gate, "a job instead of welcome")


@check()
def breach_while_computing(gate):
    """when the gate breaks the protocol while the model computes, the worker ends itself and says why"""
    gate.until_ready()
    computing(gate, deaf=True)
    gate.send(frames.frame(0x7F))
    must_end_itself(gate, "a frame of unknown kind")
