"""Faults with large bodies."""
import os
import struct
import tempfile

import minimal_worker as right
from minimal_worker import DONE, INLINE_MAX, Worker

from . import fault


class OddDescriptor(Worker):
    """Sends a large answer in a wrong descriptor."""
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


@fault("a_large_answer", "but the frame says")
class memfd_longer_than_it_says(OddDescriptor):
    length = -1


@fault("a_large_answer", "but the frame says")
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
