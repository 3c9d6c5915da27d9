"""Tests deaths of native workers, by their own model or from outside: which jobs fail, which are run again, and
that nothing is left behind."""
import json
import os
import signal
import unittest

from memory import GROWTH_MAX
from native_case import NativeCase, body_of, is_alive, wait_until

MODEL = '''
import resource, subprocess, threading


class Deadly(turnpike.Model):
    example = {"do": "echo"}

    def predict(self, task):
        return getattr(self, "do_" + task["do"])(task)

    def do_echo(self, task):
        return {"pid": os.getpid(), "attempt": turnpike.job().attempt}

    def do_wait(self, task):
        return wait(task)

    def do_exit(self, task):
        print("last words", flush=True)
        sys.exit(task["code"])

    def do_exit_at_once(self, task):
        os._exit(task["code"])

    def do_kill(self, task):
        os.kill(os.getpid(), task["signal"])

    def do_die_until(self, task):
        """Dies, unless somebody died of it already."""
        if not os.path.exists(task["mark"]):
            write_file(task["mark"])
            os.kill(os.getpid(), signal.SIGKILL)
        return {"attempt": turnpike.job().attempt}

    def do_hog(self, task):
        resource.setrlimit(resource.RLIMIT_AS, (1 << 28, resource.getrlimit(resource.RLIMIT_AS)[1]))
        return {"size": len(bytearray(1 << 32))}

    def do_fork(self, task):
        """A copy of the worker that goes on by itself."""
        pid = os.fork()
        if pid == 0:
            while True:
                time.sleep(3600)
        return {"pid": os.getpid(), "child": pid}

    def do_spawn(self, task):
        return {"child": subprocess.Popen(["sleep", "3600"], start_new_session=True).pid}

    def do_threads(self, task):
        """Threads that never end."""
        for _ in range(3):
            threading.Thread(target=threading.Event().wait, daemon=task["daemon"]).start()
        return {}

    def do_print(self, task):
        for number in range(task["lines"]):
            print("line", number, "x" * 100)
        sys.stderr.write("y" * task["lines"])
        return {}

    def do_close_output(self, task):
        os.close(1)
        os.close(2)
        sys.stdout = sys.stderr = None
        return {}

    def do_stream_and_die(self, task):
        yield "half "
        wait_for(task["go"])
        os.kill(os.getpid(), signal.SIGKILL)
'''


class DeadlyCase(NativeCase):
    def open(self, **pool):
        gate = self.serve(self.model(MODEL), pool={"crash_limit": 16, **pool})
        wait_until(lambda: "all lanes serve" in gate.process.output(), "`up` says that all lanes serve")
        return gate

    def do(self, gate, what, **task):
        return gate.post({"do": what, **task})

    def assert_serves(self, gate):
        gate.wait_ready()
        self.assertEqual(self.do(gate, "echo").status, 200)


