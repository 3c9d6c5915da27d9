#!/usr/bin/env python3
"""Measures jobs per second through a worker's socket, one at a time, and the processor time that each costs the worker.

    speed.py [--jobs N] -- WORKER COMMAND…

The worker must serve the conformance model, or any model that answers POST /predict with the body {"echo": 1}. This script is Python, too: it
needs about a third of the time between two jobs itself.
"""
import argparse
import os
import time

from checks import frames
from checks.gate import Gate


def processor_seconds(pid):
    with open(f"/proc/{pid}/stat") as file:
        fields = file.read().rpartition(")")[2].split()
    return [int(ticks) / os.sysconf("SC_CLK_TCK") for ticks in fields[11:13]]


def round_trips(sock, first, count):
    """Runs `count` jobs. Returns how many seconds they took."""
    jobs = [frames.job(number, b'{"echo": 1}') for number in range(first, first + count)]
    begun = time.perf_counter()
    for job in jobs:
        sock.send(job)
        answer = sock.recv(65536)
        while len(answer) < frames.HEADER.size + int.from_bytes(answer[:4], "little"):
            answer += sock.recv(65536)
        if answer[4] != frames.DONE:
            raise SystemExit(f"a job was not answered, but ended with {answer[:200]!r}")
    return time.perf_counter() - begun


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--jobs", type=int, default=20_000)
    parser.add_argument("worker", nargs="+")
    options = parser.parse_args()
    with Gate(options.worker, patience=60) as gate:
        gate.until_ready()
        gate.socket.setblocking(True)
        round_trips(gate.socket, 1, 1000)
        before = processor_seconds(gate.process.pid)
        seconds = round_trips(gate.socket, 1001, options.jobs)
        user, system = (after - earlier for after, earlier in zip(processor_seconds(gate.process.pid), before))
    print(f"{options.jobs / seconds:,.0f} jobs/s; each costs the worker {user / options.jobs * 1e6:.1f} µs of its own "
          f"and {system / options.jobs * 1e6:.1f} µs of the kernel's")


if __name__ == "__main__":
    main()
