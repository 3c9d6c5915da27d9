"""Tests lanes that fail: everybody is told when the next try is, a lane comes back by itself when the cause is gone, and the
last lane that served never fails by deaths."""
import os
import re
import signal
import unittest

from native_case import NativeCase, wait_until

MODEL = '''
class Fragile(turnpike.Model):
    def load(self, lane):
        if not os.path.exists({path!r}):
            raise RuntimeError("the weights are missing")

    def predict(self, task):
        return {{"pid": os.getpid(), "lane": os.environ["TURNPIKE_LANE"]}}
'''


class FragileCase(NativeCase):
    def open(self, weights=True, is_ready=True, **pool):
        """Starts a gate whose workers load only while the file `self.weights` exists."""
        self.weights = self.folder_for("weights") / "weights"
        if weights:
            self.weights.touch()
        return self.serve(self.model(MODEL.format(path=str(self.weights))), is_ready=is_ready,
                          pool={"crash_limit": 2, **pool})

    def kill(self, gate, lane):
        os.kill(gate.lane(lane)["pid"], signal.SIGKILL)

    def wait_restarts(self, gate, lane, count):
        return self.wait_lane_where(gate, lane, lambda it: it["restarts"] >= count, f"lane {lane} starts again")


class Revival(FragileCase):
    def test_everybody_is_told_when_the_next_try_is(self):
        gate = self.open(weights=False, is_ready=False, revive_every="1h")
        lane = gate.wait_lane(0, "failed")
        self.assertEqual(lane["reason"], "crashed_too_often")
        self.assertTrue(3000 < lane["next_try_s"] <= 3600, lane)
        answer = gate.post({})
        self.assert_problem(answer, 503, "no-lane")
        self.assertTrue(3000 < int(answer.header("retry-after")) <= 3600, answer)
        self.assertIn("next try in ", answer.json()["detail"])
        self.assertIn("next try in ", self.order(gate, "status"))
        wait_until(lambda: re.search("lane 0 has failed: .*, next try in (1 h|59 min)", gate.process.output()),
                   "`up` says when the next try is")

    def test_a_lane_comes_back_by_itself_when_the_cause_is_gone(self):
        gate = self.open(weights=False, is_ready=False, lanes=2, revive_every="1s")
        for lane in (0, 1):
            gate.wait_lane(lane, "failed")
            self.wait_restarts(gate, lane, 3)
            self.assertEqual(gate.lane(lane)["state"], "failed", "a lane that tries again still counts as failed")
        self.assert_problem(gate.post({}), 503, "no-lane")
        self.weights.touch()
        gate.wait_ready()
        for lane in (0, 1):
            self.assertNotIn("next_try_s", gate.lane(lane))
            self.assertEqual(gate.post({}, headers=[("Turnpike-Lane", str(lane))]).status, 200)

    def test_one_crash_soon_after_it_came_back_fails_it_again(self):
        gate = self.open(weights=False, is_ready=False, lanes=2, revive_every="3s")
        for lane in (0, 1):
            gate.wait_lane(lane, "failed")
        self.weights.touch()
        gate.wait_ready()
        self.kill(gate, 0)
        gate.wait_lane(0, "failed")
        gate.wait_ready()
        self.assertEqual(gate.post({}).status, 200)


class LastLane(FragileCase):
    def test_the_only_lane_that_served_never_fails(self):
        gate = self.open(revive_every="1h")
        for deaths in range(1, 6):
            self.kill(gate, 0)
            self.wait_lane_where(gate, 0, lambda it: it["restarts"] == deaths and it["state"] == "ready", "it is back")
        self.assertNotIn("has failed", gate.process.output())

    def test_jobs_wait_for_a_last_lane_that_cannot_load_for_now(self):
        gate = self.open(revive_every="1h")
        self.weights.unlink()
        self.kill(gate, 0)
        self.wait_restarts(gate, 0, 5)
        self.assertNotEqual(gate.lane(0)["state"], "failed")
        waiting = self.in_thread(gate.post, {})
        gate.wait_queued(1)
        self.wait_restarts(gate, 0, 7)
        self.weights.touch()
        self.assertEqual(waiting.result().status, 200)
        self.assertNotIn("has failed", gate.process.output())

    def test_of_several_lanes_only_the_last_one_stays(self):
        gate = self.open(lanes=3, revive_every="1h")
        self.weights.unlink()
        for lane in (0, 1):
            self.kill(gate, lane)
            gate.wait_lane(lane, "failed")
        self.kill(gate, 2)
        self.wait_restarts(gate, 2, 5)
        self.assertNotEqual(gate.lane(2)["state"], "failed")
        self.weights.touch()
        gate.wait_lane(2, "ready")
        self.assertEqual(gate.post({}).json()["lane"], "2")
        self.assertEqual([gate.lane(lane)["state"] for lane in (0, 1)], ["failed", "failed"])


if __name__ == "__main__":
    unittest.main()
