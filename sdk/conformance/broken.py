#!/usr/bin/env python3
"""Workers with one fault each, to show that the kit, and the gate, find it.

    broken.py FAULT        a worker: everything right (minimal_worker.py), except for that
    broken.py --list       every fault, the check of the kit that finds it, and what it says

`fault` names, for each: the check, and a part of the reason.
"""
import os
import signal
import struct
import sys
import tempfile
import threading
import time

import minimal_worker as right
from minimal_worker import CANCEL, CHUNK, DONE, FAILED, HEADER, INLINE_MAX, LOG, PAUSE, PING, PONG, PROGRESS, READY, RESUME, \
    STACKS, STOP, Worker

FAULTS = {}


def fault(check, reason):
    def mark(kind):
        FAULTS[kind.__name__] = kind, check, reason
        return kind
    return mark


# ── until ready ──────────────────────────────────────────────────────────────────────────────────

@fault("hello_comes_first", "no sign of hello")
class no_hello(Worker):
    def hello(self):
        pass


@fault("hello_comes_first", "its magic is b'tollgate'")
class wrong_magic(Worker):
    def hello(self):
        self.write(right.HELLO, 0, struct.pack("<8sHHH", b"tollgate", 1, 1, 0))


@fault("hello_comes_first", "the first frame is log, not hello")
class log_before_hello(Worker):
    def hello(self):
        self.write(LOG, 0, b"\1\0good morning")
        super().hello()


@fault("hello_comes_first", "without version 1")
class version_too_new(Worker):
    def hello(self):
        self.write(right.HELLO, 0, struct.pack("<8sHHH", b"turnpike", 2, 3, 0))


@fault("ready_is_within_bounds", "a second hello")
class second_hello(Worker):
    def load(self):
        self.hello()


@fault("ready_is_within_bounds", "no sign of ready")
class never_ready(Worker):
    def ready(self):
        pass


@fault("a_job_is_answered", "loading after ready")
class loading_after_ready(Worker):
    def ready(self):
        super().ready()
        self.loading(0.9, "still warming up")


@fault("a_job_is_answered", "a second ready")
class second_ready(Worker):
    def ready(self):
        super().ready()
        super().ready()


@fault("ready_is_within_bounds", "ready: slots is 0")
class no_slots(Worker):
    def ready(self):
        self.write(READY, 0, struct.pack("<HHBBHII", 0, 1, 0, 0, 0, 0, 0))


@fault("ready_is_within_bounds", "facts is not UTF-8")
class facts_not_utf8(Worker):
    def ready(self):
        self.write(READY, 0, struct.pack("<HHBBHII", 1, 1, 0, 0, 0, 0, 2) + b"\xff\xfe")


@fault("ready_is_within_bounds", "longer than the payload")
class lies_about_the_example(Worker):
    def ready(self):
        self.write(READY, 0, struct.pack("<HHBBHII", 1, 1, 1, 0, 0, 1000, 0) + b"{}")


@fault("loading_is_told", "permille is 1001")
class permille_too_large(Worker):
    def loading(self, fraction, text):
        super().loading(1.001, text)


@fault("the_configured_width_counts", "welcome said slots 2")
class ignores_the_width(Worker):
    def take_welcome(self, payload):
        super().take_welcome(payload)
        self.slots = self.batch = 1


@fault("a_failed_load_ends_the_worker", "ready, though load failed")
class ready_after_a_failed_load(Worker):
    def load(self):
        try:
            super().load()
        except FileNotFoundError as error:
            sys.stderr.write(f"{error}\n")
            threading.Timer(0.2, os._exit, [1]).start()


@fault("an_unknown_version_is_refused", "welcome had version 99")
class takes_any_version(Worker):
    def take_welcome(self, payload):
        super().take_welcome(b"\1\0" + payload[2:])


@fault("nothing_inherits_the_socket", "the socket is not close-on-exec")
class socket_in_children(Worker):
    def __init__(self):
        super().__init__()
        self.socket.set_inheritable(True)


