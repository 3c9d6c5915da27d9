#!/usr/bin/env python3
"""A worker in plain Python, without an SDK: the fewest lines that implement docs/worker-protocol.md and pass the kit.

    kit.py -- python3 minimal_worker.py

If you write an SDK, read `Worker` first. One thread reads the socket all the time, so that the worker sees pings and cancels
while the model computes. One thread per slot computes. Any thread may write a frame, under a lock.
broken.py has one class for each way to get this wrong.
"""
import array
import collections
import fcntl
import json
import math
import os
import queue
import select
import socket
import struct
import subprocess
import sys
import threading
import time
import traceback

HEADER = struct.Struct("<IBBHQ")
JOB_FIXED = struct.Struct("<HBBHHHHHHI")
PAYLOAD_MAX, INLINE_MAX = 1280 * 1024, 1024 * 1024
WELCOME, JOB, CANCEL, PING, ASK_STACKS, PAUSE, RESUME, STOP = range(0x01, 0x09)
HELLO, LOADING, READY, PROGRESS, BEGIN, CHUNK, DONE, FAILED, PONG, LOG, STACKS = range(0x81, 0x8C)
BAD_INPUT, EXCEPTION, OUT_OF_MEMORY, NON_FINITE, UNHEALTHY, CANCELLED = range(1, 7)
SEALS = fcntl.F_SEAL_SEAL | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_WRITE
VARIANT = os.environ.get("CONFORMANCE", "full")


class GateBreach(Exception):
    """The gate broke the protocol."""


class JobFailure(Exception):
    """Makes the current job fail with this `why`."""

    def __init__(self, why, message):
        super().__init__(message)
        self.why = why


class Job:
    def __init__(self, number):
        self.number = number
        self.cancelled = False
        self.may_send = threading.Event()  # cleared by pause, set by resume and cancel
        self.may_send.set()
        self.streams = False
        self.bytes_since_read = 0  # bytes of the stream since the last wait_until_all_is_read()


