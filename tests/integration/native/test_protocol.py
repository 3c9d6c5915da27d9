"""Tests native workers that break the protocol: each is retired with a clear reason, and the gate and other lanes go on."""
import os
import signal
import unittest

from client import Truncated
from harness import HERE, toml
from memory import GROWTH_MAX
from native_case import POOL, PYTHON, NativeCase, body_of, wait_until

KIT = HERE.parents[1] / "sdk/conformance"
HOSTILE = HERE / "workers/hostile_native.py"
LARGE = {"size": 2_000_000}
STREAM = {"stream": 3, "size": 4}

# For each worker of broken.py: the job that shows its fault (or None if the fault shows before the first
# job), and the gate's message about it.
UNTIL_READY = {
    "wrong_magic": (None, "The hello does not begin with"),
    "log_before_hello": (None, "The first frame is not hello"),
    "version_too_new": (None, "no protocol version in common"),
    "second_hello": (None, "sent hello twice"),
    "loading_after_ready": (None, "sent loading after ready"),
    "second_ready": (None, "sent ready twice"),
    "no_slots": (None, "out of bounds"),
    "facts_not_utf8": (None, "not UTF-8"),
    "lies_about_the_example": (None, "does not match its parts"),
    "permille_too_large": (None, "out of bounds"),
}
FRAMES = {
    "unknown_kind": (None, "unknown kind"),
    "kind_of_the_gate": (None, "unknown kind"),
    "size_too_large": (None, "larger than its kind allows"),
    "payload_too_short": (None, "does not match its parts"),
    "payload_too_long": (None, "does not match its parts"),
    "reserved_not_zero": (None, "must be 0"),
    "unknown_flags": (None, "unknown flags"),
    "flag_on_a_log": (None, "announces a descriptor"),
    "log_too_long": (None, "than it"),
    "status_too_small": (None, "out of bounds"),
    "frames_its_answer": (None, "A header line is malformed or not allowed there"),
    "malformed_fields": (None, "A header line is malformed"),
    "dies_within_a_frame": (None, "exit code 0"),
    "answers_an_unknown_job": (None, "never sent or has already ended"),
    "two_ends": (None, "never sent or has already ended"),
    "crashes": (None, "SIGSEGV"),
    "exits": (None, "exit code 3"),
    "pong_unasked": (None, "a pong without a ping"),
    "stacks_unasked": (None, "stacks that the gate did not ask for"),
    "pong_of_another_number": (None, "a pong without a ping"),
}
JOBS = {
    "progress_beyond_all": ({"progress": [[0.5, "half"]]}, "out of bounds"),
    "fails_for_no_known_reason": ({"fail": "bad_input"}, "out of bounds"),
    "message_too_long": ({"fail": "bad_input", "message": "x" * 70_000}, "than it"),
    "message_not_utf8": ({"fail": "bad_input", "message": "ü"}, "not UTF-8"),
    "chunk_without_begin": (STREAM, "a chunk before begin"),
    "second_begin": (STREAM, "sent begin twice"),
    "empty_chunk": (STREAM, "does not match its parts"),
    "chunk_too_large": ({"stream": 1, "size": 2 << 20}, "larger than its kind allows"),
    "answers_after_its_stream": (STREAM, "A done after begin has a second status"),
    "ends_with_an_exception": ({"fail": "exception", "message": "the end"}, "exit code 1: the end"),
    "memfd_without_seals": (LARGE, "not a memfd with all seals"),
    "memfd_that_can_be_written": (LARGE, "not a memfd with all seals"),
    "file_in_place_of_a_memfd": (LARGE, "not a memfd with all seals"),
    "memfd_longer_than_it_says": (LARGE, "does not have the announced length"),
    "memfd_shorter_than_it_says": (LARGE, "does not have the announced length"),
    "flag_without_descriptor": (LARGE, "announced a descriptor, but none came"),
    "descriptor_without_flag": (LARGE, "A descriptor came that no frame announced"),
    "large_answer_inline": ({"size": 1_048_577}, "longer than allowed"),
}


RETIRED = ["failed", "backoff"]


