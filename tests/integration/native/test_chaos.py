"""Tests everything at once on native lanes, like attached/test_chaos.py: clients of many kinds, while workers
that batch, use threads or use an event loop are killed, stopped for a moment, restarted, drained and reloaded.
Each body is random, so the answer of another job is noticed. TURNPIKE_TEST_CHAOS_S makes each test longer."""
import os
import random
import signal
import unittest

from chaos import SEED, ChaosCase
from native_case import NativeCase

SECONDS = float(os.environ.get("TURNPIKE_TEST_CHAOS_S", 3))
MODEL = '''
class Echo(turnpike.Model):
    """Answers with the body, in the way that the path asks for. predict() takes batches."""
    batch = 8
    slots = 1

    def predict(self, many: list[turnpike.Request]):
        return [one.body for one in many]

    def request(self, req):
        kind = req.path.split("/")[1]
        if kind == "stream":
            return self.pieces(req.body)
        if kind == "die-once" and turnpike.job().attempt == 1:
            os.kill(os.getpid(), signal.SIGKILL)
        if kind == "bad":
            raise turnpike.BadInput("as you wish")
        return req.body

    def pieces(self, body):
        for at in range(0, len(body), 1000):
            yield body[at:at + 1000]
'''
ASYNC = MODEL.replace("    def predict", "    async def predict").replace("    def request",
                                                                         "    async def request")
KINDS = ["plain", "batch", "batch", "stream", "large", "leave", "leave-upload", "cancel", "chunked",
         "timeout", "bad"]


class NativeChaos(NativeCase, ChaosCase):
    KINDS = 3 * KINDS + ["die-once"]

    def one_request(self, gate, kind, body, target):
        if kind == "batch":
            target = "/predict?" + target[1:].replace("/", "-")
        return super().one_request(gate, kind, body, target)

    def problem_with(self, kind, answer, body):
        if kind == "bad":
            return None if answer.status in (400, 502) else f"bad: {answer}"
        if kind == "stream" and not body and answer.status == 200:
            return None if answer.body == b"" else f"stream: {answer}"
        return super().problem_with(kind, answer, body)

    def disturb(self, gate, is_over):
        """Kills, stops, restarts, drains and reloads workers. Returns how many times."""
        choice, times = random.Random(SEED), 0
        while not is_over.wait(choice.choice([0.05, 0.2])):
            lane = choice.choice(gate.status()["lanes"])
            what = choice.choice(["kill", "kill", "stop", "restart", "stacks", "drain", "reload"])
            if what in ("kill", "stop"):
                self.strike(lane["pid"], what, choice, is_over)
            elif what == "reload":
                gate.ask("POST", "/-/reload")
            else:
                gate.ask("POST", f"/-/lanes/{lane['lane']}/{what}")
            if what == "drain":
                gate.ask("POST", f"/-/lanes/{lane['lane']}/resume")
            times += 1
        return times

    def strike(self, pid, what, choice, is_over):
        """Kills a worker, or stops it for a moment. It may be gone already."""
        if not pid:
            return
        try:
            if what == "kill":
                return os.kill(pid, choice.choice([signal.SIGKILL, signal.SIGSEGV]))
            os.kill(pid, signal.SIGSTOP)
            is_over.wait(choice.choice([0.01, 0.3]))
            os.kill(pid, signal.SIGCONT)
        except ProcessLookupError:
            pass

    def assert_survives(self, text):
        log = self.folder / f"chaos-{self.id()}.jsonl"
        gate = self.serve(self.model(text), "--log-jobs", str(log),
                          pool={"lanes": 3, "crash_limit": 16, "crash_window": "1s",
                                "stop_grace": "2s"})
        fds = self.descriptors(gate)
        self.run_chaos(gate, 12, SECONDS, lambda is_over: self.disturb(gate, is_over), lambda times: 8 * times)
        self.assert_nothing_left(gate, fds)
        self.assertEqual(self.stop(gate), 0)
        self.assert_one_line_per_job(log)

    def test_batches(self):
        self.assert_survives(MODEL)

    def test_threads(self):
        self.assert_survives(MODEL.replace("slots = 1", "slots = 4").replace("batch = 8", "batch = 2"))

    def test_an_event_loop(self):
        self.assert_survives(ASYNC.replace("slots = 1", "slots = 4"))


if __name__ == "__main__":
    unittest.main()
