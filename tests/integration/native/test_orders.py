"""Tests what the gate and a native worker tell each other: cancel, stacks and stop; progress and the watchdog."""
import json
import os
import signal
import unittest

from client import Client
from native_case import NativeCase, SharedGate, body_of, is_alive, wait_until

MODEL = '''
import threading


class Observed(turnpike.Model):
    example = {"do": "echo"}

    def predict(self, task):
        return getattr(self, "do_" + task["do"])(task)

    def do_echo(self, task):
        return {"pid": os.getpid(), "attempt": turnpike.job().attempt}

    def do_wait(self, task):
        return wait(task)

    def do_until_cancelled(self, task):
        write_file(task["started"], turnpike.job().id)
        while not turnpike.job().cancelled:
            time.sleep(0.002)
        write_file(task["cancelled"], turnpike.job().id)
        if task.get("raises"):
            turnpike.job().raise_if_cancelled()
        return {}

    def do_progress(self, task):
        turnpike.job().progress(0.4, "step 12/30")
        write_file(task["started"], turnpike.job().id)
        wait_for(task["wait_for"])
        turnpike.job().progress(None, "nearly")
        write_file(task["later"])
        wait_for(task["wait_for"] + "2")
        return {}

    def do_stuck(self, task):
        write_file(task["started"], turnpike.job().id)
        threading.Event().wait()

    def do_lively(self, task):
        write_file(task["started"], turnpike.job().id)
        while not os.path.exists(task["wait_for"]):
            turnpike.job().progress(None, "going on")
            time.sleep(0.02)
        return {"pid": os.getpid(), "attempt": turnpike.job().attempt}

    def do_slow_but_alive(self, task):
        for step in range(task["steps"]):
            turnpike.job().progress(step / task["steps"], "going on")
            time.sleep(0.1)
        return {"attempt": turnpike.job().attempt}
'''
ASYNC = '''
import asyncio


class Observed(turnpike.Model):
    slots = 4

    async def predict(self, task):
        write_file(task["started"], turnpike.job().id)
        while not turnpike.job().cancelled:
            await asyncio.sleep(0.002)
        write_file(task["cancelled"], turnpike.job().id)
        return {}
'''


class ObservedJobCase(NativeCase):
    def begin(self, gate, what="until_cancelled", headers=(), **task):
        """Starts a job. Returns its client, the job's id, and the file that the model writes when it notices a cancel."""
        folder = self.folder_for("observed")
        started, cancelled = folder / "started", folder / "cancelled"
        client = Client(gate.port)
        self.addCleanup(client.close)
        task = {"do": what, "started": str(started), "cancelled": str(cancelled), **task}
        client.request("POST", "/predict", body_of(task), list(headers))
        wait_until(started.exists, "the job is aboard")
        return client, started.read_text(), cancelled

    def wait_cancelled(self, cancelled, name):
        wait_until(cancelled.exists, "the model has noticed the cancel")
        self.assertEqual(cancelled.read_text(), name)


class Cancel(SharedGate, ObservedJobCase):
    text = MODEL

    def open(self):
        return self.serve(self.model(self.text))

    def assert_same_worker(self, pid):
        self.gate.wait_lane(0, "ready")
        lane = self.gate.lane(0)
        self.assertEqual((lane["pid"], lane["restarts"], lane["trouble"]), (pid, 0, None))

    def test_the_model_learns_that_its_client_left(self):
        pid = self.gate.lane(0)["pid"]
        client, name, cancelled = self.begin(self.gate)
        client.close()
        self.wait_cancelled(cancelled, name)
        self.assert_same_worker(pid)
        job = wait_until(lambda: (found := self.job(self.gate, name))["state"] == "ended" and found,
                         "the job has ended")
        self.assertEqual(job["outcome"], "cancelled")

    def test_a_job_that_is_cancelled_by_its_name(self):
        for command in (False, True):
            pid = self.gate.lane(0)["pid"]
            client, name, cancelled = self.begin(self.gate)
            if command:
                self.order(self.gate, "cancel", name)
            else:
                self.assertEqual(self.gate.ask("DELETE", f"/-/jobs/{name}").status, 202)
            self.assert_problem(client.answer(), 409, "cancelled")
            self.wait_cancelled(cancelled, name)
            self.assert_same_worker(pid)

    def test_the_model_learns_that_the_deadline_passed(self):
        pid = self.gate.lane(0)["pid"]
        client, name, cancelled = self.begin(self.gate, headers=[("Turnpike-Timeout", "300ms")])
        self.assert_problem(client.answer(), 504, "deadline-passed")
        self.wait_cancelled(cancelled, name)
        self.assert_same_worker(pid)


