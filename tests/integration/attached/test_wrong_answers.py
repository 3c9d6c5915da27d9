"""Tests workers that break HTTP or use it in odd ways: each case has one defined outcome, and the next job
is not affected."""
import unittest

from harness import Case


class Wrong(Case):
    """The worker sends no valid answer. The job is run once more, then its client gets 502."""

    def assert_poison(self, behave, method="GET", slugs=("poison",)):
        """Checks that a job ends with 502 after two attempts if every lane answers like this."""
        def answer(request):
            if request.target == "/well":
                return request.reply(b"well")
            return behave(request)
        worker = self.scripted(answer)
        gate = self.gate([worker])
        client = gate.connect().request(method, "/bad", None)
        got = client.answer()
        self.assertIn(got.json()["type"].rsplit(":")[-1], slugs)
        self.assert_problem(got, 502, got.json()["type"].rsplit(":")[-1])
        self.assertEqual(got.header("turnpike-attempt"), "2")
        self.assertEqual(worker.seen, [f"{method} /bad"] * 2)
        client.request("GET", "/well")  # on the same connection
        self.assertEqual(client.answer().body, b"well")
        self.assertEqual(gate.pool()["jobs"]["failed"], 1)

    def test_no_byte_at_all(self):
        self.assert_poison(lambda request: request.close())

    def test_a_reset(self):
        self.assert_poison(lambda request: request.reset())

    def test_garbage(self):
        self.assert_poison(lambda request: request.send(b"\x16\x03\x01 hello\r\n\r\n").finish())

    def test_another_protocol(self):
        self.assert_poison(lambda request: request.send(b"HTTP/2.0 200 OK\r\n\r\n").finish())

    def test_a_head_that_breaks_off(self):
        self.assert_poison(lambda request: request.send(b"HTTP/1.1 200 OK\r\nConte").close())

    def test_a_body_shorter_than_said(self):
        self.assert_poison(lambda request: request.send(
            b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nshort").close())

    def test_two_framings(self):
        self.assert_poison(lambda request: request.send(
            b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n"
            b"3\r\nabc\r\n0\r\n\r\n").finish())

    def test_two_lengths(self):
        self.assert_poison(lambda request: request.send(
            b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabcd").finish())

    def test_a_length_that_is_no_number(self):
        self.assert_poison(lambda request: request.send(
            b"HTTP/1.1 200 OK\r\nContent-Length: many\r\n\r\nabcd").finish())

    def test_an_endless_head(self):
        def endless(request):
            request.send(b"HTTP/1.1 200 OK\r\n")
            try:
                for i in range(1_000_000):
                    request.send(b"X-%d: %s\r\n" % (i, b"x" * 1000))
            except OSError:
                return request.close()
            raise AssertionError("the gate took a gigabyte of header fields")
        self.assert_poison(endless)

    def test_endless_interim_answers(self):
        def endless(request):
            try:
                for _ in range(1_000_000):
                    request.send(b"HTTP/1.1 102 Processing\r\n\r\n")
            except OSError:
                return request.close()
            raise AssertionError("the gate took a million interim answers")
        self.assert_poison(endless)

    def test_an_upgrade_that_nobody_asked_for(self):
        self.assert_poison(lambda request: request.send(
            b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n").finish())


class Strange(Case):
    """The worker sends an odd but valid answer."""

    def setUp(self):
        super().setUp()
        self.worker = self.scripted()
        self.gate_ = self.gate([self.worker])
        self.client = self.gate_.connect()

    def exchange(self, raw, method="GET", ends=lambda request: request.finish()):
        self.client.request(method, "/odd")
        ends(self.worker.take().send(raw))
        answer = self.client.answer(method)
        self.assertEqual(answer.header("turnpike-attempt"), "1")
        return answer

    def assert_next_is_right(self):
        """Checks that the next answer is right and has nothing of the odd one."""
        for body in (b"next", b"and next"):
            self.client.request("POST", "/next", body)
            request = self.worker.take()
            request.reply(request.body)
            self.assertEqual(self.client.answer().body, body)

    def test_a_doubled_answer_never_reaches_the_next_client(self):
        one = b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n"
        self.assertEqual(self.exchange(one + b"his" + one + b"her").body, b"his")
        self.assert_next_is_right()

    def test_bytes_that_nobody_asked_for_between_answers_are_dropped(self):
        self.client.request("GET", "/odd")
        request = self.worker.take()
        request.send(b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nhis")
        self.assertEqual(self.client.answer().body, b"his")
        try:
            request.send(b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nher")
        except OSError:
            pass
        request.finish()
        self.assert_next_is_right()

    def test_interim_answers_are_skipped(self):
        raw = b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n" \
              b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
        self.assertEqual(self.exchange(raw).body, b"ok")
        self.assert_next_is_right()

    def test_an_answer_without_a_length_ends_with_its_connection(self):
        answer = self.exchange(b"HTTP/1.1 200 OK\r\n\r\nall of it", ends=lambda r: r.close())
        self.assertEqual(answer.body, b"all of it")
        self.assert_next_is_right()

    def test_http_1_0(self):
        answer = self.exchange(b"HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok",
                               ends=lambda r: r.close())
        self.assertEqual(answer.body, b"ok")
        self.assert_next_is_right()

    def test_head_has_a_length_and_no_body(self):
        answer = self.exchange(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n", "HEAD")
        self.assertEqual((answer.status, answer.header("content-length")), (200, "1000000"))
        self.assert_next_is_right()

    def test_204_and_304_have_no_body(self):
        answer = self.exchange(b"HTTP/1.1 204 No Content\r\nX-A: b\r\n\r\n")
        self.assertEqual((answer.status, answer.header("x-a")), (204, "b"))
        self.assertIsNone(answer.header("transfer-encoding"))
        answer = self.exchange(b"HTTP/1.1 304 Not Modified\r\nETag: \"x\"\r\n"
                               b"Content-Length: 5\r\n\r\n")
        self.assertEqual((answer.status, answer.header("etag")), (304, '"x"'))
        self.assert_next_is_right()

    def test_an_empty_answer(self):
        self.assertEqual(self.exchange(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").body, b"")
        self.assert_next_is_right()

    def test_chunks_with_extensions_and_trailers(self):
        answer = self.exchange(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
                               b"3;x=y\r\nabc\r\n0\r\nX-Sum: 1\r\n\r\n")
        self.assertEqual(answer.body, b"abc")
        self.assert_next_is_right()

    def test_the_workers_own_turnpike_and_hop_by_hop_fields_do_not_pass(self):
        answer = self.exchange(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nTurnpike-Lane: 99\r\n"
                               b"Keep-Alive: timeout=5\r\nConnection: X-Mine\r\nX-Mine: 1\r\n"
                               b"X-Model: m\r\n\r\n")
        self.assertEqual(answer.header("turnpike-lane"), "0")
        self.assertEqual(answer.header("x-model"), "m")
        self.assertIsNone(answer.header("x-mine"))
        self.assertIsNone(answer.header("keep-alive"))

    def test_errors_of_the_model_pass_as_they_are(self):
        for status in (400, 404, 422, 500, 503):
            self.client.request("POST", "/bad", b"{}")
            self.worker.take().reply(b'{"detail":"why"}', status=status)
            answer = self.client.answer()
            self.assertEqual((answer.status, answer.body), (status, b'{"detail":"why"}'))
            self.assertEqual(answer.header("turnpike-attempt"), "1")

    def test_a_connection_closed_while_idle_is_no_death(self):
        """Servers close idle connections after their keep-alive time."""
        for i in range(5):
            self.client.request("POST", f"/{i}", b"x")
            request = self.worker.take()
            request.send(b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx").close()
            answer = self.client.answer()
            self.assertEqual((answer.body, answer.header("turnpike-attempt")), (b"x", "1"))
        self.assertEqual(self.gate_.lane(0)["restarts"], 0)


class RetryIsOff(Case):
    def test_a_worker_that_drops_warm_connections_gets_each_request_once(self):
        """The worker answers the first request of a connection, and closes without an answer at any later one."""
        per_connection = {}

        def behave(request):
            number = per_connection[request.connection] = per_connection.get(request.connection, 0) + 1
            request.reply(b"once") if number == 1 else request.close()
        worker = self.scripted(behave)
        gate = self.gate([worker], pool={"retry": False})
        client = gate.connect()
        for number in range(5):
            client.request("POST", f"/{number}", b"x")
            self.assertEqual(client.answer().body, b"once")
        self.assertEqual(worker.seen, [f"POST /{number}" for number in range(5)])

    def test_a_request_that_may_have_been_read_is_not_sent_again(self):
        worker = self.scripted(lambda request: request.close())
        gate = self.gate([worker], pool={"retry": False})
        self.assert_problem(gate.ask("POST", "/charge", b"x"), 502, "worker-died")
        self.assertEqual(worker.seen, ["POST /charge"])


class EarlyAnswers(Case):
    def test_an_answer_before_the_body_is_read_passes(self):
        """The worker reads only the head, refuses, and closes."""
        def refuse(request):
            request.send(b"HTTP/1.1 413 Too Much\r\nContent-Length: 4\r\nConnection: close\r\n"
                         b"\r\nmuch")
            request.finish()
        worker = self.scripted(refuse, reads_bodies=False)
        gate = self.gate([worker])
        answer = gate.ask("POST", "/", b"x" * 200)
        self.assertEqual((answer.status, answer.body), (413, b"much"))

    def test_an_early_answer_that_leaves_a_large_body_unread_passes(self):
        worker = self.scripted(reads_bodies=False)
        gate = self.gate([worker])
        client = gate.connect()
        client.request("POST", "/", b"x" * 20_000_000)
        request = worker.take()
        request.send(b"HTTP/1.1 403 No\r\nContent-Length: 2\r\n\r\nno")
        answer = client.answer()
        self.assertEqual((answer.status, answer.body), (403, b"no"))
        self.assertTrue(gate.wait_ready())
        client.request("POST", "/", b"small")  # on another connection to the worker
        second = worker.take()
        self.assertIsNot(second.connection, request.connection)
        second.reply(b"yes")
        self.assertEqual(client.answer().body, b"yes")


if __name__ == "__main__":
    unittest.main()
