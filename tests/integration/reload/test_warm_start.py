"""Tests warm starts: a worker is forked from a process that has already imported the model's modules."""
import os
import signal
import unittest

from native_case import children_of, command_of, parent_of, wait_until
from warm_case import BESIDE, WarmCase

class Starts(WarmCase):
    def test_a_forked_worker_finds_everything_as_after_a_cold_start(self):
        gate = self.serve(self.path, pool={"lanes": 2})
        cold = self.facts(gate)
        cold_env = self.answer(gate, "env")
        self.assertFalse(gate.lane(0)["start"]["warm"])
        self.wait_warm(gate)
        self.restart(gate)
        self.assertTrue(gate.lane(0)["start"]["warm"])
        warm = self.facts(gate)
        self.assertEqual(parent_of(warm["parent"]), gate.process.popen.pid, "the guard must be a child of the gate")
        self.assertIn(b"guard", command_of(warm["parent"]))
        for name in ("word", "file", "argv", "lane", "folder", "fds", "limit", "session", "ignored", "unbuffered"):
            self.assertEqual(warm[name], cold[name], name)
        self.assertNotEqual(warm["pid"], cold["pid"])
        self.maxDiff = None
        self.assertEqual(self.answer(gate, "env"), cold_env)

    def test_output_goes_to_the_log_of_its_own_lane(self):
        gate = self.serve(self.path, pool={"lanes": 2})
        self.wait_warm(gate)
        self.restart(gate, 1)
        self.answer(gate, "print", 1)
        self.wait_log(gate, "a line on stdout", 1)
        self.wait_log(gate, "a line on stderr", 1)
        self.assertNotIn("a line on", self.whole_log(gate, 0))
        self.assertIn("started warm", self.whole_log(gate, 1))

    def test_random_numbers_differ_between_lanes(self):
        gate = self.serve(self.path, pool={"lanes": 2})
        self.wait_warm(gate)
        for lane in (0, 1):
            self.restart(gate, lane)
        first, second = self.answer(gate, "random", 0), self.answer(gate, "random", 1)
        for name in ("numpy", "python"):
            self.assertNotEqual(first[name], second[name], name)

    def test_a_killed_worker_comes_back_warm_and_its_death_is_reported(self):
        gate = self.serve(self.path, pool={"lanes": 1, "retry": False})
        self.wait_warm(gate)
        self.restart(gate)
        answer = gate.post({"do": "die"})
        self.assert_problem(answer, 502, "worker-died")
        self.assertIn("SIGKILL", answer.json()["detail"])
        wait_until(lambda: gate.lane(0)["state"] == "ready", "the lane has restarted")
        self.assertTrue(gate.lane(0)["start"]["warm"])

    def test_the_warm_process_stays_the_same_over_warm_and_cold_starts(self):
        """Warm and cold workers report different modules, because the warm process needs some itself. This must not make the
        gate replace the warm process."""
        path = self.model("def predict(x): return 1\nexample = 1\n", "plain.py")
        gate = self.serve(path, pool={"lanes": 2})
        warm = self.wait_warm(gate)
        for lane in (0, 1, 0):
            self.restart(gate, lane)
            self.assertTrue(gate.lane(lane)["start"]["warm"])
        self.assertEqual(self.warm_log(gate).count("modules imported"), 1)
        os.kill(warm, signal.SIGKILL)
        self.restart(gate)
        self.wait_warm(gate, warm)
        self.restart(gate)
        self.assertTrue(gate.lane(0)["start"]["warm"])
        self.assertEqual(self.warm_log(gate).count("modules imported"), 2)

    def test_many_restarts_leave_nothing_behind(self):
        gate = self.serve(self.path, pool={"lanes": 1})
        warm = self.wait_warm(gate)
        self.restart(gate)
        count = len(os.listdir(f"/proc/{warm}/fd")), self.descriptors(gate)
        for _ in range(int(os.environ.get("TURNPIKE_TEST_FORKS", "20"))):
            self.restart(gate)
            self.assertTrue(gate.lane(0)["start"]["warm"])
        wait_until(lambda: (len(os.listdir(f"/proc/{warm}/fd")), self.descriptors(gate)) == count, "all descriptors are closed")
        wait_until(lambda: not [pid for pid in children_of(warm) + children_of(gate.process.popen.pid) if command_of(pid) == b""],
                   "no zombie is left")
        self.assertEqual(len(children_of(gate.process.popen.pid)), 2, "only the guard and the warm process are left")


