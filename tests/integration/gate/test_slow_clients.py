"""Tests very slow clients: they never hold a lane, and the gate closes their connections in the end."""
import socket
import threading
import unittest

from client import Truncated
from harness import Case, wait_until
from scripted_worker import echo

QUICK = {"rate_window": "1s", "body_rate_min": "1KiB", "answer_rate_min": "32KiB",
         "head_timeout": "500ms", "idle_timeout": "500ms"}


class SlowClients(Case):
    def drip(self, client, byte=b"x"):
        """Sends a byte ten times a second until the gate closes the connection."""
        is_over = threading.Event()

        def go_on():
            while not is_over.wait(0.1):
                try:
                    client.send(byte)
                except OSError:
                    return
        future = self.in_thread(go_on)
        self.addCleanup(is_over.set)
        return future

    def test_a_slow_upload_holds_no_lane_and_is_cut(self):
        gate = self.gate([self.scripted(echo)], gate=QUICK)
        slow = gate.connect()
        slow.send(b"POST /slow HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100000\r\n\r\n")
        self.drip(slow)
        wait_until(lambda: gate.live_jobs(), "the upload has begun")
        self.assertEqual(gate.live_jobs()[0]["state"], "arriving")
        for i in range(20):
            self.assertEqual(gate.ask("POST", "/", b"%d" % i).body, b"%d" % i)
        self.assertEqual([job["path"] for job in gate.live_jobs()], ["/slow"])
        self.assert_problem(slow.answer(), 408, "too-slow")
        self.assertTrue(slow.is_closed())
        self.assertEqual((gate.live_jobs(), gate.status()["bytes_held"]), ([], 0))

    def test_a_slow_chunked_upload_is_cut_too(self):
        gate = self.gate([self.scripted(echo)], gate=QUICK)
        slow = gate.connect()
        slow.send(b"POST /slow HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n")
        self.drip(slow, b"1\r\nx\r\n")
        self.assert_problem(slow.answer(), 408, "too-slow")

    def test_a_slow_reader_holds_no_lane_and_is_cut(self):
        def large(request):
            request.reply(bytes(20 << 20) if request.target == "/large" else b"small")
        gate = self.gate([self.scripted(large)], gate=QUICK)
        slow = gate.connect()
        slow.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        slow.request("GET", "/large")
        self.assertEqual(slow.socket.recv(1), b"H")
        for _ in range(20):  # meanwhile the only lane is free for others
            self.assertEqual(gate.ask("GET", "/small").body, b"small")
        read = 1

        def is_cut():
            nonlocal read
            data = slow.socket.recv(1)
            read += len(data)
            return not data or any(job["path"] == "/large" for job in gate.ended_jobs())
        wait_until(is_cut, "the slow reader is cut")
        self.assertLess(read, 100_000)
        wait_until(lambda: gate.live_jobs() == [], "the job has ended")

    def test_a_slow_reader_of_more_than_the_buffer_holds_back_the_worker_and_is_cut(self):
        worker = self.scripted()
        gate = self.gate([worker], gate={**QUICK, "answer_buffer": "1MiB", "answer_rate_min": "1KiB"},
                         pool={"cancel": "close"})
        slow = gate.connect().request("GET", "/")
        request = worker.take().begin_chunked()
        with self.assertRaises(OSError):  # the gate closed the connection
            for _ in range(2000):
                request.chunk(bytes(1 << 20))
        slow.socket.settimeout(10)
        with self.assertRaises((Truncated, ConnectionResetError)):
            slow.answer()
        wait_until(lambda: gate.lane(0)["state"] == "ready", "the lane is free")

    def test_a_reader_that_pauses_is_not_cut(self):
        """A client that reads nothing is slow only if bytes are waiting for it."""
        worker = self.scripted()
        gate = self.gate([worker], gate=QUICK)
        client = gate.connect().request("GET", "/")
        request = worker.take().begin_chunked()
        self.assertEqual(client.head().status, 200)
        wait_until(lambda: gate.live_jobs()[0]["since_s"] > 2.5, "the job has run for 2.5 s")
        request.chunk(b"late").chunk(b"").finish()
        self.assertEqual((client.chunk(), client.chunk()), (b"late", b""))

    def test_a_slow_head_is_cut(self):
        gate = self.gate([self.scripted(echo)], gate=QUICK)
        slow = gate.connect().send(b"POST / HTTP/1.1\r\nHost: localh")
        self.drip(slow)
        self.assert_problem(slow.answer(), 408, "too-slow")

    def test_an_idle_connection_is_closed(self):
        gate = self.gate([self.scripted(echo)], gate=QUICK)
        fresh = gate.connect()
        used = gate.connect().request("POST", "/", b"x")
        self.assertEqual(used.answer().body, b"x")
        self.assertTrue(fresh.is_closed())
        self.assertTrue(used.is_closed())

    def test_a_client_that_waits_for_its_answer_is_not_idle(self):
        worker = self.scripted()
        gate = self.gate([worker], gate=QUICK)
        client = gate.connect().request("GET", "/")
        request = worker.take()
        wait_until(lambda: gate.live_jobs()[0]["since_s"] > 2.5, "the job has run for 2.5 s")
        request.reply(b"at last")
        self.assertEqual(client.answer().body, b"at last")

    def test_more_connections_than_allowed_push_out_idle_ones(self):
        gate = self.gate([self.scripted(echo)], gate={"connections_max": 20})
        idle = [gate.connect() for _ in range(40)]
        for i in range(5):
            self.assertEqual(gate.ask("POST", "/", b"%d" % i).body, b"%d" % i)
        self.assertTrue(idle[0].is_closed())

    def test_100_slow_uploads_do_not_stop_anybody(self):
        gate = self.gate([self.scripted(echo)], gate=QUICK, queue={"arriving_max": 50})
        slow = [gate.connect().send(b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n"
                                    b"\r\nx") for _ in range(100)]
        answers = sorted(client.answer().status for client in slow)
        self.assertEqual(answers, [408] * 45 + [429] * 55, "one client has at most nine tenths of the uploads")
        self.assertEqual(gate.ask("POST", "/", b"x").body, b"x")


if __name__ == "__main__":
    unittest.main()
