#!/usr/bin/env python3
"""Jobs per second of the seed's FastAPI worker, unmodified: four native lanes against HAProxy before four uvicorns.

    bench/asgi_against_uvicorn.py [--build build/release] [--seconds 5] [--rounds 3] [--python /usr/bin/python3]

The same app (examples/fastapi), the same requests from wrk, one job per worker at a time, every job logged. All workers of both sides
are up all the time, each in a session of its own (the kernel shares a busy machine out among sessions); rounds alternate, so that
what else the machine does meets both. Needs haproxy, wrk, and a Python with FastAPI and uvicorn (Debian's).
"""
import argparse
import os
import statistics
from pathlib import Path

from side_by_side import CLIENTS, WORKERS, free_port, jobs_of, stage, wait_for

AIM = 2
EXAMPLE = Path(__file__).resolve().parents[1] / "examples" / "fastapi"
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
    with stage() as on:
        on.script.write_text(REQUEST)
        ports = [free_port() for _ in range(WORKERS)]
        for port in ports:
            on.start(options.python, "-m", "uvicorn", "worker:app", "--port", str(port), "--no-access-log",
                     "--log-level", "warning", cwd=EXAMPLE, stdout=open(os.devnull, "wb"), start_new_session=True)
        _, gate_port = on.start_gate(Path(options.build, "turnpike").resolve(), f"{EXAMPLE / 'worker.py'}:app",
                                     "--python", options.python, "--gpus", "none", "--lanes", str(WORKERS))
        for port in ports:
            wait_for(port)
        _, proxy_port = on.start_haproxy(ports)
        for port in (proxy_port, gate_port):
            jobs_of(port, on.script, 2)  # warm; the app takes 2 s to load

        print(f"{CLIENTS} clients, {WORKERS} workers, {os.cpu_count()} cores, {options.seconds} s a round")
        print(f"{'':10} {'haproxy + uvicorn':>20} {'turnpike, native':>20} {'ratio':>8}")
        ratios = []
        for number in range(1, options.rounds + 1):
            proxy, gate = (jobs_of(port, on.script, options.seconds) / options.seconds
                           for port in (proxy_port, gate_port))
            ratios.append(gate / proxy)
            print(f"round {number:<4} {proxy:18.0f}/s {gate:18.0f}/s {ratios[-1]:8.2f}")
        print(f"median: {statistics.median(ratios):.2f} times the jobs per second (aim: at least {AIM})")


main()
