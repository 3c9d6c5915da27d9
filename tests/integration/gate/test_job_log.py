"""Tests the job log: it has one JSON line for each job, however the job ended."""
import json
import re
import unittest

from harness import Case, wait_until

FIELDS = ["id", "pool", "lane", "gpu", "arrived", "queue_ms", "run_ms", "attempts", "status",
          "bytes_in", "bytes_out", "client", "method", "path", "outcome", "reason"]
NOT_KEPT = ["Connection: close"]  # so that no attempt is lost with a reused connection


class JobLog(Case):
    def read(self, log):
        return [json.loads(line) for line in log.read_text().splitlines()]

    def behave(self, request):
        if request.target.startswith("/die"):
            return request.close()
        if request.target == "/fail":
            return request.reply(b"no", status=500, headers=NOT_KEPT)
        if request.target == "/stream":
            request.begin_chunked().chunk(b"12345").chunk(b"67890").chunk(b"")
            return request.finish()
        return request.reply(b"answer", headers=NOT_KEPT)

    def test_every_job_has_its_line_with_all_its_fields(self):
        log = self.folder / "jobs.jsonl"
        gate = self.gate([self.scripted(self.behave), self.scripted(self.behave)],
                         "--log-jobs", str(log))
        answers = {}
        for i in range(30):
            answers[f"/job/{i}"] = gate.ask("POST", f"/job/{i}?secret=1", b"x" * i)
        self.assertEqual(self.stop(gate), 0)
        records = self.read(log)
        self.assertEqual(len(records), 30)
        for record in records:
            self.assertEqual(list(record), FIELDS)
            answer = answers.pop(record["path"])
            self.assertEqual(record["id"], answer.header("turnpike-job"))
            self.assertEqual(str(record["lane"]), answer.header("turnpike-lane"))
            self.assertEqual(record["bytes_in"], int(record["path"].split("/")[-1]))
            self.assertEqual((record["status"], record["attempts"], record["bytes_out"]),
                             (200, 1, 6))
            self.assertEqual((record["outcome"], record["reason"]), ("finished", "answered"))
            self.assertEqual((record["pool"], record["gpu"], record["method"]),
                             ("default", None, "POST"))
            self.assertRegex(record["arrived"], r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$")
            self.assertRegex(record["client"], r"^127\.0\.0\.1:\d+$")
        self.assertNotIn("secret", log.read_text())

    def test_jobs_that_did_not_succeed_are_logged_too(self):
        log = self.folder / "otherwise.jsonl"
        worker = self.scripted(self.behave)
        gate = self.gate([worker], log={"jobs": str(log)}, gate={"body_max": "1MiB"},
                         pool={"fail_streak": 1000})
        gate.ask("GET", "/fail")
        gate.ask("GET", "/die")
        gate.ask("GET", "/stream")
        gate.ask("GET", "/lane", None, [("Turnpike-Lane", "9")])
        gate.ask("POST", "/big", bytes(2 << 20))
        self.assertEqual(self.stop(gate), 0)
        facts = [(record["path"], record["status"], record["attempts"], record["outcome"],
                  record["reason"]) for record in self.read(log)]
        self.assertEqual(facts[:4], [("/fail", 500, 1, "failed", "model_failed"),
                                     ("/die", 502, 2, "failed", "poison"),
                                     ("/stream", 200, 1, "finished", "answered"),
                                     ("/lane", 404, 0, "refused", "lane_unknown")])
        self.assertEqual(self.read(log)[2]["bytes_out"], 10)
        self.assertEqual([fact[:2] for fact in facts[4:]], [("/big", 413)])

    def test_cancelled_and_refused_jobs(self):
        log = self.folder / "cancelled.jsonl"
        worker = self.scripted()
        gate = self.gate([worker], log={"jobs": str(log)}, queue={"jobs_max": 1},
                         pool={"cancel": "close"})
        running = gate.connect().request("GET", "/running")
        worker.take()
        queued = gate.connect().request("GET", "/queued")
        gate.wait_queued(1)
        gate.ask("GET", "/refused")
        queued.close()
        gate.wait_queued(0)
        running.close()
        wait_until(lambda: not gate.live_jobs(), "all jobs have ended")
        self.assertEqual(self.stop(gate), 0)
        facts = [(record["path"], record["status"], record["outcome"], record["reason"],
                  record["lane"]) for record in self.read(log)]
        self.assertEqual(facts, [("/refused", 429, "refused", "queue_full", None),
                                 ("/queued", None, "cancelled", "client_left", None),
                                 ("/running", None, "cancelled", "client_left", 0)])

    def test_starts_are_logged_if_asked_for(self):
        log = self.folder / "starts.jsonl"
        gate = self.gate([self.scripted(self.behave)], "--log-jobs", str(log), "--log-starts")
        gate.ask("GET", "/fine")
        gate.ask("GET", "/die")
        self.assertEqual(self.stop(gate), 0)
        events = [(record.get("event", "ended"), record.get("attempt", record.get("attempts")))
                  for record in self.read(log)]
        self.assertEqual(events, [("started", 1), ("ended", 1), ("started", 1), ("started", 2),
                                  ("ended", 2)])
        ids = [record["id"] for record in self.read(log)]
        self.assertEqual((ids[0], ids[2], ids[3]), (ids[1], ids[4], ids[4]))

    def test_a_job_routed_by_its_body_is_logged_with_the_pool_that_ran_it(self):
        log = self.folder / "routed.jsonl"
        pools = {f"pool.{name}": {"attach": [self.scripted(self.behave).url], "models": [name]}
                 for name in ("one", "two")}
        gate = self.gate((), "--log-jobs", str(log), "--log-starts", sections=pools)
        self.assertEqual(gate.post({"model": "two"}, "/").status, 200)
        self.assertEqual(self.stop(gate), 0)
        self.assertEqual([record["pool"] for record in self.read(log)], ["two", "two"])

    def test_lines_are_written_while_the_gate_runs(self):
        log = self.folder / "soon.jsonl"
        gate = self.gate([self.scripted(self.behave)], "--log-jobs", str(log))
        gate.ask("GET", "/fine")
        wait_until(lambda: self.read(log), "the line is in the file while the gate runs")

    def test_strange_paths_stay_one_valid_line(self):
        log = self.folder / "strange.jsonl"
        gate = self.gate([self.scripted(self.behave)], "--log-jobs", str(log))
        paths = ['/%22%0a', "/'(~)", "/" + "x" * 3000]
        for path in paths:
            self.assertEqual(gate.ask("GET", path).status, 200)
        self.assertEqual(self.stop(gate), 0)
        logged = [record["path"] for record in self.read(log)]
        self.assertEqual(logged[:2], paths[:2])
        self.assertTrue(re.match("/x{50}", logged[2]))

    def test_a_full_log_file_is_rotated(self):
        log = self.folder / "rotated.jsonl"
        gate = self.gate([self.scripted(self.behave)],
                         log={"jobs": str(log), "size_max": "64KiB", "keep": 2})
        client = gate.connect()
        for _ in range(1000):
            client.request("GET", "/" + "y" * 100)
            self.assertEqual(client.answer().status, 200)
        self.assertEqual(self.stop(gate), 0)
        files = sorted(self.folder.glob("rotated.jsonl*"))
        self.assertEqual(len(files), 3, files)
        for path in files:
            self.assertLessEqual(path.stat().st_size, 64 << 10)
            self.assertTrue(all(record["status"] == 200 for record in self.read(path)))


if __name__ == "__main__":
    unittest.main()
