"""Tests orders to a running gate, by route and by command: restart, drain, resume, prove, stacks and down."""
import fcntl
import json
import os
import signal
import socket
import unittest

from harness import Case, numbers, wait_until
from scripted_worker import echo


class Orders(Case):
    def order(self, gate, *arguments):
        done = self.command(*arguments, "--name", gate.name)
        self.assertEqual((done.returncode, done.stderr), (0, ""), done)
        return done.stdout

    def test_a_drained_lane_finishes_its_job_and_takes_no_more_until_it_is_resumed(self):
        worker = self.scripted()
        gate = self.gate([worker])
        client = gate.connect().request("GET", "/running")
        running = worker.take()
        self.assertIn("turnpike resume 0", self.order(gate, "drain", "0"))
        gate.wait_lane(0, "draining")
        running.reply(b"done")
        self.assertEqual(client.answer().body, b"done")
        self.assertEqual(gate.wait_lane(0, "drained")["reason"], "drain_asked")
        self.order(gate, "drain", "0")  # a second drain is no error
        self.assert_problem(gate.ask("GET", "/refused"), 503, "no-lane")
        self.assertIn("lane 0", self.order(gate, "resume", "0"))
        gate.wait_ready()
        worker.behave = echo
        self.assertEqual(gate.ask("POST", "/", b"x").body, b"x")
        self.order(gate, "resume", "0")

    def test_other_lanes_go_on_while_one_is_drained(self):
        workers = [self.scripted(echo), self.scripted(echo)]
        gate = self.gate(workers)
        self.order(gate, "drain", "0")
        gate.wait_lane(0, "drained")
        for _ in range(5):
            self.assertEqual(gate.ask("POST", "/", b"x").header("turnpike-lane"), "1")

    def test_a_restart_waits_for_the_jobs_and_opens_new_connections(self):
        worker = self.scripted()
        gate = self.gate([worker])
        client = gate.connect().request("GET", "/running")
        running = worker.take()
        self.assertIn("then starts again", self.order(gate, "restart", "0"))
        lane = gate.wait_lane(0, "draining")
        self.assertEqual((lane["reason"], lane["aboard"]), ("restart_asked", 1))
        running.reply(b"done")
        self.assertEqual(client.answer().body, b"done")
        gate.wait_ready()
        worker.behave = echo
        self.assertEqual(gate.ask("POST", "/", b"x").body, b"x")

    def test_a_restart_of_a_pool_and_of_all(self):
        gate = self.gate(sections={
            "pool.a": {"attach": [self.scripted(echo).url, self.scripted(echo).url], "default": True},
            "pool.b": {"attach": [self.scripted(echo).url]}})
        self.assertIn("pool a: lanes 0, 1 finish their jobs", self.order(gate, "restart", "a"))
        gate.wait_ready()
        self.assertEqual(json.loads(self.order(gate, "restart", "b", "--json")),
                         {"pool": "b", "asked": "restart", "lanes": [2]})
        asked = json.loads(self.order(gate, "restart", "all", "--json"))
        self.assertEqual([pool["lanes"] for pool in asked], [[0, 1], [2]])
        gate.wait_ready()
        self.assertEqual(gate.ask("POST", "/", b"x").body, b"x")

    def test_prove(self):
        worker = self.scripted(echo)
        gate = self.gate([worker], proof={"request": "POST /prove", "body": "7", "expect": "7"})
        before = worker.seen.count("POST /prove")
        self.assertIn("passed by what the configuration expects", self.order(gate, "prove"))
        self.assertGreater(worker.seen.count("POST /prove"), before)
        self.assertIn("lane 0 answers 200", self.order(gate, "prove", "default"))

    def test_prove_without_a_proof(self):
        gate = self.gate([self.scripted(echo)])
        for words in (["prove"], ["prove", "default"]):
            done = self.command(*words)
            self.assertEqual((done.returncode, done.stdout), (1, ""), done)
            self.assertIn("proof", done.stderr)
        self.assert_problem(gate.ask("POST", "/-/pools/default/prove"), 409, "no-proof")

    def test_unknown_lanes_and_pools_are_refused_with_a_list_of_those_that_exist(self):
        gate = self.gate([self.scripted(echo)])
        for route in ("lanes/1/restart", "lanes/x/drain", "lanes/-1/resume", "lanes/9/stacks"):
            answer = gate.ask("POST", "/-/" + route)
            self.assert_problem(answer, 404, "unknown-lane")
            self.assertEqual(answer.json()["detail"], "There is lane 0.")
        answer = gate.ask("POST", "/-/pools/nobody/restart")
        self.assert_problem(answer, 404, "no-pool")
        self.assertIn("default", answer.json()["detail"])
        for words in (["drain", "1"], ["resume", "7"], ["restart", "3"], ["restart", "nobody"],
                      ["stacks", "1"], ["prove", "nobody"]):
            done = self.command(*words)
            self.assertEqual((done.returncode, done.stdout), (1, ""), done)
            self.assertTrue(done.stderr)
        for words in (["drain", "default"], ["restart", "No Name"], ["stacks", "x"]):
            self.assertEqual(self.command(*words).returncode, 2, words)

    def test_orders_are_for_admins(self):
        plain = self.command("key", "new", "plain").stdout.strip()
        admin = self.command("key", "new", "boss", "--admin").stdout.strip()
        for name in ("plain", "boss"):
            self.addCleanup(self.command, "key", "revoke", name)
        gate = self.gate([self.scripted(echo)], is_ready=False)
        def order(key):
            return gate.ask("POST", "/-/lanes/0/restart", headers=[("Authorization", f"Bearer {key}")])
        self.assert_problem(order(plain), 403, "not-permitted")
        self.assert_problem(gate.ask("POST", "/-/lanes/0/restart"), 401, "no-key")
        self.assertEqual(order(admin).status, 202)

    def test_orders_need_post(self):
        gate = self.gate([self.scripted(echo)])
        answer = gate.ask("GET", "/-/lanes/0/restart")
        self.assert_problem(answer, 405, "method-not-allowed")
        self.assertEqual(answer.header("allow"), "POST")

    def test_stacks_of_an_attached_worker_are_refused(self):
        gate = self.gate([self.scripted(echo)])
        self.assert_problem(gate.ask("POST", "/-/lanes/0/stacks"), 409, "no-stacks")
        self.assertEqual(self.command("stacks", "0").returncode, 1)


