"""Tests many clients with several workers: every client gets its own answer, jobs run in the order of the
queue, and no worker is idle while jobs wait."""
import threading
import unittest

from harness import Case, wait_until
from scripted_worker import echo


class Crowd(Case):
    CLIENTS = 200

    def crowd(self, gate, target):
        """Sends all requests at once, each with its own id."""
        barrier = threading.Barrier(self.CLIENTS)

        def one(i):
            barrier.wait()
            return gate.post({"id": f"client-{i}", "work_s": 0.01}, target)
        asked = [self.in_thread(one, i) for i in range(self.CLIENTS)]
        return [future.result(60) for future in asked]

    def test_200_clients_each_get_their_own_answer_from_4_workers(self):
        workers = [self.fastapi_worker() for _ in range(4)]
        gate = self.gate(workers, pool={"health.every": "1s"})
        for target in ("/predict", "/predict-in-thread"):
            with self.subTest(target):
                answers = self.crowd(gate, target)
                self.assertEqual([answer.status for answer in answers], [200] * self.CLIENTS)
                self.assertEqual([answer.json()["id"] for answer in answers],
                                 [f"client-{i}" for i in range(self.CLIENTS)])
                self.assert_one_at_a_time_and_fair(answers)
                self.assert_ids_are_unique(answers)
        self.assertEqual(gate.pool()["jobs"]["finished"], 2 * self.CLIENTS)
        self.assertEqual([lane["restarts"] for lane in gate.status()["lanes"]], [0] * 4)

    def assert_one_at_a_time_and_fair(self, answers):
        by_lane = {}
        for answer in answers:
            self.assertEqual(answer.json()["inside_most"], 1, "a worker must run one job at a time")
            self.assertEqual(answer.header("turnpike-attempt"), "1")
            by_lane.setdefault(answer.header("turnpike-lane"), set()).add(answer.json()["pid"])
            by_lane.setdefault("n" + answer.header("turnpike-lane"), []).append(1)
        self.assertEqual(sorted(lane for lane in by_lane if lane[0] != "n"), list("0123"))
        for lane in "0123":
            self.assertEqual(len(by_lane[lane]), 1, "each lane must have one worker")
            self.assertGreater(len(by_lane["n" + lane]), self.CLIENTS // 4 // 4, by_lane)

    def assert_ids_are_unique(self, answers):
        ids = {answer.header("turnpike-job") for answer in answers}
        self.assertEqual(len(ids), self.CLIENTS)


class Order(Case):
    def test_jobs_run_in_the_order_in_which_they_queued(self):
        worker = self.scripted()
        gate = self.gate([worker])
        clients = []
        for i in range(20):
            clients.append(gate.connect().request("POST", f"/{i}", b""))
            if i == 0:
                first = worker.take()
            else:
                gate.wait_queued(i)
        first.reply()
        for i in range(1, 20):
            request = worker.take()
            self.assertEqual(request.target, f"/{i}")
            request.reply()
        self.assertEqual([client.answer().status for client in clients], [200] * 20)

    def test_a_higher_priority_goes_first(self):
        worker = self.scripted()
        gate = self.gate([worker])
        clients = [gate.connect().request("GET", "/running")]
        first = worker.take()
        for i, priority in enumerate((5, 1, 9)):
            clients.append(gate.connect().request("GET", f"/{priority}", None,
                                                  [("Turnpike-Priority", priority)]))
            gate.wait_queued(i + 1)
        first.reply()
        for expected in ("/9", "/5", "/1"):
            request = worker.take()
            self.assertEqual(request.target, expected)
            request.reply()
        for client in clients:
            self.assertEqual(client.answer().status, 200)

    def test_no_lane_is_idle_while_jobs_wait(self):
        workers = [self.scripted() for _ in range(4)]
        gate = self.gate(workers)
        clients = [gate.connect().request("GET", f"/{i}") for i in range(8)]
        gate.wait_queued(4)
        running = [worker.take() for worker in workers]
        status = gate.status()
        self.assertEqual([lane["state"] for lane in status["lanes"]], ["busy"] * 4)
        self.assertEqual([len(lane["jobs"]) for lane in status["lanes"]], [1] * 4)
        self.assertEqual(sorted(request.target for request in running), [f"/{i}" for i in range(4)])
        running[2].reply()  # the lane that is free now takes the next job at once, the others keep theirs
        self.assertEqual(workers[2].take().target, "/4")
        self.assertEqual(gate.pool()["queued"], 3)
        self.assertEqual([lane["state"] for lane in gate.status()["lanes"]], ["busy"] * 4)
        self.assertEqual(sum(len(worker.seen) for worker in workers), 5)
        self.assertEqual(clients[int(running[2].target[1:])].answer().status, 200)

    def test_a_full_queue_says_when_to_come_back(self):
        worker = self.scripted()
        gate = self.gate([worker], queue={"jobs_max": 2})
        clients = [gate.connect().request("GET", "/running")]
        running = worker.take()
        for i in range(2):
            clients.append(gate.connect().request("GET", f"/{i}"))
            gate.wait_queued(i + 1)
        refused = gate.ask("GET", "/too-much")
        self.assert_problem(refused, 429, "queue-full")
        self.assertGreaterEqual(int(refused.header("retry-after")), 1)
        running.reply()
        for _ in range(2):
            worker.take().reply()
        self.assertEqual([client.answer().status for client in clients], [200] * 3)
        self.assertNotIn("GET /too-much", worker.seen)

    def test_one_lane_can_be_asked_for(self):
        gate = self.gate([self.scripted(echo) for _ in range(3)])
        for lane in "2120":
            answer = gate.ask("GET", "/", None, [("Turnpike-Lane", lane)])
            self.assertEqual((answer.status, answer.header("turnpike-lane")), (200, lane))
        answer = gate.ask("GET", "/", None, [("Turnpike-Lane", "3")])
        self.assert_problem(answer, 404, "unknown-lane")

    def test_aside_requests_pass_while_the_only_lane_is_busy(self):
        worker = self.scripted()
        gate = self.gate([worker], pool={"aside": ["GET /v1/models", "GET /static/*"]})
        busy = gate.connect().request("POST", "/predict", b"")
        running = worker.take()
        for target in ("/v1/models", "/v1/models?x=1", "/static/a/b.js"):
            client = gate.connect().request("GET", target)
            aside = worker.take()
            self.assertEqual(aside.target, target)
            aside.reply(b"cheap")
            self.assertEqual(client.answer().body, b"cheap")
        waiting = gate.connect().request("POST", "/v1/models", b"")  # not a GET, so this is a job
        gate.wait_queued(1)
        running.reply()
        worker.take().reply()
        self.assertEqual((busy.answer().status, waiting.answer().status), (200, 200))

    def test_a_job_that_runs_out_of_its_time_is_answered_with_504(self):
        worker = self.scripted()
        gate = self.gate([worker], pool={"cancel": "close"})
        client = gate.connect().request("GET", "/long", None, [("Turnpike-Timeout", "300ms")])
        running = worker.take()
        self.assert_problem(client.answer(), 504, "deadline-passed")
        self.assertTrue(running.gate_has_closed())
        wait_until(lambda: gate.lane(0)["state"] == "ready", "the lane is free again")


if __name__ == "__main__":
    unittest.main()
