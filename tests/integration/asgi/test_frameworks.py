"""Tests that apps of Quart, Falcon and Django answer the same on a native lane as with a real uvicorn."""
import shutil
import sys
import unittest

from beside_uvicorn import FORM, JSON, SideBySideCase, multipart, start_uvicorn
from fake_gpus import has_real_driver, use_fake_gpu
from harness import HERE
from native_case import NativeCase

try:
    import django  # noqa: F401
    import falcon  # noqa: F401
    import quart  # noqa: F401
except ImportError as missing:
    sys.exit(f"this test needs Debian's python3-django, python3-falcon and python3-quart: {missing}")

WORKERS = HERE / "workers"
URLENCODED = [("Content-Type", "application/x-www-form-urlencoded")]
HOSTS = {"gate": {"allowed_hosts": ["example.org"]}}
EXAMPLE_ORG = [("Host", "example.org"), ("X-Forwarded-Proto", "https")]


class Framework(SideBySideCase):
    """Serves a file of workers/ on one lane with four slots, and with uvicorn."""

    place, file, name, flags = WORKERS, "", "app", ()

    def open(self):
        module = self.file.removesuffix(".py").replace("/", ".")
        type(self).uvicorn = start_uvicorn(self, self.place, f"{module}:{self.name}", *self.flags)
        gpu = {} if has_real_driver() else use_fake_gpu(self)
        return self.serve(self.place / self.file, pool={"slots": 4, **gpu}, sections=HOSTS)  # the file has one app, which is found without a name

    def assert_gate_knows_of_the_gpu(self):
        """Checks that the gate learns about out-of-memory errors although the framework catches the exception."""
        if has_real_driver():
            self.skipTest("this machine has a driver of its own, so the lane is one of the CPU")
        answer = self.gate.ask("GET", "/out-of-memory")
        self.assert_problem(answer, 500, "out-of-memory")

    def count_up(self):
        """Checks a session in a signed cookie over three requests."""
        for server in (self.uvicorn, self.gate):
            cookies = []
            for expected in (1, 2, 3):
                answer = server.ask("GET", "/count", None, cookies)
                self.assertEqual(answer.json(), {"count": expected})
                cookies = [("Cookie", answer.header("set-cookie").partition(";")[0])]


class Quart(Framework):
    file = "quart_app.py"

    def test_routes_paths_and_urls(self):
        self.assert_alike(("GET", "/", None, EXAMPLE_ORG), ("GET", "/hello/a%20b%2Fc?q=1&q=%FF&x"), ("GET", "/hello/%C3%A4"), ("GET", "/sync/21"),
                          ("GET", "/sync/x"), ("GET", "/nowhere"), ("POST", "/hello/a"), ("GET", "/folder", None, EXAMPLE_ORG),
                          ("GET", "/away"), ("HEAD", "/hello/a"), ("OPTIONS", "/hello/a"))

    def test_bodies(self):
        self.assert_alike(("POST", "/form", multipart(1000), FORM), ("POST", "/form", multipart(3_000_000), FORM),
                          ("POST", "/form", b"a=1&b=%20", URLENCODED), ("POST", "/echo", b"x" * 2_000_000), ("POST", "/echo", b""),
                          ("POST", "/json", b'{"a": [1]}', JSON), ("POST", "/json", b"{", JSON))

    def test_errors(self):
        self.assert_alike(("GET", "/boom"), ("GET", "/teapot"))
        self.wait_log(self.gate, "ValueError: boom")
        self.assert_gate_knows_of_the_gpu()

    def test_streams_and_files(self):
        self.assert_alike(("GET", "/stream"))
        for request in (("GET", "/file"), ("GET", "/static/quart_app.py"), ("HEAD", "/static/quart_app.py"), ("GET", "/static/none")):
            self.ask_both(*request, ignoring=("expires",))

    def test_sessions(self):
        self.count_up()

    def test_background_tasks(self):
        self.assert_background_task_runs_on("/task")

    def test_a_client_that_leaves(self):
        self.assert_notices_departure("/endless")


