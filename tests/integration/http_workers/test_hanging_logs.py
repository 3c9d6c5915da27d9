"""Tests a disk that hangs while logs are written, such as a network home that is gone: log lines may be lost,
but jobs are answered and the gate ends."""
import signal
import subprocess
import time
import unittest

from harness import HERE, numbers, wait_until
from started_case import StartedCase

END_S = 10.0  # to stop; the promise is to wait 2 s for a disk, but test machines are busy


class HangingLogs(StartedCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.shim = cls.folder / "hang.so"
        subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-Wall", "-Werror", "-o", str(cls.shim),
                        str(HERE / "support" / "hang.c"), "-ldl"], check=True)

    def hanging_gate(self):
        """Starts a gate whose thread for logs hangs in a write."""
        flag = self.folder / f"hang-{next(numbers)}"
        self.addCleanup(flag.unlink)
        self.env = {**self.env, "LD_PRELOAD": str(self.shim), "HANG_WHILE": str(flag),
                    "ASAN_OPTIONS": self.env["ASAN_OPTIONS"] + ":verify_asan_link_order=0"}
        gate = self.up()
        flag.touch()
        self.assertEqual(gate.ask("POST", "/write", b"lost\n").status, 200)
        wait_until(flag.with_name(flag.name + ".met").exists, "a write to the log hangs")
        return gate

    def assert_ends(self, gate, began):
        self.assertEqual(gate.process.wait(), 0)
        took = time.monotonic() - began
        print(f"{self.id()}: ended after {took:.3f} s")
        self.assertLess(took, END_S)
        self.assertIn("stopped", gate.process.output())

    def test_jobs_are_answered_and_down_ends_it(self):
        gate = self.hanging_gate()
        for size in (10, 3 << 20):  # the first is kept in memory, the second is spooled
            answer = gate.ask("POST", "/", b"{}".ljust(size))
            self.assertEqual((answer.status, answer.json()["bytes"]), (200, size))
        self.wait_line(gate, "lost")  # the gate answers this from memory
        began = time.monotonic()
        self.order(gate, "down")
        self.assert_ends(gate, began)

    def test_a_worker_that_prints_much_goes_on(self):
        gate = self.hanging_gate()
        answer = gate.post({"bytes": 4 << 20}, "/print")
        self.assertEqual(answer.status, 200)
        wait_until(lambda: "logs of lanes:" in gate.process.output(), "`up` says what is wrong")

    def test_a_second_signal_ends_the_gate_at_once(self):
        gate = self.hanging_gate()
        self.begin_job(gate)  # a job that never ends
        gate.process.signal(signal.SIGTERM)
        wait_until(lambda: "stopping" in gate.process.output(), "the gate is stopping")
        began = time.monotonic()
        gate.process.signal(signal.SIGTERM)
        self.assert_ends(gate, began)


if __name__ == "__main__":
    unittest.main()
