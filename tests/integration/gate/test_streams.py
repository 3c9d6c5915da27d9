"""Tests streams: each piece of an answer reaches the client as soon as the worker sends it."""
import subprocess
import unittest

from client import Truncated
from harness import Case, wait_until


class Stream(Case):
    def test_curl_sees_each_chunk_before_the_next_is_made(self):
        worker = self.scripted()
        gate = self.gate([worker])
        curl = subprocess.Popen(["curl", "-sSN", f"http://127.0.0.1:{gate.port}/stream"],
                                stdout=subprocess.PIPE, env=self.env)
        self.addCleanup(curl.stdout.close)
        self.addCleanup(curl.wait)
        self.addCleanup(curl.kill)
        request = worker.take().begin_chunked()
        for i in range(5):
            request.chunk(b"chunk %d\n" % i)
            self.assertEqual(curl.stdout.readline(), b"chunk %d\n" % i)
        request.chunk(b"").finish()
        self.assertEqual(curl.stdout.read(), b"")
        self.assertEqual(curl.wait(), 0)

    def test_an_answer_without_a_length_streams_until_its_close(self):
        worker = self.scripted()
        gate = self.gate([worker])
        client = gate.connect().request("GET", "/")
        request = worker.take().send(b"HTTP/1.1 200 OK\r\nContent-Type: text/x\r\n\r\n")
        answer = client.head()
        self.assertEqual(answer.header("transfer-encoding"), "chunked")
        for word in (b"one", b"two"):
            request.send(word)
            self.assertEqual(client.chunk(), word)
        request.close()
        self.assertEqual(client.chunk(), b"")
        self.assertEqual(self.again(client, worker), b"again")

    def again(self, client, worker):
        client.request("GET", "/again")
        worker.take().reply(b"again")
        return client.answer().body

    def test_a_large_answer_of_known_length_streams_too(self):
        worker = self.scripted()
        gate = self.gate([worker])
        client = gate.connect().request("GET", "/")
        request = worker.take().send(b"HTTP/1.1 200 OK\r\nContent-Length: 3000000\r\n\r\n")
        request.send(b"a" * 100_000)
        answer = client.head()
        self.assertEqual(answer.header("content-length"), "3000000")
        self.assertEqual(client.exactly(100_000), b"a" * 100_000)
        request.send(b"b" * 2_900_000).finish()
        self.assertEqual(client.exactly(2_900_000), b"b" * 2_900_000)

    def test_the_client_sees_that_a_stream_broke_and_the_job_is_not_retried(self):
        worker = self.scripted()
        gate = self.gate([worker])
        client = gate.connect().request("GET", "/")
        request = worker.take().begin_chunked().chunk(b"half of it")
        self.assertEqual(client.head().status, 200)
        self.assertEqual(client.chunk(), b"half of it")
        request.close()
        with self.assertRaises((Truncated, ConnectionResetError)):
            client.chunk()
        wait_until(lambda: gate.ended_jobs(), "the job ends")
        self.assertEqual(gate.ended_jobs()[0]["reason"], "stream_broken")
        self.assertEqual(worker.seen, ["GET /"])

    def test_an_http_1_0_client_gets_a_stream_that_ends_with_the_connection(self):
        worker = self.scripted()
        gate = self.gate([worker])
        client = gate.connect().send(b"GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n")
        worker.take().begin_chunked().chunk(b"one ").chunk(b"two").chunk(b"").finish()
        answer = client.answer()
        self.assertIsNone(answer.header("transfer-encoding"))
        self.assertEqual(answer.header("connection"), "close")
        self.assertEqual(answer.body, b"one two")

    def test_a_stream_that_goes_on_is_not_cut_by_job_timeout(self):
        worker = self.scripted()
        gate = self.gate([worker], pool={"job_timeout": "1s", "cancel_grace": "1s"})
        client = gate.connect().request("GET", "/")
        request = worker.take().begin_chunked()
        client.head()
        while not gate.live_jobs() or gate.live_jobs()[0]["since_s"] < 2:
            request.chunk(b"tick")
            self.assertEqual(client.chunk(), b"tick")
        request.chunk(b"").finish()
        self.assertEqual(client.chunk(), b"")

    def test_a_stream_that_stops_for_too_long_is_cut(self):
        worker = self.scripted()
        gate = self.gate([worker], pool={"job_timeout": "300ms", "cancel_grace": "100ms"})
        client = gate.connect().request("GET", "/")
        request = worker.take().begin_chunked().chunk(b"tick")
        client.head()
        self.assertEqual(client.chunk(), b"tick")
        with self.assertRaises((Truncated, ConnectionResetError)):
            client.chunk()
        self.assertTrue(request.gate_has_closed())


if __name__ == "__main__":
    unittest.main()
