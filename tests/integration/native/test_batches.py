"""Tests batches: jobs that wait while a lane is busy run together, and each client gets its own answer."""
import os
import signal
import unittest

from fake_gpus import has_real_driver, use_fake_gpu
from native_case import NativeCase, SharedGate, body_of, wait_until

MODEL = '''
class Many(turnpike.Model):
    batch = 4
    runs = 0

    def predict(self, tasks):
        assert isinstance(tasks, list)
        self.runs += 1
        tasks[0].get("do") == "wait" and wait(tasks[0])
        for task in tasks:
            if task.get("do") == "kill":
                os.kill(os.getpid(), signal.SIGKILL)
            if task.get("do") == "raise":
                raise ValueError("one of them is wrong")
            if task.get("do") == "sick" and not os.path.exists(task["mark"]):
                write_file(task["mark"])
                raise turnpike.Unhealthy("once")
            if task.get("do") == "out_of_memory":
                raise type("OutOfMemoryError", (RuntimeError,), {"__module__": "torch"})("CUDA out of memory")
            if task.get("do") == "stuck":
                wait_for(task["never"])
        if any(task.get("do") == "count" for task in tasks):
            return [0] * (len(tasks) + 1)
        return [self.one(task, len(tasks)) for task in tasks]

    def one(self, task, together):
        do = task.get("do")
        if do == "bad":
            return turnpike.BadInput("no good")
        if do == "nan":
            return float("nan")
        if do == "bytes":
            return bytes(task["size"])
        if do == "stream":
            return (item for item in "abc")
        if do == "cancelled":
            write_file(task["started"])
            while not turnpike.job().jobs[task["index"]].cancelled:
                time.sleep(0.002)
        return {"n": task.get("n"), "together": together, "run": self.runs,
                "all_cancelled": turnpike.job().cancelled, "size": len(task.get("padding", "")),
                "lane": os.environ["TURNPIKE_LANE"]}
'''
ASYNC = MODEL.replace("def predict(", "async def predict(")


class BatchCase(NativeCase):
    """`gather` makes jobs wait behind a running job, so that they form a batch."""

    def gather(self, gate, tasks, during=None):
        """Queues `tasks` behind a running job, lets them run, and returns their answers in the same order."""
        held = [self.begin_job(gate) for _ in gate.status()["lanes"]]
        futures = []
        for number, task in enumerate(tasks):
            target = task.pop("target", "/predict")
            futures.append(self.in_thread(gate.post, {"n": number, **task}, target))
            gate.wait_queued(number + 1)
        for future, go in held:
            go.touch()
        if during:
            during()
        for future, _ in held:
            self.assertEqual(future.result().status, 200, future.result())
        return [future.result() for future in futures]

    def sizes(self, answers):
        return [answer.json()["together"] for answer in answers]


class Greedy(SharedGate, BatchCase):
    text = MODEL

    def open(self):
        return self.serve(self.model(self.text))

    def test_a_single_job_is_run_at_once(self):
        self.assertEqual(self.gate.lane(0)["batch"], 4)
        for number in range(3):
            found = self.ask_model(n=number).json()
            self.assertEqual((found["n"], found["together"]), (number, 1))

    def test_waiting_jobs_form_one_batch_in_their_order(self):
        answers = self.gather(self.gate, [{} for _ in range(6)])
        self.assertEqual([answer.json()["n"] for answer in answers], list(range(6)))
        self.assertEqual(self.sizes(answers), [4, 4, 4, 4, 2, 2])
        runs = [answer.json()["run"] for answer in answers]
        self.assertEqual([run - runs[0] for run in runs], [0, 0, 0, 0, 1, 1])

    def test_bad_input_fails_only_its_own_member(self):
        answers = self.gather(self.gate, [{}, {"do": "bad"}, {"do": "nan"}, {}])
        self.assertEqual([answer.status for answer in answers], [200, 400, 500, 200])
        self.assert_problem(answers[1], 400, "bad-input")
        self.assertEqual(answers[1].json()["detail"], "no good")
        self.assert_problem(answers[2], 500, "non-finite")
        self.assertEqual(self.sizes([answers[0], answers[3]]), [4, 4])

    def test_an_exception_fails_only_the_member_that_raises_it(self):
        answers = self.gather(self.gate, [{}, {}, {"do": "raise"}, {}])
        self.assertEqual([answer.status for answer in answers], [200, 200, 500, 200])
        self.assert_problem(answers[2], 500, "model-failed")
        self.assertEqual(self.sizes(answers[:2] + answers[3:]), [1, 1, 1])

    def test_a_body_that_is_no_json_is_left_out(self):
        held, go = self.begin_job(self.gate)
        good = self.in_thread(self.gate.post, {"n": 1})
        self.gate.wait_queued(1)
        bad = self.in_thread(self.gate.ask, "POST", "/predict", b"{")
        self.gate.wait_queued(2)
        go.touch()
        self.assert_problem(bad.result(), 400, "bad-input")
        self.assertEqual(good.result().json()["together"], 1)
        self.assertEqual(held.result().status, 200)

    def test_another_path_may_be_among_them(self):
        answers = self.gather(self.gate, [{}, {"target": "/elsewhere"}, {}])
        self.assertEqual([answer.status for answer in answers], [200, 404, 200])
        self.assertEqual(self.sizes([answers[0], answers[2]]), [2, 2])

    def test_a_wrong_number_of_answers_is_the_model_s_fault(self):
        answers = self.gather(self.gate, [{"do": "count"}, {}])
        self.assert_problem(answers[0], 500, "model-failed")
        self.assertIn("list of 1", answers[0].json()["detail"])
        self.assertEqual(answers[1].status, 200)

    def test_a_stream_can_t_be_a_member_s_answer(self):
        answers = self.gather(self.gate, [{}, {"do": "stream"}])
        self.assertEqual([answer.status for answer in answers], [200, 500])

    def test_large_bodies_and_answers_of_members(self):
        padding, size = "x" * 1_500_000, 1_500_000
        answers = self.gather(self.gate, [{"padding": padding}, {}, {"do": "bytes", "size": size},
                                          {"padding": padding, "do": "bytes", "size": 10}])
        self.assertEqual([answer.status for answer in answers], [200] * 4)
        self.assertEqual(answers[0].json()["size"], size)
        self.assertEqual(self.sizes(answers[:2]), [4, 4])
        self.assertEqual((answers[2].body, answers[3].body), (bytes(size), bytes(10)))


