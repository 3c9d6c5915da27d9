#!/usr/bin/env python3
"""Compares jobs per second of a FastAPI app: four native lanes against HAProxy in front of four uvicorns.

    bench/asgi_against_uvicorn.py [--build build/release] [--seconds 5] [--rounds 3] [--python /usr/bin/python3]

Both sides run the same app (examples/fastapi unmodified, then one whose route is a plain `def`) and get the same requests from wrk.
Each worker takes one job at a time, and every job is logged. All workers of both sides run all the time, each in its own session,
because the kernel divides a busy machine among sessions. Rounds alternate, so that other work on the machine affects both sides.
Needs haproxy, wrk, and a Python with FastAPI and uvicorn (Debian's packages; uvicorn uses uvloop and httptools if they are installed).
"""
import argparse
import os
import statistics
from pathlib import Path

from side_by_side import CLIENTS, WORKERS, family_cpu_seconds, free_port, jobs_of, stage, wait_for

AIM = 2
HERE = Path(__file__).resolve().parent
APPS = {"async def": HERE.parent / "examples" / "fastapi" / "worker.py", "def": HERE / "def_worker.py"}
REQUEST = """
wrk.method = "POST"
wrk.path = "/predict"
wrk.headers["Content-Type"] = "application/json"
wrk.body = '{"text": "turnpike", "seconds": 0}'
"""


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--build", default="build/release")
    options.add_argument("--seconds", type=int, default=5)
    options.add_argument("--rounds", type=int, default=3)
    options.add_argument("--python", default="/usr/bin/python3")
    options = options.parse_args()
    print(f"{CLIENTS} clients, {WORKERS} workers, {os.cpu_count()} cores, {options.seconds} s a round")
    print(f"{'':20} {'haproxy + uvicorn':>18} {'CPU per job':>11} {'turnpike, native':>18} {'CPU per job':>11} {'jobs/s':>7} {'CPU':>6}")
    for name, app in APPS.items():
        with stage() as on:
            compare(on, name, app, options)


def compare(on, name, app, options):
    on.script.write_text(REQUEST)
    ports = [free_port() for _ in range(WORKERS)]
    there = []
    for port in ports:
        there.append(on.start(options.python, "-m", "uvicorn", f"{app.stem}:app", "--port", str(port), "--no-access-log", "--timeout-keep-alive", "60",
                              "--log-level", "warning", cwd=app.parent, stdout=open(os.devnull, "wb"), start_new_session=True))
    gate, gate_port = on.start_gate(Path(options.build, "turnpike").resolve(), f"{app}:app",
                                    "--python", options.python, "--gpus", "none", "--lanes", str(WORKERS))
    for port in ports:
        wait_for(port)
    proxy, proxy_port = on.start_haproxy(ports)
    for port in (proxy_port, gate_port):
        jobs_of(port, on.script, 2)  # warms up; the app takes 2 s to load
    sides = ((proxy_port, [proxy.pid, *(worker.pid for worker in there)]), (gate_port, [gate.pid]))
    speeds, costs = [], []
    for number in range(1, options.rounds + 1):
        (proxied, their_cpu), (native, our_cpu) = (measured(port, pids, on.script, options.seconds) for port, pids in sides)
        speeds.append(native / proxied)
        costs.append(our_cpu / their_cpu)
        print(f"{name:>10}, round {number:<2} {proxied:16.0f}/s {their_cpu:8.0f} us {native:16.0f}/s {our_cpu:8.0f} us "
              f"{speeds[-1]:7.2f} {costs[-1]:6.2f}", flush=True)
    print(f"{name:>10}, median: {statistics.median(speeds):.2f} times the jobs per second (aim: at least {AIM}), "
          f"{statistics.median(costs):.2f} of the CPU of a job", flush=True)


def measured(port, pids, script, seconds):
    """Returns jobs per second, and the CPU microseconds per job of these processes and their children."""
    before = family_cpu_seconds(*pids)
    jobs = jobs_of(port, script, seconds)
    return jobs / seconds, (family_cpu_seconds(*pids) - before) / jobs * 1e6


main()
