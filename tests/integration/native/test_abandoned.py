"""Tests jobs that nobody waits for any more: a worker that goes on with them does not keep its lane, and the lane is not
charged for it."""
import unittest

from native_case import NativeCase, body_of, wait_until

MODEL = '''
class Busy(turnpike.Model):
    slots = {slots}

    def predict(self, task):
        return getattr(self, "do_" + task.get("do", "echo"))(task)

    def do_echo(self, task):
        return {{"pid": os.getpid(), "lane": os.environ["TURNPIKE_LANE"], "attempt": turnpike.job().attempt}}

    def do_wait(self, task):
        return wait(task)

    def do_loop(self, task):
        write_file(task["started"], turnpike.job().id)
        while True:
            pass

    def do_stream(self, task):
        try:
            while True:
                yield "tick\\n"
                time.sleep(0.002)
        finally:
            write_file(task["closed"])
'''
QUICK = {"abandon_after": "200ms", "cancel_grace": "100ms"}


class Abandoned(NativeCase):
    def open(self, slots=1, **pool):
        return self.serve(self.model(MODEL.format(slots=slots)), pool=pool)

    def begin_loop(self, gate, lane=0):
        """Starts a job that never ends. Returns its client."""
        started = self.folder_for("loop") / "started"
        client = gate.connect()
        client.request("POST", "/predict", body_of({"do": "loop", "started": str(started)}),
                       [("Turnpike-Lane", str(lane))])
        wait_until(started.exists, "the job is aboard")
        return client

    def wait_replaced(self, gate, lane, pid):
        """Waits until the lane serves with another worker, and checks that the lane was not charged. (With
        `crash_limit = 1` one charge is enough to fail it.)"""
        found = self.wait_lane_where(gate, lane, lambda it: it["state"] == "ready" and it["pid"] != pid,
                                     f"lane {lane} is back")
        self.assertEqual((found["restarts"], found["trouble"]), (1, None))
        [report] = wait_until(lambda: [it for it in self.crashes(gate) if it["pid"] == pid], "there is a report")
        self.assertEqual(report["why"], "job_abandoned")
        self.assertNotIn("has failed", gate.process.output())
        answer = gate.post({}, headers=[("Turnpike-Lane", str(lane))])
        self.assertEqual((answer.status, answer.json()["attempt"]), (200, 1))

    def test_an_endless_loop_whose_client_left_is_ended(self):
        gate = self.open(lanes=2, crash_limit=1, **QUICK)
        pid = gate.lane(0)["pid"]
        self.begin_loop(gate).close()
        self.wait_replaced(gate, 0, pid)
        self.assertEqual(gate.lane(1)["restarts"], 0)

    def test_a_waiting_job_gets_the_only_lane(self):
        gate = self.open(**QUICK)
        pid = gate.lane(0)["pid"]
        client = self.begin_loop(gate)
        waiting = self.in_thread(gate.post, {})
        gate.wait_queued(1)
        client.close()
        self.assertEqual((waiting.result().status, waiting.result().json()["attempt"]), (200, 1))
        self.wait_replaced(gate, 0, pid)

    def test_a_cancelled_job_counts_as_abandoned_too(self):
        gate = self.open(lanes=2, crash_limit=1, **QUICK)
        pid = gate.lane(0)["pid"]
        client = self.begin_loop(gate)
        [job] = gate.live_jobs()
        self.assertEqual(gate.ask("DELETE", f"/-/jobs/{job['id']}").status, 202)
        self.assert_problem(client.answer(), 409, "cancelled")
        self.wait_replaced(gate, 0, pid)

    def test_by_default_its_usual_time_and_its_start_bound_it(self):
        gate = self.open(lanes=2, crash_limit=1, cancel_grace="100ms")
        for _ in range(20):  # so that the usual time is known
            self.assertEqual(gate.post({}).status, 200)
        pid = gate.lane(0)["pid"]
        self.begin_loop(gate).close()
        self.wait_replaced(gate, 0, pid)

    def test_before_any_answer_it_has_thirty_seconds(self):
        gate = self.open(lanes=2, crash_limit=1, cancel_grace="100ms")
        pid = gate.lane(0)["pid"]
        self.begin_loop(gate).close()
        wait_until(lambda: gate.lane(0)["restarts"] == 1, "lane 0 restarts", deadline_s=90)
        self.wait_replaced(gate, 0, pid)

    def test_a_worker_with_a_job_that_is_waited_for_goes_on(self):
        gate = self.open(slots=2, lanes=2, crash_limit=1, **QUICK)
        pids = [gate.lane(0)["pid"], gate.lane(1)["pid"]]
        awaited, go = self.begin_job(gate, headers=[("Turnpike-Lane", "0")])
        self.begin_loop(gate, 0).close()
        wait_until(lambda: gate.pool()["jobs"]["cancelled"] == 1, "the gate knows that the client left")
        self.begin_loop(gate, 1).close()  # abandoned later than the loop on lane 0, so its end says that time has passed
        self.wait_replaced(gate, 1, pids[1])
        self.assertEqual((gate.lane(0)["pid"], gate.lane(0)["restarts"]), (pids[0], 0))
        go.touch()
        self.assertEqual((awaited.result().status, awaited.result().json()["attempt"]), (200, 1))
        self.wait_replaced(gate, 0, pids[0])


class BegunAnswers(NativeCase):
    def test_a_stream_whose_client_leaves_is_closed_under_every_policy(self):
        for cancel in ("finish", "close"):
            gate = self.serve(self.model(MODEL.format(slots=1)), pool={"cancel": cancel})
            pid = gate.lane(0)["pid"]
            closed = self.folder_for("stream") / "closed"
            client = gate.connect().request("POST", "/predict", body_of({"do": "stream", "closed": str(closed)}))
            client.head()
            self.assertEqual(client.chunk()[:5], b"tick\n")
            client.close()
            wait_until(closed.exists, f"the model's generator is closed (cancel = {cancel})")
            self.assertEqual(gate.post({}).json()["pid"], pid)
            self.assertEqual(gate.lane(0)["restarts"], 0)


if __name__ == "__main__":
    unittest.main()
