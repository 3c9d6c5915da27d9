"""ASGI apps in a real worker process: the frames that it sends to a small gate."""
import sys
import time
import unittest
from pathlib import Path

from conversation import frames
from hosted_app import HTTP, AppCase

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "sdk" / "python"))

from turnpike import testing  # noqa: E402


class Answers(AppCase):
    def test_a_whole_answer_is_one_frame(self):
        talk = self.host("await send(start(201, (b'X-A', b'b'), (b'content-length', b'2')))\nawait send(body(b'ab'))")
        self.get(talk)
        frame = talk.gate.next()
        self.assertEqual((frame.name, frame.status, frame.fields, frame.body), ("done", 201, b"x-a: b\r\n", b"ab"))

    def test_a_body_is_bytes_of_any_kind_and_nothing_else(self):
        lines = "await send(start()); await send({'type': 'http.response.body', 'body': %s})"
        for given in ("b'ab'", "bytearray(b'ab')", "memoryview(b'axb')[::2]"):
            self.assertEqual(self.host(lines % given).ask(body=b"").body, b"ab", given)
        for given in ("5", "'ab'", "[97, 98]", "None"):
            self.assert_fails(self.host(lines % given).ask(body=b""), frames.EXCEPTION, "bytes-like")

    def test_a_head_does_not_wait_for_its_body(self):
        path = self.fifo()
        talk = self.host(f"await send(start())\nawait asyncio.to_thread(lambda: open({str(path)!r}).read())\nawait send(body(b'late'))")
        self.get(talk)
        self.assertEqual(talk.gate.until("begin", "done").name, "begin")
        self.release(path)
        self.assertEqual(talk.gate.until("chunk").rest, b"late")
        self.assertEqual(talk.gate.until("done").status, 0)

    def test_a_stream_of_known_length_announces_it(self):
        talk = self.host("await send(start(200, (b'Content-Length', b'4')))\nawait send(body(b'ab', True))\nawait send(body(b'cd'))")
        self.get(talk)
        self.assertEqual(talk.gate.until("begin").fields, b"Content-Length: 4\r\n")
        self.assertEqual([talk.gate.next().name for _ in range(3)], ["chunk", "chunk", "done"])

    def test_a_body_of_the_announced_length_is_whole_before_the_app_says_so(self):
        talk = self.host("await send(start(200, (b'Content-Length', b'4')))\nawait send(body(b'abcd', True))\n"
                         "await asyncio.sleep(0)\nawait send(body(b'', True)); await send(body())\nprint('after', flush=True)")
        self.get(talk)
        frame = talk.gate.next()
        self.assertEqual((frame.name, frame.status, frame.body), ("done", 200, b"abcd"))
        self.assertEqual(talk.stop(), 0)
        self.assertEqual((talk.stdout(), "Traceback" in talk.stderr()), ("after\n", False))

    def test_the_client_stays_until_the_app_has_ended_the_answer(self):
        """Else Starlette's middleware would cancel what the app does after the body."""
        talk = self.host("""
waiting = asyncio.ensure_future(receive()); await waiting
waiting = asyncio.ensure_future(receive())
await send(start(200, (b'Content-Length', b'4'))); await send(body(b'abcd', True))
for _ in range(20): await asyncio.sleep(0)
print(waiting.done(), flush=True)
await send(body())
print((await waiting)["type"], flush=True)""")
        self.assertEqual(talk.ask(body=b"").body, b"abcd")
        self.assertEqual(talk.stop(), 0)
        self.assertEqual(talk.stdout(), "False\nhttp.disconnect\n")

    def test_what_comes_after_a_whole_body_is_an_error_in_the_log(self):
        begin = "await send(start(200, (b'Content-Length', b'4'))); await send(body(b'abcd', True))\n"
        for line, words in (("await send(body(b'e'))", "longer than Content-Length"), ("await send(start())", "Expected ASGI message 'http.response.body'"),
                            ("pass", "returned without completing response"), ("await send(body()); await send(body())", "already completed")):
            talk = self.host(begin + line)
            self.assertEqual(talk.ask(body=b"").body, b"abcd")
            self.assertEqual(talk.stop(), 0)
            self.assertIn(words, talk.stderr())

    def test_head_is_told_the_length_and_no_body(self):
        talk = self.host("await send(start(200, (b'content-length', b'4')))\nawait send(body(b'abcd' if scope['path'] == '/full' else b''))")
        for target in ("/full", "/none"):
            self.get(talk, target, "HEAD")
            self.assertEqual(talk.gate.until("begin").fields, b"Content-Length: 4\r\n")
            self.assertEqual(talk.gate.next().name, "done")

    def test_a_huge_piece_is_cut_and_held_back_after_pause(self):
        talk = self.host("await send(start())\nawait send(body(b'x' * (64 << 20), True))\nawait send(body())")
        number = self.get(talk)
        talk.gate.until("begin")
        talk.order(frames.PAUSE, number)
        talk.order(frames.PING, 5)
        size = 0
        while (frame := talk.gate.next()).name != "pong":
            self.assertLessEqual(len(frame.rest), 1 << 20)
            size += len(frame.rest)
        after = 0
        talk.order(frames.ASK_STACKS, 6)
        while (frame := talk.gate.next()).name != "stacks":
            after += len(frame.rest)
        self.assertLess(after, 8 << 20)
        talk.order(frames.RESUME, number)
        while (frame := talk.gate.next()).name == "chunk":
            after += len(frame.rest)
        self.assertEqual((frame.name, size + after), ("done", 64 << 20))