@fault("nothing_inherits_the_socket", "has inherited it")
class socket_in_a_copy(Worker):
    def predict_spawn(self, job, asked):
        inheritable = os.dup(self.socket.fileno())
        os.set_inheritable(inheritable, True)
        return super().predict_spawn(job, asked)


# ── frames ───────────────────────────────────────────────────────────────────────────────────────

class OddFrame(Worker):
    """Sends something odd in place of each answer."""

    def odd(self, job):
        raise NotImplementedError

    def raw(self, data):
        with self.writing:
            self.socket.sendall(data)

    def done(self, job, *parts, **more):
        self.odd(job)


@fault("a_job_is_answered", "unknown kind 0x99")
class unknown_kind(OddFrame):
    def odd(self, job):
        self.write(0x99)


@fault("a_job_is_answered", "unknown kind 0x08")
class kind_of_the_gate(OddFrame):
    def odd(self, job):
        self.write(STOP)


@fault("a_job_is_answered", "size is 4294967295")
class size_too_large(OddFrame):
    def odd(self, job):
        self.raw(HEADER.pack(0xFFFFFFFF, DONE, 0, 0, job.number))


@fault("a_job_is_answered", "less than its fixed part")
class payload_too_short(OddFrame):
    def odd(self, job):
        self.write(DONE, job.number, b"\xc8\0")


@fault("a_job_is_answered", "3 bytes too many")
class payload_too_long(OddFrame):
    def odd(self, job):
        self.write(PROGRESS, job.number, struct.pack("<HH", 5, 0) + b"abc")


@fault("a_job_is_answered", "reserved part must be 0")
class reserved_not_zero(OddFrame):
    def odd(self, job):
        self.raw(HEADER.pack(8, DONE, 0, 1, job.number) + struct.pack("<HHI", 200, 0, 0))


@fault("a_job_is_answered", "unknown flags")
class unknown_flags(OddFrame):
    def odd(self, job):
        self.write(DONE, job.number, struct.pack("<HHI", 200, 0, 0), flags=4)


@fault("a_job_is_answered", "no descriptor may go with it")
class flag_on_a_log(OddFrame):
    def odd(self, job):
        self.write(LOG, 0, b"\1\0" + b"12345678", flags=1)


@fault("a_job_is_answered", "length of the rest is")
class log_too_long(OddFrame):
    def odd(self, job):
        self.write(LOG, 0, b"\1\0" + b"x" * 70_000)


@fault("a_job_is_answered", "status is 99")
class status_too_small(OddFrame):
    def odd(self, job):
        self.write(DONE, job.number, struct.pack("<HHI", 99, 0, 0))


@fault("a_job_is_answered", "content-length is the gate's business")
class frames_its_answer(OddFrame):
    def odd(self, job):
        fields = b"Content-Length: 1000\r\n"
        self.write(DONE, job.number, struct.pack("<HHI", 200, 0, len(fields)) + fields + b"{}")


@fault("a_job_is_answered", "a malformed header line")
class malformed_fields(OddFrame):
    def odd(self, job):
        fields = b"X-One: 1\n\nX-Two: 2\r\n"
        self.write(DONE, job.number, struct.pack("<HHI", 200, 0, len(fields)) + fields)


@fault("a_job_is_answered", "within a frame")
class dies_within_a_frame(OddFrame):
    def odd(self, job):
        self.raw(HEADER.pack(100, DONE, 0, 0, job.number) + b"\xc8\0")
        os._exit(0)


# ── jobs ─────────────────────────────────────────────────────────────────────────────────────────

@fault("a_job_is_answered", "which is not aboard")
class answers_an_unknown_job(OddFrame):
    def odd(self, job):
        self.write(DONE, job.number + 1000, struct.pack("<HHI", 200, 0, 0))


@fault("a_job_is_answered", "which has ended already")
class two_ends(OddFrame):
    def odd(self, job):
        for _ in range(2):
            self.write(DONE, job.number, struct.pack("<HHI", 200, 0, 0) + b'{"echo": 1}')