class Worker:
    slots = {"slots": 4}.get(VARIANT, 1)
    batch = {"batch": 8}.get(VARIANT, 1)

    def __init__(self):
        self.socket = socket.socket(fileno=int(os.environ["TURNPIKE_SOCKET"]))
        self.socket.set_inheritable(False)
        self.writing = threading.Lock()
        self.reading = threading.Lock()  # held from reading the socket until the frames are handled
        self.jobs, self.batches, self.incomplete_batch = {}, queue.SimpleQueue(), []
        self.pending, self.descriptors = bytearray(), collections.deque()
        self.welcomed = threading.Event()
        self.meeting = threading.Condition()
        self.met = 0

    def run(self):
        self.hello()
        threading.Thread(target=self.read_for_ever, daemon=True).start()
        self.welcomed.wait()
        try:
            self.load()
        except Exception:
            self.end(1, traceback.format_exc())
        self.ready()
        for _ in range(self.slots + 1):  # one more for an aside
            threading.Thread(target=self.compute_for_ever, daemon=True).start()
        threading.Event().wait()

    def end(self, status, why=""):
        """Ends the process at once, without waiting for its threads."""
        sys.stderr.write(why)
        sys.stderr.flush()
        os._exit(status)

    # ── writing ──────────────────────────────────────────────────────────────────────────────────

    def write(self, kind, number=0, payload=b"", flags=0, descriptor=None):
        data = memoryview(HEADER.pack(len(payload), kind, flags, 0, number) + payload)
        with self.writing:
            try:
                if descriptor is not None:
                    rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [descriptor]))]
                    data = data[self.socket.sendmsg([data], rights):]
                self.socket.sendall(data)
            except OSError:
                self.end(0)  # the gate is gone

    def hello(self):
        sdk = b"minimal worker of the conformance kit"
        self.write(HELLO, 0, struct.pack("<8sHHH", b"turnpike", 1, 1, len(sdk)) + sdk)

    def loading(self, fraction, text):
        text = text.encode()
        self.write(LOADING, 0, struct.pack("<BBHH", 1, 0, round(fraction * 1000), len(text)) + text)

    def ready(self):
        kind, example, facts = b"application/json", b'{"echo": "example"}', b'{"model": "conformance"}'
        self.write(READY, 0, struct.pack("<HHBBHII", self.slots, self.batch, 3, 0, len(kind), len(example), len(facts))
                   + kind + example + facts)

    def progress(self, job, fraction, text):
        text = text.encode()
        permille = 65535 if fraction is None else round(fraction * 1000)
        self.write(PROGRESS, job.number, struct.pack("<HH", permille, len(text)) + text)

    def begin(self, job, fields=b"Content-Type: text/plain\r\n"):
        job.streams = True
        self.write(BEGIN, job.number, struct.pack("<HHI", 200, 0, len(fields)) + fields)

    def chunk(self, job, data):
        """Returns False if nobody wants more."""
        for at in range(0, len(data), INLINE_MAX):
            job.may_send.wait()
            if job.cancelled:
                return False
            self.write(CHUNK, job.number, data[at:at + INLINE_MAX])
            job.bytes_since_read += len(data[at:at + INLINE_MAX])
            if job.bytes_since_read >= INLINE_MAX:
                job.bytes_since_read = 0
                self.wait_until_all_is_read()
        return True

    def wait_until_all_is_read(self):
        """Waits until the reading thread has handled everything that came. Else megabytes might be sent before a pause is seen."""
        is_read = False
        while not is_read:
            with self.reading:
                is_read = not select.select([self.socket], [], [], 0)[0]

    def done(self, job, status=200, kind="application/json", body=b"", more=b""):
        fields = b"Content-Type: " + kind.encode() + b"\r\n" + more
        if job.streams:
            status, fields, body = 0, b"", b""
        self.jobs.pop(job.number)
        head = struct.pack("<HHI", status, 0, len(fields)) + fields
        if len(body) <= INLINE_MAX:
            self.write(DONE, job.number, head + body)
            return
        descriptor = self.memfd(body)
        self.write(DONE, job.number, head + struct.pack("<Q", len(body)), 1, descriptor)
        os.close(descriptor)

    def memfd(self, body):
        descriptor = os.memfd_create("answer", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        view = memoryview(body)
        while view:
            view = view[os.write(descriptor, view):]
        fcntl.fcntl(descriptor, fcntl.F_ADD_SEALS, SEALS)
        return descriptor

    def failed(self, job, why, error):
        kind = type(error).__name__.encode()[:255]
        message = str(error).encode()[:60_000].decode(errors="ignore").encode()  # the cut may be inside a character
        self.jobs.pop(job.number)
        self.write(FAILED, job.number, struct.pack("<BBHI", why, 0, len(kind), len(message)) + kind + message)

    # ── reading ──────────────────────────────────────────────────────────────────────────────────

    def read_for_ever(self):
        try:
            while True:
                select.select([self.socket], [], [])
                with self.reading:
                    self.read()
        except GateBreach as error:
            self.end(1, f"the gate broke the protocol: {error}\n")
        except OSError:
            self.end(0)
        except BaseException:
            self.end(1, traceback.format_exc())

    def read(self):
        data, rights, _, _ = self.socket.recvmsg(1 << 18, socket.CMSG_SPACE(4 * 16))
        for _, _, found in rights:
            numbers = array.array("i")
            numbers.frombytes(found)
            self.descriptors.extend(numbers)
        if not data:
            self.end(0)  # the gate is gone
        self.pending += data
        self.decode()

    def decode(self):
        while len(self.pending) >= HEADER.size:
            size, kind, flags, reserved, number = HEADER.unpack_from(self.pending)
            if size > PAYLOAD_MAX or reserved or flags & ~1 or (flags and kind != JOB) or not WELCOME <= kind <= STOP:
                raise GateBreach(f"a header with size {size}, kind {kind}, flags {flags}, reserved part {reserved}")
            if len(self.pending) < HEADER.size + size:
                return
            payload = bytes(self.pending[HEADER.size:HEADER.size + size])
            del self.pending[:HEADER.size + size]
            self.take(kind, flags, number, payload)
        if self.descriptors and not self.pending:
            raise GateBreach("a descriptor came without the flag")

    def take(self, kind, flags, number, payload):
        if (kind == WELCOME) == self.welcomed.is_set():
            raise GateBreach("a second welcome" if kind == WELCOME else "the first frame is not welcome")
        if kind == WELCOME:
            return self.take_welcome(payload)
        if kind == JOB:
            return self.take_job(flags, number, payload)
        if payload:
            raise GateBreach(f"a frame of kind {kind} has a payload, but must have none")
        if kind == PING:
            self.write(PONG, number)
        elif kind == ASK_STACKS:
            self.write(STACKS, number, self.stacks())
        elif kind == STOP:
            self.end(0)
        elif number in self.jobs:
            job = self.jobs[number]
            job.cancelled = job.cancelled or kind == CANCEL
            (job.may_send.clear if kind == PAUSE and not job.cancelled else job.may_send.set)()

    def take_welcome(self, payload):
        if len(payload) < 12 or len(payload) != 12 + struct.unpack_from("<H", payload, 10)[0]:
            raise GateBreach("a welcome of the wrong size")
        version, _, self.gpus, slots, batch = struct.unpack_from("<5H", payload)
        if version != 1:
            raise GateBreach(f"a welcome of version {version}; this worker offered version 1")
        self.slots, self.batch = slots or self.slots, batch or self.batch
        self.welcomed.set()

    def take_job(self, flags, number, payload):
        if len(payload) < JOB_FIXED.size:
            raise GateBreach("a job shorter than its fixed part")
        attempt, purpose, zero, index, size, *lengths = JOB_FIXED.unpack_from(payload)
        name, method, target, also_zero, fields = lengths
        if number == 0 or number in self.jobs or purpose > 2 or zero or also_zero or index != len(self.incomplete_batch) or index >= size:
            raise GateBreach(f"job {number} with purpose {purpose}, member {index} of {size}")
        parts, at = [], JOB_FIXED.size
        for length in (name, method, target, fields):
            parts.append(payload[at:at + length].decode("latin-1"))  # header lines may have any byte
            at += length
        if at > len(payload):
            raise GateBreach("a job whose parts are longer than its payload")
        job = Job(number)
        job.name, job.method, job.target, job.fields = parts
        job.attempt, job.purpose = attempt, purpose
        job.body = self.body_in_descriptor(payload[at:]) if flags else payload[at:]
        self.jobs[number] = job
        self.incomplete_batch.append(job)
        if len(self.incomplete_batch) == size:
            self.batches.put(self.incomplete_batch)
            self.incomplete_batch = []

    def body_in_descriptor(self, rest):
        if len(rest) != 8 or not self.descriptors:
            raise GateBreach("a frame has the flag for a descriptor, but no descriptor came")
        length, descriptor = struct.unpack("<Q", rest)[0], self.descriptors.popleft()
        try:
            if fcntl.fcntl(descriptor, fcntl.F_GET_SEALS) & SEALS != SEALS or os.fstat(descriptor).st_size != length:
                raise GateBreach("a memfd lacks seals, or does not have the length that the frame says")
            parts, at = [], 0
            while at < length:
                parts.append(os.pread(descriptor, length - at, at))
                at += len(parts[-1])
            return b"".join(parts)
        except OSError as error:
            raise GateBreach(f"a descriptor that is not a memfd: {error}") from None
        finally:
            os.close(descriptor)

    def stacks(self):
        return "\n\n".join(f"thread {number}:\n{''.join(traceback.format_stack(frame))}"
                           for number, frame in sys._current_frames().items()).encode()[:250_000]

    # ── computing: the conformance model of README.md ────────────────────────────────────────────

    def load(self):
        if VARIANT == "fail_load":
            raise FileNotFoundError("no such weights")
        self.loading(0.5, "half")
        hold = os.environ.get("CONFORMANCE_HOLD")
        while hold and not os.path.exists(hold):
            time.sleep(0.01)

    def compute_for_ever(self):
        while True:
            jobs = self.batches.get()
            try:
                if self.batch > 1:
                    self.predict_batch(jobs)
                else:
                    self.answer(jobs[0])
            except Exception as error:
                why = error.why if isinstance(error, JobFailure) else EXCEPTION
                for job in jobs:
                    if job.number in self.jobs:
                        self.failed(job, why, error)

    def predict_batch(self, jobs):
        asked = [json.loads(job.body) for job in jobs]
        if any(body.get("fail") == "exception" for body in asked):
            raise RuntimeError("the batch failed")
        for job, body in zip(jobs, asked):
            if "fail" in body:
                self.failed(job, BAD_INPUT, ValueError(body.get("message", "")))
            else:
                self.done(job, body=json.dumps({"echo": body["echo"], "together": len(jobs)}).encode())

    def answer(self, job):
        path, _, query = job.target.partition("?")
        if job.method == "POST" and path in ("/", "/predict"):
            self.predict(job)
        elif VARIANT == "plain" and path in ("/", "/predict"):
            self.done(job, 405, "text/plain", b"POST it", b"Allow: POST\r\n")
        elif VARIANT == "plain":
            self.done(job, 404, "text/plain", b"no such path")
        elif path == "/bytes":
            self.done(job, 200, "application/octet-stream", job.body)
        elif path == "/teapot":
            self.done(job, 418, "text/x-tea", b"short and stout", b"X-Conformance: yes\r\n")
        elif path.startswith("/seen"):
            seen = {"method": job.method, "path": path, "query": query, "name": job.name, "attempt": job.attempt}
            for line in job.fields.split("\r\n")[:-1]:
                key, _, value = line.partition(":")
                seen[key.lower()] = value.strip()
            self.done(job, body=json.dumps(seen).encode())
        else:
            self.done(job, 404, "text/plain", b"no such path")

    def predict(self, job):
        try:
            asked = json.loads(job.body)
        except ValueError as error:
            raise JobFailure(BAD_INPUT, str(error)) from None
        if "fail" in asked:
            self.fail(asked["fail"], asked.get("message", ""))
        if "stream" in asked:
            return self.stream(job, asked)
        if "size" in asked:
            return self.done(job, 200, "application/octet-stream", (b"0123456789abcdef" * (asked["size"] // 16 + 1))[:asked["size"]])
        answer = {}
        for key in asked:
            step = getattr(self, "predict_" + key, None)
            if step:
                answer.update(step(job, asked))
        if job.purpose == 1 and answer != {"echo": "example"}:
            raise JobFailure(EXCEPTION, "the proof's answer is wrong")
        self.done(job, body=json.dumps(answer).encode())

    def predict_echo(self, job, asked):
        return {"echo": asked["echo"]}

    def predict_sleep(self, job, asked):
        self.progress(job, None, "sleeping")
        end = time.monotonic() + asked["sleep"]
        while time.monotonic() < end:
            if job.cancelled:
                raise JobFailure(CANCELLED, "cancelled")
            time.sleep(0.005)
        return {"slept": asked["sleep"]}

    def predict_compute(self, job, asked):
        self.progress(job, None, "computing")
        end = time.monotonic() + asked["compute"]
        while time.monotonic() < end:
            if job.cancelled and not asked.get("deaf"):
                raise JobFailure(CANCELLED, "cancelled")
            sum(math.sqrt(number) for number in range(10_000))
        return {"computed": asked["compute"]}

    def predict_progress(self, job, asked):
        for fraction, text in asked["progress"]:
            self.progress(job, fraction, text)
        return {"progress": len(asked["progress"])}

    def predict_spawn(self, job, asked):
        return {"pid": subprocess.Popen(["sleep", str(asked["spawn"])], close_fds=False).pid}

    def predict_meet(self, job, asked):
        with self.meeting:
            self.met += 1
            self.meeting.notify_all()
            self.meeting.wait_for(lambda: self.met >= asked["meet"])
        return {"met": asked["meet"]}

    def fail(self, kind, message):
        if kind == "exception":
            raise RuntimeError(message)
        raise JobFailure({"bad_input": BAD_INPUT, "out_of_memory": OUT_OF_MEMORY if self.gpus else EXCEPTION, "non_finite": NON_FINITE,
                     "unhealthy": UNHEALTHY}[kind], message)

    def stream(self, job, asked):
        self.begin(job)
        for number in range(asked["stream"]):
            if not self.chunk(job, b"%0*d\n" % (asked["size"] - 1, number)):
                raise JobFailure(CANCELLED, "cancelled")
        if asked.get("then") == "fail":
            raise RuntimeError("the stream broke")
        while asked.get("then") == "sleep":
            if job.cancelled:
                raise JobFailure(CANCELLED, "cancelled")
            time.sleep(0.005)
        self.done(job)


if __name__ == "__main__":
    Worker().run()
