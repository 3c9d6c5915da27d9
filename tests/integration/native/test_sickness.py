"""Tests workers that live but do not work: unhealthy ones, ones out of memory, lanes that fail every job, and failed proofs."""
import unittest

from fake_gpus import has_real_driver, use_fake_gpu
from native_case import NativeCase, wait_until

MODEL = '''
import ctypes

OutOfGpuMemory = type("OutOfMemoryError", (RuntimeError,), {"__module__": "torch"})  # as PyTorch's


def poison_cuda(code):
    """Uses the (fake) driver as a framework does, then makes its context fail for good."""
    cuda = ctypes.CDLL("libcuda.so.1")
    assert cuda.cuInit(0) == 0 and cuda.cuDevicePrimaryCtxRetain(ctypes.byref(ctypes.c_void_p()), 0) == 0
    cuda.fake_poison(code)


class Sick(turnpike.Model):
    example = {"do": "example"}
    proofs = 0

    def predict(self, task):
        return getattr(self, "do_" + task["do"])(task)

    def do_example(self, task):
        self.proofs += 1
        wrong = os.environ.get("WRONG_AFTER")
        if wrong and self.proofs > int(wrong):
            raise ValueError("the weights have changed")
        return {"proofs": self.proofs}

    def do_echo(self, task):
        return {"proofs": self.proofs, "pid": os.getpid(), "attempt": turnpike.job().attempt}

    def do_wait(self, task):
        return wait(task)

    def do_unhealthy(self, task):
        """The first time."""
        if turnpike.job().attempt == 1:
            raise turnpike.Unhealthy("the device is lost")
        return self.do_echo(task)

    def do_poisoned(self, task):
        if turnpike.job().attempt == 1:
            poison_cuda(task["code"])
            raise RuntimeError("words that nobody knows")
        return self.do_echo(task)

    def do_coded(self, task):
        """As PyTorch 2.8 and later tell of it."""
        if turnpike.job().attempt == 1:
            error = type("AcceleratorError", (RuntimeError,), {"__module__": "torch"})("layer 2")
            error.error_code = 710
            raise ValueError("layer 3") from error
        return self.do_echo(task)

    def do_always_unhealthy(self, task):
        raise turnpike.Unhealthy("again")

    def do_out_of_memory(self, task):
        raise OutOfGpuMemory("CUDA out of memory. Tried to allocate 20.00 GiB")
'''
BROKEN_LANE = '''
class Broken(turnpike.Model):
    """Lane 1 fails at once, whatever comes."""

    def predict(self, task):
        if os.environ["TURNPIKE_LANE"] == "1":
            raise ValueError("this lane is broken")
        time.sleep(0.005)
        return {}
'''


class Unhealthy(NativeCase):
    def assert_restart_and_retry(self, what, words, pool=None, **task):
        gate = self.serve(self.model(MODEL), pool={**(pool or {}), "lanes": 2})
        pids = {str(lane["lane"]): lane["pid"] for lane in gate.status()["lanes"]}
        answer = gate.post({"do": what, **task})
        self.assertEqual((answer.status, answer.header("turnpike-attempt")), (200, "2"), answer)
        lane = "1" if answer.header("turnpike-lane") == "0" else "0"  # the lane of the first attempt
        found = self.wait_lane_where(gate, int(lane), lambda lane: lane["restarts"] == 1 and
                                     lane["state"] == "ready", "the lane is back")
        self.assertNotEqual(found["pid"], pids[lane])
        self.assertEqual(answer.json()["pid"], pids[answer.header("turnpike-lane")])
        self.wait_log(gate, words, int(lane))
        self.assert_gone(pids[lane])
        self.assertEqual(gate.pool()["jobs"]["failed"], 0)

    def test_a_worker_that_reports_itself_unhealthy_is_restarted_and_the_job_is_run_elsewhere(self):
        self.assert_restart_and_retry("unhealthy", "Unhealthy: the device is lost")

    @unittest.skipIf(has_real_driver(), "this machine has a driver of its own")
    def test_the_driver_is_asked_whether_its_context_is_poisoned(self):
        for code in (700, 710, 719, 214, 999):
            with self.subTest(code):
                self.assert_restart_and_retry("poisoned", "words that nobody knows", use_fake_gpu(self), code=code)

    @unittest.skipIf(has_real_driver(), "this machine has a driver of its own")
    def test_a_context_that_lives_is_left_alone(self):
        gate = self.serve(self.model(MODEL), pool=use_fake_gpu(self))
        for code in (0, 2, 600, 209, 906):  # well, out of memory, not ready, no kernel image, a capture under way
            with self.subTest(code):
                self.assert_problem(gate.post({"do": "poisoned", "code": code}), 500, "model-failed")
        self.assertEqual(gate.lane(0)["restarts"], 0)

    @unittest.skipIf(has_real_driver(), "this machine has a driver of its own")
    def test_a_code_of_pytorch_s_own_exception_is_believed(self):
        self.assert_restart_and_retry("coded", "layer 2", use_fake_gpu(self))

    def test_a_job_that_makes_every_worker_sick_is_poison(self):
        gate = self.serve(self.model(MODEL), pool={"lanes": 2})
        self.assert_problem(gate.post({"do": "always_unhealthy"}), 502, "poison")
        gate.wait_ready()
        self.assertEqual(gate.post({"do": "echo"}).status, 200)

    def test_neighbours_in_other_slots_are_run_again(self):
        gate = self.serve(self.model(MODEL), pool={"slots": 3})
        neighbour, go = self.begin_job(gate)
        sick = self.in_thread(gate.post, {"do": "unhealthy"})
        go.touch()
        self.assertEqual(sick.result().status, 200, sick.result())
        self.assertEqual(neighbour.result().status, 200, neighbour.result())


