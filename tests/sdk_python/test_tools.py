"""`python3 -m turnpike`, turnpike.testing, and the package itself."""
import ast
import io
import os
import shutil
import subprocess
import sys
import tempfile
import types
import unittest
from contextlib import redirect_stderr
from importlib.util import find_spec
from pathlib import Path

from conversation import SDK, TalkCase

import turnpike
import turnpike.testing

MODEL = """
import turnpike
class Doubles(turnpike.Model):
    example = {"x": 2}
    def load(self, lane):
        lane.progress(0.5, "half")
        self.device = lane.device
    def predict(self, x):
        if x["x"] < 0:
            raise turnpike.BadInput("x is negative")
        return {"y": 10 / x["x"], "device": self.device}
"""


class Check(TalkCase):
    def check(self, source, *flags, stdin="", model="model.py"):
        folder = self.folder()
        (folder / "model.py").write_text(source)
        command = [sys.executable, "-B", "-m", "turnpike", "check", model, *flags]
        return subprocess.run(command, cwd=folder, env=dict(os.environ, PYTHONPATH=str(SDK)), input=stdin, capture_output=True, text=True)

    def test_it_runs_the_example_and_says_how_long_it_took(self):
        ended = self.check(MODEL)
        self.assertEqual((ended.returncode, ended.stderr), (0, ""))
        self.assertRegex(ended.stdout, r"(?s)imported in .* ms\n  loading: 50 % half\nloaded on cpu in .* ms\n"
                                       r"200 application/json\n\{\"y\":5\.0,\"device\":\"cpu\"\}\nanswered in .* ms\n")

    def test_it_takes_another_input_and_another_device(self):
        ended = self.check(MODEL, "--input", "-", "--device", "cuda:0", stdin='{"x": 5}')
        self.assertEqual(ended.returncode, 0)
        self.assertIn('{"y":2.0,"device":"cuda:0"}', ended.stdout)

    def test_an_input_that_can_not_be_read_is_told_before_the_load(self):
        ended = self.check(MODEL, "--input", "nowhere.json")
        self.assertEqual((ended.returncode, ended.stdout), (1, ""))
        self.assertEqual(ended.stderr, "turnpike: the input nowhere.json can't be read: No such file or directory\n")

    def test_of_a_folder_it_takes_the_model_in_it(self):
        self.assertIn('"y":5.0', self.check(MODEL, model=".").stdout)
        empty = self.folder()
        self.assertEqual(self.check(MODEL, model=str(empty)).stderr, f"turnpike: there is no file {empty}/model.py\n")

    def test_failures_are_told_as_in_service(self):
        ended = self.check(MODEL, "--input", "-", stdin='{"x": 0}')
        self.assertEqual(ended.returncode, 1)
        self.assertIn("ZeroDivisionError", ended.stderr)
        self.assertNotIn(str(SDK), ended.stderr)
        ended = self.check(MODEL, "--input", "-", stdin='{"x": -1}')
        self.assertEqual((ended.returncode, ended.stderr), (1, "the model says that the input is bad: x is negative\n"))
        ended = self.check(MODEL, "--input", "-", stdin="{")
        self.assertIn("not JSON", ended.stderr)
        ended = self.check("import nowhere_at_all")
        self.assertEqual(ended.returncode, 1)
        self.assertIn("--python", ended.stderr)
        ended = self.check("x = 1")
        self.assertIn("has no model", ended.stderr)
        ended = self.check("example = 1\ndef predict(x): return float('nan')")
        self.assertIn("JSON can't express", ended.stderr)

    def test_the_debugger_opens_where_it_failed(self):
        ended = self.check(MODEL, "--input", "/dev/fd/0", "--pdb", stdin="")
        self.assertEqual(ended.returncode, 1)
        ended = self.check("example = 0\ndef predict(x): return 10 / x", "--pdb", stdin="p 'x is', x\nq\n")
        self.assertEqual(ended.returncode, 1)
        self.assertIn("('x is', 0)", ended.stdout)

    def test_streams_batches_and_coroutines(self):
        ended = self.check("example = 2\ndef predict(x):\n yield {'n': 1}\n yield {'n': x}")
        self.assertEqual(ended.returncode, 0)
        self.assertIn('  data: {"n":1}\n  data: {"n":2}\na stream of text/event-stream\n', ended.stdout)
        ended = self.check("example = 2\nasync def predict(x):\n yield 'a'\n yield 'b'")
        self.assertIn("  a\n  b\na stream of text/plain", ended.stdout)
        ended = self.check("example = 2\nbatch = 4\nasync def predict(xs): return [x * 2 for x in xs]")
        self.assertIn("\n4\n", ended.stdout)
        ended = self.check("example = 2\nbatch = 4\ndef predict(xs): return 1")
        self.assertIn("must return a list of 1", ended.stderr)

    def test_the_models_own_check_has_its_say(self):
        ended = self.check("example = 2\ndef predict(x): return x\ndef check(answer): return answer == 3")
        self.assertEqual(ended.returncode, 1)
        self.assertIn("WrongAnswer", ended.stderr)

    def test_without_an_example_it_says_so(self):
        ended = self.check("def predict(x): return x")
        self.assertEqual(ended.returncode, 0)
        self.assertIn("no `example`", ended.stdout)

    def test_version(self):
        ended = subprocess.run([sys.executable, "-B", "-m", "turnpike", "version"], cwd=SDK, capture_output=True, text=True)
        self.assertRegex(ended.stdout, r"^turnpike-python \d+\.\d+\.\d+, CPython 3")


