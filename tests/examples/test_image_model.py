"""examples/image without a gate: what it draws, that examples/digits can read it, what it says to bad input, and its training."""
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
from network import Network  # of examples/digits; it reads the drawn digits
from png_reader import read_png
from torch_data import IMAGE

MODEL = str(IMAGE / "model.py")
BAD = [
    (None, "Send an object such as"), (7, "Send an object such as"), ([7], "Send an object such as"),
    ({"digit": 10}, "digit must be a whole number from 0 to 9"), ({"digit": -1}, "digit must be a whole number"),
    ({"digit": "7"}, "digit must be a whole number"), ({"digit": 7.0}, "digit must be a whole number"),
    ({"digit": True}, "digit must be a whole number"), ({"digit": [7]}, "digit must be a whole number"),
    ({"steps": 0}, "steps must be a whole number from 1 to 1000"), ({"steps": 1001}, "steps must be a whole number"),
    ({"count": 0}, "count must be a whole number from 1 to 64"), ({"count": 65}, "count must be a whole number"),
    ({"size": 7}, "size must be a whole number from 8 to 256"), ({"size": 10**30}, "size must be a whole number"),
    ({"seed": -1}, "seed must be a whole number"), ({"seed": 2**63}, "seed must be a whole number"),
    ({"as": "jpeg"}, 'as must be "png" or "numbers"'), ({"as": []}, 'as must be "png" or "numbers"'),
    ({"digits": 7}, "There is no parameter 'digits'; there are digit, count, steps, seed, size and as"),
]


class Served(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.model = cls.enterClassContext(turnpike.testing.serve(MODEL))

    def draw(self, **parameters):
        return self.model.predict({"steps": 3, **parameters})

    def test_answers_with_a_png_of_the_size_that_was_asked_for(self):
        answer = self.model.post("/predict", b'{"digit": 7, "count": 5, "steps": 10, "size": 20}')
        self.assertEqual(answer.headers["content-type"], "image/png")
        rows = read_png(answer.body)
        self.assertEqual((len(rows), len(rows[0])), (40, 60), "3 columns, 2 rows")
        empty = {pixel for row in rows[20:] for pixel in row[40:]}
        self.assertEqual(empty, {255}, "the sixth place stays paper")
        for row, column in ((0, 0), (0, 20), (0, 40), (20, 0), (20, 20)):
            cell = [pixel for line in rows[row:row + 20] for pixel in line[column:column + 20]]
            self.assertLess(min(cell), 40, "there is ink")
            self.assertGreater(max(cell), 215, "and paper")

    def test_draws_what_another_network_reads(self):
        reader = Network(digits_data.WEIGHTS)
        drawn = self.draw(count=40, steps=15, seed=3, **{"as": "numbers"})["pictures"]
        self.assertEqual([one["digit"] for one in drawn], list(range(10)) * 4)
        read = [max(range(10), key=reader.probabilities(one["pixels"]).__getitem__) for one in drawn]
        right = sum(one["digit"] == digit for one, digit in zip(drawn, read))
        self.assertGreaterEqual(right, 34, f"asked 0 to 9 four times, read {read}")
        self.assertEqual(len({tuple(one["pixels"]) for one in drawn}), 40, "no two are alike")

    def test_numbers_are_from_paper_to_ink(self):
        [one] = self.draw(digit=3, count=1, **{"as": "numbers"})["pictures"]
        self.assertEqual((one["digit"], len(one["pixels"])), (3, 64))
        self.assertTrue(all(0 <= pixel <= 16 for pixel in one["pixels"]))

    def test_a_seed_gives_its_picture_again_and_another_seed_another(self):
        first = self.draw(seed=1)
        self.assertEqual(self.draw(seed=1), first)
        self.assertNotEqual(self.draw(seed=2), first)
        self.assertNotEqual(self.draw(seed=1, steps=4), first)

    def test_null_means_the_default(self):
        self.assertEqual(self.draw(digit=None, seed=None, size=None), self.draw())

    def test_says_which_parameters_there_are(self):
        for x, words in BAD:
            with self.subTest(x=str(x)[:80]), self.assertRaisesRegex(turnpike.BadInput, words):
                self.model.predict(x)


class Damaged(unittest.TestCase):
    def test_a_picture_with_nan_fails(self):
        with turnpike.testing.serve(MODEL) as model:
            model.model.net.enter.bias.data[0] = float("nan")
            with self.assertRaises(turnpike.testing.JobFailed) as failed:
                model.predict({"steps": 2})
        self.assertEqual(failed.exception.why, "non-finite")


class Reader(unittest.TestCase):
    def test_finds_damage(self):
        sys.path.insert(0, str(IMAGE))
        import png
        whole = png.grey([bytes([0, 128, 255]), bytes([1, 2, 3])])
        self.assertEqual(read_png(whole), [[0, 128, 255], [1, 2, 3]])
        for broken in (whole[:-1], whole[:20] + b"\x01" + whole[21:], whole[1:], whole[:-12]):
            with self.assertRaises(Exception):
                read_png(broken)


class Files(unittest.TestCase):
    def test_the_weights_are_small_and_hold_nothing_but_numbers(self):
        self.assertLess((IMAGE / "denoiser.pt").stat().st_size, 1_500_000)
        torch_data.torch.load(IMAGE / "denoiser.pt", weights_only=True)

    def test_training_learns(self):
        with tempfile.TemporaryDirectory() as folder:
            out = Path(folder) / "new.pt"
            done = subprocess.run([sys.executable, "-B", IMAGE / "train.py", "--data", torch_data.data_file(),
                                   "--out", out, "--steps", "12"], text=True, stdout=subprocess.PIPE, check=True)
            losses = [float(loss) for loss in re.findall(r"loss ([0-9.]+)", done.stdout)]
            torch_data.torch.load(out, weights_only=True)
        self.assertEqual(len(losses), 4)
        self.assertLess(losses[3], 0.9 * losses[0], done.stdout)


if __name__ == "__main__":
    unittest.main()