class Down(Case):
    def busy_gate(self):
        worker = self.scripted()
        gate = self.gate([worker])
        client = gate.connect().request("GET", "/running")
        return gate, client, worker.take()

    def start_down(self, *flags):
        return self.popen("down", *flags)

    def wait_stopping(self, gate):
        wait_until(lambda: "stopping" in gate.process.output(), "the gate begins to stop")

    def test_an_idle_gate_is_gone_when_down_returns(self):
        gate = self.gate([self.scripted(echo)])
        done = self.command("down")
        self.assertEqual((done.returncode, done.stderr), (0, ""), done)
        self.assertIn("is down", done.stdout)
        self.assertEqual(gate.process.popen.poll(), 0, "the gate must have ended with 0")
        self.assertEqual(self.command("down").returncode, 3)

    def test_down_prints_facts_as_json(self):
        gate = self.gate([self.scripted(echo)])
        facts = json.loads(self.command("down", "--json").stdout)
        self.assertEqual((facts["gate"], facts["pid"]), (gate.name, gate.process.pid))

    def test_down_waits_for_jobs_and_says_so(self):
        gate, client, running = self.busy_gate()
        down = self.start_down()
        self.assertIn("waits for 1 job", down.stderr.readline())
        self.assertIsNone(down.poll())
        running.reply(b"done")
        self.assertEqual(client.answer().body, b"done")
        self.assertEqual(down.wait(30), 0)
        self.assertEqual(gate.process.wait(), 0)

    def test_a_second_down_does_not_hurry_it(self):
        gate, client, running = self.busy_gate()
        first = self.start_down()
        self.wait_stopping(gate)
        second = self.start_down()
        self.assertIn("waits for 1 job", second.stderr.readline())
        self.assertTrue(gate.process.is_running())
        running.reply(b"done")
        self.assertEqual(client.answer().body, b"done")
        self.assertEqual((first.wait(30), second.wait(30)), (0, 0))

    def test_interrupting_down_does_not_stop_the_shutdown(self):
        gate, client, running = self.busy_gate()
        down = self.start_down()
        self.wait_stopping(gate)
        down.send_signal(signal.SIGINT)
        self.assertEqual(down.wait(30), -signal.SIGINT)
        self.assertTrue(gate.process.is_running())
        running.reply(b"done")
        self.assertEqual(client.answer().body, b"done")
        self.assertEqual(gate.process.wait(), 0)

    def test_down_now_does_not_wait(self):
        for is_second in (False, True):
            gate, client, running = self.busy_gate()
            if is_second:
                self.start_down()
                self.wait_stopping(gate)
            done = self.command("down", "--now", deadline_s=10)
            self.assertEqual(done.returncode, 0, done)
            self.assertEqual(gate.process.wait(), 0)
            self.assertIn("stopping at once", gate.process.output())

    def test_only_the_named_gate_ends(self):
        gates = [self.gate([self.scripted(echo)]) for _ in range(2)]
        self.assertEqual(self.command("down").returncode, 2, "with two gates, a name is needed")
        self.assertEqual(self.command("down", "--name", gates[0].name).returncode, 0)
        self.assertEqual(gates[0].process.wait(), 0)
        self.assertEqual(gates[1].ask("GET", "/-/healthz").status, 200)

    def test_a_pid_in_a_lock_that_nobody_holds_is_left_alone(self):
        folder = self.folder / "xdg_runtime_dir" / "turnpike" / "dead"
        folder.mkdir(parents=True, mode=0o700, exist_ok=True)
        folder.parent.chmod(0o700)
        (folder / "lock").write_text(f"{os.getpid()}\n")
        self.assertEqual(self.command("down", "--name", "dead").returncode, 3)


