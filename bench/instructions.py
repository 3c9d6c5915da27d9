#!/usr/bin/env python3
"""Counts the instructions that one job costs in the gate. Callgrind counts them, so the figure hardly changes from run to
run, whatever else the machine does, and two builds can be compared to within a percent.

    bench/instructions.py [--build build/release] [--against OTHER/build/release] [--jobs 500] [--rounds 7]

One client sends one job at a time to one lane: first to a native lane with a C++ model that does nothing, then to an HTTP
lane with a C++ server that does nothing. Only the gate runs under callgrind. The script reads its counters after a short
and after a long run. The difference, divided by the difference in jobs, leaves out what start, end and reading cost.
How often the gate finds nothing to read depends on timing, so the figure is the median of several rounds.
"""
import argparse
import os
import re
import statistics
import subprocess
import tempfile
from pathlib import Path

from side_by_side import free_port, stage, wait_for

WARM_UP = 300  # jobs until the gate's buffers have their size
LONG = 3       # times the short run


class CountedGate:
    """A gate under callgrind, with one lane."""

    def __init__(self, on, turnpike, tools, *arguments):
        self.client = tools / "ping_pong"
        self.folder = Path(tempfile.mkdtemp(dir=on.folder))
        self.gate, self.port = on.start_gate(
            turnpike, *arguments, "--name", f"instructions-{os.getpid()}-{self.folder.name}",
            under=("valgrind", "--quiet", "--tool=callgrind", f"--callgrind-out-file={self.folder}/counted"),
            LD_PRELOAD=str(tools / "libreal_self.so"), TURNPIKE_REAL_SELF=str(turnpike))
        self.send(WARM_UP)

    def send(self, jobs):
        subprocess.run([self.client, "client", str(self.port), str(jobs)], stdout=subprocess.DEVNULL, check=True)

    def read(self):
        """Returns how many instructions the gate has executed since the last call."""
        before = set(self.folder.iterdir())
        subprocess.run(["callgrind_control", "--dump", str(self.gate.pid)], capture_output=True, check=True)
        written = set(self.folder.iterdir()) - before
        return sum(int(re.search(r"(?m)^totals: (\d+)", path.read_text())[1]) for path in written)

    def per_job(self, jobs, rounds):
        return statistics.median(self.round_of(jobs) for _ in range(rounds))

    def round_of(self, jobs):
        self.read()
        self.send(jobs)
        short = self.read()
        self.send(LONG * jobs)
        return (self.read() - short) / ((LONG - 1) * jobs)


def measure(on, turnpike, tools, *length):
    """Returns the instructions per job for each kind of lane."""
    native = CountedGate(on, turnpike, tools, tools / "gap_model", "--gpus", "none", "--lanes", "1")
    port = free_port()
    on.start(tools / "plain_worker", str(port))
    wait_for(port)
    http = CountedGate(on, turnpike, tools, "--attach", f"http://127.0.0.1:{port}")
    return {"native lane": native.per_job(*length), "HTTP lane": http.per_job(*length)}


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--build", default="build/release")
    options.add_argument("--against", help="a second build; its gate gets the same workers and the same client")
    options.add_argument("--jobs", type=int, default=500, help=f"of the short run; the long one has {LONG} times as many")
    options.add_argument("--rounds", type=int, default=7)
    options = options.parse_args()
    tools = Path(options.build).resolve() / "bench"
    builds = [Path(build).resolve() for build in (options.against, options.build) if build]
    with stage(needs=("valgrind", "callgrind_control")) as on:
        figures = [measure(on, build / "turnpike", tools, options.jobs, options.rounds) for build in builds]
    for lane, figure in figures[-1].items():
        before = figures[0][lane]
        compared = f", {before:.0f} before: {figure / before - 1:+.2%}" if options.against else ""
        print(f"{lane}: {figure:.0f} instructions per job in the gate{compared}")


main()
