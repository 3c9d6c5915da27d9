"""Tests ASGI apps on native lanes: lifespan, several jobs at once, failures, and apps that break ASGI's rules."""
import unittest

from client import Client, Truncated
from fake_gpus import has_real_driver, use_fake_gpu
from native_case import NativeCase, SharedGate, wait_until

APP = '''
import asyncio
from contextlib import asynccontextmanager
from fastapi import FastAPI, BackgroundTasks, Request
from fastapi.responses import StreamingResponse


OutOfGpuMemory = type("OutOfMemoryError", (RuntimeError,), {"__module__": "torch"})  # as PyTorch's


@asynccontextmanager
async def lifespan(app):
    yield {"words": "from the lifespan", "seen": 0}


app = FastAPI()
app.router.lifespan_context = lifespan  # FastAPI(lifespan=…) came later than Debian's
inside = 0
all_in = asyncio.Event()


@app.get("/pid")
async def pid():
    return {"pid": os.getpid(), "lane": os.environ["TURNPIKE_LANE"], "attempt": turnpike.job().attempt}


@app.get("/state")
async def state(request: Request):
    request.state.seen += 1
    return {"words": request.state.words, "seen": request.state.seen}


@app.get("/job")
async def job():
    return {"job": turnpike.job().id}


@app.get("/job-sync")
def job_sync():
    return {"job": turnpike.job().id}


@app.get("/meet")
async def meet():
    """Ends only if four are here at once."""
    global inside
    inside += 1
    if inside == 4:
        all_in.set()
    await all_in.wait()
    return {"inside": inside}


@app.get("/sick")
async def sick():
    if turnpike.job().attempt == 1:
        raise type("AcceleratorError", (RuntimeError,), {"__module__": "torch", "error_code": 710})("device-side assert triggered")
    return {"attempt": turnpike.job().attempt}


@app.get("/out-of-memory")
def out_of_memory():
    raise OutOfGpuMemory("CUDA out of memory. Tried to allocate 20.00 GiB")


@app.get("/bad-input")
async def bad_input():
    raise turnpike.BadInput("x is too large")


@app.get("/exit")
async def leave():
    if turnpike.job().attempt == 1:
        sys.exit(7)
    return {"attempt": turnpike.job().attempt}


@app.get("/breaks")
async def breaks():
    async def pieces():
        yield b"half of it"
        raise ValueError("in mid-stream")
    return StreamingResponse(pieces())
'''

BARE = '''
START = {"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"5")]}


async def silent(send): pass
async def starts_only(send): await send(START)
async def body_first(send): await send({"type": "http.response.body", "body": b"hello"})
async def starts_twice(send): await send(START); await send(START)
async def too_long(send): await send(START); await send({"type": "http.response.body", "body": b"hello!"})
async def too_short(send): await send(START); await send({"type": "http.response.body", "body": b"hell"})
async def bad_header(send): await send({"type": "http.response.start", "status": 200, "headers": [(b"a", b"b\\r\\nc: d")]})
async def bad_status(send): await send({"type": "http.response.start", "status": 99})
async def raises(send): raise KeyError("bare")
async def after_the_end(send):
    await send(START)
    await send({"type": "http.response.body", "body": b"hello"})
    await send({"type": "http.response.body", "body": b"more"})


async def app(scope, receive, send):
    if scope["type"] != "http":
        raise ValueError("only http")
    await globals()[scope["path"][1:]](send)
'''


class Hosted(SharedGate):
    def open(self):
        return self.serve(f"{self.model(APP, 'app.py')}:app", pool={"slots": 4, "aside": ["GET /job"]})

    def get(self, target, status=200):
        answer = self.gate.ask("GET", target)
        self.assertEqual(answer.status, status, answer)
        return answer.json()

    def test_each_request_has_its_own_copy_of_what_the_lifespan_left(self):
        for _ in range(2):
            self.assertEqual(self.get("/state"), {"words": "from the lifespan", "seen": 1})

    def test_the_app_knows_its_job_also_in_threads_and_asides(self):
        for target in ("/job", "/job-sync"):
            answer = self.gate.ask("GET", target)
            self.assertEqual(answer.json()["job"], answer.header("turnpike-job"))

    def test_as_many_at_once_as_there_are_slots(self):
        answers = [self.in_thread(self.gate.ask, "GET", "/meet") for _ in range(4)]
        self.assertEqual([answer.result().json() for answer in answers], [{"inside": 4}] * 4)

    def test_bad_input_is_the_clients_fault(self):
        answer = self.gate.ask("GET", "/bad-input")
        self.assertEqual(answer.status, 400, answer)
        self.assertIn("x is too large", answer.body.decode())

    def test_a_stream_that_fails_is_broken_off(self):
        with self.assertRaises(Truncated):
            self.gate.ask("GET", "/breaks")
        self.wait_log(self.gate, "ValueError: in mid-stream")

    def test_websockets_are_refused_in_clear_words(self):
        headers = [("Connection", "Upgrade"), ("Upgrade", "websocket"), ("Sec-WebSocket-Version", "13"),
                   ("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ==")]
        with Client(self.gate.port) as client:
            client.request("GET", "/ws", None, headers)
            answer = client.answer()
        self.assertEqual(answer.status, 501, answer)
        self.assertIn("WebSockets are not supported", answer.body.decode())


