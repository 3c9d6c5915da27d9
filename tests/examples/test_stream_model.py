"""The example's model without a gate: what it writes, OpenAI's shapes, what it says to bad input, and its page."""
import json
import re
import unittest

import stream_data
import turnpike
import turnpike.testing
from model import HERE, PAGE, Babble
from network import END, UNKNOWN, Network
from stream_data import BAD, chat, events, text_of
from writer import Parameters, Writing, keep_top_p, split_at_stop

network = Network(stream_data.WEIGHTS)


def written(prompt="A lane is", **parameters):
    return "".join(Writing(network, Parameters((prompt,), **{"max_tokens": 60, "seed": 1, **parameters})))


class Writes(unittest.TestCase):
    def test_the_same_for_the_same_seed_and_else_something_new(self):
        self.assertEqual(written(), written())
        self.assertEqual(len({written(seed=seed) for seed in range(5)}), 5)
        self.assertNotEqual(written(seed=None, temperature=1.5), written(seed=None, temperature=1.5))

    def test_mostly_words_of_the_documentation(self):
        texts = [path.read_text() for where in ("*.md", "docs/**/*.md", "sdk/**/*.md") for path in stream_data.ROOT.glob(where)]
        words = set(re.findall(r"[a-z]{2,}", " ".join(texts).lower()))
        found = re.findall(r"[a-z]{2,}", written(max_tokens=1000, prompt="## Lanes\n\n", ignore_eos=True).lower())
        self.assertGreater(len(found), 20)
        self.assertGreater(sum(word in words for word in found) / len(found), 0.6)

    def test_the_likeliest_text_at_temperature_0_for_any_seed(self):
        self.assertEqual(written(temperature=0, seed=1), written(temperature=0, seed=2))
        for cold in ({"top_p": 0}, {"temperature": 5e-324}, {"temperature": 1e-46}, {"temperature": 0.0011}):
            self.assertEqual(written(temperature=0), written(**cold), cold)

    def test_at_most_what_was_asked_for_and_says_why_it_ended(self):
        for size in (1, 2, 30):
            writing = Writing(network, Parameters(("A lane is",), max_tokens=size, seed=1))
            self.assertEqual(len("".join(writing)), size)
            self.assertEqual((writing.reason, writing.written, writing.read), ("length", size, 10))
        writing = Writing(network, Parameters(("A lane is",), max_tokens=1_000_000, temperature=1, seed=1))
        text = "".join(writing)
        self.assertEqual(writing.reason, "stop")
        self.assertNotIn(network.alphabet[END], text)

    def test_without_end_if_ignore_eos_is_set(self):
        writing = Writing(network, Parameters(("A lane is",), max_tokens=5000, seed=1, ignore_eos=True))
        self.assertEqual((len("".join(writing)), writing.reason), (5000, "length"))

    def test_never_a_stop_nor_what_follows(self):
        text = written(max_tokens=200)
        for stop in (text[50:55], text[0], text[100:103]):
            at = text.index(stop)
            writing = Writing(network, Parameters(("A lane is",), max_tokens=200, seed=1, stop=("never this", stop)))
            self.assertEqual("".join(writing), text[:at])
            self.assertEqual((writing.reason, writing.written), ("stop", at + len(stop)))

    def test_no_character_that_it_does_not_know(self):
        text = written(prompt="\u4f60\u597d \0 \ufffd \ud800", temperature=2.0, max_tokens=500)
        self.assertNotIn(network.alphabet[UNKNOWN], text)

    def test_something_even_if_the_prompt_is_a_whole_section(self):
        for seed in range(20):
            self.assertTrue(written(prompt="## Lanes\n\nA lane.\n", seed=seed))

    def test_reads_only_the_end_of_a_long_prompt(self):
        self.assertEqual(written("y" * 5000 + "x" * 2000), written("x" * 2000))

    def test_no_further_once_no_client_waits(self):
        def look():
            self.looked += 1
            if self.looked > 15:
                raise InterruptedError
        self.looked = 0
        writing = Writing(network, Parameters(("A lane is",)), look)
        with self.assertRaises(InterruptedError):
            "".join(writing)
        self.assertEqual((writing.read, writing.written), (10, 5))


