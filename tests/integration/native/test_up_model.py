"""Tests `turnpike up model.py`: how the model and its Python are found, how lanes start, and what is said if they cannot."""
import json
import os
import unittest

from harness import toml
from native_case import POOL, PYTHON, NativeCase, SharedGate, wait_until

TWICE = '''
class Twice(turnpike.Model):
    """Ten lines, as in the manual."""
    example = {"x": 1}
    facts = {"weights": "none", "layers": 0}

    def load(self, lane):
        self.lane = lane

    def predict(self, task):
        return {"twice": 2 * task["x"], "lane": self.lane.index, "pool": self.lane.pool,
                "devices": [self.lane.device, *self.lane.devices], "python": sys.executable,
                "mark": os.environ.get("MARK"), "folder": os.getcwd(), "argv": sys.argv,
                "sdk": os.path.dirname(turnpike.__file__)}
'''


class CleanEnvironmentCase(NativeCase):
    """The environment has no Python settings of the user who runs the tests."""

    def setUp(self):
        super().setUp()
        self.folder = self.folder_for("empty")  # the folder in which `up` runs
        own = ("PYTHON", "VIRTUAL_ENV", "CONDA")
        self.env = {name: value for name, value in type(self).env.items()
                    if not name.startswith(own)}
        self.env.update(PATH="/usr/bin:/bin", CUDA_VISIBLE_DEVICES="")

    def write(self, text, name="model.py"):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("import os, sys, time\nimport turnpike\n" + text)
        return path

    def python(self, path, mark):
        """Makes a Python at this path: Debian's, with MARK in its environment, which shows that it was used."""
        path.parent.mkdir(parents=True)
        path.write_text(f'#!/bin/sh\nMARK={mark} exec {PYTHON} "$@"\n')
        path.chmod(0o755)
        return path

    def wait_output(self, gate, words):
        wait_until(lambda: words in gate.process.output(), f"`up` says {words!r}")


