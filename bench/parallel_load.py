#!/usr/bin/env python3
"""Compares how long four lanes take to become ready with how long one lane takes, in one run.

    bench/parallel_load.py [--build build/release] [--rounds 5] [--lanes 4] [--wait 3] [--cpu 0.1]

Each worker (bench/loading_worker.py) waits --wait seconds, as for a disk or a bus, and computes for --cpu seconds, before
it listens. The clock runs from the start of `turnpike up` until /-/status reports every lane as ready. Rounds alternate, so
that other work on the machine affects both.
"""
import argparse
import json
import os
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

LOOK_EVERY = 0.01
PATIENCE = 120
AIM = 1.15


def address_of(gate):
    """Returns the address in "serving on http://…"; other remarks may come before that line."""
    for line in gate.stderr:
        if "http://" in line:
            return next(word for word in line.split() if word.startswith("http://"))
    sys.exit("parallel_load: the gate ended before it was serving")


def lanes_of(address):
    with urllib.request.urlopen(f"{address}/-/status", timeout=10) as answer:
        return json.load(answer)["lanes"]


def start(options, lanes, folder):
    """Returns (seconds until every lane is ready, the lanes of /-/status)."""
    worker = Path(__file__).with_name("loading_worker.py").resolve()
    environment = os.environ | {name: str(folder) for name in ("XDG_RUNTIME_DIR", "XDG_CONFIG_HOME", "XDG_STATE_HOME")}
    began = time.monotonic()
    gate = subprocess.Popen(
        [f"{options.build}/turnpike", "up", "--worker", f"{sys.executable} '{worker}' {{port}} {options.wait} {options.cpu}",
         "--gpus", "none", "--lanes", str(lanes), "--port", "0"],
        env=environment, stderr=subprocess.PIPE, text=True)
    try:
        address = address_of(gate)
        while any(lane["state"] != "ready" for lane in lanes_of(address)):
            if time.monotonic() - began > PATIENCE:
                sys.exit(f"parallel_load: not ready after {PATIENCE} s: {lanes_of(address)}")
            time.sleep(LOOK_EVERY)
        return time.monotonic() - began, lanes_of(address)
    finally:
        gate.send_signal(signal.SIGTERM)
        gate.communicate(timeout=PATIENCE)


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--build", default="build/release")
    options.add_argument("--rounds", type=int, default=5)
    options.add_argument("--lanes", type=int, default=4)
    options.add_argument("--wait", type=float, default=3)
    options.add_argument("--cpu", type=float, default=0.1)
    options = options.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="turnpike-bench-"))
    try:
        print(f"a worker waits {options.wait:g} s and computes {options.cpu:g} s until it listens; {os.cpu_count()} cores")
        ratios = []
        for number in range(1, options.rounds + 1):
            alone, _ = start(options, 1, folder)
            together, lanes = start(options, options.lanes, folder)
            ratios.append(together / alone)
            print(f"round {number}: one lane alone {alone:.2f} s, {options.lanes} lanes {together:.2f} s, ratio {ratios[-1]:.2f}")
        print("the last start, part by part:")
        for lane in lanes:
            parts = ", ".join(f"{part} {lane['start'][part + '_ms']:.0f} ms" for part in ("spawn", "listen", "load"))
            print(f"  lane {lane['lane']}: {parts}")
        print(f"median: {statistics.median(ratios):.2f} of one lane alone (aim: at most {AIM}); one after another would be {options.lanes}")
    finally:
        shutil.rmtree(folder)


main()
