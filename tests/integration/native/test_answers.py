"""Tests answers of native models: which value of a model becomes which HTTP answer, and how failures are answered."""
import hashlib
import re
import socket
import unittest

from client import Client
from native_case import PYTHON, NativeCase, SharedGate, body_of, wait_until

MODEL = '''
import hashlib
from turnpike import BadInput, Request, Response


class Answers(turnpike.Model):
    example = {"do": "echo", "value": 1}

    def predict(self, task):
        return getattr(self, "do_" + task["do"])(task)

    def request(self, req):
        if req.path == "/raw":
            return req.body
        if req.path == "/sum":
            return {"size": len(req.body), "sum": hashlib.sha256(req.body).hexdigest()}
        if req.path == "/seen":
            return {"method": req.method, "path": req.path, "query": req.query,
                    "headers": dict(req.headers)}
        return Response({"nothing": req.path}, 404)

    def do_echo(self, task):
        return {"value": task["value"]}

    def do_text(self, task):
        return task["text"]

    def do_bytes(self, task):
        return bytes(task["bytes"])

    def do_value(self, task):
        return task["value"]

    def do_response(self, task):
        return Response(task["body"].encode(), task["status"], task["headers"], task["type"])

    def do_nan(self, task):
        return {"deep": [1.0, {"in": float(task["value"])}]}

    def do_raise(self, task):
        raise ValueError(task["words"])

    def do_bad(self, task):
        raise BadInput(task["words"])

    def do_no_json(self, task):
        return {"it": object()}
'''


class Shared(SharedGate):
    def open(self):
        return self.serve(self.model(MODEL), pool={"lanes": 2})


