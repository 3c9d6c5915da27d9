"""For tests of clients that read slowly: a gate with a lane of every kind, whose workers all give the same large
answers, and clients that read them at a given rate."""
import itertools
import json
import shlex
import socket
import time

from harness import HERE, POOL, PYTHON, WorkerProcess, wait_until
from native_case import NativeCase

WORKER = HERE / "workers" / "large_answers.py"
KINDS = ("native", "http", "attached")

MODEL = '''
from turnpike import Response

PIECE = bytes(range(256)) * 256


def pieces(size):
    for at in range(0, size, len(PIECE)):
        yield PIECE[:size - at]


class Large(turnpike.Model):
    """The path says what to do, as in workers/large_answers.py."""

    def request(self, req):
        _, kind, *size = req.path.split("/")
        if kind == "whole":
            return Response(b"".join(pieces(int(size[0]))), 200, {}, "application/octet-stream")
        if kind == "stream":
            return Response(pieces(int(size[0])), 200, {}, "application/octet-stream")
        return Response(b"%d" % len(req.body) if kind == "count" else b"ok", 200, {}, "text/plain")
'''


class ReadingClient:
    """Reads what it asked for at so many bytes per second, and has a small buffer then, unless `buffer` is None: then the
    kernel chooses. With the rate None it reads as fast as it can. With
    `network` ("2001:db8:0:1") it comes through a proxy, from a further address of this network, and all of these are one
    client."""
    hosts = itertools.count(1)

    def __init__(self, case, gate, targets, rate, version="1.1", headers=(), network=None,
                 buffer=16 * 1024):
        self.rate = rate
        self.got = bytearray()
        self.ended_as = None  # "closed" or "reset"
        self.socket = socket.socket()
        case.addCleanup(self.socket.close)
        if rate is not None and buffer is not None:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffer)
        self.socket.connect(("127.0.0.1", gate.port))
        self.name = "%s:%d" % self.socket.getsockname()
        if network is not None:
            self.name = f"{network}::{next(self.hosts):x}"
            headers = [*headers, f"X-Forwarded-For: {self.name}"]
        lines = ["Host: localhost", *headers, "", ""]
        self.socket.sendall(b"".join("\r\n".join([f"GET {target} HTTP/{version}", *lines]).encode()
                                     for target in targets))

    def read_until(self, is_enough):
        """Reads until it has enough or the gate ends the connection."""
        self.socket.settimeout(60)
        while not is_enough(self.got):
            try:
                data = self.socket.recv(65536 if self.rate is None else max(1, self.rate // 20))
            except ConnectionResetError:
                self.ended_as = "reset"
                return self
            if not data:
                self.ended_as = "closed"
                return self
            self.got += data
            if self.rate is not None:
                time.sleep(len(data) / self.rate)
        return self

    def read_to_end(self):
        return self.read_until(lambda _: False)

    def bodies(self):
        """Returns the bodies of the answers that it has read, as far as they have come."""
        found, rest = [], bytes(self.got)
        while rest:
            head, _, rest = rest.partition(b"\r\n\r\n")
            fields = dict(line.lower().split(b": ", 1) for line in head.split(b"\r\n")[1:])
            if b"content-length" in fields:
                size = int(fields[b"content-length"])
                found.append(rest[:size])
                rest = rest[size:]
            elif b"transfer-encoding" in fields:
                body, rest = unchunked(rest)
                found.append(body)
            else:
                found.append(rest)
                rest = b""
        return found


def unchunked(rest):
    """Returns the body of the first answer, as far as it has come, and what follows it."""
    body = b""
    while rest:
        size, _, rest = rest.partition(b"\r\n")
        if not size or int(size, 16) == 0:
            return body, rest[2:]
        body += rest[:int(size, 16)]
        rest = rest[int(size, 16) + 2:]
    return body, b""


class ReaderCase(NativeCase):
    def gate_of_all_kinds(self, gate=None, lanes=1, sections=None, **parts):
        """Starts a gate with a pool of each kind, which is called like it. `/-/to/KIND/…` leads there."""
        started = {"gpus": "none", "lanes": lanes, **POOL}
        native = {key: value for key, value in started.items() if not key.startswith("health.")}
        workers = [WorkerProcess(self, WORKER.name, "inherited").start() for _ in range(lanes)]
        return self.gate(gate=gate or {}, sections={
            "pool.native": {"model": str(self.model(MODEL)), "python": PYTHON, "default": True, **native},
            "pool.http": {"worker": f"{PYTHON} -SE {shlex.quote(str(WORKER))} {{port}}", **started},
            "pool.attached": {"attach": [worker.url for worker in workers], **POOL}, **(sections or {})}, **parts)

    def reader(self, gate, kind, targets, rate, **options):
        targets = [targets] if isinstance(targets, str) else targets
        return ReadingClient(self, gate, [f"/-/to/{kind}{target}" for target in targets], rate, **options)

    def record_of(self, gate, client):
        """Waits for the record of the client's latest job."""
        def found():
            return [job for job in gate.ended_jobs() if job["client"] == client.name]
        return wait_until(found, f"the job of {client.name} has a record")[0]

    def logged(self, path, client):
        """Waits for the line of the client's job in the job log."""
        def found():
            lines = path.read_text().splitlines() if path.exists() else []
            return [job for job in map(json.loads, lines) if job["client"] == client.name]
        return wait_until(found, f"the job of {client.name} is in the log")[-1]

    def assert_pattern(self, body, size):
        self.assertEqual(len(body), size)
        self.assertTrue(body == (bytes(range(256)) * (size // 256 + 1))[:size], "the bytes are not those that the worker sent")


__all__ = ["KINDS", "MODEL", "ReaderCase", "ReadingClient"]
