"""Common mistakes, and what the worker says about each: its last log line, which `up` shows."""
import sys
import textwrap
import unittest

from conversation import SDK, Talk, TalkCase

HEAD = "import turnpike\nclass Digits(turnpike.Model):\n"


class FirstCase(TalkCase):
    def worker(self, files, choice="model.py"):
        folder = self.folder()
        for name, text in files.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(text if isinstance(text, bytes) else textwrap.dedent(text).encode())
        talk = Talk([sys.executable, str(SDK / "turnpike_worker.py"), str(folder / choice)], folder, {})
        self.addCleanup(talk.close)
        return talk

    def last_line(self, files, choice="model.py"):
        talk = self.worker(files if isinstance(files, dict) else {"model.py": files}, choice)
        talk.greet()
        self.assertEqual(talk.exit_code(), 1, talk.stderr())
        self.assertNotIn(str(SDK), talk.stderr())
        self.assertNotIn("<frozen", talk.stderr())
        line = talk.stderr().splitlines()[-1]
        self.assertTrue(line.startswith("turnpike: "), talk.stderr())
        return line

    def answer(self, files, choice="model.py"):
        talk = self.worker(files, choice)
        talk.ready()
        return talk.ask(1).body.decode()


class Imports(FirstCase):
    def test_a_missing_package_is_told_with_the_line_that_wants_it(self):
        line = self.last_line({"model.py": "import net\n", "net.py": "import os\nimport nowhere_at_all\n"})
        self.assertIn("No module named 'nowhere_at_all'", line)
        self.assertIn("net.py, line 2)", line)
        self.assertIn(f"install it for {sys.executable}", line)

    def test_a_virtual_environment_that_was_not_chosen_is_named(self):
        files = {"model.py": "import nowhere_at_all\n", "venv/bin/python": "#!/bin/sh\n"}
        talk = self.worker({**files, "model.py": "import os\nos.chmod(os.path.join(os.path.dirname(__file__), 'venv/bin/python'), 0o755)\n"
                                                 "import nowhere_at_all\n"})
        talk.greet()
        talk.exit_code()
        self.assertTrue(talk.stderr().endswith(f"--python {talk.folder}/venv/bin/python\n"), talk.stderr())

    def test_a_file_that_hides_a_module_is_named(self):
        self.assertIn("random.py has the name of another module and hides it",
                      self.last_line({"model.py": "import random\nrandom.random()\n", "random.py": ""}))
        self.assertIn("colorsys.py has the name of another module and hides it",
                      self.last_line({"colorsys.py": "import colorsys\ncolorsys.rgb_to_hsv(1, 2, 3)\n"}, "colorsys.py"))

    def test_a_place_is_in_a_file_of_ones_own(self):
        source = 'exec(compile("import sys; sys.exit(1)", "uvloop/loop.pyx", "exec"))\n'   # looks like compiled Cython code
        self.assertRegex(self.last_line(source), r"sys\.exit\(1\) \([^ ]*model\.py, line 1\)")

    def test_typing_mistakes_have_a_place(self):
        self.assertRegex(self.last_line("import turnpike\nclass A(turnpike.Model)\n    pass\n"), r"SyntaxError: .*model\.py, line 2\)$")
        self.assertRegex(self.last_line("def predict(x):\nreturn x\n"), r"IndentationError: .*model\.py, line 2\)$")
        self.assertRegex(self.last_line("x = 1\nnp.zeros(3)\n"), r"NameError: name 'np' is not defined \(.*model\.py, line 2\)$")
        self.assertIn("save the file as UTF-8", self.last_line({"model.py": b"word = 'caf\xe9'\n"}))

    def test_an_exception_of_many_lines_is_told_in_one(self):
        line = self.last_line("raise ValueError('one\\n\\ntwo' + 'x' * 1000)\n")
        self.assertIn("ValueError: one two", line)
        self.assertLess(len(line), 400)

    def test_an_exception_without_a_text_is_told(self):
        self.assertIn("(its text can't be shown)", self.last_line("""
            class Odd(Exception):
                def __str__(self): raise RuntimeError
            raise Odd
        """))