class Sifting(unittest.TestCase):
    def test_shows_at_once_what_cannot_be_part_of_a_stop(self):
        for text, stops, wanted in [
                ("abc", (), ("abc", "", False)), ("abc", ("x",), ("abc", "", False)), ("abc", ("cd",), ("ab", "c", False)),
                ("abcd", ("cd",), ("ab", "", True)), ("aab", ("aac", "bb"), ("aa", "b", False)),
                ("abab", ("ababc", "bac"), ("", "abab", False)), ("xyz", ("z", "yz"), ("x", "", True))]:
            self.assertEqual(split_at_stop(text, stops), wanted)

    def test_loses_nothing_piece_by_piece(self):
        text, shown, held = "aabaabaaac", "", ""
        for character in text:
            piece, held, is_over = split_at_stop(held + character, ("aabaac", "aaaa"))
            self.assertFalse(is_over)
            shown += piece
        self.assertEqual(shown + held, text)

    def test_top_p_keeps_the_order_of_places(self):
        import numpy
        shares = numpy.array([0.1, 0.5, 0.15, 0.25])
        for part, kept in [(0, [0, 0.5, 0, 0]), (0.5, [0, 0.5, 0, 0]), (0.6, [0, 0.5, 0, 0.25]), (0.95, list(shares))]:
            self.assertEqual(keep_top_p(shares, part).tolist(), kept)


