"""Which ASGI app of a file is served, and the message if none can be."""
import sys
import textwrap
import types
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "sdk" / "python"))

from turnpike._worker import asgi_apps, find_model  # noqa: E402
from turnpike.errors import NoModel  # noqa: E402

BARE = "async def app(scope, receive, send): pass\n"
FASTAPI = "class FastAPI:\n    async def __call__(self, scope, receive, send): pass\n"


def found(source, name=""):
    module = types.ModuleType("app")
    module.__file__ = "/srv/app.py"
    exec(textwrap.dedent(source), module.__dict__)
    return find_model.find_in(module, name)


class Apps(unittest.TestCase):
    def assert_app(self, source, name="", called="app"):
        app = found(source, name)
        self.assertIsInstance(app, asgi_apps.App)
        self.assertEqual(app.name, called)
        return app.call

    def refused(self, source, name=""):
        with self.assertRaises(NoModel) as caught:
            found(source, name)
        return str(caught.exception)

    def test_values_that_raise_outside_of_a_request_are_skipped(self):
        raises = "(self, name=''): raise RuntimeError('Not within a request context')\n"
        for lines in (f"    def __getattr__{raises}", f"    @property\n    def __class__{raises}"):
            request = f"class Proxy:\n{lines}    def __call__(self): pass\nrequest = Proxy()\n"
            self.assert_app(request + BARE)
            self.assertIn("app.py has no model", self.refused(request))
            self.assertIn("has no other", self.refused(request, "other"))

    def test_wsgi_apps_are_told_what_to_do(self):
        for source in ("class Flask:\n    def __call__(self, environ, start_response): pass\napp = Flask()", "def app(env, start_response): pass"):
            for name in ("app", ""):
                with self.subTest(source, name=name):
                    self.assertIn("app in app.py is a WSGI app", self.refused(source, name))

    def test_a_function_an_instance_and_a_framework_are_found_with_and_without_a_name(self):
        for source in (BARE, "class App:\n    async def __call__(self, scope, receive, send): pass\napp = App()", FASTAPI + "app = FastAPI()"):
            for name in ("app", ""):
                with self.subTest(source, name=name):
                    self.assert_app(source, name)

    def test_a_method_of_an_object_is_an_app(self):
        self.assert_app("class Site:\n    async def main(self, scope, receive, send): pass\napp = Site().main", "app")

    def test_a_route_called_predict_does_not_make_the_file_a_model(self):
        self.assert_app(FASTAPI + "app = FastAPI()\ndef predict(x): return x")

    def test_a_model_class_beside_an_app_is_the_model(self):
        self.assertEqual(found("import turnpike\nclass M(turnpike.Model):\n    def predict(self, x): return x\n" + BARE).__name__, "M")

    def test_parts_of_apps_are_not_meant(self):
        router = FASTAPI.replace("FastAPI", "Router") + "class APIRouter(Router): pass\nrouter = APIRouter()\n"
        self.assert_app(FASTAPI + router + "app = FastAPI()")
        self.assertIn("has no model", self.refused(router))

    def test_of_several_apps_one_must_be_named(self):
        source = FASTAPI + "app = FastAPI()\nother = FastAPI()"
        self.assertIn("several ASGI apps (app, other): say which, as in app.py:app", self.refused(source))
        self.assert_app(source, "other", called="other")

    def test_one_app_of_two_names_is_one(self):
        self.assert_app(FASTAPI + "app = FastAPI()\napplication = app")

    def test_a_bare_app_may_call_its_arguments_as_it_likes_if_it_is_named(self):
        self.assert_app("async def app(s, r, w): pass", "app")

    def test_a_factory_is_called_if_it_is_named(self):
        source = FASTAPI + "def create_app(debug=False): return FastAPI()"
        self.assertEqual(type(self.assert_app(source, "create_app", called="create_app")).__name__, "FastAPI")
        self.assertIn("has no model", self.refused(source))

    def test_a_factory_that_makes_no_app_is_told(self):
        self.assertIn("create_app in app.py is a function that returned a int", self.refused("def create_app(): return 7", "create_app"))
        self.assertIn("returned a coroutine", self.refused("async def create_app(): return 7", "create_app"))

    def test_a_factory_that_needs_arguments_is_not_called(self):
        for source in ("def create_app(config): raise AssertionError", "def create_app(*, config): raise AssertionError"):
            self.assertIn("is a function, not a turnpike.Model", self.refused(source, "create_app"))

    def test_the_class_of_an_app_is_told_from_the_app(self):
        said = self.refused("class App:\n    async def __call__(self, scope, receive, send): pass", "App")
        self.assertIn("App in app.py is the class of an ASGI app: name an instance of it, as in app = App()", said)

    def test_apps_of_asgi_2_are_refused_in_clear_words(self):
        for source in ("def app(scope):\n    async def run(receive, send): pass\n    return run",
                       "class app:\n    def __init__(self, scope): pass\n    async def __call__(self, receive, send): pass"):
            with self.subTest(source):
                said = self.refused(source, "app")
                self.assertIn("is an ASGI 2 app", said)
                self.assertIn("guarantee_single_callable", said)

    def test_a_value_that_is_neither_app_nor_model_is_refused(self):
        self.assertIn("is a int, not a turnpike.Model", self.refused("seven = 7", "seven"))
        self.assertIn("write class Net(turnpike.Model)", self.refused("class Net:\n    def predict(self, x): return x", "Net"))


if __name__ == "__main__":
    unittest.main()
