"""Which function of a model serves a job, and what the function gets."""
import json
import textwrap
import unittest

from conversation import TalkCase, frames

BOTH = """
import turnpike
class Both(turnpike.Model):
    def predict(self, x):
        return {"predicted": x}
    def request(self, req):
        return {"method": req.method, "path": req.path, "query": req.query, "body": req.body.decode(), "agent": req.headers["user-AGENT"],
                "tags": req.headers.all("x-tag"), "tag": req.headers.get("X-Tag"), "none": req.headers.get("x-none"), "n": len(req.headers)}
"""


class Requests(TalkCase):
    def test_post_to_the_root_and_to_predict_is_predicted(self):
        talk = self.serve(BOTH)
        for target in ("/", "/predict", "/predict?a=1", "/?b"):
            with self.subTest(target):
                self.assertEqual(talk.answer([1], target=target), {"predicted": [1]})

    def test_the_rest_is_requested(self):
        talk = self.serve(BOTH)
        fields = [("User-Agent", "curl"), ("X-Tag", "a"), ("x-tag", " b ")]
        got = json.loads(talk.ask(body=b"hi", method="PUT", target="/v1/a%20b?x=1&y=%41", fields=fields).body)
        self.assertEqual(got, {"method": "PUT", "path": "/v1/a b", "query": "x=1&y=%41", "body": "hi", "agent": "curl", "tags": ["a", "b"],
                               "tag": "a, b", "none": None, "n": 2})
        self.assertEqual(talk.answer(method="GET", target="/predict", fields=fields)["method"], "GET")

    def test_without_request_there_are_404_and_405(self):
        talk = self.serve("def predict(x): return x")
        for method, target, status in [("GET", "/predict", 405), ("GET", "/", 405), ("POST", "/other", 404), ("GET", "/favicon.ico", 404)]:
            with self.subTest(method + target):
                end = talk.ask(body=b"", method=method, target=target)
                self.assertEqual((end.name, end.status), ("done", status))
                self.assertIn(b"Content-Type: application/problem+json\r\n", end.fields)
                self.assertEqual(b"Allow: POST\r\n" in end.fields, status == 405)
                self.assertEqual(json.loads(end.body)["status"], status)
                found = json.loads(end.body)
                self.assertIn("POST", found["detail"])
                code = "not-found" if status == 404 else "method-not-allowed"
                self.assertEqual(found["error"], {"message": found["detail"], "type": "invalid_request_error", "code": code})

    def test_a_model_of_requests_alone_gets_predict_as_well(self):
        talk = self.serve("def request(req): return req.path + str(req.json())")
        self.assertEqual(talk.ask({"a": 1}, target="/predict").body, b"/predict{'a': 1}")

    def test_predict_gets_the_raw_request_if_its_parameter_says_so(self):
        for noted in ("turnpike.Request", "'turnpike.Request'", "'Request'"):
            with self.subTest(noted):
                talk = self.serve(f"""
                    import turnpike
                    class Raw(turnpike.Model):
                        def predict(self, req: {noted}) -> bytes:
                            return req.headers["content-type"].encode() + req.body
                """)
                self.assertEqual(talk.ask(body=b"\xff", fields=[("Content-Type", "image/png")]).body, b"image/png\xff")

    def test_bodies_that_are_not_json_are_the_clients_fault(self):
        talk = self.serve("def predict(x): return x")
        for body, words in [(b"", "the body is empty; send JSON"), (b"{", "the body is not JSON"), (b"[NaN]", "not JSON"), (b"\xff", "not JSON"),
                            (b"1 2", "column 3"), (b"[1,\n2,]", "line 2"), (b"[" * 200_000, "the body is not"), (b"-Infinity", "not JSON")]:
            with self.subTest(body[:10]):
                self.assert_fails(talk.ask(body=body), frames.BAD_INPUT, words)
        self.assertEqual(talk.ask(body=b' {"a": [1e3, "\\u00e9"]}\r\n').body, '{"a":[1000.0,"é"]}'.encode())
        self.assertEqual(talk.stderr(), "")

    def test_the_job_says_what_it_is(self):
        talk = self.serve("""
            import turnpike
            def predict(x):
                job = turnpike.job()
                job.progress(0.4, "step 12/30")
                job.progress(2)
                job.progress(text="é" * 2000)
                return [job.id, job.number, job.attempt, job.cancelled]
        """)
        number = talk.send(1, name="j-é", attempt=3)
        said = [talk.gate.next() for _ in range(3)]
        self.assertEqual([(frame.name, frame.id, frame.permille) for frame in said],
                         [("progress", number, 400), ("progress", number, 1000), ("progress", number, 65535)])
        self.assertEqual(said[0].text, "step 12/30")
        self.assertEqual(said[2].text, "é" * 512)
        self.assertEqual(json.loads(talk.gate.next().body), ["j-é", number, 3, False])

    def test_outside_of_a_job_there_is_an_empty_one(self):
        talk = self.serve("""
            import turnpike
            def load(lane):
                global seen
                turnpike.job().progress(0.5)
                turnpike.job().raise_if_cancelled()
                seen = turnpike.job().id
            def predict(x): return {"seen": seen}
        """)
        self.assertEqual(talk.answer(1), {"seen": ""})

    def test_json_is_the_same_without_orjson_and_with_it(self):
        source = """
            from turnpike._worker import json_text
            def predict(x):
                if x == "nan":
                    return {"a": [None, float("nan")]}
                if x == "set":
                    return {"a": {1, 2}}
                return {"x": x, "orjson": json_text.orjson is not None}
        """
        absent = "raise ImportError('hidden by the test')"
        as_orjson = """
            import json
            OPT_PASSTHROUGH_DATACLASS, OPT_PASSTHROUGH_DATETIME = 1, 2
            loads = json.loads
            def dumps(value, default, option):  # as orjson does: NaN is null, and large numbers are refused
                if "2361183241434822606848" in repr(value):
                    raise TypeError("Integer exceeds 64-bit range")
                return json.dumps(value, separators=(",", ":")).replace("NaN", "null").encode()
        """
        for module, there in ((absent, False), (as_orjson, True)):
            with self.subTest(there=there):
                talk = self.start(source, PYTHONPATH=str(self.folder_with("orjson.py", module)))
                talk.ready()
                for value in ([1.5, None, "é"], {"1": 2 ** 71}, None, "null"):
                    self.assertEqual(talk.answer(value), {"x": value, "orjson": there})
                self.assert_fails(talk.ask("nan"), frames.NON_FINITE, "answer['a'][1] is nan")
                self.assert_fails(talk.ask("set"), frames.EXCEPTION, "set can't be encoded as JSON")
                self.assertIn("NonFinite: ", talk.stderr())
                self.assertIn("TypeError: ", talk.stderr())
                self.assertNotIn("During handling", talk.stderr())

    def folder_with(self, name, source):
        folder = self.folder()
        (folder / name).write_text(textwrap.dedent(source))
        return folder


if __name__ == "__main__":
    unittest.main()