class Requests(AppCase):
    def test_a_large_body_comes_in_pieces(self):
        talk = self.host("""
sizes = []
while True:
    message = await receive()
    sizes.append(len(message["body"]))
    if not message["more_body"]:
        break
await send(start()); await send(body(f"{sum(sizes)} {max(sizes)} {len(sizes) > 3}".encode()))""")
        self.assertEqual(talk.ask(body=b"x" * 3_000_000).body, b"3000000 262144 True")
        self.assertEqual(talk.ask(body=b"x" * 1000).body, b"1000 1000 False")

    def test_after_the_body_receive_waits_for_the_client_to_leave(self):
        talk = self.host("""
await receive()
await send(start()); await send(body(b"begun", True))
assert (await receive())["type"] == "http.disconnect"
assert turnpike.job().cancelled
await send(body(b"to nobody", True))
await send(body())""")
        number = self.get(talk)
        talk.gate.until("chunk")
        talk.order(frames.CANCEL, number)
        self.assert_fails(talk.gate.until("chunk", "done", "failed"), frames.CANCELLED)
        self.assertEqual(talk.stop(), 0)
        self.assertNotIn("Traceback", talk.stderr())

    def test_sending_to_a_client_that_is_gone_returns_at_once_but_yields_now_and_then(self):
        """send() to a client that is gone returns at once, so that a cancel meets the app in an `await` of its own. An app that
        only sends still yields to the loop now and then."""
        talk = self.host("""
await send(start()); await send(body(b"begun", True))
while not turnpike.job().cancelled:
    await asyncio.sleep(0.001)
turns = []
asyncio.get_running_loop().call_soon(turns.append, 1)
await send(body(b"to nobody", True))
print(turns, flush=True)
while not turns:
    await send(body(b"to nobody", True))
await send(body())""")
        number = self.get(talk)
        talk.gate.until("chunk")
        talk.order(frames.CANCEL, number)
        self.assert_fails(talk.gate.until("done", "failed"), frames.CANCELLED)
        self.assertEqual(talk.stdout(), "[]\n")

    def test_after_the_answer_receive_says_disconnect_and_the_call_goes_on(self):
        talk = self.host("""
async def late():
    return await receive()
await receive()
waiting = asyncio.ensure_future(late())
await asyncio.sleep(0)
await send(start()); await send(body())
print((await waiting)["type"], (await receive())["type"], flush=True)""")
        self.get(talk)
        self.assertEqual(talk.gate.until("done").status, 200)
        self.assertEqual(talk.stop(), 0)
        self.assertIn("http.disconnect http.disconnect", talk.stdout())

    def test_a_job_cancelled_before_it_began_is_not_called(self):
        path = self.fifo()
        talk = self.host(f"print('called', flush=True)\nopen({str(path)!r}).read()\nawait send(start()); await send(body())", slots=2)
        first = self.get(talk)
        while "called" not in talk.stdout():
            time.sleep(0.005)
        second = self.get(talk)
        talk.order(frames.CANCEL, second)
        talk.order(frames.PING, 1)
        talk.gate.until("pong")  # the watch has read all of it
        self.release(path)
        ends = {(frame := talk.gate.until("done", "failed")).id: frame for _ in range(2)}
        self.assertEqual(ends[first].name, "done")
        self.assert_fails(ends[second], frames.CANCELLED)
        self.assertEqual(talk.stdout().count("called"), 1)


