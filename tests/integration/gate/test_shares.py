"""An honest client beside a greedy one that came first and took all that it may: the honest one is not refused, and its jobs go
by the order of the rounds. Each client has a key, except where a proxy is one address for many."""
import unittest

from client import bearer
from harness import Case, wait_until

MIB = 1 << 20


def named(job):
    """The letter of the client, from targets such as /g12 and /h0."""
    return job.target[1]


class SharesCase(Case):
    """One lane and one slot, so that the order of jobs is visible."""

    def open(self, workers=1, key_flags=(), **parts):
        self.keys = {"g": self.new_key("greedy", *key_flags), "h": self.new_key("honest"),
                     "root": self.new_key("root", "--admin")}
        self.workers = [self.scripted() for _ in range(workers)]
        self.gate_ = self.gate(self.workers, is_ready=False, **parts)
        wait_until(lambda: self.gate_.ask("GET", "/-/readyz").status == 200, "the gate is ready")
        self.sent = {"g": 0, "h": 0}

    def job(self, who, *fields, body=b"x"):
        """Sends a job. Returns the connection."""
        target = f"/{who}{self.sent[who]}"
        self.sent[who] += 1
        return self.gate_.connect().request("POST", target, body, [*bearer(self.keys[who]), *fields])

    def status(self):
        return self.gate_.ask("GET", "/-/status", None, bearer(self.keys["root"])).json()

    def pool(self):
        return self.status()["pools"][0]

    def client(self, name):
        return next((client for client in self.status()["clients"] if client["client"] == f"key {name}"), None)

    def fill(self, *fields, problem):
        """Lets the greedy client send jobs until it is refused. Returns those that wait, and the one that runs."""
        first = self.job("g", *fields)
        running = self.workers[0].take()
        waiting = [first]
        while True:
            job = self.job("g", *fields)
            before = len(waiting)
            done = wait_until(lambda: self.pool()["queued"] == before or self.client("greedy")["refused"],
                              "the job waits or is refused")
            if self.client("greedy")["refused"]:
                self.assert_problem(job.answer(), 429, problem)
                return waiting, running
            self.assertTrue(done)
            waiting.append(job)

    def order(self, running, count):
        """Answers the running job, and so on. Returns whose the next `count` jobs are."""
        clients = []
        for _ in range(count):
            running.reply(b"done")
            running = self.workers[0].take()
            clients.append(named(running))
        self.running = running
        return "".join(clients)

    def answer_all(self, jobs):
        """Answers all that is left, and checks that each of these jobs is answered."""
        self.workers[0].behave = lambda request: request.reply(b"done")
        self.running.reply(b"done")
        for job in jobs:
            self.assertEqual(job.answer().status, 200)

    def send_honest(self, count, *fields):
        queued = self.pool()["queued"]
        jobs = [self.job("h", *fields) for _ in range(count)]
        wait_until(lambda: self.pool()["queued"] == queued + count, "no honest job is refused")
        return jobs


class Shares(SharesCase):
    def test_a_queue_full_of_jobs(self):
        self.open(queue={"jobs_max": 60})
        waiting, running = self.fill(problem="queue-full")
        self.assertEqual(len(waiting) - 1, 54, "nine tenths; one tenth is for the next client")
        honest = self.send_honest(3)
        self.assertEqual(self.order(running, 6), "ghghgh")
        self.answer_all([*honest, *waiting[:1]])

    def test_a_second_greedy_client_leaves_room_too(self):
        self.open(queue={"jobs_max": 60})
        _, running = self.fill(problem="queue-full")
        second = [self.gate_.connect().request("POST", "/r", b"x", bearer(self.keys["root"])) for _ in range(5)]
        wait_until(lambda: (self.client("root") or {}).get("refused") == 2, "the last twentieth is for newcomers")
        honest = self.send_honest(1)
        self.assertIn("h", self.order(running, 3))
        self.answer_all(honest)
        self.assertEqual(sorted(job.answer().status for job in second), [200, 200, 200, 429, 429])

    def test_a_lane_full_of_jobs_that_ask_for_it(self):
        self.open()
        lane = ("Turnpike-Lane", "0")
        waiting, running = self.fill(lane, problem="lane-queue-full")
        honest = [*self.send_honest(1, lane), *self.send_honest(1)]
        self.assertIn(self.order(running, 3), ("ghg", "hgh"), "its turn comes in each round, pinned or not")
        self.answer_all(honest)

    def test_jobs_that_ask_for_a_lane_fill_only_its_own_queue(self):
        self.open(workers=2)
        _, running = self.fill(("Turnpike-Lane", "0"), problem="lane-queue-full")
        honest = self.job("h")
        other = self.workers[1].take()
        self.assertEqual(named(other), "h", "the other lane is free")
        other.reply(b"done")
        self.assertEqual(honest.answer().status, 200)
        running.reply(b"done")

    def test_urgent_jobs(self):
        self.open(queue={"jobs_max": 60})
        waiting, running = self.fill(("Turnpike-Priority", "9"), problem="queue-full")
        honest = self.send_honest(3)
        self.assertEqual(self.order(running, 6), "ghghgh", "priority 9 of a key without --priority-max counts as 5")
        self.answer_all([*honest, *waiting[:1]])

    def test_heads_without_bodies(self):
        self.open(queue={"arriving_max": 20})
        heads = [self.gate_.connect().request("POST", "/g", None, [*bearer(self.keys["g"]), ("Content-Length", "9")])
                 for _ in range(40)]
        wait_until(lambda: (self.client("greedy") or {}).get("refused") == 40 - 18, "it has nine tenths of the uploads")
        honest = self.job("h")
        running = self.workers[0].take()
        self.assertEqual(named(running), "h")
        running.reply(b"done")
        self.assertEqual(honest.answer().status, 200)
        for head in heads:
            head.close()

    def test_announced_bytes(self):
        self.open(gate={"body_max": "4MiB"}, queue={"bytes_max": "40MiB"})
        announced = [("Content-Length", str(4 * MIB)), *bearer(self.keys["g"])]
        heads = [self.gate_.connect().request("POST", "/g", None, announced).send(b"x") for _ in range(60)]
        wait_until(lambda: (self.client("greedy") or {}).get("refused") == 60 - 36, "it has nine tenths of the bytes")
        honest = [self.job("h", body=b"h" * (4 * MIB)) for _ in range(3)]
        running = self.workers[0].take()
        self.assertEqual((named(running), len(running.body)), ("h", 4 * MIB))
        self.running = running
        self.answer_all(honest)
        self.assertIsNone((self.client("honest") or {}).get("refused") or None, "no honest job was refused")
        for head in heads:
            head.close()

    def test_one_client_alone_gets_fifo_order(self):
        self.open()
        jobs = [self.job("h")]
        self.running = self.workers[0].take()
        for count in range(1, 6):
            jobs += self.send_honest(1)
        self.assertEqual(self.running.target, "/h0")
        for count in range(1, 6):
            self.running.reply(b"done")
            self.running = self.workers[0].take()
            self.assertEqual(self.running.target, f"/h{count}")
        self.answer_all(jobs)


