"""Tests jobs that kill HTTP workers: no number of them takes a lane away, also if the worker's exit comes long after its
connections broke."""
import signal
import unittest

from harness import wait_until
from poison_case import DEFAULTS, POISONS, PoisonFlood, pids_of, restarts_of
from started_case import StartedCase


class Flood(StartedCase, PoisonFlood):
    def test_thirty_poisons_take_no_lane_away(self):
        gate = self.up(pool={**DEFAULTS, "lanes": 4})
        deaths = ({"signal": signal.SIGABRT}, {"signal": signal.SIGSEGV}, {"code": 9})
        poisons = [{**deaths[number % 3], "number": number} for number in range(POISONS)]
        self.assert_no_lane_is_lost(gate, "/die", poisons, {"spare": True})

    def test_a_known_poison_is_not_run_again(self):
        gate = self.up(pool={"lanes": 3, "crash_limit": 1})
        first = gate.post({"code": 9}, "/die?n=1")
        self.assert_problem(first, 502, "poison")
        self.assert_all_serve_again(gate)
        self.assertEqual(gate.post({}).status, 200)
        pids = pids_of(gate)
        again = gate.post({"code": 9}, "/die?n=1")
        self.assert_problem(again, 502, "known-poison")
        self.assertIn(first.header("turnpike-job"), again.json()["detail"])
        self.assertEqual(gate.post({"code": 9}, "/say?n=1").status, 200, "another target is another job")
        self.assertEqual((pids_of(gate), sum(restarts_of(gate))), (pids, 2))


class SlowDeaths(StartedCase, PoisonFlood):
    """The worker closes its connections and exits 600 ms later, like one whose core is dumped. The link waits 250 ms for
    the exit."""

    def assert_poisons(self, lanes, **task):
        gate = self.up(pool={"lanes": lanes, "crash_limit": 1, "retry": True})
        answer = gate.post({"code": 9, "last_s": 0.6, **task}, "/die")
        self.assert_problem(answer, 502, "poison")
        self.assertEqual(answer.header("turnpike-attempt"), "2")
        wait_until(lambda: sum(restarts_of(gate)) == 2, "both workers are replaced")
        self.assert_all_serve_again(gate)
        reports = wait_until(lambda: len(found := self.crashes(gate)) == 2 and found, "there is a report for each death")
        for report in reports:
            self.assertEqual([job["job"] for job in report["inputs"]], [answer.header("turnpike-job")])
        for lane in range(lanes):
            self.assertEqual(gate.post({}, headers=[("Turnpike-Lane", str(lane))]).status, 200)
        self.assert_never_failed(gate)

    def test_a_worker_that_still_listens(self):
        self.assert_poisons(3)

    def test_a_worker_that_listens_no_more(self):
        self.assert_poisons(3, deaf=True)

    def test_on_two_lanes(self):
        self.assert_poisons(2)

    def test_on_the_only_lane(self):
        self.assert_poisons(1)

    def test_many_of_them(self):
        gate = self.up(pool={"lanes": 4, "crash_limit": 1})
        jobs = [self.in_thread(gate.post, {"code": 9, "last_s": 0.6, "number": number, "deaf": number % 2 == 0}, "/die")
                for number in range(8)]
        for job in jobs:
            self.assert_problem(job.result(), 502, "poison")
        self.assertEqual(gate.post({}).status, 200)
        self.assert_all_serve_again(gate)


if __name__ == "__main__":
    unittest.main()