@fault("a_job_is_answered", "no sign of an end of the job")
class no_end(OddFrame):
    def odd(self, job):
        pass


@fault("a_job_is_answered", "the answer is")
class answers_the_job_before(Worker):
    last = b"{}"

    def done(self, job, status=200, kind="application/json", body=b"", more=b""):
        self.last, body = body, self.last
        super().done(job, status, kind, body, more)


@fault("a_job_split_in_two_anywhere", "")
class takes_a_read_for_a_frame(Worker):
    def decode(self):
        if len(self.pending) >= HEADER.size and len(self.pending) >= HEADER.size + HEADER.unpack_from(self.pending)[0]:
            return super().decode()
        self.pending.clear()


@fault("a_job_is_answered", "signal 11")
class crashes(OddFrame):
    def odd(self, job):
        os.kill(os.getpid(), signal.SIGSEGV)


@fault("a_job_is_answered", "exit code 3")
class exits(OddFrame):
    def odd(self, job):
        os._exit(3)


@fault("progress_is_told", "permille is 2000")
class progress_beyond_all(Worker):
    def progress(self, job, fraction, text):
        super().progress(job, 2, text)


@fault("bad_input_is_the_clients_fault", "failed: why is 9")
class fails_for_no_known_reason(Worker):
    def failed(self, job, why, error):
        self.write(FAILED, job.number, struct.pack("<BBHI", 9, 0, 0, 0))


@fault("a_huge_message_is_cut", "length of message is")
class message_too_long(Worker):
    def failed(self, job, why, error):
        message = str(error).encode()
        self.write(FAILED, job.number, struct.pack("<BBHI", why, 0, 0, len(message)) + message)


@fault("bad_input_is_the_clients_fault", "message is not UTF-8")
class message_not_utf8(Worker):
    def failed(self, job, why, error):
        message = str(error).encode("latin-1")
        self.write(FAILED, job.number, struct.pack("<BBHI", why, 0, 0, len(message)) + message)


@fault("an_exception_fails_the_job", "the worker ended")
class ends_with_an_exception(Worker):
    def failed(self, job, why, error):
        self.end(1, f"{error}\n")


@fault("nan_is_an_error", "the job did not fail")
class lets_nan_pass(Worker):
    def failed(self, job, why, error):
        if why == right.NON_FINITE:
            self.done(job, body=b'{"value": NaN}')
        else:
            super().failed(job, why, error)


@fault("slots_run_at_once", "no sign of an end of four jobs")
class one_slot_at_a_time(Worker):
    alone = threading.Lock()

    def answer(self, job):
        with self.alone:
            super().answer(job)


@fault("a_batch_is_answered_member_by_member", "no sign of an end of each of 2")
class answers_only_the_first_of_a_batch(Worker):
    def predict_batch(self, jobs):
        super().predict_batch(jobs[:1])


@fault("a_batch_is_answered_member_by_member", "the answer is")
class mixes_a_batch_up(Worker):
    def predict_batch(self, jobs):
        bodies = [job.body for job in jobs]
        for job, body in zip(jobs, reversed(bodies)):
            job.body = body
        super().predict_batch(jobs)


# ── streams ──────────────────────────────────────────────────────────────────────────────────────

@fault("a_stream_comes_in_order", "chunk without begin")
class chunk_without_begin(Worker):
    def begin(self, job, fields=b""):
        job.streams = True


@fault("a_stream_comes_in_order", "a second begin")
class second_begin(Worker):
    def begin(self, job, fields=b"Content-Type: text/plain\r\n"):
        super().begin(job, fields)
        super().begin(job, fields)


@fault("a_stream_comes_in_order", "length of the rest is 0")
class empty_chunk(Worker):
    def chunk(self, job, data):
        self.write(CHUNK, job.number)
        return super().chunk(job, data)


@fault("a_huge_piece_is_cut_into_chunks", "size is")
class chunk_too_large(Worker):
    def chunk(self, job, data):
        self.write(CHUNK, job.number, data)
        return True


