"""Tests the limits of keys: `turnpike key new` takes and shows them, and a key over its rate is refused."""
import json
import unittest

from client import bearer
from harness import Case, wait_until
from scripted_worker import echo


class Limits(Case):
    def test_key_list_shows_the_limits_of_key_new(self):
        self.new_key("plain")
        self.new_key("web", "--jobs-max", "20", "--bytes-max", "256MiB", "--rate", "90/min", "--priority-max", "9")
        listed = {key["name"]: key for key in json.loads(self.command("key", "list", "--json").stdout)}
        limits = ("jobs_max", "bytes_max", "rate", "priority_max")
        self.assertEqual([listed["plain"][name] for name in limits], [None, None, None, 5])
        self.assertEqual([listed["web"][name] for name in limits], [20, 256 << 20, "90/min", 9])
        text = self.command("key", "list").stdout
        self.assertRegex(text, r"web +plain +20 +256MiB +90/min +9 ")

    def test_limits_out_of_bounds_make_no_key(self):
        for flags, words in ((["--jobs-max", "0"], "from 1 to 1000000"), (["--rate", "5/h"], "5/s or 90/min"),
                             (["--bytes-max", "1"], "1KiB to 16TiB"), (["--priority-max", "10"], "from 0 to 9")):
            done = self.command("key", "new", "bad", *flags)
            self.assertEqual((done.returncode, done.stdout), (2, ""), done)
            self.assertIn(words, done.stderr)
        self.assertEqual(json.loads(self.command("key", "list", "--json").stdout), [])

    def test_help_shows_an_example(self):
        self.assertIn("--rate 5/s", self.command("key", "new", "--help").stdout)

    def test_a_file_of_an_older_version_is_read_and_kept(self):
        key = self.new_key("old")
        path = self.folder / "xdg_config_home/turnpike/keys"
        self.assertEqual(path.read_text().strip().count("\t"), 3, "without limits a line is as it was")
        self.new_key("new", "--jobs-max", "3")
        lines = path.read_text().splitlines()
        self.assertEqual([line.count("\t") for line in lines], [3, 4])
        gate = self.gate([self.scripted(echo)], is_ready=False)
        wait_until(lambda: gate.ask("GET", "/", None, bearer(key)).status == 200, "the old key is valid")

    def test_a_bad_limit_in_the_file_is_named_with_its_line(self):
        self.new_key("alice")
        path = self.folder / "xdg_config_home/turnpike/keys"
        good = path.read_text()
        self.addCleanup(path.write_text, good)
        for bad, words in (("jobs_max=none", "'jobs_max' must be a number"), ("speed=9", "'speed' is no limit of a key")):
            path.write_text(good.rstrip("\n") + f"\t{bad}\n")
            done = self.command("key", "list")
            self.assertEqual(done.returncode, 1, done)
            self.assertIn(f"{path}:1: {words}", done.stderr)


