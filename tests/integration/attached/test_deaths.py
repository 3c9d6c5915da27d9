"""Tests attached workers that die while idle or with a job, and come back: no client notices, and only
healthy workers serve."""
import threading
import unittest

from harness import Case, wait_until


class Deaths(Case):
    def begin_held_job(self, gate, name, **options):
        """Starts a job that runs until the file `name` exists. Returns its future answer and the worker's pid."""
        started = self.folder / f"{name}.started"
        task = {"id": name, "started": str(started), "wait_for": str(self.folder / name)}
        answer = self.in_thread(gate.post, task, **options)
        wait_until(lambda: started.exists() and started.read_text(), f"{name} is running")
        return answer, int(started.read_text())

    def release(self, name):
        (self.folder / name).touch()

    def worker_of(self, workers, pid):
        return next(worker for worker in workers if worker.process.pid == pid)

    def test_a_job_whose_worker_is_killed_is_answered_by_another_lane(self):
        workers = [self.plain_worker() for _ in range(3)]
        gate = self.gate(workers, pool={"health.every": "10s"})  # so that the job, and not a health check, shows the death
        other, other_pid = self.begin_held_job(gate, "kill-other")
        held, pid = self.begin_held_job(gate, "kill-held")
        (self.folder / "kill-held.started").unlink()
        dying = self.worker_of(workers, pid)
        lane = workers.index(dying)
        dying.kill()
        wait_until(lambda: (self.folder / "kill-held.started").exists(), "the job runs again")
        self.release("kill-held")
        answer = held.result()
        self.assertEqual((answer.status, answer.json()["id"]), (200, "kill-held"))
        self.assertEqual(answer.header("turnpike-attempt"), "2")
        self.assertNotEqual(answer.header("turnpike-lane"), str(lane))
        self.assertNotIn(answer.json()["pid"], (pid, other_pid))
        gate.wait_lane(lane, "backoff", "loading", "starting")
        self.release("kill-other")
        self.assertEqual(other.result().header("turnpike-attempt"), "1")
        restarts = [lane["restarts"] for lane in gate.status()["lanes"]]
        self.assertEqual([n for i, n in enumerate(restarts) if i != lane], [0, 0])
        dying.start()
        gate.wait_ready()
        answer = gate.post({"id": 1}, headers=[("Turnpike-Lane", lane)])
        self.assertEqual(answer.json()["pid"], dying.process.pid)

    def test_with_one_lane_the_job_waits_for_the_worker_to_come_back(self):
        worker = self.plain_worker()
        gate = self.gate([worker])
        held, _ = self.begin_held_job(gate, "alone")
        worker.kill()
        queued = self.in_thread(gate.post, {"id": "behind"})
        gate.wait_queued(2)
        self.release("alone")
        worker.start()
        self.assertEqual(held.result().header("turnpike-attempt"), "2")
        self.assertEqual(held.result().json()["id"], "alone")
        self.assertEqual(queued.result().json()["id"], "behind")
        self.assertEqual(queued.result().header("turnpike-attempt"), "1")

    def test_without_retry_the_job_gets_502(self):
        worker = self.plain_worker()
        gate = self.gate([worker, self.plain_worker()], pool={"retry": False})
        held, pid = self.begin_held_job(gate, "no-retry", headers=[("Turnpike-Lane", "0")])
        self.assertEqual(pid, worker.process.pid)
        worker.kill()
        self.assert_problem(held.result(), 502, "worker-died")

    def test_a_restarted_worker_serves_after_its_proof(self):
        worker, other = self.plain_worker(), self.plain_worker()
        gate = self.gate([worker, other], proof=self.proof_of_digit(7))
        self.assertEqual(gate.pool()["proof"], "passed")
        worker.kill()
        gate.wait_lane(0, "backoff", "loading", "starting")
        worker.start()
        gate.wait_ready()
        answer = gate.post({"id": 1}, headers=[("Turnpike-Lane", "0")])
        self.assertEqual(answer.json()["pid"], worker.process.pid)

    def proof_of_digit(self, digit):
        return {"request": "GET /digit", "expect_json": f'{{"digit": {digit}}}'}

    def test_a_restarted_worker_that_gives_garbage_is_not_taken_back(self):
        worker, other = self.plain_worker(), self.plain_worker()
        gate = self.gate([worker, other], proof=self.proof_of_digit(7))
        worker.kill()
        gate.wait_lane(0, "backoff", "loading", "starting")
        worker.start("--digit", "3")
        lane = wait_until(lambda: gate.lane(0)["reason"] == "proof_failed" and gate.lane(0),
                          "the proof fails")
        self.assertNotIn(lane["state"], ("ready", "busy"))
        for i in range(20):
            answer = gate.post({"id": i})
            self.assertEqual((answer.status, answer.json()["digit"]), (200, 7))
            self.assertEqual(answer.header("turnpike-lane"), "1")
            self.assertNotIn(gate.lane(0)["state"], ("ready", "busy"))
        worker.kill()
        worker.start("--digit", "7")  # repaired
        gate.wait_lane(0, "ready")

    def test_a_worker_that_stops_while_idle_leaves_and_no_client_sees_it(self):
        workers = [self.plain_worker() for _ in range(3)]
        gate = self.gate(workers)
        is_over = threading.Event()

        def go_on_asking(number):
            answers = []
            while not is_over.is_set():
                answers.append(gate.post({"id": f"{number}-{len(answers)}"}))
            return answers
        asking = [self.in_thread(go_on_asking, i) for i in range(2)]
        for worker in workers[:2]:
            lane = workers.index(worker)
            worker.kill()
            gate.wait_lane(lane, "backoff", "loading", "starting")
            seen = gate.pool()["jobs"]["finished"]
            wait_until(lambda: gate.pool()["jobs"]["finished"] > seen + 20, "the other lanes go on")
        for worker in workers[:2]:
            worker.start()
        gate.wait_ready()
        is_over.set()
        for number, future in enumerate(asking):
            for i, answer in enumerate(future.result()):
                self.assertEqual(answer.status, 200, answer)
                self.assertEqual(answer.json()["id"], f"{number}-{i}")

    def test_the_death_of_an_idle_worker_is_noticed_without_any_job(self):
        workers = [self.plain_worker(), self.plain_worker()]
        gate = self.gate(workers)
        workers[1].kill()
        gate.wait_lane(1, "backoff", "loading", "starting")
        self.assertEqual(gate.ask("GET", "/-/readyz").status, 200)
        workers[0].kill()
        wait_until(lambda: gate.ask("GET", "/-/readyz").status == 503, "no lane serves")
        waiting = self.in_thread(gate.post, {"id": "patient"})
        gate.wait_queued(1)
        workers[1].start()
        self.assertEqual(waiting.result().json()["id"], "patient")
        self.assertEqual(gate.pool()["jobs"], {"finished": 1, "failed": 0, "refused": 0,
                                               "timed_out": 0, "cancelled": 0})


