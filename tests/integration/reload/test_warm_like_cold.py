"""Tests that a model cannot tell a warm start from a cold one: by modules that its own files hide, by variables that it
sets before its imports, or by filters of warnings. Also tests a guard whose worker has no process group yet."""
import os
import socket
import unittest

from harness import TURNPIKE
from warm_case import WarmCase

MODEL = '''
import os
{first}
import warnings
import installed

def predict(x):
    return {{"seen": installed.SEEN, "made": os.environ.get("MADE_BY_AN_IMPORT"), "colors": installed.colorsys.__file__,
            "filters": [str(filter) for filter in warnings.filters]}}

example = 1
'''
INSTALLED = '''
import os, warnings
import colorsys
SEEN = os.environ.get("SET_BY_THE_MODEL")
os.environ["MADE_BY_AN_IMPORT"] = "yes"
warnings.filterwarnings("error", "never said")
'''


class LikeAColdStart(WarmCase):
    def setUp(self):
        super().setUp()
        packages = self.folder_for("prefix") / "site-packages"
        packages.mkdir()
        (packages / "installed.py").write_text(INSTALLED)
        self.pool = {"lanes": 1, "env.PYTHONPATH": str(packages)}

    def begin(self, first="", **beside):
        self.path = self.model(MODEL.format(first=first), "alike.py")
        for name, text in beside.items():
            (self.path.parent / f"{name}.py").write_text(text)
        gate = self.serve(self.path, pool=self.pool)
        self.wait_warm(gate)
        return gate

    def said(self, gate):
        return gate.post(1).json()

    def assert_as_before(self, gate):
        before = self.said(gate)
        self.restart(gate)
        self.assertTrue(gate.lane(0)["start"]["warm"])
        self.assertEqual(self.said(gate), before)
        return before

    def test_variables_that_the_model_sets_are_there_before_its_imports(self):
        gate = self.begin("os.environ['SET_BY_THE_MODEL'] = 'one'")
        self.assertEqual(self.assert_as_before(gate)["seen"], "one")

    def test_a_changed_variable_takes_effect_one_start_later_and_the_log_says_so(self):
        self.pool["preload"] = ["installed"]
        gate = self.begin("os.environ['SET_BY_THE_MODEL'] = 'one'")
        warm = self.warm_pid(gate)
        self.path.write_text(self.path.read_text().replace("'one'", "'two'"))
        self.assertEqual(gate.ask("POST", "/-/reload").status, 202)
        self.wait_log(gate, "the model set SET_BY_THE_MODEL after the imports of this warm start, which were made with one")
        self.wait_warm(gate, warm)
        self.restart(gate)
        self.assertEqual(self.said(gate)["seen"], "two")

    def test_what_imports_leave_in_the_environment_and_in_the_filters_of_warnings_stays(self):
        said = self.assert_as_before(self.begin())
        self.assertEqual(said["made"], "yes")
        self.assertIn("never said", str(said["filters"]))

    def test_a_file_beside_the_model_hides_a_module_that_only_the_warm_process_has(self):
        gate = self.begin(colorsys="")
        said = self.assert_as_before(gate)
        self.assertEqual(said["colors"], str(self.path.parent / "colorsys.py"))
        self.wait_log(gate, "a cold start: colorsys.py beside the model")


class NoProcessGroupYet(unittest.TestCase):
    def test_a_worker_without_a_group_of_its_own_is_terminated(self):
        gate, control = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        gate.settimeout(30)
        guard = os.fork()
        if guard == 0:
            worker = os.fork()
            if worker == 0:
                os.execlp("sleep", "sleep", "1000")
            os.dup2(control.fileno(), 3)
            os.execv(TURNPIKE, ["turnpike", "guard", "", "0", "", "", "", str(worker)])
        control.close()
        gate.recv(4096)  # the guard reports that the worker has started
        gate.send(b"t")
        reports = [gate.recv(4096) for _ in range(3)]
        self.assertTrue(all(reports[:2]), "two reports: how the worker ended, and that no process is left")
        self.assertEqual(reports[2], b"", "then the guard must close the socket")
        self.assertEqual(os.waitpid(guard, 0)[1], 0)
        gate.close()


if __name__ == "__main__":
    unittest.main()