class Rate(Case):
    def gate_with(self, *keys):
        self.log = self.folder / f"{self.id()}.jsonl"
        gate = self.gate([self.scripted(echo)], "--log-jobs", str(self.log), is_ready=False)
        wait_until(lambda: gate.ask("GET", "/-/readyz").status == 200, "the gate is ready")
        return gate

    def test_a_key_over_its_rate_is_told_when_to_come_again(self):
        slow, fast = self.new_key("slow", "--rate", "2/min"), self.new_key("fast")
        gate = self.gate_with(slow, fast)
        self.assertEqual(gate.ask("POST", "/", b"x", bearer(slow)).status, 200)
        for _ in range(3):
            refused = gate.ask("POST", "/", b"x", bearer(slow))
            self.assert_problem(refused, 429, "rate-exceeded")
            self.assertTrue(1 <= int(refused.header("retry-after")) <= 30, refused)
            self.assertEqual(gate.ask("POST", "/", b"x", bearer(fast)).status, 200, "others are not concerned")
        self.assertEqual(gate.ask("GET", "/-/jobs", None, bearer(slow)).status, 200, "only jobs are counted")
        status = json.loads(self.command("status", "--name", gate.name, "--json").stdout)
        self.assertEqual(status["pools"][0]["jobs"]["refused"], 3)
        self.assertEqual([(client["client"], client["refused"]) for client in status["clients"]], [("key slow", 3)])
        self.assertRegex(self.command("status", "--name", gate.name, "--clients").stdout, r"key slow .* 3\n")
        self.assertNotIn("clients", gate.ask("GET", "/-/status", None, bearer(fast)).json())
        self.assertEqual(self.stop(gate), 0)
        reasons = [line["reason"] for line in map(json.loads, self.log.read_text().splitlines()) if line["key"] == "slow"]
        self.assertEqual(reasons, ["answered", *["rate_exceeded"] * 3])

    def test_a_refused_upload_is_not_asked_to_continue(self):
        key = self.new_key("slow", "--rate", "1/min")
        gate = self.gate_with(key)
        expect = [*bearer(key), ("Expect", "100-continue"), ("Content-Length", "5")]
        client = gate.connect().request("POST", "/", None, expect)
        self.assertEqual(client.head().status, 100)
        client.send(b"hello")
        self.assertEqual(client.answer().body, b"hello")
        client = gate.connect().request("POST", "/", None, expect)
        self.assert_problem(client.answer(), 429, "rate-exceeded")
        self.assertTrue(client.is_closed())

    def test_reading_the_keys_again_gives_no_new_jobs(self):
        key = self.new_key("slow", "--rate", "1/min")
        gate = self.gate_with(key)
        self.assertEqual(gate.ask("POST", "/", b"x", bearer(key)).status, 200)
        other = self.new_key("other")
        wait_until(lambda: gate.ask("POST", "/", b"x", bearer(other)).status == 200, "the file is read again")
        self.assert_problem(gate.ask("POST", "/", b"x", bearer(key)), 429, "rate-exceeded")


class Clients(Case):
    def test_status_shows_admins_who_has_what(self):
        alice, root = self.new_key("alice"), self.new_key("root", "--admin")
        worker = self.scripted()
        gate = self.gate([worker], is_ready=False, gate={"trusted_proxies": ["127.0.0.1"]})
        wait_until(lambda: gate.ask("GET", "/-/readyz").status == 200, "the gate is ready")
        jobs = [gate.connect().request("POST", "/", b"x" * 100, bearer(alice))]
        running = worker.take()
        jobs += [gate.connect().request("POST", "/", b"x" * 100, bearer(alice)) for _ in range(2)]
        upload = gate.connect().request("POST", "/", None, [*bearer(root), ("Content-Length", "100")]).send(b"x" * 40)

        def clients():
            page = gate.ask("GET", "/-/status", None, bearer(root)).json()
            return {client.pop("client"): client for client in page["clients"]}

        def have_come():
            have = clients()
            return (have.get("key alice", {}).get("queued") == 2 and have.get("key root", {}).get("uploads") == 1) and have
        have = wait_until(have_come, "two jobs are queued, and one upload is under way")
        self.assertGreater(have["key alice"].pop("oldest_wait_s"), 0)
        self.assertEqual(have["key alice"], {"uploads": 0, "queued": 2, "running": 1, "bytes": 300, "refused": 0, "suspected": False})
        self.assertEqual((have["key root"]["queued"], have["key root"]["running"]), (0, 0))
        lines = self.command("status", "--name", gate.name, "--clients").stdout.splitlines()
        self.assertEqual(lines[0].split()[:3], ["CLIENT", "UPLOADS", "QUEUED"])
        self.assertEqual([line.split()[:2] for line in lines[1:]], [["key", "alice"], ["key", "root"]], "most jobs first")
        upload.close()
        running.reply(b"fine")
        for job in jobs[1:]:
            worker.take().reply(b"fine")
        for job in jobs:
            self.assertEqual(job.answer().status, 200)
        wait_until(lambda: clients() == {}, "nobody has anything any more")


if __name__ == "__main__":
    unittest.main()