class ProtocolCase(NativeCase):
    """There is one good pool, and a pool with one lane for each bad worker. After one death such a lane has failed if it never
    served; otherwise it waits an hour for its next start. A job that was aboard fails."""

    def serve_beside(self, workers, **keys):
        """Starts a gate. `workers` holds the words of each pool's command."""
        folder = self.folder_for("workers")
        common = {"gpus": "none", "lanes": 1, "stop_grace": "200ms",
                  **{key: value for key, value in POOL.items() if not key.startswith("health.")}}
        once = {"crash_limit": 1, "restart_delay_min": "1h", "restart_delay_max": "1h", "retry": False}
        good = folder / "good.py"
        good.write_text("def predict(x): return x\n")
        sections = {"": {"load_parallel": 8},
                    "gate": {"spool": str(self.folder), "answer_buffer": "1MiB"},
                    "pool.good": {"model": str(good), "python": PYTHON, **common}}
        for name, words in workers.items():
            path = folder / name
            path.write_text(f"#!/bin/sh\nexec {PYTHON} -SEB {' '.join(words)}\n")
            path.chmod(0o755)
            sections[f"pool.{name.lower()}"] = {"model": str(path), **common, **once, **keys}
        gate = self.start(str(self.write_config(toml(sections))))
        gate.wait_lane(0, "ready")
        return gate

    def broken(self, *faults, **keys):
        return self.serve_beside({fault: [str(KIT / "broken.py"), fault] for fault in faults},
                                 **keys)

    def hostile(self, *names, **keys):
        return self.serve_beside({name: [str(HOSTILE), str(KIT), name] for name in names},
                                 **keys)

    def number_of(self, gate, pool):
        [lane] = [lane for lane in gate.status()["lanes"] if lane["pool"] == pool.lower()]
        return lane["lane"]

    def assert_good_serves(self, gate):
        self.assertEqual(gate.post({"well": 1}, "/-/to/good/predict").json(), {"well": 1})
        self.assertEqual(gate.lane(0)["restarts"], 0)


class Breaches(ProtocolCase):
    def assert_retired(self, faults):
        gate = self.broken(*faults)
        before = self.descriptors(gate)
        for fault, (task, words) in faults.items():
            with self.subTest(fault):
                self.assert_one_retired(gate, fault, task, words)
        self.assert_good_serves(gate)
        self.assertLessEqual(self.descriptors(gate), before + 2, "the gate must keep no descriptor of the bad workers")

    def assert_one_retired(self, gate, fault, task, words):
        lane = self.number_of(gate, fault)
        if task is not None:
            gate.wait_lane(lane, "ready", *RETIRED)
            answer = self.answer_of(gate, f"/-/to/{fault}/predict", task)
            if answer is not None and answer.status == 502:
                how = words.removesuffix(": the end")  # what the worker printed is not for the client
                self.assertIn(how, answer.json()["detail"], "the client reads how the worker ended")
        found = self.wait_trouble(gate, words, lane, RETIRED)
        self.wait_log(gate, words.rpartition(": ")[2], lane)
        if found["pid"]:
            self.assert_gone(found["pid"])

    def answer_of(self, gate, target, task):
        """Returns the answer, or None if it was a stream that broke off."""
        try:
            answer = gate.post(task, target)
        except Truncated:
            return None
        if "descriptor_without_flag" not in target:
            self.assertGreaterEqual(answer.status, 500, answer)
        return answer

    def test_breaches_before_ready(self):
        self.assert_retired(UNTIL_READY)

    def test_breaches_in_frames(self):
        self.assert_retired(FRAMES)

    def test_breaches_in_jobs_streams_and_descriptors(self):
        self.assert_retired(JOBS)


