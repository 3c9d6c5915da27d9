"""Tests that words that a client sends never decide about a worker, however they come back in exceptions and logs: no lane restarts
or proves itself because of them, with the Python SDK, with ASGI apps and with the C++ SDK, on CPU lanes and on lanes with a GPU."""
import json
import os
import unittest
from pathlib import Path
from urllib.parse import quote

from client import Client
from fake_gpus import has_real_driver, use_fake_gpu
from harness import HERE, TURNPIKE
from native_case import NativeCase, wait_until

CPP = os.environ.get("TURNPIKE_ODD_MODEL", str(Path(TURNPIKE).parent / "tests/sdk_cpp/odd_model"))
WORDS = [*json.loads((HERE.parents[1] / "sdk/conformance/gpu_errors.json").read_text()),
         "gpu is lost", "cuda out of memory", "GPU IS LOST", "CUDA ERROR: DEVICE-SIDE ASSERT TRIGGERED", "ü 😀 CUDA out of memory",
         "turnpike.Unhealthy", "torch.cuda.OutOfMemoryError: CUDA out of memory", "torch.AcceleratorError: CUDA error: 700"]

# Each way raises an exception that quotes the client's words.
WAYS = '''
import ctypes, json, logging, os, pickle, sys, traceback, warnings


class OutOfMemoryError(RuntimeError):
    """Called as PyTorch's, and not PyTorch's."""


class AcceleratorError(RuntimeError):
    error_code = 710


class Odd(Exception):
    def __str__(self):
        return self.args[0]


class Mute(Exception):
    def __str__(self):
        raise RuntimeError(self.args[0])


def raise_(error):
    raise error


def chained(words):
    try:
        raise RuntimeError(words)
    except RuntimeError as error:
        raise KeyError(words) from error


def in_context(words):
    try:
        raise RuntimeError(words)
    except RuntimeError:
        {}[words]


def logged(words):
    try:
        raise RuntimeError(words)
    except RuntimeError:
        logging.exception(words)
    raise ValueError(words)


def printed(words):
    print(words, file=sys.stderr, flush=True)
    print(words, flush=True)
    raise ValueError(words)


def refused(words):
    assert not words, words


WAYS = {"number": int, "key": lambda words: {}[words], "str": lambda words: raise_(Odd(words)), "mute": lambda words: raise_(Mute(words)),
        "runtime": lambda words: raise_(RuntimeError(words)), "bytes": lambda words: raise_(RuntimeError(words.encode())),
        "chained": chained, "context": in_context, "logged": logged, "printed": printed, "assert": refused,
        "name": lambda words: raise_(type(words, (RuntimeError,), {})(words)), "namesake": lambda words: raise_(OutOfMemoryError(words)),
        "sick namesake": lambda words: raise_(AcceleratorError(words)), "file": lambda words: open("/nowhere/" + words[:200]),
        "memory": lambda words: raise_(MemoryError(words)), "huge": lambda words: bytes(1 << 62), "codec": lambda words: words.encode().decode(words),
        "import": lambda words: raise_(ImportError(words, name=words)), "attribute": lambda words: getattr(json, words),
        "system": lambda words: raise_(OSError(5, words, words))}


def use_gpu():
    """Loads the driver as a framework does, so that the SDK can ask it."""
    if os.environ.get("CUDA_VISIBLE_DEVICES"):
        cuda = ctypes.CDLL("libcuda.so.1")
        assert cuda.cuInit(0) == 0 and cuda.cuDevicePrimaryCtxRetain(ctypes.byref(ctypes.c_void_p()), 0) == 0
'''
MODEL = WAYS + '''
from urllib.parse import unquote


class Quotes(turnpike.Model):
    example = {}
    proofs = 0

    def load(self, lane):
        use_gpu()

    DEF predict(self, task):
        if not task:
            self.proofs += 1
            return {}
        if task.get("way") == "count":
            return {"proofs": self.proofs, "pid": os.getpid(), "ways": list(WAYS)}
        return WAYS[task["way"]](task["words"])

    DEF request(self, request):
        return WAYS[request.path[1:]](unquote(request.query))
'''
APP = WAYS + '''
from fastapi import FastAPI, Request
from fastapi.responses import JSONResponse

use_gpu()
app = FastAPI()


class Handled(Exception):
    pass


@app.exception_handler(Handled)
async def handled(request, error):
    logging.error("handled", exc_info=error)
    return JSONResponse({"told": str(error)}, 500)


@app.post("/predict")
async def predict(request: Request):
    task = await request.json()
    if task.get("way") == "count":
        return {"proofs": 0, "pid": os.getpid(), "ways": [*WAYS, "handled"]}
    return answer(task["way"], task["words"])


@app.get("/{way}")
def ask(way: str, request: Request):
    from urllib.parse import unquote
    return answer(way, unquote(request.url.query))


def answer(way, words):
    if way == "handled":
        try:
            raise RuntimeError(words)
        except RuntimeError as error:
            raise Handled(words) from error
    return WAYS[way](words)
'''
AS_AN_IMAGE = [("Sec-Fetch-Dest", "image"), ("Sec-Fetch-Mode", "no-cors"), ("Accept", "image/*")]


