"""examples/torch without a gate: what it reads, alone and in a batch, what it says to bad input, and its training."""
import json
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import digits_data
import torch_data
import turnpike
import turnpike.testing
from test_digits_model import BAD
from torch_data import SEVEN, TORCH

MODEL = str(TORCH / "model.py")
EXAMPLE = json.loads(SEVEN.read_text())
CLOSE = 1e-4  # kernels for one input and for many add in a different order


class Served(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        sys.modules.pop("model", None)  # the model of examples/digits, which digits_data imported
        cls.model = cls.enterClassContext(turnpike.testing.serve(MODEL))

    def test_reads_its_example_as_the_other_examples_do(self):
        answer = self.model.predict(EXAMPLE)
        self.assertEqual(answer["digit"], 7)
        self.assertGreater(answer["confidence"], 0.9)
        self.assertEqual(answer["confidence"], max(answer["scores"]))
        self.assertAlmostEqual(sum(answer["scores"]), 1, places=5)
        self.assertEqual(self.model.predict(EXAMPLE["pixels"]), answer, "a bare list is as good")

    def test_its_own_example_is_that_of_examples_digits(self):
        self.assertEqual(self.model.model.example, EXAMPLE)

    def test_reads_the_held_out_digits(self):
        digits = digits_data.held_out(digits_data.read())
        found = self.model.model.read([pixels for pixels, _ in digits])
        reached = sum(one.index(max(one)) == digit for one, (_, digit) in zip(found, digits)) / len(digits)
        self.assertGreaterEqual(reached, 0.985)
        self.assertEqual(self.model.model.facts["accuracy"], f"{reached:.4f}", "the file says so itself")

    def test_a_batch_gets_the_answers_that_each_would_get_alone(self):
        pictures = [pixels for pixels, _ in digits_data.read()[:16]]
        together = self.model.predict_all(pictures)
        alone = [self.model.predict(pixels) for pixels in pictures]
        scores = [[answer["scores"] for answer in answers] for answers in (together, alone)]
        self.assertLess(digits_data.largest_difference(*scores), CLOSE)
        self.assertGreater(len({answer["digit"] for answer in together}), 5, "and they are not all one answer")

    def test_one_bad_input_of_a_batch_fails_alone_and_the_others_keep_their_order(self):
        xs = [EXAMPLE, [0] * 63, digits_data.read()[0][0], None]
        seven, short, zero, nothing = self.model.predict_all(xs)
        self.assertEqual((seven["digit"], zero["digit"]), (7, 0))
        self.assertIsInstance(short, turnpike.BadInput)
        self.assertIn("a list of 63", str(short))
        self.assertIsInstance(nothing, turnpike.BadInput)

    def test_a_batch_of_nothing_but_bad_input_is_told_so(self):
        for found in self.model.predict_all([None, [], {"pixels": [17] * 64}]):
            self.assertIsInstance(found, turnpike.BadInput)

    def test_says_what_to_send_in_the_words_of_examples_digits(self):
        for x, words in BAD:
            with self.subTest(x=str(x)[:80]), self.assertRaisesRegex(turnpike.BadInput, words):
                self.model.predict(x)


class Files(unittest.TestCase):
    def test_the_weights_are_small_and_hold_nothing_but_numbers_and_text(self):
        self.assertLess((TORCH / "reader.pt").stat().st_size, 500_000)
        saved = torch_data.torch.load(TORCH / "reader.pt", weights_only=True)
        self.assertEqual(set(saved), {"accuracy", "weights"})

    def test_training_learns(self):
        with tempfile.TemporaryDirectory() as folder:
            out = Path(folder) / "new.pt"
            done = subprocess.run([sys.executable, "-B", TORCH / "train.py", "--data", torch_data.data_file(),
                                   "--out", out, "--epochs", "3"], text=True, stdout=subprocess.PIPE, check=True)
            losses = [float(loss) for loss in re.findall(r"loss ([0-9.]+)", done.stdout)]
            saved = torch_data.torch.load(out, weights_only=True)
        self.assertEqual(len(losses), 3)
        self.assertLess(losses[2], 0.7 * losses[0], done.stdout)
        self.assertGreater(float(saved["accuracy"]), 0.6, done.stdout)


if __name__ == "__main__":
    unittest.main()