class Trouble(WarmCase):
    def test_the_death_of_the_warm_process_costs_a_cold_start_and_nothing_else(self):
        gate = self.serve(self.path, pool={"lanes": 2})
        warm = self.wait_warm(gate)
        self.restart(gate, 0)
        pids = [gate.lane(lane)["pid"] for lane in (0, 1)]
        os.kill(warm, signal.SIGKILL)
        self.assertEqual(self.facts(gate, 0)["pid"], pids[0])
        self.restart(gate, 1)
        self.assertFalse(gate.lane(1)["start"]["warm"])
        self.assertEqual(gate.lane(0)["pid"], pids[0])
        self.wait_warm(gate, warm)
        self.restart(gate, 1)
        self.assertTrue(gate.lane(1)["start"]["warm"])

    def test_if_the_warm_process_hangs_the_start_is_cold(self):
        gate = self.serve(self.path, pool={"lanes": 1})
        warm = self.wait_warm(gate)
        os.kill(warm, signal.SIGSTOP)
        self.restart(gate)
        self.assertFalse(gate.lane(0)["start"]["warm"])
        self.assert_gone(warm)
        self.wait_log(gate, "did not fork in time")

    def test_an_installed_package_that_changed_is_imported_anew(self):
        packages = self.folder_for("prefix") / "site-packages"
        packages.mkdir()
        (packages / "installed.py").write_text("VERSION = 1\n")
        path = self.model("import installed\ndef predict(x): return {'version': installed.VERSION}\nexample = 1\n", "other.py")
        gate = self.serve(path, pool={"lanes": 1, "env.PYTHONPATH": str(packages)})
        warm = self.wait_warm(gate)
        (packages / "installed.py").write_text("VERSION = 12\n")
        self.restart(gate)
        self.assertEqual(gate.post(1).json(), {"version": 12})
        self.wait_log(gate, "has changed since it was imported")
        self.wait_warm(gate, warm)
        self.restart(gate)
        self.assertTrue(gate.lane(0)["start"]["warm"])
        self.assertEqual(gate.post(1).json(), {"version": 12})

    def test_a_thread_started_by_an_import_forbids_forking_and_is_named(self):
        packages = self.folder_for("prefix") / "site-packages"
        packages.mkdir()
        (packages / "busy.py").write_text("import threading, time\n"
                                          "threading.Thread(target=time.sleep, args=(1e6,), name='busybody', daemon=True).start()\n")
        path = self.model("import busy\ndef predict(x): return 1\nexample = 1\n", "other.py")
        gate = self.serve(path, pool={"lanes": 1, "env.PYTHONPATH": str(packages)})
        wait_until(lambda: "busybody" in self.warm_log(gate), "warm.log gives the reason")
        self.restart(gate)
        self.assertFalse(gate.lane(0)["start"]["warm"])
        self.wait_log(gate, "busybody")

    def test_a_warm_process_whose_import_never_ends_is_reported_once_and_killed(self):
        packages = self.folder_for("prefix") / "site-packages"
        packages.mkdir()
        (packages / "waiting.py").write_text("import sys, time\nwhile sys.argv[1:2] == ['--warm']: time.sleep(1)\n")
        path = self.model("import waiting\ndef predict(x): return 1\nexample = 1\n", "other.py")
        gate = self.serve(path, pool={"lanes": 1, "load_timeout": "6s", "env.PYTHONPATH": str(packages)})
        message = "pool default: its warm process still imports waiting after 3s; starts are cold until it is ready"
        wait_until(lambda: message in gate.process.output(), "`up` reports it")
        warm = self.warm_pid(gate)
        self.restart(gate)
        self.assertFalse(gate.lane(0)["start"]["warm"])
        self.wait_log(gate, "a cold start: the warm process ")  # the message goes on: "still imports", or that it was ended meanwhile
        wait_until(lambda: "it was ended: it still imported waiting after 6s" in self.warm_log(gate), "warm.log says that the process was ended")
        self.assert_gone(warm)
        self.restart(gate)
        self.wait_log(gate, "a cold start: the warm process was ended: it still imported waiting after 6s")
        self.assertIsNone(self.warm_pid(gate), "there must be no other warm process")
        self.assertEqual(gate.process.output().count(message), 1)

    def test_warm_process_and_workers_die_with_the_gate(self):
        gate = self.serve(self.path, pool={"lanes": 2})
        warm = self.wait_warm(gate)
        for lane in (0, 1):
            self.restart(gate, lane)
        pids = [gate.lane(lane)["pid"] for lane in (0, 1)]
        guards = [parent_of(pid) for pid in pids]
        gate.process.kill()
        self.assert_gone(warm, *pids, *guards)

    def test_a_guard_that_is_killed_takes_its_warm_worker_along(self):
        gate = self.serve(self.path, pool={"lanes": 1})
        self.wait_warm(gate)
        self.restart(gate)
        pid = gate.lane(0)["pid"]
        os.kill(parent_of(pid), signal.SIGKILL)
        self.assert_gone(pid)
        wait_until(lambda: gate.lane(0)["state"] == "ready" and gate.lane(0)["pid"] != pid, "there is a new worker")