class Silence(ProtocolCase):
    def test_a_worker_that_is_never_ready_is_ended_in_time(self):
        gate = self.broken("never_ready", "no_hello", load_timeout="2s")
        for fault in ("never_ready", "no_hello"):
            self.wait_trouble(gate, "load_timeout", self.number_of(gate, fault), ["failed"])
        self.assert_good_serves(gate)

    def test_a_worker_that_does_not_answer_pings_is_replaced(self):
        gate = self.broken("never_answers_a_ping")
        gate.wait_lane(lane := self.number_of(gate, "never_answers_a_ping"), "ready")
        stopped = gate.lane(0)["pid"]
        os.kill(stopped, signal.SIGSTOP)
        self.wait_trouble(gate, "does not answer", lane, RETIRED)
        self.wait_back(gate, 0)
        self.assert_gone(stopped)
        self.assertEqual(gate.post({"well": 1}, "/-/to/good/predict").json(), {"well": 1})

    def test_a_worker_that_ignores_stop_is_killed(self):
        gate = self.broken("ignores_stop")
        lane = gate.wait_lane(self.number_of(gate, "ignores_stop"), "ready")
        self.order(gate, "drain", str(lane["lane"]))
        self.assert_gone(lane["pid"])
        self.assertEqual(self.crashes(gate), [])

    def test_a_worker_that_ignores_the_end_of_its_gate_is_killed(self):
        gate = self.broken("outlives_the_gate")
        lane = gate.wait_lane(self.number_of(gate, "outlives_the_gate"), "ready")
        gate.process.kill()
        self.assert_gone(lane["pid"])

    def test_a_job_without_an_end_runs_out_of_time(self):
        gate = self.broken("ignores_cancel", job_timeout="300ms", cancel_grace="50ms")
        lane = self.number_of(gate, "ignores_cancel")
        gate.wait_lane(lane, "ready")
        answer = gate.post({"sleep": 600}, "/-/to/ignores_cancel/predict")
        self.assert_problem(answer, 504, "ran-too-long")
        self.wait_back(gate, lane)
        self.assert_good_serves(gate)

    def test_a_worker_that_sends_no_stacks_is_inspected_from_outside(self):
        gate = self.broken("keeps_its_stacks")
        lane = self.number_of(gate, "keeps_its_stacks")
        gate.wait_lane(lane, "ready")
        self.assertEqual(gate.ask("POST", f"/-/lanes/{lane}/stacks").status, 202)
        self.assert_good_serves(gate)
        self.assertEqual(gate.lane(lane)["state"], "ready")


