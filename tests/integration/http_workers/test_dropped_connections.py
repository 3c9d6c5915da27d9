"""Tests workers that drop kept-alive connections: a job whose request went down with such a connection is sent once more and
nobody is charged; with `retry = false` no request reaches a worker twice."""
import collections
import json
import unittest

from harness import wait_until
from started_case import StartedCase


class Dropped(StartedCase):
    def open(self, drop, **pool):
        self.notes = self.folder_for("notes") / "notes"
        command = self.worker_command(f"drop={drop}", f"note={self.notes}")
        return self.up(command, pool={"lanes": 2, "crash_limit": 1, **pool})

    def times_seen(self):
        """Returns how often a worker got each job."""
        return collections.Counter(json.loads(line)["number"] for line in self.notes.read_text().splitlines())

    def ask(self, gate, number):
        answer = gate.post({"number": number}, headers=[("Turnpike-Lane", "0")])
        self.assertEqual(answer.status, 200, answer)
        return int(answer.header("turnpike-attempt"))

    def assert_nobody_is_charged(self, gate):
        gate.wait_ready()
        for lane in gate.status()["lanes"]:
            self.assertEqual((lane["state"], lane["restarts"], lane["failed"]), ("ready", 0, 0), lane)
        self.assertEqual(self.crashes(gate), [])

    def test_a_request_that_went_down_with_its_connection_is_sent_once_more(self):
        gate = self.open("asked")
        attempts = []

        def was_dropped():
            attempts.append(self.ask(gate, len(attempts)))
            return attempts.count(2) >= 5
        wait_until(was_dropped, "five requests are dropped")
        self.assertEqual(dict(enumerate(attempts)), dict(self.times_seen()))
        self.assertLessEqual(max(attempts), 2)
        self.assert_nobody_is_charged(gate)

    def test_many_at_once(self):
        gate = self.open("asked")
        for _ in range(3):
            jobs = [self.in_thread(gate.post, {"number": number}) for number in range(20)]
            for job in jobs:
                self.assertEqual(job.result().status, 200, job.result())
        self.assert_nobody_is_charged(gate)

    def test_a_connection_that_is_closed_after_each_answer_costs_nothing(self):
        for retry in (True, False):
            gate = self.open("answered", retry=retry)
            for number in range(20):
                self.ask(gate, number)
            self.assert_nobody_is_charged(gate)

    def test_without_retries_each_request_reaches_a_worker_once(self):
        gate = self.open("asked", retry=False)
        for number in range(20):
            self.assertEqual(self.ask(gate, number), 1)
        self.assertEqual(self.times_seen(), collections.Counter(range(20)))
        self.assert_nobody_is_charged(gate)

    def test_without_retries_a_request_that_dies_with_its_worker_is_not_sent_again(self):
        gate = self.open("asked", retry=False, crash_limit=16)
        for number in range(4):
            self.assert_problem(gate.post({"number": number, "code": 9}, "/die"), 502, "worker-died")
        self.assertEqual(self.times_seen(), collections.Counter(range(4)))


if __name__ == "__main__":
    unittest.main()
