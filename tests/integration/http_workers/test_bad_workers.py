"""Tests started workers that misbehave: the lane gets the right state, and `status` and the output of `up`
give a reason that people understand."""
import os
import re
import signal
import socket
import unittest
from pathlib import Path

from harness import PYTHON, wait_until
from memory import GROWTH_MAX, MIB
from started_case import WORKER, StartedCase, is_alive

MUCH = (1024 if GROWTH_MAX < 512 * MIB else 64) * MIB  # less with sanitizers, which are slow
FREEZER = Path("/sys/fs/cgroup/freezer")


class NeverUp(StartedCase):
    def assert_fails(self, worker, words, last_exit=None, **pool):
        """Checks that the lane fails after two deaths, and that every place gives these words as the reason."""
        gate = self.up(worker, pool={"crash_limit": 2, **pool}, is_ready=False)
        def is_over(lane):
            return lane["state"] == "failed" and lane["pid"] is None
        lane = self.wait_lane_where(gate, 0, is_over, "the lane has failed")
        self.assertEqual((lane["reason"], lane["restarts"]), ("crashed_too_often", 1))
        self.assertIn(words, lane["trouble"])
        if last_exit:
            self.assertEqual(lane["last_exit"], last_exit)
        self.assert_reported(gate, words)
        self.assertIn("it crashed too often", self.order(gate, "status"))
        answer = gate.post({})
        self.assert_problem(answer, 503, "no-lane")
        self.assertIn("lane 0", answer.body.decode())
        wait_until(lambda: len(self.crashes(gate)) == 2, "there is a report for each death")
        return gate

    def test_exits_at_once(self):
        gate = self.assert_fails("echo no weights here >&2; exit 3 # {port}",
                                 "exit code 3: no weights here", "exit code 3")
        self.order(gate, "restart", "0")  # starts the worker again, which fails again
        wait_until(lambda: len(self.crashes(gate)) == 4, "there are two more reports")
        gate.wait_lane(0, "failed")

    def test_is_killed_by_a_signal(self):
        self.assert_fails("kill -SEGV $$ # {port}", "killed by SIGSEGV", "killed by SIGSEGV")

    def test_is_a_missing_program(self):
        self.env = {**type(self).env, "PATH": "/usr/bin:/bin"}
        words = "exit code 127 (the shell did not find the program): sh: 1: exec: no-such-program"
        self.assert_fails("no-such-program --port {port}", words)

    def test_is_not_executable(self):
        path = self.folder / "text"
        path.write_text("hello")
        self.assert_fails(f"{path} {{port}}", "exit code 126 (the shell is not allowed to run the program)")

    def test_its_folder_is_gone(self):
        folder = self.folder_for("gone")
        (folder / "turnpike.toml").write_text(self.config(pool={"crash_limit": 2}))
        gate = self.start(str(folder)).wait_ready()
        (folder / "turnpike.toml").unlink()
        folder.rmdir()
        os.kill(gate.lane(0)["pid"], signal.SIGKILL)
        words = "its folder can't be entered: No such file or directory"
        self.wait_lane_where(gate, 0, lambda lane: lane["restarts"] > 3 and words in (lane["trouble"] or ""),
                             "the lane tries again and again")
        self.assertNotEqual(gate.lane(0)["state"], "failed", "it is the last lane that served")
        self.assert_reported(gate, "its folder can't be entered")

    def test_never_gets_ready(self):
        words = "no progress for 1s (load_timeout): port "
        gate = self.assert_fails(self.worker_command("nowhere"), words, "killed by SIGKILL",
                                 load_timeout="1s")
        self.assertEqual({crash["why"] for crash in self.crashes(gate)}, {"load_silent"})

    def test_binds_the_wrong_port(self):
        gate = self.up(self.worker_command("elsewhere"), is_ready=False)
        lane = self.wait_trouble(gate, "listens on port", states=["loading"])
        wrong, right = re.search(r"listens on port (\d+), .*{port}, (\d+)", lane["trouble"]).groups()
        self.assertNotEqual(wrong, right)
        self.assertIn(f"http_server.py {right} elsewhere", str(self.log(gate)))
        socket.create_connection(("127.0.0.1", int(wrong))).close()
        self.assert_reported(gate, f"listens on port {wrong}")

    def test_binds_the_wrong_port_until_its_time_is_over(self):
        self.assert_fails(self.worker_command("elsewhere"),
                          "no progress for 3s (load_timeout): its worker listens on port",
                          load_timeout="3s")

    def test_becomes_a_daemon(self):
        pids = self.folder_for("pids")
        left = f"{WORKER} & echo $! > {pids}.new; mv {pids}.new {pids}/$$"
        self.assert_fails(f"({left}); exit 0", "exit code 0 (a worker must stay in the foreground)")
        found = [int(path.read_text()) for path in pids.iterdir()]
        self.assertEqual(len(found), 2)
        wait_until(lambda: not any(map(is_alive, found)), "the daemon is ended")

    def test_gives_a_wrong_answer_to_its_proof(self):
        gate = self.up(is_ready=False, sections={
            "pool.default.proof": {"request": "POST /prove", "expect_json": '{"pid": 0}'}})
        lane = self.wait_trouble(gate, "wrong answer to the proof: ", states=["quarantined"])
        self.assertEqual((lane["reason"], lane["restarts"]), ("proof_failed", 1))
        self.assert_reported(gate, "wrong answer to the proof: ")
        self.assertEqual({crash["why"] for crash in self.crashes(gate)}, {"proof_failed"})

    def test_output_renews_its_time(self):
        go = self.folder_for("go") / "go"
        gate = self.up(self.worker_command(f"until={go}", "dots"), pool={"load_timeout": "1s"},
                       is_ready=False)
        self.wait_lane_where(gate, 0, lambda lane: (lane["starting_s"] or 0) > 2, "twice its time")
        go.touch()
        gate.wait_ready()
        self.assertEqual((gate.lane(0)["restarts"], gate.lane(0)["last_exit"]), (0, None))

    def test_one_bad_lane_leaves_the_others_alone(self):
        gate = self.up(f"test $TURNPIKE_LANE = 1 && exit 9; exec {WORKER}",
                       pool={"lanes": 3, "crash_limit": 2}, is_ready=False)
        gate.wait_lane(1, "failed")
        gate.wait_ready(2)
        self.assertEqual({gate.post({}).header("turnpike-lane") for _ in range(8)}, {"0", "2"})
        self.assertEqual([lane["restarts"] for lane in gate.status()["lanes"]], [0, 1, 0])
        wait_until(lambda: "2 of 3 lanes serve" in gate.process.output(), "`up` reports it")


