"""Tests what happens if gate and guard are killed together: the worker dies, its children stay, and the
next `up` ends these children and no other process."""
import os
import re
import shutil
import signal
import subprocess
import unittest
from pathlib import Path

from harness import POOL, STARTED, Gate, numbers, toml, wait_until
from process_tree import (TOKEN_VARIABLE, OrdinaryUser, ProcessTreeCase, kill, process_info,
                          processes_with_word, read_proc)


class Leftovers(ProcessTreeCase):
    def leave_behind(self, habits, *names, **options):
        """Kills a gate named "dead" whose worker has these habits. Returns the processes that are left, which must
        have these names."""
        return self.left_behind_by(self.gate_with_children(habits, "--name", "dead", lanes=1, **options), *names)

    def left_behind_by(self, gate, *names):
        self.kill_with_guards(gate)
        left = self.live_processes()
        self.assertEqual({process.name for process in left}, set(names), left)
        return left

    def assert_ended_by(self, gate, left):
        """Checks that the gate has ended these processes, says so, and serves."""
        output = gate.process.output()
        named = re.findall(rf"left behind: pid (\d+), .*{self.token}", output)
        more = re.search(r"and (\d+) more", output)
        self.assertLessEqual(set(map(int, named)), {process.pid for process in left})
        self.assertEqual(len(named) + int(more[1] if more else 0), len(left), output)
        wait_until(lambda: not set(self.pids()) & {process.pid for process in left}, "the leftovers are ended")
        self.assert_only_processes_of(gate)

    def assert_only_processes_of(self, *gates):
        below = [process.pid for gate in gates for process in self.processes_below(gate.process.pid)]
        self.assertEqual(self.pids(), sorted(below))
        for gate in gates:
            self.assertEqual(gate.post({}, "/echo").status, 200)

    def unrelated_process(self, **variables):
        """Starts a process of the same user that no gate left behind."""
        word = f"unrelated-{next(numbers)}-{self.token.removeprefix('token-')}"
        env = {key: value for key, value in self.env.items() if key != TOKEN_VARIABLE}
        process = subprocess.Popen(["setpriv", *self.user, "--pdeathsig", "KILL", "sleep", "1000"],
                                   env={**env, "UNRELATED": word, **variables})
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        wait_until(lambda: [process for process in processes_with_word(word) if process.name == "sleep"], "the process runs")
        return process

    def runtime_folder(self, name="dead"):
        return Path(self.env["XDG_RUNTIME_DIR"]) / "turnpike" / name

    def test_the_next_gate_with_the_same_name_ends_leftovers(self):
        left = self.leave_behind("daemon-session-crowd", "daemon", "session", "crowd")
        self.assertEqual(len(left), 202)
        self.assert_ended_by(self.gate_with_children("none", "--name", "dead"), left)

    def test_a_gate_with_another_name_ends_leftovers(self):
        left = self.leave_behind("daemon-session", "daemon", "session")
        self.assert_ended_by(self.gate_with_children("none", "--name", "another"), left)
        self.assertNotIn("left behind", self.gate_with_children("none", "--name", "dead").process.output())

    def test_what_keeps_forking_is_ended_too(self):
        self.leave_behind("forking", "forking")
        gate = self.gate_with_children("none", "--name", "dead")
        self.assertIn("left behind", gate.process.output())
        wait_until(lambda: not self.live_processes("forking"), "the leftovers are ended")
        self.assert_only_processes_of(gate)

    def test_a_leftover_that_overwrote_its_environment_is_found_by_pid_and_start_time(self):
        gate = self.gate_with_children("wiped", "--name", "dead", lanes=1)
        wiped, = self.live_processes("wiped")
        known = self.runtime_folder() / "processes"
        wait_until(lambda: f"process {wiped.pid} {wiped.start}\n" in known.read_text(), "the gate has listed the process")
        left = self.left_behind_by(gate, "wiped")
        environ = Path(f"/proc/{left[0].pid}/environ").read_bytes()
        self.assertEqual(environ.strip(b"\0"), b"")
        self.assert_ended_by(self.gate_with_children("none", "--name", "another"), left)

    def test_variables_before_the_program_keep_no_shell_alive(self):
        """Only the guard's own child dies with the guard, so this child must be the program and not a shell."""
        gate = self.started_gate(f"WORD='a b' OTHER=2 {self.worker_command()}", "--name", "dead", lanes=1)
        worker, = self.live_processes("worker")
        self.assertLess({b"WORD=a b", b"OTHER=2"}, set(read_proc(worker.pid, "environ").split(b"\0")))
        self.kill_with_guards(gate)
        self.wait_for_no_process()

    def test_doctor_names_leftovers_and_leaves_them_alone(self):
        left = self.leave_behind("daemon", "daemon")
        self.assertIn(str(left[0].pid), self.command("doctor").stdout)
        self.assertEqual(self.pids(), [left[0].pid])

    def test_unrelated_processes_are_left_alone(self):
        """Such a process may be listed with another start time, or have no mark of a gate, a mark of another folder, or
        one that only looks like a mark."""
        known, unmarked = self.unrelated_process(), self.unrelated_process()
        others = [self.unrelated_process(TURNPIKE_RUN=mark) for mark in (
            "", "x", "/elsewhere/turnpike/dead:0123456789abcdef",
            f"{self.env['XDG_RUNTIME_DIR']}/turnpike/../dead:0123456789abcdef")]
        left = self.leave_behind("daemon", "daemon")
        with open(self.runtime_folder() / "processes", "a") as entries:
            for start in (process_info(known.pid).start - 1, process_info(known.pid).start + 1, 0):
                entries.write(f"process {known.pid} {start}\n")
            entries.write(f"process -1 0\nprocess 0 0\nprocess {os.getpid()} 1\nprocess x y\n")
        self.assert_ended_by(self.gate_with_children("none", "--name", "dead"), left)
        for process in (known, unmarked, *others):
            self.assertIsNone(process.poll(), "an unrelated process was ended")

    def test_earlier_children_of_the_script_that_became_the_gate_are_left_alone(self):
        """The script starts another program, and ends with `exec turnpike up`."""
        script = f"sleep 1000 & echo $! > {self.folder}/{self.token}.pid; exec {self.turnpike} \"$@\""
        config = self.write_config(toml({"pool.default": {
            "worker": self.worker_command("daemon"), "gpus": "none", **POOL, **STARTED}}))
        process = self.spawn("script", ["sh", "-c", script, "sh", "up", str(config), "--port", "0",
                                        "--name", "script"])
        gate = Gate(self, process, "").wait_ready()
        other = int((self.folder / f"{self.token}.pid").read_text())
        for guard in self.guards_of(gate):
            kill(guard)
            wait_until(lambda: guard.pid not in self.pids(), "the process is gone")
        gate.wait_ready()
        self.assertEqual(self.stop(gate), 0)
        self.assertEqual(self.pids(), [other])

    def test_a_mark_in_a_folder_whose_lock_is_free_is_enough(self):
        process = self.unrelated_process(TURNPIKE_RUN=f"{self.runtime_folder('long-gone')}:0123456789abcdef")
        self.gate_with_children("none", "--name", "another")
        self.assertEqual(process.wait(30), -signal.SIGKILL)

    def test_two_gates_side_by_side_leave_each_other_alone(self):
        one = self.gate_with_children("daemon,session", "--name", "one")
        ones = [process.pid for process in self.processes_below(one.process.pid)]
        other = self.gate_with_children("daemon-stubborn,none", "--name", "other")
        self.assert_only_processes_of(one, other)
        for end in (self.kill_with_guards, self.kill_gate, self.stop):
            end(other)
            other = self.gate_with_children("daemon-stubborn,none", "--name", "other")
            self.assert_only_processes_of(one, other)
        self.assertEqual(self.command("restart", "all", "--name", "other").returncode, 0)
        other.wait_ready()
        for guard in self.guards_of(other):
            kill(guard)
        other.wait_ready()
        self.assertEqual(self.command("down", "--name", "other").returncode, 0)
        self.assertEqual(self.pids(), sorted(ones), "no process of the first gate was ended or replaced")
        self.assert_only_processes_of(one)

    def test_a_gate_whose_folder_is_gone_or_open_is_alive_all_the_same(self):
        """Somebody removed the gate's folder. The gate still holds its lock, but no other process can see that."""
        self.gate_with_children("daemon", "--name", "one")
        before = self.pids()
        for harm in (lambda folder: folder.chmod(0o755), shutil.rmtree):
            harm(self.runtime_folder("one"))
            other = self.gate_with_children("none", "--name", "other")
            self.assertNotIn("left behind", other.process.output())
            self.assertEqual(self.stop(other), 0)
            self.assertEqual(self.pids(), before)

    def test_a_gate_can_be_started_again_at_once(self):
        """Even while the processes of the killed gate are still being ended."""
        gate = self.gate_with_children("daemon,forking-session", "--name", "again")
        for _ in range(4):
            self.kill_gate(gate)
            gate = self.gate_with_children("daemon,forking-session", "--name", "again")
        roots = wait_until(lambda: self.live_processes() and {process.pid for process in self.live_processes()} <=
                           {process.pid for process in self.processes_below(gate.process.pid)}, "only processes of the new gate live")
        self.assertTrue(roots)
        self.assertEqual(self.stop(gate), 0)
        self.wait_for_no_process()


