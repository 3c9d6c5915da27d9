"""The example's training: what it makes of text, that it learns, and that numpy computes what PyTorch does."""
import random
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import stream_data

try:
    import torch
except ImportError as missing:
    sys.exit(f"this test needs Debian's python3-torch: {missing}")
import numpy
import train
from network import Network

TEXT = "".join(f"# Lane {number}\n\nA lane is free, or it is busy. Job {number} waits for lane {number}.\n\n" for number in range(200))


class Text(unittest.TestCase):
    def test_is_sections_without_code_rules_and_links(self):
        text = "lost\n# One\n\n\n\nSee [the page](docs/x.md).\n\n```sh\n# no heading\n```\n## Empty\n\n### Two\n| a | b |\n|---|---|\n| 1 | 2 |\n"
        self.assertEqual(train.sections(text), ["## One\n\nSee the page.\n", "## Two\n\n| a | b |\n| 1 | 2 |\n"])

    def test_has_an_alphabet_without_rarities(self):
        alphabet = train.alphabet_of("abab" * 4 + "z")
        self.assertEqual(alphabet, "\0\ufffdab")
        self.assertEqual(train.numbered("bz\0", alphabet).tolist(), [3, 1, 0])

    def test_is_the_documentation(self):
        names = {path.name for path in train.documentation()}
        self.assertLessEqual({"README.md", "operations.md"}, names)


class Training(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(1)
        random.seed(1)
        torch.set_num_threads(1)

    def test_learns(self):
        parts = train.sections(TEXT)
        alphabet = train.alphabet_of(TEXT)
        small = train.Babbler(len(alphabet), embedding=8, memory=24)
        network, losses = train.train(parts, alphabet, 30, small, rate=3e-2, say=lambda *_, **__: None)
        self.assertGreater(losses[0], 3)
        self.assertLess(losses[-1], losses[0] - 1)
        self.assertLess(train.held_out_loss(network, parts[:10], alphabet), losses[0] - 1)

    def test_says_what_is_too_little_text(self):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "short.md"
            path.write_text("# One\n\nword\n")
            done = subprocess.run([sys.executable, "-B", train.__file__, path, "--out", Path(folder) / "out"],
                                  capture_output=True, text=True)
            self.assertEqual(done.returncode, 1)
            self.assertIn("too little text", done.stderr)
            self.assertFalse((Path(folder) / "out").exists())


class Numpy(unittest.TestCase):
    def test_computes_what_pytorch_does_for_the_bundled_weights(self):
        network = Network(stream_data.WEIGHTS)
        theirs = self.as_torch(network)
        places = train.numbered("## Lanes\n\nA lane is one worker process on one GPU; a job waits until one is free.\n", network.alphabet)
        with torch.no_grad():
            wanted = theirs(places[None])[0][0].numpy()
        memory, found = network.blank(), []
        for place in places.tolist():
            memory = network.after(memory, place)
            found.append(network.scores(memory))
        self.assertLess(numpy.abs(numpy.array(found) - wanted).max(), 1e-3)

    def as_torch(self, network):
        from network import read_safetensors
        tensors, _ = read_safetensors(stream_data.WEIGHTS)
        theirs = train.Babbler(len(network.alphabet))
        theirs.load_state_dict({name: torch.tensor(tensor) for name, tensor in tensors.items()})
        return theirs.eval()

    def test_reads_what_training_writes(self):
        small = train.Babbler(5, embedding=3, memory=4).eval()
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "small.safetensors"
            train.write_safetensors(path, small.state_dict(), {"alphabet": "\0\ufffdabc"})
            network = Network(path)
        memory = network.blank()
        for place in (0, 2, 3, 4):
            memory = network.after(memory, place)
        with torch.no_grad():
            wanted = small(torch.tensor([[0, 2, 3, 4]]))[0][0, -1].numpy()
        self.assertLess(numpy.abs(network.scores(memory) - wanted).max(), 5e-3, "float16 keeps three digits")

    def test_the_bundled_weights_are_small_and_good(self):
        self.assertLess(stream_data.WEIGHTS.stat().st_size, 1_500_000)
        self.assertLess(float(Network(stream_data.WEIGHTS).metadata["loss"]), 2.0)


if __name__ == "__main__":
    unittest.main()