class CancelAsync(Cancel):
    text = ASYNC


class CancelSync(SharedGate, ObservedJobCase):
    def open(self):
        return self.serve(self.model(MODEL))

    def test_a_model_may_end_the_job_there(self):
        client, name, cancelled = self.begin(self.gate, raises=True)
        client.close()
        self.wait_cancelled(cancelled, name)
        self.gate.wait_lane(0, "ready")
        self.assertEqual(self.ask_model(do="echo").status, 200)
        self.assertNotIn("Traceback", self.whole_log(self.gate))

    def test_a_queued_job_never_reaches_the_model(self):
        held, go = self.begin_job(self.gate)
        client, started = self.gate.connect(), self.folder_for("queued") / "started"
        client.request("POST", "/predict", body_of({"do": "until_cancelled",
                                                    "started": str(started), "cancelled": ""}))
        self.gate.wait_queued(1)
        client.close()
        self.gate.wait_queued(0)
        go.touch()
        held.result()
        self.assertEqual(self.ask_model(do="echo").status, 200)
        self.assertFalse(started.exists())

    def test_progress_is_in_the_job_s_record(self):
        folder = self.folder_for("progress")
        go, go2, later = folder / "go", folder / "go2", folder / "later"
        future, _ = self.begin_job(self.gate, do="progress", wait_for=str(go), later=str(later))
        [name] = [job["id"] for job in self.gate.live_jobs()]
        wait_until(lambda: self.job(self.gate, name).get("progress") ==
                   {"fraction": 0.4, "text": "step 12/30"}, "the job's record has the progress")
        go.touch()
        wait_until(lambda: self.job(self.gate, name).get("progress") ==
                   {"fraction": None, "text": "nearly"}, "the job's record has the next progress")
        go2.touch()
        self.assertEqual(future.result().status, 200)


class Kill(ObservedJobCase):
    def test_cancelling_a_job_kills_its_worker_if_the_config_says_so(self):
        gate = self.serve(self.model(MODEL), pool={"cancel": "kill"})
        self.assertEqual((gate.lane(0)["slots"], gate.lane(0)["batch"]), (1, 1))
        pid = gate.lane(0)["pid"]
        client, _, _ = self.begin(gate, "stuck")
        client.close()
        self.assertNotEqual(self.wait_back(gate)["pid"], pid)
        self.assertEqual(self.crashes(gate), [])
        self.assertEqual(gate.post({"do": "echo"}).status, 200)

    def test_a_model_that_ignores_cancels_is_killed_when_its_time_is_over(self):
        gate = self.serve(self.model(MODEL), pool={"job_timeout": "500ms", "cancel_grace": "50ms"})
        pid = gate.lane(0)["pid"]
        client, _, _ = self.begin(gate, "stuck")
        client.close()
        self.assertNotEqual(self.wait_back(gate)["pid"], pid)
        self.assertEqual(gate.post({"do": "echo"}).status, 200)