class FromAnEmptyFolder(CleanEnvironmentCase):
    def test_four_lanes_with_only_the_binary_and_python(self):
        self.write(TWICE)
        gate = self.start("model.py").wait_ready()
        self.assertEqual(len(gate.status()["lanes"]), 4)
        for lane in range(4):
            answer = gate.post({"x": 21}, headers=[("Turnpike-Lane", str(lane))])
            self.assertEqual(answer.status, 200, answer)
            self.assertEqual(answer.header("turnpike-lane"), str(lane))
            found = answer.json()
            self.assertEqual((found["twice"], found["lane"], found["pool"], found["devices"]),
                             (42, lane, "default", ["cpu", "cpu"]))
            self.assertEqual(found["folder"], str(self.folder), "the folder must be the one where `up` was typed")
            self.assertTrue(found["sdk"].startswith(self.env["XDG_RUNTIME_DIR"]), found["sdk"])
        self.wait_output(gate, "python: /usr/bin/python3 (first python3 on the PATH)")
        self.wait_output(gate, "all lanes serve")
        self.look_at_status(gate)
        self.assertEqual(self.stop(gate), 0)

    def look_at_status(self, gate):
        status = gate.status()
        pool = status["pools"][0]
        self.assertEqual((pool["model"], pool["python"], pool["proof"]),
                         ("model.py", "/usr/bin/python3", "passed"))
        for lane in status["lanes"]:
            self.assertEqual((lane["state"], lane["slots"], lane["batch"]), ("ready", 1, 1))
            self.assertEqual((lane["loading"], lane["trouble"], lane["starting_s"]),
                             (None, None, None))
            self.assertEqual(lane["model_facts"], {"weights": "none", "layers": 0})
            self.assertRegex(lane["sdk"], r"^turnpike-python [\d.]+, CPython 3\.\d+\.\d+$")
            start = lane["start"]
            for part in ("spawn_ms", "import_ms", "load_ms", "proof_ms", "first_job_ms"):
                self.assertGreaterEqual(start[part], 0, part)
            log = self.order(gate, "logs", str(lane["lane"]))
            self.assertRegex(log, r"serves: spawn .*, proof \d+ ms\n(.*\n)*first job took \d+ ms\n")
        table = self.order(gate, "status")
        self.assertRegex(table, r"default starts: spawn .*, import .*, load .*, proof .*, first job .* \(slowest of")
        self.assertIn("default runs: model.py with /usr/bin/python3", table)

    def test_one_class_of_several_by_its_name(self):
        self.write(TWICE + "\nclass Other(Twice):\n    example = None\n    facts = {}\n"
                           "    def predict(self, x): return {'other': x}\n")
        gate = self.start("model.py:Other", "--lanes", "1").wait_ready()
        self.assertEqual(gate.post([1]).json(), {"other": [1]})
        pool = gate.pool()
        self.assertEqual((pool["model"], pool["proof"]), ("model.py:Other", "none"))
        self.assertIsNone(gate.lane(0)["model_facts"])
        self.assertEqual(gate.ask("GET", "/other").status, 404)
        self.assertEqual(gate.ask("GET", "/predict").status, 405)

    def test_plain_functions_are_a_model(self):
        self.write("state = []\ndef load(lane): state.append(lane.index)\n"
                   "def predict(x): return {'x': x, 'state': state}\n")
        gate = self.start("model.py", "--lanes", "1").wait_ready()
        self.assertEqual(gate.post("a").json(), {"x": "a", "state": [0]})

    def test_modules_and_files_beside_it_are_found(self):
        self.write("WORD = 'near'\n", "app/neighbour.py")
        self.write("from neighbour import WORD\n"
                   "def predict(x): return [WORD, __file__, __name__]\n", "app/model.py")
        gate = self.start("app/model.py", "--lanes", "1").wait_ready()
        self.assertEqual(gate.post(1).json(), ["near", str(self.folder / "app/model.py"), "model"])

    def test_a_folder_with_a_config_names_its_model(self):
        self.write(TWICE, "app/deep/net.py")
        (self.folder / "app/turnpike.toml").write_text(
            toml({"pool.draw": {"model": "deep/net.py:Twice", "gpus": "none", "lanes": 2,
                                "env": {}}}).replace("env = {}", 'env = { MARK = "of the file" }'))
        gate = self.start("app").wait_ready()
        found = gate.post({"x": 1}).json()
        self.assertEqual((found["mark"], found["pool"], found["folder"]),
                         ("of the file", "draw", str(self.folder / "app")))
        self.assertEqual(gate.pool()["model"], "deep/net.py:Twice")

    def test_progress_of_a_loading_model_is_shown(self):
        self.write('''
def load(lane):
    lane.progress(0.25, "layers of stone")
    while not os.path.exists("go"):
        time.sleep(0.002)

def predict(x):
    return x
''')
        gate = self.start("model.py", "--lanes", "1")
        lane = self.wait_lane_where(gate, 0, lambda lane: (lane["loading"] or {}).get("fraction"),
                                    "the model reports its progress")
        self.assertEqual(lane["loading"], {"fraction": 0.25, "text": "layers of stone"})
        self.assertEqual(lane["state"], "loading")
        self.assertGreaterEqual(lane["start"]["import_ms"], 0)
        self.assertIn("layers of stone", self.order(gate, "status"))
        waiting = self.in_thread(gate.post, "early")
        gate.wait_queued(1)
        (self.folder / "go").touch()
        self.assertEqual(waiting.result().body, b"early")
        gate.wait_ready()
        self.assertIsNone(gate.lane(0)["loading"])