class GreedyAsync(Greedy):
    text = ASYNC


class Leaving(SharedGate, BatchCase):
    """One job of a batch is cancelled, left or timed out. The other jobs are not affected."""

    def open(self):
        return self.serve(self.model(MODEL))

    def begin_two(self, **headers):
        """Starts a batch of two jobs, which runs until the file `go` exists. The first job waits for that file."""
        held, go_held = self.begin_job(self.gate)
        folder = self.folder_for("two")
        started, go = folder / "started", folder / "go"
        wanted = self.in_thread(self.gate.post, {"do": "wait", "started": str(started),
                                                 "wait_for": str(go), "n": "wanted"})
        self.gate.wait_queued(1)
        client = self.gate.connect()
        client.request("POST", "/predict", b'{"n": "left"}', list(headers.items()))
        self.gate.wait_queued(2)
        go_held.touch()
        held.result()
        wait_until(started.exists, "both jobs are aboard")
        return wanted, client, go

    def assert_unharmed(self, wanted, go):
        go.touch()
        answer = wanted.result()
        self.assertEqual((answer.status, answer.header("turnpike-attempt")), (200, "1"), answer)
        self.assertEqual((answer.json()["together"], answer.json()["all_cancelled"]), (2, False))
        self.gate.wait_lane(0, "ready")
        self.assertEqual(self.gate.lane(0)["restarts"], 0)
        self.assertEqual(self.ask_model(n=1).json()["together"], 1)

    def test_its_client_leaves(self):
        wanted, client, go = self.begin_two()
        before = self.gate.pool()["jobs"]["cancelled"]
        client.close()
        wait_until(lambda: self.gate.pool()["jobs"]["cancelled"] > before, "the gate has noticed that the client left")
        self.assert_unharmed(wanted, go)

    def test_it_is_cancelled(self):
        wanted, client, go = self.begin_two()
        [name] = [job["id"] for job in self.gate.live_jobs()
                  if job["client"].endswith(f":{client.socket.getsockname()[1]}")]
        self.assertEqual(self.gate.ask("DELETE", f"/-/jobs/{name}").status, 202)
        self.assert_problem(client.answer(), 409, "cancelled")
        self.assert_unharmed(wanted, go)

    def test_its_time_is_over(self):
        wanted, client, go = self.begin_two(**{"Turnpike-Timeout": "1s"})
        self.assert_problem(client.answer(), 504, "deadline-passed")
        self.assert_unharmed(wanted, go)

    def test_a_member_sees_that_it_was_cancelled(self):
        held, go = self.begin_job(self.gate)
        first = self.in_thread(self.gate.post, {"n": 0})
        self.gate.wait_queued(1)
        client, started = self.gate.connect(), self.folder_for("member") / "started"
        task = {"do": "cancelled", "index": 1, "started": str(started)}
        client.request("POST", "/predict", body_of(task))
        self.gate.wait_queued(2)
        go.touch()
        held.result()
        wait_until(started.exists, "the model has noticed the cancel")
        client.close()
        self.assertEqual(first.result().json()["together"], 2)