class Watchdog(ObservedJobCase):
    def test_a_job_far_over_its_usual_time_leaves_its_stacks(self):
        gate = self.serve(self.model(MODEL), pool={"slow_factor": 2, "slow_min": "100ms"})
        for _ in range(10):
            gate.post({"do": "echo"})
        client, name, _ = self.begin(gate, "stuck")
        job = wait_until(lambda: (found := self.job(gate, name)).get("stacks") and found,
                         "the job's record has the stacks")
        self.assertIn("in do_stuck", json.dumps(job["stacks"]))
        self.wait_log(gate, "in do_stuck")
        wait_until(lambda: "a job runs much longer than the usual" in gate.process.output(), "`up` reports it")
        self.assertEqual(gate.lane(0)["restarts"], 0)
        self.assertEqual(gate.ask("DELETE", f"/-/jobs/{name}").status, 202)
        self.assertIn("in do_stuck", json.dumps(self.job(gate, name)["stacks"]), "the record must keep the stacks")

    def test_a_further_attempt_has_no_stacks_of_the_dead_worker(self):
        gate = self.serve(self.model(MODEL), pool={"slow_factor": 2, "slow_min": "100ms"})
        for _ in range(10):
            gate.post({"do": "echo"})
        go = self.folder_for("job") / "go"
        client, name, _ = self.begin(gate, "wait", wait_for=str(go))
        wait_until(lambda: "stacks" in self.job(gate, name), "the job's record has the stacks")
        os.kill(gate.lane(0)["pid"], signal.SIGKILL)
        go.touch()
        self.assertEqual(client.answer().header("turnpike-attempt"), "2")
        job = wait_until(lambda: (found := self.job(gate, name))["state"] == "ended" and found, "the job has ended")
        self.assertEqual((job["attempts"], job["status"]), (2, 200))
        self.assertNotIn("stacks", job)
        self.assertNotIn("slow", job)

    def test_stacks_on_request_while_it_computes_and_while_it_does_not(self):
        gate = self.serve(self.model(MODEL))
        self.assertIn("thread MainThread", self.order(gate, "stacks", "0"))
        future, go = self.begin_job(gate)
        text = self.order(gate, "stacks", "0")
        self.assertIn("in do_wait", text)
        self.assertIn("wait_for", text)
        lines = [line for line in self.log(gate) if line["stream"] == "stacks"]
        self.assertIn("in do_wait", json.dumps(lines))
        go.touch()
        self.assertEqual(future.result().status, 200)

    def test_stacks_while_it_loads(self):
        folder = self.folder_for("load")
        started, go = folder / "started", folder / "go"
        gate = self.serve(self.model(f"def load(lane):\n    write_file({str(started)!r})\n"
                                     f"    wait_for({str(go)!r})\ndef predict(x): return x\n"),
                          is_ready=False)
        wait_until(started.exists, "the model is loading")
        self.assertIn("in load", self.order(gate, "stacks", "0"))
        go.touch()
        gate.wait_ready()

    def test_a_stuck_job_is_ended_after_its_time(self):
        gate = self.serve(self.model(MODEL), pool={"job_timeout": "200ms", "cancel_grace": "50ms"})
        pid = gate.lane(0)["pid"]
        client, _, _ = self.begin(gate, "stuck")
        self.assert_problem(client.answer(), 504, "ran-too-long")
        self.assertNotEqual(self.wait_back(gate)["pid"], pid)
        [report] = wait_until(lambda: self.crashes(gate), "there is a report")
        self.assertEqual((report["why"], report["pid"]), ("job_stuck", pid))
        self.assertEqual(gate.post({"do": "echo"}).status, 200)

    def test_a_neighbour_of_a_stuck_job_is_not_harmed(self):
        gate = self.serve(self.model(MODEL), pool={"slots": 3, "job_timeout": "1s",
                                                   "cancel_grace": "50ms"})
        pid = gate.lane(0)["pid"]
        neighbour, go = self.begin_job(gate, do="lively")
        stuck, _, _ = self.begin(gate, "stuck")
        self.assert_problem(stuck.answer(), 504, "ran-too-long")
        gate.wait_lane(0, "draining")
        waiting = self.in_thread(gate.post, {"do": "echo"})
        gate.wait_queued(1)  # although there is a free slot
        go.touch()
        answer = neighbour.result()
        self.assertEqual((answer.status, answer.json()), (200, {"pid": pid, "attempt": 1}))
        self.assertNotEqual(waiting.result().json()["pid"], pid)
        self.assertEqual(waiting.result().json()["attempt"], 1)
        self.assertEqual(self.wait_back(gate)["restarts"], 1)

    def test_progress_renews_the_time_of_a_job(self):
        gate = self.serve(self.model(MODEL), pool={"job_timeout": "1s"})
        answer = gate.post({"do": "slow_but_alive", "steps": 16})
        self.assertEqual((answer.status, answer.json()), (200, {"attempt": 1}))

    def test_a_worker_that_was_stopped_is_out_until_it_goes_on_or_is_replaced(self):
        gate = self.serve(self.model(MODEL), pool={"job_timeout": "500ms", "cancel_grace": "50ms"})
        pid = gate.lane(0)["pid"]
        os.kill(pid, signal.SIGSTOP)
        self.assert_problem(gate.post({"do": "echo"}), 504, "ran-too-long")
        self.assertNotEqual(self.wait_back(gate)["pid"], pid)
        self.assertFalse(is_alive(pid))
        self.assertEqual(gate.post({"do": "echo"}).status, 200)


