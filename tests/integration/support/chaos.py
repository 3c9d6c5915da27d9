"""For tests with many clients at once: some wait for their answer, others leave, send much, cancel or set short timeouts.

A failure prints its seed. TURNPIKE_TEST_SEED=N repeats the choices of a run, but not its timing."""
import json
import os
import random
import threading
import time

from client import Truncated
from harness import Case, wait_until

SEED = int(os.environ.get("TURNPIKE_TEST_SEED", time.time_ns() % 1_000_000))


class ChaosCase(Case):
    KINDS = ["plain", "plain", "plain", "stream", "large", "die-once", "leave", "leave-upload",
             "cancel", "chunked", "timeout"]

    def run_chaos(self, gate, clients, seconds, disturb, deaths_max):
        """Lets clients ask while `disturb(is_over)` runs in a thread. Fails if an answer is wrong, or if more jobs
        died with a worker than `deaths_max(n)` allows, where n is what `disturb` returned."""
        is_over = threading.Event()
        disturbing = self.in_thread(disturb, is_over)
        asking = [self.in_thread(self.client, gate, i, is_over) for i in range(clients)]
        is_over.wait(seconds)
        is_over.set()
        wrong = [problem for client in asking for problem in client.result(60)[0]]
        died = [problem for client in asking for problem in client.result(60)[1]]
        self.assertEqual(wrong, [], f"TURNPIKE_TEST_SEED={SEED}")
        self.assertLessEqual(len(died), deaths_max(disturbing.result()), f"TURNPIKE_TEST_SEED={SEED} {died}")

    def client(self, gate, number, is_over):
        """Sends requests until `is_over` is set. Returns the wrong answers, and the jobs that died with a worker."""
        choice = random.Random(SEED * 1000 + number)
        wrong, died, answered = [], [], 0
        while not is_over.is_set():
            kind = choice.choice(self.KINDS)
            size = choice.randrange(2 << 20, 4 << 20) if kind == "large" else choice.randrange(9000)
            body = choice.randbytes(size)
            try:
                problem = self.one_request(gate, kind, body, f"/{kind}/{number}-{answered}")
            except (Truncated, ConnectionResetError) as error:
                (died if kind in ("stream", "large") else wrong).append(f"{kind}: {error!r}")
                problem = None
            if problem:
                (died if "<502" in problem else wrong).append(problem)
            answered += 1
        return wrong, died

    def one_request(self, gate, kind, body, target):
        with gate.connect() as client:
            if kind == "leave-upload":
                client.send(b"POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\nx"
                            % (target.encode(), len(body) + 2))
                return None
            if kind == "chunked":
                client.request("POST", target, None, [("Transfer-Encoding", "chunked")])
                client.send(b"%x\r\n%s\r\n0\r\n\r\n" % (len(body), body) if body else b"0\r\n\r\n")
            else:
                extra = [("Turnpike-Timeout", "20ms")] if kind == "timeout" else []
                client.request("POST", target, body, extra)
            if kind == "leave":
                return None
            if kind == "cancel":
                for job in gate.live_jobs():
                    if job["path"] == target:
                        gate.ask("DELETE", f"/-/jobs/{job['id']}")
            return self.problem_with(kind, client.answer(), body)

    def problem_with(self, kind, answer, body):
        allowed = {"cancel": (200, 409), "timeout": (200, 504)}.get(kind, (200,))
        if answer.status not in allowed:
            return f"{kind}: {answer}"
        if answer.status == 200 and answer.body != body:
            return f"{kind}: the answer of another job: {answer}"
        return None

    def assert_nothing_left(self, gate, fds):
        wait_until(lambda: gate.live_jobs() == [], "no job is left")
        self.assertEqual(gate.status()["bytes_held"], 0)
        gate.wait_ready()
        wait_until(lambda: len(os.listdir(f"/proc/{gate.process.pid}/fd")) <= fds + 8,
                   "no descriptor is left")
        counts = gate.pool()["jobs"]
        self.assertGreater(counts["finished"], 100, counts)

    def assert_one_line_per_job(self, log):
        records = [json.loads(line) for line in log.read_text().splitlines()]
        ids = [record["id"] for record in records if record["id"]]
        self.assertEqual(len(ids), len(set(ids)), f"TURNPIKE_TEST_SEED={SEED}")
