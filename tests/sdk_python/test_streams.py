"""Generators: what streams, how a stream is paused, and how it ends."""
import unittest

from conversation import TalkCase, frames

MODES = {"sync": ("def", {}), "threads": ("def", {"slots": 3}), "async": ("async def", {})}
WORDS = """
import turnpike
class Words(turnpike.Model):
    DEF predict(self, x):
        try:
            for item in eval(x):
                yield item
        except GeneratorExit:
            print("closed")
            raise
"""
ENDLESS = """
import turnpike
class Endless(turnpike.Model):
    DEF predict(self, size):
        n = 0
        try:
            while True:
                n += 1
                yield str(n) + "." * size
        finally:
            print("ended")
"""


class Streams(TalkCase):
    def each_mode(self, source):
        """Yields (name, worker) for each way in which workers run models."""
        for name, (define, welcome) in MODES.items():
            yield name, self.serve(source.replace("DEF", define), **welcome)

    def stream(self, talk, expression):
        number = talk.send(expression)
        frame = talk.gate.next()
        self.assertEqual((frame.name, frame.id), ("begin", number), frame)
        items = []
        while (following := talk.gate.next()).name == "chunk":
            self.assertEqual(following.id, number)
            items.append(following.rest)
        return frame.fields, items, following

    def test_text_bytes_and_events(self):
        for mode, talk in self.each_mode(WORDS):
            with self.subTest(mode):
                for expression, kind, chunks in [("['a', '', 'é']", b"text/plain; charset=utf-8", [b"a", "é".encode()]),
                                                 ("[b'\\xff', b'b']", b"application/octet-stream", [b"\xff", b"b"]),
                                                 ("[{'t': 1}, {'t': None}]", b"text/event-stream", [b'data: {"t":1}\n\n', b'data: {"t":null}\n\n']),
                                                 ("[]", b"text/plain; charset=utf-8", [])]:
                    fields, items, end = self.stream(talk, expression)
                    self.assertEqual((fields, items), (b"Content-Type: " + kind + b"\r\n", chunks))
                    self.assertEqual((end.name, end.status, end.fields, end.body), ("done", 0, b"", b""))

    def test_a_big_item_comes_in_several_chunks(self):
        for mode, talk in self.each_mode(WORDS):
            with self.subTest(mode):
                _, items, end = self.stream(talk, "[b'12345' * 500_000]")
                self.assertEqual([len(item) for item in items], [1 << 20, 1 << 20, 2_500_000 - (2 << 20)])
                self.assertTrue(b"".join(items) == b"12345" * 500_000)
                self.assertEqual(end.name, "done")

    def test_what_can_not_be_streamed_breaks_it_off(self):
        for mode, talk in self.each_mode(WORDS):
            with self.subTest(mode):
                for expression, why, words in [("['a', b'b']", frames.EXCEPTION, "after str came bytes"), ("['a', 1]", frames.EXCEPTION, "not int"),
                                               ("[{}, {'a': float('nan')}]", frames.NON_FINITE, "nan"),
                                               ("map(lambda n: 'x' * (3 // n), [1, 0])", frames.EXCEPTION, "division")]:
                    _, items, end = self.stream(talk, expression)
                    self.assertEqual(len(items), 1)
                    self.assert_fails(end, why, words)

    def test_a_failure_before_the_first_item_is_an_ordinary_one(self):
        for mode, talk in self.each_mode(WORDS):
            with self.subTest(mode):
                self.assert_fails(talk.ask("1 / 0"), frames.EXCEPTION, "division")
                self.assert_fails(talk.ask("[1]"), frames.EXCEPTION, "must yield str, bytes or dict, not int")

    def test_cancel_closes_the_generator(self):
        for mode, talk in self.each_mode(ENDLESS):
            with self.subTest(mode):
                number = talk.send(1)
                talk.gate.until("chunk")
                talk.order(frames.CANCEL, number)
                self.assert_fails(talk.gate.until("failed", "done"), frames.CANCELLED)
                self.assertEqual(talk.stdout(), "ended\n")

    def test_pause_holds_the_chunks_until_resume(self):
        for mode, talk in self.each_mode(ENDLESS):
            with self.subTest(mode):
                number = talk.send(1000)
                talk.gate.until("chunk")
                talk.order(frames.PAUSE, number)
                talk.order(frames.PING, 1)
                talk.gate.until("pong")
                after = 0  # chunks after the pause; one may have been sent before it
                for ping in range(2, 12):
                    talk.order(frames.PING, ping)
                    while (frame := talk.gate.next()).name == "chunk":
                        after += 1
                    self.assertEqual(frame.id, ping)
                self.assertLessEqual(after, 1)
                talk.order(frames.RESUME, number)
                self.assertEqual(talk.gate.next().name, "chunk")
                talk.order(frames.CANCEL, number)
                talk.gate.until("failed")

    def test_cancel_ends_a_paused_stream(self):
        for mode, talk in self.each_mode(ENDLESS):
            with self.subTest(mode):
                number = talk.send(1000)
                talk.gate.until("chunk")
                talk.order(frames.PAUSE, number)
                talk.order(frames.CANCEL, number)
                self.assert_fails(talk.gate.until("failed"), frames.CANCELLED)

    def test_a_response_may_stream_and_set_its_own_head(self):
        source = """
            import turnpike
            def predict(x):
                return turnpike.Response((str(n) for n in range(3)), 203, {"X-A": "b"}, "text/csv")
        """
        for define in ("def", "async def"):
            with self.subTest(define):
                talk = self.serve(source.replace("def predict", define + " predict"))
                fields, items, end = self.stream(talk, 1)
                self.assertEqual((fields, items), (b"Content-Type: text/csv\r\nX-A: b\r\n", [b"0", b"1", b"2"]))
                self.assertEqual(end.name, "done")

    def test_an_iterator_that_fails_when_it_is_closed_does_not_end_the_job_twice(self):
        talk = self.serve("""
            class Sour:
                items = iter("ab")
                def __iter__(self): return self
                def __next__(self): return next(self.items)
                def close(self): raise OSError("while closing")
            def predict(x):
                return Sour() if x else "fine"
        """)
        self.assertEqual(self.stream(talk, 1)[2].name, "done")
        self.assertEqual(talk.ask(0).body, b"fine")
        self.assertIn("while closing", talk.stderr())

    def test_stop_ends_a_paused_stream(self):
        for mode, talk in self.each_mode(ENDLESS):
            with self.subTest(mode):
                number = talk.send(1000)
                talk.gate.until("chunk")
                talk.order(frames.PAUSE, number)
                talk.order(frames.STOP)
                self.assert_fails(talk.gate.until("failed"), frames.CANCELLED)
                self.assert_ends(talk)
                self.assertEqual(talk.stdout(), "ended\n")

    def test_request_streams_as_well(self):
        talk = self.serve("def request(req):\n yield req.path\n yield '!'")
        number = talk.send(method="GET", target="/a")
        self.assertEqual([talk.gate.next().name for _ in range(4)], ["begin", "chunk", "chunk", "done"])
        self.assertEqual(number, 1)

    def test_the_models_own_check_sees_all_of_a_proofs_stream(self):
        for define in ("def", "async def"):
            with self.subTest(define):
                talk = self.serve(f"""
                    import turnpike
                    class Proved(turnpike.Model):
                        {define} predict(self, x):
                            for n in range(x): yield str(n)
                        def check(self, items): return items == ["0", "1"]
                """)
                self.assert_fails(talk.ask(3, purpose=frames.PROOF), frames.EXCEPTION, "wrong")
                self.assertEqual(len(self.stream(talk, 3)[1]), 3)
                talk.send(2, purpose=frames.PROOF)
                self.assertEqual([talk.gate.next().name for _ in range(4)], ["begin", "chunk", "chunk", "done"])


if __name__ == "__main__":
    unittest.main()