class Strangers(StartedCase):
    def given_port(self, gate):
        return int(wait_until(lambda: re.search(r"port (\d+) it was", str(self.log(gate))),
                              "the worker prints its port")[1])

    def test_a_port_that_somebody_else_holds_is_never_used(self):
        gate = self.up(self.worker_command("nowhere"), is_ready=False)
        port = self.given_port(gate)
        with socket.create_server(("127.0.0.1", port)) as stranger:
            lane = self.wait_trouble(gate, f"(pid {os.getpid()}) listens on its port {port}",
                                     states=["loading"])
            self.assertIn("its worker did not start that process", lane["trouble"])
            self.assert_reported(gate, f"(pid {os.getpid()}) listens on its port")
            waiting = self.in_thread(gate.post, {})
            gate.wait_queued(1)
            self.wait_trouble(gate, "listens on its port", states=["loading"])
            stranger.setblocking(False)
            with self.assertRaises(BlockingIOError, msg="the gate must not connect to the other server"):
                stranger.accept()
        self.assertFalse(waiting.done())

    def test_a_worker_whose_port_is_taken_is_started_again_on_another_port(self):
        # The worker can't bind and dies. The next worker gets another port.
        folder = self.folder_for("ports")
        name_port = f"echo {{port}} > {folder}/new; mv {folder}/new {folder}/port"
        wait = f"until test -e {folder}/freed; do sleep 0.01; done"
        gate = self.up(f"test -e {folder}/freed || {{ {name_port}; {wait}; }}; exec {WORKER}",
                       is_ready=False)
        wait_until((folder / "port").exists, "the worker has written its port")
        port = int((folder / "port").read_text())
        with socket.create_server(("127.0.0.1", port)):
            (folder / "freed").touch()
            gate.wait_ready()
            facts = self.facts(gate)
            self.assertNotEqual(facts["words"][0], str(port))
            self.assertIn("Address already in use", str(self.log(gate)))


