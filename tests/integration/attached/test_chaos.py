"""Tests everything at once with attached workers: clients stay, leave, upload much or cancel, while workers
die and come back. Every client that stays gets one right answer, and nothing is left over."""
import os
import random
import unittest

from chaos import SEED, ChaosCase

SECONDS = float(os.environ.get("TURNPIKE_TEST_CHAOS_S", 5))


def serve(request):
    """Answers with the body, in the way that the path asks for."""
    kind = request.target.split("/")[1]
    if kind == "stream":
        request.begin_chunked()
        for i in range(0, len(request.body), 1000):
            request.chunk(request.body[i:i + 1000])
        request.chunk(b"").finish()
    elif kind == "die-once" and request.header("turnpike-attempt") == "1":
        request.close()
    else:
        request.reply(request.body)


class Chaos(ChaosCase):
    def disturb(self, workers, is_over):
        """Makes workers die, come back and fail their health checks. Returns the number of deaths."""
        choice = random.Random(SEED)
        deaths = 0
        while not is_over.wait(0.1):
            worker = choice.choice(workers)
            worker.is_healthy = choice.random() < 0.7
            if choice.random() < 0.4:
                worker.die()
                deaths += 1
                is_over.wait(choice.choice([0, 0.1]))
                worker.revive()
        for worker in workers:
            worker.is_healthy = True
        return deaths

    def test_each_client_that_stays_gets_one_right_answer(self):
        log = self.folder / "chaos.jsonl"
        workers = [self.scripted(serve) for _ in range(4)]
        gate = self.gate(workers, "--log-jobs", str(log),
                         pool={"health.every": "50ms", "health.failures": 2, "cancel": "close",
                               "restart_delay_max": "20ms"})
        fds = len(os.listdir(f"/proc/{gate.process.pid}/fd"))
        self.run_chaos(gate, 16, SECONDS, lambda is_over: self.disturb(workers, is_over), lambda deaths: deaths)
        self.assert_nothing_left(gate, fds)
        self.assertEqual(self.stop(gate), 0)
        self.assert_one_line_per_job(log)


if __name__ == "__main__":
    unittest.main()
