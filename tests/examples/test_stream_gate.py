"""examples/stream behind the real gate: server-sent events as they come, four lanes at once, clients that leave, bad input."""
import json
import unittest

import stream_data
from harness import PYTHON, wait_until
from started_case import StartedCase
from stream_data import BAD, chat, events, text_of

ENDLESS = {"max_tokens": 1_000_000, "ignore_eos": True}  # takes minutes
PATH = "/v1/chat/completions"


class Serving(StartedCase):
    def serve(self, lanes=1):
        return self.start(str(stream_data.EXAMPLE), "--python", PYTHON, "--gpus", "none", "--lanes", str(lanes)).wait_ready()

    def open(self, gate, body, path=PATH, headers=()):
        """Returns a client whose answer has begun, and the answer's head."""
        client = gate.connect()
        client.request("POST", path, json.dumps(body).encode(), headers)
        return client, client.head()

    def endless(self, gate):
        """Returns a client of a text that takes minutes to write."""
        client, head = self.open(gate, chat(stream=True, **ENDLESS))
        self.assertEqual(head.status, 200, head)
        self.assertTrue(client.chunk().startswith(b"data: {"))
        return client, head

    def wait_outcome(self, gate, head):
        """Waits until the gate reports how this job ended, and returns that."""
        def ended():
            return next((job for job in gate.ended_jobs() if job["id"] == head.header("turnpike-job")), None)
        return wait_until(ended, "the job has ended")["outcome"]


class Streams(Serving):
    def test_the_folder_serves_four_lanes_which_have_proved_themselves(self):
        gate = self.start(str(stream_data.EXAMPLE), "--python", PYTHON, "--gpus", "none").wait_ready()
        self.assertEqual([lane["state"] for lane in gate.status()["lanes"]], ["ready"] * 4)
        self.assertEqual((gate.pool()["pool"], gate.pool()["proof"]), ("babble", "passed"))
        texts = {text_of(events(gate.post(chat(stream=True), PATH, [("Turnpike-Lane", str(lane))]).body)) for lane in range(4)}
        self.assertEqual(len(texts), 1, "the same seed, the same text, on each of them")

    def test_events_come_one_by_one_and_are_framed_strictly(self):
        gate = self.serve()
        client, head = self.open(gate, chat(stream=True, stream_options={"include_usage": True}))
        self.assertEqual((head.status, head.header("content-type")), (200, "text/event-stream"))
        self.assertEqual((head.header("cache-control"), head.header("transfer-encoding")), ("no-cache", "chunked"))
        answer = client.body_of(head)
        pieces = events(answer.body)
        self.assertEqual(pieces[0]["id"], "chatcmpl-" + head.header("turnpike-job"))
        self.assertEqual(pieces[-1]["usage"]["completion_tokens"], 60)
        self.assertEqual(text_of(pieces), gate.post(chat(), PATH).json()["choices"][0]["message"]["content"])

    def test_the_first_event_is_there_long_before_the_last(self):
        gate = self.serve()
        client, head = self.endless(gate)
        [job] = [job for job in gate.live_jobs() if job["id"] == head.header("turnpike-job")]
        self.assertEqual(job["state"], "running")
        client.close()

    def test_predict_streams_plain_text(self):
        gate = self.serve()
        answer = gate.post({"text": "A lane is", "seed": 1, "max_tokens": 50})
        self.assertEqual((answer.status, answer.header("content-type")), (200, "text/plain; charset=utf-8"))
        self.assertEqual(len(answer.body.decode()), 50)

    def test_the_model_is_listed_while_the_only_lane_writes(self):
        gate = self.serve()
        client, _ = self.endless(gate)
        self.assertEqual(gate.ask("GET", "/v1/models").json()["data"][0]["id"], "babble")
        self.assertEqual(gate.ask("GET", "/v1/models/gpt-4o").json()["error"]["code"], "model_not_found")
        self.assertEqual(gate.ask("GET", "/").status, 200)
        client.close()


class Lanes(Serving):
    def test_four_texts_are_written_at_once(self):
        gate = self.serve(lanes=4)
        open_ones = [self.endless(gate) for _ in range(4)]
        self.assertEqual({head.header("turnpike-lane") for _, head in open_ones}, set("0123"))
        for _ in range(5):
            for client, _ in open_ones:
                self.assertTrue(client.chunk().startswith(b"data: {"))
        for client, head in open_ones:
            client.close()
            self.assertEqual(self.wait_outcome(gate, head), "cancelled")

    def test_a_client_that_leaves_frees_the_lane_and_the_worker_lives_on(self):
        gate = self.serve()
        pid = gate.lane(0)["pid"]
        client, head = self.endless(gate)
        waiting = self.in_thread(gate.post, chat(), PATH)
        gate.wait_queued(1)
        client.close()
        self.assertEqual(waiting.result().status, 200)
        self.assertEqual(self.wait_outcome(gate, head), "cancelled")
        self.assertEqual((gate.lane(0)["pid"], gate.lane(0)["restarts"]), (pid, 0))

    def test_a_client_that_leaves_before_a_whole_answer_frees_the_lane(self):
        gate = self.serve()
        pid = gate.lane(0)["pid"]
        client = gate.connect()
        client.request("POST", PATH, json.dumps(chat(**ENDLESS)).encode())
        gate.wait_lane(0, "busy")
        [job] = gate.live_jobs()
        client.close()
        [ended] = wait_until(lambda: [one for one in gate.ended_jobs() if one["id"] == job["id"]], "the job has ended")
        self.assertEqual(ended["outcome"], "cancelled")
        gate.wait_lane(0, "ready")
        self.assertEqual((gate.lane(0)["pid"], gate.lane(0)["restarts"]), (pid, 0))


class BadInput(Serving):
    def test_is_answered_as_openai_would(self):
        gate = self.serve()
        for wrong, status, param, code in BAD:
            with self.subTest(wrong=str(wrong)[:80]):
                answer = gate.post(chat(**wrong), PATH)
                self.assertEqual((answer.status, answer.header("content-type")), (status, "application/json"), answer)
                self.assertEqual((answer.json()["error"]["param"], answer.json()["error"]["code"]), (param, code))
        self.assertEqual(gate.ask("POST", PATH, b"{").json()["error"]["type"], "invalid_request_error")
        self.assertEqual(gate.ask("DELETE", PATH).status, 405)
        self.assert_problem(gate.post({"text": 1}), 400, "bad-input")
        self.assertEqual(gate.lane(0)["restarts"], 0)


if __name__ == "__main__":
    unittest.main()
