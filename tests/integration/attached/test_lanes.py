"""Tests lanes with several slots, jobs that kill a worker which other jobs share, and proofs."""
import queue
import unittest

from harness import Case, wait_until
from scripted_worker import echo


class Slots(Case):
    def test_a_lane_takes_as_many_jobs_at_once_as_it_has_slots(self):
        worker = self.scripted()
        gate = self.gate([worker], pool={"slots": 3})
        clients = [gate.connect().request("GET", f"/{i}") for i in range(5)]
        running = [worker.take() for _ in range(3)]
        gate.wait_queued(2)
        self.assertEqual(len(gate.lane(0)["jobs"]), 3)
        for request in running:
            request.reply(request.target.encode())
        for _ in range(2):
            request = worker.take()
            request.reply(request.target.encode())
        self.assertEqual([client.answer().body for client in clients],
                         [f"/{i}".encode() for i in range(5)])
        self.assertIsNone(gate.lane(0)["start"]["first_job_ms"], "Turnpike did not start this worker")

    def test_the_job_that_kills_its_worker_is_found_among_its_neighbours(self):
        worker = self.scripted()
        gate = self.gate([worker], pool={"slots": 3})
        clients = {name: gate.connect().request("GET", f"/{name}")
                   for name in ("good", "killer", "fine")}
        for _ in range(3):
            worker.take()
        worker.die()
        worker.revive()
        answered = 0
        while answered < 2:
            request = worker.take()
            self.assert_alone(worker)
            if request.target == "/killer":
                worker.die()
                worker.revive()
            else:
                request.reply(b"saved")
                answered += 1
        self.finish_killer(worker, clients["killer"])
        for name in ("good", "fine"):
            self.assertEqual(clients[name].answer().body, b"saved")
        self.assert_problem(clients["killer"].answer(), 502, "poison")

    def finish_killer(self, worker, client):
        """Lets the killer job kill its worker until it has its answer. It gets one or two more attempts, which
        depends on the order of the retries."""
        client.socket.setblocking(False)
        while True:
            try:
                client.unread += client.socket.recv(65536)
                break
            except BlockingIOError:
                pass
            try:
                self.assertEqual(worker.take(0.05).target, "/killer")
                worker.die()
                worker.revive()
            except queue.Empty:
                pass
        client.socket.settimeout(30)

    def assert_alone(self, worker):
        with self.assertRaises(queue.Empty):
            worker.take(0.2)


class Proofs(Case):
    def test_a_lane_that_disagrees_with_the_others_is_taken_out(self):
        digits = ["7", "7", "3"]
        workers = [self.plain_worker("--digit", digit) for digit in digits]
        gate = self.gate(workers, is_ready=False, proof={"request": "GET /digit", "agree": True})
        wait_until(lambda: gate.lane(2)["reason"] == "disagrees", "lane 2 is outvoted")
        gate.wait_ready(2)
        for i in range(20):
            answer = gate.post({"id": i})
            self.assertEqual(answer.json()["digit"], 7)
        states = [lane["state"] for lane in gate.status()["lanes"]]
        self.assertEqual(states[:2], ["ready", "ready"])
        self.assertNotIn(states[2], ("ready", "busy"))

    def test_no_job_reaches_a_lane_before_its_proof(self):
        worker = self.scripted()
        gate = self.gate([worker], is_ready=False,
                         proof={"request": "POST /prove", "body": '{"x": 1}', "expect": "right"})
        client = gate.connect().request("GET", "/job")
        proof = worker.take()
        self.assertEqual((proof.method, proof.target, proof.body), ("POST", "/prove", b'{"x": 1}'))
        self.assertEqual(proof.header("content-type"), "application/json")
        gate.wait_queued(1)
        self.assertEqual((gate.lane(0)["state"], gate.pool()["proof"]), ("proving", "pending"))
        proof.reply(b"wrong")
        again = worker.take()
        self.assertEqual(again.target, "/prove")
        again.reply(b"right")
        job = worker.take()
        self.assertEqual(job.target, "/job")
        job.reply(b"answer")
        self.assertEqual(client.answer().body, b"answer")
        self.assertEqual(gate.pool()["proof"], "passed")

    def test_a_proof_of_another_status_fails(self):
        worker = self.scripted(lambda request: request.reply(b"right", status=500))
        gate = self.gate([worker], is_ready=False,
                         proof={"request": "GET /prove", "expect": "right"})
        lane = wait_until(lambda: gate.lane(0)["reason"] == "proof_failed" and gate.lane(0),
                          "the proof fails")
        self.assertIn("500", lane["trouble"])

    def test_numbers_may_differ_by_the_tolerance(self):
        worker = self.scripted(lambda request: request.reply(b'{"p": [0.50001, 1], "n": "x"}'))
        good = {"request": "GET /p", "expect_json": '{"p": [0.5, 1.0], "n": "x"}'}
        self.gate([worker], proof={**good, "tolerance_absolute": 0.001}).wait_ready()
        strict = self.gate([worker], proof=good, is_ready=False)
        wait_until(lambda: strict.lane(0)["reason"] == "proof_failed", "the proof fails without the tolerance")

    def test_proofs_go_on_between_jobs(self):
        worker = self.scripted(echo)
        gate = self.gate([worker], proof={"request": "GET /prove", "expect": "", "agree": True,
                                          "every": "1s"})
        wait_until(lambda: worker.seen.count("GET /prove") >= 3, "several proofs have run")
        self.assertEqual(gate.ask("POST", "/", b"x").body, b"x")


if __name__ == "__main__":
    unittest.main()
