"""Tests deaths of started workers: what happens to their jobs, and what the crash reports say."""
import json
import os
import signal
import stat
import unittest

from harness import wait_until
from started_case import StartedCase


class Jobs(StartedCase):
    def kill_lane_of(self, gate, future_and_go, lane):
        future, go = future_and_go
        os.kill(gate.lane(lane)["pid"], signal.SIGKILL)
        go.touch()
        return future.result()

    def test_a_job_is_run_elsewhere_when_its_worker_dies(self):
        gate = self.up(pool={"lanes": 2})
        wait_until(lambda: "all lanes serve" in gate.process.output(), "`up` says that all lanes serve")
        job = self.begin_job(gate)
        [lane] = [lane["lane"] for lane in gate.status()["lanes"] if lane["state"] == "busy"]
        answer = self.kill_lane_of(gate, job, lane)
        self.assertEqual((answer.status, answer.header("turnpike-attempt")), (200, "2"))
        self.assertEqual(answer.header("turnpike-lane"), str(1 - lane))
        found = self.wait_back(gate, lane)
        self.assertEqual(found["last_exit"], "killed by SIGKILL")
        self.assertEqual((found["trouble"], found["reason"]), (None, None))
        wait_until(lambda: "killed by SIGKILL" in gate.process.output(), "`up` reports the death")

    def test_the_only_lane_takes_it_again_when_it_is_back(self):
        gate = self.up()
        job = self.begin_job(gate)
        pid = gate.lane(0)["pid"]
        answer = self.kill_lane_of(gate, job, 0)
        self.assertEqual((answer.status, answer.header("turnpike-attempt")), (200, "2"))
        self.assertNotEqual(answer.json()["pid"], pid)

    def test_without_a_retry_the_client_is_told_how_the_worker_died(self):
        gate = self.up(pool={"retry": False})
        answer = self.kill_lane_of(gate, self.begin_job(gate), 0)
        self.assert_problem(answer, 502, "worker-died")
        self.assertIn("killed by SIGKILL", answer.json()["detail"])
        gate.wait_ready()
        self.assertEqual(gate.post({}).status, 200)

    def test_a_job_that_kills_its_workers_is_poison_and_the_record_has_their_last_words(self):
        gate = self.up(pool={"lanes": 2})
        answer = gate.post({"code": 41, "say": "CUDA error: the end\n"}, "/die")
        self.assert_problem(answer, 502, "poison")
        self.assertIn("exit code 41", answer.json()["detail"])
        self.assertNotIn("the end", answer.body.decode())
        [job] = gate.ended_jobs()
        self.assertEqual((job["id"], job["attempts"]), (answer.header("turnpike-job"), 2))
        self.assertIn("CUDA error: the end", json.dumps(job))
        wait_until(lambda: len(self.crashes(gate)) == 2, "there is a report for each death")
        gate.wait_ready()
        self.assertEqual(gate.pool()["jobs"]["failed"], 1)

    def assert_ended_without(self, gate, future, slug, words):
        """Checks that the job ended with this problem, and that neither its client nor an admin reads these words."""
        answer = future.result()
        self.assert_problem(answer, 504, slug)
        self.assertNotIn("detail", answer.json())
        [job] = gate.ended_jobs()
        self.assertEqual(job["detail"], slug)
        for text in (answer.body.decode(), json.dumps(job), json.dumps(gate.ask("GET", f"/-/jobs/{job['id']}").json())):
            self.assertNotIn(words, text)
        return job

    def test_a_job_whose_second_attempt_ran_too_long_shows_no_output_of_the_dead_worker(self):
        """The first worker prints something and dies under the job; the second one never answers."""
        gate = self.up("echo LAST WORDS >&2; exec " + self.worker_command(), pool={"job_timeout": "2s", "cancel_grace": "50ms"})
        future, _ = self.begin_job(gate)
        os.kill(gate.lane(0)["pid"], signal.SIGKILL)
        job = self.assert_ended_without(gate, future, "ran-too-long", "LAST WORDS")
        self.assertEqual((job["attempts"], job["reason"]), (2, "ran_too_long"))
        [crash] = [crash for crash in self.crashes(gate) if crash["why"] == "exited"]
        self.assertIn("LAST WORDS", gate.ask("GET", f"/-/crashes/{crash['id']}").json()["log"])

    def test_a_job_that_waits_too_long_for_its_second_attempt_shows_no_output_of_the_dead_worker(self):
        gate = self.up("echo LAST WORDS >&2; exec " + self.worker_command(),
                       pool={"restart_delay_min": "30s", "restart_delay_max": "30s"})
        future, _ = self.begin_job(gate, headers=[("Turnpike-Timeout", "2s")])
        os.kill(gate.lane(0)["pid"], signal.SIGKILL)
        job = self.assert_ended_without(gate, future, "deadline-passed", "LAST WORDS")
        self.assertEqual((job["attempts"], job["reason"]), (1, "deadline_passed"))

    def test_the_worker_of_a_job_that_does_not_stop_is_killed(self):
        gate = self.up(pool={"job_timeout": "200ms", "cancel_grace": "50ms"})
        pid = gate.lane(0)["pid"]
        future, _ = self.begin_job(gate)
        self.assert_problem(future.result(), 504, "ran-too-long")
        found = self.wait_back(gate)
        self.assertNotEqual(found["pid"], pid)
        [report] = wait_until(lambda: self.crashes(gate), "there is a report")
        self.assertEqual((report["why"], report["pid"]), ("job_stuck", pid))
        self.assertEqual(gate.post({}).status, 200)

    def test_cancelling_a_job_kills_its_worker_if_the_config_says_so(self):
        gate = self.up(pool={"cancel": "kill"})
        pid = gate.lane(0)["pid"]
        future, _ = self.begin_job(gate)
        [job] = gate.live_jobs()
        self.assertEqual(gate.ask("DELETE", f"/-/jobs/{job['id']}").status, 202)
        self.assert_problem(future.result(), 409, "cancelled")
        self.assertNotEqual(self.wait_back(gate)["pid"], pid)
        self.assertEqual(self.crashes(gate), [])

    def test_the_death_of_an_idle_worker_is_noticed_at_once_and_counts_against_no_job(self):
        gate = self.up(pool={"health.every": "1h"})
        pid = gate.lane(0)["pid"]
        os.kill(pid, signal.SIGKILL)
        self.wait_lane_where(gate, 0, lambda lane: lane["restarts"] == 1, "the lane restarts")
        self.assertEqual(gate.post({}).header("turnpike-attempt"), "1")

    def test_death_after_death_leaves_nothing_behind_in_the_gate(self):
        gate = self.up(pool={"crash_limit": 16})

        def descriptors():
            return len(os.listdir(f"/proc/{gate.process.pid}/fd"))

        def children():
            with open(f"/proc/{gate.process.pid}/task/{gate.process.pid}/children") as file:
                return len(file.read().split())
        before = descriptors()
        for deaths in range(1, 11):
            os.kill(gate.lane(0)["pid"], signal.SIGKILL)
            self.wait_lane_where(gate, 0, lambda lane: lane["restarts"] == deaths and
                                 lane["state"] == "ready", "the lane is back")
        wait_until(lambda: descriptors() <= before + 2, "there are no more descriptors than before")
        wait_until(lambda: children() == 1, "there is one guard and no zombie")

    def test_the_death_of_a_workers_child_changes_nothing(self):
        gate = self.up("sleep 600 & echo child is $!; exec " + self.worker_command())
        os.kill(int(self.wait_line(gate, "child is ").split()[2]), signal.SIGKILL)
        self.assertEqual(gate.post({}).status, 200)
        self.assertEqual(gate.lane(0)["restarts"], 0)


