"""Tests jobs that kill native workers: no number of them takes a lane away, an equal one is not run again, and a lane that
kills honest jobs is found."""
import unittest

from native_case import NativeCase, body_of, wait_until
from poison_case import DEFAULTS, POISONS, PoisonFlood, pids_of, restarts_of

MODEL = '''
def end(how):
    if how == "abort":
        os.abort()
    if how == "fault":
        os.kill(os.getpid(), signal.SIGSEGV)
    os._exit(9)


class Deadly(turnpike.Model):
    def predict(self, task):
        if os.environ["TURNPIKE_LANE"] == task.get("sick_lane"):
            end("exit")
        if "death" in task:
            end(task["death"])
        if task.get("do") == "wait":
            return wait(task)
        return {"lane": os.environ["TURNPIKE_LANE"], "attempt": turnpike.job().attempt}
'''
POISON = {"death": "abort", "number": 1}


class Flood(NativeCase, PoisonFlood):
    def test_thirty_poisons_take_no_lane_away(self):
        gate = self.serve(self.model(MODEL), pool={**DEFAULTS, "lanes": 4})
        deaths = ("abort", "fault", "exit")
        poisons = [{"death": deaths[number % 3], "number": number} for number in range(POISONS)]
        self.assert_no_lane_is_lost(gate, "/predict", poisons, {"number": -1})


    def assert_nobody_is_charged(self, slug, headers=(), **pool):
        """Checks that no lane fails of jobs that may not ride elsewhere. (With `crash_limit = 1` one charge is enough.)"""
        gate = self.serve(self.model(MODEL), pool={"lanes": 2, "crash_limit": 1, **pool})
        for number in range(6):
            self.assert_problem(gate.post({"death": "exit", "number": number}, headers=headers), 502, slug)
        self.assert_all_serve_again(gate)
        self.assertEqual(gate.post({}).status, 200)

    def test_jobs_that_are_not_run_again_charge_nobody(self):
        self.assert_nobody_is_charged("worker-died", retry=False)

    def test_jobs_that_ask_for_a_lane_charge_nobody(self):
        self.assert_nobody_is_charged("poison", [("Turnpike-Lane", "0")])


class Memory(NativeCase, PoisonFlood):
    def open(self, **pool):
        return self.serve(self.model(MODEL), pool={"lanes": 3, "crash_limit": 1, **pool})

    def ask_poison(self, gate, **change):
        """Sends the poison among honest jobs, which must all be answered. Returns its answer."""
        honest = [self.in_thread(gate.post, {"number": number}) for number in range(12)]
        answer = gate.post({**POISON, **change})
        for future in honest:
            self.assertEqual(future.result().status, 200, future.result())
        return answer

    def learn_poison(self, gate):
        """Sends the poison for the first time. Returns the id of its job."""
        answer = self.ask_poison(gate)
        self.assert_problem(answer, 502, "poison")
        self.assert_all_serve_again(gate)
        self.assertEqual(sum(restarts_of(gate)), 2)
        return answer.header("turnpike-job")

    def assert_known(self, gate, answer, first):
        self.assert_problem(answer, 502, "known-poison")
        self.assertIn(first, answer.json()["detail"])
        job = self.job(gate, answer.header("turnpike-job"))
        self.assertEqual((job["outcome"], job["reason"], job["attempts"]), ("failed", "known_poison", 0))

    def test_a_known_poison_is_not_run_again(self):
        gate = self.open()
        first = self.learn_poison(gate)
        pids = pids_of(gate)
        for _ in range(3):
            self.assert_known(gate, self.ask_poison(gate), first)
        self.assertEqual(gate.post(POISON).json()["type"], "urn:turnpike:problem:known-poison")
        self.assertEqual((pids_of(gate), sum(restarts_of(gate))), (pids, 2))
        self.assertEqual(len(self.crashes(gate)), 2)

    def test_another_body_of_the_same_length_is_run(self):
        gate = self.open()
        self.learn_poison(gate)
        honest = {"other": "abort", "number": 1}
        self.assertEqual(len(body_of(honest)), len(body_of(POISON)))
        answer = gate.post(honest)
        self.assertEqual((answer.status, answer.header("turnpike-attempt")), (200, "1"))

    def test_an_equal_body_of_another_type_is_run(self):
        gate = self.open()
        self.learn_poison(gate)
        answer = gate.ask("POST", "/predict", body_of(POISON), [("Content-Type", "application/json; charset=utf-8")])
        self.assert_problem(answer, 502, "poison")

    def test_a_restart_forgets_it(self):
        gate = self.open()
        first = self.learn_poison(gate)
        self.order(gate, "restart", "0")
        wait_until(lambda: sum(restarts_of(gate)) == 3, "lane 0 has restarted")
        gate.wait_ready()
        answer = self.ask_poison(gate)
        self.assert_problem(answer, 502, "poison")
        self.assertNotEqual(answer.header("turnpike-job"), first)
        self.assert_all_serve_again(gate)
        self.assertEqual(sum(restarts_of(gate)), 5)

    def test_nothing_is_remembered_if_the_config_says_so(self):
        gate = self.open(poison_keep="0s")
        self.learn_poison(gate)
        self.assert_problem(self.ask_poison(gate), 502, "poison")

    def test_two_deaths_on_the_only_lane_do_not_prove_that_it_was_the_job(self):
        gate = self.open(lanes=1)
        for _ in range(2):
            self.assert_problem(gate.post(POISON), 502, "poison")
        self.assert_all_serve_again(gate)
        self.assertEqual(gate.post({}).status, 200)

    def test_several_poisons_in_a_row_show_that_it_is_the_model(self):
        gate = self.open()
        for number in range(3):
            self.assert_problem(gate.post({**POISON, "number": number}), 502, "poison")
        self.assert_problem(gate.post({**POISON, "number": 0}), 502, "poison")
        self.assert_all_serve_again(gate)