@unittest.skipIf(has_real_driver(), "this machine has a driver of its own")
class OutOfMemory(NativeCase):
    def serve(self, model, **parts):
        return super().serve(model, pool=use_fake_gpu(self), **parts)

    def test_pytorch_s_own_exception_is_known_and_so_are_subclasses(self):
        gate = self.serve(self.model("import torch\n" + MODEL + '''
    def do_real(self, task):
        raise torch.cuda.OutOfMemoryError("CUDA out of memory")

    def do_subclass(self, task):
        raise type("Mine", (torch.cuda.OutOfMemoryError,), {})("in layer 3")

    def do_real_words(self, task):
        """What PyTorch raises for all else."""
        torch.zeros(2) @ torch.zeros(3)
'''))
        for number, what in enumerate(("real", "subclass")):
            self.assert_problem(gate.post({"do": what}), 500, "out-of-memory")
            self.assertEqual(gate.post({"do": "echo"}).json()["proofs"], 2 + number)
        self.assert_problem(gate.post({"do": "real_words"}), 500, "model-failed")
        self.assertEqual(gate.post({"do": "echo"}).json()["proofs"], 3)

    def test_the_job_fails_and_a_proof_comes_before_the_next(self):
        gate = self.serve(self.model(MODEL))
        self.assertEqual(gate.post({"do": "echo"}).json()["proofs"], 1)
        pid = gate.lane(0)["pid"]
        answer = gate.post({"do": "out_of_memory"})
        self.assert_problem(answer, 500, "out-of-memory")
        self.assertIn("Tried to allocate", answer.json()["detail"])
        found = gate.post({"do": "echo"}).json()
        self.assertEqual(found, {"proofs": 2, "pid": pid, "attempt": 1})
        self.assertEqual(gate.lane(0)["restarts"], 0)

    def test_jobs_that_wait_wait_for_the_proof(self):
        gate = self.serve(self.model(MODEL))
        held, go = self.begin_job(gate)
        bad = self.in_thread(gate.post, {"do": "out_of_memory"})
        gate.wait_queued(1)
        good = self.in_thread(gate.post, {"do": "echo"})
        gate.wait_queued(2)
        go.touch()
        self.assertEqual(bad.result().status, 500)
        self.assertEqual(good.result().json()["proofs"], 2)
        self.assertEqual(held.result().status, 200)

    def test_a_worker_that_fails_the_proof_is_restarted(self):
        gate = self.serve(self.model(MODEL), sections={"pool.default.env": {"WRONG_AFTER": "1"}})
        pid = gate.lane(0)["pid"]
        self.assertEqual(gate.post({"do": "out_of_memory"}).status, 500)
        found = gate.post({"do": "echo"}).json()
        self.assertNotEqual(found["pid"], pid)
        self.assertEqual((found["proofs"], found["attempt"]), (1, 1))

    def test_without_an_example_the_worker_goes_on_serving(self):
        gate = self.serve(self.model(MODEL.replace('example = {"do": "example"}', "")))
        self.assertEqual(gate.post({"do": "out_of_memory"}).status, 500)
        self.assertEqual(gate.post({"do": "echo"}).json()["attempt"], 1)


