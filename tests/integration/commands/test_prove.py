"""Tests `turnpike prove`: it records the answers of a healthy pool beside the model, and later wrong answers are found."""
import json
import unittest

from harness import wait_until
from native_case import NativeCase

# The model reads its answer from a file at each start, so that a test can change it.
DIGIT = '''
class Digit(turnpike.Model):
    example = {"pixels": [0, 1]}

    def load(self, lane):
        self.answer = open(os.path.join(os.path.dirname(__file__), "answer")).read()
        if os.environ["TURNPIKE_LANE"] == self.answer[2:]:
            self.answer = "1"

    def predict(self, task):
        return {"digit": int(self.answer[0]), "scores": [0.25, 0.5]}
'''

CHECKED = '''
class Checked(turnpike.Model):
    example = [1]

    def predict(self, task):
        return {"sum": 1}

    def check(self, answer):
        return True
'''


class ProveCase(NativeCase):
    def digit(self, answer="7", lanes=3, model=DIGIT, is_ready=True, **parts):
        """Starts a gate with this answer. Returns the gate and the model's folder."""
        path = self.model(model)
        (path.parent / "answer").write_text(answer)
        return self.serve_again(path, lanes, is_ready, **parts), path.parent

    def serve_again(self, path, lanes=3, is_ready=True, **parts):
        return self.serve(path, pool={"lanes": lanes}, is_ready=is_ready, **parts)

    def prove(self, gate, *words, code=0):
        done = self.command("prove", *words, "--name", gate.name)
        self.assertEqual(done.returncode, code, done)
        return done.stdout + done.stderr

    def recording(self, folder):
        return json.loads((folder / "model.proof.json").read_text())


class Recording(ProveCase):
    def test_answers_are_shown_once_and_recorded(self):
        gate, folder = self.digit()
        text = self.prove(gate)
        for words in ("POST /predict", "lanes 0, 1, 2 answer 200", '"digit": 7',
                      f"recorded in {folder}/model.proof.json"):
            self.assertIn(words, text)
        recorded = self.recording(folder)
        self.assertEqual(recorded["version"], 1)
        self.assertEqual(recorded["request"]["json"], {"pixels": [0, 1]})
        self.assertEqual(recorded["answer"]["json"], {"digit": 7, "scores": [0.25, 0.5]})
        self.assertEqual((recorded["answer"]["status"], recorded["request"]["path"]), (200, "/predict"))
        before = (folder / "model.proof.json").stat().st_mtime_ns
        self.assertIn("the same as recorded in", self.prove(gate))
        self.assertEqual((folder / "model.proof.json").stat().st_mtime_ns, before)
        self.assertEqual({lane["proof"]["by"] for lane in gate.status()["lanes"]}, {"recording"})

    def test_with_no_record_answers_are_shown_and_not_recorded(self):
        gate, folder = self.digit(lanes=1)
        page = json.loads(self.prove(gate, "--no-record", "--json"))
        self.assertEqual(page["answers"][0]["json"]["digit"], 7)
        self.assertEqual((page["recorded"], page["by"]), (False, "example"))
        self.assertFalse((folder / "model.proof.json").exists())

    def test_a_wrong_answer_after_a_restart_is_quarantined_and_named(self):
        gate, folder = self.digit(lanes=1)
        self.prove(gate)
        self.stop(gate)
        (folder / "answer").write_text("3")
        gate = self.serve_again(folder / "model.py", 1, is_ready=False)
        lane = wait_until(lambda: gate.lane(0)["state"] == "quarantined" and gate.lane(0), "the lane is quarantined")
        difference = ".digit: 3 here, 7 expected (model.proof.json)"
        self.assertIn(difference, lane["trouble"])
        wait_until(lambda: difference in gate.process.output(), "`up` names the difference")
        self.assertIn("nothing recorded: lane 0 does not serve", self.prove(gate, code=1))

    def test_a_changed_example_makes_the_recording_outdated(self):
        gate, folder = self.digit(lanes=1)
        self.prove(gate)
        self.stop(gate)
        model = folder / "model.py"
        model.write_text(model.read_text().replace("[0, 1]", "[1, 1]"))
        gate = self.serve_again(model, 1)
        self.assertIn("outdated", gate.lane(0)["remark"])
        self.assertIn("example has changed", self.prove(gate, code=1))
        self.assertIn("replaced the recorded answer", self.prove(gate, "--accept"))
        self.assertEqual(self.recording(folder)["request"]["json"], {"pixels": [1, 1]})

    def test_a_recording_that_cant_be_read_is_a_failed_proof(self):
        path = self.model(DIGIT)
        (path.parent / "answer").write_text("7")
        (path.parent / "model.proof.json").write_text("{")
        gate = self.serve_again(path, 1, is_ready=False)
        wait_until(lambda: "not valid JSON" in (gate.lane(0)["trouble"] or ""), "the lane's trouble gives the reason")

    def test_lanes_that_differ_are_named_and_nothing_is_recorded(self):
        gate, folder = self.digit("7 2")
        text = self.prove(gate, code=1)
        self.assertIn("lane 2 answers .digit = 1; lanes 0, 1 answer 7", text)
        self.assertIn("nothing recorded: the lanes answer differently", text)
        self.assertFalse((folder / "model.proof.json").exists())


class OtherProofs(ProveCase):
    def test_a_lane_that_disagrees_with_the_others_is_named_with_the_first_difference(self):
        gate, _ = self.digit("7 2", is_ready=False,
                             sections={"pool.default.proof": {
                                 "request": "POST /predict", "body": "{}", "agree": True}})
        lane = wait_until(lambda: gate.lane(2)["state"] == "quarantined" and gate.lane(2), "the lane is quarantined")
        difference = "answers .digit = 1; lanes 0, 1 answer 7"
        self.assertIn(difference, lane["trouble"])
        wait_until(lambda: difference in gate.process.output(), "`up` names the difference")

    def test_prove_says_that_the_models_own_check_passed(self):
        path = self.model(CHECKED)
        gate = self.serve_again(path, 1)
        self.assertIn("passed by the model's own check", self.prove(gate, "--no-record"))
        self.assertEqual(gate.lane(0)["proof"]["by"], "check")

    def test_a_model_without_an_example_says_what_to_do(self):
        path = self.model("def predict(task):\n    return 1\n")
        gate = self.serve_again(path, 1)
        self.assertIn("give the model an `example`", self.prove(gate, code=1))


if __name__ == "__main__":
    unittest.main()