class Deaths(NativeCase):
    def setUp(self):
        super().setUp()
        self.gate = self.serve(f"{self.model(APP, 'app.py')}:app")

    @unittest.skipIf(has_real_driver(), "this machine has a driver of its own")
    def test_a_sick_gpu_restarts_the_worker_and_the_job_runs_again(self):
        gate = self.serve(f"{self.model(APP, 'app.py')}:app", pool=use_fake_gpu(self))
        self.assertEqual(gate.ask("GET", "/sick").json(), {"attempt": 2})
        self.wait_log(gate, "device-side assert triggered")

    @unittest.skipIf(has_real_driver(), "this machine has a driver of its own")
    def test_out_of_memory_is_answered_by_the_gate_and_not_by_the_app(self):
        gate = self.serve(f"{self.model(APP, 'app.py')}:app", pool=use_fake_gpu(self))
        answer = gate.ask("GET", "/out-of-memory")
        self.assert_problem(answer, 500, "out-of-memory")
        self.assertIn("CUDA out of memory", answer.json()["detail"])

    def test_sys_exit_ends_the_worker_and_the_job_runs_again(self):
        self.assertEqual(self.gate.ask("GET", "/exit").json(), {"attempt": 2})
        self.wait_log(self.gate, "the model ended its own process, by sys.exit(7)")


class StartAndEnd(NativeCase):
    def test_a_lifespan_that_fails_is_a_model_that_does_not_load(self):
        path = self.model("from fastapi import FastAPI\napp = FastAPI()\n@app.on_event('startup')\n"
                          "async def load():\n    raise RuntimeError('no weights at /srv')\n", "app.py")
        gate = self.serve(f"{path}:app", is_ready=False, pool={"crash_limit": 1})
        self.wait_log(gate, "RuntimeError: no weights at /srv")
        self.assertIn("in load", self.whole_log(gate))
        self.wait_trouble(gate, "no weights at /srv")

    def test_shutdown_comes_after_background_tasks(self):
        folder = self.folder_for("end")
        path = self.model(f"""
import asyncio
from fastapi import BackgroundTasks, FastAPI
app = FastAPI()

def note(word):
    with open({str(folder / 'notes')!r}, "a") as file:
        file.write(word + " ")

async def slowly():
    note("begun")
    await asyncio.sleep(0.3)
    note("task")

@app.get("/")
async def root(tasks: BackgroundTasks):
    tasks.add_task(slowly)

@app.on_event("shutdown")
async def down():
    note("shutdown")
""", "app.py")
        gate = self.serve(path)
        self.assertEqual(gate.ask("GET", "/").status, 200)
        wait_until((folder / "notes").exists, "the task runs")
        self.stop(gate)
        self.assertEqual((folder / "notes").read_text(), "begun task shutdown ")

    def test_an_app_proves_itself_like_any_worker(self):
        path = self.model(BARE.replace("silent(send): pass", "good(send): await send(START); await send({'type': 'http.response.body', "
                                       "'body': b'hello'})"), "app.py")
        gate = self.serve(path, sections={"pool.default.proof": {"request": "GET /good", "expect": "hello"}})
        self.assertEqual(gate.ask("GET", "/good").body, b"hello")


class Broken(SharedGate):
    """An app breaks the rules of ASGI. Each job fails alone, and its answer says why."""

    def open(self):
        return self.serve(self.model(BARE, "bare.py"))

    def test_each_breach_fails_its_job_and_is_in_the_log(self):
        for name, words in (("silent", "returned without starting response"), ("starts_only", "returned without completing response"),
                            ("body_first", "Expected ASGI message 'http.response.start'"),
                            ("starts_twice", "Expected ASGI message 'http.response.body'"), ("too_long", "longer than Content-Length"),
                            ("too_short", "shorter than Content-Length"), ("bad_header", "Invalid HTTP header"),
                            ("bad_status", "status of a response must be 200 to 599"), ("raises", "KeyError: 'bare'")):
            with self.subTest(name):
                answer = self.gate.ask("GET", f"/{name}")
                self.assert_problem(answer, 500, "model-failed")
                self.assertIn(words, answer.body.decode())
                self.wait_log(self.gate, words)
        self.assertEqual(self.gate.lane(0)["restarts"], 0)

    def test_what_comes_after_the_answer_does_no_harm(self):
        self.assertEqual(self.gate.ask("GET", "/after_the_end").body, b"hello")
        self.wait_log(self.gate, "after response already completed")

    def test_an_app_without_lifespan_is_served_and_the_log_says_so(self):
        self.assertIn("the app does not support lifespan (ValueError: only http)", self.whole_log(self.gate))


if __name__ == "__main__":
    unittest.main()
