"""The conformance model (README.md) for the Python SDK.

    kit.py -- python3 ../python/turnpike_worker.py model.py
"""
import math
import os
import subprocess
import threading
import time

import turnpike

VARIANT = os.environ.get("CONFORMANCE", "full")
meeting = threading.Condition()
met = 0


# Stands for PyTorch's: the SDK knows it by its module and name.
OutOfGpuMemory = type("OutOfMemoryError", (RuntimeError,), {"__module__": "torch"})


class Plain(turnpike.Model):
    """The variant without request()."""
    slots = 4 if VARIANT == "slots" else 1
    example = {"echo": "example"}
    facts = {"model": "conformance"}

    def load(self, lane):
        if VARIANT == "fail_load":
            raise FileNotFoundError("no such weights")
        lane.progress(0.5, "half")
        hold = os.environ.get("CONFORMANCE_HOLD")
        while hold and not os.path.exists(hold):
            time.sleep(0.01)

    def predict(self, x):
        if "fail" in x:
            return fail(x["fail"], x.get("message", ""))
        for key in x:
            if key in ANSWERS:
                return ANSWERS[key](x)
        raise turnpike.BadInput("the body has no key of the conformance model")

    def check(self, answer):
        return answer == {"echo": "example"}


class Full(Plain):
    def request(self, req):
        if req.path == "/bytes":
            return turnpike.Response(req.body, content_type="application/octet-stream")
        if req.path == "/teapot":
            return turnpike.Response(b"short and stout", 418, {"X-Conformance": "yes"}, "text/x-tea")
        if req.path.startswith("/seen"):
            job = turnpike.job()
            seen = {"method": req.method, "path": req.path, "query": req.query, "name": job.id, "attempt": job.attempt}
            return {**seen, **{name.lower(): value for name, value in req.headers.items()}}
        return turnpike.Response("no such path", 404)


class Batched(Full):
    batch = 8

    def predict(self, xs):
        if any(x.get("fail") == "exception" for x in xs):
            raise RuntimeError("the batch failed")
        return [turnpike.BadInput(x.get("message", "")) if "fail" in x else {"echo": x["echo"], "together": len(xs)} for x in xs]


def fail(kind, message):
    if kind == "bad_input":
        raise turnpike.BadInput(message)
    if kind == "out_of_memory":
        raise OutOfGpuMemory(message)
    if kind == "unhealthy":
        raise turnpike.Unhealthy(message)
    if kind == "non_finite":
        return {"value": float("nan")}
    raise RuntimeError(message)


def sleep(x):
    turnpike.job().progress(None, "sleeping")
    end = time.monotonic() + x["sleep"]
    while time.monotonic() < end:
        turnpike.job().raise_if_cancelled()
        time.sleep(0.005)
    return {"slept": x["sleep"]}


def compute(x):
    turnpike.job().progress(None, "computing")
    end = time.monotonic() + x["compute"]
    while time.monotonic() < end:
        if not x.get("deaf"):
            turnpike.job().raise_if_cancelled()
        sum(math.sqrt(number) for number in range(10_000))
    return {"computed": x["compute"]}


def progress(x):
    for fraction, text in x["progress"]:
        turnpike.job().progress(fraction, text)
    return {"progress": len(x["progress"])}


def stream(x):
    for number in range(x["stream"]):
        yield f"{number:0{x['size'] - 1}}\n"
    if x.get("then") == "fail":
        raise RuntimeError("the stream broke")
    while x.get("then") == "sleep":
        turnpike.job().raise_if_cancelled()
        time.sleep(0.005)


def meet(x):
    global met
    with meeting:
        met += 1
        meeting.notify_all()
        meeting.wait_for(lambda: met >= x["meet"])
    return {"met": x["meet"]}


ANSWERS = {
    "echo": lambda x: {"echo": x["echo"]},
    "sleep": sleep,
    "compute": compute,
    "progress": progress,
    "stream": stream,
    "size": lambda x: (b"0123456789abcdef" * (x["size"] // 16 + 1))[:x["size"]],
    "meet": meet,
    "spawn": lambda x: {"pid": subprocess.Popen(["sleep", str(x["spawn"])], close_fds=False).pid},
}

model = {"plain": Plain, "batch": Batched}.get(VARIANT, Full)
