"""Tests that a FastAPI app answers the same on a native lane as with a real uvicorn, request by request."""
import json
import unittest

from beside_uvicorn import FORM, JSON, RunningServer, SideBySideCase, comparable_headers, multipart, start_uvicorn
from client import Client
from harness import HERE, WorkerProcess
from native_case import NativeCase

EXAMPLE = HERE.parents[1] / "examples" / "fastapi"


class FastAPI(SideBySideCase):
    """Compares the answers of workers/asgi_app.py, which uses many features of FastAPI."""

    def open(self):
        worker = WorkerProcess(self, "asgi_app.py").start()
        type(self).uvicorn = RunningServer(worker.port.number)
        return self.serve(f"{HERE / 'workers' / 'asgi_app.py'}:app", pool={"slots": 4}, sections={"gate": {"allowed_hosts": ["example.org"]}})

    def test_routes_queries_and_paths(self):
        self.assert_alike(
            ("GET", "/sync/7"), ("GET", "/sync/7?q=a%20b&q=c"), ("GET", "/sync/x"), ("GET", "/async/a/b"),
            ("GET", "/async/a%20b%2Fc%C3%A4"), ("GET", "/async/%FF"), ("GET", "/nowhere"), ("POST", "/sync/7"),
            ("GET", "/sync/7/"), ("GET", "/docs"), ("GET", "/redoc"), ("GET", "/openapi.json"))

    def test_what_the_lifespan_opened(self):
        self.assertEqual(self.ask_both("GET", "/state").json(), {"opened": "before the first request"})

    def test_dependencies_handlers_and_errors(self):
        self.assert_alike(
            ("GET", "/needs-token"), ("GET", "/needs-token", None, [("X-Token", "secret")]), ("GET", "/teapot"),
            ("GET", "/missing"), ("POST", "/items", b'{"name": "a"}', JSON), ("POST", "/items", b'{"price": "much"}', JSON),
            ("POST", "/items", b"{", JSON), ("POST", "/items"))

    def test_an_exception_is_answered_by_the_app_and_its_traceback_is_in_the_log(self):
        for target in ("/boom", "/boom-sync"):
            answer = self.ask_both("GET", target)
            self.assertEqual((answer.status, answer.body), (500, b"Internal Server Error"))
        self.wait_log(self.gate, "ValueError: boom")
        self.assertIn("in boom_sync", self.whole_log(self.gate))

    def test_methods_redirects_and_cookies(self):
        self.assert_alike(*((method, "/any") for method in ("GET", "HEAD", "DELETE", "OPTIONS")),
                          ("PUT", "/any", b"12345"), ("PATCH", "/any", b""), ("GET", "/empty"), ("GET", "/redirect"),
                          ("GET", "/cookies", None, [("Cookie", "seen=yes; x=y")]))
        cookies = [value for name, value in self.gate.ask("GET", "/cookies").headers if name.lower() == "set-cookie"]
        self.assertEqual(len(cookies), 2)

    def test_bodies_of_requests(self):
        self.assert_alike(("POST", "/upload", multipart(1000), FORM), ("POST", "/upload", multipart(5_000_000), FORM),
                          ("POST", "/length", b""), ("POST", "/length", b"x" * 100_000), ("POST", "/length", b"x" * 3_000_000),
                          ("POST", "/unread", b"x" * 50_000), ("POST", "/upload", b"no form", JSON))

    def test_a_body_in_chunks_has_a_length_by_the_time_it_arrives(self):
        with Client(self.gate.port) as client:
            client.send(b"POST /length HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n")
            self.assertEqual(client.answer("POST").json(), {"size": 5, "content-length": "5"})

    def test_answers_that_stream_or_are_large(self):
        self.assert_alike(("GET", "/stream"), ("GET", "/stream?kind=sync"), ("GET", "/large"))

    def test_files_tell_their_length_also_to_head(self):
        self.assert_alike(("GET", "/file"), ("GET", "/static/large.bin"), ("GET", "/static/none"))
        for target in ("/file", "/static/large.bin"):
            self.assertEqual(self.ask_both("HEAD", target).header("content-length"), "512000")
        seen = self.gate.ask("GET", "/static/large.bin").header("etag")
        self.assertEqual(self.ask_both("GET", "/static/large.bin", None, [("If-None-Match", seen)]).status, 304)

    def test_apps_within_the_app(self):
        self.assert_alike(("GET", "/sub/where"), ("GET", "/sub/docs"), ("GET", "/sub/boom"), ("GET", "/sub/stream"), ("GET", "/sub"), ("GET", "/starlette/"), ("GET", "/starlette"))

    def test_the_scope(self):
        headers = [("Host", "example.org:8080"), ("X-Twice", "a"), ("X-Twice", "b"), ("X-Umlaut", "ü"), ("X-Forwarded-Proto", "https")]
        there, here = (server.ask("POST", "/scope/a%2Fb%20c?x=%20&y", b"body", headers).json() for server in (self.uvicorn, self.gate))
        for scope in (there, here):
            scope["headers"] = sorted(pair for pair in scope["headers"]
                                      if pair[0] not in ("connection", "x-forwarded-for", "turnpike-job"))
            scope["server"] = scope["client"][1] = None  # these differ: Turnpike takes the server from Host, and only uvicorn knows the client's port
        self.assertEqual(here, there)

    def test_server_and_client_are_those_that_the_client_knows(self):
        scope = self.gate.ask("GET", "/scope/", None, [("Host", "example.org:8080")]).json()
        self.assertEqual((scope["server"], scope["client"]), (["example.org", 8080], ["127.0.0.1", 0]))
        scope = self.gate.ask("GET", "/scope/", None, [("Host", "example.org"), ("X-Forwarded-For", "10.1.1.1, 10.2.2.2")]).json()
        self.assertEqual((scope["server"], scope["client"]), (["example.org", 80], ["10.2.2.2", 0]))

    def test_urls_are_those_of_the_client_also_behind_a_proxy_that_ends_tls(self):
        proxied = [("Host", "example.org"), ("X-Forwarded-Proto", "https"), ("X-Forwarded-For", "10.1.1.1")]
        for headers, begin in (((), "http://localhost"), ([("Host", "example.org:8080")], "http://example.org:8080"), (proxied, "https://example.org")):
            self.assertEqual(self.ask_both("GET", "/sync/7/", None, headers).header("location"), f"{begin}/sync/7")
        scope = self.gate.ask("GET", "/scope/", None, proxied).json()
        self.assertEqual((scope["client"], scope["scheme"], scope["server"]), (["10.1.1.1", 0], "https", ["example.org", 443]))

    def test_headers_keep_their_order_and_odd_bytes(self):
        scopes = []
        for server in (self.uvicorn, self.gate):
            with Client(server.port) as client:
                client.send(b"GET /scope/%FF%00/a//b?q=%FF&+;=?/ HTTP/1.1\r\nhost: localhost\r\nX-B: 1\r\nX-A:\t2\r\n"
                            b"x-b: \xe9\xff\r\nX-E:\r\nX-L: a,b, c\r\n\r\n")
                scopes.append(client.answer().json())
        there, here = scopes
        self.assertEqual([here[key] for key in ("path", "raw_path", "query_string")], [there[key] for key in ("path", "raw_path", "query_string")])
        self.assertEqual(here["headers"][:len(there["headers"])], there["headers"])
        self.assertEqual([name for name, _ in here["headers"][len(there["headers"]):]], ["x-forwarded-for", "turnpike-job"])

    def test_a_background_task_runs_on_after_the_answer(self):
        self.assert_background_task_runs_on("/background")

    def test_a_client_that_leaves_is_noticed(self):
        self.assert_notices_departure("/until-left", "is_disconnected")
        self.assert_notices_departure("/endless")

    def test_a_stream_begins_before_its_first_piece(self):
        """As with uvicorn, the head does not wait for the body."""
        for server in (self.uvicorn, self.gate):
            folder = self.folder_for("head")
            with Client(server.port) as client:
                client.request("GET", f"/endless?started={folder}/started&left={folder}/left")
                self.assertEqual(client.head().status, 200)
                self.assertEqual(client.chunk()[:5], b"more\n")