class ByItself(DeadlyCase):
    def assert_poisons(self, how, **task):
        """Checks that a job which ends its worker in this way fails as poison after two deaths, and a job on another lane
        is not affected."""
        gate = self.open(lanes=3)
        neighbour, go = self.begin_job(gate)
        ended = self.in_thread(gate.post, task)
        answer = self.poison_answer(gate, ended, neighbour, go)
        self.assertIn(how, answer.json()["detail"])
        self.assert_serves(gate)
        reports = wait_until(lambda: len(found := self.crashes(gate)) == 2 and found, "there is a report for each death")
        for report in reports:
            self.assertIn(how, report["how"])
            self.assertEqual(len(report["inputs"]), 1)
        self.assertEqual(gate.pool()["jobs"]["failed"], 1)
        return gate, answer, reports

    def poison_answer(self, gate, ended, neighbour, go):
        """Returns the answer of the killer job. The neighbour keeps one lane busy, so there is one death on each of the
        others."""
        answer = ended.result()
        self.assert_problem(answer, 502, "poison")
        go.touch()
        self.assertEqual(neighbour.result().status, 200)
        self.assertEqual(neighbour.result().json()["attempt"], 1)
        wait_until(lambda: sorted(lane["restarts"] for lane in gate.status()["lanes"]) == [0, 1, 1],
                   "the two other lanes start again")
        return answer

    def test_sys_exit(self):
        gate, answer, reports = self.assert_poisons("exit code 7", do="exit", code=7)
        lane = reports[0]["lane"]
        log = self.whole_log(gate, lane)
        self.assertIn("last words", log)
        self.assertIn("the model ended its own process, by sys.exit(7)", log)
        job = self.job(gate, answer.header("turnpike-job"))
        self.assertEqual((job["outcome"], job["attempts"]), ("failed", 2))
        self.assertIn("sys.exit(7)", json.dumps(job))

    def test_sys_exit_without_a_code_is_a_death_too(self):
        self.assert_poisons("exit code 0", do="exit", code=None)

    def test_an_exit_at_once(self):
        self.assert_poisons("exit code 3", do="exit_at_once", code=3)

    def test_a_segmentation_fault_leaves_its_stack_in_the_log(self):
        gate, _, reports = self.assert_poisons("killed by SIGSEGV", do="kill", signal=signal.SIGSEGV)
        log = self.whole_log(gate, reports[0]["lane"])
        self.assertIn("Segmentation fault", log)
        self.assertIn("in do_kill", log)
        whole = gate.ask("GET", f"/-/crashes/{reports[0]['id']}").json()
        self.assertIn("in do_kill", whole["log"])
        self.assertIn("turnpike_worker.py", whole["command"])
        folder = self.state_folder(gate) / "crashes" / reports[0]["id"]
        [name] = [path.name for path in folder.iterdir() if path.name.startswith("input-")]
        self.assertEqual(json.loads((folder / name).read_text()),
                         {"do": "kill", "signal": signal.SIGSEGV})

    def test_a_kill(self):
        self.assert_poisons("killed by SIGKILL", do="kill", signal=signal.SIGKILL)

    def test_the_second_try_may_do_better(self):
        gate = self.open(lanes=2)
        answer = self.do(gate, "die_until", mark=str(self.folder_for("mark") / "died"))
        self.assertEqual((answer.status, answer.json()), (200, {"attempt": 2}))
        self.assertEqual(answer.header("turnpike-attempt"), "2")
        self.assert_serves(gate)

    def test_a_large_body_is_there_for_the_second_try(self):
        gate = self.open(lanes=1)
        answer = self.do(gate, "die_until", mark=str(self.folder_for("mark") / "died"),
                         padding="x" * 3_000_000)
        self.assertEqual((answer.status, answer.json()), (200, {"attempt": 2}))

    def test_a_memory_hog_that_is_refused_fails_alone(self):
        gate = self.open()
        pid = gate.lane(0)["pid"]
        answer = self.do(gate, "hog")
        self.assert_problem(answer, 500, "model-failed")
        self.assertIn("MemoryError", answer.json()["detail"])
        self.assert_serves(gate)
        self.assertEqual(gate.lane(0)["pid"], pid)


