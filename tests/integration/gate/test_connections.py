"""Tests HTTP/1.1 and 1.0 between client and gate: pipelining, keep-alive, chunked uploads, Expect, and
malformed requests, which are refused before they can do harm."""
import unittest

from harness import Case, wait_until
from scripted_worker import echo

HOST = b"Host: localhost\r\n"


class Connections(Case):
    def setUp(self):
        super().setUp()
        self.worker = self.scripted(echo)
        self.gate_ = self.gate([self.worker])
        self.client = self.gate_.connect()

    def post(self, body):
        return b"POST / HTTP/1.1\r\n" + HOST + b"Content-Length: %d\r\n\r\n" % len(body) + body

    def test_three_requests_in_one_write_are_answered_in_order(self):
        self.client.send(self.post(b"one") + self.post(b"two") + self.post(b"three"))
        self.assertEqual([self.client.answer().body for _ in range(3)],
                         [b"one", b"two", b"three"])

    def test_a_long_pipeline_of_all_kinds(self):
        kinds = [(self.post(b"x" * 5000), 200, b"x" * 5000),
                 (b"GET /-/healthz HTTP/1.1\r\n" + HOST + b"\r\n", 200, b"ok\n"),
                 (b"POST /-/healthz HTTP/1.1\r\n" + HOST + b"Content-Length: 5\r\n\r\nhello", 405,
                  None),
                 (b"POST / HTTP/1.1\r\n" + HOST + b"Transfer-Encoding: chunked\r\n\r\n"
                  b"3\r\nabc\r\n0\r\n\r\n", 200, b"abc"),
                 (b"POST / HTTP/1.1\r\n" + HOST + b"Turnpike-Priority: 99\r\nContent-Length: 3\r\n"
                  b"\r\nabc", 400, None)]
        sending = self.in_thread(self.client.send, b"".join(kind[0] for kind in kinds) * 50)
        for _ in range(50):
            for _, status, body in kinds:
                answer = self.client.answer()
                self.assertEqual(answer.status, status, answer)
                if body is not None:
                    self.assertEqual(answer.body, body)
                if answer.header("connection") == "close":
                    self.fail(f"the connection could have gone on after {answer}")
        sending.result()

    def test_a_request_that_comes_byte_by_byte_is_answered(self):
        for byte in self.post(b"slowly") + b"GET /-/healthz HTTP/1.1\r\n" + HOST + b"\r\n":
            self.client.send(bytes([byte]))
        self.assertEqual(self.client.answer().body, b"slowly")
        self.assertEqual(self.client.answer().body, b"ok\n")

    def test_connection_close_is_obeyed(self):
        self.client.request("POST", "/", b"x", [("Connection", "close")])
        answer = self.client.answer()
        self.assertEqual((answer.body, answer.header("connection")), (b"x", "close"))
        self.assertTrue(self.client.is_closed())

    def test_http_1_0_without_keep_alive(self):
        self.client.send(b"POST / HTTP/1.0\r\n" + HOST + b"Content-Length: 1\r\n\r\nx")
        self.assertEqual(self.client.answer().body, b"x")
        self.assertTrue(self.client.is_closed())

    def test_http_1_0_with_keep_alive(self):
        for _ in range(3):
            self.client.send(b"POST / HTTP/1.0\r\n" + HOST + b"Connection: keep-alive\r\n"
                             b"Content-Length: 1\r\n\r\nx")
            answer = self.client.answer()
            self.assertEqual((answer.body, answer.header("connection")), (b"x", "keep-alive"))

    def test_http_1_0_without_a_host(self):
        self.client.send(b"GET / HTTP/1.0\r\n\r\n")
        self.assertEqual(self.client.answer().status, 200)

    def test_a_chunked_upload_with_extensions_and_trailers(self):
        self.client.send(b"POST / HTTP/1.1\r\n" + HOST + b"Transfer-Encoding: chunked\r\n"
                         b"Trailer: X-Sum\r\n\r\n4;a=b\r\nWiki\r\n5\r\npedia\r\n"
                         b"0\r\nX-Sum: 1\r\n\r\n")
        self.assertEqual(self.client.answer().body, b"Wikipedia")
        self.client.send(self.post(b"next"))
        self.assertEqual(self.client.answer().body, b"next")

    def test_expect_100_continue(self):
        self.client.send(b"POST / HTTP/1.1\r\n" + HOST + b"Content-Length: 4\r\n"
                         b"Expect: 100-continue\r\n\r\n")
        self.assertEqual(self.client.head().status, 100)
        self.client.send(b"body")
        self.assertEqual(self.client.answer().body, b"body")
        self.client.send(self.post(b"next"))
        self.assertEqual(self.client.answer().body, b"next")

    def test_expect_100_continue_and_not_waiting_for_it(self):
        self.client.send(b"POST / HTTP/1.1\r\n" + HOST + b"Content-Length: 4\r\n"
                         b"Expect: 100-continue\r\n\r\nbody")
        answer = self.client.head()
        if answer.status == 100:
            answer = self.client.head()
        self.assertEqual(self.client.body_of(answer).body, b"body")

    def test_another_expectation_is_417(self):
        self.client.request("POST", "/", b"", [("Expect", "miracles")])
        self.assert_problem(self.client.answer(), 417, "bad-expectation")

    def test_a_missing_doubled_or_bad_host_is_refused(self):
        for lines in (b"", HOST + HOST, b"Host: a b\r\n", b"Host: localhost\r\nhost: evil\r\n"):
            client = self.gate_.connect().send(b"GET / HTTP/1.1\r\n" + lines + b"\r\n")
            self.assert_problem(client.answer(), 400, "malformed")
            self.assertTrue(client.is_closed())

    def test_doubtful_framing_is_refused_and_the_connection_closed(self):
        smuggled = b"0\r\n\r\nGET /smuggled HTTP/1.1\r\n" + HOST + b"\r\n"
        for lines in (b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n",
                      b"Content-Length: 5\r\nContent-Length: 6\r\n",
                      b"Content-Length: 5, 5\r\n", b"Content-Length: +5\r\n",
                      b"Content-Length: 0x5\r\n", b"Content-Length: -1\r\n",
                      b"Content-Length: 99999999999999999999\r\n",
                      b"Transfer-Encoding: gzip, chunked\r\n", b"Transfer-Encoding: identity\r\n",
                      b"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n",
                      b"Transfer-Encoding : chunked\r\n", b"Transfer-Encoding:\x0bchunked\r\n",
                      b" Content-Length: 5\r\n", b"X: y\r\n folded\r\n", b"X: a\nY: b\r\n",
                      b": no name\r\n", b"X\x00: y\r\n"):
            with self.subTest(lines):
                client = self.gate_.connect()
                client.send(b"POST / HTTP/1.1\r\n" + HOST + lines + b"\r\n" + smuggled)
                answer = client.answer()
                self.assertIn(answer.status, (400, 413, 501), answer)
                self.assertTrue(client.is_closed())
        self.assertEqual(self.worker.seen, [])

    def test_bad_chunks_are_refused(self):
        for chunks in (b"x\r\n", b"-1\r\n", b"3\r\nabcd\r\n", b"3\nabc\n0\n\n",
                       b"ffffffffffffffffff\r\n", b"3\r\nabc\r\n0\r\nContent-Length: 5\r\n\r\n"):
            with self.subTest(chunks):
                client = self.gate_.connect()
                client.send(b"POST / HTTP/1.1\r\n" + HOST + b"Transfer-Encoding: chunked\r\n\r\n"
                            + chunks)
                self.assertEqual(client.answer().status, 400)
                self.assertTrue(client.is_closed())
        self.assertEqual(self.worker.seen, [])
        wait_until(lambda: self.gate_.live_jobs() == [], "no job is left")

    def test_heads_that_are_too_large(self):
        for lines, status in ((b"GET /" + b"x" * 100_000 + b" HTTP/1.1\r\n" + HOST + b"\r\n", 414),
                              (b"GET / HTTP/1.1\r\n" + HOST + b"X: " + b"x" * 200_000 + b"\r\n\r\n",
                               431),
                              (b"GET / HTTP/1.1\r\n" + HOST + b"X: y\r\n" * 10_000 + b"\r\n", 431)):
            client = self.gate_.connect()
            try:
                client.send(lines)
            except (BrokenPipeError, ConnectionResetError):
                pass  # the gate has closed the connection already
            self.assertEqual(client.answer().status, status)
        self.assertEqual(self.worker.seen, [])

    def test_other_protocols_are_refused(self):
        for greeting, statuses in ((b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", (400,)),
                                   (b"SSH-2.0-OpenSSH_9.2\r\n", (400,)),
                                   (b"GET / HTTP/2.0\r\n" + HOST + b"\r\n", (505,)),
                                   (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", (400, 501, 505))):
            client = self.gate_.connect().send(greeting)
            self.assertIn(client.answer().status, statuses, greeting)
            self.assertTrue(client.is_closed())

    def test_the_gate_writes_the_workers_request_itself(self):
        seen = []

        def note(request):
            seen.append(request)
            request.reply()
        self.worker.behave = note
        self.client.request("POST", "/x", b"body", [
            ("Connection", "keep-alive, X-Hop"), ("X-Hop", "1"), ("Keep-Alive", "timeout=1"),
            ("Turnpike-Priority", "7"), ("Turnpike-Secret", "1"), ("TE", "trailers"),
            ("X-Mine", "kept"), ("X-Twice", "1"), ("X-Twice", "2"), ("traceparent", "00-abc"),
            ("X-Forwarded-For", "10.0.0.1")])
        answer = self.client.answer()
        request = seen[0]
        for name in ("x-hop", "keep-alive", "te", "turnpike-priority", "turnpike-secret"):
            self.assertIsNone(request.header(name), name)
        self.assertEqual(request.header("x-mine"), "kept")
        self.assertEqual([value for name, value in request.headers if name == "x-twice"],
                         ["1", "2"])
        self.assertEqual(request.header("traceparent"), "00-abc")
        self.assertEqual(request.header("x-forwarded-for"), "10.0.0.1, 127.0.0.1")
        self.assertEqual(request.header("turnpike-job"), answer.header("turnpike-job"))
        self.assertEqual(request.header("turnpike-attempt"), "1")
        self.assertEqual(request.header("content-length"), "4")


if __name__ == "__main__":
    unittest.main()
