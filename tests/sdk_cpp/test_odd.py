#!/usr/bin/env python3
"""The C++ SDK keeps the protocol even if the model misbehaves. ODD_MODEL is a worker built from odd_model.cpp."""
import json
import os
import resource
import subprocess
import sys
import unittest
from pathlib import Path

KIT = Path(__file__).resolve().parents[2] / "sdk/conformance"
sys.path.insert(0, str(KIT))
sys.dont_write_bytecode = True

from checks import frames  # noqa: E402
from checks.gate import Failure, Gate, Job  # noqa: E402


class Odd(unittest.TestCase):
    def setUp(self):
        self.gate = self.enterContext(Gate([os.environ["ODD_MODEL"]], patience=20))
        self.gate.until_ready()

    def get(self, path, fields=b""):
        return self.gate.ask(b"", method=b"GET", target=path, fields=fields)

    def failed(self, path, why, type_part, message_part):
        failed = self.get(path).failed
        self.assertIsNotNone(failed)
        self.assertEqual(failed.why, why)
        self.assertIn(type_part, failed.type)
        self.assertIn(message_part, failed.message)

    def batch(self, *bodies):
        data, jobs = b"", []
        for index, body in enumerate(bodies):
            number = self.gate.next_number()
            jobs.append(self.gate.jobs.setdefault(number, Job(number)))
            data += frames.job(number, body, index=index, size=len(bodies))
        self.gate.send(data)
        self.gate.wait(lambda: all(job.ended for job in jobs), "the end of each member")
        return jobs

    def test_an_answer_that_can_not_be_sent_fails_its_job_and_not_the_worker(self):
        self.failed(b"/status", "exception", "std::invalid_argument", "status is 99")
        self.failed(b"/framing", "exception", "std::invalid_argument", "not allowed (Content-Length")
        for path in (b"/injected", b"/injected%20type", b"/injected%20stream"):
            self.failed(path, "exception", "std::invalid_argument", "malformed")

    def test_an_aside_for_which_no_thread_can_be_started_fails_alone(self):
        pid = self.gate.process.pid
        pages = int(Path(f"/proc/{pid}/statm").read_text().split()[0])
        few = pages * os.sysconf("SC_PAGE_SIZE") + (4 << 20)  # a thread needs 8 MiB for its stack
        resource.prlimit(pid, resource.RLIMIT_AS, (few, resource.RLIM_INFINITY))
        for _ in range(3):
            refused = self.gate.ask(b"", method=b"GET", target=b"/events", purpose=2).failed
            self.assertEqual(refused.why, "exception")
            self.assertIn("no thread could be started for this aside", refused.message)
        resource.prlimit(pid, resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        self.assertIsNone(self.gate.ask(b"", method=b"GET", target=b"/events", purpose=2).failed)

    def test_other_methods_of_predict_are_told_what_it_takes(self):
        for path in (b"/predict", b"/?a=1"):
            job = self.get(path)
            self.assertEqual((job.status, job.header("allow")), (405, "POST"))
            self.assertIn("POST /predict", job.json["detail"])
        nowhere = self.get(b"/nowhere").json
        self.assertEqual((nowhere["status"], nowhere["error"]), (404, {"message": nowhere["detail"], "type": "invalid_request_error", "code": "not-found"}))

    def test_throwing_cancelled_in_a_job_that_nobody_cancelled_is_the_models_failure(self):
        self.failed(b"/leaves", "exception", "turnpike::Cancelled", "nobody cancelled")
        self.assertIn("turnpike::Cancelled: the model threw Cancelled, but nobody cancelled the job", self.gate.stderr_text())

    def test_the_log_calls_a_proof_a_proof(self):
        self.gate.ask(b"bad", purpose=1)
        self.gate.ask(b"", method=b"GET", target=b"/unmapped", purpose=1)
        self.assertIn("the proof failed: ", self.gate.stderr_text())

    def test_an_exception_of_any_type_has_a_name(self):
        self.failed(b"/unmapped", "exception", "Unmapped", "not a std::exception")

    def test_a_message_that_is_not_utf8_is_made_so(self):
        self.failed(b"/not%20utf8", "exception", "std::runtime_error", "caf\ufffd")

    def with_gpu(self):
        return self.enterContext(Gate([os.environ["ODD_MODEL"]], patience=20)).until_ready(gpus=1)

    def test_words_tell_nothing_because_a_client_may_have_sent_them(self):
        for gate in (self.gate, self.with_gpu()):
            for text in json.loads((KIT / "gpu_errors.json").read_text()):
                with self.subTest(text):
                    failed = gate.ask(text.encode(), target=b"/raise").failed
                    self.assertEqual((failed.why, failed.message), ("exception", text))

    def test_types_tell_of_the_gpu_on_a_lane_that_has_one(self):
        gpu = self.with_gpu()
        for kind, on_gpu, on_cpu in (("unhealthy", "unhealthy", "unhealthy"), ("nested-unhealthy", "unhealthy", "unhealthy"),
                                     ("out_of_memory", "out_of_memory", "exception"), ("nested-out_of_memory", "out_of_memory", "exception"),
                                     ("torch", "out_of_memory", "exception"), ("nested-torch", "out_of_memory", "exception"),
                                     ("subclass", "out_of_memory", "exception"), ("host", "exception", "exception")):
            for gate, why in ((gpu, on_gpu), (self.gate, on_cpu)):
                with self.subTest(kind, why=why):
                    self.assertEqual(gate.ask(b"", target=b"/kind?" + kind.encode()).failed.why, why)

    def test_no_words_change_how_any_kind_of_exception_is_judged(self):
        words = ["", *json.loads((KIT / "gpu_errors.json").read_text()), "gpu is lost", "CUDA out of memory", "c10::OutOfMemoryError",
                 "turnpike::Unhealthy", "rmm::out_of_memory", "\n\r\u202e CUDA error 700"]
        kinds = ["unhealthy", "out_of_memory", "torch", "subclass", "host", "runtime", "logic", "system", "string", "bad_input", "non_finite"]
        for gate in (self.with_gpu(), self.gate):
            for kind in [nest * "nested-" + kind for kind in kinds for nest in range(3)]:
                whys = {gate.ask(text.encode(), target=b"/kind?" + kind.encode()).failed.why for text in words}
                self.assertEqual(len(whys), 1, (kind, whys))
                if gate is self.gate:
                    self.assertNotIn("out_of_memory", whys)

    def test_events_are_framed_line_by_line(self):
        job = self.get(b"/events")
        self.assertEqual(bytes(job.body), b"data: {}\n\nevent: poem\ndata: two\ndata: lines\n\n")
        self.assertEqual(job.header("content-type"), "text/event-stream")

    def test_a_second_stream_breaks_the_first_off(self):
        job = self.get(b"/twice")
        self.assertEqual(bytes(job.body), b"once")
        self.assertIn("already a stream", job.failed.message)

    def test_header_names_have_no_case_and_values_no_blanks_around(self):
        self.assertEqual(self.get(b"/header", b"X-Name:  seven \t\r\n").body, b"seven")
        self.assertEqual(self.get(b"/header", b"X-Names: seven\r\n").body, b"none")

    def test_too_few_answers_to_a_batch_are_no_answers_and_each_is_tried_alone(self):
        self.assertEqual([job.body for job in self.batch(b"1", b"2")], [b"1", b"2"])

    def test_a_batch_without_a_function_of_its_own_is_many_predictions(self):
        jobs = self.batch(b"1", b"bad", b"3")
        self.assertEqual([job.body for job in jobs], [b"1", b"", b"3"])
        self.assertEqual(jobs[1].failed.why, "bad_input")

    def test_a_forked_child_does_not_hold_the_socket(self):
        self.get(b"/fork")
        self.gate.stop()
        self.gate.wait_for_end("stop was sent")
        self.gate.wait(lambda: self.gate.ended, "the socket's end")

    def test_a_job_that_has_ended_may_be_kept_and_says_nothing(self):
        self.assertEqual(self.get(b"/keep").body, b"kept")
        self.assertEqual(self.get(b"/keep?streams").body, b"")
        self.assertEqual(self.get(b"/late").body, b"refused, the job has already ended, /keep")

    def test_no_progress_slips_behind_the_end_of_its_job(self):
        for _ in range(1000):  # the kit's gate refuses progress for a job that has ended
            self.assertEqual(self.get(b"/hammer").body, b"hammered")

    def test_the_worker_ends_with_the_gate(self):
        self.gate.socket.close()
        self.gate.ended = True
        self.gate.wait_for_end("the socket has ended")
        self.assertRaises(Failure, self.gate.wait, lambda: False, "anything")


class BeforeReady(unittest.TestCase):
    def test_values_that_ready_cannot_carry_fail_the_load_with_a_message(self):
        for oddity, words in [("huge example", "1048577 bytes of example; at most 1048576"), ("odd type", "content type of its example"),
                              ("endless type", "content type of its example"), ("huge facts", "16386 bytes of facts; at most 16384"),
                              ("odd facts", "not UTF-8"), ("throws", "std::runtime_error: no facts today")]:
            with self.subTest(oddity), Gate([os.environ["ODD_MODEL"]], patience=20, environment={"ODDITY": oddity}) as gate:
                gate.until_welcome()
                self.assertEqual(gate.wait_for_end("it can't load"), 1)
                self.assertIn("the model failed to load: ", gate.stderr_text())
                self.assertIn(words, gate.stderr_text())


class ABrokenGate(unittest.TestCase):
    def test_every_vector_of_a_breach_ends_the_worker_in_words(self):
        vectors = [vector for vector in json.loads((KIT / "vectors.json").read_text())
                   if vector["direction"] == "gate" and vector["breach"]]
        self.assertGreater(len(vectors), 100)
        for vector in vectors:
            with self.subTest(vector["name"]), Gate([os.environ["ODD_MODEL"]], patience=20) as gate:
                gate.wait(lambda: gate.hello, "hello")
                if not vector["name"].startswith("welcome"):
                    gate.until_ready()
                gate.send(bytes.fromhex(vector["hex"]))
                self.assertEqual(gate.wait_for_end(vector["name"]), 1)
                self.assertIn("the gate broke the worker protocol", gate.stderr_text())


class WithoutAGate(unittest.TestCase):
    def test_a_worker_that_is_started_by_hand_says_how_to(self):
        for socket in ({}, {"TURNPIKE_SOCKET": "three"}):
            environment = {name: value for name, value in os.environ.items() if name != "TURNPIKE_SOCKET"} | socket
            done = subprocess.run([os.environ["ODD_MODEL"]], env=environment, capture_output=True, text=True)
            self.assertEqual(done.returncode, 2)
            self.assertIn("turnpike up", done.stderr)


if __name__ == "__main__":
    unittest.main()
