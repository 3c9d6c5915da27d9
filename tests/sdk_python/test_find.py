"""How the model in a file is found, and the message if there is none."""
import unittest

from conversation import TalkCase


class Find(TalkCase):
    def refused(self, source, name="", **start):
        talk = self.start(source, name, **start)
        talk.greet()
        self.assertEqual(talk.exit_code(), 1)
        self.assertTrue(talk.stderr().startswith("turnpike: "), talk.stderr())
        self.assertEqual(talk.stderr().count("\n"), 1, talk.stderr())
        return talk.stderr()

    def answer(self, source, name="", **start):
        talk = self.start(source, name, **start)
        talk.ready()
        return talk.ask(1).body.decode()

    def test_the_only_model_of_the_file(self):
        self.assertEqual(self.answer("""
            import turnpike
            from turnpike import Model
            class Helps: pass
            class Only(Model):
                def predict(self, x): return "only"
            def predict(x): return "function"
        """), "only")

    def test_the_named_one_of_several(self):
        source = """
            import turnpike
            class First(turnpike.Model):
                def predict(self, x): return "first"
            class Second(turnpike.Model):
                def __init__(self, word="second"): self.word = word
                def predict(self, x): return self.word
            third = Second("third")
        """
        self.assertEqual(self.answer(source, "First"), "first")
        self.assertEqual(self.answer(source, "Second"), "second")
        self.assertEqual(self.answer(source, "third"), "third")
        self.assertIn("several models (First, Second): say which, as in model.py:Second", self.refused(source))
        self.assertIn("has no Fourth. Models there: First, Second, third.", self.refused(source, "Fourth"))

    def test_plain_functions(self):
        self.assertEqual(self.answer("def predict(x): return 'plain'"), "plain")
        self.assertEqual(self.answer("""
            from turnpike import Model
            def load(lane):
                global word
                word = "loaded"
            def predict(x): return word
        """), "loaded")

    def test_what_is_no_model_is_named(self):
        self.assertIn("write class Net(turnpike.Model)", self.refused("class Net:\n    def predict(self, x): return x", "Net"))
        self.assertIn("has no model, but a class Net: write class Net(turnpike.Model)", self.refused("class Net:\n    def predict(self, x): return x"))
        self.assertIn("is a int, not a turnpike.Model", self.refused("seven = 7", "seven"))
        self.assertIn("or a function predict(x)", self.refused(""))
        self.assertIn("neither predict nor request", self.refused("import turnpike\nclass Empty(turnpike.Model): pass"))

    def test_a_file_that_is_not_there(self):
        talk = self.start("", "x.py")
        talk.greet()
        self.assertEqual(talk.exit_code(), 1)
        self.assertIn("there is no file", talk.stderr())

    def test_a_file_with_the_name_of_a_module_in_use(self):
        self.assertIn("rename the file", self.refused("def predict(x): return x", file="json.py"))

    def test_the_module_has_its_own_name_and_its_folder_comes_first(self):
        talk = self.start("""
            import pickle, sys, os
            class Thing: pass
            def predict(x):
                import beside
                return [__name__, sys.path[0] == os.path.dirname(__file__), type(pickle.loads(pickle.dumps(Thing()))) is Thing, beside.word,
                        "turnpike_worker.py" in os.listdir(sys.path[1]), sys.stdin.read()]
        """, file="my-model.py", PYTHONPATH=str(__import__("conversation").SDK))
        (talk.folder / "beside.py").write_text("word = 'beside'")
        talk.ready()
        self.assertEqual(talk.answer(1), ["my-model", True, True, "beside", True, ""])


if __name__ == "__main__":
    unittest.main()
