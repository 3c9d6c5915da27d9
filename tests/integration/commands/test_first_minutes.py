"""Tests what `turnpike up` tells a new user who makes a mistake."""
import subprocess
import unittest

from harness import DEADLINE_S, TURNPIKE
from native_case import PYTHON, NativeCase, wait_until

MODEL = "import turnpike\nclass Digits(turnpike.Model):\n    def predict(self, x): return x\n"


class FirstMinutes(NativeCase):
    def place(self, files):
        folder = self.folder_for("place")
        for name, text in files.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return folder

    def up_in(self, folder, *arguments):
        """Runs `turnpike up` in this folder, where it must end by itself."""
        return subprocess.run([TURNPIKE, "up", *arguments, "--port", "0"], env=self.env, cwd=folder, stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, timeout=DEADLINE_S)

    def output_when_none_serves(self, model, **pool):
        gate = self.serve(model, is_ready=False, pool={"crash_limit": 2, **pool})
        wait_until(lambda: "no lane serves" in gate.process.output(), "`up` says that no lane serves")
        return gate, gate.process.output()

    def test_a_model_in_a_package(self):
        folder = self.place({"shop/__init__.py": "", "shop/net.py": "WORD = 'net'\n",
                             "shop/model.py": "from .net import WORD\ndef predict(x): return __name__ + ' ' + WORD\n"})
        self.assertEqual(self.serve(folder / "shop" / "model.py").post(1).body, b"shop.model net")

    def test_a_missing_package_is_reported_once_with_what_to_do(self):
        folder = self.place({"model.py": "import nowhere_at_all\n" + MODEL})
        gate, said = self.output_when_none_serves(folder / "model.py", lanes=2)
        self.assertIn(f"exit code 1: ModuleNotFoundError: No module named 'nowhere_at_all' ({folder.name}/model.py, line 1): "
                      f"install it for {PYTHON}", said)
        self.assertLessEqual(said.count("died"), 2, "at most one report for each lane")
        self.assertEqual(said.count("; see: turnpike logs"), 0, "the last line says what to do")
        self.assertRegex(said, r"no lane serves: .*; when that is fixed: turnpike reload")
        self.assertIn("No module named", self.order(gate, "status"))

    def test_a_repaired_model_serves_after_a_restart(self):
        folder = self.place({"model.py": MODEL.replace("predict(self, x)", "predict(x)")})
        gate, said = self.output_when_none_serves(folder / "model.py")
        self.assertIn("predict(x) of Digits must be predict(self, x)", said)
        (folder / "model.py").write_text(MODEL)
        self.order(gate, "restart", "all")
        gate.wait_ready()
        self.assertEqual(gate.post([1]).json(), [1])

    def test_prove_says_that_no_lane_is_up_before_the_model_has_loaded(self):
        folder = self.place({})
        (folder / "model.py").write_text(
            "import os, time, turnpike\nclass M(turnpike.Model):\n    example = 1\n    def predict(self, x): return x\n"
            f"    def load(self, lane):\n        while not os.path.exists({str(folder / 'go')!r}): time.sleep(0.01)\n")
        gate = self.serve(folder / "model.py", is_ready=False)
        done = subprocess.run([TURNPIKE, "prove", "--name", gate.name], env=self.env, capture_output=True, text=True, timeout=DEADLINE_S)
        (folder / "go").touch()
        self.assertEqual(done.returncode, 1, done)
        self.assertIn("no lane is up yet", done.stderr)
        gate.wait_ready()

    def test_a_script_that_ends_itself(self):
        folder = self.place({"model.py": "print('trained')\nimport sys\nsys.exit()\n"})
        _, said = self.output_when_none_serves(folder / "model.py")
        self.assertIn("exit code 1: model.py ended itself while it was imported: sys.exit()", said)

    def test_a_model_that_does_not_exist_is_reported_with_a_hint(self):
        folder = self.place({"digits.py": MODEL, "sub/net.py": MODEL, "digits.ipynb": "{}"})
        for said, asked in (("digits", "did you mean digits.py?"), ("digits:Digits", "did you mean digits.py:Digits?"),
                            ("digist.py", f"did you mean {folder}/digits.py?"), ("sub", "did you mean sub/net.py?"),
                            ("digits.ipynb", "is a notebook"), (None, "did you mean digits.py?")):
            with self.subTest(said):
                done = self.up_in(folder, *([said] if said else []))
                self.assertEqual(done.returncode, 2, done)
                self.assertIn(asked, done.stderr)

    def test_a_virtual_environment_by_its_folder_and_one_that_is_broken(self):
        folder = self.place({"model.py": "import sys\ndef predict(x): return sys.prefix\n"})
        subprocess.run([PYTHON, "-m", "venv", "--without-pip", folder / ".venv"], check=True)
        gate = self.serve(folder / "model.py", pool={"python": str(folder / ".venv")})
        self.assertEqual(gate.post(1).body.decode(), str(folder / ".venv"))
        for python in (folder / ".venv" / "bin").glob("python*"):
            python.unlink()
        done = self.command("check", str(folder / "model.py"), "--gpus", "none")
        self.assertIn(".venv beside the model has no Python", done.stdout)


if __name__ == "__main__":
    unittest.main()