class Endings(ObservedJobCase):
    def test_drain_resume_and_restart(self):
        gate = self.serve(self.model(MODEL), pool={"lanes": 2})
        future, go = self.begin_job(gate, headers=[("Turnpike-Lane", "0")])
        pid = gate.lane(0)["pid"]
        self.order(gate, "drain", "0")
        gate.wait_lane(0, "draining")
        go.touch()
        self.assertEqual(future.result().json()["pid"], pid)
        self.wait_lane_where(gate, 0, lambda lane: lane["state"] == "drained" and
                             lane["pid"] is None, "the lane is drained")
        for _ in range(3):
            self.assertEqual(gate.post({"do": "echo"}).header("turnpike-lane"), "1")
        self.order(gate, "resume", "0")
        gate.wait_ready()
        before = gate.lane(0)["pid"]
        self.order(gate, "restart", "all")
        self.wait_lane_where(gate, 0, lambda lane: lane["pid"] not in (None, before), "anew")
        gate.wait_ready()
        self.assertEqual(self.crashes(gate), [])
        for lane in gate.status()["lanes"]:
            self.assertEqual((lane["trouble"], lane["state"]), (None, "ready"))

    def test_a_worker_that_is_told_to_stop_unloads_and_ends_with_0(self):
        mark = self.folder_for("mark") / "unloaded"
        gate = self.serve(self.model("def predict(x): return x\n"
                                     f"def unload(): write_file({str(mark)!r})\n"))
        self.order(gate, "restart", "0")
        found = self.wait_back(gate)
        self.assertTrue(mark.exists())
        self.assertEqual(found["last_exit"], "exit code 0")

    def test_ctrl_c_while_it_loads(self):
        gate = self.serve(self.model("import threading\ndef load(lane): threading.Event().wait()\n"
                                     "def predict(x): return x\n"),
                          is_ready=False, pool={"lanes": 2})
        pids = [self.wait_lane_where(gate, number, lambda lane: lane["start"]["import_ms"],
                                     "the model is loading")["pid"] for number in (0, 1)]
        self.assertEqual(self.stop(gate, signal.SIGINT), 0)
        self.assert_gone(*pids)

    def test_ctrl_c_while_it_imports(self):
        go = self.folder_for("never") / "go"
        gate = self.serve(self.model(f"wait_for({str(go)!r})\ndef predict(x): return x\n"),
                          is_ready=False)
        lane = self.wait_lane_where(gate, 0, lambda lane: lane["sdk"], "the worker has sent hello")
        self.assertEqual(self.stop(gate, signal.SIGINT), 0)
        self.assert_gone(lane["pid"])

    def test_ctrl_c_while_it_computes_waits_for_the_job(self):
        gate = self.serve(self.model(MODEL), pool={"lanes": 2})
        pids = [lane["pid"] for lane in gate.status()["lanes"]]
        future, go = self.begin_job(gate)
        gate.process.signal(signal.SIGINT)
        wait_until(lambda: "stopping" in gate.process.output(), "the gate is stopping")
        go.touch()
        self.assertEqual(future.result().status, 200)
        self.assertEqual(gate.process.wait(), 0)
        self.assert_gone(*pids)

    def test_ctrl_c_twice_while_it_computes(self):
        gate = self.serve(self.model(MODEL))
        pid = gate.lane(0)["pid"]
        client, _, _ = self.begin(gate, "stuck")
        gate.process.signal(signal.SIGINT)
        wait_until(lambda: "stopping" in gate.process.output(), "the gate is stopping")
        gate.process.signal(signal.SIGINT)
        answer = client.answer()
        self.assertGreaterEqual(answer.status, 500, answer)
        self.assertEqual(gate.process.wait(), 0)
        self.assert_gone(pid)

    def test_a_load_without_news_is_ended_and_one_with_news_is_not(self):
        text = '''
def load(lane):
    for step in range(8):
        lane.progress(step / 8, "step")
        time.sleep(0.1)
    if os.environ["TURNPIKE_LANE"] == "1":
        import threading
        threading.Event().wait()

def predict(x):
    return x
'''
        gate = self.serve(self.model(text), is_ready=False,
                          pool={"lanes": 2, "load_timeout": "600ms", "crash_limit": 1})
        lane = self.wait_trouble(gate, "load_timeout", 1, ["failed"])
        self.assertEqual(lane["restarts"], 0)
        gate.wait_lane(0, "ready")
        self.assertEqual(gate.post("well").body, b"well")


if __name__ == "__main__":
    unittest.main()
