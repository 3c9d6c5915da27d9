"""Tests that no process is left when workers, guards and gates are killed at random moments under load,
with children of all kinds. TURNPIKE_STORM_SEED repeats a run, TURNPIKE_STORM_KILLS makes it longer."""
import os
import random
import threading
import time
import unittest

from client import Client, Truncated
from harness import DEADLINE_S, wait_until
from process_tree import OrdinaryUser, ProcessTreeCase, kill

SEED = os.environ.get("TURNPIKE_STORM_SEED")
KILLS = int(os.environ.get("TURNPIKE_STORM_KILLS", "200"))
LANES = 3
KILLS_PER_ROUND = 12
HABITS = ("daemon-stubborn", "session", "forking", "daemon-session", "none", "stubborn")


class Storm(ProcessTreeCase):
    share = 0.7  # this class makes that part of all kills

    def setUp(self):
        super().setUp()
        self.seed = int(SEED) if SEED else random.SystemRandom().randrange(1 << 32)
        self.random = random.Random(self.seed)
        self.kills = 0
        self.times = []  # seconds from a gate's death to the end of its last process

    def pause(self, most_s):
        """Sleeps for a random time, so that the next kill hits a random moment."""
        time.sleep(self.random.uniform(0, most_s))

    # ── clients ──────────────────────────────────────────────────────────────────────────────────

    def go_on_asking(self, gate, number, is_over):
        """Sends jobs. Each must get its own answer or one error. Returns how many got an answer and how many an error."""
        succeeded = failed = 0
        while not is_over.is_set():
            body = f"{number}-{succeeded + failed}".encode()
            answer = gate.ask("POST", "/after/5" if succeeded % 2 else "/echo", body)
            if answer.status == 200:
                self.assertEqual(answer.body, body)
                succeeded += 1
            else:
                # The job's second worker died, too. The problem depends on whether that worker had other jobs.
                is_poison = answer.json()["type"].endswith(":poison")
                self.assert_problem(answer, 502, "poison" if is_poison else "worker-died")
                self.assertEqual(answer.header("turnpike-attempt"), "2", answer)
                failed += 1
        return succeeded, failed

    def held_jobs(self, gate, count=6):
        jobs = [Client(gate.port).request("POST", "/hold", b"x") for _ in range(count)]
        for job in jobs:
            self.addCleanup(job.close)
        return jobs

    def assert_cut(self, job):
        """Checks that a job's connection was closed by the death of the gate."""
        with self.assertRaises((Truncated, ConnectionResetError)):
            job.answer()

    # ── kills ────────────────────────────────────────────────────────────────────────────────────

    def kill_some(self, gate):
        """Kills a worker, a guard, or both, in whatever state they are."""
        guards = self.guards_of(gate)
        if not guards:
            return
        guard = self.random.choice(guards)
        workers = [process for process in self.processes_below(guard.pid) if process.name == "worker"][:1]
        victims = self.random.choice(([guard], workers, [guard, *workers], [*workers, guard]))
        self.kills += any([kill(victim) for victim in victims])

    def end_round(self, gate):
        """Kills the gate, alone or with a worker, and checks that no process is left."""
        workers = self.random.choice(([], self.live_processes("worker")[:1]))
        if self.random.random() < 0.5:
            died = self.kill_gate(gate)
            [kill(worker) for worker in workers]
        else:
            [kill(worker) for worker in workers]
            died = self.kill_gate(gate)
        self.kills += 1
        self.times.append(self.assert_gone_with_gate(died))

    def wait_for_cleanup(self, gate):
        """Waits until the gate has ended the children of killed guards. To kill the gate earlier would test a
        gate and guard that are killed together, which is another test."""
        def strays():
            below = self.processes_below(gate.process.pid)
            return [process for process in below if process.parent == gate.process.pid and not process.is_guard]
        wait_until(lambda: not strays(), "the gate has ended the children of killed guards")

    def round(self, habits, kills=KILLS_PER_ROUND - 1):
        gate = self.gate_with_children(habits, "--name", "storm", lanes=LANES, is_ready=False)
        self.assertNotIn("left behind", gate.process.output())
        if self.random.random() < 0.7:
            gate.wait_ready()
        is_over = threading.Event()
        self.addCleanup(is_over.set)
        asking = [self.in_thread(self.go_on_asking, gate, i, is_over) for i in range(5)]
        for _ in range(kills):
            self.pause(0.05)
            self.kill_some(gate)
        is_over.set()
        answered = sum(job.result(DEADLINE_S)[0] for job in asking)
        self.wait_for_cleanup(gate)
        if self.random.random() < 0.7:
            gate.wait_ready()  # all lanes must come back
            self.assertEqual(gate.post({"well": True}, "/echo").status, 200)
        jobs = self.held_jobs(gate)
        self.pause(0.05)
        self.end_round(gate)
        for job in jobs:
            self.assert_cut(job)
        return answered

    def test_no_process_stays_whichever_process_is_killed(self):
        answered = 0
        try:
            while self.kills < KILLS * self.share:
                habits = self.random.sample(HABITS, LANES)
                answered += self.round(",".join(habits))
        except BaseException as error:
            error.add_note(f"TURNPIKE_STORM_SEED={self.seed}, after {self.kills} kills")
            raise
        self.assertGreater(answered, 0)
        last = self.gate_with_children("none", "--name", "storm")
        self.assertEqual(self.stop(last), 0)
        self.wait_for_no_process()
        print(f"{self.id()}: {self.kills} kills, {answered} jobs answered; gone after "
              f"{min(self.times):.3f} to {max(self.times):.3f} s")

    def test_the_next_gate_cleans_up_after_a_guard_and_gate_that_were_killed_together(self):
        """In whatever order they are killed, the next gate must end some of the leftovers."""
        gate = self.gate_with_children("daemon-session,forking,daemon-crowd", lanes=LANES)
        for _ in range(3):
            guards = self.guards_of(gate)
            victims = [*self.random.sample(guards, self.random.randrange(1, LANES + 1)), None]
            self.random.shuffle(victims)
            for victim in victims:
                kill(victim) if victim else self.kill_gate(gate)
            gate = self.gate_with_children("daemon-session,forking,none", lanes=LANES)
            try:
                wait_until(lambda: not self.processes_not_below(gate), "only processes of the new gate live")
            except AssertionError as error:
                error.add_note(f"TURNPIKE_STORM_SEED={self.seed}; left: {self.processes_not_below(gate)}")
                raise
        self.assertEqual(self.stop(gate), 0)
        self.wait_for_no_process()

    def processes_not_below(self, gate):
        """Looks at one list of processes only: a child that was forked between two looks would count as left."""
        live = self.live_processes()
        own = {process.pid for process in self.processes_below(gate.process.pid, live)}
        return [process for process in live if process.pid not in own]

    def test_a_lane_restarts_when_all_children_of_its_last_worker_are_gone(self):
        gate = self.gate_with_children("daemon-session", lanes=1, restart_delay_min="1ms")
        for deaths in range(1, 5):
            last = self.pids("worker", "daemon", "session")
            self.assertEqual(len(last), 3)
            kill((self.live_processes("worker") if deaths % 2 else self.guards_of(gate))[0])
            wait_until(lambda: gate.lane(0)["restarts"] == deaths, "the lane restarts")
            self.assertFalse(set(self.pids()) & set(last))
            gate.wait_ready()

    def test_no_process_stays_of_a_chain_of_short_lived_children(self):
        """A scan of the process table may miss every one of them."""
        gate = self.gate_with_children("chain", lanes=1)
        for deaths in range(1, 9):
            kill(self.guards_of(gate)[0])
            wait_until(lambda: gate.lane(0)["restarts"] == deaths, "the lane restarts")
            gate.wait_ready()
        died = self.kill_gate(gate)
        print(f"{self.id()}: gone after {self.assert_gone_with_gate(died):.3f} s")

    def test_no_process_stays_of_hundreds_of_children(self):
        self.round("crowd,crowd-session,none", kills=3)
        print(f"{self.id()}: gone after {self.times[0]:.3f} s")


class StormOfAnOrdinaryUser(OrdinaryUser, Storm):
    share = 0.3


if __name__ == "__main__":
    unittest.main()
