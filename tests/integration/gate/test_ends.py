"""Tests the last moments of requests and connections: bytes behind a last request, clients that still read when their job
or the gate has ended, and requests that come right behind an order."""
import json
import signal
import socket
import unittest

from harness import Case, wait_until

LARGE = 8 << 20


def large(request):
    request.reply(bytes(LARGE) if request.target == "/large" else b"small")


class Ends(Case):
    def slow_reader(self, gate):
        """Returns a client that has read one byte of a large answer whose job has ended."""
        finished = gate.pool()["jobs"]["finished"]
        client = gate.connect()
        client.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        client.request("GET", "/large")
        self.assertEqual(client.socket.recv(1), b"H")
        wait_until(lambda: gate.pool()["jobs"]["finished"] > finished, "the job has ended")
        return client

    def test_bytes_behind_the_last_request_do_not_cost_its_answer(self):
        gate = self.gate([self.scripted(large)])
        for target in 10 * ("/small", "/-/healthz"):
            client = gate.connect()
            client.send(b"GET %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n" % target.encode()
                        + 9000 * b"x")
            self.assertEqual(client.answer().status, 200)
            self.assertEqual(client.socket.recv(1), b"", "the end is clean, not a reset")

    def test_a_job_whose_client_still_reads_when_the_gate_ends_has_its_line(self):
        log = self.folder / "jobs.jsonl"
        gate = self.gate([self.scripted(large)], "--log-jobs", str(log), gate={"shutdown_patience": "300ms"})
        self.slow_reader(gate)
        self.assertEqual(self.stop(gate), 0)
        lines = [json.loads(line) for line in log.read_text().splitlines()]
        self.assertEqual([(line["path"], line["outcome"], line["reason"]) for line in lines],
                         [("/large", "failed", "shutting_down")])

    def test_an_ended_job_can_not_be_cancelled_while_its_client_reads(self):
        log = self.folder / "jobs.jsonl"
        gate = self.gate([self.scripted(large)], "--log-jobs", str(log))
        client = gate.connect()
        client.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        client.request("GET", "/large")
        answer = client.head()
        wait_until(lambda: gate.pool()["jobs"]["finished"] == 1, "the job has ended")
        told = gate.ask("DELETE", f"/-/jobs/{answer.header('turnpike-job')}")
        self.assertEqual((told.status, told.json()["cancelled"]), (200, False))

    def test_half_a_head_does_not_hold_up_the_end_of_the_gate(self):
        gate = self.gate([self.scripted()])
        half = gate.connect().send(b"GET / HTTP/1.1\r\nHo")
        gate.process.signal(signal.SIGTERM)
        self.assertTrue(half.is_closed())
        self.assertEqual(gate.process.wait(), 0)

    def test_no_continue_for_a_request_without_a_body(self):
        gate = self.gate([self.scripted(large)])
        for headers in ([], [("Content-Length", "0")]):
            client = gate.connect().request("POST", "/small", None, [("Expect", "100-continue"), *headers])
            self.assertEqual(client.answer().status, 200)

    def test_a_request_right_behind_an_order_sees_what_it_did(self):
        gate = self.gate([self.scripted(), self.scripted()])
        gate.wait_ready()
        for order, state in (("drain", "drained"), ("resume", None), ("drain", "drained")):
            client = gate.connect()
            client.send(b"POST /-/lanes/1/%s HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n"
                        b"GET /-/status HTTP/1.1\r\nHost: localhost\r\n\r\n" % order.encode())
            self.assertEqual(client.answer().status, 202)
            now = client.answer().json()["lanes"][1]["state"]
            if state:
                self.assertEqual(now, state)
            else:
                self.assertNotEqual(now, "drained")


if __name__ == "__main__":
    unittest.main()