class RootPath(SideBySideCase):
    """The app is behind a proxy that removes a prefix of the path."""

    def open(self):
        workers = HERE / "workers"
        type(self).uvicorn = start_uvicorn(self, workers, "asgi_app:app", "--root-path", "/api")
        return self.serve(f"{workers / 'asgi_app.py'}:app", sections={"pool.default.env": {"UVICORN_ROOT_PATH": "/api"}})

    def test_root_path_is_handled_as_by_uvicorn(self):
        self.assert_alike(("GET", "/docs"), ("GET", "/openapi.json"), ("GET", "/sub/where"), ("GET", "/sub/docs"), ("GET", "/static/none"))
        self.assertIn("/api/openapi.json", self.gate.ask("GET", "/docs").body.decode())


class FastApiExample(NativeCase):
    def test_the_example_runs_unmodified_and_answers_as_under_uvicorn(self):
        there = start_uvicorn(self, EXAMPLE, "worker:app")
        gate = self.serve(f"{EXAMPLE / 'worker.py'}:app")
        for request in (("POST", "/predict", json.dumps({"text": "turnpike", "seconds": 0}).encode(), JSON),
                        ("POST", "/predict", b"{}", JSON), ("POST", "/predict", b'{"seconds": "x"}', JSON), ("GET", "/predict"),
                        ("GET", "/docs"), ("GET", "/openapi.json")):
            answers = [server.ask(*request) for server in (there, gate)]
            with self.subTest(request):
                self.assertEqual(*((answer.status, answer.body, comparable_headers(answer)) for answer in answers))
        self.assertEqual(gate.ask("GET", "/health").json()["where"][:11], "lane 0, CPU")


if __name__ == "__main__":
    unittest.main()
