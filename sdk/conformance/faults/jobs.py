"""Faults with jobs and batches."""
import os
import signal
import struct
import threading

import minimal_worker as right
from minimal_worker import DONE, FAILED, HEADER, Worker

from . import OddFrame, fault


@fault("a_job_is_answered", "which is not aboard")
class answers_an_unknown_job(OddFrame):
    def odd(self, job):
        self.write(DONE, job.number + 1000, struct.pack("<HHI", 200, 0, 0))


@fault("a_job_is_answered", "which has already ended")
class two_ends(OddFrame):
    def odd(self, job):
        for _ in range(2):
            self.write(DONE, job.number, struct.pack("<HHI", 200, 0, 0) + b'{"echo": 1}')


@fault("a_job_is_answered", "no sign of the end of the job")
class no_end(OddFrame):
    def odd(self, job):
        pass


@fault("other_methods_of_predict_are_405_without_request", "status of GET /predict")
class predict_by_get_is_nowhere(Worker):
    def done(self, job, status=200, kind="application/json", body=b"", more=b""):
        super().done(job, 404 if status == 405 else status, kind, body)


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


@fault("a_huge_message_is_cut", "failed: size is")
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


@fault("slots_run_at_once", "no sign of the end of four jobs")
class one_slot_at_a_time(Worker):
    alone = threading.Lock()

    def answer(self, job):
        with self.alone:
            super().answer(job)


@fault("a_batch_is_answered_member_by_member", "no sign of the end of each of 2")
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
