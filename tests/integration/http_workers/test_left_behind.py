"""Tests that no client gets another's answer, whatever an exchange leaves behind on the connection to the worker: bodies that the worker
does not read, bodies of answers that have none, second answers. Each answer must have the nonce of its request."""
import collections
import itertools
import shlex
import unittest

from harness import HERE, PYTHON
from started_case import StartedCase

METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
EXPECT_A_BODY = ("POST", "PUT", "PATCH")
STATUSES = (200, 201, 204, 302, 304, 404, 405, 500, 503)
SMUGGLED = b"GET /smuggled HTTP/1.1\r\nHost: x\r\n\r\n"
BODIES = (None, b'{"x": 1}\r\n', SMUGGLED, SMUGGLED * 3)

UVICORN = """
import sys
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

class Counted(H11Protocol):
    connections = 0

    def connection_made(self, transport):
        Counted.connections += 1
        super().connection_made(transport)

async def app(scope, receive, send):
    while (await receive()).get("more_body"):
        pass
    status = int(scope["query_string"].partition(b"=")[2] or 200)
    body = b"" if status in (204, 304) else b"%s from %d" % (scope["raw_path"], Counted.connections)
    await send({"type": "http.response.start", "status": status, "headers": [(b"content-length", b"%d" % len(body))]})
    await send({"type": "http.response.body", "body": body})

uvicorn.run(app, port=int(sys.argv[1]), http=Counted, lifespan="off", log_level="warning")
"""


class Nonces(StartedCase):
    numbers = itertools.count()

    def assert_own_answer(self, gate, method="GET", body=None, status=200):
        """Sends one request and checks that the answer is its own. Returns the body of the answer."""
        target = f"/nonce-{next(self.numbers)}"
        answer = gate.ask(method, f"{target}?status={status}", body)
        self.assertEqual(answer.status, status, (method, body, answer))
        if answer.body:
            self.assertTrue(answer.body.decode().startswith(target), (method, body, target, answer))
        self.assertEqual(answer.header("turnpike-attempt"), "1", (method, body, status))
        return answer.body.decode()

    def try_the_family(self, gate):
        """Tries every method, status and body, each with honest requests behind it."""
        for method, status, body in itertools.product(METHODS, STATUSES, BODIES):
            self.assert_own_answer(gate, method, body, status)
            self.assert_own_answer(gate)
            self.assert_own_answer(gate, "POST", b"honest")


class UnreadBodies(Nonces):
    def careless(self, *words, **pool):
        self.notes = self.folder_for("notes") / "notes"
        script = shlex.quote(str(HERE / "workers" / "leaves_bodies.py"))
        command = " ".join([PYTHON, "-S", script, "{port}", str(self.notes), *words])
        return self.up(command, pool={"health.every": "10s", **pool})

    def targets(self):
        return collections.Counter(self.notes.read_text().split())

    def test_a_worker_that_reads_no_body(self):
        self.try_the_family(self.careless())

    def test_nothing_in_a_body_is_run_where_workers_expect_none(self):
        gate = self.careless()
        for method in METHODS:
            if method not in EXPECT_A_BODY:
                self.assert_own_answer(gate, method, SMUGGLED)
                self.assert_own_answer(gate)
        self.assertNotIn("/smuggled", self.targets())

    def test_an_unknown_server_is_believed_only_if_it_has_read_what_it_should(self):
        """It may leave the body of a POST unread and say 200, against the rules: then only keep_alive = false helps."""
        gate = self.careless("anonymous")
        for method, status, body in itertools.product(METHODS, STATUSES, BODIES):
            if body is None or method not in EXPECT_A_BODY or status >= 300:
                self.assert_own_answer(gate, method, body, status)
                self.assert_own_answer(gate)

    def test_with_a_connection_for_each_job_no_server_can_mix_up_answers(self):
        self.try_the_family(self.careless("anonymous", keep_alive=False))

    def test_many_at_once(self):
        gate = self.careless(slots=8)
        jobs = [self.in_thread(self.assert_own_answer, gate, method, body)
                for method, body in itertools.product(METHODS * 4, BODIES)]
        for job in jobs:
            job.result()


class Uvicorn(Nonces):
    def uvicorn(self):
        folder = self.folder_for("app")
        (folder / "serve.py").write_text(UVICORN)
        return self.up(f"{PYTHON} {folder}/serve.py {{port}}", pool={"health.every": "10m"})

    def connections(self, gate, *asked):
        """Sends the request 40 times. Returns how many connections to the worker carried these."""
        return len({self.assert_own_answer(gate, *asked).rpartition(" ")[2] for _ in range(40)})

    def test_connections_are_used_again_where_that_is_safe(self):
        gate = self.uvicorn()
        for asked in (["POST", b'{"x": 1}'], ["POST", b"x" * 300_000], ["PUT", b"x"], ["PATCH", b"x"], ["GET"],
                      ["DELETE"], ["GET", None, 404]):
            self.assertEqual(self.connections(gate, *asked), 1, asked)
        for asked in (["GET", b"x"], ["DELETE", b"x"], ["OPTIONS", b"x"], ["POST", b"x", 404], ["POST", b"x", 302]):
            self.assertEqual(self.connections(gate, *asked), 40, asked)

    def test_the_whole_family(self):
        self.try_the_family(self.uvicorn())


class SecondAnswers(Nonces):
    ONE = "HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{}"

    def answer_to(self, request):
        text = request.target.partition("?")[0]
        return self.ONE.format(len(text), text).encode()

    def test_a_worker_that_was_caught_once_gets_a_connection_for_each_job(self):
        caught = []

        def behave(request):
            request.send(self.answer_to(request))
            if caught:
                return request.finish()
            caught.append(request)
            request.gate_answered.wait(30)
            request.send(self.answer_to(request))
            self.assertTrue(request.gate_has_closed())
            request.close()
        worker = self.scripted(behave)
        gate = self.gate([worker], pool={"health.every": "10s"})
        self.assert_own_answer(gate)
        caught[0].gate_answered.set()
        self.assertTrue(caught[0].is_over.wait(30))
        connections = set()
        for _ in range(10):
            self.assert_own_answer(gate, "POST", b"x")
            connections.add(worker.latest.connection)
        self.assertEqual(len(connections), 10)
        self.assertIn("sends bytes that nobody asked for", gate.lane(0)["remark"])

    def test_second_answers_at_any_time_without_kept_connections(self):
        late = []

        def behave(request):
            while late:
                connection, answer = late.pop()
                try:
                    connection.sendall(answer)
                except OSError:
                    pass  # the gate has closed it
            request.send(self.answer_to(request))
            late.append((request.connection, self.answer_to(request)))
            request.finish()
        gate = self.gate([self.scripted(behave)], pool={"keep_alive": False})
        for _ in range(50):
            self.assert_own_answer(gate, "POST", b"x")

    def test_a_408_on_a_kept_connection_is_not_the_answer(self):
        """The server has waited too long for a request, and says so while one is on its way."""
        seen = collections.Counter()

        def behave(request):
            seen[request.connection] += 1
            if seen[request.connection] == 1:
                return request.send(self.answer_to(request)).finish()
            request.send(b"HTTP/1.1 408 Late\r\nConnection: close\r\nContent-Length: 0\r\n\r\n").close()
        gate = self.gate([self.scripted(behave)])
        for _ in range(10):
            target = f"/nonce-{next(self.numbers)}"
            answer = gate.ask("POST", target, b"x")
            self.assertEqual((answer.status, answer.body.decode()), (200, target))
        self.assertEqual(gate.lane(0)["failed"], 0)


if __name__ == "__main__":
    unittest.main()
