"""Tests how Turnpike starts HTTP workers: the command, the environment of the process, and the order of loading."""
import os
import resource
import time
import unittest

from harness import PYTHON, wait_until
from started_case import SOCKET_WORKER, WORKER, StartedCase

UVICORN = """
import fastapi, os
app = fastapi.FastAPI()

@app.get("/health")
def health(): return {}

@app.post("/predict")
def predict(task: dict): return {"twice": 2 * task["x"], "lane": os.environ["TURNPIKE_LANE"]}
"""


class Uvicorn(StartedCase):
    def serve(self, place):
        folder = self.folder_for("app")
        (folder / "app.py").write_text(UVICORN)
        command = f"{PYTHON} -m uvicorn app:app {place}"
        (folder / "turnpike.toml").write_text(self.config(command, {"lanes": 2}))
        gate = self.start(str(folder)).wait_ready()
        for lane in (0, 1):
            answer = gate.post({"x": 21}, headers=[("Turnpike-Lane", str(lane))])
            self.assertEqual(answer.json(), {"twice": 42, "lane": str(lane)})
        return gate

    def test_on_a_port(self):
        gate = self.serve("--port {port}")
        self.wait_line(gate, "Uvicorn running on http://127.0.0.1:")

    def test_on_a_unix_socket(self):
        gate = self.serve("--uds {socket}")
        self.wait_line(gate, "Uvicorn running on unix socket")


class Command(StartedCase):
    def test_from_the_command_line_with_every_word(self):
        words = "{port} lane={lane} gpu={gpu} gpus={gpus} other={other} ${HOME}"
        gate = self.start("--worker", WORKER.replace("{port}", words),
                          "--gpus", "none", "--lanes", "2").wait_ready()
        for lane in (0, 1):
            facts = self.facts(gate, lane)
            home = self.env["HOME"]
            self.assertEqual(facts["words"][1:], [f"lane={lane}", "gpu=cpu", "gpus=cpu",
                                                  "other={other}", home])
            self.assertEqual(facts["folder"], str(self.folder), "the folder must be the one where `up` was called")
            self.assertEqual(gate.lane(lane)["pid"], facts["pid"], "there must be no shell between guard and worker")

    def test_four_cpu_lanes_by_default(self):
        self.env = {**type(self).env, "CUDA_VISIBLE_DEVICES": ""}
        gate = self.start("--worker", WORKER).wait_ready()
        self.assertEqual(len(gate.status()["lanes"]), 4)
        self.assertEqual(len({self.facts(gate, lane)["words"][0] for lane in range(4)}), 4,
                         "each lane must have its own port")

    def test_a_shell_line_is_run_as_one(self):
        gate = self.up(f"A=1; export A; cd /; {WORKER} say=one && echo never")
        facts = self.facts(gate)
        self.assertEqual((facts["env"]["A"], facts["folder"]), ("1", "/"))

    def test_no_shell_stays_above_one_program_however_it_is_written(self):
        home = self.env["HOME"]
        for before, variables in (("", {}), ("exec ", {}), ("A=1 exec ", {"A": "1"}),
                                  ("A=1 B='p q' ", {"A": "1", "B": "p q"}),
                                  ("A=~/x ", {"A": f"{home}/x"})):
            gate = self.up(before + WORKER)
            facts = self.facts(gate)
            self.assertEqual({name: facts["env"].get(name) for name in variables}, variables)
            self.assertEqual(facts["pid"], gate.lane(0)["pid"], before)

    def test_a_command_that_needs_a_shell_is_run_by_a_shell(self):
        gate = self.up(f"A=`echo one two` {WORKER}")
        self.assertEqual(self.facts(gate)["env"]["A"], "one two")

    def test_a_socket_worker_answers_and_its_socket_is_gone_with_it(self):
        gate = self.up(SOCKET_WORKER)
        path = self.facts(gate)["words"][0]
        self.assertEqual(os.stat(os.path.dirname(path)).st_mode & 0o777, 0o700)
        self.assertEqual(self.stop(gate), 0)
        self.assertFalse(os.path.exists(path))

    def test_the_folder_is_that_of_the_config_file(self):
        folder = self.folder_for("place")
        (folder / "turnpike.toml").write_text(self.config())
        gate = self.start(str(folder / "turnpike.toml")).wait_ready()
        self.assertEqual(self.facts(gate)["folder"], str(folder))

    def test_a_command_without_port_or_socket_is_refused(self):
        done = self.command("up", "--worker", "sleep 1", "--port", "0")
        self.assertEqual(done.returncode, 2)
        self.assertIn("{port}", done.stderr)


