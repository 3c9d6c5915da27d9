"""Tests what a native model finds when it runs: its folder, imports, environment and SDK; and the limits for its bodies."""
import json
import os
import signal
import unittest

from harness import toml
from native_case import PYTHON, NativeCase, body_of, is_alive, wait_until

MODEL = '''
class Facts(turnpike.Model):
    example = {"do": "echo"}

    def predict(self, task):
        return getattr(self, "do_" + task["do"])(task)

    def do_echo(self, task):
        return {"file": __file__, "pid": os.getpid(), "path": sys.path, "folder": os.getcwd()}

    def do_env(self, task):
        return dict(os.environ)

    def do_wait(self, task):
        return wait(task)
'''


class Paths(NativeCase):
    ODD = ["with blanks", "it's", 'a "quoted" one', "$HOME", "back\\slash", "ünï-çødé",
           "semi;colon", "star*", "-dash", "co:lon", "`tick`", "{port}", "%s"]

    def test_a_model_may_live_anywhere(self):
        sections = {"": {"load_parallel": 4}}
        for number, name in enumerate(self.ODD):
            path = self.folder_for("odd") / name / "model.py"
            path.parent.mkdir()
            path.write_text("import os, sys\nimport turnpike\n" + MODEL)
            sections[f"pool.p{number}"] = {"model": f"{path}:Facts", "python": PYTHON,
                                           "gpus": "none", "lanes": 1}
        gate = self.start(str(self.write_config(toml(sections)))).wait_ready()
        for number, name in enumerate(self.ODD):
            with self.subTest(name):
                found = gate.post({"do": "echo"}, f"/-/to/p{number}/predict").json()
                self.assertEqual(os.path.basename(os.path.dirname(found["file"])), name)

    def test_a_link_to_a_model_finds_what_is_beside_the_link(self):
        path = self.model("import beside\ndef predict(x): return beside.WORD\n", "real.py")
        place = self.folder_for("place")
        (place / "beside.py").write_text("WORD = 'beside the link'\n")
        (place / "model.py").symlink_to(path)
        gate = self.serve(place / "model.py")
        self.assertEqual(gate.post(1).body, b"beside the link")

    def test_a_neighbour_with_the_name_of_a_module_that_tracebacks_need(self):
        path = self.model("def predict(x): raise ValueError('as it should')\n")
        (path.parent / "tokenize.py").write_text("raise RuntimeError('not the one that is meant')\n")
        gate = self.serve(path)
        answer = gate.post(1)
        self.assert_problem(answer, 500, "model-failed")
        self.assertIn("as it should", answer.json()["detail"])
        self.assertEqual(gate.lane(0)["restarts"], 0)

    def test_a_name_that_hides_a_module_of_python_works_or_is_refused_with_a_reason(self):
        gate = self.serve(self.model("def predict(x): return x\n", "json.py"), is_ready=False,
                          pool={"crash_limit": 1})
        wait_until(lambda: gate.lane(0)["state"] in ("failed", "ready"), "the lane has failed or serves")
        if gate.lane(0)["state"] == "failed":
            self.wait_trouble(gate, "json")
        else:
            self.assertEqual(gate.post([1]).json(), [1])


class Environment(NativeCase):
    def test_what_a_worker_finds(self):
        self.env = {**type(self).env, "HF_TOKEN": "of the user", "TURNPIKE_KEY": "secret",
                    "TURNPIKE_SOCKET": "99", "PYTHONPATH": "/nowhere"}
        gate = self.serve(self.model(MODEL), sections={"pool.default.env": {"MINE": "1"}})
        found = gate.post({"do": "env"}).json()
        self.assertEqual((found["HF_TOKEN"], found["MINE"]), ("of the user", "1"))
        self.assertEqual((found["TURNPIKE_LANE"], found["TURNPIKE_POOL"]), ("0", "default"))
        self.assertEqual(found["PYTHONUNBUFFERED"], "1")
        self.assertEqual(found["PYTHONPATH"].split(":")[1:], ["/nowhere"])
        self.assertNotIn("TURNPIKE_KEY", found)
        self.assertNotIn("TURNPIKE_SOCKET", found, "children of the worker must not use the socket")
        self.assertNotIn("secret", json.dumps(found))

    def test_each_gate_writes_the_sdk_of_its_own_binary(self):
        gate = self.serve(self.model(MODEL))
        [sdk] = {path for path in gate.post({"do": "echo"}).json()["path"]
                 if path.startswith(self.env["XDG_RUNTIME_DIR"])}
        self.assertEqual(os.stat(sdk).st_mode & 0o077, 0, "only the owner may read the SDK")
        self.assertEqual(self.stop(gate), 0)
        os.makedirs(sdk + "/turnpike", exist_ok=True)
        for name in ("turnpike_worker.py", "turnpike/__init__.py", "turnpike/stale.py"):
            with open(os.path.join(sdk, name), "w") as file:
                file.write("raise SystemExit('of another time')\n")
        again = self.serve(self.model(MODEL), "--name", gate.name)
        self.assertEqual(again.post({"do": "echo"}).status, 200)
        self.assertFalse(os.path.exists(os.path.join(sdk, "turnpike/stale.py")))

    def test_after_a_kill_the_next_gate_of_that_name_serves(self):
        gate = self.serve(self.model(MODEL))
        pid = gate.post({"do": "echo"}).json()["pid"]
        gate.process.kill()
        self.assert_gone(pid)
        again = self.serve(self.model(MODEL), "--name", gate.name)
        self.assertEqual(again.post({"do": "echo"}).status, 200)

    def test_two_gates_do_not_disturb_each_other(self):
        first, second = self.serve(self.model(MODEL)), self.serve(self.model(MODEL))
        self.assertEqual(self.stop(second), 0)
        self.order(first, "restart", "0")
        self.wait_back(first)
        self.assertEqual(first.post({"do": "echo"}).status, 200)