class ByOthers(DeadlyCase):
    def test_a_job_is_run_elsewhere_when_its_worker_is_killed(self):
        gate = self.open(lanes=2)
        first, go_first = self.begin_job(gate)
        victim = self.busy_lane(gate)
        second, go_second = self.begin_job(gate)
        os.kill(victim["pid"], signal.SIGKILL)
        go_first.touch()
        answer = first.result()
        self.assertEqual((answer.status, answer.header("turnpike-attempt")), (200, "2"))
        self.assertNotEqual(answer.json()["pid"], victim["pid"])
        go_second.touch()
        self.assertEqual(second.result().json()["attempt"], 1)
        found = self.wait_back(gate, victim["lane"])
        self.assertEqual(found["last_exit"], "killed by SIGKILL")

    def test_jobs_that_shared_a_worker_are_tried_again_one_by_one(self):
        gate = self.open(slots=4)
        jobs = [self.begin_job(gate) for _ in range(3)]
        os.kill(gate.lane(0)["pid"], signal.SIGKILL)
        for _, go in jobs:
            go.touch()
        for future, _ in jobs:
            self.assertEqual(future.result().status, 200, future.result())
            self.assertEqual(future.result().json()["attempt"], 2)
        self.assertEqual(gate.pool()["jobs"]["finished"], 3)

    def test_without_a_retry_the_client_is_told_how_the_worker_died(self):
        gate = self.open(retry=False)
        future, _ = self.begin_job(gate)
        os.kill(gate.lane(0)["pid"], signal.SIGTERM)
        answer = future.result()
        self.assert_problem(answer, 502, "worker-died")
        self.assertIn("killed by SIGTERM", answer.json()["detail"])
        self.assert_serves(gate)

    def test_the_death_of_an_idle_worker_counts_against_no_job(self):
        gate = self.open()
        os.kill(gate.lane(0)["pid"], signal.SIGKILL)
        self.wait_lane_where(gate, 0, lambda lane: lane["restarts"] == 1, "the lane restarts")
        self.assertEqual(self.do(gate, "echo").json()["attempt"], 1)

    def test_a_stream_that_has_begun_is_cut_and_not_repeated(self):
        gate = self.open()
        go = self.folder_for("stream") / "go"
        client = gate.connect()
        client.request("POST", "/predict", body_of({"do": "stream_and_die", "go": str(go)}))
        client.head()
        self.assertEqual(client.chunk(), b"half ")
        go.touch()
        self.assertTrue(client.is_closed())
        [job] = wait_until(lambda: gate.ended_jobs(), "the job has ended")
        self.assertEqual((job["outcome"], job["attempts"]), ("failed", 1))
        self.assert_serves(gate)

    def test_death_after_death_leaves_nothing_behind_in_the_gate(self):
        gate = self.open()
        before = self.descriptors(gate)
        for deaths in range(1, 9):
            os.kill(gate.lane(0)["pid"], signal.SIGKILL)
            self.wait_lane_where(gate, 0, lambda lane: lane["restarts"] == deaths and
                                 lane["state"] == "ready", "the lane is back")
            self.assertEqual(self.do(gate, "echo", padding="x" * 1_200_000).status, 200)
        wait_until(lambda: self.descriptors(gate) <= before + 2, "there are no more descriptors than before")


class ChildrenAndThreads(DeadlyCase):
    def test_a_child_that_was_forked_and_left_does_no_harm_and_ends_with_its_worker(self):
        gate = self.open()
        found = self.do(gate, "fork").json()
        self.assert_serves(gate)
        self.assertTrue(is_alive(found["child"]))
        os.kill(found["pid"], signal.SIGKILL)
        self.assert_gone(found["child"])
        self.wait_back(gate)
        self.assert_serves(gate)

    def test_a_daemon_ends_with_its_worker_and_with_the_gate(self):
        gate = self.open()
        first = self.do(gate, "spawn").json()["child"]
        self.order(gate, "restart", "0")
        self.wait_back(gate)
        self.assert_gone(first)
        second = self.do(gate, "spawn").json()["child"]
        self.assertEqual(self.stop(gate), 0)
        self.assert_gone(second)

    def test_threads_that_never_end_do_not_hold_up_the_end(self):
        for daemon in (True, False):
            gate = self.open(stop_grace="20s")
            self.do(gate, "threads", daemon=daemon)
            pid = gate.lane(0)["pid"]
            self.assertEqual(self.stop(gate), 0)
            self.assertFalse(is_alive(pid))

    def test_a_flood_of_output_is_kept_in_bounds_and_the_answer_comes(self):
        gate = self.open()
        memory = self.peak_memory(gate)
        self.assertEqual(self.do(gate, "print", lines=100_000).status, 200)
        self.wait_log(gate, "line 99999")
        self.assertLess(self.peak_memory(gate) - memory, GROWTH_MAX)
        self.assertLessEqual(len(self.log(gate)), 2000)
        self.assert_serves(gate)

    def test_a_model_may_close_its_output(self):
        gate = self.open()
        self.assertEqual(self.do(gate, "close_output").status, 200)
        self.assert_problem(self.do(gate, "hog"), 500, "model-failed")
        self.assert_serves(gate)

    def test_nothing_is_left_when_the_gate_is_killed(self):
        gate = self.open(lanes=2)
        child = self.do(gate, "spawn").json()["child"]
        self.begin_job(gate)
        pids = [lane["pid"] for lane in gate.status()["lanes"]]
        gate.process.kill()
        self.assert_gone(*pids, child)


if __name__ == "__main__":
    unittest.main()