class LimitsOfKeys(SharesCase):
    """A key's own limits hold whatever else is free, and for nobody else."""

    def test_jobs_max(self):
        self.open(key_flags=("--jobs-max", "3"))
        jobs = [self.job("g")]
        self.running = self.workers[0].take()
        jobs += [self.job("g"), self.job("g")]
        wait_until(lambda: self.pool()["queued"] == 2, "three jobs are live")
        self.assert_problem(self.job("g").answer(), 429, "client-limit")
        honest = self.send_honest(1)
        self.answer_all([*jobs, *honest])
        self.assertEqual(self.job("g").answer().status, 200, "they have ended")

    def test_bytes_max_of_bodies_with_and_without_a_length(self):
        self.open(key_flags=("--bytes-max", "2MiB"))
        holder = self.job("g", body=bytes(MIB))
        self.running = self.workers[0].take()
        self.assert_problem(self.job("g", body=bytes(MIB + 1)).answer(), 429, "client-limit")
        chunked = self.gate_.connect().request("POST", "/g", None, [*bearer(self.keys["g"]), ("Transfer-Encoding", "chunked")])
        chunk = b"80000\r\n" + bytes(MIB // 2) + b"\r\n"
        for _ in range(4):
            chunked.send(chunk)
        self.assert_problem(chunked.answer(), 429, "client-limit")
        honest = self.send_honest(1)
        self.answer_all([holder, *honest])

    def test_priority_max_is_what_counts_against_others(self):
        self.open(key_flags=("--priority-max", "6"))
        first = self.job("h")
        running = self.workers[0].take()
        honest = [first, *self.send_honest(2)]
        urgent = [self.job("g", ("Turnpike-Priority", "9")), self.job("g", ("Turnpike-Priority", "6"))]
        wait_until(lambda: self.pool()["queued"] == 4, "all wait")
        self.assertEqual(self.order(running, 4), "gghh", "6 goes before 5")
        self.answer_all([*honest, *urgent])


class BehindAProxy(Case):
    """Two users behind one proxy, with a key each: limits and turns are by key, not by address."""

    def test_keys_are_clients_though_they_share_an_address(self):
        keys = [self.new_key("one", "--jobs-max", "1"), self.new_key("two")]
        worker = self.scripted()
        gate = self.gate([worker], is_ready=False, gate={"trusted_proxies": ["127.0.0.1"]})
        wait_until(lambda: gate.ask("GET", "/-/readyz").status == 200, "the gate is ready")
        forwarded = ("X-Forwarded-For", "203.0.113.7")
        first = gate.connect().request("POST", "/", b"x", [*bearer(keys[0]), forwarded])
        running = worker.take()
        refused = gate.ask("POST", "/", b"x", [*bearer(keys[0]), forwarded])
        self.assert_problem(refused, 429, "client-limit")
        second = gate.connect().request("POST", "/", b"x", [*bearer(keys[1]), forwarded])
        running.reply(b"one")
        worker.take().reply(b"two")
        self.assertEqual([first.answer().body, second.answer().body], [b"one", b"two"])


if __name__ == "__main__":
    unittest.main()
