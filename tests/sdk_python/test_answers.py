"""What models return, and what clients get for it."""
import json
import os
import unittest

from conversation import TalkCase, frames

KINDS = """
import turnpike
class Kinds(turnpike.Model):
    example = {"give": "1"}
    facts = {"classes": 10}
    def predict(self, x):
        return eval(x["give"])
"""


class Answers(TalkCase):
    def give(self, talk, expression):
        return talk.ask({"give": expression})

    def test_values_become_json_text_is_text_and_bytes_are_bytes(self):
        talk = self.serve(KINDS)
        for expression, kind, body in [("{'a': [1, 2.5, None, True, 'é']}", "application/json", '{"a":[1,2.5,null,true,"é"]}'.encode()),
                                       ("[1]", "application/json", b"[1]"), ("None", "application/json", b"null"),
                                       ("7", "application/json", b"7"), ("{}", "application/json", b"{}"),
                                       ("'digit é'", "text/plain; charset=utf-8", "digit é".encode()), ("''", "text/plain; charset=utf-8", b""),
                                       ("b'\\x00\\xff'", "application/octet-stream", b"\x00\xff"),
                                       ("bytearray(b'ab')", "application/octet-stream", b"ab")]:
            with self.subTest(expression):
                end = self.give(talk, expression)
                self.assertEqual((end.name, end.status, end.body), ("done", 200, body))
                self.assertEqual(end.fields, f"Content-Type: {kind}\r\n".encode())

    def test_a_response_says_it_all_itself(self):
        talk = self.serve(KINDS)
        end = self.give(talk, "turnpike.Response(b'<p>', 201, {'X-Model': 'a'}, 'text/html')")
        self.assertEqual((end.status, end.fields, end.body), (201, b"Content-Type: text/html\r\nX-Model: a\r\n", b"<p>"))
        end = self.give(talk, "turnpike.Response('x', 200, {'Content-Type': 'a/b', 'A': 'c'}, 'd/e')")
        self.assertEqual(end.fields, b"Content-Type: d/e\r\nA: c\r\n")
        end = self.give(talk, "turnpike.Response({'a': 1}, headers=[('Set-Cookie', 'a'), ('Set-Cookie', 'b')])")
        self.assertEqual(end.fields, b"Content-Type: application/json\r\nSet-Cookie: a\r\nSet-Cookie: b\r\n")
        end = self.give(talk, "turnpike.Response('x', headers={'content-type': 'text/csv'})")
        self.assertEqual(end.fields, b"content-type: text/csv\r\n")

    def test_a_response_that_would_break_the_answer_is_the_models_failure(self):
        talk = self.serve(KINDS)
        for expression, words in [("turnpike.Response(b'', 199)", "200 … 599"), ("turnpike.Response(b'', 200, {'A': 'b\\r\\nC: d'})", "header field A"),
                                  ("turnpike.Response(b'', 200, {'Content-Length': '5'})", "Turnpike sets it"),
                                  ("turnpike.Response(b'', 200, {'a b': 'c'})", "name of a header field"),
                                  ("turnpike.Response(b'', 200, {'A': 'x' * 70000})", "at most 65536 bytes")]:
            with self.subTest(expression):
                self.assert_fails(self.give(talk, expression), frames.EXCEPTION, words)

    def test_a_response_is_checked_again_where_it_is_sent(self):
        """Attributes of a Response may be set after it was made, even from a client's input."""
        changes = [("r.content_type = 'a/b\\r\\nSet-Cookie: x=1'", "header field Content-Type"), ("r.content_type = 7", "header field Content-Type"),
                   ("r.status = 99", "200 … 599"), ("r.status = 70_000", "200 … 599"), ("r.status = '200'", "200 … 599"),
                   ("r.headers = {'A': 'b\\r\\nC: d'}", "header field A"), ("r.headers.pairs.append(('A', 'b\\n'))", "header field A"),
                   ("r.headers.pairs.append(('Transfer-Encoding', 'chunked'))", "Turnpike sets it")]
        for define, body in [("def", "b''"), ("async def", "b''"), ("def", "iter(())"), ("def", "iter('ab')"), ("async def", "iter('ab')")]:
            talk = self.serve(f"""
                import turnpike
                {define} predict(change):
                    r = turnpike.Response({body})
                    exec(change)
                    return r
            """)
            for change, words in changes:
                with self.subTest(change, define=define, body=body):
                    self.assert_fails(talk.ask(change), frames.EXCEPTION, words)
            self.assertEqual(talk.ask("r.headers = {'A': 'b'}; r.content_type = 'a/b'; r.status = 299").name, "done")

    def test_nan_and_infinity_are_failures_wherever_they_are(self):
        talk = self.serve(KINDS)
        for expression in ["float('nan')", "{'a': [None, {'b': float('inf')}]}", "[1, (2, -float('inf'))]",
                           "turnpike.Response({'a': float('nan')})"]:
            with self.subTest(expression):
                self.assert_fails(self.give(talk, expression), frames.NON_FINITE, "JSON can't express")
        self.assertEqual(talk.answer({"give": "{'fine': None}"}), {"fine": None})

    def test_values_that_json_cannot_express_are_explained(self):
        talk = self.serve(KINDS)
        self.assert_fails(self.give(talk, "{'a': {1, 2}}"), frames.EXCEPTION, "set can't be encoded as JSON; return a list")
        array = "type('ndarray', (), {'__module__': 'numpy', 'ndim': %d, 'tolist': 0, 'item': 0})()"
        self.assert_fails(self.give(talk, array % 2), frames.EXCEPTION, "a numpy.ndarray can't be encoded as JSON; return its .tolist()")
        self.assert_fails(self.give(talk, "{'a': " + array % 0 + "}"), frames.EXCEPTION, "return its .item()")

    def test_huge_bodies_come_and_go_in_descriptors(self):
        talk = self.serve("""
            import turnpike
            class Echo(turnpike.Model):
                def predict(self, req: turnpike.Request):
                    return req.body
        """)
        for size in (0, 1, 70_000, 1 << 20, (1 << 20) + 1, 5_000_001):
            with self.subTest(size):
                body = bytes(range(251)) * (size // 251 + 1)
                end = talk.ask(body=body[:size])
                self.assertEqual(end.came_in_descriptor, size > 1 << 20)
                self.assertTrue(end.body == body[:size])

    def test_huge_json_comes_in_a_descriptor_too(self):
        talk = self.serve("def predict(x): return {'twice': x + x}")
        end = talk.ask("é" * 1_500_000)
        self.assertTrue(end.came_in_descriptor)
        self.assertEqual(json.loads(end.body), {"twice": "é" * 3_000_000})

    def test_descriptors_of_bodies_are_closed_also_unread(self):
        talk = self.serve("""
            import os, turnpike
            def predict(req: turnpike.Request):
                if req.headers.get("x-read"):
                    req.body
                return {"open": len(os.listdir("/proc/self/fd"))}
        """)
        first = talk.answer(1)["open"]
        body = b"1" * 2_000_000
        self.assertLessEqual(json.loads(talk.ask(body=body).body)["open"], first + 1)
        for fields in [()] * 5 + [[("X-Read", "1")]] * 5:
            talk.ask(body=body, fields=fields)
        self.assertEqual(talk.answer(1)["open"], first)

    def test_a_body_too_large_for_one_read_is_read_in_several(self):
        from turnpike._worker import memfd
        body = bytes(range(256)) * 1000
        fd = memfd.sealed(body)
        self.addCleanup(os.close, fd)
        whole = memfd._ONE_READ
        self.addCleanup(setattr, memfd, "_ONE_READ", whole)
        memfd._ONE_READ = 1000
        real = os.preadv
        self.addCleanup(setattr, os, "preadv", real)
        os.preadv = lambda fd, buffers, at: real(fd, [memoryview(buffers[0])[:70_001]], at)
        self.assertTrue(memfd.read(fd, len(body)) == body)
        with self.assertRaises(OSError):
            memfd.read(fd, len(body) + 1)

    def test_ready_says_what_the_model_is(self):
        talk = self.start(KINDS)
        ready = talk.ready()
        self.assertEqual((ready.slots, ready.batch, ready.has_example, ready.checks), (1, 1, True, False))
        self.assertEqual((ready.type, ready.example, ready.facts), ("application/json", b'{"give":"1"}', b'{"classes":10}'))

    def test_examples_may_be_bytes_or_a_request(self):
        ready = self.start("example = b'abc'\ndef predict(x): return 1").ready()
        self.assertEqual((ready.type, ready.example), ("application/octet-stream", b"abc"))
        ready = self.start("""
            import turnpike
            example = turnpike.Request(body=b"<svg/>", headers={"Content-Type": "image/svg+xml"})
            def predict(req: turnpike.Request): return 1
        """).ready()
        self.assertEqual((ready.type, ready.example), ("image/svg+xml", b"<svg/>"))

    def test_the_models_own_check_judges_proofs_only(self):
        for define in ("def", "async def"):
            with self.subTest(define):
                talk = self.serve(f"""
                    def predict(x): return {{"digit": x}}
                    {define} check(answer): return answer["digit"] == 7
                """)
                self.assertEqual(talk.answer(7, purpose=frames.PROOF), {"digit": 7})
                wrong = talk.ask(3, purpose=frames.PROOF)
                self.assert_fails(wrong, frames.EXCEPTION, "wrong")
                self.assertEqual(wrong.type, "WrongAnswer")
                self.assertEqual(talk.answer(3), {"digit": 3})


if __name__ == "__main__":
    unittest.main()
