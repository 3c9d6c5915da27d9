"""For tests of huge request bodies and answers on native lanes."""
import hashlib
import json
import os
import shutil
import sys

from harness import HERE
from memory import GROWTH_MAX, memory_of
from native_case import NativeCase, wait_until
from pattern import MIB, pieces

# To test larger bodies by hand, with 16 GiB of free memory: TURNPIKE_TEST_HUGE_MIB=4096.
SIZE = int(os.environ.get("TURNPIKE_TEST_HUGE_MIB", 256)) * MIB + 7
LARGE = SIZE // 4  # for tests that need no huge body
PATIENCE_S = 900 if "TURNPIKE_TEST_HUGE_MIB" in os.environ else 60

MODEL = '''
import hashlib, json
from pattern import pieces
from turnpike import Response


class Huge(turnpike.Model):
    """The path says what to do. The field `X-Task` has the details."""

    def request(self, req):
        return getattr(self, "do_" + req.path[1:])(req, json.loads(req.headers.get("x-task", "{}")))

    def predict(self, task):
        """Answers requests that are routed by a field of their JSON body."""
        text = task["text"].encode()
        return {"size": len(text), "digest": hashlib.sha256(text).hexdigest()}

    def do_small(self, req, task):
        return {"small": True}

    def do_digest(self, req, task):
        return {"size": len(req.body), "digest": hashlib.sha256(req.body).hexdigest(),
                "attempt": turnpike.job().attempt, "pid": os.getpid()}

    def do_hold(self, req, task):
        write_file(task["started"])
        wait_for(task["wait_for"])
        return self.do_digest(req, task)

    def do_leave(self, req, task):
        write_file(task["started"])
        while not turnpike.job().cancelled:
            time.sleep(0.002)
        write_file(task["cancelled"], len(req.body))

    def do_die_once(self, req, task):
        if turnpike.job().attempt == 1:
            write_file(task["died"], hashlib.sha256(req.body).hexdigest())
            os.kill(os.getpid(), signal.SIGKILL)
        return self.do_digest(req, task)

    def do_make(self, req, task):
        return Response(b"".join(pieces(task["size"])), headers={"X-Made": "whole"})

    def do_echo(self, req, task):
        return req.body
'''


def memfds_of(pid):
    """Returns {inode: bytes of memory} for each memfd that a process holds."""
    found = {}
    for name in os.listdir(f"/proc/{pid}/fd"):
        path = f"/proc/{pid}/fd/{name}"
        try:
            if os.readlink(path).startswith("/memfd:turnpike-"):
                facts = os.stat(path)
                found[facts.st_ino] = facts.st_blocks * 512
        except FileNotFoundError:
            pass  # it was closed meanwhile
    return found


class HugeCase(NativeCase):
    def setUp(self):
        super().setUp()
        self.clients = []

    def open(self, pool=None, sections=None, **keys):
        """Starts a gate with one lane. The largest allowed body is SIZE; all bodies together may have SIZE + 1 bytes."""
        gate = {"spool": str(self.folder), "body_max": f"{SIZE}B"}
        queue = {"bytes_max": f"{SIZE + 1}B"}
        opened = self.serve(self.model_path(), pool=pool, sections={
            "gate": {**gate, **keys.get("gate", {})}, "queue": {**queue, **keys.get("queue", {})},
            **(sections or {})})
        self.small(opened)
        self.before = memory_of(opened.process.pid)[0]
        self.descriptors_before = self.descriptors(opened)
        return opened

    def model_path(self):
        path = self.model(MODEL)
        shutil.copy(HERE / "support" / "pattern.py", path.parent)
        return path

    def marks(self, *names):
        folder = self.folder_for("marks")
        return {name: str(folder / name) for name in names}

    def small(self, gate):
        answer = gate.ask("GET", "/small")
        self.assertEqual((answer.status, answer.json()), (200, {"small": True}))

    def connect(self, gate):
        client = gate.connect()
        client.socket.settimeout(PATIENCE_S)
        self.clients.append(client)
        return client

    def head(self, target, length, *fields, **task):
        lines = [f"POST {target} HTTP/1.1", "Host: localhost", f"X-Task: {json.dumps(task)}",
                 *([f"Content-Length: {length}"] if length is not None else []), *fields, "", ""]
        return "\r\n".join(lines).encode()

    def upload(self, gate, target, size, **task):
        """Sends a request with a body of this size, and returns the client when all of it has been sent."""
        client = self.connect(gate)
        client.send(self.head(target, size, **task))
        for piece in pieces(size):
            client.send(piece)
        return client

    def begin_make(self, gate, size, method="POST"):
        """Asks for an answer of this size. Returns the client and the head of the answer."""
        client = self.connect(gate)
        client.request(method, "/make", None, [("X-Task", json.dumps({"size": size}))])
        head = client.head()
        self.assertEqual((head.status, head.header("content-length")), (200, str(size)))
        return client, head

    def digest_of_rest(self, client, size):
        """Reads the rest of a body without keeping it, and returns its digest."""
        found = hashlib.sha256(client.unread)
        left = size - len(client.unread)
        client.unread.clear()
        room = bytearray(MIB)
        while left > 0:
            count = client.socket.recv_into(room, min(left, MIB))
            self.assertGreater(count, 0, f"the answer is {left} bytes too short")
            found.update(memoryview(room)[:count])
            left -= count
        return found.hexdigest()

    def held(self, gate):
        return gate.status()["bytes_held"]

    def memory_in(self, gate):
        """Returns the bytes in all memfds that the gate and its workers hold. Each memfd counts once."""
        pids = [gate.process.pid, *(lane["pid"] for lane in gate.status()["lanes"] if lane["pid"])]
        found = {}
        for pid in pids:
            found.update(memfds_of(pid))
        return sum(found.values())

    def assert_all_is_freed(self, gate):
        """Checks that no bytes are counted any more, that all memfds and descriptors are closed, and that the
        gate's own memory did not grow."""
        wait_until(lambda: self.held(gate) == 0, "no bytes are counted any more")
        wait_until(lambda: self.memory_in(gate) == 0, "no memfd is left")
        for client in self.clients:
            client.close()
        most = self.descriptors_before + 1  # the gate may not have noticed yet that a client is gone
        wait_until(lambda: self.descriptors(gate) <= most, "there are no more descriptors than before")
        self.assertEqual(gate.live_jobs(), [])
        self.assert_flat(gate)
        self.small(gate)

    def assert_flat(self, gate):
        most = memory_of(gate.process.pid)[1]
        if "TURNPIKE_TEST_HUGE_MIB" in os.environ:
            print(f"{self.id().rpartition('.')[2]}: {self.before / MIB:.1f} MiB resident before, "
                  f"at most {most / MIB:.1f}", file=sys.stderr)
        self.assertLess(most - self.before, GROWTH_MAX)