class Commands(NativeCase):
    def test_check_shows_the_model_and_its_python(self):
        path = self.model(MODEL)
        done = self.command("check", str(path), "--python", PYTHON, "--gpus", "none")
        self.assertEqual(done.returncode, 0, done)
        self.assertIn(PYTHON, done.stdout)
        self.assertIn("model.py", done.stdout)

    def test_detached_and_down(self):
        path = self.model(MODEL)
        name = f"detached-{os.getpid()}"
        done = self.command("up", str(path), "--python", PYTHON, "--lanes", "1", "--gpus", "none",
                            "--port", "0", "--name", name, "--detach")
        self.addCleanup(self.command, "down", "--now", "--name", name)
        self.assertEqual(done.returncode, 0, done)
        status = json.loads(self.command("status", "--json", "--name", name).stdout)
        self.assertTrue(status["pools"][0]["model"].endswith("model.py"), status)
        down = self.command("down", "--name", name)
        self.assertEqual(down.returncode, 0, down)
        pid = status["lanes"][0]["pid"]
        if pid:
            wait_until(lambda: not is_alive(pid), "the worker is gone")

    def test_logs_of_a_model(self):
        gate = self.serve(self.model("print('said at import', flush=True)\n"
                                     "def predict(x): return x\n"))
        self.wait_log(gate, "said at import")
        self.assertIn("said at import", self.order(gate, "logs", "0"))


class Limits(NativeCase):
    def test_large_bodies_that_wait_are_counted(self):
        sections = {"gate": {"spool": str(self.folder), "body_max": "4MiB"},
                    "queue": {"bytes_max": "5MiB"}}
        gate = self.serve(self.model(MODEL), sections=sections)
        held, go = self.begin_job(gate)
        waiting = self.in_thread(gate.post, {"do": "echo", "padding": "x" * 3_000_000})
        gate.wait_queued(1)
        self.assertGreater(gate.status()["bytes_held"], 3_000_000)
        self.assert_problem(gate.post({"padding": "x" * 3_000_000}), 429, "bytes-full")
        self.assert_problem(gate.post({"padding": "x" * 5_000_000}), 413, "body-too-large")
        go.touch()
        for future in (held, waiting):
            self.assertEqual(future.result().status, 200)
        wait_until(lambda: gate.status()["bytes_held"] == 0, "no bytes are counted any more")

    def test_nothing_of_a_large_body_touches_the_disk(self):
        spool = self.folder_for("spool")
        gate = self.serve(self.model(MODEL), sections={"gate": {"spool": str(spool)}})
        held, go = self.begin_job(gate)
        waiting = self.in_thread(gate.post, {"do": "echo", "padding": "x" * 3_000_000})
        gate.wait_queued(1)
        links = [os.readlink(f"/proc/{gate.process.pid}/fd/{fd}")
                 for fd in os.listdir(f"/proc/{gate.process.pid}/fd")]
        self.assertEqual([link for link in links if link.startswith(str(spool))], [])
        self.assertEqual(len([link for link in links if "memfd:" in link]), 1, links)
        go.touch()
        self.assertEqual([held.result().status, waiting.result().status], [200, 200])

    def test_the_body_of_a_client_that_leaves_is_freed(self):
        gate = self.serve(self.model(MODEL))
        held, go = self.begin_job(gate)
        clients = [gate.connect() for _ in range(5)]
        for client in clients:
            client.request("POST", "/predict", body_of({"padding": "x" * 2_000_000}))
        gate.wait_queued(5)
        before = self.descriptors(gate)
        for client in clients:
            client.close()
        gate.wait_queued(0)
        wait_until(lambda: self.descriptors(gate) <= before - 10, "bodies and connections are gone")
        go.touch()
        self.assertEqual(held.result().status, 200)

    def test_a_stopped_stream_is_finished_before_the_end(self):
        text = '''
def predict(task):
    yield "first "
    wait_for(task["go"])
    yield "last"
'''
        gate = self.serve(self.model(text))
        go = self.folder_for("go") / "go"
        client = gate.connect()
        client.request("POST", "/predict", body_of({"go": str(go)}))
        head = client.head()
        self.assertEqual(client.chunk(), b"first ")
        gate.process.signal(signal.SIGINT)
        wait_until(lambda: "stopping" in gate.process.output(), "the gate is stopping")
        go.touch()
        self.assertEqual(client.body_of(head).body, b"last")
        self.assertEqual(gate.process.wait(), 0)


if __name__ == "__main__":
    unittest.main()