class Loud(StartedCase):
    def sizes(self, gate):
        sizes = []
        for path in (self.state_folder(gate) / "lanes").glob("0.log*"):
            try:
                sizes.append(path.stat().st_size)
            except FileNotFoundError:
                pass  # the files are being rotated
        return sizes

    def assert_bounded(self, gate, before):
        self.assertLess(self.peak_memory(gate) - before, GROWTH_MAX)
        self.assertLessEqual(len(self.sizes(gate)), 3)
        self.assertLessEqual(max(self.sizes(gate)), MIB)

    def test_prints_a_gigabyte_while_it_serves(self):
        gate = self.up(pool={"lanes": 2},
                       sections={"log": {"lane_size_max": "1MiB", "lane_keep": 2}})
        before = self.peak_memory(gate)
        loud = self.in_thread(gate.post, {"bytes": MUCH, "line": 1000}, "/print",
                              [("Turnpike-Lane", "0")], 170)
        gate.wait_lane(0, "busy")
        for _ in range(20):
            answer = gate.post({})
            self.assertEqual((answer.status, answer.header("turnpike-lane")), (200, "1"))
        self.assertFalse(loud.done(), "the worker must still be printing")
        self.assertEqual(loud.result().status, 200)
        self.assert_bounded(gate, before)
        self.assertEqual(gate.lane(0)["restarts"], 0)
        newest = [line for line in self.log(gate) if line["stream"] != "turnpike"][-1]
        self.assertEqual((newest["stream"], newest["text"]), ("out", "x" * 999))
        self.assertLessEqual(len(self.log(gate)), 2000)

    def test_prints_without_end_while_it_loads(self):
        go = self.folder_for("go") / "go"
        command = f"yes loading and loading & exec {self.worker_command(f'until={go}')}"
        gate = self.up(command, pool={"load_timeout": "2s"}, is_ready=False,
                       sections={"log": {"lane_size_max": "1MiB", "lane_keep": 2}})
        before = self.peak_memory(gate)
        wait_until(lambda: len(self.sizes(gate)) == 3, "all log files are full")
        line = gate.lane(0)["last_line"]  # may be incomplete
        self.assertTrue(line and "loading and loading".startswith(line), line)
        go.touch()
        gate.wait_ready()
        self.assertEqual(gate.post({}).status, 200)
        self.assert_bounded(gate, before)
        self.assertEqual(gate.lane(0)["restarts"], 0)

    def test_an_endless_line(self):
        gate = self.up()
        before = self.peak_memory(gate)
        self.assertEqual(gate.post({"bytes": 16 * MIB, "line": 0}, "/print").status, 200)
        self.assertLess(self.peak_memory(gate) - before, GROWTH_MAX)
        lines = [line["text"] for line in self.log(gate) if line["stream"] == "out"]
        self.assertEqual(set(lines), {"x" * 4096 + "…"})
        self.assertIn("x" * 80, self.order(gate, "logs", "0"))

    def test_bytes_that_are_no_text(self):
        gate = self.up()
        data = b"caf\xe9 \xff\xfe\x00 \x1b[31mred\x1b[0m \x1b]0;title\x07 \xf0\x9f\x8e\x89\n"
        self.assertEqual(gate.ask("POST", "/write", data).status, 200)
        line = self.wait_line(gate, "caf")
        self.assertEqual(line, "caf\ufffd \ufffd\ufffd red  \U0001f389")
        text = self.order(gate, "logs", "0")
        self.assertIn(line, text)
        self.assertNotIn("\x1b", text)
        file = (self.state_folder(gate) / "lanes" / "0.log").read_bytes()
        self.assertIn("caf\ufffd", file.decode())

    def test_closes_its_log(self):
        gate = self.up()
        pid = gate.lane(0)["pid"]
        self.assertEqual(gate.post({}, "/close-output").status, 200)
        for _ in range(3):
            self.assertEqual(gate.post({}).json()["pid"], pid)
        self.assertEqual(gate.lane(0)["state"], "ready")
        os.kill(pid, signal.SIGKILL)
        self.wait_lane_where(gate, 0, lambda lane: lane["pid"] not in (None, pid), "the lane restarts")
        gate.wait_ready()
        self.assertEqual(gate.post({}, "/write").status, 200)