@fault("a_stream_comes_in_order", "done after begin must have status 0")
class answers_after_its_stream(Worker):
    def done(self, job, *parts, **more):
        job.streams = False
        super().done(job, *parts, **more)


@fault("a_chunk_leaves_at_once", "no sign of three chunks")
class keeps_chunks_back(Worker):
    kept = b""

    def chunk(self, job, data):
        self.kept += data
        if len(self.kept) > 1000:
            data, self.kept = self.kept, b""
            return super().chunk(job, data)
        return True


@fault("pause_and_resume", "more than 8 MiB of chunks after pause")
class ignores_pause(Worker):
    def take(self, kind, flags, number, payload):
        if kind != PAUSE:
            super().take(kind, flags, number, payload)


@fault("pause_and_resume", "no sign of an end of the stream after resume")
class ignores_resume(Worker):
    def take(self, kind, flags, number, payload):
        if kind != RESUME:
            super().take(kind, flags, number, payload)


@fault("a_paused_stream_can_be_cancelled", "no sign of an end of a stream that was paused, then cancelled")
class waits_for_resume_though_cancelled(Worker):
    def take(self, kind, flags, number, payload):
        if kind == CANCEL and number in self.jobs:
            self.jobs[number].cancelled = True
        else:
            super().take(kind, flags, number, payload)


# ── large bodies ─────────────────────────────────────────────────────────────────────────────────

class OddDescriptor(Worker):
    """Sends a large answer in an odd descriptor."""
    length, flags, passes = 0, 1, True

    def done(self, job, status=200, kind="application/json", body=b"", more=b""):
        if len(body) <= INLINE_MAX:
            return super().done(job, status, kind, body, more)
        descriptor = self.memfd(body)
        head = struct.pack("<HHI", status, 0, 0) + struct.pack("<Q", len(body) + self.length)
        self.write(DONE, job.number, head, self.flags, descriptor if self.passes else None)
        os.close(descriptor)


@fault("a_large_answer", "lacks seals")
class memfd_without_seals(OddDescriptor):
    def memfd(self, body):
        descriptor = os.memfd_create("answer", os.MFD_ALLOW_SEALING)
        os.write(descriptor, body)
        return descriptor


@fault("a_large_answer", "lacks seals")
class memfd_that_can_be_written(OddDescriptor):
    def memfd(self, body):
        descriptor = memfd_without_seals.memfd(self, body)
        right.fcntl.fcntl(descriptor, right.fcntl.F_ADD_SEALS, right.SEALS & ~right.fcntl.F_SEAL_WRITE)
        return descriptor


@fault("a_large_answer", "not a memfd")
class file_in_place_of_a_memfd(OddDescriptor):
    def memfd(self, body):
        with tempfile.TemporaryFile() as file:
            file.write(body)
            file.flush()
            return os.dup(file.fileno())


@fault("a_large_answer", "and the frame says")
class memfd_longer_than_it_says(OddDescriptor):
    length = -1


@fault("a_large_answer", "and the frame says")
class memfd_shorter_than_it_says(OddDescriptor):
    length = 1 << 40


@fault("a_large_answer", "no descriptor came with it")
class flag_without_descriptor(OddDescriptor):
    passes = False


@fault("a_large_answer", "a descriptor came without the flag")
class descriptor_without_flag(OddDescriptor):
    flags = 0


@fault("a_large_answer", "length of the rest is 1048577")
class large_answer_inline(Worker):
    def done(self, job, status=200, kind="application/json", body=b"", more=b""):
        self.write(DONE, job.number, struct.pack("<HHI", status, 0, 0) + body)


@fault("a_large_body", "differ")
class reads_where_the_offset_is(Worker):
    def body_in_descriptor(self, rest):
        length, descriptor = struct.unpack("<Q", rest)[0], self.descriptors.popleft()
        try:
            return os.read(descriptor, length)
        finally:
            os.close(descriptor)