class Scripts(FirstCase):
    def test_an_exit_while_importing_is_told_as_such(self):
        line = self.last_line("print('done')\nimport sys\nsys.exit()\n")
        self.assertIn("model.py ended itself while it was imported: sys.exit()", line)
        self.assertIn("model.py, line 3). Put what it does as a script under if __name__", line)
        self.assertIn("sys.exit('usage: model.py DATA')", self.last_line("raise SystemExit('usage: model.py DATA')\n"))

    def test_an_exit_while_loading_keeps_its_code(self):
        talk = self.worker({"model.py": "import sys\ndef load(lane): sys.exit(3)\ndef predict(x): pass\n"})
        talk.greet()
        self.assertEqual(talk.exit_code(), 3)
        self.assertRegex(talk.stderr(), r"^turnpike: the model ended itself while it loaded: sys\.exit\(3\) \(.*model\.py, line 2\)\n$")

    def test_a_script_sees_itself_as_the_program(self):
        source = """
            import argparse
            parser = argparse.ArgumentParser()
            parser.add_argument("--size", default="small")
            options = parser.parse_args()
            def predict(x): return options.size + " " + parser.prog
        """
        self.assertEqual(self.answer({"model.py": source}), "small model.py")
        self.assertIn("sys.exit(2)", self.last_line(source.replace('"--size", default', '"size", help')))

    def test_input_fails_because_a_worker_has_no_keyboard(self):
        self.assertIn("a worker has no keyboard", self.last_line("name = input('Which? ')\n"))

    def test_a_notebook_is_no_model(self):
        self.assertIn("is a notebook", self.last_line({"model.ipynb": "{}"}, "model.ipynb"))


class Shapes(FirstCase):
    def test_a_mistyped_name_is_asked_about(self):
        self.assertIn("Did you mean predcit?", self.last_line(HEAD + "    def predcit(self, x): pass\n"))
        self.assertIn("Did you mean predcit?", self.last_line("def predcit(x): pass\n"))
        self.assertIn("Did you mean Digits?", self.last_line({"model.py": HEAD + "    def predict(self, x): pass\n"}, "model.py:Digts"))
        self.assertIn("Did you mean model.py?", self.last_line({"model.py": ""}, "modle.py"))
        self.assertIn("model.py?", self.last_line({"model.py": ""}, "model"))
        self.assertNotIn("Did you mean", self.last_line("def run(x): pass\n"))

    def test_parameters_that_do_not_fit_are_told_before_the_first_job(self):
        for written, wanted in (("predict(x)", "predict(self, x)"), ("predict(self)", "predict(self, x)"),
                                ("predict(self, x, y)", "predict(self, x)"), ("predict(self, x, *, y)", "predict(self, x)")):
            with self.subTest(written):
                told = self.last_line(f"{HEAD}    def {written}: pass\n")
                self.assertIn(f"{written.replace(' *,', '')} of Digits must be {wanted}: ", told)
        self.assertIn("load(self) of Digits must be load(self, lane)",
                      self.last_line(f"{HEAD}    def load(self): pass\n    def predict(self, x): pass\n"))
        self.assertIn("predict() of model must be predict(x)", self.last_line("def predict(): pass\n"))
        self.assertIn("__init__(self, size) of Digits must be __init__(self)",
                      self.last_line(f"{HEAD}    def __init__(self, size): pass\n    def predict(self, x): pass\n"))

    def test_parameters_that_fit_in_other_ways_are_taken(self):
        for written in ("def predict(self, x, n=3): return 'yes'", "def predict(self, *parts): return 'yes'",
                        "@staticmethod\n    def predict(x): return 'yes'", "@classmethod\n    def predict(cls, x): return 'yes'",
                        "def predict(self, x, *, n=3, **more): return 'yes'", "predict = staticmethod(lambda x: 'yes')"):
            with self.subTest(written):
                self.assertEqual(self.answer({"model.py": f"{HEAD}    {written}\n"}), "yes")

    def test_a_network_is_to_be_wrapped(self):
        network = "class Net:\n    def forward(self, x): pass\n"
        for choice in ("model.py", "model.py:Net"):
            self.assertIn("whose load(self, lane) makes a Net", self.last_line({"model.py": network}, choice))


class Loading(FirstCase):
    def test_a_file_beside_the_model_that_is_looked_for_elsewhere(self):
        source = "def load(lane): open('weights.bin')\ndef predict(x): pass\n"
        self.assertIn("the file is beside the model, not in", self.last_line({"model.py": source, "weights.bin": ""}))
        self.assertIn("where turnpike was called; for a file beside the model, open", self.last_line(source))

    def test_a_model_that_wants_a_gpu_where_there_is_none(self):
        source = "def load(lane): raise AssertionError('Torch not compiled with CUDA enabled')\ndef predict(x): pass\n"
        self.assertIn("write lane.device instead of \"cuda\"", self.last_line(source))


