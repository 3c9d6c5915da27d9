"""Tests reloads: new code goes live on every lane without a failed request, and code that does not work never goes live."""
import json
import os
import signal
import unittest

from harness import PYTHON
from native_case import wait_until
from reload_case import Load, ReloadCase

LANES = 2
SERVER = '''import http.server, json, sys
VERSION = {version!r}


class Answering(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        self.do_POST()

    def do_POST(self):
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        body = json.dumps({{"version": VERSION}}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Answering).serve_forever()
'''


class Reloads(ReloadCase):
    def serve_project(self, *flags, **pool):
        return self.serve(self.project(), *flags, pool={"lanes": LANES, **pool})

    def test_take_the_new_code_on_every_lane_without_a_failed_request(self):
        gate = self.serve_project()
        load = Load(gate)
        self.addCleanup(load.end)
        for version in ("two", "three"):
            self.save(version)
            text = self.order(gate, "reload")
            self.assertIn("2 of 2 lanes on the new code after ", text)
            wait_until(lambda: load.versions[-1] == version, "clients see the new code")
        load.end()
        self.assertEqual(load.bad, [])
        self.assertEqual(self.versions(gate), [("three", "one")] * LANES)
        self.assertEqual([lane["generation"] for lane in gate.status()["lanes"]], [3] * LANES)

    def test_take_the_new_code_of_imported_modules_too(self):
        gate = self.serve_project()
        self.save_parts("two")
        self.order(gate, "reload", "default")
        self.assertEqual(self.versions(gate), [("one", "two")] * LANES)

    def test_in_place_take_one_lane_after_the_other(self):
        gate = self.serve_project(reload="in_place")
        load = Load(gate)
        self.addCleanup(load.end)
        self.save("two")
        asked = json.loads(self.order(gate, "reload", "--json"))
        load.end()
        self.assertEqual(load.bad, [])
        self.assertEqual(asked["reloads"][0]["kind"], "in_place")
        self.assertEqual(self.versions(gate), [("two", "one")] * LANES)

    def test_fail_when_a_source_became_a_folder_and_the_gate_lives(self):
        gate = self.serve_project("--watch")
        parts = self.source / "parts.py"
        parts.unlink()
        parts.mkdir()
        self.assertEqual(self.command("reload", "--name", gate.name).returncode, 1)
        self.assertEqual(self.versions(gate), [("one", "one")] * LANES)

    def assert_reload_fails(self, gate, *words):
        """Checks that a reload fails, the old code keeps serving, and command, status and `up` say why."""
        error = self.command("reload", "--name", gate.name)
        self.assertEqual(error.returncode, 1, error)
        self.assertIn("the old code keeps serving", error.stdout)
        reload = self.reload_of(gate)
        self.assertEqual(reload["state"], "abandoned")
        status = self.order(gate, "status")
        for word in words:
            for place in (error.stderr, reload["trouble"], status):
                self.assertIn(word, place)
            wait_until(lambda: word in gate.process.output(), f"`up` says {word}")
        wait_until(lambda: "the old code keeps serving" in gate.process.output(), "`up` says that the old code keeps serving")
        self.assertEqual(self.versions(gate), [("one", "one")] * LANES)

    def test_that_fail_keep_the_old_code_and_say_why(self):
        gate = self.serve_project()
        load = Load(gate)
        self.addCleanup(load.end)
        with self.subTest("a syntax error"):
            self.write("model.py", "import turnpike\n\ndef predict(:\n")
            self.assert_reload_fails(gate, "SyntaxError", "model.py", "line 3")
        with self.subTest("a load that fails"):
            self.save("two", load="self.weights = open('/no/such/weights')")
            self.assert_reload_fails(gate, "FileNotFoundError", "/no/such/weights", "Traceback", "in load")
        with self.subTest("an example that fails"):
            self.save("two", predict="raise ValueError('no such layer')")
            self.assert_reload_fails(gate, "no such layer")
        with self.subTest("a module that is missing"):
            self.write("model.py", "import no_such_module_anywhere\n")
            self.assert_reload_fails(gate, "ModuleNotFoundError", "no_such_module_anywhere")
        load.end()
        self.assertEqual(load.bad, [])
        self.assertEqual(set(load.versions), {"one"})
        self.save("four")
        self.order(gate, "reload")
        self.assertEqual(self.versions(gate), [("four", "one")] * LANES)
        self.assertIsNone(self.reload_of(gate)["trouble"])

    def test_restart_takes_the_last_good_code(self):
        gate = self.serve_project()
        self.write("model.py", "def predict(:\n")
        self.write("parts.py", "VERSION = 'unsaved'\n")
        self.order(gate, "restart", "all")
        wait_until(lambda: all(lane["restarts"] == 1 for lane in gate.status()["lanes"]),
                   "the lanes restart")
        gate.wait_ready()
        self.assertEqual(self.versions(gate), [("one", "one")] * LANES)

    def test_a_crash_after_a_bad_save_comes_back_with_the_good_code(self):
        gate = self.serve_project()
        self.write("model.py", "def predict(:\n")
        before = gate.lane(0)["pid"]
        os.kill(before, signal.SIGKILL)
        wait_until(lambda: gate.lane(0)["pid"] not in (None, before), "lane 0 is back")
        gate.wait_ready()
        self.assertEqual(self.versions(gate), [("one", "one")] * LANES)

    def test_leave_slow_jobs_of_the_old_code_their_stacks(self):
        folder = self.folder_for("slow")
        waits = (f"if task['n'] == 0: open({str(folder / 'aboard')!r}, 'w').close()\n"
                 f"        while task['n'] == 0 and not os.path.exists({str(folder / 'go')!r}): time.sleep(0.01)")
        model = self.project()
        self.save("one", load="global os, time; import os, time", predict=waits)
        gate = self.serve(model, pool={"slow_factor": 2, "slow_min": "2s", "reload": "beside"})
        for _ in range(10):
            gate.post({"n": 1})
        slow = self.in_thread(gate.post, {"n": 0})
        wait_until((folder / "aboard").exists, "the job is aboard")
        self.save("two")
        self.order(gate, "reload", "--no-wait")
        wait_until(lambda: gate.lane(0)["generation"] == 2, "the lane runs the new code")
        wait_until(lambda: "in predict" in self.whole_log(gate), "the log has the stacks of the old worker")
        (folder / "go").touch()
        self.assertEqual(slow.result().json()["version"], "one")

    def test_http_servers_reload_in_place(self):
        self.source = self.folder_for("server")
        self.write("server.py", SERVER.format(version="one"))
        gate = self.up(f"{PYTHON} -SE {self.source}/server.py {{port}}", pool={"lanes": LANES})
        self.write("server.py", SERVER.format(version="two"))
        text = self.order(gate, "reload")
        self.assertIn("2 of 2 lanes on the new code", text)
        self.assertEqual(self.reload_of(gate)["kind"], "in_place")
        for lane in range(LANES):
            answer = gate.post({}, headers=[("Turnpike-Lane", str(lane))])
            self.assertEqual(answer.json(), {"version": "two"})

    def test_a_reload_of_lanes_that_had_all_failed_is_over_when_all_of_them_serve(self):
        self.source = self.folder_for("server")
        self.write("server.py", "raise SystemExit('not today')\n")
        gate = self.up(f"{PYTHON} -SE {self.source}/server.py {{port}} {{lane}}", is_ready=False,
                       pool={"lanes": LANES, "crash_limit": 1})
        wait_until(lambda: [lane["state"] for lane in gate.status()["lanes"]] == ["failed"] * LANES,
                   "both lanes have failed")
        go = self.source / "go"
        waits = ("import os, sys, time\n"
                 f"while sys.argv[2] == '1' and not os.path.exists({str(go)!r}): time.sleep(0.002)\n")
        self.write("server.py", waits + SERVER.format(version="two"))
        self.order(gate, "reload", "--no-wait")
        wait_until(lambda: gate.lane(0)["state"] == "ready" and gate.lane(1)["state"] == "loading",
                   "lane 0 serves, lane 1 loads")
        facts = self.reload_of(gate)
        self.assertEqual((facts["state"], facts["lanes_switched"]), ("spreading", 1), facts)
        go.touch()
        facts = self.wait_reload(gate, 2, "done", "abandoned")
        self.assertEqual((facts["state"], facts["lanes_switched"]), ("done", LANES), facts)