class Falcon(Framework):
    file = "falcon_app.py"

    def test_routes_and_urls(self):
        self.assert_alike(("GET", "/?q=1&q=%20&x", None, EXAMPLE_ORG), ("GET", "/sync/21"), ("GET", "/sync/x"), ("GET", "/sync/1/"), ("GET", "/nowhere"),
                          ("DELETE", "/"), ("HEAD", "/"), ("OPTIONS", "/"), ("GET", "/cookies", None, [("Cookie", "c=3; d=4")]))

    def test_bodies(self):
        self.assert_alike(("POST", "/", b'{"a": [1]}', JSON), ("POST", "/", b"{", JSON), ("POST", "/", b"", JSON), ("POST", "/form", multipart(1000), FORM),
                          ("POST", "/form", multipart(900_000), FORM), ("POST", "/", b"a=1&b=%20", URLENCODED), ("POST", "/echo", b"x" * 2_000_000),
                          ("POST", "/echo", b""))

    def test_errors(self):
        self.assert_alike(("GET", "/boom"), ("GET", "/teapot"), ("GET", "/error/409"), ("GET", "/error/503"))
        self.assert_gate_knows_of_the_gpu()

    def test_streams_and_files(self):
        self.assert_alike(("GET", "/stream"), ("GET", "/static/falcon_app.py"), ("HEAD", "/static/falcon_app.py"), ("GET", "/static/none"),
                          ("GET", "/static/falcon_app.py", None, [("Range", "bytes=3-9")]))

    def test_background_tasks(self):
        self.assert_background_task_runs_on("/task")

    def test_a_client_that_leaves(self):
        self.assert_notices_departure("/endless")


class Django(Framework):
    place, file, name, flags = WORKERS / "django_site", "shop/asgi.py", "application", ("--lifespan", "off")

    def test_routes_and_urls(self):
        self.assert_alike(("GET", "/?q=1&q=%20&x", None, EXAMPLE_ORG), ("GET", "/?q=%FF"), ("GET", "/hello/a%20b/"), ("GET", "/hello/%C3%A4/"), ("GET", "/hello/a", None, EXAMPLE_ORG),
                          ("GET", "/async/21"), ("GET", "/nowhere"), ("GET", "/away"), ("HEAD", "/"), ("OPTIONS", "/"), ("GET", "/rows"))

    def test_bodies(self):
        self.assert_alike(("POST", "/form", multipart(1000), FORM), ("POST", "/form", multipart(5_000_000), FORM), ("POST", "/form", b"a=1&b=%20", URLENCODED),
                          ("POST", "/echo", b"x" * 2_000_000), ("POST", "/echo", b""), ("POST", "/csrf", b"a=1", URLENCODED))

    def test_errors(self):
        self.assert_alike(("GET", "/boom"), ("GET", "/boom-async"), ("GET", "/denied"))
        self.assert_gate_knows_of_the_gpu()

    def test_streams_and_files(self):
        self.assert_alike(("GET", "/stream"), ("GET", "/file"), ("GET", "/static/settings.py"), ("HEAD", "/static/settings.py"), ("GET", "/static/none"))

    def test_sessions(self):
        self.count_up()


class DjangoProjects(NativeCase):
    def test_a_view_that_can_t_be_imported_never_goes_live(self):
        """Django itself would import the view only for the first request."""
        site = self.folder_for("project") / "site"
        shutil.copytree(WORKERS / "django_site", site)
        gate = self.serve(site / "shop" / "asgi.py")
        views = site / "orders" / "views.py"
        good = views.read_text()
        for text, code, words, answer in ((good.replace("hello {", "hullo {"), 0, "on the new code", b"hullo you"),
                                          (good.replace("def hello", "def hallo"), 1, "has no attribute 'hello'", b"hullo you"),
                                          (good, 0, "on the new code", b"hello you")):
            views.write_text(text)
            self.assertIn(words, self.order(gate, "reload", code=code))
            self.assertEqual(gate.ask("GET", "/hello/you/").body, answer)


if __name__ == "__main__":
    unittest.main()
