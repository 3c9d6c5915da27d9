"""Tests the end of a gate: after SIGTERM it finishes its jobs, takes no new ones and exits with 0. A second
signal ends it at once, and `shutdown_patience` limits how long it waits."""
import json
import signal
import subprocess
import unittest

from client import Truncated
from harness import Case, wait_until


class Shutdown(Case):
    def busy_gate(self, *flags, **gate):
        worker = self.scripted()
        gate = self.gate([worker], *flags, gate=gate)
        first = gate.connect().request("GET", "/running")
        running = worker.take()
        second = gate.connect().request("POST", "/queued", b"body")
        gate.wait_queued(1)
        return gate, worker, running, first, second

    def wait_closed(self, gate):
        """Waits until new connections are refused."""
        def is_refused():
            try:
                gate.connect().close()
            except ConnectionRefusedError:
                return True
            except ConnectionResetError:  # the listener was just being closed
                return False
            return False
        wait_until(is_refused, "new connections are refused")

    def test_an_idle_gate_ends_at_once(self):
        for number in (signal.SIGTERM, signal.SIGINT):
            gate = self.gate([self.scripted()])
            idle = gate.connect()  # a connection without a request does not delay the end
            kept = gate.connect().request("GET", "/-/healthz")
            self.assertEqual(kept.answer().status, 200)
            self.assertEqual(self.stop(gate, number), 0)
            self.assertTrue(idle.is_closed() and kept.is_closed())

    def test_running_and_queued_jobs_finish(self):
        gate, worker, running, first, second = self.busy_gate()
        idle = gate.connect()
        gate.process.signal(signal.SIGTERM)
        self.wait_closed(gate)
        self.assertTrue(idle.is_closed())
        self.assertTrue(gate.process.is_running())
        running.reply(b"first")
        answer = first.answer()
        self.assertEqual((answer.status, answer.body), (200, b"first"))
        self.assertEqual(answer.header("connection"), "close")
        self.assertTrue(first.is_closed())
        request = worker.take()
        self.assertEqual(request.body, b"body")
        request.reply(b"second")
        self.assertEqual(second.answer().body, b"second")
        self.assertEqual(gate.process.wait(), 0)

    def test_a_stream_finishes(self):
        worker = self.scripted()
        gate = self.gate([worker])
        client = gate.connect().request("GET", "/")
        request = worker.take().begin_chunked().chunk(b"one")
        client.head()
        self.assertEqual(client.chunk(), b"one")
        gate.process.signal(signal.SIGTERM)
        self.wait_closed(gate)
        request.chunk(b"two").chunk(b"").finish()
        self.assertEqual((client.chunk(), client.chunk()), (b"two", b""))
        self.assertEqual(gate.process.wait(), 0)

    def test_an_answer_that_is_still_being_read_is_read_to_its_end(self):
        worker = self.scripted()
        gate = self.gate([worker])
        client = gate.connect().request("GET", "/")
        worker.take().reply(bytes(30 << 20))
        self.assertEqual(client.head().status, 200)
        gate.wait_lane(0, "ready")  # the worker has sent all of it
        gate.process.signal(signal.SIGTERM)
        self.wait_closed(gate)
        with self.assertRaises(subprocess.TimeoutExpired):
            gate.process.wait(0.5)  # the gate does not end while the client has not read the answer
        self.assertEqual(len(client.exactly(30 << 20)), 30 << 20)
        self.assertEqual(gate.process.wait(), 0)

    def test_a_second_signal_ends_it_at_once(self):
        gate, _, _, first, second = self.busy_gate(shutdown_patience="1h")
        gate.process.signal(signal.SIGTERM)
        self.wait_closed(gate)
        self.assertTrue(gate.process.is_running())
        gate.process.signal(signal.SIGTERM)
        self.assertEqual(gate.process.wait(), 0)
        for client in (first, second):
            self.assert_503_or_closed(client)

    def assert_503_or_closed(self, client):
        try:
            self.assert_problem(client.answer(), 503, "shutting-down")
        except (Truncated, ConnectionResetError):
            pass

    def test_when_patience_is_over_jobs_get_503(self):
        gate, _, _, first, second = self.busy_gate(shutdown_patience="300ms")
        gate.process.signal(signal.SIGTERM)
        for client in (first, second):
            self.assert_problem(client.answer(), 503, "shutting-down")
        self.assertEqual(gate.process.wait(), 0)

    def test_with_zero_patience_jobs_get_503_at_once(self):
        gate, _, _, first, second = self.busy_gate(shutdown_patience="0s")
        gate.process.signal(signal.SIGTERM)
        for client in (first, second):
            self.assert_problem(client.answer(), 503, "shutting-down")
        self.assertEqual(gate.process.wait(), 0)

    def test_an_upload_under_way_may_finish(self):
        worker = self.scripted()
        gate = self.gate([worker])
        client = gate.connect()
        client.send(b"POST /up HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n\r\n12345")
        wait_until(lambda: gate.live_jobs(), "the upload has begun")
        gate.process.signal(signal.SIGTERM)
        self.wait_closed(gate)
        client.send(b"67890")
        worker.take().reply(b"got it")
        self.assertEqual(client.answer().body, b"got it")
        self.assertEqual(gate.process.wait(), 0)

    def test_a_kept_connection_takes_no_further_request(self):
        gate, worker, running, first, second = self.busy_gate()
        gate.process.signal(signal.SIGTERM)
        self.wait_closed(gate)
        first.request("GET", "/one-more")  # pipelined behind the running one
        running.reply(b"first")
        self.assertEqual(first.answer().body, b"first")
        worker.take().reply(b"second")
        self.assertEqual(second.answer().body, b"second")
        self.assertEqual(gate.process.wait(), 0)
        self.assertNotIn("GET /one-more", worker.seen)

    def test_under_load_every_job_that_a_worker_saw_is_answered(self):
        def work(request):
            request.reply(request.target.encode())
        workers = [self.scripted(work) for _ in range(3)]
        gate = self.gate(workers)

        def go_on_asking(number):
            answered = []
            while True:
                target = f"/{number}-{len(answered)}"
                try:
                    answer = gate.ask("POST", target, b"x")
                except (Truncated, OSError):  # the gate accepts no more requests
                    return answered
                self.assertEqual((answer.status, answer.body), (200, target.encode()))
                answered.append(f"POST {target}")
        asking = [self.in_thread(go_on_asking, i) for i in range(24)]
        wait_until(lambda: gate.pool()["jobs"]["finished"] > 100, "the clients have got many answers")
        self.assertEqual(self.stop(gate), 0)
        answered = [target for future in asking for target in future.result()]
        self.assertCountEqual(answered, [target for worker in workers for target in worker.seen])

    def test_the_job_log_is_complete_when_the_gate_ends(self):
        log = self.folder / "shutdown.jsonl"
        gate, worker, running, first, second = self.busy_gate("--log-jobs", str(log))
        gate.process.signal(signal.SIGTERM)
        running.reply(b"first")
        worker.take().reply(b"second")
        self.assertEqual((first.answer().status, second.answer().status), (200, 200))
        self.assertEqual(gate.process.wait(), 0)
        records = [json.loads(line) for line in log.read_text().splitlines()]
        self.assertEqual([record["path"] for record in records], ["/running", "/queued"])


if __name__ == "__main__":
    unittest.main()
