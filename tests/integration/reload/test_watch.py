"""Tests `up --watch`: saving a file is enough to reload the model."""
import unittest

from native_case import wait_until
from reload_case import Load, ReloadCase


class Watch(ReloadCase):
    def watch(self, **pool):
        gate = self.serve(self.project(), "--watch", pool={"lanes": 2, **pool})
        wait_until(lambda: "pool default: watches 2 files" in gate.process.output(),
                   "`up` says what it watches")
        return gate

    def wait_version(self, gate, *version):
        wait_until(lambda: self.versions(gate) == [version] * 2, f"the lanes run {version}")

    def test_reloads_in_whatever_way_a_file_is_saved(self):
        gate = self.watch()
        load = Load(gate)
        self.addCleanup(load.end)
        self.save("two", by_rename=True)
        self.wait_version(gate, "two", "one")
        self.save("three", by_rename=False)
        self.wait_version(gate, "three", "one")
        self.save_parts("two")
        self.wait_version(gate, "three", "two")
        self.assertEqual(self.reload_of(gate)["why"], "parts.py changed")
        self.assertEqual(self.reload_of(gate)["files"], [str(self.source / "parts.py")])
        load.end()
        self.assertEqual(load.bad, [])

    def test_ends_a_burst_with_the_newest_code(self):
        gate = self.watch()
        for number in range(20):
            self.save(f"number {number}", by_rename=number % 2 == 0)
        self.wait_version(gate, "number 19", "one")
        self.assertLess(self.reload_of(gate)["generation"], 20, "saves in quick succession must share a reload")

    def test_does_nothing_about_a_save_that_changes_nothing(self):
        gate = self.watch()
        self.save("one")  # a new file with the same bytes
        self.save_parts("two")
        self.wait_version(gate, "one", "two")
        self.assertEqual(self.reload_of(gate)["files"], [str(self.source / "parts.py")])

    def test_takes_the_save_that_repairs_the_code(self):
        gate = self.watch()
        self.write("model.py", "import more\n" + (self.source / "model.py").read_text())
        failed = self.wait_reload(gate, 2, "abandoned")
        self.assertIn("No module named 'more'", failed["trouble"])
        wait_until(lambda: "fix the file and save again" in gate.process.output(), "`up` reports it")
        self.write("more.py", "this is no Python\n")
        failed = self.wait_reload(gate, 3, "abandoned")
        self.assertIn("more.py", failed["trouble"])
        self.write("more.py", "VERSION = 1\n")
        self.wait_reload(gate, 4, "done")
        self.assertEqual(self.versions(gate), [("one", "one")] * 2)

    def test_repairs_a_model_that_never_loaded(self):
        self.source = self.folder_for("project")
        self.write("model.py", "import turnpike\nimport parts\ndef predict(:\n")
        gate = self.serve(self.source / "model.py", "--watch", is_ready=False,
                          pool={"crash_limit": 2})
        gate.wait_lane(0, "failed")
        self.save_parts("one")
        self.save("one")
        gate.wait_ready()
        self.assertEqual(self.versions(gate), [("one", "one")])

    def test_repairs_a_model_that_gave_wrong_answers_from_the_beginning(self):
        path = self.project()
        self.save("bad", predict='raise ValueError("no")')
        gate = self.serve(path, "--watch", is_ready=False, pool={"lanes": 2})
        wait_until(lambda: "fix the file and save it" in gate.process.output(), "all lanes are quarantined")
        self.save("good")
        for lane in (0, 1):
            gate.wait_lane(lane, "ready")
        self.wait_version(gate, "good", "one")

    def open_half_judged(self, **pool):
        """Starts a model that gives wrong answers. Lane 0 is quarantined for it; lane 1 still loads, until the returned file
        is there."""
        path = self.project()
        go = self.folder_for("go") / "go"
        wait = f"""import os, time
        while os.environ["TURNPIKE_LANE"] == "1" and not os.path.exists({str(go)!r}): time.sleep(0.005)"""
        self.save("bad", load=wait, predict='raise ValueError("no")')
        gate = self.serve(path, "--watch", is_ready=False, pool={"lanes": 2, **pool})
        gate.wait_lane(0, "quarantined")
        return gate, go

    def test_repairs_a_model_whose_last_lane_has_not_answered_yet(self):
        for reload in ("beside", "in_place"):
            gate, _ = self.open_half_judged(reload=reload)
            self.save("good")
            self.wait_both(gate, "good")

    def test_repairs_a_model_whose_last_lane_is_being_judged(self):
        for reload in ("beside", "in_place"):
            gate, go = self.open_half_judged(reload=reload)
            self.save("good")
            go.touch()  # the wrong answers of lane 1 and the reload now come in any order
            self.wait_both(gate, "good")

    def test_a_save_that_mends_nothing_leaves_a_quarantined_lane_as_it_is(self):
        gate, go = self.open_half_judged()
        self.save("worse", predict='raise ValueError("no again")')
        self.wait_reload(gate, 2, "abandoned")
        go.touch()
        for lane in (0, 1):
            gate.wait_lane(lane, "quarantined")
        self.save("good")
        self.wait_both(gate, "good")

    def wait_both(self, gate, version):
        for lane in (0, 1):
            gate.wait_lane(lane, "ready")
        self.wait_version(gate, version, "one")

    def test_takes_a_save_during_a_reload(self):
        gate = self.watch()
        slow = "import time; time.sleep(0.5)"
        self.save("two", load=slow)
        self.wait_reload(gate, 2, "trying")
        self.save("three")
        self.wait_version(gate, "three", "one")


if __name__ == "__main__":
    unittest.main()
