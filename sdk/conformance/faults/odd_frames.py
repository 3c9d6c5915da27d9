"""Faults with malformed frames."""
import os
import struct

from minimal_worker import DONE, HEADER, LOG, PROGRESS, STOP

from . import OddFrame, fault


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


@fault("a_job_is_answered", "size is 2, not within 8")
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


@fault("a_job_is_answered", "log: size is 70002")
class log_too_long(OddFrame):
    def odd(self, job):
        self.write(LOG, 0, b"\1\0" + b"x" * 70_000)


@fault("a_job_is_answered", "status is 99")
class status_too_small(OddFrame):
    def odd(self, job):
        self.write(DONE, job.number, struct.pack("<HHI", 99, 0, 0))


@fault("a_job_is_answered", "content-length is not allowed")
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