class Packages(FirstCase):
    MODEL = "def predict(x): return f'{__name__} {WORD}'\n"

    def test_relative_imports_work_with_and_without_an_init(self):
        files = {"shop/model.py": "from .net import WORD\n" + self.MODEL, "shop/net.py": "WORD = 'net'\n"}
        self.assertEqual(self.answer(files, "shop/model.py"), "shop.model net")
        self.assertEqual(self.answer({**files, "shop/__init__.py": ""}, "shop/model.py"), "shop.model net")

    def test_a_package_in_a_package(self):
        files = {"a/__init__.py": "", "a/net.py": "WORD = 'up'\n", "a/b/model.py": "from ..net import WORD\n" + self.MODEL}
        self.assertEqual(self.answer(files, "a/b"), "a.b.model up")
        self.assertEqual(self.answer({**files, "a/b/__init__.py": ""}, "a/b"), "a.b.model up")

    def test_a_package_may_name_itself_and_its_neighbours(self):
        files = {"shop/__init__.py": "", "shop/net.py": "WORD = 'net'\n", "shop/random.py": "raise RuntimeError('not meant')\n"}
        for line in ("from shop.net import WORD", "import random\nfrom net import WORD"):
            with self.subTest(line):
                self.assertEqual(self.answer({**files, "shop/model.py": f"{line}\n{self.MODEL}"}, "shop/model.py"), "shop.model net")

    def test_the_folder_of_a_django_project_comes_before_what_is_installed(self):
        files = {"shop/__init__.py": "", "wave/__init__.py": "WORD = 'own'\n",
                 "shop/model.py": "import wave\nWORD = getattr(wave, 'WORD', 'installed')\n" + self.MODEL}
        self.assertEqual(self.answer(files, "shop/model.py"), "shop.model installed")
        self.assertEqual(self.answer({**files, "manage.py": ""}, "shop/model.py"), "shop.model own")

    def test_a_manage_py_is_told_where_its_app_is(self):
        self.assertIn("the app is in the project's asgi.py: shop/asgi.py:application",
                      self.last_line({"manage.py": "", "orders/views.py": "", "shop/asgi.py": ""}, "manage.py"))

    def test_a_package_that_imports_its_model_has_it_once(self):
        files = {"shop/__init__.py": "from .model import predict\n",
                 "shop/model.py": "print('imported')\nWORD = 'once'\n" + self.MODEL}
        talk = self.worker(files, "shop/model.py")
        talk.ready()
        self.assertEqual(talk.ask(1).body, b"shop.model once")
        self.assertEqual(talk.stdout(), "imported\n")

    def test_a_folder_with_the_name_of_a_module_hides_nothing(self):
        for name in ("json", "colorsys"):
            files = {f"{name}/__init__.py": "", f"{name}/net.py": "WORD = 'net'\n",
                     f"{name}/model.py": f"from .net import WORD\nimport {name}\nassert not hasattr({name}, 'net')\n" + self.MODEL}
            self.assertEqual(self.answer(files, f"{name}/model.py"), f"{name}_.model net")

    def test_classes_of_a_package_can_be_pickled(self):
        source = """
            import pickle
            from .net import WORD
            class Thing: pass
            def predict(x): return str(type(pickle.loads(pickle.dumps(Thing()))) is Thing)
        """
        self.assertEqual(self.answer({"shop/model.py": source, "shop/net.py": "WORD = 1\n"}, "shop/model.py"), "True")

    def test_a_package_that_can_t_be_imported_says_where(self):
        line = self.last_line({"shop/__init__.py": "import nowhere_at_all\n", "shop/model.py": "def predict(x): pass\n"}, "shop/model.py")
        self.assertIn("shop/__init__.py, line 1)", line)

    def test_a_file_with_relative_imports_must_be_imported_relatively(self):
        line = self.last_line({"model.py": "import net\n", "net.py": "from .layers import WORD\n", "layers.py": ""})
        self.assertIn("net.py, line 1): that file was not imported as part of a package; use a relative import for it, too: from . import net", line)
        files = {"model.py": "from . import net\ndef predict(x): return net.WORD\n", "net.py": "from .layers import WORD\n",
                 "layers.py": "WORD = 'layers'\n"}
        self.assertEqual(self.answer(files), "layers")


if __name__ == "__main__":
    unittest.main()
