"""Tests clients that leave HTTP workers: an app that blocks its event loop is not ended because its clients left, and an
answer that has begun is closed."""
import json
import shlex
import unittest

from harness import HERE, PYTHON, wait_until
from started_case import StartedCase

APP = f"{PYTHON} -SE {shlex.quote(str(HERE / 'workers' / 'asyncio_server.py'))} {{port}}"
BLOCK_S = 1.5
QUICK = {"health.every": "100ms", "health.timeout": "200ms"}  # three health checks in a row fail within BLOCK_S


class BlockingApp(StartedCase):
    def open(self):
        """Starts a gate with one lane. Sets its pid, and the folder where the app notes each job."""
        gate = self.up(APP, "--slots", "2", pool=QUICK)
        self.pid = gate.lane(0)["pid"]
        self.notes = self.folder_for("notes")
        for name in ("began", "ended"):
            (self.notes / name).mkdir()
        self.go = self.notes / "go"  # the app blocks until it exists, and at least BLOCK_S
        self.go.touch()
        return gate

    def task(self):
        return {"for_s": BLOCK_S, "folder": str(self.notes), "until": str(self.go)}

    def noted(self, name):
        return len(list((self.notes / name).iterdir()))

    def leave(self, gate, number, is_there):
        """Sends a job that blocks the app, and leaves when `is_there`. It is the client with this number, from 1."""
        client = gate.connect()
        client.request("POST", "/block", json.dumps(self.task()).encode())
        wait_until(is_there, "the job is there")
        client.close()
        wait_until(lambda: gate.pool()["jobs"]["cancelled"] == number, "the gate knows that the client left")

    def assert_worker_lives(self, gate):
        """Waits until the app has done everything, and checks that nothing happened to it for its long silence."""
        def is_done():
            self.assertEqual((gate.lane(0)["pid"], gate.lane(0)["restarts"]), (self.pid, 0))
            return self.noted("began") == self.noted("ended") > 0 and gate.lane(0)["state"] == "ready"
        wait_until(is_done, "the app is done")
        answer = gate.post({})
        self.assertEqual((answer.status, answer.json()["pid"], answer.header("turnpike-attempt")), (200, self.pid, "1"))
        self.assertEqual(self.crashes(gate), [])

    def test_ten_leavers_end_no_worker(self):
        gate = self.open()
        for number in range(1, 11):
            self.leave(gate, number, lambda: gate.live_jobs())
        self.assert_worker_lives(gate)

    def test_leavers_whose_jobs_run_one_after_the_other_end_no_worker(self):
        gate = self.open()
        for number in range(1, 5):
            self.leave(gate, number, lambda: self.noted("began") >= number)
        self.assert_worker_lives(gate)

    def test_deadlines_that_pass_end_no_worker(self):
        gate = self.open()
        answers = [self.in_thread(gate.post, self.task(), "/block", [("Turnpike-Timeout", "300ms")]) for _ in range(4)]
        for answer in answers:
            self.assert_problem(answer.result(), 504, "deadline-passed")
        self.assert_worker_lives(gate)

    def test_the_lane_is_busy_until_the_app_answers_again(self):
        gate = self.open()
        self.go.unlink()
        self.leave(gate, 1, lambda: self.noted("began") == 1)
        self.assertEqual(gate.lane(0)["state"], "busy")
        self.go.touch()
        gate.wait_lane(0, "ready")
        self.assertEqual(self.noted("ended"), 1)


class BegunAnswers(StartedCase):
    def test_a_stream_whose_client_leaves_is_closed_under_every_policy(self):
        for cancel in ("finish", "close"):
            gate = self.up(APP, pool={"cancel": cancel})
            pid = gate.lane(0)["pid"]
            closed = self.folder_for("stream") / "closed"
            client = gate.connect().request("POST", "/stream", json.dumps({"closed": str(closed)}).encode())
            client.head()
            self.assertEqual(client.chunk()[:5], b"tick\n")
            client.close()
            wait_until(closed.exists, f"the worker sees that its connection is closed (cancel = {cancel})")
            self.assertEqual(gate.post({}).json()["pid"], pid)
            gate.wait_lane(0, "ready")
            self.assertEqual(gate.lane(0)["restarts"], 0)


if __name__ == "__main__":
    unittest.main()
