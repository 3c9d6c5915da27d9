"""Tests orders to lanes whose workers Turnpike started: restart, drain, resume and stacks; and that doctor knows them."""
import json
import shutil
import unittest

from harness import wait_until
from started_case import WORKER, StartedCase, is_alive


class Orders(StartedCase):
    def pids(self, gate):
        return [lane["pid"] for lane in gate.status()["lanes"]]

    def wait_anew(self, gate, lanes, before):
        """Waits until these lanes have new processes. The other lanes must have the same processes as before."""
        def are_anew():
            found = gate.status()["lanes"]
            changed = [lane["lane"] for lane in found if lane["pid"] != before[lane["lane"]]]
            return changed == lanes and {lane["state"] for lane in found} == {"ready"}
        wait_until(are_anew, f"lanes {lanes} have new processes")
        for lane in lanes:
            wait_until(lambda: not is_alive(before[lane]), "the old process is gone")

    def test_restart_of_a_lane_a_pool_and_all(self):
        gate = self.up(sections={"pool.b": {"worker": WORKER, "gpus": "none", "lanes": 2}},
                       pool={"lanes": 1, "default": True})
        for words, lanes in (("2", [2]), ("b", [1, 2]), ("all", [0, 1, 2])):
            before = self.pids(gate)
            self.order(gate, "restart", words)
            self.wait_anew(gate, lanes, before)
        self.assertEqual([lane["restarts"] for lane in gate.status()["lanes"]], [1, 2, 3])
        self.assertEqual({lane["trouble"] for lane in gate.status()["lanes"]}, {None})

    def test_a_restart_waits_for_the_job_and_a_second_one_does_not(self):
        gate = self.up()
        pid = gate.lane(0)["pid"]
        future, go = self.begin_job(gate)
        self.order(gate, "restart", "0")
        gate.wait_lane(0, "draining")
        self.assertTrue(is_alive(pid))
        go.touch()
        self.assertEqual(future.result().json()["pid"], pid)
        self.wait_anew(gate, [0], [pid])
        [pid] = self.pids(gate)
        future, go = self.begin_job(gate)
        self.order(gate, "restart", "0")
        gate.wait_lane(0, "draining")
        self.order(gate, "restart", "0")
        wait_until(lambda: not is_alive(pid), "the worker is ended at once")
        go.touch()
        answer = future.result()  # the job is run again on the new worker
        self.assertEqual((answer.status, answer.header("turnpike-attempt")), (200, "2"))

    def test_a_restart_while_it_loads(self):
        go = self.folder_for("go") / "go"
        gate = self.up(self.worker_command(f"until={go}"), is_ready=False)
        lane = self.wait_lane_where(gate, 0, lambda lane: lane["pid"], "the worker is loading")
        self.order(gate, "restart", "0")
        self.wait_lane_where(gate, 0, lambda found: found["pid"] not in (None, lane["pid"]), "anew")
        go.touch()
        gate.wait_ready()

    def test_a_drained_lane_has_no_process_until_it_is_resumed(self):
        gate = self.up(pool={"lanes": 2})
        pid = gate.lane(0)["pid"]
        future, go = self.begin_job(gate, headers=[("Turnpike-Lane", "0")])
        self.order(gate, "drain", "0")
        gate.wait_lane(0, "draining")
        self.assertTrue(is_alive(pid))
        go.touch()
        self.assertEqual(future.result().status, 200)
        lane = self.wait_lane_where(gate, 0, lambda lane: lane["state"] == "drained" and
                                    lane["pid"] is None, "the lane is drained")
        self.assertEqual(lane["reason"], "drain_asked")
        wait_until(lambda: not is_alive(pid), "the worker is gone")
        self.assertEqual({gate.post({}).header("turnpike-lane") for _ in range(4)}, {"1"})
        self.order(gate, "resume", "0")
        gate.wait_ready()
        self.assertEqual(self.facts(gate, 0)["env"]["TURNPIKE_LANE"], "0")
        self.assertEqual(gate.ask("GET", "/-/crashes").json()["crashes"], [])

    def test_draining_everything_refuses_jobs_until_one_is_back(self):
        gate = self.up()
        self.order(gate, "drain", "0")
        gate.wait_lane(0, "drained")
        self.assert_problem(gate.post({}), 503, "no-lane")
        self.order(gate, "restart", "0")
        gate.wait_ready()
        self.assertEqual(gate.post({}).status, 200)


class Stacks(StartedCase):
    def path_with(self, script):
        folder = self.folder_for("bin")
        (folder / "py-spy").write_text(script)
        (folder / "py-spy").chmod(0o755)
        self.env = {**type(self).env, "PATH": f"{folder}:/usr/bin:/bin"}

    def test_without_py_spy_it_says_so(self):
        folder = self.folder_for("almost-empty")
        (folder / "setpriv").symlink_to(shutil.which("setpriv"))  # the harness needs it
        self.env = {**type(self).env, "PATH": str(folder)}
        gate = self.up()
        self.assert_problem(gate.ask("POST", "/-/lanes/0/stacks"), 409, "no-stacks")
        self.assertIn("py-spy is not installed", self.order(gate, "stacks", "0", code=1))

    def test_with_a_py_spy_that_is_a_fake(self):
        self.path_with("#!/bin/sh\necho \"I am a fake py-spy, asked for: $*\"\n"
                       "echo '    predict (model.py:12)' >&2\n")
        gate = self.up(pool={"lanes": 2})
        pid = gate.lane(1)["pid"]
        text = self.order(gate, "stacks", "1")
        self.assertIn(f"I am a fake py-spy, asked for: dump --pid {pid}\n", text)
        self.assertIn("    predict (model.py:12)\n", text)
        self.assertIn("fake py-spy", str([line for line in self.log(gate, 1)
                                          if line["stream"] == "stacks"]))
        self.assertNotIn("fake", str(self.log(gate, 0)))
        self.assertEqual(gate.post({}).status, 200)

    def test_a_py_spy_that_fails_harms_nobody(self):
        self.path_with("#!/bin/sh\necho Permission denied >&2; exit 1\n")
        gate = self.up()
        self.assertIn("Permission denied", self.order(gate, "stacks", "0"))
        self.assertEqual(gate.lane(0)["state"], "ready")

    def test_a_lane_without_a_python_process(self):
        self.path_with("#!/bin/sh\n")
        gate = self.up("sleep 600; # {port}", is_ready=False)
        self.wait_lane_where(gate, 0, lambda lane: lane["pid"], "the worker runs")
        self.assertIn("no Python process", self.order(gate, "stacks", "0", code=1))
        self.order(gate, "drain", "0")
        gate.wait_lane(0, "drained")
        wait_until(lambda: "is not running" in
                   str(gate.ask("POST", "/-/lanes/0/stacks").json().get("detail")), "no worker runs")


class DoctorBesideAGate(StartedCase):
    def test_workers_of_a_gate_that_runs_are_no_leftovers(self):
        gate = self.up(pool={"lanes": 2})
        done = self.command("doctor", "--json")
        self.assertIn(done.returncode, (0, 1), done)
        page = json.loads(done.stdout)
        wrong = [finding for finding in page["findings"]
                 if finding["mark"] != "ok" and "left" in finding["what"]]
        self.assertEqual(wrong, [])
        for lane in gate.status()["lanes"]:
            self.assertTrue(is_alive(lane["pid"]))


if __name__ == "__main__":
    unittest.main()