class WhichPython(CleanEnvironmentCase):
    def ask_mark(self, *flags):
        gate = self.start("app/model.py", "--lanes", "1", *flags).wait_ready()
        return gate, gate.post({"x": 1}).json()["mark"]

    def test_a_venv_beside_the_model(self):
        self.write(TWICE, "app/model.py")
        path = self.python(self.folder / "app/.venv/bin/python", "venv")
        gate, mark = self.ask_mark()
        self.assertEqual(mark, "venv")
        self.wait_output(gate, f"python: {path} (.venv beside the model)")
        self.assertEqual(gate.pool()["python"], str(path))

    def test_the_active_virtual_environment_comes_before_one_beside_the_model(self):
        self.write(TWICE, "app/model.py")
        self.python(self.folder / "app/.venv/bin/python", "venv")
        path = self.python(self.folder / "active/bin/python", "active")
        self.env["VIRTUAL_ENV"] = str(self.folder / "active")
        self.env["CONDA_PREFIX"] = str(self.folder / "nowhere")
        gate, mark = self.ask_mark()
        self.assertEqual(mark, "active")
        self.wait_output(gate, f"python: {path} ($VIRTUAL_ENV)")

    def test_the_python_flag_comes_before_all_others(self):
        self.write(TWICE, "app/model.py")
        self.python(self.folder / "app/.venv/bin/python", "venv")
        path = self.python(self.folder / "said/bin/python", "said")
        gate, mark = self.ask_mark("--python", "said/bin/python")
        self.assertEqual(mark, "said")
        self.wait_output(gate, str(path))

    def test_a_python_that_does_not_exist_is_reported_before_anything_starts(self):
        self.write(TWICE)
        process = self.spawn_up(["model.py", "--python", "nowhere/bin/python"])
        self.assertEqual(process.wait(), 2, process.output())
        self.assertIn("nowhere/bin/python", process.output())

    def test_no_python_at_all(self):
        self.write(TWICE)
        (self.folder / "setpriv").symlink_to("/usr/bin/setpriv")
        self.env["PATH"] = str(self.folder)
        process = self.spawn_up(["model.py"])
        self.assertIn(process.wait(), (1, 2), process.output())
        self.assertIn("--python", process.output())

    def test_the_users_pythonpath_is_kept(self):
        self.write("WORD = 'far'\n", "lib/elsewhere.py")
        self.write("import elsewhere\ndef predict(x): return elsewhere.WORD\n")
        self.env["PYTHONPATH"] = str(self.folder / "lib")
        gate = self.start("model.py", "--lanes", "1").wait_ready()
        self.assertEqual(gate.post(1).body, b"far")


class CanNotStart(CleanEnvironmentCase):
    def assert_lane_fails(self, text, *words, model="model.py"):
        """Checks that the lane fails after two deaths, with these words in its trouble. Returns the gate and the lane."""
        self.write(text)
        config = self.folder / "turnpike.toml"
        keys = {"model": model, "gpus": "none", "lanes": 1, "crash_limit": 2,
                **{key: value for key, value in POOL.items() if not key.startswith("health.")}}
        config.write_text(toml({"pool.default": keys}))
        gate = self.start(str(config))
        lane = gate.wait_lane(0, "failed")
        for word in words:
            lane = self.wait_trouble(gate, word, states=["failed"])
        self.assertEqual(lane["reason"], "crashed_too_often")
        answer = gate.post({})
        self.assert_problem(answer, 503, "no-lane")
        return gate, lane

    def test_an_import_error_names_the_interpreter(self):
        gate, _ = self.assert_lane_fails("import no_such_module\n", "/usr/bin/python3")
        log = self.whole_log(gate)
        self.assertIn("ModuleNotFoundError: No module named 'no_such_module'", log)
        self.assertIn("install it for /usr/bin/python3", log)
        self.assertIn("--python PATH", log)
        wait_until(lambda: any("its worker died" in line and "/usr/bin/python3" in line
                               for line in gate.process.output().splitlines()), "`up` names the interpreter too")

    def test_a_syntax_error_shows_its_line(self):
        gate, _ = self.assert_lane_fails("def predict(x):\n    return (((\n", "exit code 1")
        log = self.whole_log(gate)
        self.assertIn('model.py", line 4', log)
        self.assertIn("SyntaxError", log)

    def test_a_class_that_is_not_there(self):
        self.assert_lane_fails(TWICE, "model.py has no Thrice", "Did you mean Twice?", model="model.py:Thrice")

    def test_no_model_at_all(self):
        self.assert_lane_fails("def predikt(x): return x\n", "model.py has no model")

    def test_a_load_that_raises(self):
        gate, _ = self.assert_lane_fails("def load(lane): raise OSError('no weights there')\n"
                             "def predict(x): return x\n", "no weights there")
        self.assertIn("in load", self.whole_log(gate))
        reports = wait_until(lambda: len(found := self.crashes(gate)) == 2 and found, "there are two reports")
        self.assertEqual({report["exit_code"] for report in reports}, {1})

    def test_a_model_file_that_does_not_exist_is_reported_before_anything_starts(self):
        process = self.spawn_up(["nowhere.py"])
        self.assertEqual(process.wait(), 2, process.output())
        self.assertIn("nowhere.py", process.output())

    def test_a_lane_that_failed_comes_back_with_better_code(self):
        gate, _ = self.assert_lane_fails("import no_such_module\n")
        self.write("def predict(x): return x\n")
        self.order(gate, "restart", "0")
        gate.wait_ready()
        self.assertEqual(gate.post("well").body, b"well")


