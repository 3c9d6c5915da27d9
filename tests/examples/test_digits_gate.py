"""examples/digits behind the real gate: `up` with nothing but the file, both workers, and the same answers from both."""
import concurrent.futures
import json
import os
import shutil
import unittest

import digits_data
from client import Client
from harness import wait_until
from started_case import StartedCase
from test_digits_model import BAD

MODEL = digits_data.EXAMPLE / "model.py"
WORKER = os.environ["DIGITS_WORKER"]


class Serving(StartedCase):
    def serve(self, model, lanes=2):
        return self.start(str(model), "--gpus", "none", "--lanes", str(lanes)).wait_ready()

    def scores(self, gate, digits):
        """Returns the scores of all these digits, asked on a few connections at once."""
        def ask(some):
            with Client(gate.port) as client:
                found = []
                for pixels, _ in some:
                    client.request("POST", "/predict", json.dumps({"pixels": pixels}).encode())
                    found.append(client.answer("POST"))
                return found
        parts = [digits[start::4] for start in range(4)]
        with concurrent.futures.ThreadPoolExecutor(4) as threads:
            answers = [answer for part in threads.map(ask, parts) for answer in part]
        self.assertEqual({answer.status for answer in answers}, {200})
        return [[*answer.json()["scores"], answer.json()["digit"]] for answer in answers]


class Python(Serving):
    def test_serves_four_lanes_from_an_empty_folder_with_only_the_binary_and_python(self):
        self.env = {"PATH": "/usr/bin:/bin", **{name: self.env[name] for name in ("HOME", "XDG_RUNTIME_DIR")}}
        gate = self.start(str(MODEL), "--gpus", "none").wait_ready()
        self.assertEqual([lane["state"] for lane in gate.status()["lanes"]], ["ready"] * 4)
        for lane in range(4):
            answer = gate.post({"pixels": digits_data.read()[0][0]}, headers=[("Turnpike-Lane", str(lane))])
            self.assertEqual((answer.json()["digit"], answer.header("turnpike-lane")), (0, str(lane)))

    def test_the_folder_has_a_proof_that_all_lanes_pass(self):
        gate = self.start(str(digits_data.EXAMPLE), "--gpus", "none", "--lanes", "2").wait_ready()
        self.assertEqual(gate.pool()["proof"], "passed")
        self.assertEqual(gate.pool()["pool"], "digits")
        self.assertEqual(gate.ask("GET", "/").status, 200)

    def test_a_lane_with_other_weights_never_serves(self):
        folder = self.folder_for("wrong")
        for path in digits_data.EXAMPLE.iterdir():
            if path.is_file():
                shutil.copy(path, folder)
        weights = folder / "digits.safetensors"
        data = weights.read_bytes()
        weights.write_bytes(data[:-40] + bytes(40))  # the last biases
        gate = self.start(str(folder), "--gpus", "none", "--lanes", "1")
        wait_until(lambda: "proof" in (gate.lane(0)["trouble"] or ""), "the lane says that its proof failed")
        self.assertNotIn(gate.lane(0)["state"], ("ready", "busy"))

    def test_serves_the_page(self):
        gate = self.serve(MODEL)
        page = gate.ask("GET", "/")
        self.assertEqual((page.status, page.header("content-type")), (200, "text/html; charset=utf-8"))
        self.assertIn("default-src 'none'", page.header("content-security-policy"))
        self.assertEqual(gate.ask("GET", "/model.py").status, 404)


class Both(Serving):
    def test_give_the_same_scores_for_every_digit(self):
        digits = digits_data.read()
        found = [self.scores(self.serve(model), digits) for model in (MODEL, WORKER)]
        self.assertLess(digits_data.largest_difference(*found), 1e-5)

    def test_say_the_same_to_bad_input(self):
        gates = [self.serve(model, lanes=1) for model in (MODEL, WORKER)]
        for x, _ in BAD:
            with self.subTest(x=str(x)[:80]):
                answers = [gate.post(x) for gate in gates]
                for answer in answers:
                    self.assert_problem(answer, 400, "bad-input")
                self.assertEqual(*[answer.json()["detail"] for answer in answers])
        for body in (b"", b"{", b"pixels", b"\xff", b"[NaN]"):
            for gate in gates:
                self.assert_problem(gate.ask("POST", "/predict", body), 400, "bad-input")


if __name__ == "__main__":
    unittest.main()