class Failures(AppCase):
    TYPES = ("Full = type('OutOfMemoryError', (RuntimeError,), {'__module__': 'torch'})\n"
             "Sick = type('AcceleratorError', (RuntimeError,), {'__module__': 'torch', 'error_code': 710})\n")
    SERVER_ERROR = "await send(start(500)); await send(body(b'sorry'))\n"

    def test_the_apps_own_500_stands_and_its_traceback_is_in_the_log(self):
        talk = self.host(self.SERVER_ERROR + "raise ValueError('why')")
        end = talk.ask(body=b"")
        self.assertEqual((end.status, end.body), (500, b"sorry"))
        self.assertIn("ValueError: why", talk.stderr())

    def test_an_exception_that_concerns_the_gate_outranks_the_apps_500(self):
        for raised, why in (("turnpike.Unhealthy('sick')", frames.UNHEALTHY), ("turnpike.BadInput('bad')", frames.BAD_INPUT),
                            ("Full('CUDA out of memory')", frames.OUT_OF_MEMORY), ("Sick('CUDA error')", frames.UNHEALTHY)):
            talk = self.host(self.TYPES + self.SERVER_ERROR + f"raise {raised}", gpus=1)
            self.assert_fails(talk.ask(body=b""), why)

    def test_an_exception_that_a_framework_only_logged_outranks_the_apps_500(self):
        log = "import logging\ntry:\n    raise {}\nexcept Exception:\n    logging.getLogger('some.app').error('%s', 'told', exc_info=True)\n"
        length = "await send(start({}, (b'content-length', b'5'))); await send(body(b'sorry', True)); await send(body())\n"
        sick = self.TYPES + log.format("Sick('device-side assert triggered')")
        talk = self.host(sick + length.format(500), gpus=1)
        self.assert_fails(talk.ask(body=b""), frames.UNHEALTHY)
        for lines in (log.format("ValueError('no more than that')") + length.format(500), sick + length.format(503), sick + length.format(200)):
            self.assertEqual(self.host(lines, gpus=1).ask(body=b"").body, b"sorry")
        self.assertEqual(self.host(sick + length.format(500)).ask(body=b"").body, b"sorry")  # a CPU lane has no sick GPU

    def test_an_error_that_another_job_logged_is_not_this_jobs(self):
        talk = self.host(self.TYPES + """
import logging
if scope["path"] == "/sick":
    try:
        raise Sick("device-side assert triggered")
    except Exception:
        logging.exception("sick")
    await asyncio.sleep(1000)
await send(start(500)); await send(body(b"sorry"))""", slots=2, gpus=1)
        self.get(talk, "/sick")
        while "device-side" not in talk.stderr():
            time.sleep(0.005)
        self.get(talk, "/other")
        self.assertEqual(talk.gate.until("done", "failed").body, b"sorry")

    SICK = TYPES + """
import logging
try:
    raise Sick("device-side assert triggered")
except Exception:
    logging.exception("sick")
"""

    def test_what_was_logged_counts_even_if_the_app_does_not_return_for_long(self):
        talk = self.host(self.SICK + self.SERVER_ERROR + "await asyncio.sleep(1000)", gpus=1)
        self.assert_fails(talk.ask(body=b""), frames.UNHEALTHY)

    def test_odd_records_leave_what_was_logged_and_break_nothing(self):
        odd = "logging.raiseExceptions = False\nfor odd in ((None, None, None), (ValueError,), (1, 2, 3), 1):\n    logging.error('odd', exc_info=odd)\n"
        talk = self.host(self.SICK + odd + self.SERVER_ERROR, gpus=1)
        self.assert_fails(talk.ask(body=b""), frames.UNHEALTHY)

    def test_what_was_logged_is_not_kept_by_a_task_that_the_job_left_behind(self):
        talk = self.host("""
import logging, weakref
kept = []

class Tensor:
    pass

def work():
    tensor = Tensor()
    kept.append(weakref.ref(tensor))
    raise ValueError("as ever")

async def of_all_jobs(said):
    said.set()
    while True:
        await asyncio.sleep(0.001)
        if len(kept) < 2:
            await log()

async def log():
    try:
        work()
    except Exception:
        logging.exception("told")

async def app(scope, receive, send):
    assert scope["type"] == "http"
    if not kept:
        await log()
        said = asyncio.Event()
        app.task = asyncio.create_task(of_all_jobs(said))
        await said.wait()
        return await send(start()) or await send(body())
    while len(kept) < 2:
        await asyncio.sleep(0.001)
    await send(start()); await send(body(b"%d" % sum(tensor() is not None for tensor in kept)))
""")
        self.get(talk)
        talk.gate.until("done")
        self.assertEqual(talk.ask(body=b"").body, b"0")

    def test_a_500_is_not_held_for_long(self):
        talk = self.host(self.SERVER_ERROR + "await asyncio.sleep(1000)")
        self.assertEqual(talk.ask(body=b"").body, b"sorry")

    def test_an_exception_before_the_start_is_a_failed_job(self):
        talk = self.host("raise ValueError('early')")
        self.assert_fails(talk.ask(body=b""), frames.EXCEPTION, "early")
        self.assertIn("ValueError: early", talk.stderr())

    def test_an_exception_after_the_answer_is_only_in_the_log(self):
        talk = self.host("await send(start()); await send(body(b'fine'))\nraise ValueError('late')")
        self.assertEqual(talk.ask(body=b"").body, b"fine")
        self.assertEqual(talk.stop(), 0)
        self.assertIn("ValueError: late", talk.stderr())