class LeftoversOfAnOrdinaryUser(OrdinaryUser, Leftovers):
    """An ordinary user cannot make control groups."""


class ControlGroups(ProcessTreeCase):
    def setUp(self):
        super().setUp()
        found = re.search('"cgroup v2: groups in ([^"]+)"', self.command("doctor", "--json").stdout)
        if not found:
            self.skipTest("cgroup v2 can't be used here; see turnpike doctor")
        self.home = Path(found[1])

    def groups(self):
        """Returns the names of all control groups of Turnpike, of dead gates and of living ones."""
        return {group.name for group in self.home.glob("turnpike-*")}

    def groups_of(self, gate):
        return {name for name in self.groups() if name.startswith(f"turnpike-{gate.process.pid}-")}

    def test_every_worker_has_a_control_group_while_it_lives(self):
        gate = self.gate_with_children("daemon,none")
        self.assertEqual(len(self.groups_of(gate)), 2)
        for victim in (self.live_processes("worker")[0], self.guards_of(gate)[0]):
            kill(victim)
            wait_until(lambda: victim.pid not in self.pids(), "the process is gone")
            gate.wait_ready()
            self.assertEqual(len(self.groups_of(gate)), 2)
        self.stop(gate)
        self.assertEqual(self.groups_of(gate), set())

    def test_no_control_group_stays_after_the_gate_is_killed(self):
        gate = self.gate_with_children("daemon,none")
        self.assertEqual(len(self.groups_of(gate)), 2)
        self.assert_gone_with_gate(self.kill_gate(gate))
        wait_until(lambda: not self.groups_of(gate), "the gate's control groups are gone")

    def test_a_process_is_found_by_its_control_group_whatever_it_did(self):
        """The process is a daemon that was started after its worker came up, and that overwrote its environment."""
        gate = self.gate_with_children("none", "--name", "grouped", lanes=1)
        self.assertEqual(len(self.groups_of(gate)), 1)
        self.assertEqual(gate.ask("POST", "/late", b"").status, 200)
        self.kill_with_guards(gate)
        self.assertEqual([process.name for process in self.live_processes()], ["wiped"])
        gate = self.gate_with_children("none", "--name", "next")
        self.assertEqual(self.live_processes("wiped"), [])
        self.assertIn("left behind", gate.process.output())

    def test_the_next_gate_removes_control_groups_that_stayed(self):
        for habits in ("daemon", "none"):
            gate = self.gate_with_children(habits, "--name", "grouped")
            self.assertEqual(len(self.groups_of(gate)), 2)
            self.kill_with_guards(gate)
            self.stop(self.gate_with_children("none", "--name", "next"))
            self.assertEqual(self.groups_of(gate), set())


if __name__ == "__main__":
    unittest.main()
