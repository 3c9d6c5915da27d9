"""examples/transformers behind the real gate, with a fake of transformers (Debian has none) and Debian's torch."""
import json
import unittest

from client import Client
from fake_gpus import has_real_driver, use_fake_gpu
from harness import wait_until
from native_case import NativeCase, SharedGate
from transformers_fake import BAD, BROKEN, ENDLESS, EXAMPLE, FAKE, HELLO


class Streams(SharedGate):
    def open(self):
        self.env["PYTHONPATH"] = str(FAKE)
        return self.start(str(EXAMPLE), "--gpus", "none", "--lanes", "1", "--python", "/usr/bin/python3").wait_ready()

    def begin(self, target, task):
        """Returns a client that has received the head of its answer."""
        client = self.gate.connect()
        client.request("POST", target, json.dumps(task).encode())
        return client, client.head()

    def events(self, client, count):
        """Returns the next events of a stream, as many as asked for."""
        found = b""
        while found.count(b"\n\n") < count:
            found += client.chunk()
        return [json.loads(line[6:]) for line in found.decode().split("\n\n")[:count]]

    def test_says_loudly_that_its_weights_are_random(self):
        self.assertIn("RANDOM WEIGHTS", self.whole_log(self.gate))
        self.assertEqual(self.gate.lane(0)["model_facts"]["model"], "random-tiny")
        answer = self.gate.post(HELLO)
        self.assertEqual((answer.status, answer.header("model")), (200, "random-tiny"))
        self.assertEqual(answer.header("content-type"), "text/plain; charset=utf-8")
        self.assertTrue(answer.body.decode())

    def test_the_example_proves_the_lane(self):
        self.assertEqual(self.gate.pool()["proof"], "passed")

    def test_each_token_comes_before_the_next_is_made(self):
        client, head = self.begin("/predict", {**ENDLESS, "events": True})
        self.assertEqual((head.status, head.header("content-type")), (200, "text/event-stream"))
        self.assertEqual([event["tokens"] for event in self.events(client, 3)], [1, 2, 3])
        self.assertEqual(self.gate.lane(0)["state"], "busy")
        client.close()
        self.gate.wait_lane(0, "ready")

    def test_events_end_with_the_count(self):
        answer = self.gate.post({**HELLO, "events": True})
        events = [json.loads(line[6:]) for line in answer.body.decode().split("\n\n")[:-1]]
        self.assertEqual((events[-1]["done"], events[-1]["tokens"]), (True, 20))
        self.assertEqual("".join(event.get("text", "") for event in events), self.gate.post(HELLO).body.decode())

    def test_a_seed_makes_chance_repeatable(self):
        hot = {**HELLO, "temperature": 1.5}
        first, again, other = (self.gate.post({**hot, "seed": seed}).body for seed in (1, 1, 2))
        self.assertEqual(first, again)
        self.assertNotEqual(first, other)

    def stacks(self):
        """Returns the stacks of all threads of the worker."""
        known = len(self.whole_log(self.gate))
        self.order(self.gate, "stacks", "0")
        wait_until(lambda: "thread MainThread" in self.whole_log(self.gate)[known:], "its stacks are in the log")
        return self.whole_log(self.gate)[known:]

    def assert_stopped(self, job, least=3):
        """Checks that the worker logged after how many tokens it stopped, that it stopped early, and that no thread is left."""
        self.gate.wait_lane(0, "ready")
        words = f"job {job}: nobody waits any more; stopped after "
        self.wait_log(self.gate, words)
        count = int(self.whole_log(self.gate).partition(words)[2].split()[0])
        self.assertTrue(least <= count < ENDLESS["max_new_tokens"] // 2, count)
        self.assertNotIn("in _generate", self.stacks())
        self.assertEqual(self.gate.post(HELLO).status, 200)

    def test_a_client_that_leaves_stops_the_generation(self):
        client, head = self.begin("/predict", {**ENDLESS, "events": True})
        self.events(client, 3)
        client.close()
        self.assert_stopped(head.header("turnpike-job"))

    def test_a_client_that_leaves_a_chat_stops_the_generation(self):
        client, head = self.begin("/v1/chat/completions", {"messages": [{"role": "user", "content": "x"}], "stream": True,
                                                           "max_tokens": 4000})
        for _ in range(4):
            client.chunk()
        client.close()
        self.assert_stopped(head.header("turnpike-job"))

    def test_a_client_that_leaves_before_its_answer_begins_stops_the_generation(self):
        client = self.gate.connect()
        chat = {"messages": [{"role": "user", "content": "x"}], "max_tokens": 4000, "temperature": 0}
        client.request("POST", "/v1/chat/completions", json.dumps(chat).encode())
        wait_until(lambda: "in _generate" in self.stacks(), "it generates")
        [job] = self.gate.live_jobs()
        client.close()
        self.assert_stopped(job["id"], least=0)

    def test_an_order_to_cancel_stops_the_generation(self):
        client, head = self.begin("/predict", {**ENDLESS, "events": True})
        self.events(client, 3)
        self.order(self.gate, "cancel", head.header("turnpike-job"))
        self.assert_stopped(head.header("turnpike-job"))

    def test_bad_input_is_told_apart_before_the_model_sees_it(self):
        for x, word in BAD:
            with self.subTest(x=str(x)[:80]):
                answer = self.gate.post(x)
                self.assert_problem(answer, 400, "bad-input")
                self.assertIn(word, answer.json()["detail"])

    def test_speaks_like_openai(self):
        asked = {"messages": [{"role": "user", "content": "Hello"}], "max_tokens": 5, "temperature": 0}
        whole = self.gate.post(asked, "/v1/chat/completions").json()
        self.assertEqual((whole["choices"][0]["finish_reason"], whole["usage"]["completion_tokens"]), ("length", 5))
        streamed = self.gate.post({**asked, "stream": True}, "/v1/chat/completions")
        self.assertEqual(streamed.header("content-type"), "text/event-stream")
        *events, last, nothing = streamed.body.decode().split("\n\n")
        self.assertEqual((last, nothing), ("data: [DONE]", ""))
        choices = [json.loads(event[6:])["choices"][0] for event in events]
        self.assertEqual("".join(choice["delta"].get("content", "") for choice in choices), whole["choices"][0]["message"]["content"])
        self.assertEqual(choices[-1]["finish_reason"], "length")
        self.assertEqual(self.gate.ask("GET", "/v1/models").json()["data"][0]["id"], "random-tiny")
        self.assertEqual(self.gate.ask("GET", "/v1/engines").status, 404)
        for messages in (None, [], "Hello", [7], [{"role": "user"}], [{"role": "cat", "content": "x"}]):
            self.assert_problem(self.gate.post({"messages": messages}, "/v1/chat/completions"), 400, "bad-input")


ON_A_FAKE_GPU = f'''
import sys
sys.path.insert(0, {str(BROKEN.parent)!r})
import hf_model


class Broken(hf_model.Broken):
    """Debian's PyTorch can't compute on the lane's GPU, which is fake."""

    def load(self, lane):
        lane.device, lane.devices = "cpu", ["cpu"]
        super().load(lane)
'''


@unittest.skipIf(has_real_driver(), "this machine has a driver of its own")
class Breaks(NativeCase):
    def test_errors_of_the_generating_thread_are_told_apart(self):
        gpu = use_fake_gpu(self)
        self.env["PYTHONPATH"] = str(FAKE)
        gate = self.serve(self.model(ON_A_FAKE_GPU, "broken.py"), pool={**gpu, "lanes": 2})
        known = [lane["pid"] for lane in gate.status()["lanes"]]
        text = gate.post(HELLO).body

        answer = gate.post({**HELLO, "do": "out of memory"})
        self.assert_problem(answer, 500, "out-of-memory")
        self.assertIn("Tried to allocate", answer.json()["detail"])
        gate.wait_ready()
        self.assertEqual([lane["pid"] for lane in gate.status()["lanes"]], known)
        for lane in (0, 1):
            self.assertEqual(gate.post(HELLO, headers=[("Turnpike-Lane", str(lane))]).body, text)

        with Client(gate.port) as other:
            other.request("POST", "/predict", json.dumps({**HELLO, "max_new_tokens": 500, "events": True}).encode(),
                          [("Turnpike-Lane", "1")])
            head = other.head()
            self.assert_problem(gate.post({**HELLO, "do": "device assert"}), 502, "poison")
            events = other.body_of(head).body.decode().split("\n\n")
        self.assertEqual(json.loads(events[-2][6:])["tokens"], 500)
        gate.wait_ready()
        self.assertNotEqual(gate.lane(0)["pid"], known[0])
        self.assertEqual(gate.post(HELLO).body, text)
        for crash in self.crashes(gate):
            self.assertIn("unhealthy", json.dumps(crash))


class Missing(NativeCase):
    def test_a_python_without_transformers_is_told_what_to_install(self):
        self.env["PYTHONPATH"] = ""
        gate = self.start(str(EXAMPLE), "--gpus", "none", "--lanes", "1", "--python", "/usr/bin/python3")
        found = wait_until(lambda: [line for line in gate.process.output().splitlines() if "No module named" in line],
                           "up says what is missing")
        self.assertIn("ModuleNotFoundError: No module named 'transformers'", found[0])
        self.assertIn("pip install torch transformers accelerate", found[0])
        self.assertIn("/usr/bin/python3", found[0])


if __name__ == "__main__":
    unittest.main()
