"""Tests that no process is left when a gate is told to stop: under load, while loading, after a second
signal, and in the background."""
import json
import os
import signal
import time
import unittest

from client import Truncated
from harness import POOL, STARTED, Gate, Port, toml, wait_until
from process_tree import OrdinaryUser, ProcessTreeCase


class Signals(ProcessTreeCase):
    def go_on_asking(self, gate, number, answered):
        """Sends requests until the gate accepts no more. Every accepted request must be answered."""
        for i in range(10 ** 6):
            body = f"{number}-{i}".encode()
            try:
                client = gate.connect()
            except OSError:
                return
            with client:
                try:
                    client.request("POST", "/after/20", body, [("Connection", "close")])
                    answer = client.answer()
                except (Truncated, OSError) as error:
                    # The request was not accepted, so there must be no byte of an answer.
                    self.assertFalse(getattr(error, "so_far", b""))
                    return
            if answer.status == 503:
                return self.assert_problem(answer, 503, "shutting-down")
            self.assertEqual((answer.status, answer.body), (200, body))
            answered.append(body)

    def test_sigterm_under_load(self):
        for habits in ("daemon,session", "stubborn,crowd-forking"):
            gate = self.gate_with_children(habits, "--log-jobs", str(self.folder / f"{habits}.jsonl"),
                                           stop_grace="200ms")
            answered = []
            asking = [self.in_thread(self.go_on_asking, gate, i, answered) for i in range(12)]
            wait_until(lambda: len(answered) > 30, "the clients have got many answers")
            self.assertEqual(self.stop(gate), 0)
            self.wait_for_no_process()
            for client in asking:
                client.result(30)
            log = (self.folder / f"{habits}.jsonl").read_text().splitlines()
            self.assertEqual(sum('"finished"' in line for line in log), len(answered))

    def test_queued_jobs_are_answered_too(self):
        gate = self.gate_with_children("daemon", lanes=1)
        asked = [gate.connect().request("POST", "/after/50", b"%d" % i) for i in range(8)]
        gate.wait_queued(7)
        gate.process.signal(signal.SIGTERM)
        for i, client in enumerate(asked):
            self.assertEqual((client.answer().body), b"%d" % i)
        self.assertEqual(gate.process.wait(), 0)
        self.wait_for_no_process()

    def test_a_second_signal_ends_the_gate_at_once(self):
        """The gate waits neither for workers that ignore SIGTERM nor for jobs that never end."""
        for number in (signal.SIGINT, signal.SIGTERM):
            gate = self.gate_with_children("stubborn-daemon,stubborn-session", stop_grace="1h",
                                           gate={"shutdown_patience": "1h"})
            held = [gate.connect().request("POST", "/hold", b"x") for _ in range(3)]
            gate.wait_queued(1)
            gate.process.signal(number)
            wait_until(lambda: "stopping" in gate.process.output(), "the gate is stopping")
            self.assertTrue(gate.process.is_running())
            began = time.monotonic()
            gate.process.signal(number)
            self.assertEqual(gate.process.wait(), 0)
            took = self.wait_for_no_process(began)
            print(f"{self.id()}: gone {took:.3f} s after the second signal")
            for client in held:
                self.assert_given_up(client)

    def assert_given_up(self, client):
        """Checks that the client got one error, or that its connection was cut before the first byte of an answer."""
        try:
            answer = client.answer()
        except ConnectionResetError:
            return
        except Truncated as cut:
            return self.assertEqual(cut.so_far, b"")
        slug = "worker-died" if answer.status == 502 else "shutting-down"
        self.assert_problem(answer, 502 if answer.status == 502 else 503, slug)

    def test_closing_the_terminal_acts_like_sigterm(self):
        gate = self.gate_with_children("daemon", lanes=1)
        job = gate.connect().request("POST", "/after/200", b"accepted")
        gate.wait_lane(0, "busy")
        gate.process.signal(signal.SIGHUP)
        self.assertEqual(job.answer().body, b"accepted")
        self.assertEqual(gate.process.wait(), 0)
        self.wait_for_no_process()

    def test_under_nohup_it_goes_on(self):
        config = self.write_config(toml({"pool.default": {
            "worker": self.worker_command(), "gpus": "none", **POOL, **STARTED}}))
        gate = Gate(self, self.spawn("nohup", ["nohup", self.turnpike, "up", str(config), "--port", "0",
                                               "--name", "nohup"]), "").wait_ready()
        gate.process.signal(signal.SIGHUP)
        for guard in self.guards_of(gate):
            os.kill(guard.pid, signal.SIGHUP)
        self.assertEqual(gate.ask("POST", "/after/50", b"goes on").body, b"goes on")
        self.assertNotIn("stopping", gate.process.output())
        self.assertEqual(self.stop(gate), 0)
        self.wait_for_no_process()

    def loading_gate(self, habits, **options):
        for lane in range(2):
            (self.folder / f"{lane}.loading").unlink(missing_ok=True)
        gate = self.gate_with_children(habits, is_ready=False, **options)
        wait_until(lambda: all((self.folder / f"{lane}.loading").exists() for lane in range(2)),
                   "both workers are loading")
        return gate

    def test_sigterm_while_loading(self):
        for habits in ("daemon-loading", "session-stubborn-loading"):
            gate = self.loading_gate(habits, stop_grace="200ms")
            self.assertEqual(self.stop(gate), 0)
            self.wait_for_no_process()

    def test_a_second_signal_while_loading_ends_the_gate_at_once(self):
        gate = self.loading_gate("stubborn-daemon-loading", stop_grace="1h")
        gate.process.signal(signal.SIGINT)
        wait_until(lambda: "stopping" in gate.process.output(), "the gate is stopping")
        self.assertTrue(gate.process.is_running())
        self.assertEqual(self.stop(gate, signal.SIGINT), 0)
        self.wait_for_no_process()

    def test_a_signal_to_every_process_of_the_service_ends_it_cleanly(self):
        """Some tools stop a service by sending SIGTERM to each of its processes. Guards ignore it, so that the
        gate can finish its jobs."""
        gate = self.gate_with_children("stubborn-daemon", stop_grace="5s")
        job = gate.connect().request("POST", "/after/200", b"accepted")
        gate.wait_lane(0, "busy")
        for guard in self.guards_of(gate):
            for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
                os.kill(guard.pid, number)
        gate.process.signal(signal.SIGTERM)
        self.assertEqual(job.answer().body, b"accepted")
        for guard in self.guards_of(gate):
            os.kill(guard.pid, signal.SIGTERM)
        self.stop(gate)
        self.wait_for_no_process()

    def test_a_stopped_guard_holds_nothing_up(self):
        gate = self.gate_with_children("stubborn-daemon", stop_grace="100ms")
        for guard in self.guards_of(gate):
            os.kill(guard.pid, signal.SIGSTOP)
        self.assertEqual(self.stop(gate), 0)
        self.wait_for_no_process()