class Facts(AppCase):
    def test_say_that_it_is_an_app_and_of_what(self):
        self.assertEqual(self.start(HTTP).ready().facts, b'{"asgi": "function"}')
        self.assertEqual(self.start(HTTP + "class Falcon:\n    async def __call__(self, scope, receive, send): ...\napp = Falcon()\n")
                         .ready().facts, b'{"asgi": "Falcon"}')


class Loops(AppCase):
    NAMED = HTTP + "    name = type(asyncio.get_running_loop()).__module__\n    await send(start()); await send(body(name.encode()))\n"
    ENDS = HTTP + ("    async def end():\n        raise SystemExit(7)\n    task = asyncio.ensure_future(end())\n"
                   "    await send(start()); await send(body(b'fine'))\n")

    def test_is_uvloops_where_that_is_installed_as_under_uvicorn(self):
        for environment, words in (({}, b"uvloop"), ({"UVICORN_LOOP": "asyncio"}, b"asyncio.unix_events")):
            talk = self.start(self.NAMED, **environment)
            talk.ready()
            self.assertEqual(talk.ask(body=b"").body, words, "this needs Debian's python3-uvloop")

    def test_a_task_of_the_apps_own_may_end_the_process(self):
        for environment in ({}, {"UVICORN_LOOP": "asyncio"}):
            talk = self.start(self.ENDS, **environment)
            talk.ready()
            self.assertEqual(talk.ask(body=b"").body, b"fine")
            self.assertEqual(talk.exit_code(), 7)
            self.assertIn("the model ended its own process, by sys.exit(7)", talk.stderr())

    def test_a_loop_that_computes_answers_pings_and_shows_its_stacks(self):
        path = self.fifo()
        talk = self.host(f"wait_here = open({str(path)!r}).read()\nawait send(start()); await send(body())")
        self.get(talk)
        with open(path, "w"):  # now the app is reading, and gets nothing
            talk.order(frames.PING, 1)
            self.assertEqual(talk.gate.until("pong").id, 1)
            talk.order(frames.ASK_STACKS, 2)
            self.assertIn(b"wait_here = open", talk.gate.until("stacks").rest)
        self.assertEqual(talk.gate.until("done").status, 200)

    def test_stop_does_not_wait_for_a_loop_that_computes(self):
        talk = self.host(f"open({str(self.fifo())!r}).read()")
        self.get(talk)
        self.assertEqual(talk.stop(), 0)


class Testing(unittest.TestCase):
    def test_an_app_can_be_served_to_a_unit_test(self):
        async def app(scope, receive, send):
            assert scope["type"] == "http"
            size = len((await receive())["body"])
            await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"text/plain")]})
            await send({"type": "http.response.body", "body": b"%d bytes to %s" % (size, scope["raw_path"])})

        with testing.serve(app) as model:
            self.assertEqual(model.post("/a", b"123").body, b"3 bytes to /a")
            self.assertEqual(model.predict("12"), "4 bytes to /predict")
            self.assertIs(model.model, app)


if __name__ == "__main__":
    unittest.main()
