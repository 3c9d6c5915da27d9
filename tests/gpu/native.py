#!/usr/bin/env python3
"""Checks native lanes with real PyTorch on a real GPU. You run it by hand; its output is kept under docs/gpu/.

    tests/gpu/native.py PATH-TO-TURNPIKE

Four lanes on GPU 0 stand in for four GPUs. Each check prints what it saw. The first check that fails ends the run with exit code 1.
"""
import http.client
import json
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from machine import PORT, ask, check, command, memory_mib, say, smi, status_of, stop, up, wait_for, wait_ready

MODEL = str(Path(__file__).resolve().parent / "torch_model.py")
DIGITS = str(Path(__file__).resolve().parents[2] / "examples/digits/model.py")
EMPTY = json.dumps({"n": 1})


def lanes():
    return ask("/-/status")[0]["lanes"]


def rate(jobs, clients):
    """Returns jobs per second over connections that stay open."""
    def client(_):
        connection = http.client.HTTPConnection("127.0.0.1", PORT)
        for _ in range(jobs // clients):
            connection.request("POST", "/predict", EMPTY)
            assert connection.getresponse().read().startswith(b"{")
    begin = time.monotonic()
    with ThreadPoolExecutor(clients) as threads:
        list(threads.map(client, range(clients)))
    return jobs / (time.monotonic() - begin)


def main():
    say(f"{smi('--query-gpu=name,uuid,driver_version,memory.total', '-i', '0')}; {command('version').strip()}")
    before, uuid = memory_mib(), smi("--query-gpu=uuid", "-i", "0")
    gate = up(MODEL, "--gpus", "0", "--lanes", "4", "--python", sys.executable)
    status = wait_ready(gate, 4)
    say(Path(gate.log).read_text())
    for lane in status["lanes"]:
        say(f"lane {lane['lane']}: {lane['start']}")
    check(status["pools"][0]["proof"] == "passed", "the example proved every lane")
    with ThreadPoolExecutor(16) as threads:
        answers = list(threads.map(lambda _: ask("/predict", {"n": 200})[0], range(200)))
    check({a["visible"] for a in answers} == {uuid} and {a["count"] for a in answers} == {1},
          f"each worker sees one GPU, by its UUID: {uuid}")
    check(len({a["sum"] for a in answers}) == 1 and len({a["pid"] for a in answers}) == 4,
          f"200 jobs, four processes, one answer: {answers[0]['sum']}")
    say(command("status"))

    # out of memory: the job fails, the worker lives, frees what it can, and proves itself
    pids = [lane["pid"] for lane in lanes()]
    code, problem = status_of("/predict", {"do": "out of memory"})
    check(code == 500 and problem["type"].endswith("out-of-memory"), f"out of memory: {code} {problem}")
    check(wait_for(lambda: all(lane["state"] == "ready" for lane in lanes()), 20) is not None
          and [lane["pid"] for lane in lanes()] == pids, "no worker died of it")
    with ThreadPoolExecutor(8) as threads:
        after = list(threads.map(lambda _: ask("/predict", {"n": 200})[0], range(40)))
    check({a["sum"] for a in after} == {answers[0]["sum"]}, "the answers are the same as before")
    say(f"allocated per worker, as torch says: {sorted({a['memory_mib'] for a in after})} MiB")
    code, problem = status_of("/predict", {"do": "not a number"})
    check(code == 500 and problem["type"].endswith("non-finite"), f"NaN: {code} {problem}")

    # what a client says about the GPU is not believed, and asking the driver disturbs nothing
    for words in ("gpu is lost", "CUDA error: device-side assert triggered", "CUDA out of memory"):
        code, problem = status_of("/predict", {"do": "words", "words": words})
        check(code == 500 and problem["type"].endswith("model-failed"), f"words of a client: {code} {problem['detail']}")
    asked = ask("/predict", {"do": "ask while capturing"})[0]
    check(not asked["poisoned"] and asked["sum"] == 48, f"the driver is asked while a graph is captured: {asked}")
    check([lane["pid"] for lane in lanes()] == pids, "no worker died of it")

    # a poisoned CUDA context: the worker is restarted. The job does this to every worker, so it ends as poison
    with ThreadPoolExecutor(9) as threads:
        others = threads.map(lambda _: status_of("/predict", {"n": 500}), range(60))
        code, problem = status_of("/predict", {"do": "device assert"})
        others = list(others)
    check(code == 502, f"device-side assert: {code} {problem}")
    check({c for c, _ in others} == {200}, "60 other jobs of that time were all answered")
    check(wait_for(lambda: all(lane["state"] == "ready" for lane in lanes()), 90) is not None, "all lanes serve again")
    changed = [lane["lane"] for lane, pid in zip(lanes(), pids) if lane["pid"] != pid]
    check(0 < len(changed) <= 2, f"restarted: lanes {changed}")
    check(ask("/predict", {"n": 200})[0]["sum"] == answers[0]["sum"], "and the answer is right")
    pids = [lane["pid"] for lane in lanes()]
    code, problem = status_of("/predict", {"do": "hidden assert"})
    check(code == 502, f"a device-side assert that no exception tells of: {code} {problem}")
    check(wait_for(lambda: all(lane["state"] == "ready" for lane in lanes()), 90) is not None, "all lanes serve again")
    check([lane["pid"] for lane in lanes()] != pids, "its workers were replaced, because the driver was asked")
    say(command("crashes"))

    # a client that leaves
    connection = http.client.HTTPConnection("127.0.0.1", PORT)
    connection.request("POST", "/predict", json.dumps({"do": "wait", "seconds": 60}))
    check(wait_for(lambda: any(lane["state"] == "busy" for lane in lanes()), 10) is not None, "a job of 60 s runs")
    connection.close()
    took = wait_for(lambda: all(lane["state"] == "ready" for lane in lanes()), 20)
    check(took is not None, f"its client leaves: the lane is free {took * 1000:.0f} ms later (looked at over HTTP)")

    # stacks while the GPU computes
    with ThreadPoolExecutor(1) as threads:
        job = threads.submit(ask, "/predict", {"do": "wait", "seconds": 3})
        wait_for(lambda: any(lane["state"] == "busy" for lane in lanes()), 10)
        busy = next(lane["lane"] for lane in lanes() if lane["state"] == "busy")
        command("stacks", str(busy))
        check(wait_for(lambda: "predict" in command("logs", str(busy)), 10) is not None, "stacks of a computing worker are in its log")
        job.result()

    rates = {clients: rate(4000, clients) for clients in (1, 4, 16)}
    say("jobs per second of a 1024x1024 product: " + ", ".join(f"{c} clients {r:.0f}" for c, r in rates.items()))
    gate.kill()
    took = wait_for(lambda: memory_mib() <= before + 1, 10)
    check(took is not None, f"kill -9 of the gate: GPU memory is back at {before} MiB after {took:.2f} s")
    gate.wait()

    # the bundled example
    gate = up(DIGITS, "--gpus", "0", "--lanes", "4", "--python", sys.executable)
    wait_ready(gate, 4)
    seven = json.loads((Path(DIGITS).parent / "seven.json").read_text())
    check(ask("/predict", seven)[0]["digit"] == 7, "examples/digits tells a 7")
    say(Path(gate.log).read_text())
    stop(gate)
    say("all checks passed")


main()
