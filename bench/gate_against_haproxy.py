#!/usr/bin/env python3
"""Compares the gate with HAProxy, in one run: CPU time per job and jobs per second.

    bench/gate_against_haproxy.py [--build build/release] [--seconds 5] [--rounds 3]

Both stand in front of the same four plain workers, send one job at a time to each worker, log every job to a file, and get
the same requests from wrk. Rounds alternate, so that other work on the machine affects both. Needs haproxy and wrk.
"""
import argparse
import statistics

from side_by_side import CLIENTS, WORKERS, cpu_seconds, free_port, jobs_of, stage, wait_for


def round_of(pid, port, script, seconds):
    """Returns (jobs per second, CPU microseconds per job)."""
    before = cpu_seconds(pid)
    jobs = jobs_of(port, script, seconds)
    return jobs / seconds, (cpu_seconds(pid) - before) / jobs * 1e6


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--build", default="build/release")
    options.add_argument("--seconds", type=int, default=5)
    options.add_argument("--rounds", type=int, default=3)
    options = options.parse_args()
    with stage() as on:
        ports = [free_port() for _ in range(WORKERS)]
        for port in ports:
            on.start(f"{options.build}/bench/plain_worker", str(port))
            wait_for(port)
        attach = [word for p in ports for word in ("--attach", f"http://127.0.0.1:{p}")]
        proxy, proxy_port = on.start_haproxy(ports)
        gate, gate_port = on.start_gate(f"{options.build}/turnpike", *attach)
        for pid, port in ((proxy.pid, proxy_port), (gate.pid, gate_port)):
            round_of(pid, port, on.script, 1)  # warms up

        print(f"{CLIENTS} clients, {WORKERS} workers, one job at a time each, {options.seconds} s a round")
        print(f"{'':10} {'haproxy':>24} {'turnpike':>24} {'ratio':>14}")
        ratios = []
        for number in range(1, options.rounds + 1):
            proxy_rate, proxy_cpu = round_of(proxy.pid, proxy_port, on.script, options.seconds)
            gate_rate, gate_cpu = round_of(gate.pid, gate_port, on.script, options.seconds)
            ratios.append((gate_cpu / proxy_cpu, gate_rate / proxy_rate))
            print(f"round {number:<4} {proxy_rate:10.0f}/s {proxy_cpu:8.1f} µs {gate_rate:10.0f}/s {gate_cpu:8.1f} µs"
                  f"   cpu {ratios[-1][0]:.2f}, jobs/s {ratios[-1][1]:.2f}")
        cpu, rate = (statistics.median(column) for column in zip(*ratios))
        print(f"median: CPU per job {cpu:.2f} of HAProxy's (aim: at most 0.75), jobs per second {rate:.2f} (aim: at least 1.2)")


main()
