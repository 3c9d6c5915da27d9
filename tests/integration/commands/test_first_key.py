"""Tests that `turnpike key new` asks before the first key locks a running gate."""
import os
import pty
import subprocess
import unittest

from harness import TURNPIKE, Case, wait_until
from scripted_worker import echo


class FirstKey(Case):
    def setUp(self):
        super().setUp()
        self.addCleanup(self.command, "key", "revoke", "bob")

    def keys(self):
        return self.command("key", "list", "--json").stdout.strip()

    def assert_asks(self, gate, **changed):
        done = subprocess.run([TURNPIKE, "key", "new", "bob"], env={**self.env, **changed}, stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, timeout=30, check=False)
        self.assertEqual((done.returncode, done.stdout), (2, ""), done)
        for words in (gate.name, str(gate.process.pid), "without a key", "turnpike key new bob --yes"):
            self.assertIn(words, done.stderr)
        self.assertEqual(self.keys(), "[]")
        self.assertEqual(gate.ask("GET", "/-/status").status, 200)

    def test_the_first_key_of_a_running_gate_needs_yes(self):
        gate = self.gate([self.scripted(echo)])
        self.assert_asks(gate)
        self.assertEqual(self.command("key", "new", "bob", "--yes").returncode, 0)
        wait_until(lambda: gate.ask("GET", "/-/status").status == 401, "the gate needs keys")
        self.assertEqual(self.command("key", "new", "carol").returncode, 0, "the second key locks nobody out")
        for name in ("bob", "carol"):
            self.assertEqual(self.command("key", "revoke", name).returncode, 0)
        self.assertEqual(self.command("key", "new", "bob").returncode, 0, "this gate needs keys already")

    def test_a_gate_is_found_wherever_its_runtime_folder_is(self):
        gate = self.gate([self.scripted(echo)])
        self.assert_asks(gate, XDG_RUNTIME_DIR=str(self.folder))

    def test_a_gate_that_does_not_answer_counts(self):
        gate = self.gate([self.scripted(echo)])
        gate.process.signal(19)  # SIGSTOP
        try:
            done = self.command("key", "new", "bob")
        finally:
            gate.process.signal(18)  # SIGCONT
        self.assertEqual((done.returncode, done.stdout), (2, ""), done)

    def test_gates_with_other_keys_do_not_count(self):
        self.gate([self.scripted(echo)])
        other = self.folder / "other_config"
        done = subprocess.run([TURNPIKE, "key", "new", "bob"], env={**self.env, "XDG_CONFIG_HOME": str(other)},
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=30, check=False)
        self.assertEqual(done.returncode, 0, done)

    def test_without_a_gate_nobody_is_asked(self):
        self.assertEqual(self.command("key", "new", "bob").returncode, 0)

    def test_a_bad_name_is_a_mistake_first(self):
        self.gate([self.scripted(echo)])
        self.assertIn("name", self.command("key", "new", "bad name!").stderr)

    def test_on_a_terminal_it_asks(self):
        gate = self.gate([self.scripted(echo)])
        for answer, code in (("n", 1), ("", 1), ("y", 0)):
            terminal, there = pty.openpty()
            process = subprocess.Popen([TURNPIKE, "key", "new", "bob"], env=self.env, stdin=there, stdout=subprocess.PIPE,
                                       stderr=there, text=True)
            os.close(there)
            asked = b""
            while b"[y/N]" not in asked:
                asked += os.read(terminal, 1000)
            self.assertIn(gate.name.encode(), asked)
            os.write(terminal, answer.encode() + b"\n")
            key = process.communicate(timeout=30)[0]
            os.close(terminal)
            self.assertEqual((process.returncode, bool(key)), (code, code == 0), answer)


if __name__ == "__main__":
    unittest.main()
