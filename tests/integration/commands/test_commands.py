"""Tests commands with a running gate: status, jobs, cancel, key and check; and help, version and wrong usage."""
import json
import unittest

from harness import HERE, Case, WorkerProcess, wait_until
from scripted_worker import echo


class Commands(Case):
    def run_json(self, *arguments):
        done = self.command(*arguments, "--json")
        self.assertEqual(done.returncode, 0, done)
        return json.loads(done.stdout)

    def test_commands_fail_if_no_gate_runs(self):
        for command in (["status"], ["jobs"], ["cancel", "x"], ["status", "--name", "nobody"],
                        ["restart", "0"], ["restart", "all"], ["drain", "0"], ["resume", "0"],
                        ["prove"], ["stacks", "0"], ["down"]):
            done = self.command(*command)
            self.assertEqual(done.returncode, 3, done)
            self.assertEqual(done.stdout, "")
            self.assertTrue(done.stderr)

    def test_version(self):
        text = self.command("version").stdout
        self.assertRegex(text, r"\d+\.\d+\.\d+")
        self.assertIn(self.run_json("version")["version"], text)
        self.assertIn(self.command("--version").stdout.split()[-1], text)

    def test_every_command_has_help_with_an_example(self):
        for command in ("up", "check", "status", "jobs", "cancel", "key", "doctor", "version", "key new",
                        "key list", "key revoke", "restart", "drain", "resume", "prove", "stacks",
                        "down", "logs", "crashes"):
            done = self.command(*command.split(), "--help")
            self.assertEqual((done.returncode, done.stderr), (0, ""), command)
            self.assertIn("Example", done.stdout)
            self.assertIn(f"turnpike {command}", done.stdout)

    def test_wrong_usage_exits_with_2(self):
        for command in (["nonsense"], ["status", "--nonsense"], ["cancel"], ["key"], ["key", "new"],
                        ["jobs", "--last", "many"], ["status", "extra"], ["up", "--port", "70000"],
                        ["up", "--port"], ["key", "new", "bad name!"], ["restart"], ["drain"],
                        ["drain", "x"], ["down", "extra"]):
            done = self.command(*command)
            self.assertEqual(done.returncode, 2, (command, done))
            self.assertTrue(done.stderr, command)

    def test_status_and_jobs_and_cancel(self):
        worker = self.scripted()
        absent = WorkerProcess(self, "plain.py")
        gate = self.gate([worker, absent], is_ready=False)
        gate.wait_ready(1)
        client = gate.connect().request("GET", "/some-path")
        worker.take()
        status = self.run_json("status")
        self.assertEqual([lane["state"] == "busy" for lane in status["lanes"]], [True, False])
        text = self.command("status").stdout
        for word in ("busy", worker.url, absent.url, "default", "refused"):
            self.assertIn(word, text)
        job = self.run_json("jobs")["live"][0]
        self.assertEqual((job["path"], job["state"]), ("/some-path", "running"))
        text = self.command("jobs").stdout
        for word in (job["id"], "/some-path", "running"):
            self.assertIn(word, text)
        self.assertEqual(self.command("cancel", job["id"]).returncode, 0)
        self.assert_problem(client.answer(), 409, "cancelled")
        self.assertEqual(self.command("cancel", "no-such-job").returncode, 1)
        ended = self.run_json("jobs")["ended"]
        self.assertEqual((ended[0]["id"], ended[0]["reason"]), (job["id"], "cancel_asked"))

    def test_several_gates_need_a_name(self):
        gates = [self.gate([self.scripted(echo)]) for _ in range(2)]
        done = self.command("status")
        self.assertNotEqual(done.returncode, 0)
        for gate in gates:
            self.assertIn(gate.name, done.stderr)
            gate.ask("GET", "/")
            shown = self.run_json("status", "--name", gate.name)
            self.assertEqual(shown["pools"][0]["jobs"]["finished"], 1)
        self.assertEqual(self.stop(gates[0]), 0)
        self.assertEqual(self.command("status").returncode, 0)

    def test_a_killed_gate_is_not_taken_for_a_running_one(self):
        gate = self.gate([self.scripted(echo)])
        gate.process.kill()
        self.assertEqual(self.command("status").returncode, 3)

    def test_the_commands_need_no_key(self):
        self.assertEqual(self.command("key", "new", "x").returncode, 0)
        self.addCleanup(self.command, "key", "revoke", "x")
        gate = self.gate([self.scripted(echo)], is_ready=False)
        self.assertEqual(gate.ask("GET", "/-/status").status, 401)
        wait_until(lambda: self.run_json("status")["ready"], "the gate is ready")
        self.assertEqual(self.command("jobs").returncode, 0)

    def test_the_socket_is_for_its_owner_alone(self):
        gate = self.gate([self.scripted(echo)])
        sockets = [path for path in (self.folder / "xdg_runtime_dir").rglob("*")
                   if path.is_socket() and path.parent.name == gate.name]
        self.assertEqual(len(sockets), 1)
        self.assertEqual(sockets[0].stat().st_mode & 0o777, 0o600)
        for folder in list(sockets[0].parents)[:2]:
            self.assertEqual(folder.stat().st_mode & 0o077, 0, folder)
        self.assertEqual(self.stop(gate), 0)
        self.assertFalse(sockets[0].exists())

    def test_a_second_key_with_the_same_name_is_refused(self):
        self.assertEqual(self.command("key", "new", "twice").returncode, 0)
        self.addCleanup(self.command, "key", "revoke", "twice")
        done = self.command("key", "new", "twice")
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertEqual(self.command("key", "revoke", "nobody").returncode, 1)
        self.assertEqual([key["name"] for key in self.run_json("key", "list")], ["twice"])

    def test_check(self):
        good = self.write_config('[pool.default]\nattach = ["http://127.0.0.1:1"]\n')
        done = self.command("check", str(good))
        self.assertEqual(done.returncode, 0, done)
        self.assertIn("http://127.0.0.1:1", done.stdout)
        bad = self.write_config('[pool.default]\nattach = ["http://127.0.0.1:1"]\nslots = 0\n'
                                'cancel = "perhaps"\n')
        done = self.command("check", str(bad))
        self.assertEqual(done.returncode, 2, done)
        self.assertIn(f"{bad}:3: pool.default.slots", done.stderr)
        self.assertIn(f"{bad}:4: pool.default.cancel", done.stderr)

    def test_check_of_workers_to_start(self):
        flags = ["--worker", "serve {port}", "--gpus", "none", "--lanes", "2"]
        done = self.command("check", *flags)
        self.assertEqual(done.returncode, 0, done)
        self.assertIn("starts serve {port}\n  lane 0  CPU\n  lane 1  CPU\n", done.stdout)
        pool = self.run_json("check", *flags)["pools"][0]
        self.assertEqual(pool["worker"], "serve {port}")
        self.assertEqual(pool["lanes"], [{"lane": 0, "gpus": []}, {"lane": 1, "gpus": []}])
        done = self.command("check", "--worker", "serve {port}", "--gpus", "GPU-no-such")
        self.assertEqual(done.returncode, 2, done)
        self.assertIn("--gpus: there is no GPU", done.stderr)
        done = self.command("check")
        self.assertEqual(done.returncode, 2, done)
        self.assertIn("turnpike up --worker", done.stderr)
        self.assertIn("turnpike up --attach", done.stderr)

    def test_the_example_config_is_what_check_prints(self):
        done = self.command("check", "--example")
        example = (HERE.parents[1] / "config" / "turnpike.example.toml").read_text()
        self.assertEqual(done.stdout, example)
        self.assertEqual(self.command("check", str(self.write_config(done.stdout))).returncode, 0)


if __name__ == "__main__":
    unittest.main()
