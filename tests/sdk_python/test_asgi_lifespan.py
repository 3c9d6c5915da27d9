"""The lifespan of an ASGI app: start-up is loading, shutdown comes at the end."""
import sys
import unittest
from pathlib import Path

from hosted_app import TOOLS, AppCase

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "sdk" / "python"))

from turnpike._worker.fake_gate import WorkerGone  # noqa: E402


class Lifespans(AppCase):
    APP = """
async def app(scope, receive, send):
    if scope["type"] == "lifespan":
        {lifespan}
    else:
        await send(start()); await send(body(str(scope["state"]).encode()))
"""

    def lived(self, *lines):
        return TOOLS + self.APP.format(lifespan="\n        ".join(lines))

    def refused(self, *lines):
        talk = self.start(self.lived(*lines))
        with self.assertRaises(WorkerGone):
            talk.ready()
        self.assertEqual(talk.exit_code(), 1)
        return talk.stderr()

    def test_start_up_comes_before_ready_and_shutdown_at_stop(self):
        talk = self.serve(self.lived("await receive(); print('up', flush=True); scope['state']['a'] = 1",
                                     "await send({'type': 'lifespan.startup.complete'})",
                                     "print((await receive())['type'], flush=True)",
                                     "await send({'type': 'lifespan.shutdown.complete'})", "print('after', flush=True)"))
        self.assertEqual(talk.stdout(), "up\n")
        self.assertEqual(talk.ask(body=b"").body, b"{'a': 1}")
        self.assertEqual(talk.stop(), 0)
        self.assertEqual(talk.stdout(), "up\nlifespan.shutdown\nafter\n")

    def test_a_start_up_that_fails_is_told_in_its_own_words(self):
        said = self.refused("await receive(); await send({'type': 'lifespan.startup.failed', 'message': 'no weights'})")
        self.assertIn("turnpike: no weights", said)
        said = self.refused("await receive(); await send({'type': 'lifespan.startup.failed', 'message': 'see below'})",
                            "raise ValueError('the reason')")
        self.assertIn("ValueError: the reason", said)

    def test_an_exception_after_startup_was_taken_is_a_failure(self):
        self.assertIn("ValueError: the reason", self.refused("await receive(); raise ValueError('the reason')"))

    def test_an_app_that_does_not_speak_it_is_served(self):
        for line in ("raise ValueError('only http')", "return"):
            self.assertEqual(self.serve(self.lived(line)).ask(body=b"").body, b"{}")

    def test_a_shutdown_that_hangs_or_fails_ends_nevertheless(self):
        for line, words in (("await asyncio.sleep(1000)", "did not end within 2 s"), ("raise ValueError('in the end')", "ValueError: in the end"),
                            ("await send({'type': 'lifespan.shutdown.failed', 'message': 'still open'})", "shutdown failed: still open")):
            talk = self.serve(self.lived("await receive(); await send({'type': 'lifespan.startup.complete'}); await receive()", line))
            self.assertEqual(talk.stop(), 0)
            self.assertIn(words, talk.stderr())


if __name__ == "__main__":
    unittest.main()