class Doubles(turnpike.Model):
    batch = 4

    def predict(self, xs):
        return [turnpike.BadInput("odd") if x % 2 else {"twice": 2 * x} for x in xs]

    def request(self, req):
        if req.path == "/exit":
            sys.exit(3)
        if req.path == "/stream":
            return turnpike.Response(iter(["a", "b"]), 203, {"X-A": req.headers["x-a"]})
        return {"path": req.path, "body": req.body.decode()}


class Testing(TalkCase):
    def test_a_model_is_asked_as_in_service(self):
        with turnpike.testing.serve(Doubles) as model:
            self.assertEqual(model.predict(2), {"twice": 4})
            with self.assertRaisesRegex(turnpike.BadInput, "odd"):
                model.predict(3)
            answers = model.predict_all([2, 3, 4])
            self.assertEqual([answers[0], answers[2]], [{"twice": 4}, {"twice": 8}])
            self.assertIsInstance(answers[1], turnpike.BadInput)
            answer = model.post("/other", b"hi")
            self.assertEqual((answer.status, answer.json()), (200, {"path": "/other", "body": "hi"}))
            answer = model.request("GET", "/stream", headers={"X-A": "b"})
            self.assertEqual((answer.status, answer.body, answer.headers["x-a"]), (203, b"ab", "b"))
            self.assertIsInstance(model.model, Doubles)

    def test_failures_are_exceptions(self):
        def predict(x):
            return {"a": 1 / x}
        module = types.ModuleType("functions")
        module.predict = predict
        with turnpike.testing.serve(module) as model, redirect_stderr(io.StringIO()) as said:
            with self.assertRaises(turnpike.testing.JobFailed) as raised:
                model.predict(0)
            self.assertEqual((raised.exception.why, raised.exception.type), ("exception", "ZeroDivisionError"))
            self.assertEqual(model.predict(2), {"a": 0.5})
        self.assertIn("ZeroDivisionError", said.getvalue())

    def test_a_model_that_ends_its_process_ends_the_test_with_that(self):
        with redirect_stderr(io.StringIO()):
            with turnpike.testing.serve(Doubles) as model:
                with self.assertRaises(SystemExit):
                    model.get("/exit")

    def test_files_and_modes(self):
        folder = self.folder()
        for stem, source in (("a_sync", "def predict(x): return str(x)"), ("an_async", "async def predict(x): return str(x)"),
                             ("pooled", "slots = 2\ndef predict(x): return str(x)"), ("streams", "def predict(x): yield str(x)")):
            with self.subTest(stem):
                path = folder / f"{stem}.py"
                path.write_text(source)
                with turnpike.testing.serve(path) as model:
                    self.assertEqual(model.predict(7), "7")
        with self.assertRaisesRegex(turnpike.errors.NoModel, "no file"):
            with redirect_stderr(io.StringIO()), turnpike.testing.serve(folder / "none.py"):
                pass

    def test_what_a_load_raises_is_raised_in_the_test(self):
        class Broken(turnpike.Model):
            def load(self, lane):
                raise FileNotFoundError("no weights at all")

            def predict(self, x):
                return x

        with redirect_stderr(io.StringIO()), self.assertRaisesRegex(FileNotFoundError, "no weights at all"):
            with turnpike.testing.serve(Broken):
                pass

    def test_a_with_that_was_forgotten_is_told(self):
        model = turnpike.testing.serve(Doubles)
        for use in (lambda: model.predict(2), lambda: model.get("/"), lambda: model.model):
            with self.assertRaisesRegex(RuntimeError, "write `with turnpike.testing.serve"):
                use()
        self.assertFalse(hasattr(model, "anything_else"))

    def test_leaving_a_stream_cancels_it(self):
        ended = []

        class Endless(turnpike.Model):
            def predict(self, x):
                try:
                    while True:
                        yield "tick"
                finally:
                    ended.append(turnpike.job().cancelled)

        with turnpike.testing.serve(Endless) as model:
            pieces = model.stream("POST", "/predict", b"1")
            self.assertEqual(next(pieces).status, 200)
            self.assertEqual(next(pieces), b"tick")
            pieces.close()
            self.assertEqual(ended, [True])