class Shared(NativeCase, PoisonFlood):
    def test_jobs_that_shared_a_worker_with_a_poison_are_answered(self):
        gate = self.serve(self.model(MODEL), pool={"lanes": 2, "slots": 4, "crash_limit": 1})
        neighbours = [self.begin_job(gate) for _ in range(6)]  # three on each lane
        poison = self.in_thread(gate.post, POISON)
        wait_until(lambda: sum(restarts_of(gate)) == 1, "a worker has died")
        for _, go in neighbours:
            go.touch()
        attempts = sorted(future.result().json()["attempt"] for future, _ in neighbours)
        self.assertEqual(attempts, [1, 1, 1, 2, 2, 2])
        self.assert_problem(poison.result(), 502, "poison")
        self.assertEqual(poison.result().header("turnpike-attempt"), "3")
        self.assert_all_serve_again(gate)
        self.assertEqual(sum(restarts_of(gate)), 3)


class SickLane(NativeCase):
    def test_a_lane_that_kills_every_job_fails_and_the_others_answer(self):
        gate = self.serve(self.model(MODEL), pool={"lanes": 3})

        def is_over():
            answers = [self.in_thread(gate.post, {"sick_lane": "1", "number": number}) for number in range(6)]
            for future in answers:
                self.assertEqual(future.result().status, 200, future.result())
                self.assertNotEqual(future.result().json()["lane"], "1")
            return gate.lane(1)["state"] == "failed"
        wait_until(is_over, "lane 1 has failed")
        self.assertEqual(gate.lane(1)["reason"], "crashed_too_often")
        self.assertEqual([gate.lane(lane)["restarts"] for lane in (0, 2)], [0, 0])
        self.assertEqual([gate.lane(lane)["state"] for lane in (0, 2)], ["ready", "ready"])
        self.assertEqual(gate.pool()["jobs"]["failed"], 0)
        for number in range(6):
            self.assertEqual(gate.post({"sick_lane": "1", "number": number}).json()["attempt"], 1)

    def test_one_sick_lane_of_two(self):
        gate = self.serve(self.model(MODEL), pool={"lanes": 2})

        def is_over():
            self.assertEqual(gate.post({"sick_lane": "1"}).status, 200)
            return gate.lane(1)["state"] == "failed"
        wait_until(is_over, "lane 1 has failed")
        self.assertEqual((gate.lane(0)["restarts"], gate.pool()["jobs"]["failed"]), (0, 0))


if __name__ == "__main__":
    unittest.main()
