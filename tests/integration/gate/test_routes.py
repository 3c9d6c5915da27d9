"""Tests which paths belong to Turnpike, with every method, and that every other path goes to the model."""
import unittest

from harness import Case
from scripted_worker import echo

METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]
ROUTES = {"/-/healthz": {"GET": 200}, "/-/readyz": {"GET": 200}, "/-/status": {"GET": 200},
          "/-/jobs": {"GET": 200}, "/-/jobs/nothing": {"GET": 404, "DELETE": 404}}
UNKNOWN = ["/-/", "/-/unknown", "/-/healthz/", "/-/jobs/", "/-/jobs/a/b", "/-/status/x", "/-//",
           "/-/to", "/-/Status", "/-/%73tatus"]


class Routes(Case):
    def setUp(self):
        super().setUp()
        self.worker = self.scripted(echo)
        self.gate_ = self.gate([self.worker])

    def test_every_route_with_every_method(self):
        for route, methods in ROUTES.items():
            allowed = dict(methods, **({"HEAD": methods["GET"]} if "GET" in methods else {}))
            for method in METHODS:
                with self.subTest(f"{method} {route}"):
                    answer = self.gate_.ask(method, route, b"" if method == "POST" else None)
                    if method in allowed:
                        self.assertEqual(answer.status, allowed[method], answer)
                        continue
                    self.assertEqual(answer.status, 405, answer)
                    listed = {name.strip() for name in answer.header("allow").split(",")}
                    self.assertEqual(listed, set(allowed))
        self.assertEqual(self.worker.seen, [])

    def test_head_is_get_without_the_body(self):
        for route in ROUTES:
            client = self.gate_.connect().request("HEAD", route)
            head = client.answer("HEAD")
            client.request("GET", route)
            get = client.answer()  # on the same connection, so the HEAD answer had no body
            self.assertEqual(head.status, get.status)
            self.assertEqual(head.header("content-type"), get.header("content-type"))
            if route != "/-/status":  # the length of this answer changes with time
                self.assertEqual(head.header("content-length"), str(len(get.body)))

    def test_unknown_own_routes_are_404(self):
        for route in UNKNOWN:
            for method in METHODS:
                with self.subTest(f"{method} {route}"):
                    answer = self.gate_.ask(method, route)
                    self.assertEqual(answer.status, 404, answer)
        self.assertEqual(self.worker.seen, [])

    def test_a_query_does_not_change_the_route(self):
        self.assertEqual(self.gate_.ask("GET", "/-/healthz?x=/y").body, b"ok\n")

    def test_trace_and_connect_are_refused(self):
        for line in (b"TRACE / HTTP/1.1", b"TRACE /-/status HTTP/1.1", b"CONNECT a:1 HTTP/1.1",
                     b"CONNECT / HTTP/1.1"):
            client = self.gate_.connect().send(line + b"\r\nHost: localhost\r\n\r\n")
            self.assertIn(client.answer().status, (400, 405), line)
            self.assertTrue(client.is_closed())
        self.assertEqual(self.worker.seen, [])

    def test_an_unknown_method_is_501(self):
        for method in ("BREW", "get", "PROPFIND"):
            client = self.gate_.connect().request(method, "/")
            self.assert_problem(client.answer(), 501, "unsupported")
        self.assertEqual(self.worker.seen, [])

    def test_an_upgrade_is_501_or_ignored(self):
        client = self.gate_.connect().request("GET", "/", None, [
            ("Connection", "Upgrade"), ("Upgrade", "websocket")])
        self.assert_problem(client.answer(), 501, "unsupported")

    def test_every_other_path_with_every_method_is_a_job(self):
        for target in ("/", "/predict", "/-", "/-x", "/v1/a%20b?q=%2F&r", "//", "/a//b", "/..",
                       "/-/to/default/", "/-/to/default/x?y=1"):
            for method in METHODS:
                with self.subTest(f"{method} {target}"):
                    answer = self.gate_.ask(method, target)
                    self.assertEqual(answer.status, 200, answer)
                    expected = target.removeprefix("/-/to/default")
                    self.assertEqual(self.worker.seen[-1], f"{method} {expected}")

    def test_options_of_star_is_answered(self):
        client = self.gate_.connect().send(b"OPTIONS * HTTP/1.1\r\nHost: localhost\r\n\r\n")
        self.assertLess(client.answer().status, 500)

    def test_the_absolute_form_is_taken(self):
        client = self.gate_.connect().send(b"GET http://localhost/abs?x HTTP/1.1\r\n"
                                           b"Host: localhost\r\n\r\n")
        self.assertEqual(client.answer().status, 200)
        self.assertEqual(self.worker.seen, ["GET /abs?x"])

    def test_wrong_turnpike_fields_are_400(self):
        for name, value in (("Turnpike-Priority", "10"), ("Turnpike-Priority", "high"),
                            ("Turnpike-Timeout", "soon"), ("Turnpike-Timeout", "-1s"),
                            ("Turnpike-Timeout", "0s"), ("Turnpike-Lane", "first")):
            answer = self.gate_.ask("GET", "/", None, [(name, value)])
            self.assert_problem(answer, 400, "bad-header")
            self.assertIn(name, answer.json()["detail"])
        self.assertEqual(self.worker.seen, [])

    def test_status_has_the_fields_that_were_promised(self):
        status = self.gate_.status()
        self.assertLessEqual({"version", "uptime_s", "ready", "pools", "lanes"}, set(status))
        self.assertLessEqual({"pool", "model", "generation", "proof", "queued", "oldest_wait_s",
                              "expected_wait_s", "jobs"}, set(status["pools"][0]))
        self.assertLessEqual({"finished", "failed", "refused", "timed_out", "cancelled"},
                             set(status["pools"][0]["jobs"]))
        self.assertLessEqual({"lane", "pool", "gpus", "state", "generation", "pid", "jobs",
                              "finished", "failed", "restarts", "last_exit", "reason"},
                             set(status["lanes"][0]))
        self.assertEqual(status["pools"][0]["proof"], "none")

    def test_answers_have_the_turnpike_fields(self):
        answer = self.gate_.ask("GET", "/")
        self.assertRegex(answer.header("turnpike-job"), r"^\w+$")
        self.assertEqual(answer.header("turnpike-lane"), "0")
        self.assertEqual(answer.header("turnpike-attempt"), "1")
        self.assertRegex(answer.header("turnpike-generation"), r"^\d+$")
        self.assertRegex(answer.header("server-timing"),
                         r"^queue;dur=\d+\.\d+, run;dur=\d+\.\d+$")


if __name__ == "__main__":
    unittest.main()