class Words(NativeCase):
    def assert_words_are_harmless(self, model, pool):
        gate = self.serve(model, pool={"errors": "full", **pool})
        first = gate.post({"way": "count"}).json()
        with Client(gate.port) as client:
            def fails(method, target, body=None, headers=()):
                client.request(method, target, body, headers)
                answer = client.answer(method)
                self.assertEqual(answer.status, 500, (target, body, answer))
                self.assertNotIn(b"problem:out-of-memory", answer.body)
            for way in first["ways"]:
                for words in WORDS:
                    fails("POST", "/predict", json.dumps({"way": way, "words": words}).encode(), [("Content-Type", "application/json")])
                fails("GET", f"/{quote(way)}?{quote(words)}", None, AS_AN_IMAGE)
        self.assertEqual(gate.post({"way": "count"}).json(), first, "no other process, no further proof")
        self.assert_untouched(gate)

    def assert_untouched(self, gate):
        lane = gate.lane(0)
        self.assertEqual((lane["state"], lane["restarts"], lane["last_exit"]), ("ready", 0, None))
        self.assertEqual({job["attempts"] for job in gate.ended_jobs()}, {1})

    def pools(self):
        yield {}
        if not has_real_driver():
            yield use_fake_gpu(self)

    def test_a_python_model(self):
        for pool in self.pools():
            with self.subTest(pool):
                self.assert_words_are_harmless(self.model(MODEL.replace("DEF", "def")), pool)

    def test_an_async_python_model(self):
        for pool in self.pools():
            with self.subTest(pool):
                self.assert_words_are_harmless(self.model(MODEL.replace("DEF", "async def")), {**pool, "slots": 4})

    def test_an_asgi_app(self):
        for pool in self.pools():
            with self.subTest(pool):
                self.assert_words_are_harmless(f"{self.model(APP, 'app.py')}:app", {**pool, "slots": 4})

    def test_a_cpp_model(self):
        for pool in self.pools():
            with self.subTest(pool):
                gate = self.serve(CPP, pool={"python": None, **pool})
                pid = gate.lane(0)["pid"]
                for words in WORDS:
                    for target in ("/raise", "/raise%20nested"):
                        self.assert_problem(gate.ask("POST", target, words.encode()), 500, "model-failed")
                        self.assert_problem(gate.ask("GET", f"{target}?{quote(words)}", None, AS_AN_IMAGE), 500, "model-failed")
                self.assertEqual(gate.lane(0)["pid"], pid)
                self.assert_untouched(gate)

    @unittest.skipIf(has_real_driver(), "this machine has a driver of its own")
    def test_the_driver_s_own_word_still_counts_in_cpp(self):
        gate = self.serve(CPP, pool={"python": None, **use_fake_gpu(self)})
        self.assert_problem(gate.ask("POST", "/poison", b"600"), 500, "model-failed")
        self.assertEqual(gate.lane(0)["restarts"], 0)
        self.assert_problem(gate.ask("POST", "/poison", b"710"), 502, "poison")  # a job that does this to every worker
        wait_until(lambda: gate.lane(0)["restarts"] == 2, "both workers were replaced")

    def test_a_client_beside_them_is_answered_at_once(self):
        """The words of one client cost the other nothing: before, each of them cost two workers."""
        gate = self.serve(self.model(MODEL.replace("DEF", "def")), pool={"lanes": 2})
        attackers = [self.in_thread(lambda: [gate.post({"way": "number", "words": words}).status for words in WORDS]) for _ in range(4)]
        for _ in range(50):
            answer = gate.post({"way": "count"})
            self.assertEqual((answer.status, answer.header("turnpike-attempt")), (200, "1"))
        for attacker in attackers:
            self.assertEqual(set(attacker.result()), {500})
        self.assertEqual([lane["restarts"] for lane in gate.status()["lanes"]], [0, 0])


if __name__ == "__main__":
    unittest.main()
