"""examples/image behind the real gate: progress while it draws, a PNG, and a loop that stops when the client leaves."""
import json
import unittest

from harness import PYTHON, wait_until
from native_case import SharedGate
from png_reader import read_png
from torch_data import IMAGE

LONG = {"digit": 8, "steps": 1000, "count": 64}  # over a minute on a CPU; no test waits for its end


class Gate(SharedGate):
    def open(self):
        return self.start(str(IMAGE), "--gpus", "none", "--lanes", "2", "--python", PYTHON).wait_ready()

    def begin_long(self):
        """Returns a connection whose job is running, and the job's id."""
        client = self.gate.connect()
        client.request("POST", "/predict", json.dumps(LONG).encode())
        [job] = wait_until(lambda: [job for job in self.gate.live_jobs() if job["state"] == "running"], "it runs")
        return client, job["id"]

    def progress_of(self, job):
        return self.gate.ask("GET", f"/-/jobs/{job}").json().get("progress") or {"fraction": 0, "text": ""}

    def wait_drawing(self, job, beyond=0.0):
        return wait_until(lambda: (now := self.progress_of(job))["fraction"] > beyond and now, "it draws")

    def assert_all_free_and_well(self, pids):
        wait_until(lambda: {lane["state"] for lane in self.gate.status()["lanes"]} == {"ready"}, "its lane is free")
        self.assertEqual([lane["pid"] for lane in self.gate.status()["lanes"]], pids, "no worker was ended for it")
        for lane in range(2):
            answer = self.gate.post({"digit": 1, "count": 1, "steps": 2}, headers=[("Turnpike-Lane", str(lane))])
            self.assertEqual(answer.status, 200, answer)

    def pids(self):
        return [lane["pid"] for lane in self.gate.status()["lanes"]]

    def test_every_lane_has_proved_itself(self):
        self.assertEqual(self.gate.pool()["proof"], "passed")

    def test_both_lanes_draw_the_same_picture_for_a_seed(self):
        parameters = {"digit": 5, "count": 4, "steps": 5, "seed": 11, "size": 32}
        answers = [self.gate.post(parameters, headers=[("Turnpike-Lane", str(lane))]) for lane in range(2)]
        self.assertEqual([answer.header("turnpike-lane") for answer in answers], ["0", "1"])
        self.assertEqual({answer.header("content-type") for answer in answers}, {"image/png"})
        pictures = [read_png(answer.body) for answer in answers]
        self.assertEqual((len(pictures[0]), len(pictures[0][0])), (64, 64))
        self.assertEqual(*pictures)

    def test_bad_parameters_are_answered_in_words(self):
        answer = self.gate.post({"digit": 12})
        self.assert_problem(answer, 400, "bad-input")
        self.assertEqual(answer.json()["detail"], "digit must be a whole number from 0 to 9.")

    def test_progress_is_seen_and_a_cancel_by_id_stops_the_loop(self):
        pids = self.pids()
        client, job = self.begin_long()
        first = self.wait_drawing(job)
        self.assertRegex(first["text"], r"^step \d+/1000$")
        later = self.wait_drawing(job, beyond=first["fraction"])
        self.assertAlmostEqual(later["fraction"], int(later["text"][5:].split("/")[0]) / 1000, places=6)
        self.assertEqual(self.gate.ask("DELETE", f"/-/jobs/{job}").status, 202)
        self.assert_problem(client.answer("POST"), 409, "cancelled")
        self.assert_all_free_and_well(pids)

    def test_a_client_that_leaves_stops_the_loop(self):
        pids = self.pids()
        client, job = self.begin_long()
        self.wait_drawing(job)
        client.close()
        self.assert_all_free_and_well(pids)
        ended = wait_until(lambda: [one for one in self.gate.ended_jobs() if one["id"] == job], "the job has ended")
        self.assertEqual(ended[0]["outcome"], "cancelled")


if __name__ == "__main__":
    unittest.main()