class SeveralLanes(BatchCase):
    def test_each_lane_takes_its_own_batch(self):
        gate = self.serve(self.model(MODEL), pool={"lanes": 2})
        folder = self.folder_for("both")
        started, go = [folder / "one", folder / "two"], folder / "go"
        tasks = [{} for _ in range(8)]
        for first, path in zip((tasks[0], tasks[4]), started):
            first.update(do="wait", started=str(path), wait_for=str(go))

        def until_both_are_aboard():
            wait_until(lambda: all(path.exists() for path in started), "two batches run")
            go.touch()
        answers = self.gather(gate, tasks, until_both_are_aboard)
        lanes = [answer.json()["lane"] for answer in answers]
        self.assertEqual([len(set(lanes[:4])), len(set(lanes[4:])), len(set(lanes))], [1, 1, 2])
        self.assertEqual(self.sizes(answers), [4] * 8)

    def test_the_config_can_make_batches_smaller(self):
        gate = self.serve(self.model(MODEL), pool={"batch": 2})
        self.assertEqual(gate.lane(0)["batch"], 2)
        self.assertEqual(self.sizes(self.gather(gate, [{}, {}, {}])), [2, 2, 1])

    def test_a_thousand_small_jobs_each_get_their_own_answer(self):
        gate = self.serve(self.model(MODEL), pool={"lanes": 2, "batch": 16})

        def client(first):
            with_ids = [(n, gate.post({"n": n})) for n in range(first, first + 40)]
            return [(n, answer.status, answer.json()["n"]) for n, answer in with_ids]
        found = [self.in_thread(client, 40 * number) for number in range(25)]
        for future in found:
            for n, status, said in future.result():
                self.assertEqual((status, said), (200, n))


class Deaths(BatchCase):
    def test_members_are_tried_again_alone_and_only_the_guilty_one_fails(self):
        gate = self.serve(self.model(MODEL), pool={"crash_limit": 16})
        answers = self.gather(gate, [{}, {"do": "kill"}, {}, {}])
        self.assertEqual([answer.status for answer in answers], [200, 502, 200, 200])
        self.assert_problem(answers[1], 502, "poison")
        self.assertEqual(self.sizes([answers[0], *answers[2:]]), [1, 1, 1])
        gate.wait_ready()
        self.assertEqual(gate.pool()["jobs"]["failed"], 1)
        reports = wait_until(lambda: len(found := self.crashes(gate)) == 3 and found, "there is a report for each death")
        self.assertEqual(sorted(len(report["inputs"]) for report in reports), [1, 1, 4])

    def test_a_sick_worker_s_batch_is_run_again(self):
        gate = self.serve(self.model(MODEL))
        mark = self.folder_for("mark") / "sick"
        answers = self.gather(gate, [{}, {"do": "sick", "mark": str(mark)}, {}])
        self.assertEqual([answer.status for answer in answers], [200, 200, 200])
        self.assertEqual(self.wait_back(gate)["restarts"], 1)

    @unittest.skipIf(has_real_driver(), "this machine has a driver of its own")
    def test_out_of_memory_fails_every_member_of_the_batch(self):
        gate = self.serve(self.model(MODEL), pool=use_fake_gpu(self))
        answers = self.gather(gate, [{}, {"do": "out_of_memory"}])
        for answer in answers:
            self.assert_problem(answer, 500, "out-of-memory")
        self.assertEqual(gate.post({"n": 1}).json()["together"], 1)
        self.assertEqual(gate.lane(0)["restarts"], 0)

    def test_a_batch_that_is_stuck_runs_out_of_time_and_costs_one_worker(self):
        gate = self.serve(self.model(MODEL), pool={"job_timeout": "500ms", "cancel_grace": "50ms"})
        answers = self.gather(gate, [{"do": "stuck", "never": "/nowhere/at/all"}, {}, {}])
        for answer in answers:
            self.assert_problem(answer, 504, "ran-too-long")
        self.assertEqual(self.wait_back(gate)["restarts"], 1)
        self.assertEqual(gate.post({"n": 1}).status, 200)

    def test_nobody_is_to_blame_when_the_worker_is_killed_from_outside(self):
        gate = self.serve(self.model(MODEL))
        held, go = self.begin_job(gate)
        second = self.in_thread(gate.post, {"n": 1})
        gate.wait_queued(1)
        os.kill(gate.lane(0)["pid"], signal.SIGKILL)
        go.touch()
        for future in (held, second):
            self.assertEqual(future.result().status, 200, future.result())


if __name__ == "__main__":
    unittest.main()
