#!/usr/bin/env python3
"""Compares jobs per second of a Python model that does nothing: four native lanes against HAProxy in front of four FastAPI workers.

    bench/native_against_fastapi.py [--build build/release] [--seconds 5] [--rounds 3] [--python /usr/bin/python3]

Both read JSON, do nothing, and write JSON. Each worker takes one job at a time, every job is logged, and wrk sends both the same
requests. All workers of both sides run all the time. Rounds alternate, so that other work on the machine affects both sides.
Needs haproxy, wrk, and a Python with FastAPI and uvicorn (Debian's packages).
"""
import argparse
import os
import statistics
from pathlib import Path

from side_by_side import CLIENTS, WORKERS, free_port, jobs_of, stage, wait_for

AIM = 4
APP = """
from fastapi import FastAPI, Request
app = FastAPI()

@app.post("/predict")
async def predict(request: Request):
    await request.json()
    return {"answer": 42}
"""
MODEL = """
def predict(x):
    return {"answer": 42}
"""


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--build", default="build/release")
    options.add_argument("--seconds", type=int, default=5)
    options.add_argument("--rounds", type=int, default=3)
    options.add_argument("--python", default="/usr/bin/python3")
    options = options.parse_args()
    with stage() as on:
        (on.folder / "app.py").write_text(APP)
        (on.folder / "model.py").write_text(MODEL)
        ports = [free_port() for _ in range(WORKERS)]
        for port in ports:
            on.start(options.python, "-m", "uvicorn", "app:app", "--port", str(port), "--no-access-log", "--timeout-keep-alive", "60",
                     "--log-level", "warning", cwd=on.folder)
        for port in ports:
            wait_for(port)
        _, proxy_port = on.start_haproxy(ports)
        _, gate_port = on.start_gate(Path(options.build, "turnpike").resolve(), on.folder / "model.py",
                                     "--python", options.python, "--gpus", "none", "--lanes", str(WORKERS))
        for port in (proxy_port, gate_port):
            jobs_of(port, on.script, 1)  # warms up

        print(f"{CLIENTS} clients, {WORKERS} workers, {os.cpu_count()} cores, {options.seconds} s a round")
        print(f"{'':10} {'haproxy + fastapi':>20} {'turnpike, native':>20} {'ratio':>8}")
        ratios = []
        for number in range(1, options.rounds + 1):
            proxy, gate = (jobs_of(port, on.script, options.seconds) / options.seconds
                           for port in (proxy_port, gate_port))
            ratios.append(gate / proxy)
            print(f"round {number:<4} {proxy:18.0f}/s {gate:18.0f}/s {ratios[-1]:8.2f}")
        print(f"median: {statistics.median(ratios):.2f} times the jobs per second (aim: at least {AIM})")


main()
