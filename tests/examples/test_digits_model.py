"""The example's model without a gate: its answers, what it says to bad input, and the page that it serves."""
import re
import unittest

import digits_data
import turnpike
from model import HERE, PAGE, Digits, pixels_of

BLANK = [0] * 64
WHAT_TO_SEND = r'Send \{"pixels": \[\.\.\.\]\}: a list of 64 numbers, 8 rows of 8; this was '
PIXEL = r"A pixel must be a number from 0 \(paper\) to 16 \(ink\); "
BAD = [
    (None, WHAT_TO_SEND + "something else"),
    ("7", WHAT_TO_SEND + "something else"),
    (7, WHAT_TO_SEND + "something else"),
    ({}, WHAT_TO_SEND + "something else"),
    ({"pixels": None}, WHAT_TO_SEND + "something else"),
    ({"pixels": {"0": 1}}, WHAT_TO_SEND + "something else"),
    ({"pixels": "0" * 64}, WHAT_TO_SEND + "something else"),
    ({"pixels": []}, WHAT_TO_SEND + "a list of 0"),
    ([0] * 63, WHAT_TO_SEND + "a list of 63"),
    ([0] * 65, WHAT_TO_SEND + "a list of 65"),
    ([[0] * 8] * 8, WHAT_TO_SEND + "a list of 8"),
    ([[0]] * 64, PIXEL + r"pixels\[0\]"),
    ([0] * 63 + [None], PIXEL + r"pixels\[63\]"),
    ([0] * 63 + ["16"], PIXEL + r"pixels\[63\]"),
    ([True] + [0] * 63, PIXEL + r"pixels\[0\]"),
    ([0, -0.001] + [0] * 62, PIXEL + r"pixels\[1\]"),
    ([0, 16.001] + [0] * 62, PIXEL + r"pixels\[1\]"),
    ([0, 1e300] + [0] * 62, PIXEL + r"pixels\[1\]"),
]
BEYOND_JSON = [([0, beyond] + [0] * 62, PIXEL + r"pixels\[1\]") for beyond in (float("nan"), 10**400)]


def loaded():
    model = Digits()
    model.load(turnpike.Lane())
    return model


class Model(unittest.TestCase):
    def test_reads_its_example(self):
        answer = loaded().predict(Digits.example)
        self.assertEqual(answer["digit"], 7)
        self.assertGreater(answer["confidence"], 0.9)
        self.assertEqual(answer["confidence"], max(answer["scores"]))
        self.assertEqual(len(answer["scores"]), 10)
        self.assertEqual(answer["scores"].index(answer["confidence"]), 7)

    def test_takes_the_bare_list_too(self):
        model = loaded()
        self.assertEqual(model.predict(Digits.example["pixels"]), model.predict(Digits.example))

    def test_takes_fractions_and_both_ends(self):
        for pixels in (BLANK, [16] * 64, [0.5] * 64, [16.0] * 64):
            self.assertEqual(pixels_of(pixels), pixels)

    def test_says_what_to_send_to_anything_else(self):
        for x, words in BAD + BEYOND_JSON:
            with self.subTest(x=str(x)[:80]), self.assertRaisesRegex(turnpike.BadInput, words):
                loaded().predict(x)

    def test_tells_facts_about_itself(self):
        self.assertGreaterEqual(float(loaded().facts["accuracy"]), 0.97)


class Page(unittest.TestCase):
    def get(self, path, method="GET"):
        return loaded().request(turnpike.Request(method, path))

    def test_is_served_with_all_that_it_needs(self):
        for path, (name, kind) in PAGE.items():
            answer = self.get(path)
            self.assertEqual((answer.status, answer.content_type), (200, kind))
            self.assertEqual(answer.body, (HERE / name).read_bytes())
        wanted = re.findall(r'(?:src|href)="(?!data:)([^"]*)"', (HERE / "page.html").read_text())
        self.assertEqual({f"/{name}" for name in wanted}, set(PAGE) - {"/"})

    def test_allows_itself_nothing_from_elsewhere(self):
        rules = dict(rule.split(" ", 1) for rule in self.get("/").headers["content-security-policy"].split("; "))
        self.assertEqual(rules["default-src"], "'none'")
        self.assertEqual({rules[name] for name in ("script-src", "style-src", "connect-src")}, {"'self'"})
        for name, _ in PAGE.values():
            for host in re.findall(r"https?://([^/'\"\s]+)", (HERE / name).read_text()):
                self.assertEqual(host, "www.w3.org", "a namespace, which nobody fetches")

    def test_no_other_path_is_served(self):
        for path in ("/model.py", "/digits.safetensors", "/../model.py", "//page.js", "/page.js/", "/predict"):
            self.assertEqual(self.get(path).status, 404, path)
        self.assertEqual(self.get("/", "DELETE").status, 405)
        self.assertEqual(self.get("/", "HEAD").status, 200)


if __name__ == "__main__":
    unittest.main()
