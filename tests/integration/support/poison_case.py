"""For tests of jobs that kill their workers."""
from harness import wait_until

# For a pool with Turnpike's own defaults: takes back what the harness shortens.
DEFAULTS = {"health.every": None, "health.timeout": None, "restart_delay_min": None, "restart_delay_max": None,
            "stop_grace": None}
POISONS = 30
LONG_S = 150  # a deadline that only a hang reaches


def states_of(gate):
    return [lane["state"] for lane in gate.status()["lanes"]]


def restarts_of(gate):
    return [lane["restarts"] for lane in gate.status()["lanes"]]


def pids_of(gate):
    return [lane["pid"] for lane in gate.status()["lanes"]]


class PoisonFlood:
    """Part of a test case with a gate of four lanes on default settings."""

    def assert_no_lane_is_lost(self, gate, target, poisons, honest):
        """Checks that each of these jobs is answered as poison, and that the lanes serve as before."""
        answers = [self.in_thread(gate.post, task, target, deadline_s=LONG_S) for task in poisons]
        for future in answers:
            answer = future.result()
            self.assert_problem(answer, 502, "poison")
            self.assertEqual(answer.header("turnpike-attempt"), "2")
        answer = gate.post(honest, target, deadline_s=LONG_S)
        self.assertEqual(answer.status, 200, answer)
        gate.wait_ready()
        self.assert_never_failed(gate)
        self.assertEqual(sum(restarts_of(gate)), 2 * len(poisons))
        self.assertEqual((gate.pool()["jobs"]["failed"], gate.pool()["jobs"]["finished"]), (len(poisons), 1))
        for lane in range(len(states_of(gate))):
            self.assertEqual(gate.post(honest, target, [("Turnpike-Lane", str(lane))]).status, 200)

    def assert_never_failed(self, gate):
        self.assertNotIn("failed", states_of(gate))
        self.assertNotIn("has failed", gate.process.output())

    def assert_all_serve_again(self, gate):
        wait_until(lambda: set(states_of(gate)) == {"ready"}, "all lanes are ready")
        self.assert_never_failed(gate)
