"""Tests many reloads under steady load: every fifth save is bad, workers are killed meanwhile, and no request fails.

TURNPIKE_TEST_RELOADS sets the number of reloads. If it is set, the figures are printed.
"""
import itertools
import os
import signal
import time
import unittest

from native_case import children_of, wait_until
from reload_case import Load, ReloadCase

LANES = 2
RELOADS = int(os.environ.get("TURNPIKE_TEST_RELOADS", "15"))
BAD = itertools.cycle(("a syntax error", "a failing load", "a wrong answer", "a failing example"))


class ManyReloads(ReloadCase):
    def spoil(self, what):
        if what == "a syntax error":
            self.write("model.py", "import turnpike\n\ndef predict(:\n")
        elif what == "a failing load":
            self.save("bad", load="raise OSError('no weights')")
        elif what == "a wrong answer":
            self.save("bad", predict="pass\n    def check(self, answer):\n        return False\n    def predict(self, task):")
        else:
            self.save("bad", predict="raise ValueError('no layer')")

    def assert_reload_fails(self, gate, what):
        """Checks that a bad save changes nothing, also for a worker that is killed right after it."""
        before = self.versions(gate)
        self.spoil(what)
        done = self.command("reload", "--name", gate.name)
        self.assertEqual(done.returncode, 1, f"{what}: {done}")
        self.assertEqual(self.reload_of(gate)["state"], "abandoned")
        pid = gate.lane(1)["pid"]
        os.kill(pid, signal.SIGKILL)
        wait_until(lambda: gate.lane(1)["pid"] not in (None, pid) and gate.lane(1)["state"] in ("ready", "busy"), "lane 1 is back")
        self.assertEqual(self.versions(gate), before, what)

    def processes_of(self, gate):
        """Counts the gate's children and their children: guards, workers and the warm process. Zombies count, too."""
        children = children_of(gate.process.pid)
        return len(children) + sum(len(children_of(child)) for child in children)

    def assert_all_good(self, load):
        load.end()
        self.assertEqual(load.bad, [])
        self.assertEqual({version for version in load.versions if not version.startswith("good")}, set())

    def test_leave_no_request_behind(self):
        gate = self.serve(self.project("good 0"), pool={"lanes": LANES, "crash_limit": 16, "crash_window": "1s"})
        warm_log = self.state_folder(gate) / "lanes" / "warm.log"
        wait_until(lambda: warm_log.exists() and self.processes_of(gate) == 2 * LANES + 1, "workers, guards and the warm process run")
        descriptors, begin = self.descriptors(gate), time.monotonic()
        load = Load(gate, clients=3, pause_s=0.002)
        self.addCleanup(load.end)
        bad = 0
        for number in range(1, RELOADS + 1):
            if number % 5 == 3:
                bad += 1
                self.assert_reload_fails(gate, next(BAD))
                continue
            self.save(f"good {number}")
            self.order(gate, "reload")
            self.assertEqual(self.versions(gate), [(f"good {number}", "one")] * LANES)
        self.assert_all_good(load)
        self.assertGreater(len(load.versions), RELOADS)
        wait_until(lambda: self.processes_of(gate) == 2 * LANES + 1, "no process is left over")
        wait_until(lambda: self.descriptors(gate) <= descriptors, "no descriptor is left over")
        if "TURNPIKE_TEST_RELOADS" in os.environ:
            print(f"{RELOADS} reloads, {bad} of them bad and each followed by kill -9 of a worker, in {time.monotonic() - begin:.1f} s: "
                  f"{len(load.versions)} requests, {len(load.bad)} failed, the longest took {load.longest_s * 1000:.0f} ms")

    def test_outlive_their_warm_process_whenever_it_dies(self):
        gate = self.serve(self.project("good 0"), pool={"lanes": LANES})
        warm_log = self.state_folder(gate) / "lanes" / "warm.log"
        wait_until(lambda: warm_log.exists(), "there is a warm process")
        load = Load(gate, clients=3, pause_s=0.002)
        self.addCleanup(load.end)
        for number in range(1, 5):
            was_ready = warm_log.read_text().count("modules imported")
            pid = wait_until(lambda: self.warm_pid(gate), "there is a warm process")
            self.save(f"good {number}")
            asked = gate.ask("POST", "/-/pools/default/reload").json()
            time.sleep(number * 0.003)  # so that the warm process dies at a different moment each time
            os.kill(pid, signal.SIGKILL)
            self.wait_reload(gate, asked["generation"], "done")
            self.assertEqual(self.versions(gate), [(f"good {number}", "one")] * LANES)
            wait_until(lambda: warm_log.read_text().count("modules imported") > was_ready, "another warm process is ready")
        self.assert_all_good(load)
        self.assertEqual([lane["restarts"] for lane in gate.status()["lanes"]], [0] * LANES)


if __name__ == "__main__":
    unittest.main()
