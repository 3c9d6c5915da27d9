"""Tests who may use the gate: it checks API keys, Host and Origin, and passes no key on to a worker."""
import unittest

from client import bearer
from harness import Case, wait_until
from scripted_worker import echo


# Every route that is more than a sign of life.
OWN_ROUTES = [("GET", "/-/status"), ("GET", "/-/jobs"), ("GET", "/-/jobs/JOB"), ("DELETE", "/-/jobs/JOB"), ("GET", "/-/lanes/0/log"),
              ("GET", "/-/crashes"), ("GET", "/-/crashes/x"), ("POST", "/-/lanes/0/restart"), ("POST", "/-/lanes/0/drain"),
              ("POST", "/-/lanes/0/resume"), ("POST", "/-/lanes/0/stacks"), ("POST", "/-/pools/default/restart"), ("POST", "/-/reload"),
              ("POST", "/-/pools/default/reload"), ("POST", "/-/pools/default/prove"), ("GET", "/-/pools/default/proof"), ("GET", "/-/none")]


class Keys(Case):
    def setUp(self):
        super().setUp()
        self.worker = self.scripted()

    def ask_worker(self, gate, headers):
        """Sends a request, answers it as the worker, and returns it as the worker got it."""
        answer = self.in_thread(gate.ask, "POST", "/", b"", headers)
        request = self.worker.take()
        request.reply(b"fine")
        self.assertEqual((answer.result().status, answer.result().body), (200, b"fine"))
        return request

    def test_once_a_key_exists_requests_without_one_are_refused(self):
        key = self.new_key("alice")
        gate = self.gate_with_keys(key)
        for target in ("/", "/predict", "/-/status", "/-/jobs", "/-/jobs/x", "/-/unknown"):
            answer = gate.ask("GET", target)
            self.assert_problem(answer, 401, "no-key")
            self.assertEqual(answer.header("www-authenticate"), "Bearer")
        for wrong in ("", "x", key[:-1], key + "x", key.upper(), "tp_" + "0" * 40):
            self.assertEqual(gate.ask("GET", "/", None, bearer(wrong)).status, 401)
        for target in ("/-/healthz", "/-/readyz"):
            self.assertEqual(gate.ask("GET", target).status, 200)
        self.assertEqual(self.worker.seen, [])

    def gate_with_keys(self, key):
        """Starts a gate and checks that `key` may read the status."""
        gate = self.gate([self.worker], is_ready=False)
        wait_until(lambda: gate.ask("GET", "/-/readyz").status == 200, "the gate is ready")
        self.assertEqual(gate.ask("GET", "/-/status", None, bearer(key)).status, 200)
        return gate

    def test_a_key_is_accepted_in_both_fields_and_never_reaches_the_worker(self):
        key = self.new_key("bob")
        gate = self.gate_with_keys(key)
        for headers in (bearer(key), [("Turnpike-Key", key)], [("authorization", f"bearer {key}")]):
            request = self.ask_worker(gate, [*headers, ("X-Mine", "1")])
            self.assertEqual(request.header("x-mine"), "1")
            self.assertIsNone(request.header("authorization"))
            self.assertIsNone(request.header("turnpike-key"))
            self.assertNotIn(key, str(request.headers))
        self.assertNotIn(key, gate.process.output())

    def test_a_plain_key_sees_and_cancels_only_its_own_jobs(self):
        alice, bob = self.new_key("alice"), self.new_key("bob")
        admin = self.new_key("root", "--admin")
        gate = self.gate_with_keys(alice)
        client = gate.connect().request("GET", "/of-alice", None, bearer(alice))
        running = self.worker.take()

        def jobs(key):
            return gate.ask("GET", "/-/jobs", None, bearer(key)).json()["live"]
        self.assertEqual([len(jobs(key)) for key in (alice, bob, admin)], [1, 0, 1])
        target = f"/-/jobs/{jobs(alice)[0]['id']}"
        for method in ("GET", "DELETE"):
            self.assert_problem(gate.ask(method, target, None, bearer(bob)), 404, "no-job")
        self.assertEqual(gate.ask("GET", target, None, bearer(admin)).status, 200)
        self.assertEqual(len(jobs(alice)), 1)
        self.assertEqual(gate.ask("DELETE", target, None, bearer(alice)).status, 202)
        self.assert_problem(client.answer(), 409, "cancelled")
        running.reply()

    def test_a_new_key_does_not_see_the_jobs_of_a_revoked_one_that_had_its_name(self):
        first = self.new_key("alice")
        gate = self.gate_with_keys(first)
        self.ask_worker(gate, bearer(first))
        client = gate.connect().request("GET", "/running", None, bearer(first))
        running = self.worker.take()
        page = gate.ask("GET", "/-/jobs", None, bearer(first)).json()
        ids = [page["live"][0]["id"], page["ended"][0]["id"]]
        self.assertEqual(self.command("key", "revoke", "alice").returncode, 0)
        second = self.new_key("alice")
        wait_until(lambda: gate.ask("GET", "/-/jobs", None, bearer(second)).status == 200, "the new key is valid")
        page = gate.ask("GET", "/-/jobs", None, bearer(second)).json()
        self.assertEqual((page["live"], page["ended"]), ([], []))
        for job in ids:
            for method in ("GET", "DELETE"):
                self.assert_problem(gate.ask(method, f"/-/jobs/{job}", None, bearer(second)), 404, "no-job")
        status = gate.ask("GET", "/-/status", None, bearer(second))
        self.assertNotIn(ids[0].encode(), status.body)
        running.reply(b"done")
        self.assertEqual(client.answer().body, b"done")

    def test_the_log_names_the_key(self):
        key = self.new_key("carol")
        log = self.folder / "keys.jsonl"
        gate = self.gate([self.worker], "--log-jobs", str(log), is_ready=False)
        self.ask_worker(gate, bearer(key))
        self.assertEqual(self.stop(gate), 0)
        self.assertIn('"key":"carol"', log.read_text())
        self.assertNotIn(key, log.read_text())

    def test_keys_can_be_added_and_revoked_while_the_gate_runs(self):
        gate = self.gate([self.worker])
        key = self.new_key("dave")
        wait_until(lambda: gate.ask("GET", "/-/status").status == 401, "requests without the key are refused")
        self.ask_worker(gate, bearer(key))
        self.assertEqual(self.command("key", "revoke", "dave").returncode, 0)
        wait_until(lambda: gate.ask("GET", "/-/jobs", None, bearer(key)).status != 200
                   or gate.ask("GET", "/-/status").status == 200, "the key is revoked")

    def test_other_addresses_need_keys(self):
        process = self.spawn_up(["--attach", self.worker.url, "--host", "0.0.0.0"])
        self.assertEqual(process.wait(), 1, process.output())
        self.assertIn("key new", process.output())
        key = self.new_key("remote")
        process = self.spawn_up(["--attach", self.worker.url, "--host", "0.0.0.0"])
        wait_until(lambda: "serving on" in process.output(), "with a key the gate starts")
        self.assertNotIn(key, process.output())

    def test_without_keys_authorization_passes_through(self):
        gate = self.gate([self.worker])
        request = self.ask_worker(gate, [("Authorization", "Bearer sk-of-the-model")])
        self.assertEqual(request.header("authorization"), "Bearer sk-of-the-model")

    def test_key_list_shows_names_and_no_secrets(self):
        key = self.new_key("eve", "--admin")
        done = self.command("key", "list")
        self.assertIn("eve", done.stdout)
        self.assertNotIn(key, done.stdout)
        for path in (self.folder / "xdg_config_home").rglob("*"):
            self.assertEqual(path.stat().st_mode & 0o077, 0, path)
            if path.is_file():
                self.assertNotIn(key, path.read_text())


