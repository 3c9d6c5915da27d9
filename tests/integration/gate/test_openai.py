"""Tests OpenAI's API: requests and answers pass unchanged, and the field "model" picks the pool."""
import json
import subprocess
import unittest

from harness import POOL, Case


class OpenAi(Case):
    """There are two pools of FastAPI workers, each with its own model."""


    def pools(self, **extra):
        big, small = self.fastapi_worker("--model", "big"), self.fastapi_worker("--model", "small")
        return {"pool.big": {"attach": [big.url], "models": ["big", "big-latest"], **POOL,
                             **extra.get("big", {})},
                "pool.small": {"attach": [small.url], "models": ["small"], **POOL,
                               **extra.get("small", {})}}

    def chat(self, **keys):
        return {"messages": [{"role": "user", "content": "hi"}], **keys}

    def test_the_model_field_picks_the_pool_in_every_kind_of_request(self):
        gate = self.gate(sections=self.pools(small={"default": True}))
        with self.subTest("a plain answer"):
            for model, served_by in (("big", "big"), ("big-latest", "big"), ("small", "small"),
                                     ("unknown", "small")):
                answer = gate.post(self.chat(model=model), "/v1/chat/completions")
                self.assertEqual((answer.status, answer.json()["served_by"]), (200, served_by))
                self.assertEqual(answer.json()["model"], model)
        with self.subTest("curl -N"):
            self.assert_stream_through_curl(gate)
        with self.subTest("the last key, after a long prompt"):
            self.assert_long_prompt(gate)
        with self.subTest("chunked"):
            self.assert_chunked(gate)
        with self.subTest("by path and by header"):
            self.assert_named_pool(gate)
        with self.subTest("not JSON"):
            answer = gate.ask("POST", "/v1/chat/completions", b"{nonsense",
                              [("Content-Type", "application/json")])
            self.assert_problem(answer, 400, "bad-json")
        with self.subTest("other types are not read"):
            answer = gate.ask("GET", "/health")
            self.assertEqual(answer.status, 200)

    def assert_stream_through_curl(self, gate):
        task = json.dumps(self.chat(model="big", stream=True))
        curl = subprocess.run(
            ["curl", "-sSN", "-i", f"http://127.0.0.1:{gate.port}/v1/chat/completions",
             "-H", "Content-Type: application/json", "-d", task],
            capture_output=True, env=self.env, timeout=30)
        head, body = curl.stdout.decode().split("\r\n\r\n", 1)
        self.assertIn("content-type: text/event-stream", head.lower())
        self.assertNotIn("content-encoding", head.lower())
        events = body.split("\n\n")
        self.assertEqual(events[-2:], ["data: [DONE]", ""])
        said = [json.loads(event.removeprefix("data: ")) for event in events[:-2]]
        self.assertEqual("".join(event["choices"][0]["delta"]["content"] for event in said),
                         "You said 1 things…")
        self.assertEqual({event["served_by"] for event in said}, {"big"})

    def assert_long_prompt(self, gate):
        for size in (1 << 20, 3 << 20):
            prompt = [{"role": "user", "content": 'a "model": "small" \\ ' + "x" * size}]
            answer = gate.post({"messages": prompt, "model": "big"}, "/v1/chat/completions")
            self.assertEqual((answer.status, answer.json()["served_by"]), (200, "big"))

    def assert_chunked(self, gate):
        body = json.dumps(self.chat(model="big")).encode()
        client = gate.connect()
        client.send(b"POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\n"
                    b"Content-Type: application/json; charset=utf-8\r\n"
                    b"Transfer-Encoding: chunked\r\n\r\n")
        for i in range(len(body)):
            client.send(b"1\r\n%s\r\n" % body[i:i + 1])
        client.send(b"0\r\n\r\n")
        self.assertEqual(client.answer().json()["served_by"], "big")

    def assert_named_pool(self, gate):
        for model, target, headers in (
                ("small", "/-/to/big/v1/chat/completions", []),
                ("small", "/v1/chat/completions", [("Turnpike-Pool", "big")])):
            answer = gate.post(self.chat(model=model), target, headers)
            self.assertEqual((answer.status, answer.json()["served_by"]), (200, "big"))
        answer = gate.post({}, "/-/to/nobody/x")
        self.assert_problem(answer, 404, "no-pool")
        self.assertIn("big, small", answer.json()["detail"])
        self.assert_problem(gate.post({}, "/x", [("Turnpike-Pool", "nobody")]), 404, "no-pool")

    def test_without_a_default_pool_an_unknown_model_gets_404(self):
        gate = self.gate(sections=self.pools())
        answer = gate.post(self.chat(model="unknown"), "/v1/chat/completions")
        self.assert_problem(answer, 404, "no-pool")
        self.assertIn("unknown", answer.json()["detail"])
        answer = gate.post(self.chat(), "/v1/chat/completions")
        self.assert_problem(answer, 404, "no-pool")
        answer = gate.ask("GET", "/v1/models")
        self.assert_problem(answer, 404, "no-pool")
        answer = gate.post(self.chat(model="small"), "/v1/chat/completions")
        self.assertEqual(answer.json()["served_by"], "small")


if __name__ == "__main__":
    unittest.main()