class Served(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.model = cls.enterClassContext(turnpike.testing.serve(Babble))

    def ask(self, body, path="/v1/chat/completions"):
        return self.model.post(path, body if isinstance(body, bytes) else json.dumps(body).encode())


class Chat(Served):
    def test_whole_and_in_pieces_are_the_same_text(self):
        whole = self.ask(chat()).json()
        pieces = events(self.ask(chat(stream=True)).body)
        self.assertEqual(text_of(pieces), whole["choices"][0]["message"]["content"])
        self.assertEqual(len({piece["id"] for piece in pieces}), 1)
        self.assertEqual({piece["object"] for piece in pieces}, {"chat.completion.chunk"})
        self.assertGreater(len(pieces), 50, "a piece for each character, almost")

    def test_a_whole_answer_has_all_that_openai_promises(self):
        answer = self.ask(chat()).json()
        self.assertEqual(set(answer), {"id", "object", "created", "model", "system_fingerprint", "choices", "usage"})
        self.assertTrue(answer["id"].startswith("chatcmpl-"))
        [choice] = answer["choices"]
        self.assertEqual((choice["index"], choice["logprobs"], choice["finish_reason"]), (0, None, "length"))
        self.assertEqual(answer["usage"], {"prompt_tokens": 21, "completion_tokens": 60, "total_tokens": 81})

    def test_a_stream_begins_with_the_role_and_ends_with_the_reason(self):
        first, *middle, last = events(self.ask(chat(stream=True)).body)
        self.assertEqual(first["choices"][0]["delta"], {"role": "assistant", "content": ""})
        self.assertEqual({tuple(piece["choices"][0]["delta"]) for piece in middle}, {("content",)})
        self.assertEqual({piece["choices"][0]["finish_reason"] for piece in (first, *middle)}, {None})
        self.assertEqual((last["choices"][0]["delta"], last["choices"][0]["finish_reason"]), ({}, "length"))
        self.assertNotIn("usage", last)

    def test_a_stream_tells_the_usage_if_asked(self):
        *pieces, last = events(self.ask(chat(stream=True, stream_options={"include_usage": True})).body)
        self.assertEqual({piece["usage"] for piece in pieces}, {None})
        self.assertEqual((last["choices"], last["usage"]["completion_tokens"]), ([], 60))

    def test_takes_every_role_parts_and_both_names_of_the_limit(self):
        body = chat(messages=[
            {"role": "system", "content": "Be brief."}, {"role": "developer", "content": ""},
            {"role": "user", "content": [{"type": "text", "text": "Lan"}, {"type": "text", "text": "es"}]},
            {"role": "assistant", "content": None, "tool_calls": []}, {"role": "tool", "content": "4"},
            {"role": "assistant", "content": "A lane is"}], max_tokens=None, max_completion_tokens=7)
        answer = self.ask(body).json()
        self.assertEqual(answer["usage"]["completion_tokens"], 7)

    def test_ignores_what_changes_nothing(self):
        extra = {"user": "me", "tools": [], "tool_choice": "auto", "n": 1, "logprobs": False, "store": None, "stop": None,
                 "presence_penalty": 0.5, "response_format": {"type": "text"}, "metadata": {}}
        self.assertEqual(self.ask(chat(**extra)).status, 200)

    def test_says_no_as_openai_would(self):
        for wrong, status, param, code in BAD:
            with self.subTest(wrong=str(wrong)[:80]):
                answer = self.ask(chat(**wrong))
                error = answer.json()["error"]
                self.assertEqual((answer.status, error["param"], error["code"]), (status, param, code), error)
                self.assertEqual((set(error), error["type"]), ({"message", "type", "param", "code"}, "invalid_request_error"))
        for body in (b"", b"{", b"[]", b"\xff", b'"x"', b'{"model": "babble", "temperature": NaN}'):
            answer = self.ask(body)
            self.assertEqual((answer.status, answer.json()["error"]["param"]), (400, None), body)

    def test_leaving_a_stream_frees_the_model(self):
        stream = self.model.stream("POST", "/v1/chat/completions", json.dumps(chat(stream=True, max_tokens=1_000_000)).encode())
        self.assertEqual(next(stream).headers["content-type"], "text/event-stream")
        next(stream)
        stream.close()
        self.assertEqual(self.ask(chat()).status, 200)


class OtherRoutes(Served):
    def test_plain_completions(self):
        body = {"model": "babble", "prompt": "A lane is", "seed": 1, "max_tokens": 20}
        whole = self.ask(body, "/v1/completions").json()
        pieces = events(self.ask({**body, "prompt": ["A lane is"], "stream": True}, "/v1/completions").body)
        self.assertEqual((whole["object"], pieces[0]["object"]), ("text_completion", "text_completion"))
        self.assertEqual("".join(piece["choices"][0]["text"] for piece in pieces), whole["choices"][0]["text"])
        self.assertEqual(whole["choices"][0]["text"], written(max_tokens=20))
        for wrong in ({"prompt": [1, 2]}, {"prompt": ["a", "b"]}, {"prompt": 1}, {"echo": True}, {"best_of": 3}):
            self.assertEqual(self.ask({**body, **wrong}, "/v1/completions").status, 400, wrong)

    def test_predict_is_plain_text(self):
        self.assertEqual(self.model.predict({"text": "A lane is", "seed": 1, "max_tokens": 60}), written())
        for wrong in ({}, [], "A lane is", {"text": 1}, {"text": "A", "max_tokens": 0}, {"text": "A", "stop": [1]}):
            with self.subTest(wrong=wrong), self.assertRaises(turnpike.BadInput):
                self.model.predict(wrong)

    def test_lists_the_model(self):
        [one] = self.model.get("/v1/models").json()["data"]
        self.assertEqual((one["id"], one["object"]), ("babble", "model"))
        self.assertEqual(self.model.get("/v1/models/babble").json(), one)
        self.assertEqual(self.model.get("/v1/models/gpt-4o").json()["error"]["code"], "model_not_found")

    def test_other_paths_and_methods(self):
        for path in ("/v1", "/v1/chat", "/v1/embeddings", "/model.py", "/babble.safetensors", "//page.js", "/page.js/", "/v1/models/a/b"):
            self.assertEqual(self.model.get(path).status, 404, path)
        answer = self.model.get("/v1/chat/completions")
        self.assertEqual((answer.status, answer.headers["allow"]), (405, "POST"))

    def test_the_page_is_served_with_all_that_it_needs_and_nothing_from_elsewhere(self):
        for path, (name, kind) in PAGE.items():
            answer = self.model.get(path)
            self.assertEqual((answer.status, answer.headers["content-type"]), (200, kind))
            self.assertEqual(answer.body, (HERE / name).read_bytes())
            self.assertIn("default-src 'none'", answer.headers["content-security-policy"])
            for host in re.findall(r"https?://([^/'\"\s]+)", (HERE / name).read_text()):
                self.assertEqual(host, "www.w3.org", "a namespace, which nobody fetches")
        wanted = re.findall(r'(?:src|href)="(?!data:)([^"]*)"', (HERE / "page.html").read_text())
        self.assertEqual({f"/{name}" for name in wanted}, set(PAGE) - {"/"})


if __name__ == "__main__":
    unittest.main()