@fault("descriptors_are_closed", "descriptors, and")
class keeps_descriptors(Worker):
    def memfd(self, body):
        descriptor = super().memfd(body)
        os.dup(descriptor)
        return descriptor


# ── liveness ─────────────────────────────────────────────────────────────────────────────────────

@fault("a_cancel_ends_a_job", "no sign of an end of a job that was cancelled")
class ignores_cancel(Worker):
    def take(self, kind, flags, number, payload):
        if kind != CANCEL:
            super().take(kind, flags, number, payload)


@fault("pings_are_answered_while_computing", "no sign of a pong while the model computes")
class silent_while_computing(Worker):
    def take(self, kind, flags, number, payload):
        if kind != PING or not self.jobs:
            super().take(kind, flags, number, payload)


@fault("pings_are_answered_while_loading", "no sign of a pong while the model loads")
class silent_while_loading(Worker):
    is_ready = False

    def ready(self):
        self.is_ready = True
        super().ready()

    def take(self, kind, flags, number, payload):
        if kind != PING or self.is_ready:
            super().take(kind, flags, number, payload)


@fault("pings_are_answered_while_idle", "no sign of a pong")
class never_answers_a_ping(Worker):
    def take(self, kind, flags, number, payload):
        if kind != PING:
            super().take(kind, flags, number, payload)


@fault("pings_are_answered_while_idle", "which was not asked")
class pong_of_another_number(Worker):
    def take(self, kind, flags, number, payload):
        super().take(kind, flags, number + 1 if kind == PING else number, payload)


@fault("a_job_is_answered", "which was not asked")
class pong_unasked(OddFrame):
    def odd(self, job):
        self.write(PONG, 4711)


@fault("a_job_is_answered", "which were not asked")
class stacks_unasked(OddFrame):
    def odd(self, job):
        self.write(STACKS, 4711, b"here I am")


@fault("stacks_while_computing", "no sign of its stacks")
class keeps_its_stacks(Worker):
    def take(self, kind, flags, number, payload):
        if kind != right.ASK_STACKS:
            super().take(kind, flags, number, payload)


# ── endings ──────────────────────────────────────────────────────────────────────────────────────

@fault("stop_ends_an_idle_worker", "the worker still runs")
class ignores_stop(Worker):
    def take(self, kind, flags, number, payload):
        if kind != STOP:
            super().take(kind, flags, number, payload)


@fault("stop_ends_a_deaf_worker", "the worker still runs")
class stops_only_when_idle(Worker):
    def take(self, kind, flags, number, payload):
        if kind != STOP or not self.jobs:
            super().take(kind, flags, number, payload)


@fault("stop_ends_an_idle_worker", "exit code 5, not exit code 0")
class stops_with_an_error(Worker):
    def end(self, status, why=""):
        super().end(status or 5, why)


@fault("the_end_of_the_socket_ends_an_idle_worker", "the worker still runs")
class outlives_the_gate(Worker):
    def end(self, status, why=""):
        time.sleep(600)


# ── a gate that breaks the protocol ──────────────────────────────────────────────────────────────

@fault("breach_unknown_kind", "the worker still runs")
class forgives_everything(Worker):
    def decode(self):
        try:
            super().decode()
        except right.GateBroke:
            self.pending.clear()


@fault("breach_wrong_size", "nothing on stderr")
class ends_without_a_word(Worker):
    def end(self, status, why=""):
        super().end(status)


@fault("breach_memfd_lacks_one_seal", "the worker still runs")
class takes_any_memfd(Worker):
    def body_in_descriptor(self, rest):
        os.close(self.descriptors.popleft())
        return b"{}"


@fault("breach_unknown_kind", "exit code 0, though")
class calls_a_breach_success(Worker):
    def end(self, status, why=""):
        super().end(0, why)


def main():
    if sys.argv[1:] == ["--list"]:
        for name, (_, check, reason) in FAULTS.items():
            print(f"{name:40} {check}: {reason}")
    elif len(sys.argv) == 2 and sys.argv[1] in FAULTS:
        FAULTS[sys.argv[1]][0]().run()
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main()