class Hosts(Case):
    def test_only_our_own_names_are_answered(self):
        gate = self.gate([self.scripted(echo)], gate={"allowed_hosts": ["gpu.example"]})
        for host in ("localhost", "LocalHost:1234", "127.0.0.1", "127.0.0.1:99", "[::1]:8000",
                     f"127.0.0.1:{gate.port}", "gpu.example", "gpu.example:8000"):
            for target in ("/", "/-/status"):
                answer = gate.ask("GET", target, None, [("Host", host)])
                self.assertEqual(answer.status, 200, (host, answer))
        for host in ("evil.example", "localhost.evil.example", "127.0.0.1.evil.example",
                     "xgpu.example", "192.168.0.1", "gpu.example.", "0x7f.1"):
            for method, target in (("GET", "/"), ("POST", "/predict"), ("GET", "/-/status"),
                                   ("GET", "/-/healthz"), ("DELETE", "/-/jobs/x")):
                answer = gate.ask(method, target, b"", [("Host", host)])
                self.assert_problem(answer, 403, "foreign-host")

    def test_the_host_reaches_the_worker(self):
        worker = self.scripted(lambda request: request.reply(request.header("host").encode()))
        gate = self.gate([worker])
        self.assertEqual(gate.ask("GET", "/", None, [("Host", "localhost:77")]).body,
                         b"localhost:77")