class Stacks(Case):
    """The test plays the gate, because a real gate gives stacks only of workers that it started."""

    def play_gate(self, pages):
        """Plays a gate: holds its lock, and answers each request for a log with the next of `pages`. Returns its name."""
        folder = self.folder / "xdg_runtime_dir" / "turnpike" / f"played-{next(numbers)}"
        folder.mkdir(parents=True, mode=0o700)
        folder.parent.chmod(0o700)
        lock = open(folder / "lock", "w+")
        self.addCleanup(lock.close)
        fcntl.flock(lock, fcntl.LOCK_EX)
        print(os.getpid(), file=lock, flush=True)
        listener = socket.socket(socket.AF_UNIX)
        self.addCleanup(listener.close)
        listener.bind(str(folder / "socket"))
        listener.listen()
        self.addCleanup(listener.shutdown, socket.SHUT_RDWR)  # wakes the thread in accept()
        self.seen = []
        self.in_thread(self.answer, listener, list(pages))
        return folder.name

    def answer(self, listener, pages):
        while True:
            connection, _ = listener.accept()
            with connection:
                line = connection.recv(65536).decode().split("\r\n")[0]
                self.seen.append(line.removesuffix(" HTTP/1.1"))
                page = {"lane": 0, "asked": "stacks"}
                if line.startswith("GET"):
                    page = pages.pop(0) if len(pages) > 1 else pages[0]
                body = json.dumps(page).encode()
                connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body))

    def page(self, newest, *lines):
        return {"lane": 0, "newest": newest,
                "lines": [{"number": 1, "time": "", "stream": stream, "text": text}
                          for stream, text in lines]}

    def test_log_lines_after_the_request_are_printed_until_no_more_come(self):
        pages = [self.page(7, ("stacks", "of long ago")), self.page(7), self.page(8, ("err", "noise")),
                 self.page(9, ("stacks", "Thread 1")), self.page(11, ("stacks", "  predict\x1b[2J")),
                 self.page(11)]
        name = self.play_gate(pages)
        done = self.command("stacks", "0", "--name", name)
        self.assertEqual((done.returncode, done.stdout, done.stderr),
                         (0, "Thread 1\n  predict?[2J\n", ""))
        self.assertEqual(self.seen[:6], [
            "GET /-/lanes/0/log?after=0", "POST /-/lanes/0/stacks", "GET /-/lanes/0/log?after=7",
            "GET /-/lanes/0/log?after=7", "GET /-/lanes/0/log?after=8", "GET /-/lanes/0/log?after=9"])
        name = self.play_gate(pages)
        facts = json.loads(self.command("stacks", "0", "--json", "--name", name).stdout)
        self.assertEqual(facts, {"lane": 0, "stacks": ["Thread 1", "  predict?[2J"]})

    def test_the_command_says_so_if_no_stacks_come(self):
        done = self.command("stacks", "0", "--name", self.play_gate([self.page(7)]))
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertIn("turnpike logs 0", done.stderr)


if __name__ == "__main__":
    unittest.main()
