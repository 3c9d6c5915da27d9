"""Tests the start of a gate: it clearly refuses a wrong config or a taken port or name, and it waits for workers that are
not there yet."""
import re
import socket
import subprocess
import unittest

from harness import TURNPIKE, Case, WorkerProcess, wait_until
from scripted_worker import echo


class Refusals(Case):
    def assert_refused(self, arguments, code, *words):
        process = self.spawn_up(arguments)
        self.assertEqual(process.wait(), code, process.output())
        for word in words:
            self.assertRegex(process.output(), word)
        self.assertNotIn("serving", process.output())
        return process.output()

    def test_all_mistakes_of_a_config_are_reported_at_once_with_their_lines(self):
        path = self.write_config('[gate]\n'
                                 'listen = "nowhere"\n'
                                 'body_max = "many"\n'
                                 'colour = "red"\n'
                                 '[queue]\n'
                                 'jobs_max = -1\n'
                                 'wait_max = 5\n'
                                 '[pool.default]\n'
                                 'attach = ["ftp://x"]\n'
                                 'slots = 0\n')
        output = self.assert_refused([str(path)], 2)
        for line, key in ((2, "gate.listen"), (3, "gate.body_max"), (4, "gate.colour"),
                          (6, "queue.jobs_max"), (7, "queue.wait_max"), (9, "pool.default.attach"),
                          (10, "pool.default.slots")):
            self.assertRegex(output, rf"(?m)^{re.escape(str(path))}:{line}: {re.escape(key)}")

    def test_a_file_that_is_not_toml(self):
        path = self.write_config('[gate]\nlisten = \n')
        self.assert_refused([str(path)], 2, rf"{re.escape(str(path))}:2")

    def test_a_file_that_is_not_there(self):
        self.assert_refused([str(self.folder / "no.toml")], 2, "no.toml")

    def test_no_pool_at_all(self):
        self.assert_refused([str(self.write_config("[gate]\n"))], 2, "--attach")

    def test_an_attach_flag_that_is_no_url(self):
        self.assert_refused(["--attach", "not a url"], 2, "--attach")

    def test_an_unknown_flag(self):
        self.assert_refused(["--attach", "http://127.0.0.1:1", "--no-such-flag"], 2,
                            "no-such-flag")

    def test_an_unknown_command(self):
        self.assertEqual(self.command("upp").returncode, 2)

    def test_no_command(self):
        done = self.command()
        self.assertEqual(done.returncode, 2)
        self.assertIn("up", done.stdout + done.stderr)

    def test_a_taken_port(self):
        with socket.create_server(("127.0.0.1", 0)) as taken:
            port = taken.getsockname()[1]
            self.assert_refused(["--attach", "http://127.0.0.1:1", "--port", str(port)], 1,
                                str(port), "in use|taken")

    def test_a_taken_name(self):
        worker = self.scripted()
        first = self.start_gate(["--attach", worker.url, "--name", "taken"])
        self.assert_refused(["--attach", worker.url, "--name", "taken"], 1, "taken")
        self.assertEqual(first.ask("GET", "/-/healthz").status, 200)
        self.assertEqual(self.stop(first), 0)
        self.start_gate(["--attach", worker.url, "--name", "taken"])  # the name is free again

    def test_a_name_is_free_after_kill_9(self):
        worker = self.scripted()
        self.start_gate(["--attach", worker.url, "--name", "killed"]).process.kill()
        self.start_gate(["--attach", worker.url, "--name", "killed"])

    def test_a_spool_that_is_no_folder(self):
        config = self.folder / "spool.toml"
        config.write_text('[gate]\nspool = "/dev/null/x"\n[pool.a]\nattach = ["http://127.0.0.1:9"]\n')
        done = self.command("up", str(config))
        self.assertEqual(done.returncode, 2)
        self.assertIn("gate.spool", done.stderr)

    def test_a_log_file_that_cannot_be_written(self):
        self.assert_refused(["--attach", "http://127.0.0.1:1", "--log-jobs",
                             str(self.folder / "no-folder" / "log")], 1, "no-folder")

    def test_a_gate_goes_on_when_nobody_reads_its_output(self):
        """A gate must not stop serving because its stdout was closed."""
        worker = self.scripted(echo)
        port = socket.create_server(("127.0.0.1", 0))
        number = port.getsockname()[1]
        port.close()
        process = subprocess.Popen(
            [TURNPIKE, "up", "--attach", worker.url, "--port", str(number), "--name", "mute"],
            env=self.env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        process.stdout.readline()
        process.stdout.close()

        def answers():
            with socket.create_connection(("127.0.0.1", number)) as client:
                client.sendall(b"POST / HTTP/1.0\r\nHost: localhost\r\nContent-Length: 2\r\n\r\nok")
                return client.makefile("rb").read().endswith(b"ok")
        wait_until(answers, "the gate serves")
        worker.die()
        worker.revive()
        wait_until(answers, "the gate serves after it had something to print")


class Absent(Case):
    def test_flags_alone_are_enough(self):
        workers = [self.scripted(echo), self.scripted(echo)]
        gate = self.start_gate(["--attach", workers[0].url, "--attach", workers[1].url])
        gate.wait_ready()
        self.assertEqual(len(gate.status()["lanes"]), 2)
        self.assertEqual(gate.ask("POST", "/", b"x").body, b"x")

    def test_jobs_wait_for_a_worker_that_is_not_there_yet(self):
        absent = WorkerProcess(self, "plain.py")
        gate = self.gate([absent], is_ready=False)
        self.assertEqual(gate.ask("GET", "/-/healthz").status, 200)
        self.assertEqual(gate.ask("GET", "/-/readyz").status, 503)
        lane = wait_until(lambda: gate.lane(0)["trouble"] and gate.lane(0), "status gives the reason")
        self.assertIn("refused", lane["trouble"])
        self.assertNotIn(lane["state"], ("ready", "busy"))
        self.assertFalse(gate.status()["ready"])
        wait_until(lambda: "lane 0 waits for its worker" in gate.process.output(), "`up` says that the lane waits")
        waiting = [self.in_thread(gate.post, {"id": i}) for i in range(5)]
        gate.wait_queued(5)
        absent.start()
        self.assertEqual([answer.result().json()["id"] for answer in waiting], list(range(5)))
        self.assertEqual(gate.ask("GET", "/-/readyz").status, 200)
        self.assertIsNone(gate.lane(0)["trouble"])
        wait_until(lambda: "lane 0 serves" in gate.process.output(), "`up` says that the lane serves")

    def test_a_name_that_does_not_exist(self):
        gate = self.start_gate(["--attach", "http://no-such-host.invalid:80"])
        lane = wait_until(lambda: gate.lane(0)["trouble"] and gate.lane(0), "status gives the reason")
        self.assertIn("no-such-host.invalid", lane["trouble"])
        self.assertEqual(gate.ask("GET", "/-/readyz").status, 503)

    def test_one_of_two_pools_is_not_ready(self):
        absent = WorkerProcess(self, "plain.py")
        gate = self.gate(is_ready=False, sections={
            "pool.here": {"attach": [self.scripted(echo).url]},
            "pool.away": {"attach": [absent.url]}})
        gate.wait_ready(1)
        answer = gate.ask("GET", "/-/readyz")
        self.assertEqual(answer.status, 503)
        self.assertIn(b"away", answer.body)
        self.assertNotIn(b"here", answer.body)
        self.assertEqual(gate.ask("POST", "/-/to/here/", b"x").body, b"x")

    def test_a_job_that_waits_too_long_gets_503(self):
        absent = WorkerProcess(self, "plain.py")
        gate = self.gate([absent], is_ready=False, queue={"wait_max": "300ms"})
        answer = gate.ask("GET", "/")
        self.assert_problem(answer, 503, "waited-too-long")
        self.assertGreaterEqual(int(answer.header("retry-after")), 1)

    def test_a_worker_behind_a_prefix(self):
        worker = self.scripted()
        worker.behave = lambda request: request.reply(request.target.encode())
        gate = self.start_gate(["--attach", worker.url + "/some/prefix"])
        answer = gate.ask("GET", "/predict?x=1")
        self.assertEqual(answer.body, b"/some/prefix/predict?x=1")


if __name__ == "__main__":
    unittest.main()
