"""Tests clients that leave before their answer: a queued job is dropped, a running job is finished or
closed as the pool's config says, and no other client notices."""
import socket
import struct
import unittest

from harness import Case, wait_until


class Departures(Case):
    def busy_gate(self, **pool):
        """Starts a gate whose only lane is busy. Returns the gate, the worker, the client and its running request."""
        worker = self.scripted()
        gate = self.gate([worker], pool=pool)
        client = gate.connect().request("POST", "/running", b"x")
        return gate, worker, client, worker.take()

    def assert_only_running(self, gate):
        wait_until(lambda: [job["path"] for job in gate.live_jobs()] == ["/running"],
                   "the queued job is dropped")
        self.assertEqual(gate.pool()["queued"], 0)

    def assert_worker_never_saw_it(self, gate, worker, client, running):
        running.reply(b"done")
        self.assertEqual(client.answer().body, b"done")
        last = self.in_thread(gate.ask, "GET", "/last")
        worker.take().reply(b"last")
        self.assertEqual(last.result().body, b"last")
        self.assertEqual(worker.seen, ["POST /running", "GET /last"])

    def test_a_queued_job_whose_client_closes_is_never_run(self):
        gate, worker, client, running = self.busy_gate()
        leaver = gate.connect().request("POST", "/queued", b"y" * 100)
        gate.wait_queued(1)
        leaver.close()
        self.assert_only_running(gate)
        self.assertEqual(gate.pool()["jobs"]["cancelled"], 1)
        self.assert_worker_never_saw_it(gate, worker, client, running)

    def test_a_queued_job_whose_client_resets_is_never_run(self):
        gate, worker, client, running = self.busy_gate()
        leaver = gate.connect().request("POST", "/queued", b"y")
        gate.wait_queued(1)
        leaver.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        leaver.close()
        self.assert_only_running(gate)
        self.assert_worker_never_saw_it(gate, worker, client, running)

    def test_a_departure_behind_pipelined_bytes_is_noticed(self):
        for size in (10, 100 * 1024):
            with self.subTest(size):
                gate, worker, client, running = self.busy_gate()
                leaver = gate.connect().request("POST", "/queued", b"y")
                gate.wait_queued(1)
                leaver.send(b"POST /pipelined HTTP/1.1\r\nHost: localhost\r\nContent-Length: "
                            b"1000000\r\n\r\n" + b"z" * size)
                leaver.close()
                self.assert_only_running(gate)
                self.assert_worker_never_saw_it(gate, worker, client, running)

    def test_many_queued_departures_leave_nothing_behind(self):
        gate, worker, client, running = self.busy_gate()
        leavers = [gate.connect().request("POST", f"/{i}", b"y" * 1000) for i in range(50)]
        gate.wait_queued(50)
        for leaver in leavers[::2]:
            leaver.close()
        gate.wait_queued(25)
        running.reply()
        for i in range(1, 50, 2):
            request = worker.take()
            self.assertEqual(request.target, f"/{i}")
            request.reply(b"answer %d" % i)
            self.assertEqual(leavers[i].answer().body, b"answer %d" % i)
        wait_until(lambda: gate.status()["bytes_held"] == 0, "no bytes are counted any more")

    def test_an_upload_that_breaks_off_gives_its_bytes_back(self):
        worker = self.scripted()
        gate = self.gate([worker])
        leaver = gate.connect()
        leaver.send(b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3000000\r\n\r\n")
        leaver.send(b"x" * 2_000_000)
        wait_until(lambda: gate.status()["bytes_held"] >= 1 << 20, "the upload has begun")
        leaver.close()
        wait_until(lambda: gate.status()["bytes_held"] == 0, "the job is dropped")
        self.assertEqual((gate.live_jobs(), worker.seen), ([], []))

    def test_finish_lets_the_worker_finish_and_drops_the_answer(self):
        gate, worker, client, running = self.busy_gate(cancel="finish", cancel_grace="1h")
        client.close()
        wait_until(lambda: gate.pool()["jobs"]["cancelled"] == 1, "the gate notices that the client left")
        waiting = gate.connect().request("GET", "/next")
        gate.wait_queued(1)
        self.assertEqual(gate.lane(0)["state"], "busy")
        running.reply(b"for nobody")
        request = worker.take()
        self.assertEqual(request.target, "/next")
        request.reply(b"for you")
        self.assertEqual(waiting.answer().body, b"for you")
        self.assertEqual(gate.lane(0)["restarts"], 0)

    def test_close_closes_the_workers_connection(self):
        gate, worker, client, running = self.busy_gate(cancel="close")
        client.close()
        self.assertTrue(running.gate_has_closed())
        running.finish()
        waiting = gate.connect().request("GET", "/next")
        request = worker.take()
        self.assertEqual(request.target, "/next")
        request.reply(b"for you")
        self.assertEqual(waiting.answer().body, b"for you")

    def test_a_client_that_leaves_within_a_stream_frees_the_lane_under_every_policy(self):
        for cancel in ("close", "finish"):
            with self.subTest(cancel):
                gate, worker, client, running = self.busy_gate(cancel=cancel)
                running.begin_chunked().chunk(b"one")
                client.head()
                self.assertEqual(client.chunk(), b"one")
                client.close()
                self.assertTrue(running.gate_has_closed())
                waiting = gate.connect().request("GET", "/next")
                worker.take().reply(b"next")
                self.assertEqual(waiting.answer().body, b"next")
                self.assertEqual(gate.ended_jobs()[-1]["reason"], "client_left")

    def test_a_running_departure_behind_pipelined_bytes_is_noticed(self):
        gate, _, client, running = self.busy_gate(cancel="close")
        client.send(b"x" * 100_000)
        client.close()
        self.assertTrue(running.gate_has_closed())
        wait_until(lambda: gate.live_jobs() == [], "the job has ended")


class Cancels(Case):
    def test_delete_cancels_a_queued_and_a_running_job(self):
        worker = self.scripted()
        gate = self.gate([worker], pool={"cancel": "close"})
        first = gate.connect().request("GET", "/running")
        running = worker.take()
        second = gate.connect().request("GET", "/queued")
        gate.wait_queued(1)
        jobs = {job["path"]: job["id"] for job in gate.live_jobs()}
        self.assertEqual(gate.ask("DELETE", f"/-/jobs/{jobs['/queued']}").status, 202)
        self.assert_problem(second.answer(), 409, "cancelled")
        self.assertEqual(gate.ask("DELETE", f"/-/jobs/{jobs['/running']}").status, 202)
        self.assert_problem(first.answer(), 409, "cancelled")
        self.assertTrue(running.gate_has_closed())
        self.assertEqual(worker.seen, ["GET /running"])
        ended = gate.ask("GET", f"/-/jobs/{jobs['/queued']}").json()
        self.assertEqual((ended["state"], ended["reason"]), ("ended", "cancel_asked"))
        again = gate.ask("DELETE", f"/-/jobs/{jobs['/queued']}")
        self.assertEqual((again.status, again.json()["cancelled"]), (200, False))

    def test_a_job_that_cannot_be_ended_keeps_its_lane_until_its_grace_is_over(self):
        worker, other = self.scripted(), self.scripted()
        gate = self.gate([worker, other], pool={"job_timeout": "200ms", "cancel_grace": "300ms",
                                                "cancel": "finish"})
        client = gate.connect().request("GET", "/stuck", None, [("Turnpike-Lane", "0")])
        stuck = worker.take()
        self.assert_problem(client.answer(), 504, "ran-too-long")
        self.assertTrue(stuck.gate_has_closed())
        gate.wait_ready()

    def test_a_job_that_nobody_waits_for_keeps_its_lane_until_its_time_is_over(self):
        worker, other = self.scripted(), self.scripted()
        gate = self.gate([worker, other], pool={"abandon_after": "200ms", "cancel_grace": "100ms", "cancel": "finish"})
        client = gate.connect().request("GET", "/endless", None, [("Turnpike-Lane", "0")])
        endless = worker.take()
        client.close()
        self.assertTrue(endless.gate_has_closed())
        gate.wait_ready()
        waiting = gate.connect().request("GET", "/next", None, [("Turnpike-Lane", "0")])
        worker.take().reply(b"next")
        self.assertEqual(waiting.answer().body, b"next")


if __name__ == "__main__":
    unittest.main()
