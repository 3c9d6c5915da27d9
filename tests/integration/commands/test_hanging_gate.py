"""Tests `down` for gates that can't stop: suspended ones, and those that hang."""
import signal
import subprocess
import sys
import unittest
from pathlib import Path

from harness import Case, wait_until
from scripted_worker import echo

# Holds a gate's lock and socket as a gate does, hears no signal and answers nobody.
HANGING = """
import fcntl, os, signal, socket, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
lock = open(sys.argv[1] + "/lock", "w")
fcntl.flock(lock, fcntl.LOCK_EX)
listener = socket.socket(socket.AF_UNIX)
listener.bind(sys.argv[1] + "/socket")
listener.listen()
print(os.getpid(), file=lock, flush=True)
time.sleep(1000)
"""


class HangingGate(Case):
    def assert_gives_up(self, name, pid, words, *flags):
        done = self.command("down", "--name", name, *flags, deadline_s=60)
        self.assertEqual((done.returncode, done.stdout), (1, ""), done)
        for expected in (f"gate {name} (pid {pid})", f"kill -KILL {pid}", *words):
            self.assertIn(expected, done.stderr)

    def test_a_suspended_gate(self):
        gate = self.gate([self.scripted(echo)])
        for flags in ([], ["--now"], ["--json"]):
            gate.process.signal(signal.SIGSTOP)
            self.assert_gives_up(gate.name, gate.process.pid, ["suspended", f"kill -CONT {gate.process.pid}"], *flags)
        gate.process.signal(signal.SIGCONT)
        self.assertEqual(gate.process.wait(), 0, "it stops as soon as it continues")

    def test_a_gate_that_hangs(self):
        folder = Path(self.env["XDG_RUNTIME_DIR"]) / "turnpike" / "hangs"
        folder.mkdir(0o700, parents=True)
        folder.parent.chmod(0o700)
        process = subprocess.Popen([sys.executable, "-c", HANGING, str(folder)])
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        wait_until(lambda: (folder / "lock").exists() and (folder / "lock").read_text(), "it holds the lock")
        self.assert_gives_up("hangs", process.pid, ["has not answered", "down --now"])

    def test_a_gate_that_answers_is_waited_for(self):
        """Longer than a silent one would be."""
        worker = self.scripted()
        gate = self.gate([worker])
        client = gate.connect().request("GET", "/slow")
        request = worker.take()
        down = self.popen("down", "--name", gate.name)
        said = ""
        for _ in range(6):  # one line every 3 s
            said = down.stderr.readline()
            self.assertIn("waits for 1 job", said)
        request.reply(b"done")
        self.assertEqual(client.answer().body, b"done")
        self.assertEqual(down.wait(30), 0)


class Names(Case):
    def test_a_bad_name_is_a_mistake_for_every_command(self):
        bad = ["", "..", ".", "../x", "a/b", "/abs", ".hidden", "UP", "with space", "ü", "a" * 65, "x\x1b[2J", "a,b"]
        commands = [["up", "--attach", "http://127.0.0.1:1"], ["up", "--detach", "--attach", "http://127.0.0.1:1"], ["status"], ["jobs"],
                    ["logs"], ["crashes"], ["down"], ["reload"], ["restart", "0"], ["drain", "0"], ["resume", "0"], ["prove"],
                    ["stacks", "0"], ["cancel", "x"]]
        for command in commands:
            for name in bad:
                done = self.command(*command, f"--name={name}")
                self.assertEqual((done.returncode, done.stdout), (2, ""), (command, name, done))
                self.assertIn("--name", done.stderr)
                self.assertNotIn("\x1b", done.stderr)
        self.assertEqual(list((self.folder / "xdg_runtime_dir").iterdir()), [])
        self.assertEqual(list((self.folder / "xdg_state_home").iterdir()), [])


if __name__ == "__main__":
    unittest.main()