class Background(ProcessTreeCase):
    def config(self, habits="daemon-stubborn,session", **more):
        return str(self.write_config(toml({
            "gate": {"spool": str(self.folder)},
            "pool.default": {"worker": self.worker_command(habits), "gpus": "none", **POOL, **STARTED,
                             "stop_grace": "200ms", **more}})))

    def detach(self, *arguments):
        self.addCleanup(self.command, "down", "--now")
        return self.command("up", "--detach", *arguments)

    def wait_ready(self):
        def serve():
            lanes = json.loads(self.command("status", "--json").stdout)["lanes"]
            return all(lane["state"] == "ready" for lane in lanes)
        wait_until(serve, "the lanes serve")

    def test_down_leaves_no_process(self):
        for flags in ((), ("--now",)):
            done = self.detach(self.config(), "--port", "0")
            self.assertEqual(done.returncode, 0, done)
            self.wait_ready()
            self.assertEqual(len(self.live_processes("worker")), 2)
            self.assertEqual(self.command("down", *flags).returncode, 0)
            self.assertEqual(self.pids(), [])
            self.wait_for_no_process()
            self.assertEqual(self.command("status").returncode, 3)

    def test_down_now_waits_for_nobody(self):
        self.detach(self.config("stubborn-daemon-crowd", stop_grace="1h"), "--port", "0")
        self.wait_ready()
        self.assertEqual(self.command("down", "--now").returncode, 0)
        self.assertEqual(self.pids(), [])

    def test_down_while_loading(self):
        for flags in ((), ("--now",)):
            self.assertEqual(self.detach(self.config("session-stubborn-loading"), "--port",
                                         "0").returncode, 0)
            self.assertEqual(self.command("down", *flags).returncode, 0)
            self.assertEqual(self.pids(), [])

    def test_a_failed_detach_leaves_no_process(self):
        taken = Port()
        self.addCleanup(taken.close)
        taken.listen()
        for code, arguments in ((2, [self.config(slots=0)]),
                                (1, [self.config(), "--port", str(taken.number)]),
                                (2, [self.config(), "--name", "../x"])):
            done = self.detach(*arguments)
            self.assertEqual((done.returncode, done.stdout), (code, ""), done)
            self.assertTrue(done.stderr)
            self.assertEqual(self.pids(), [])

    def test_a_taken_name_harms_nobody(self):
        self.assertEqual(self.detach(self.config(), "--port", "0").returncode, 0)
        self.wait_ready()
        before = self.pids()
        self.assertEqual(self.detach(self.config(), "--port", "0").returncode, 1)
        self.assertEqual(self.command("up", self.config(), "--port", "0").returncode, 1)
        self.assertEqual(self.pids(), before)


class BackgroundOfAnOrdinaryUser(OrdinaryUser, Background):
    pass


if __name__ == "__main__":
    unittest.main()