class Floods(ProtocolCase):
    def test_a_worker_that_sends_garbage_fails_at_once(self):
        gate = self.hostile("Garbage", "GarbageLater")
        for name in ("Garbage", "GarbageLater"):
            lane = self.number_of(gate, name)
            self.wait_trouble(gate, "it broke the protocol", lane, RETIRED)
        self.assert_good_serves(gate)

    def test_an_endless_load_and_endless_logs_leave_room_for_others(self):
        gate = self.hostile("EndlessLoading", "EndlessLogs")
        logs = gate.wait_lane(self.number_of(gate, "EndlessLogs"), "ready")
        memory = self.peak_memory(gate)
        for number in range(20):
            self.assert_good_serves(gate)
            answer = gate.post({"echo": number}, "/-/to/endlesslogs/predict")
            self.assertEqual(answer.json(), {"echo": number})
        self.assertEqual(gate.lane(self.number_of(gate, "EndlessLoading"))["state"], "loading")
        self.assertLess(self.peak_memory(gate) - memory, GROWTH_MAX)
        self.assertEqual(gate.lane(logs["lane"])["restarts"], 0)
        self.assertEqual(self.stop(gate), 0)

    def test_a_worker_that_ignores_pause_is_retired(self):
        gate = self.hostile("EndlessChunks", "EndlessPieces")
        memory = self.peak_memory(gate)
        for name in ("EndlessChunks", "EndlessPieces"):
            lane = self.number_of(gate, name)
            gate.wait_lane(lane, "ready")
            client = gate.connect()
            client.request("POST", f"/-/to/{name.lower()}/predict", body_of({"echo": "go"}))
            client.head()
            self.wait_trouble(gate, "kept sending chunks after pause", lane, RETIRED)
            client.close()
        self.assert_good_serves(gate)
        self.assertLess(self.peak_memory(gate) - memory, GROWTH_MAX)

    def test_a_stream_without_end_goes_on_while_it_is_read_and_ends_with_its_reader(self):
        gate = self.hostile("SteadyChunks")
        lane = gate.wait_lane(self.number_of(gate, "SteadyChunks"), "ready")
        client = gate.connect()
        client.request("POST", "/-/to/steadychunks/predict", body_of({"echo": "go"}))
        client.head()
        for _ in range(500):
            client.chunk()
        self.assert_good_serves(gate)
        self.assertEqual(gate.lane(lane["lane"])["pid"], lane["pid"])

    def test_progress_without_end_does_no_harm(self):
        gate = self.hostile("EndlessProgress")
        gate.wait_lane(self.number_of(gate, "EndlessProgress"), "ready")
        client = gate.connect()
        client.request("POST", "/-/to/endlessprogress/predict", body_of({"echo": "go"}))
        wait_until(lambda: [job for job in gate.live_jobs() if job.get("progress")], "the gate shows the progress")
        for _ in range(20):
            self.assert_good_serves(gate)
        [job] = gate.live_jobs()
        self.assertEqual(gate.ask("DELETE", f"/-/jobs/{job['id']}").status, 202)
        self.assert_problem(client.answer(), 409, "cancelled")

    def test_a_job_answered_with_half_a_frame_times_out(self):
        gate = self.hostile("HalfAFrame", job_timeout="300ms", cancel_grace="50ms")
        lane = self.number_of(gate, "HalfAFrame")
        gate.wait_lane(lane, "ready")
        answer = gate.post({"echo": "go"}, "/-/to/halfaframe/predict")
        self.assert_problem(answer, 504, "ran-too-long")
        self.wait_back(gate, lane)
        self.assert_good_serves(gate)

    def test_a_worker_that_never_reads_does_not_hold_up_the_gate(self):
        gate = self.hostile("NeverReads", job_timeout="500ms", cancel_grace="50ms")
        self.assert_good_serves(gate)
        self.assertEqual(self.stop(gate), 0)


class Descriptors(ProtocolCase):
    def test_a_thousand_descriptors_are_not_kept(self):
        gate = self.hostile("ManyDescriptors", "DescriptorsWithoutNeed")
        for name in ("ManyDescriptors", "DescriptorsWithoutNeed"):
            lane = self.number_of(gate, name)
            self.wait_trouble(gate, "it broke the protocol", lane, RETIRED)
        self.assert_good_serves(gate)
        wait_until(lambda: self.descriptors(gate) < 60, "the descriptors are closed")

    def test_repeated_large_answers_leave_no_descriptor_open(self):
        gate = self.hostile("HugeMemfd")
        lane = self.number_of(gate, "HugeMemfd")
        gate.wait_lane(lane, "ready")
        before, memory = self.descriptors(gate), self.peak_memory(gate)
        for _ in range(3):
            client = gate.connect()
            client.request("POST", "/-/to/hugememfd/predict", body_of({"echo": "go"}))
            self.assertEqual(client.head().header("content-length"), str(1 << 40))
            client.exactly(1 << 20)
            client.close()
        self.assert_good_serves(gate)
        wait_until(lambda: self.descriptors(gate) <= before, "the memfds are closed")
        self.assertLess(self.peak_memory(gate) - memory, GROWTH_MAX)
        self.assertEqual(gate.lane(lane)["state"], "ready")

    def test_expected_descriptors_are_closed_too(self):
        gate = self.broken("keeps_descriptors")
        target = "/-/to/keeps_descriptors/predict"
        gate.wait_lane(self.number_of(gate, "keeps_descriptors"), "ready")
        self.assertEqual(len(gate.post(LARGE, target).body), LARGE["size"])
        before = self.descriptors(gate)
        for _ in range(20):
            self.assertEqual(len(gate.post(LARGE, target).body), LARGE["size"])
            body = os.urandom(1_100_000)
            self.assertEqual(gate.ask("POST", target.replace("predict", "bytes"), body).body, body)
        wait_until(lambda: self.descriptors(gate) <= before, "there are no more descriptors than before")


if __name__ == "__main__":
    unittest.main()
