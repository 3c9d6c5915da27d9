"""Tests the conformance model (sdk/conformance/README.md) with the real gate: with the Python SDK, with the
C++ SDK, and without an SDK. All three must behave alike."""
import os
import unittest
from pathlib import Path

from client import Truncated
from harness import HERE, TURNPIKE, toml
from native_case import PYTHON, SharedGate, body_of, wait_until

KIT = HERE.parents[1] / "sdk/conformance"
CPP = os.environ.get("TURNPIKE_CONFORMANCE",
                     str(Path(TURNPIKE).parent / "tests/conformance_cpp/turnpike_conformance"))


def digits(size):
    return (b"0123456789abcdef" * (size // 16 + 1))[:size]


WIDTHS = {"full": (1, 1), "slots": (4, 1), "batch": (1, 8)}


class Conformance:
    """The gate has a pool for each variant of the model."""
    variants = ("full", "slots", "batch")

    def program(self):
        """Returns what the config says about the model: its path, and further keys."""
        raise NotImplementedError

    def open(self):
        sections = {}
        for variant in self.variants:
            sections[f"pool.{variant}"] = {**self.program(), "gpus": "none", "lanes": 1}
            sections[f"pool.{variant}.env"] = {"CONFORMANCE": variant}
        return self.start(str(self.write_config(toml(sections)))).wait_ready()

    def post(self, task, pool="full", **options):
        return self.gate.post(task, f"/-/to/{pool}/predict", **options)

    def test_it_has_proved_itself_and_says_how_wide_it_is(self):
        status = self.gate.status()
        self.assertEqual({pool["proof"] for pool in status["pools"]}, {"passed"})
        self.assertEqual([(lane["slots"], lane["batch"]) for lane in status["lanes"]],
                         [WIDTHS[variant] for variant in self.variants])
        for lane in status["lanes"]:
            self.assertEqual(lane["model_facts"], {"model": "conformance"})

    def test_echo_and_bytes(self):
        for value in ({"a": [1, None]}, "ü", 1.5):
            self.assertEqual(self.post({"echo": value}).json(), {"echo": value})
        for size in (0, 1, 1 << 20, (1 << 20) + 1, 3_000_000):
            body = digits(size)
            answer = self.gate.ask("PUT", "/-/to/full/bytes", body)
            self.assertEqual((answer.status, answer.body == body), (200, True), size)
            self.assertEqual(self.post({"size": size}).body, body)

    def test_what_the_model_sees(self):
        answer = self.gate.ask("GET", "/-/to/full/seen/a%20b?q=1", None, [("X-Mine", "yes")])
        seen = answer.json()
        self.assertEqual((seen["method"], seen["query"], seen["x-mine"], seen["attempt"]),
                         ("GET", "q=1", "yes", 1))
        self.assertEqual(seen["name"], answer.header("turnpike-job"))
        teapot = self.gate.ask("GET", "/-/to/full/teapot")
        self.assertEqual((teapot.status, teapot.header("x-conformance"), teapot.body),
                         (418, "yes", b"short and stout"))
        self.assertEqual(self.gate.ask("GET", "/-/to/full/nowhere").status, 404)

    def test_failures(self):
        answer = self.post({"fail": "bad_input", "message": "no ünits"})
        self.assert_problem(answer, 400, "bad-input")
        self.assertEqual(answer.json()["detail"], "no ünits")
        answer = self.post({"fail": "exception", "message": "layer 3"})
        self.assert_problem(answer, 500, "model-failed")
        self.assertIn("layer 3", answer.json()["detail"])
        self.assert_problem(self.post({"fail": "non_finite"}), 500, "non-finite")
        self.assert_problem(self.post({"fail": "out_of_memory"}), 500, "model-failed")  # there is no GPU
        self.assertEqual(self.post({"echo": 1}).status, 200)
        self.assertEqual(self.gate.lane(0)["restarts"], 0)

    def test_streams(self):
        answer = self.post({"stream": 100, "size": 8})
        self.assertEqual(answer.body, b"".join(b"%07d\n" % number for number in range(100)))
        large = self.post({"stream": 3, "size": 1_500_000})
        self.assertEqual(len(large.body), 4_500_000)
        with self.assertRaises(Truncated):
            self.post({"stream": 2, "size": 4, "then": "fail"})

    def test_a_client_that_leaves_ends_its_job(self):
        for task in ({"sleep": 600}, {"compute": 600}, {"stream": 1, "size": 4, "then": "sleep"}):
            client = self.gate.connect()
            client.request("POST", "/-/to/full/predict", body_of(task))
            self.gate.wait_lane(0, "busy")
            wait_until(lambda: "stream" in task or [job for job in self.gate.live_jobs()
                                                    if job.get("progress")], "the job has begun")
            client.close()
            self.gate.wait_lane(0, "ready")
        self.assertEqual(self.gate.lane(0)["restarts"], 0)

    def test_progress(self):
        answer = self.post({"progress": [[0.5, "half"], [None, "who knows"], [1, "done"]]})
        self.assertEqual(answer.json(), {"progress": 3})

    def test_slots_run_at_once(self):
        jobs = [self.in_thread(self.post, {"meet": 4}, "slots") for _ in range(4)]
        for job in jobs:
            self.assertEqual(job.result().json(), {"met": 4})

    def test_batches(self):
        if "batch" not in self.variants:
            self.skipTest("the check of this model does not know batches")
        jobs = [self.in_thread(self.post, {"echo": number}, "batch") for number in range(40)]
        for number, job in enumerate(jobs):
            self.assertEqual(job.result().json()["echo"], number)
        bad = [self.in_thread(self.post, {"fail": "bad_input", "message": "x"} if number % 3 == 0 else
                          {"echo": number}, "batch") for number in range(12)]
        self.assertEqual([job.result().status for job in bad], [400, 200, 200] * 4)

    def test_stacks_while_it_computes(self):
        client = self.gate.connect()
        client.request("POST", "/-/to/full/predict", body_of({"compute": 600}))
        self.gate.wait_lane(0, "busy")
        self.assertTrue(self.order(self.gate, "stacks", "0").strip())
        client.close()
        self.gate.wait_lane(0, "ready")


class Python(Conformance, SharedGate):
    def program(self):
        path = self.folder / "behind_the_gate.py"
        path.write_text(f"import sys\nsys.path.insert(0, {str(KIT)!r})\nimport model as kit\n"
                        "class Model(kit.model):\n    def check(self, answer):\n"
                        "        return answer['echo'] == 'example'  # in a batch there is more\n")
        return {"model": str(path), "python": PYTHON}


class WithoutAnSdk(Conformance, SharedGate):
    def program(self):
        path = self.folder / "minimal"
        path.write_text(f"#!/bin/sh\nexec {PYTHON} -SEB {KIT / 'minimal_worker.py'}\n")
        path.chmod(0o755)
        return {"model": str(path)}


@unittest.skipUnless(os.access(CPP, os.X_OK), f"the C++ model is not built: {CPP}")
class Cpp(Conformance, SharedGate):
    variants = ("full", "slots")

    def program(self):
        return {"model": CPP}


if __name__ == "__main__":
    unittest.main()