class Silence(Case):
    def test_a_worker_that_hangs_while_idle_is_taken_out_and_comes_back(self):
        worker, other = self.scripted(), self.scripted()
        gate = self.gate([worker, other], pool={"health.timeout": "100ms", "health.failures": 3})
        worker.is_healthy = False
        gate.wait_lane(0, "backoff", "loading", "starting")
        self.assertEqual(gate.lane(1)["state"], "ready")
        worker.is_healthy = True
        gate.wait_ready()

    def test_a_worker_that_fails_job_after_job_does_not_swallow_the_queue(self):
        def fail(request):
            request.reply(b"broken", status=500)

        def serve(request):
            request.reply(b"fine")
        gate = self.gate([self.scripted(fail), self.scripted(serve)],
                         pool={"fail_streak": 3, "restart_delay_min": "1h",
                               "restart_delay_max": "1h"})
        answers = [gate.ask("GET", f"/{i}") for i in range(40)]
        failed = [answer for answer in answers if answer.status == 500]
        self.assertEqual([answer.body for answer in failed], [b"broken"] * 3)
        self.assertEqual(gate.lane(0)["reason"], "failing_jobs")
        self.assertNotIn(gate.lane(0)["state"], ("ready", "busy"))


class BlockedEventLoop(Case):
    def test_a_worker_that_blocks_its_event_loop_is_not_thought_dead(self):
        worker = self.fastapi_worker()
        gate = self.gate([worker], pool={"health.every": "200ms", "health.timeout": "100ms",
                                         "slow_min": "1s"})
        long = self.in_thread(gate.post, {"id": "long", "work_s": 8}, "/predict-and-block")
        gate.wait_lane(0, "busy")
        behind = self.in_thread(gate.post, {"id": "behind"})
        gate.wait_queued(1)
        states = set()

        def is_answered():
            states.add(gate.lane(0)["state"])
            return long.done()
        wait_until(is_answered, "the long job is answered")
        self.assertEqual(states - {"ready"}, {"busy"})
        answer = long.result()
        self.assertEqual((answer.status, answer.json()["id"]), (200, "long"))
        self.assertEqual(answer.json()["served"], 1)
        self.assertEqual(answer.header("turnpike-attempt"), "1")
        self.assertEqual(behind.result().header("turnpike-attempt"), "1")
        self.assertEqual(gate.lane(0)["restarts"], 0)
        self.assertEqual(gate.pool()["jobs"]["finished"], 2)


if __name__ == "__main__":
    unittest.main()