class Sources(WarmCase):
    def test_a_restart_runs_the_code_that_was_loaded_first(self):
        gate = self.serve(self.path, pool={"lanes": 1})
        self.wait_warm(gate)
        self.beside.write_text('WORD = "second"\n')
        self.path.write_text("this is no Python\n")
        for _ in ("warm", "warm again"):
            self.restart(gate)
            self.assertEqual(self.facts(gate)["word"], "first")
        self.beside.unlink()
        self.path.unlink()
        os.kill(self.warm_pid(gate), signal.SIGKILL)
        self.restart(gate)
        self.assertEqual(self.facts(gate)["word"], "first")
        self.assertEqual(self.facts(gate)["file"], str(self.beside))

    def test_another_gate_of_the_same_name_runs_the_files_as_they_are(self):
        gate = self.serve(self.path, pool={"lanes": 1})
        self.assertEqual(self.facts(gate)["word"], "first")
        self.stop(gate)
        self.beside.write_text('WORD = "second"\n')
        gate = self.serve(self.path, "--name", gate.name, pool={"lanes": 1})
        self.assertEqual(self.facts(gate)["word"], "second")

    def test_tracebacks_show_the_lines_that_run(self):
        gate = self.serve(self.path, pool={"lanes": 1})
        self.beside.write_text("# a new first line\n" * 3 + BESIDE.replace("# first", "# second"))
        self.assert_problem(gate.post({"do": "raise"}), 500, "model-failed")
        self.wait_log(gate, "# first")
        self.assertNotIn("# second", self.whole_log(gate))

    def test_after_a_typo_at_the_first_start_it_is_enough_to_fix_the_file(self):
        self.beside.write_text("WORD = \n")
        gate = self.serve(self.path, is_ready=False, pool={"lanes": 1})
        wait_until(lambda: "SyntaxError" in self.whole_log(gate), "the error is in the log")
        self.beside.write_text(BESIDE)
        gate.wait_ready()
        self.assertEqual(self.facts(gate)["word"], "first")


if __name__ == "__main__":
    unittest.main()
