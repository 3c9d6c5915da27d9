"""The parts of examples/transformers, and a model from a folder, without a gate; transformers is a fake."""
import json
import os
import sys
import tempfile
import threading
import traceback
import unittest
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from unittest import mock

from transformers_fake import EXAMPLE, FAKE, HELLO, ROOT

sys.path[:0] = [str(ROOT / "sdk/python"), str(EXAMPLE), str(FAKE)]
import generation  # noqa: E402
import model  # noqa: E402
import torch  # noqa: E402
import transformers  # noqa: E402
import turnpike.testing  # noqa: E402
import request_parameters  # noqa: E402
import words  # noqa: E402


def generating():
    """Returns the idents of the threads that are in generate() now."""
    return [ident for ident, frame in sys._current_frames().items()
            if any(found.f_code is generation.Generation._generate.__code__ for found, _ in traceback.walk_stack(frame))]


class Words(unittest.TestCase):
    def grow(self, data):
        decoder = words.TextDecoder(words.ByteTokenizer())
        return [decoder.take([byte]) for byte in data] + [decoder.rest()]

    def test_a_character_waits_until_it_is_complete(self):
        self.assertEqual(self.grow("aé€".encode()), ["a", "", "é", "", "", "€", ""])

    def test_what_never_becomes_a_character_is_shown_all_the_same(self):
        self.assertEqual(self.grow(b"a\xe2"), ["a", "", "\ufffd"])
        self.assertTrue("".join(self.grow(b"\xff" * 20)[:-1]))

    def test_the_pieces_are_the_text(self):
        text = "Zwölf Boxkämpfer — 十二, 😀😀 fin\n"
        self.assertEqual("".join(self.grow(text.encode())), text)

    def test_a_blank_that_depends_on_the_word_before_is_kept(self):
        class Blanks:
            def decode(self, ids, skip_special_tokens):
                return " ".join("word" for _ in ids)
        decoder = words.TextDecoder(Blanks())
        self.assertEqual([decoder.take([1]), decoder.take([1]), decoder.take([1])], ["word", " word", " word"])


class Generation(unittest.TestCase):
    def setUp(self):
        self.model = transformers.FakeModel(transformers.LlamaConfig(vocab_size=256))
        self.ids = torch.tensor([[1, 2, 3]])

    def run_of(self, tokens):
        return generation.Generation(self.model, self.ids, request_parameters.Parameters("x", tokens))

    def test_gives_as_many_tokens_as_asked_for_and_ends(self):
        found = list(self.run_of(5).tokens())
        self.assertEqual([len(ids) for ids in found], [1] * 5)
        self.assertEqual(generating(), [])

    def test_one_job_after_another_is_generated_in_one_thread(self):
        seen = set()
        for _ in range(3):
            steps = self.run_of(4000).tokens()
            next(steps)
            seen.update(generating())
            steps.close()
        self.assertEqual(len(seen), 1)

    def test_jobs_of_other_threads_do_not_wait_for_it(self):
        with closing(self.run_of(4000).tokens()) as steps, ThreadPoolExecutor(1) as other:
            next(steps)
            self.assertEqual(len(other.submit(lambda: list(self.run_of(5).tokens())).result(60)), 5)
            self.assertEqual(len(generating()), 1)

    def test_leaving_early_leaves_nothing_running(self):
        run = self.run_of(4000)
        with closing(run.tokens()) as steps:
            next(steps)
            self.assertEqual(len(generating()), 1)
        self.assertEqual(generating(), [])
        self.assertLess(run.count(), 2000)

    def test_what_generate_raises_is_raised_here(self):
        for error in (torch.cuda.OutOfMemoryError("CUDA out of memory."), SystemExit(3), KeyError("x")):
            self.model.generate = mock.Mock(side_effect=error)
            with self.assertRaises(type(error)) as raised:
                list(self.run_of(5).tokens())
            self.assertIs(raised.exception, error)
            self.assertEqual(generating(), [])

    def test_an_error_that_comes_while_the_caller_leaves_is_not_lost(self):
        def generate(streamer, **_):
            streamer.put(self.ids)
            streamer.put(self.ids)
            left.wait(10)
            raise RuntimeError("CUDA error: device-side assert triggered")

        left = threading.Event()
        self.model.generate = generate
        steps = self.run_of(5).tokens()
        next(steps)
        left.set()
        with self.assertRaisesRegex(RuntimeError, "device-side assert"):
            steps.close()

    def test_only_random_sampling_has_a_temperature(self):
        self.assertEqual(generation.generate_options(request_parameters.Parameters("x", 5, 0)), {"max_new_tokens": 5, "do_sample": False})
        self.assertEqual(generation.generate_options(request_parameters.Parameters("x", 5, 0.5)), {"max_new_tokens": 5, "do_sample": True, "temperature": 0.5})


class Folder(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = Path(folder.name)
        (self.path / "config.json").write_text(json.dumps({"vocab_size": 53, "max_position_embeddings": 64, "alphabet":
                                                           "\0abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"}))

    def test_a_model_from_a_folder_uses_its_own_tokenizer(self):
        with mock.patch.dict(os.environ, MODEL=str(self.path)), turnpike.testing.serve(model.Text) as served:
            text = served.predict(HELLO)
            self.assertTrue(text.isalpha() and len(text) <= 20, text)
            self.assertEqual(served.model.facts["model"], str(self.path))
            with self.assertRaisesRegex(turnpike.BadInput, "65"):  # its first token is not part of the client's prompt
                served.predict({**HELLO, "prompt": "a" * 64, "max_new_tokens": 1})
            asked = {"messages": [{"role": "user", "content": "Hello"}], "max_tokens": 20, "temperature": 0}
            chat = served.post("/v1/chat/completions", json.dumps(asked).encode()).json()
            self.assertEqual(chat["choices"][0]["message"]["content"], text)

    def test_a_missing_model_and_an_unknown_size_fail_while_loading(self):
        with mock.patch.dict(os.environ, MODEL="no/such"), self.assertRaisesRegex(OSError, "no/such"):
            turnpike.testing.serve(model.Text).__enter__()
        with mock.patch.dict(os.environ, SIZE="huge"), self.assertRaisesRegex(ValueError, "tiny, 0.7b"):
            turnpike.testing.serve(model.Text).__enter__()


if __name__ == "__main__":
    unittest.main()