class ReloadOrders(ReloadCase):
    def test_are_answered_with_what_was_begun(self):
        gate = self.serve(self.project())
        answer = gate.ask("POST", "/-/pools/default/reload")
        self.assertEqual(answer.status, 202, answer)
        self.assertEqual(answer.json(), {"pool": "default", "generation": 2, "kind": "beside",
                                         "asked": "reload"})
        facts = self.wait_reload(gate, 2, "done")
        self.assertEqual((facts["why"], facts["files"], facts["trouble"]), ("asked for", [], None))
        self.assertEqual((facts["lanes"], facts["lanes_switched"]), (1, 1))
        answer = gate.ask("POST", "/-/reload?accept=1")
        self.assertEqual(answer.status, 202, answer)
        self.assertEqual(answer.json()["pools"][0]["generation"], 3)
        self.wait_reload(gate, 3, "done")
        self.assert_problem(gate.ask("POST", "/-/reload?accept=yes"), 400, "bad-query")
        self.assert_problem(gate.ask("POST", "/-/pools/nobody/reload"), 404, "no-pool")
        text = self.order(gate, "reload", "--no-wait")
        self.assertIn("pool default: reload 4 is under way", text)
        self.wait_reload(gate, 4, "done")
        self.assertIn("there is no pool", self.order(gate, "reload", "nobody", code=1))

    def test_skip_attached_workers(self):
        worker = self.plain_worker()
        gate = self.gate([worker])
        self.assert_problem(gate.ask("POST", "/-/pools/default/reload"), 409, "no-reload")
        self.assert_problem(gate.ask("POST", "/-/reload"), 409, "no-reload")
        self.assertIsNone(gate.pool()["reload"])

    def test_find_no_gate(self):
        done = self.command("reload", "--name", "nobody")
        self.assertEqual(done.returncode, 3, done)


if __name__ == "__main__":
    unittest.main()