class Stubborn(StartedCase):
    def test_ignores_sigterm(self):
        gate = self.up(self.worker_command("ignore-sigterm"), pool={"stop_grace": "50ms"})
        pid = gate.lane(0)["pid"]
        self.order(gate, "restart", "0")
        lane = self.wait_lane_where(gate, 0, lambda lane: lane["pid"] not in (None, pid),
                                    "there is a new worker")
        self.assertFalse(is_alive(pid))
        self.assertEqual(lane["last_exit"], "killed by SIGKILL")
        gate.wait_ready()
        self.assertEqual(gate.lane(0)["trouble"], None, "an end that was ordered is no trouble")
        self.assertEqual(self.crashes(gate), [])
        self.assertEqual(self.stop(gate), 0)

    def test_a_socket_that_nobody_serves(self):
        bind = "import socket, sys, time; s = socket.socket(socket.AF_UNIX); " \
               "s.bind(sys.argv[1]); time.sleep(600)"
        gate = self.up(f"{PYTHON} -c '{bind}' {{socket}}",
                       pool={"load_timeout": "500ms", "crash_limit": 1}, is_ready=False)
        lane = self.wait_trouble(gate, "no progress for 500ms (load_timeout): ", states=["failed"])
        self.assertIn("refused", lane["trouble"])

    @unittest.skipUnless(os.access(FREEZER / "cgroup.procs", os.W_OK), "no freezer cgroup here")
    def test_survives_sigkill(self):
        gate = self.up(pool={"lanes": 2, "stop_grace": "50ms", "kill_patience": "1s"})
        pid = gate.lane(0)["pid"]
        freezer = Freezer(self)
        freezer.freeze(pid)
        self.order(gate, "restart", "0")
        lane = self.wait_trouble(gate, f"(pid {pid}) survives SIGKILL", states=["quarantined"])
        self.assertEqual(lane["reason"], "will_not_die")
        self.assert_reported(gate, f"(pid {pid}) survives SIGKILL")
        self.assertTrue(is_alive(pid))
        for _ in range(3):
            self.assertEqual(gate.post({}).header("turnpike-lane"), "1")
        freezer.thaw()
        wait_until(lambda: not is_alive(pid), "the worker dies when it is thawed")
        self.assertEqual(gate.lane(0)["state"], "quarantined", "the lane comes back only if somebody asks for it")
        self.order(gate, "restart", "0")
        gate.wait_ready()
        self.assertNotEqual(gate.lane(0)["pid"], pid)
        self.assertEqual(self.facts(gate, 0)["env"]["TURNPIKE_LANE"], "0")


class Freezer:
    """A control group (version 1) whose processes are frozen, so that even SIGKILL does not end them."""

    def __init__(self, case):
        self.folder = FREEZER / f"turnpike-test-{os.getpid()}"
        self.folder.mkdir()
        case.addCleanup(self.remove)

    def freeze(self, pid):
        (self.folder / "cgroup.procs").write_text(str(pid))
        (self.folder / "freezer.state").write_text("FROZEN")
        state = self.folder / "freezer.state"
        wait_until(lambda: state.read_text() == "FROZEN\n", "the process is frozen")

    def thaw(self):
        (self.folder / "freezer.state").write_text("THAWED")

    def remove(self):
        self.thaw()
        wait_until(lambda: not (self.folder / "cgroup.procs").read_text(), "the group is empty")
        self.folder.rmdir()


if __name__ == "__main__":
    unittest.main()
