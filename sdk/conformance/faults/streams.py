"""Faults with answers that stream."""
from minimal_worker import CANCEL, CHUNK, PAUSE, RESUME, Worker

from . import fault


@fault("a_stream_comes_in_order", "chunk without begin")
class chunk_without_begin(Worker):
    def begin(self, job, fields=b""):
        job.streams = True


@fault("a_stream_comes_in_order", "a second begin")
class second_begin(Worker):
    def begin(self, job, fields=b"Content-Type: text/plain\r\n"):
        super().begin(job, fields)
        super().begin(job, fields)


@fault("a_stream_comes_in_order", "but its content-length is 7")
class announces_another_length(Worker):
    def begin(self, job, fields=b""):
        super().begin(job, fields + b"Content-Length: 7\r\n")


@fault("a_stream_comes_in_order", "only one content-length, and it must be a number")
class announces_no_number(Worker):
    def begin(self, job, fields=b""):
        super().begin(job, fields + b"Content-Length: many\r\n")


@fault("a_stream_comes_in_order", "chunk: size is 0")
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


@fault("pause_and_resume", "no sign of the end of the stream after resume")
class ignores_resume(Worker):
    def take(self, kind, flags, number, payload):
        if kind != RESUME:
            super().take(kind, flags, number, payload)


@fault("a_paused_stream_can_be_cancelled", "no sign of the end of a stream that was paused, then cancelled")
class waits_for_resume_though_cancelled(Worker):
    def take(self, kind, flags, number, payload):
        if kind == CANCEL and number in self.jobs:
            self.jobs[number].cancelled = True
        else:
            super().take(kind, flags, number, payload)