class Values(Shared):
    def test_json_is_json_and_text_is_text(self):
        answer = self.ask_model(do="echo", value={"ä": [1, None, True, "x"]})
        self.assertEqual(answer.header("content-type"), "application/json")
        self.assertEqual(answer.json(), {"value": {"ä": [1, None, True, "x"]}})
        self.assertEqual(answer.header("content-length"), str(len(answer.body)))
        for value in ([1, 2], 7, 1.5, True, None):
            self.assertEqual(self.ask_model(do="value", value=value).json(), value)
        answer = self.ask_model(do="text", text="grüß")
        self.assertEqual(answer.header("content-type"), "text/plain; charset=utf-8")
        self.assertEqual(answer.body.decode(), "grüß")

    def test_bytes_are_bytes(self):
        answer = self.ask_model(do="bytes", bytes=[0, 255, 13, 10])
        self.assertEqual(answer.header("content-type"), "application/octet-stream")
        self.assertEqual(answer.body, b"\x00\xff\r\n")

    def test_an_empty_answer_is_one(self):
        for task in ({"do": "text", "text": ""}, {"do": "bytes", "bytes": []}):
            answer = self.ask_model(**task)
            self.assertEqual((answer.header("content-length"), answer.body), ("0", b""))

    def test_a_response_has_its_status_and_fields(self):
        answer = self.gate.post({"do": "response", "status": 418, "type": "text/x-tea",
                                 "body": "short", "headers": [["X-One", "1"], ["X-Two", "a, b"]]})
        self.assertEqual((answer.status, answer.body), (418, b"short"))
        self.assertEqual((answer.header("content-type"), answer.header("x-one"),
                          answer.header("x-two")), ("text/x-tea", "1", "a, b"))

    def test_an_answer_of_the_model_s_own_that_says_500_is_passed_on(self):
        answer = self.gate.post({"do": "response", "status": 503, "type": "text/plain",
                                 "body": "not now", "headers": []})
        self.assertEqual((answer.status, answer.body), (503, b"not now"))
        self.ask_model(do="echo", value=1)

    def test_every_answer_says_where_it_was_made(self):
        answer = self.ask_model(do="echo", value=1)
        for name in ("turnpike-job", "turnpike-lane", "turnpike-attempt", "turnpike-generation",
                     "server-timing"):
            self.assertIsNotNone(answer.header(name), name)
        for lane in ("0", "1"):
            answer = self.ask_model(do="echo", value=1, headers=[("Turnpike-Lane", lane)])
            self.assertEqual(answer.header("turnpike-lane"), lane)

    def test_connections_are_kept(self):
        client = self.gate.connect()
        for value in range(20):
            client.request("POST", "/predict", body_of({"do": "echo", "value": value}))
            self.assertEqual(client.answer().json(), {"value": value})

    def test_large_bodies_and_answers_arrive_whole(self):
        for size in ((1 << 20) - 1, 1 << 20, (1 << 20) + 1, 5_000_001):
            body = hashlib.sha256(str(size).encode()).digest() * (size // 32 + 1)
            body = body[:size]
            answer = self.gate.ask("POST", "/sum", body)
            self.assertEqual(answer.json(), {"size": size,
                                             "sum": hashlib.sha256(body).hexdigest()})
            answer = self.gate.ask("POST", "/raw", body)
            self.assertEqual(answer.header("content-length"), str(size))
            self.assertEqual(answer.body, body)
            self.assertEqual(answer.header("turnpike-attempt"), "1")

    def test_a_chunked_upload_is_one_body(self):
        pieces = [b"a" * 300_000, b"b" * 1_500_000, b"c"]
        client = self.gate.connect()
        client.send(b"POST /raw HTTP/1.1\r\nHost: localhost\r\n"
                    b"Transfer-Encoding: chunked\r\n\r\n")
        for piece in pieces:
            client.send(f"{len(piece):x}\r\n".encode() + piece + b"\r\n")
        client.send(b"0\r\n\r\n")
        self.assertEqual(client.answer().body, b"".join(pieces))

    def test_no_body_at_all(self):
        self.assertEqual(self.gate.ask("POST", "/sum").json()["size"], 0)
        self.assert_problem(self.gate.ask("POST", "/predict"), 400, "bad-input")


class Requests(Shared):
    def test_a_model_sees_the_whole_request(self):
        answer = self.gate.ask("PUT", "/seen?a=%20b&c", b"", [("X-Mine", "1"), ("X-Mine", "2"),
                                                              ("Cookie", "k=v"),
                                                              ("Turnpike-Priority", "7")])
        seen = answer.json()
        self.assertEqual((seen["method"], seen["path"], seen["query"]),
                         ("PUT", "/seen", "a=%20b&c"))
        headers = seen["headers"]
        self.assertEqual((headers["x-mine"], headers["cookie"]), ("1, 2", "k=v"))
        self.assertNotIn("turnpike-priority", headers)

    def test_other_paths_are_the_model_s(self):
        answer = self.gate.ask("GET", "/nowhere")
        self.assertEqual((answer.status, answer.json()), (404, {"nothing": "/nowhere"}))

    def test_head_has_the_fields_and_no_body(self):
        client = self.gate.connect()
        client.request("HEAD", "/seen")
        head = client.answer("HEAD")
        self.assertEqual((head.status, head.header("content-type")), (200, "application/json"))
        client.request("HEAD", "/nowhere")
        head = client.answer("HEAD")
        client.request("GET", "/nowhere")
        answer = client.answer()
        self.assertEqual((head.status, head.header("content-length")), (404, str(len(answer.body))))
        self.assertEqual(answer.json(), {"nothing": "/nowhere"}, "the HEAD answer must have no body")

    def test_the_root_is_predict_as_well(self):
        for target in ("/", "/predict", "/predict?verbose=1"):
            self.assertEqual(self.gate.post({"do": "echo", "value": 3}, target).json(),
                             {"value": 3})


class Failures(Shared):
    def test_an_exception_is_500_with_its_words_for_this_machine(self):
        answer = self.ask_model(do="raise", words="no such layer", status=500)
        self.assert_problem(answer, 500, "model-failed")
        self.assertEqual(answer.json()["detail"], "ValueError: no such layer")
        self.assertEqual(answer.json()["job"], answer.header("turnpike-job"))
        self.assertEqual(answer.header("turnpike-attempt"), "1")
        lane = int(answer.header("turnpike-lane"))
        self.wait_log(self.gate, "ValueError: no such layer", lane)
        log = self.whole_log(self.gate, lane)
        self.assertIn("in do_raise", log)
        self.assertIn(f"job {answer.header('turnpike-job')}: Traceback", log)
        job = self.job(self.gate, answer.header("turnpike-job"))
        self.assertEqual((job["outcome"], job["status"]), ("failed", 500), job)

    def test_words_of_any_kind_come_through(self):
        for words in ("", "line one\nline two", "\x1b[31mred\x00", "ü" * 3000):
            answer = self.ask_model(do="raise", words=words, status=500)
            self.assert_problem(answer, 500, "model-failed")
            self.ask_model(do="echo", value=1)

    def test_bad_input_is_400_with_its_words(self):
        answer = self.ask_model(do="bad", words="pixels: 64 numbers, please", status=400)
        self.assert_problem(answer, 400, "bad-input")
        self.assertEqual(answer.json()["detail"], "pixels: 64 numbers, please")

    def test_a_body_that_is_no_json_is_the_client_s_fault(self):
        for body in (b"{", b"\xff\xfe", b"", b"[1,]", b'{"x": NaN}', b'{"x": 1e400}', b"[-1e400]", b'{"x": [1, {"y": 1E999}]}'):
            answer = self.gate.ask("POST", "/predict", body)
            self.assert_problem(answer, 400, "bad-input")

    def test_nan_and_infinity_are_errors(self):
        for value in ("nan", "inf", "-inf"):
            answer = self.ask_model(do="nan", value=value, status=500)
            self.assert_problem(answer, 500, "non-finite")

    def test_an_answer_that_json_cannot_express_is_the_models_fault(self):
        self.assert_problem(self.ask_model(do="no_json", status=500), 500, "model-failed")

    def test_failures_are_counted_and_the_lane_stays(self):
        before = self.gate.pool()["jobs"]
        self.ask_model(do="raise", words="x", status=500)
        self.ask_model(do="echo", value=1)
        after = self.gate.pool()["jobs"]
        self.assertEqual(after["failed"] - before["failed"], 1)
        self.assertEqual([lane["restarts"] for lane in self.gate.status()["lanes"]], [0, 0])


def own_address():
    """Returns an address of this machine that is not loopback, or None. Sends nothing."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("198.51.100.1", 9))
        except OSError:
            return None
        return None if probe.getsockname()[0].startswith("127.") else probe.getsockname()[0]


class ErrorsShown(NativeCase):
    """Tests which errors clients on other machines see. They connect to an address that is not loopback."""

    def setUp(self):
        super().setUp()
        self.address = own_address()
        if self.address is None:
            self.skipTest("this machine has no address but loopback")
        done = self.command("key", "new", "somebody")
        self.assertEqual(done.returncode, 0, done)
        self.key = done.stdout.split()[-1]
        self.addCleanup(self.command, "key", "revoke", "somebody")

    def ask_from_afar(self, task, **pool):
        config = self.config(None, {"model": str(self.model(MODEL)), "python": PYTHON,
                                    "health.every": None, "health.timeout": None, **pool})
        process = self.spawn_up([str(self.write_config(config)), "--host", self.address])
        found = wait_until(lambda: re.search(r"serving on http://[\d.]+:(\d+)", process.output()),
                           "the gate serves")
        client = Client.__new__(Client)
        client.socket = socket.create_connection((self.address, int(found[1])), timeout=30)
        client.unread = bytearray()
        self.addCleanup(client.close)
        client.request("POST", "/predict", body_of(task), [("Turnpike-Key", self.key)])
        return client.answer()

    def test_the_text_of_an_exception_is_hidden_from_other_machines(self):
        answer = self.ask_from_afar({"do": "raise", "words": "the path of my weights"})
        self.assert_problem(answer, 500, "model-failed")
        self.assertNotIn("the path of my weights", answer.body.decode())
        self.assertNotIn("ValueError", answer.body.decode())

    def test_the_text_of_an_exception_is_shown_to_all_if_the_config_says_so(self):
        answer = self.ask_from_afar({"do": "raise", "words": "layer 3"}, errors="full")
        self.assertEqual(answer.json()["detail"], "ValueError: layer 3")

    def test_the_text_of_bad_input_is_shown_to_all(self):
        answer = self.ask_from_afar({"do": "bad", "words": "64 numbers, please"})
        self.assert_problem(answer, 400, "bad-input")
        self.assertEqual(answer.json()["detail"], "64 numbers, please")


if __name__ == "__main__":
    unittest.main()