class BrokenLanes(NativeCase):
    def flood(self, gate, count=200):
        """Sends `count` jobs from four clients at once. Returns how many jobs failed."""
        def client():
            return sum(gate.post({}).status != 200 for _ in range(count // 4))
        return sum(future.result() for future in [self.in_thread(client) for _ in range(4)])

    def test_a_lane_that_fails_everything_at_once_does_not_swallow_the_queue(self):
        gate = self.serve(self.model(BROKEN_LANE),
                          pool={"lanes": 2, "restart_delay_min": "20s", "restart_delay_max": "20s"})
        self.assertEqual(gate.post({}, headers=[("Turnpike-Lane", "0")]).status, 200)
        self.assertLessEqual(self.flood(gate), 3)
        self.assertEqual(gate.lane(1)["state"], "backoff")
        self.assertEqual(gate.lane(0)["state"], "ready")

    def test_if_all_lanes_fail_alike_all_of_them_go_on_serving(self):
        gate = self.serve(self.model("def predict(x): raise ValueError('every time')\n"),
                          pool={"lanes": 2, "restart_delay_min": "20s", "restart_delay_max": "20s"})
        for _ in range(20):
            self.assert_problem(gate.post({}), 500, "model-failed")
        self.assertEqual({lane["state"] for lane in gate.status()["lanes"]}, {"ready"})

    def test_bad_input_does_not_count_against_a_lane(self):
        gate = self.serve(self.model("def predict(x): raise turnpike.BadInput('no')\n"),
                          pool={"lanes": 2})
        for _ in range(12):
            self.assertEqual(gate.post({}).status, 400)
        for lane in gate.status()["lanes"]:
            self.assertEqual((lane["state"], lane["reason"]), ("ready", None))


class Proofs(NativeCase):
    def test_an_example_that_can_t_be_answered_keeps_the_lane_out(self):
        text = '''
class Doubtful(turnpike.Model):
    example = {"x": 1}

    def predict(self, task):
        if os.environ["TURNPIKE_LANE"] == "1":
            raise ValueError("wrong weights here")
        return {}
'''
        gate = self.serve(self.model(text), is_ready=False, pool={"lanes": 2})
        self.wait_trouble(gate, "failed: ValueError: wrong weights here", 1, ["quarantined"])
        gate.wait_lane(0, "ready")
        self.assertEqual({gate.post({}).header("turnpike-lane") for _ in range(6)}, {"0"})
        self.assertIn("wrong weights here", self.whole_log(gate, 1))

    def test_an_answer_that_the_models_own_check_rejects_fails_the_proof(self):
        text = '''
class Checked(turnpike.Model):
    example = {"x": 2}

    def predict(self, task):
        return {"y": task["x"] * int(os.environ.get("FACTOR", 2))}

    def check(self, answer):
        return answer["y"] == 4
'''
        path = self.model(text)
        gate = self.serve(path)
        self.assertEqual(gate.pool()["proof"], "passed")
        self.assertEqual(gate.post({"x": 5}).json(), {"y": 10}, "the check must apply to proofs only")
        gate = self.serve(path, is_ready=False, sections={"pool.default.env": {"FACTOR": "3"}})
        self.wait_trouble(gate, "check", states=["quarantined"])
        self.assert_problem(gate.post({"x": 5}), 503, "no-lane")

    def test_a_configured_proof_with_tolerances(self):
        text = "def predict(task): return {'y': task['x'] + float(os.environ.get('OFF', '0'))}\n"
        path = self.model(text)
        proof = {"request": "POST /predict", "body": '{"x": 1.0}', "expect_json": '{"y": 1.0}',
                 "tolerance_absolute": 0.01}

        def serve(off, is_ready):
            return self.serve(path, is_ready=is_ready, sections={
                "pool.default.proof": proof, "pool.default.env": {"OFF": off}})
        gate = serve("0.005", True)
        self.assertEqual(gate.pool()["proof"], "passed")
        self.assertGreaterEqual(gate.lane(0)["start"]["proof_ms"], 0)
        self.order(gate, "prove")
        self.wait_lane_where(gate, 0, lambda lane: lane["state"] == "ready", "the lane passes its proof again")
        self.assertEqual(gate.lane(0)["restarts"], 0)
        gate = serve("0.5", False)
        self.wait_trouble(gate, "wrong answer to the proof", states=["quarantined"])

    def test_streams_and_large_answers_can_be_proofs(self):
        text = '''
class Streams(turnpike.Model):
    example = {"x": 1}

    def predict(self, task):
        if os.environ["TURNPIKE_LANE"] == "1":
            return bytes(3_000_000)
        return (str(number) for number in range(1000))
'''
        gate = self.serve(self.model(text), pool={"lanes": 2})
        self.assertEqual(gate.pool()["proof"], "passed")

    def test_without_an_example_nothing_is_proved(self):
        gate = self.serve(self.model("def predict(x): return x\n"))
        self.assertEqual((gate.pool()["proof"], gate.lane(0)["start"]["proof_ms"]), ("none", None))
        self.assert_problem(gate.ask("POST", "/-/pools/default/prove"), 409, "no-proof")

    def test_a_proof_that_is_asked_for_is_run_between_jobs(self):
        gate = self.serve(self.model(MODEL))
        held, go = self.begin_job(gate)
        self.assertEqual(gate.ask("POST", "/-/pools/default/prove").status, 202)
        go.touch()
        self.assertEqual(held.result().status, 200)
        wait_until(lambda: gate.post({"do": "echo"}).json()["proofs"] == 2, "the second proof has run")


if __name__ == "__main__":
    unittest.main()