class Origins(Case):
    PAGE = "https://page.example"

    def gate_for_pages(self):
        self.worker = self.scripted(echo)
        return self.gate([self.worker], gate={"allowed_origins": [self.PAGE]})

    def test_a_foreign_page_is_refused(self):
        gate = self.gate_for_pages()
        for origin in ("https://evil.example", "null", "https://page.example.evil",
                       "http://page.example", self.PAGE + ":8443", "http://localhost:1"):
            for target in ("/", "/-/status"):
                answer = gate.ask("POST", target, b"", [("Origin", origin)])
                self.assert_problem(answer, 403, "foreign-origin")
                self.assertIsNone(answer.header("access-control-allow-origin"))
        self.assertEqual(self.worker.seen, [])

    def test_an_allowed_page_gets_what_its_browser_needs(self):
        gate = self.gate_for_pages()
        answer = gate.ask("POST", "/", b"x", [("Origin", self.PAGE)])
        self.assertEqual(answer.body, b"x")
        self.assertEqual(answer.header("access-control-allow-origin"), self.PAGE)
        self.assertIn("Turnpike-Job", answer.header("access-control-expose-headers"))
        self.assertEqual(answer.header("vary"), "Origin")

    def test_a_preflight_is_answered_by_the_gate(self):
        gate = self.gate_for_pages()
        ask = [("Access-Control-Request-Method", "POST"),
               ("Access-Control-Request-Headers", "content-type")]
        answer = gate.ask("OPTIONS", "/predict", None, [("Origin", self.PAGE), *ask])
        self.assertEqual(answer.status, 204)
        self.assertEqual(answer.header("access-control-allow-origin"), self.PAGE)
        self.assertIn("POST", answer.header("access-control-allow-methods"))
        self.assertEqual(answer.header("access-control-allow-headers"), "content-type")
        answer = gate.ask("OPTIONS", "/predict", None, [("Origin", "https://evil.example"), *ask])
        self.assert_problem(answer, 403, "foreign-origin")
        self.assertEqual(self.worker.seen, [])

    def test_an_allowed_page_sends_jobs_and_nothing_else(self):
        gate = self.gate_for_pages()
        page = [("Origin", self.PAGE)]
        job = gate.ask("POST", "/", b"x", page).header("turnpike-job")
        for target in ("/-/healthz", "/-/readyz"):
            self.assertEqual(gate.ask("GET", target, None, page).status, 200)
        for method, target in OWN_ROUTES:
            answer = gate.ask(method, target.replace("JOB", job), b"", page)
            self.assert_problem(answer, 403, "not-permitted")
            self.assertEqual(answer.header("access-control-allow-origin"), self.PAGE)
        self.assertEqual((gate.lane(0)["state"], gate.lane(0)["restarts"]), ("ready", 0))
        self.assertEqual(gate.pool()["reload"], None)

    def test_what_a_foreign_page_embeds_is_no_job(self):
        gate = self.gate_for_pages()
        kinds = [("no-cors", "image"), ("no-cors", "script"), ("no-cors", "empty"), ("navigate", "iframe"),
                 ("navigate", "frame"), ("navigate", "embed"), ("navigate", "object"), ("cors", "empty"), ("websocket", "websocket")]
        for site in ("cross-site", "same-site"):
            for mode, dest in kinds:
                fields = [("Sec-Fetch-Site", site), ("Sec-Fetch-Mode", mode), ("Sec-Fetch-Dest", dest)]
                for method, target in (("GET", "/predict?x=1"), ("HEAD", "/"), ("POST", "/predict"), ("GET", "/-/to/default/"), *OWN_ROUTES):
                    self.assert_refused(gate, method, target, fields)
                    self.assert_refused(gate, method, target, [*fields, ("Referer", "https://evil.example/")])
                answer = gate.ask("GET", "/predict", None, [*fields, ("Referer", f"{self.PAGE}/chat")])
                self.assertEqual(answer.status, 200, "a page of an allowed origin may")
            navigation = [("Sec-Fetch-Site", site), ("Sec-Fetch-Mode", "navigate"), ("Sec-Fetch-Dest", "document")]
            self.assertEqual(gate.ask("GET", "/", None, navigation).status, 200)
            self.assert_refused(gate, "POST", "/", navigation)
            self.assert_refused(gate, "GET", "/", [*navigation, ("Sec-Purpose", "prefetch")])
        prefetch = [("Sec-Fetch-Site", "none"), ("Sec-Fetch-Mode", "navigate"), ("Sec-Fetch-Dest", "document"), ("Sec-Purpose", "prefetch")]
        self.assert_refused(gate, "GET", "/", prefetch)
        self.assertEqual({seen for seen in self.worker.seen}, {"GET /", "GET /predict"})

    def assert_refused(self, gate, method, target, headers):
        answer = gate.ask(method, target, b"" if method == "POST" else None, headers)
        self.assertEqual(answer.status, 403, (method, target, headers))
        if method != "HEAD":
            self.assert_problem(answer, 403, "foreign-origin")

    def test_requests_from_the_gates_own_page_and_from_no_page_are_allowed(self):
        gate = self.gate_for_pages()
        own = f"http://localhost:{gate.port}"
        answer = gate.ask("POST", "/", b"x", [("Host", f"localhost:{gate.port}"),
                                              ("Origin", own)])
        self.assertEqual(answer.body, b"x")
        self.assertEqual(gate.ask("POST", "/", b"y").body, b"y")


class PreflightsWithKeys(Case):
    def test_a_preflight_needs_no_key(self):
        """Browsers send no key with a preflight."""
        page = "https://page.example"
        self.assertEqual(self.command("key", "new", "x").returncode, 0)
        gate = self.gate([self.scripted(echo)], gate={"allowed_origins": [page]}, is_ready=False)
        for target in ("/predict", "/-/status", "/-/jobs/x"):
            answer = gate.ask("OPTIONS", target, None,
                              [("Origin", page), ("Access-Control-Request-Method", "POST"),
                               ("Access-Control-Request-Headers", "authorization")])
            self.assertEqual(answer.status, 204, answer)
            self.assertEqual(answer.header("access-control-allow-headers"), "authorization")
        answer = gate.ask("OPTIONS", "/predict", None, [("Origin", page)])
        self.assertEqual(answer.status, 401)
        self.assertEqual(answer.header("access-control-allow-origin"), page)


if __name__ == "__main__":
    unittest.main()