class Reports(StartedCase):
    def crash(self, gate, task, headers=()):
        """Sends a job that ends its worker. Returns the newest report."""
        before = len(self.crashes(gate))
        gate.post(task, "/die?secret=1", headers)
        wait_until(lambda: len(self.crashes(gate)) > before, "there is a report")
        gate.wait_ready()
        return self.crashes(gate)[0]

    def test_a_report_has_all_facts_about_a_death(self):
        gate = self.up(pool={"retry": False})
        pid = gate.lane(0)["pid"]
        task = {"signal": signal.SIGABRT, "say": "first\nterminate called\nlast words"}
        report = self.crash(gate, task)
        self.assertEqual((report["lane"], report["pool"], report["pid"], report["generation"]),
                         (0, "default", pid, 1))
        self.assertEqual((report["how"], report["signal"], report["exit_code"], report["why"]),
                         ("killed by SIGABRT", signal.SIGABRT, None, "exited"))
        self.assertGreater(report["memory_peak_bytes"], 1 << 20)
        self.assertGreater(report["lived_s"], 0)
        self.assertIn("workers/http_server.py", report["command"])
        self.assertNotIn("{port}", report["command"])
        [job] = report["inputs"]
        self.assertEqual(job["request"], "POST /die", "the query must be missing, because it may hold secrets")
        self.assertNotIn("secret", json.dumps(report))
        whole = gate.ask("GET", f"/-/crashes/{report['id']}").json()
        self.assertIn("err terminate called\nerr last words", whole["log"])
        folder = self.state_folder(gate) / "crashes" / report["id"]
        self.assertEqual(json.loads((folder / f"input-{job['job']}").read_text()), task)
        self.assertIn("last words", (folder / "log.txt").read_text())
        self.assertEqual({os.path.basename(path) for path in whole["files"]},
                         {path.name for path in folder.iterdir()})
        self.assertEqual(stat.S_IMODE(folder.stat().st_mode), 0o700)
        for path in folder.iterdir():
            self.assertEqual(stat.S_IMODE(path.stat().st_mode), 0o600, path)

    def test_the_command(self):
        gate = self.up(pool={"retry": False})
        self.assertEqual(self.order(gate, "crashes"), "no worker has died\n")
        report = self.crash(gate, {"code": 7, "say": "what \x1b[31ma\x1b[0m day\n"})
        table = self.order(gate, "crashes")
        self.assertIn(report["id"], table)
        self.assertIn("exit code 7", table)
        text = self.order(gate, "crashes", report["id"])
        for words in ("exit code 7", "what a day", "POST /die", "log.txt"):
            self.assertIn(words, text)
        self.assertNotIn("\x1b", text)
        self.assertEqual(json.loads(self.order(gate, "crashes", "--json"))["crashes"], [report])
        self.order(gate, "crashes", "20200101-000000-lane0-1", code=1)
        self.assert_problem(gate.ask("GET", "/-/crashes/nothing"), 404, "no-crash")

    def test_reports_have_no_inputs_if_the_config_says_so(self):
        gate = self.up(pool={"retry": False}, sections={"crashes": {"inputs": False}})
        report = self.crash(gate, {"code": 1, "say": "private"})
        self.assertEqual(report["inputs"], [])
        folder = self.state_folder(gate) / "crashes" / report["id"]
        self.assertEqual({path.name for path in folder.iterdir()}, {"report.json", "log.txt"})

    def test_a_long_input_is_cut(self):
        gate = self.up(pool={"retry": False}, sections={"crashes": {"input_max": "1KiB"}})
        report = self.crash(gate, {"code": 1, "padding": "x" * 5000})
        [job] = report["inputs"]
        self.assertTrue(job["cut"])
        folder = self.state_folder(gate) / "crashes" / report["id"]
        self.assertEqual((folder / f"input-{job['job']}").stat().st_size, 1024)

    def test_the_oldest_reports_are_deleted_beyond_the_limit(self):
        gate = self.up(pool={"retry": False, "crash_limit": 16}, sections={"crashes": {"keep": 2}})
        seen = []
        for code in (1, 2, 3):
            answer = gate.post({"code": code}, "/die")
            self.assertEqual(answer.status, 502)
            newest = wait_until(lambda: [report for report in self.crashes(gate)
                                         if report["exit_code"] == code], "there is a report of this death")
            seen.append(newest[0]["id"])
            gate.wait_ready()
        self.assertEqual([report["exit_code"] for report in self.crashes(gate)], [3, 2])
        folder = self.state_folder(gate) / "crashes"
        wait_until(lambda: {path.name for path in folder.iterdir()} == set(seen[1:]), "two reports are left on disk")
        self.assert_problem(gate.ask("GET", f"/-/crashes/{seen[0]}"), 404, "no-crash")

    def test_reports_outlive_the_gate(self):
        gate = self.up(pool={"retry": False})
        report = self.crash(gate, {"code": 5})
        self.assertEqual(self.stop(gate), 0)
        path = self.write_config(self.config())
        gate = self.start(str(path), "--name", gate.name).wait_ready()
        self.assertEqual(self.crashes(gate), [report])

    def test_no_reports_are_kept_if_the_config_says_so(self):
        gate = self.up(pool={"retry": False}, sections={"crashes": {"keep": 0}})
        self.assertEqual(gate.post({"code": 1}, "/die").status, 502)
        self.wait_back(gate)
        self.assertEqual(self.crashes(gate), [])
        folder = self.state_folder(gate) / "crashes"
        self.assertFalse(folder.exists() and list(folder.iterdir()))

    def test_orders_leave_no_report(self):
        gate = self.up()
        self.order(gate, "restart", "0")
        self.wait_back(gate)
        self.order(gate, "drain", "0")
        gate.wait_lane(0, "drained")
        self.assertEqual(self.crashes(gate), [])


if __name__ == "__main__":
    unittest.main()
