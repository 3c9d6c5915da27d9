#!/usr/bin/env python3
"""CPU time per job and jobs per second of the gate, side by side with HAProxy, in one run.

    bench/gate_against_haproxy.py [--build build/release] [--seconds 5] [--rounds 3]

Both stand before the same four plain workers, take one job per worker at a time, log every job to a file, and get the
same requests from wrk. Rounds alternate, so that what else the machine does meets both. Needs haproxy and wrk.
"""
import argparse
import os
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

CLIENTS = 64
WORKERS = 4
REQUEST = """
wrk.method = "POST"
wrk.path = "/predict"
wrk.headers["Content-Type"] = "application/json"
wrk.body = '{"prompt": "What is the answer?", "temperature": 0.7}'
"""
HAPROXY = """
global
    nbthread 1
    maxconn 4000
    log stdout format raw local0
defaults
    mode http
    option httplog
    log global
    timeout client 300s
    timeout server 300s
    timeout connect 5s
    timeout queue 1h
    http-reuse always
frontend gate
    bind 127.0.0.1:{port}
    default_backend workers
backend workers
    balance leastconn
{servers}
"""


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def wait_for(port):
    for _ in range(500):
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.02)
    sys.exit(f"nothing listens on {port}")


def cpu_seconds(pid):
    """Of all its threads, user and system."""
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def round_of(pid, port, script, seconds):
    """(jobs per second, CPU microseconds per job)"""
    before = cpu_seconds(pid)
    done = subprocess.run(["wrk", "-t1", f"-c{CLIENTS}", f"-d{seconds}s", "-s", script, f"http://127.0.0.1:{port}"],
                          capture_output=True, text=True, check=True)
    used = cpu_seconds(pid) - before
    words = done.stdout.split()
    jobs = int(words[words.index("requests") - 1])
    if "Non-2xx" in done.stdout:
        sys.exit(done.stdout)
    return jobs / seconds, used / jobs * 1e6


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--build", default="build/release")
    options.add_argument("--seconds", type=int, default=5)
    options.add_argument("--rounds", type=int, default=3)
    options = options.parse_args()
    for needed in ("haproxy", "wrk"):
        if not (shutil.which(needed) or os.path.exists(f"/usr/sbin/{needed}")):
            sys.exit(f"gate_against_haproxy: needs {needed}: apt-get install haproxy wrk")
    os.environ["PATH"] += ":/usr/sbin"
    folder = Path(tempfile.mkdtemp(prefix="turnpike-bench-"))
    processes = []

    def start(*command, **more):
        processes.append(subprocess.Popen(command, **more))
        return processes[-1]

    try:
        ports = [free_port() for _ in range(WORKERS)]
        for port in ports:
            start(f"{options.build}/bench/plain_worker", str(port))
            wait_for(port)
        script = folder / "request.lua"
        script.write_text(REQUEST)

        proxy_port, gate_port = free_port(), free_port()
        servers = "\n".join(f"    server w{p} 127.0.0.1:{p} maxconn 1" for p in ports)
        (folder / "haproxy.cfg").write_text(HAPROXY.format(port=proxy_port, servers=servers))
        proxy = start("haproxy", "-f", folder / "haproxy.cfg", "-db", stdout=open(folder / "haproxy.log", "wb"))
        environment = os.environ | {"XDG_RUNTIME_DIR": str(folder), "XDG_CONFIG_HOME": str(folder)}
        attach = [word for p in ports for word in ("--attach", f"http://127.0.0.1:{p}")]
        gate = start(f"{options.build}/turnpike", "up", *attach, "--port", str(gate_port),
                     "--log-jobs", folder / "jobs.log", env=environment, stderr=open(folder / "up.log", "wb"))
        wait_for(proxy_port), wait_for(gate_port)
        for pid, port in ((proxy.pid, proxy_port), (gate.pid, gate_port)):
            round_of(pid, port, script, 1)  # warm

        print(f"{CLIENTS} clients, {WORKERS} workers, one job at a time each, {options.seconds} s a round")
        print(f"{'':10} {'haproxy':>24} {'turnpike':>24} {'ratio':>14}")
        ratios = []
        for number in range(1, options.rounds + 1):
            proxy_rate, proxy_cpu = round_of(proxy.pid, proxy_port, script, options.seconds)
            gate_rate, gate_cpu = round_of(gate.pid, gate_port, script, options.seconds)
            ratios.append((gate_cpu / proxy_cpu, gate_rate / proxy_rate))
            print(f"round {number:<4} {proxy_rate:10.0f}/s {proxy_cpu:8.1f} µs {gate_rate:10.0f}/s {gate_cpu:8.1f} µs"
                  f"   cpu {ratios[-1][0]:.2f}, jobs/s {ratios[-1][1]:.2f}")
        cpu, rate = (statistics.median(column) for column in zip(*ratios))
        print(f"median: CPU per job {cpu:.2f} of HAProxy's (aim: at most 0.75), jobs per second {rate:.2f} (aim: at least 1.2)")
    finally:
        for process in processes:
            process.send_signal(signal.SIGTERM)
        for process in processes:
            try:
                process.wait(5)
            except subprocess.TimeoutExpired:
                process.kill()
        shutil.rmtree(folder)


main()
