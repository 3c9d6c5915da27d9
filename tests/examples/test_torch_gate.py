"""examples/torch behind the real gate: its proof, real batches, and one bad input among good ones."""
import json
import shutil
import unittest
from concurrent.futures import ThreadPoolExecutor

import digits_data
from client import Client
from harness import PYTHON, wait_until
from started_case import StartedCase
from torch_data import SEVEN, TORCH

EXAMPLE = json.loads(SEVEN.read_text())


class Gate(StartedCase):
    def up_folder(self, folder, lanes):
        return self.start(str(folder), "--gpus", "none", "--lanes", str(lanes), "--python", PYTHON)

    def test_waiting_jobs_are_read_together_and_a_bad_one_fails_alone(self):
        gate = self.up_folder(TORCH, lanes=2).wait_ready()
        self.assertEqual(gate.pool()["proof"], "passed")
        self.assertEqual({lane["batch"] for lane in gate.status()["lanes"]}, {16})

        def ask_many(own):
            """Sends many jobs, one after the other. Every fourth is bad input."""
            with Client(gate.port) as client:
                found = []
                for number, (pixels, _) in enumerate(own):
                    sent = pixels[1:] if number % 4 == 3 else pixels
                    client.request("POST", "/predict", json.dumps({"pixels": sent}).encode())
                    found.append(client.answer("POST"))
                return found
        digits = digits_data.read()[:768]
        with ThreadPoolExecutor(24) as threads:
            answers = list(threads.map(ask_many, [digits[start::24] for start in range(24)]))
        sizes, right, good = [], 0, 0
        for start, found in enumerate(answers):
            for number, (answer, (_, digit)) in enumerate(zip(found, digits[start::24], strict=True)):
                if number % 4 == 3:
                    self.assert_problem(answer, 400, "bad-input")
                    self.assertIn("this was a list of 63", answer.json()["detail"])
                else:
                    self.assertEqual(answer.status, 200, answer)
                    sizes.append(int(answer.header("batch-size")))
                    good += 1
                    right += answer.json()["digit"] == digit
        self.assertGreater(right / good, 0.97, "everybody got their own answer, not somebody else's")
        self.assertGreater(max(sizes), 1, "never were two read together")
        self.assertLessEqual(max(sizes), 16)
        self.assertEqual({lane["finished"] for lane in gate.status()["lanes"]} & {0}, set(), "both lanes worked")

    def test_a_lane_with_other_weights_never_serves(self):
        folder = self.folder_for("wrong")
        for path in TORCH.iterdir():
            if path.is_file():
                shutil.copy(path, folder)
        code = folder / "model.py"
        damage = "self.net.layers[-1].bias.data[7] -= 3"
        code.write_text(code.read_text().replace("self.net.to(", f"{damage}\n        self.net.to("))
        self.assertIn(damage, code.read_text())
        gate = self.up_folder(folder, lanes=1)
        wait_until(lambda: "proof" in (gate.lane(0)["trouble"] or ""), "the lane says that its proof failed", 60)
        self.assertNotIn(gate.lane(0)["state"], ("ready", "busy"))


if __name__ == "__main__":
    unittest.main()