class Programs(CleanEnvironmentCase):
    def program(self, text, *flags, **keys):
        path = self.folder / "worker"
        path.write_text(text)
        path.chmod(0o755)
        config = self.folder / "turnpike.toml"
        own = {key: value for key, value in POOL.items() if not key.startswith("health.")}
        config.write_text(toml({"pool.default": {"model": "./worker", "gpus": "none", "lanes": 1,
                                                 "crash_limit": 2, **own, **keys}}))
        return self.start(str(config), *flags)

    def test_a_program_that_ends_at_once(self):
        gate = self.program("#!/bin/sh\necho usage: worker FILE >&2\nexit 3\n")
        self.wait_trouble(gate, "exit code 3", states=["failed"])
        self.assertIn("usage: worker FILE", self.whole_log(gate))

    def test_a_program_that_says_something_else(self):
        gate = self.program("#!/bin/sh\necho HTTP/1.1 200 OK and more of that >&3\nsleep 600\n")
        self.wait_trouble(gate, "it broke the protocol", states=["failed"])
        self.assertIn("it broke the protocol", self.whole_log(gate))

    def test_a_program_that_closes_the_socket_and_stays(self):
        gate = self.program("#!/bin/sh\nexec 3>&-\nsleep 600\n")
        self.wait_trouble(gate, "it closed its socket", states=["failed"])

    def test_a_program_that_never_says_anything_is_ended_in_time(self):
        gate = self.program("#!/bin/sh\nsleep 600\n", load_timeout="200ms")
        self.wait_trouble(gate, "no progress for 200ms (load_timeout)", states=["failed"])

    def test_a_program_that_can_t_be_run(self):
        gate = self.program("#!/no/such/interpreter\n")
        self.wait_trouble(gate, "exit code", states=["failed"])

    def test_a_program_finds_its_surroundings(self):
        gate = self.program("#!/bin/sh\necho socket $TURNPIKE_SOCKET lane $TURNPIKE_LANE "
                            "pool $TURNPIKE_POOL in $PWD run ${TURNPIKE_RUN:+yes}\nexit 1\n")
        line = self.wait_line(gate, "socket")
        self.assertEqual(line, f"socket 3 lane 0 pool default in {self.folder} run yes")


class Widths(SharedGate):
    """Slots and batch sizes come from the model or from the config."""

    def open(self):
        text = '''
class Wide(turnpike.Model):
    slots = 3
    batch = 5
    def predict(self, many): return many

class Plain(turnpike.Model):
    def predict(self, x): return x
'''
        path = self.model(text)
        keys = {"python": PYTHON, "gpus": "none", "lanes": 1}
        pools = {"own": {"model": f"{path}:Wide"},
                 "less": {"model": f"{path}:Wide", "slots": 2, "batch": 4},
                 "kill": {"model": f"{path}:Wide", "cancel": "kill"},
                 "plain": {"model": f"{path}:Plain"}}
        whole = {f"pool.{name}": {**keys, **pool} for name, pool in pools.items()}
        return self.start(str(self.write_config(toml(whole)))).wait_ready()

    def test_each_pool_has_its_own(self):
        widths = {lane["pool"]: (lane["slots"], lane["batch"])
                  for lane in self.gate.status()["lanes"]}
        self.assertEqual(widths, {"own": (3, 5), "less": (2, 4), "kill": (1, 1), "plain": (1, 1)})
        for pool in widths:
            self.assertEqual(self.gate.post({"a": 1}, f"/-/to/{pool}/predict").json(), {"a": 1})

    def test_check_and_status_show_the_widths_of_all_pools(self):
        status = json.loads(self.order(self.gate, "status", "--json"))
        self.assertEqual(len({os.path.basename(pool["model"]) for pool in status["pools"]}), 2)


if __name__ == "__main__":
    unittest.main()