class Environment(StartedCase):
    def test_environment(self):
        self.env = {**type(self).env, "HF_TOKEN": "hf_x", "TURNPIKE_KEY": "secret", "WHO": "up"}
        gate = self.up(pool={"lanes": 2, "env.WHO": "pool", "env.HF_HOME": "/data/h f"})
        runs = set()
        for lane in (0, 1):
            env = self.facts(gate, lane)["env"]
            self.assertEqual((env["TURNPIKE_LANE"], env["TURNPIKE_POOL"]), (str(lane), "default"))
            self.assertEqual((env["HF_TOKEN"], env["WHO"], env["HF_HOME"]),
                             ("hf_x", "pool", "/data/h f"))
            self.assertNotIn("secret", str(env))
            self.assertEqual(env["PYTHONUNBUFFERED"], "1")
            runs.add(env["TURNPIKE_RUN"])
        self.assertEqual(len(runs), 1)

    def test_no_descriptor_of_the_gate_and_an_empty_stdin(self):
        gate = self.up(pool={"lanes": 2})
        client = gate.connect()  # a descriptor that the worker could wrongly inherit
        for lane in (0, 1):
            self.order(gate, "restart", str(lane))
            gate.wait_ready()
            facts = self.facts(gate, lane)
            files = facts["files"]
            self.assertEqual(facts["stdin"], "")
            self.assertEqual(files.pop("0"), "/dev/null")
            self.assertEqual([files.pop(name).split(":")[0] for name in "12"], ["pipe", "pipe"])
            kinds = sorted(path.split(":")[0] for path in files.values())
            self.assertLessEqual(set(kinds), {"socket", f"/proc/{facts['pid']}/fd"})
            # the worker's listener, and the connections that the gate made to it
            links = [name for name in files if files[name].startswith("socket")]
            self.assertLessEqual(len(links), 4, facts["files"])
        client.close()

    def test_signals_and_session_are_a_fresh_process_s(self):
        facts = self.facts(self.up())
        self.assertEqual(facts["blocked"], [])
        # Python itself ignores SIGPIPE and SIGXFSZ
        self.assertLessEqual(set(facts["ignored"]), {13, 25})
        self.assertEqual((facts["group"], facts["session"]), (facts["pid"], facts["pid"]))

    def test_the_limit_of_open_files_is_the_callers(self):
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        mine = 700
        resource.setrlimit(resource.RLIMIT_NOFILE, (mine, hard))
        self.addCleanup(resource.setrlimit, resource.RLIMIT_NOFILE, (soft, hard))
        gate = self.up()
        self.assertEqual(self.facts(gate)["open_files"], mine)


class Loading(StartedCase):
    def test_all_lanes_load_at_once(self):
        # No worker listens before all four have started.
        folder = self.folder_for("gather")
        gate = self.up(self.worker_command(f"gather={folder},4"), pool={"lanes": 4})
        for lane in gate.status()["lanes"]:
            start = lane["start"]
            for part in ("spawn_ms", "listen_ms", "load_ms"):
                self.assertGreaterEqual(start[part], 0, lane)
            self.assertEqual((start["proof_ms"], lane["starting_s"], lane["reason"]),
                             (None, None, None))
        output = wait_until(lambda: "all lanes serve" in gate.process.output() and
                            gate.process.output(), "`up` says that all lanes serve")
        for lane in range(4):
            self.assertRegex(output, rf"lane {lane} serves after .* \(spawn .* \+ listen .* \+ load")

    def test_the_first_job_is_timed_too(self):
        gate = self.up()
        self.assertIsNone(gate.lane(0)["start"]["first_job_ms"])
        self.assertNotIn("first job", self.order(gate, "status"))
        future, go = self.begin_job(gate)
        begun = time.monotonic()
        wait_until(lambda: time.monotonic() - begun > 0.05, "the job has run for a while")
        go.touch()
        self.assertEqual(future.result().status, 200)
        first = gate.lane(0)["start"]["first_job_ms"]
        self.assertGreaterEqual(first, 50)
        self.facts(gate)
        self.assertEqual(gate.lane(0)["start"]["first_job_ms"], first, "only the first job is timed")
        self.assertRegex(self.order(gate, "status"),
                         r"default starts: spawn .*, listen .*, load .*, first job \d")
        log = self.order(gate, "logs", "0")
        self.assertEqual(log.count(f"first job took {round(first)} ms"), 1, log)

    def test_lanes_load_one_at_a_time_if_the_config_says_so(self):
        folder = self.folder_for("turns")
        gate = self.up(self.worker_command(f"turns={folder}", f"until={folder}/go"), pool={"lanes": 3},
                       top={"load_parallel": 1}, is_ready=False)
        wait_until(lambda: list(folder.glob("*.begin")), "the first lane begins to load")
        waiting = [lane for lane in gate.status()["lanes"] if lane["reason"] == "turn_to_load"]
        self.assertEqual(len(waiting), 2, gate.status()["lanes"])
        self.assertEqual({lane["pid"] for lane in waiting}, {None})
        (folder / "go").touch()
        gate.wait_ready()
        turns = sorted((int((folder / f"{lane}.begin").read_text()),
                        int((folder / f"{lane}.end").read_text())) for lane in range(3))
        for (_, end), (begin, _) in zip(turns, turns[1:]):
            self.assertLess(end, begin, "two lanes loaded at the same time")

    def test_the_output_of_a_loading_worker_is_shown(self):
        go = self.folder_for("go") / "go"
        gate = self.up(self.worker_command("say=Loading weights 1/2", f"until={go}"), is_ready=False)
        lane = self.wait_lane_where(gate, 0, lambda lane: lane["last_line"], "the worker has printed a line")
        self.assertEqual((lane["state"], lane["last_line"]), ("loading", "Loading weights 1/2"))
        self.assertGreaterEqual(lane["starting_s"], 0)
        self.assertGreater(lane["pid"], 0)
        self.assertIn("Loading weights 1/2", self.order(gate, "status"))
        waiting = self.in_thread(gate.post, {})
        gate.wait_queued(1)
        go.touch()
        self.assertEqual(waiting.result().status, 200)

    def test_a_proof_comes_before_the_first_job(self):
        gate = self.up(sections={"pool.default.proof": {"request": "POST /prove", "body": "12345",
                                                        "status": 200, "agree": True}},
                       pool={"lanes": 1})
        self.assertIsNotNone(gate.lane(0)["start"]["proof_ms"])
        self.assertEqual(gate.pool()["proof"], "passed")


if __name__ == "__main__":
    unittest.main()
