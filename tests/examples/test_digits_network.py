"""The trained network: its promised accuracy, that training gives the same weights again, and that numpy changes nothing."""
import re
import struct
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import digits_data
from network import Network, read_safetensors

ACCURACY_MIN = 0.97


def accuracy(network, digits):
    probabilities = [network.probabilities(pixels) for pixels, _ in digits]
    return sum(found.index(max(found)) == digit for found, (_, digit) in zip(probabilities, digits)) / len(digits)


class Weights(unittest.TestCase):
    def test_read_the_digits_that_were_held_out(self):
        network = Network(digits_data.WEIGHTS)
        reached = accuracy(network, digits_data.held_out(digits_data.read()))
        self.assertGreaterEqual(reached, ACCURACY_MIN)
        self.assertEqual(network.metadata["accuracy"], f"{reached:.4f}", "the file says so itself")

    def test_are_small(self):
        self.assertLess(digits_data.WEIGHTS.stat().st_size, 64 * 1024)

    def test_give_the_same_with_and_without_numpy(self):
        pixels = [pixels for pixels, _ in digits_data.read()]
        with_numpy = Network(digits_data.WEIGHTS, with_numpy=True)
        without = Network(digits_data.WEIGHTS, with_numpy=False)
        both = [[network.probabilities(one) for one in pixels] for network in (with_numpy, without)]
        self.assertLess(digits_data.largest_difference(*both), 1e-5)
        self.assertLess(max(abs(sum(found) - 1) for found in both[1]), 1e-9)


class Training(unittest.TestCase):
    def test_from_nothing_reaches_what_is_promised_in_a_third_of_the_time(self):
        with tempfile.TemporaryDirectory() as folder:
            out = Path(folder) / "new.safetensors"
            done = subprocess.run([sys.executable, digits_data.EXAMPLE / "train.py", "--data", digits_data.data_file(),
                                   "--out", out, "--epochs", "50"], text=True, stdout=subprocess.PIPE, check=True)
            said = float(re.search(r"held-out accuracy: ([0-9.]+)% of 359", done.stdout)[1]) / 100
            reached = accuracy(Network(out), digits_data.held_out(digits_data.read()))
        self.assertGreaterEqual(said, ACCURACY_MIN)
        self.assertAlmostEqual(said, reached, places=4, msg="what it prints is true of the file")


class Reader(unittest.TestCase):
    def read(self, data):
        with tempfile.NamedTemporaryFile() as file:
            file.write(data)
            file.flush()
            return read_safetensors(file.name)

    def test_takes_what_it_should(self):
        header = b'{"__metadata__":{"a":"b"},"x":{"dtype":"F32","shape":[1,2],"data_offsets":[0,8]}}'
        tensors, metadata = self.read(struct.pack("<Q", len(header)) + header + struct.pack("<2f", 0.5, -2))
        self.assertEqual((tensors["x"][0], list(tensors["x"][1]), metadata), ([1, 2], [0.5, -2], {"a": "b"}))

    def test_refuses_what_is_cut_off_or_of_another_type(self):
        whole = digits_data.WEIGHTS.read_bytes()
        for broken in (b"", whole[:7], whole[:40], whole[:-1], whole[:-4], whole.replace(b"F32", b"F16")):
            with self.assertRaises((ValueError, struct.error)):
                self.read(broken)


unittest.main()