class Package(unittest.TestCase):
    """What users of older Pythons and of type checkers rely on."""

    NEWER = {"pairwise", "batched", "zip_strict", "aiter", "anext", "TaskGroup", "ExceptionGroup", "BaseExceptionGroup", "EncodingWarning",
             "add_note", "StrEnum", "tomllib", "override", "Self", "assert_never", "is_junction", "removesuffix_", "timeout_at",
             "setpgroup_", "eventfd", "splice", "bisect_key", "get_annotations", "EllipsisType", "NoneType", "UnionType"}

    def sources(self):
        return [SDK / "turnpike_worker.py", *sorted((SDK / "turnpike").rglob("*.py"))]

    def test_the_syntax_is_that_of_python_3_9(self):
        self.assertGreater(len(self.sources()), 15)
        for path in self.sources():
            with self.subTest(path.name):
                ast.parse(path.read_text(), feature_version=(3, 9))
        with self.assertRaises(SyntaxError):
            ast.parse("match x:\n    case 1: pass", feature_version=(3, 9))

    def test_nothing_newer_than_python_3_9_is_called(self):
        for path in self.sources():
            tree = ast.parse(path.read_text())
            used = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)} | \
                   {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
            self.assertFalse(used & self.NEWER, path.name)
            keywords = {keyword.arg for node in ast.walk(tree) if isinstance(node, ast.Call) for keyword in node.keywords}
            self.assertFalse(keywords & {"strict", "slots_", "kw_only", "encoding_errors"}, path.name)

    def test_annotations_are_not_evaluated(self):
        for path in self.sources():
            if " | None" in path.read_text():
                self.assertIn("from __future__ import annotations", path.read_text(), path.name)

    def test_only_the_standard_library_is_imported(self):
        known = set(sys.stdlib_module_names) | {"turnpike", "orjson"} if hasattr(sys, "stdlib_module_names") else None
        if known is None:
            self.skipTest("this Python does not know its own modules")
        for path in self.sources():
            for node in ast.walk(ast.parse(path.read_text())):
                names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else \
                        [node.module] if isinstance(node, ast.ImportFrom) and not node.level else []
                self.assertLessEqual({name.split(".")[0] for name in names}, known, path.name)

    def test_it_installs_without_a_network(self):
        if not find_spec("pip") or not find_spec("setuptools"):
            self.skipTest("this Python has no pip or no setuptools")
        with tempfile.TemporaryDirectory() as folder:
            source = shutil.copytree(SDK, Path(folder) / "source", ignore=shutil.ignore_patterns("__pycache__"))
            command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-index", "--no-build-isolation", "--no-deps",
                       "--disable-pip-version-check", "--target", f"{folder}/there", str(source)]
            subprocess.run(command, check=True, capture_output=True, text=True)
            ended = subprocess.run([sys.executable, "-c", "import turnpike.testing; print(turnpike.__file__)"], cwd=folder, text=True,
                                   env=dict(os.environ, PYTHONPATH=f"{folder}/there"), capture_output=True, check=True)
            self.assertIn("/there/turnpike/__init__.py", ended.stdout)
            self.assertTrue((Path(folder) / "there/turnpike/py.typed").exists())

    def test_it_is_typed_and_says_its_version_once(self):
        self.assertTrue((SDK / "turnpike" / "py.typed").exists())
        self.assertIn("turnpike.version.VERSION", (SDK / "pyproject.toml").read_text())

    def test_every_file_and_public_thing_says_what_it_is(self):
        for path in self.sources():
            tree = ast.parse(path.read_text())
            self.assertTrue(ast.get_docstring(tree), path.name)
            self.assertLess(path.read_text().count("\n"), 300, path.name)
        for name in turnpike.__all__:
            if name != "__version__":
                self.assertTrue(getattr(turnpike, name).__doc__, name)

    def test_old_pythons_are_told_in_words(self):
        text = (SDK / "turnpike_worker.py").read_text()
        for version in ((3, 6), (3, 7)):
            ast.parse(text, feature_version=version)
        self.assertIn("workers need 3.9 or newer", text)


if __name__ == "__main__":
    unittest.main()
