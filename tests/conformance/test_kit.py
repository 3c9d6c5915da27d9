#!/usr/bin/env python3
"""The conformance kit passes a correct worker, and names the fault of each faulty one."""
import concurrent.futures
import json
import subprocess
import sys
import unittest
from pathlib import Path

KIT = Path(__file__).resolve().parents[2] / "sdk/conformance"
sys.path.insert(0, str(KIT))
sys.dont_write_bytecode = True

from checks import all_checks, frames  # noqa: E402
from faults import all_faults  # noqa: E402

FAULTS = all_faults()
PYTHON = [sys.executable, "-B"]
SILENCE = 5  # seconds to wait for something that never comes


def kit(*arguments):
    return subprocess.run([*PYTHON, KIT / "kit.py", *arguments], capture_output=True, text=True)


class TheKit(unittest.TestCase):
    def test_a_worker_that_is_right_passes_every_check(self):
        done = kit("--", *PYTHON, KIT / "minimal_worker.py")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn(f"{len(all_checks())} checks, 0 failed", done.stdout)

    def test_each_fault_is_found_and_named(self):
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            found = list(pool.map(self.verdict_on, FAULTS))
        for name, (done, verdict) in zip(FAULTS, found):
            _, check, reason = FAULTS[name]
            with self.subTest(fault=name):
                self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
                self.assertEqual(verdict["check"], check)
                self.assertIn(reason, verdict["reason"])

    def verdict_on(self, name):
        silent = any(word in FAULTS[name][2] for word in ("no sign of", "still runs"))
        patience = ["--patience", str(SILENCE)] if silent else []
        done = kit(*patience, "--json", "--only", FAULTS[name][1], "--", *PYTHON, KIT / "broken.py", name)
        return done, next((found for found in map(json.loads, done.stdout.splitlines()) if not found["passed"]), {"check": "", "reason": ""})

    def test_each_fault_is_looked_for_by_a_check_that_exists(self):
        names = {check.name for check in all_checks()}
        self.assertEqual([fault for fault, (_, check, _) in FAULTS.items() if check not in names], [])

    def test_a_program_that_is_no_worker_fails_in_words(self):
        for command, reason in [(["true"], "ended (exit code 0) before hello"), (["/nowhere/worker"], "does not start"),
                                (["sh", "-c", "echo who am I >&2; exit 7"], "exit code 7, saying: who am I")]:
            done = kit("--only", "hello_comes_first", "--", *command)
            self.assertEqual(done.returncode, 1)
            self.assertIn(reason, done.stdout + done.stderr)

    def test_a_check_that_does_not_exist_is_a_mistake_of_the_caller(self):
        self.assertIn("no check is called lunch", kit("--only", "lunch", "--", "true").stderr)


class TheKitsFrames(unittest.TestCase):
    VECTORS = json.loads((KIT / "vectors.json").read_text())

    def test_every_vector_of_a_worker_is_judged_as_the_gate_judges_it(self):
        vectors = [vector for vector in self.VECTORS if vector["direction"] == "worker"]
        self.assertGreater(len(vectors), 300)
        for vector in vectors:
            with self.subTest(vector["name"]):
                self.assertEqual(self.is_breach(bytes.fromhex(vector["hex"])), vector["breach"] is not None)

    def is_breach(self, data):
        try:
            found, size = frames.header_of(data[:frames.HEADER.size])
            self.assertEqual(len(data), frames.HEADER.size + size, "the header should have been refused")
            frames.read(found, data[frames.HEADER.size:])
        except frames.Breach:
            return True
        return False


if __name__ == "__main__":
    unittest.main()
