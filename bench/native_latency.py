#!/usr/bin/env python3
"""Compares a native lane with bare sockets: the latency of a single job, and how long the lane is idle while jobs wait.

    bench/native_latency.py [--build build/release] [--jobs 20000] [--rounds 5]

Latency: one client sends one job at a time to a C++ model that does nothing. This is compared with the same client and the same
bytes through one relay process (client ─TCP─▶ relay ─socketpair─▶ worker), which has neither HTTP nor queues and uses blocking
sockets. `added` compares what each adds to a worker that the client talks to directly.

Idle gap: the model computes for --work microseconds while four clients wait for it. The gap is the time from the end of a
predict() to the beginning of the next. This is compared with two processes on a socketpair, with the same work and as many
bytes. Everything runs in one run, and rounds alternate.
"""
import argparse
import os
import statistics
import subprocess
import urllib.request
from pathlib import Path

from side_by_side import free_port, stage, wait_for

WAITING = 4  # clients of one lane


class Bench:
    def __init__(self, on, options):
        self.on, self.options = on, options
        self.build = Path(options.build).resolve()
        self.tool = self.build / "bench" / "ping_pong"

    def gate(self, work_us):
        _, port = self.on.start_gate(self.build / "turnpike", self.build / "bench" / "gap_model", "--gpus", "none",
                                     "--lanes", "1", "--name", f"bench-{os.getpid()}-{work_us}", WORK_US=str(work_us))
        self.round_trip(port, 500)  # waits for the lane, and warms it up
        return port

    def start_client(self, port, jobs):
        return subprocess.Popen([self.tool, "client", str(port), str(jobs)], stdout=subprocess.PIPE, text=True)

    def round_trip(self, port, jobs):
        """Returns p50 and p99 of one client, in microseconds."""
        with self.start_client(port, jobs) as client:
            return times_of(client.stdout.read())

    def bare(self, kind):
        """Returns the same without a gate; `kind` is `relay` or `direct`."""
        port = free_port()
        self.on.start(self.tool, kind, str(port))
        wait_for(port)
        return self.round_trip(port, self.options.jobs)

    def gap(self, port):
        ask(port, "/gaps")  # discards the gaps so far
        jobs = str(self.options.jobs // 2 // WAITING)
        clients = [self.start_client(port, jobs) for _ in range(WAITING)]
        for client in clients:
            client.communicate()
        return times_of(ask(port, "/gaps"))

    def bare_gap(self):
        jobs = str(self.options.jobs // 2)
        return times_of(subprocess.run([self.tool, "gap", jobs, str(self.options.work)], stdout=subprocess.PIPE,
                                       text=True, check=True).stdout)


def times_of(text):
    p50, p99 = map(float, text.split())
    return p50, p99


def ask(port, path):
    proxyless = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with proxyless.open(f"http://127.0.0.1:{port}{path}") as answer:
        return answer.read().decode()


def latency(bench, rounds):
    port = bench.gate(0)
    print(f"{'':10} {'direct':>18} {'one relay':>18} {'turnpike':>18} {'ratio':>7} {'added':>7}   (p50, p99 in µs)")
    ratios = []
    for number in range(1, rounds + 1):
        direct, relay = bench.bare("direct"), bench.bare("relay")
        gate = bench.round_trip(port, bench.options.jobs)
        ratios.append((gate[0] / relay[0], (gate[0] - direct[0]) / (relay[0] - direct[0])))
        cells = " ".join(f"{p50:8.1f} {p99:9.1f}" for p50, p99 in (direct, relay, gate))
        print(f"round {number:<4} {cells} {ratios[-1][0]:7.2f} {ratios[-1][1]:7.2f}", flush=True)
    whole, added = (statistics.median(column) for column in zip(*ratios))
    print(f"median: a round trip takes {whole:.2f} times that through a relay (aim: at most 2), added {added:.2f} times")


def idle_gap(bench, rounds):
    port = bench.gate(bench.options.work)
    print(f"{'':10} {'socketpair':>18} {'idle gap':>18} {'ratio':>7}   (p50, p99 in µs)")
    ratios = []
    for number in range(1, rounds + 1):
        bare, gap = bench.bare_gap(), bench.gap(port)
        ratios.append(gap[0] / bare[0])
        cells = " ".join(f"{p50:8.1f} {p99:9.1f}" for p50, p99 in (bare, gap))
        print(f"round {number:<4} {cells} {ratios[-1]:7.2f}", flush=True)
    print(f"median: the lane is idle {statistics.median(ratios):.2f} times a bare ping-pong (aim: at most 3)")


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--build", default="build/release")
    options.add_argument("--jobs", type=int, default=20_000)
    options.add_argument("--rounds", type=int, default=5)
    options.add_argument("--work", type=int, default=200, help="microseconds that the model computes, for the idle gap")
    options = options.parse_args()
    with stage(needs=()) as on:
        bench = Bench(on, options)
        latency(bench, options.rounds)
        idle_gap(bench, options.rounds)


main()
