"""Shared by the benchmarks that compare two programs: the proxy, the load, and processes that end with the run."""
import contextlib
import os
import shutil
import signal
import socket
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
    """Returns the CPU time of all threads of the process, user and system."""
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def family_cpu_seconds(*pids):
    """Returns the CPU time of these processes and all their descendants."""
    parents = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            parents[int(stat.parent.name)] = int(stat.read_text().rsplit(")", 1)[1].split()[1])
    family = set(pids)
    while more := {pid for pid, parent in parents.items() if parent in family} - family:
        family |= more
    return sum(cpu_seconds(pid) for pid in family)


def jobs_of(port, script, seconds):
    """Returns how many jobs wrk completed."""
    done = subprocess.run(["wrk", "-t1", f"-c{CLIENTS}", f"-d{seconds}s", "-s", script, f"http://127.0.0.1:{port}"],
                          capture_output=True, text=True, check=True)
    if "Non-2xx" in done.stdout:
        sys.exit(done.stdout)
    words = done.stdout.split()
    return int(words[words.index("requests") - 1])


class Stage:
    """A temporary folder and processes. `stage()` removes all of them at its end."""

    def __init__(self, folder):
        self.folder = folder
        self.processes = []
        self.environment = os.environ | {f"XDG_{name}": str(folder) for name in ("RUNTIME_DIR", "CONFIG_HOME", "STATE_HOME")}
        self.script = folder / "request.lua"
        self.script.write_text(REQUEST)

    def start(self, *command, **more):
        self.processes.append(subprocess.Popen(command, **more))
        return self.processes[-1]

    def start_haproxy(self, worker_ports):
        """Returns (process, port)."""
        port = free_port()
        servers = "\n".join(f"    server w{p} 127.0.0.1:{p} maxconn 1" for p in worker_ports)
        (self.folder / "haproxy.cfg").write_text(HAPROXY.format(port=port, servers=servers))
        proxy = self.start("haproxy", "-f", self.folder / "haproxy.cfg", "-db",
                           stdout=open(self.folder / "haproxy.log", "wb"))
        wait_for(port)
        return proxy, port

    def start_gate(self, binary, *words, under=(), **environment):
        """Returns (process, port). The gate logs every job. `under` is the command of a tool that runs the gate."""
        port = free_port()
        gate = self.start(*under, binary, "up", *words, "--port", str(port), "--log-jobs", self.folder / "jobs.log",
                          env=self.environment | environment, stderr=open(self.folder / "up.log", "wb"))
        wait_for(port)
        return gate, port


@contextlib.contextmanager
def stage(needs=("haproxy", "wrk")):
    for needed in needs:
        if not (shutil.which(needed) or os.path.exists(f"/usr/sbin/{needed}")):
            sys.exit(f"{Path(sys.argv[0]).stem}: needs {needed}: apt-get install haproxy wrk valgrind")
    os.environ["PATH"] += ":/usr/sbin"
    made = Stage(Path(tempfile.mkdtemp(prefix="turnpike-bench-")))
    try:
        yield made
    finally:
        for process in made.processes:
            process.send_signal(signal.SIGTERM)
        for process in made.processes:
            try:
                process.wait(5)
            except subprocess.TimeoutExpired:
                process.kill()
        shutil.rmtree(made.folder)
