"""Shared by the checks on a machine with a real GPU: starting a gate, asking it, and asking nvidia-smi."""
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from pathlib import Path

TURNPIKE = os.path.abspath(sys.argv[1])
HOME = Path(tempfile.mkdtemp(prefix="turnpike-gpu-"))
ENV = {**os.environ, "HOME": str(HOME), "XDG_RUNTIME_DIR": str(HOME)}
PORT = 8123
URL = f"http://127.0.0.1:{PORT}"
gates = []  # every gate that was started


def say(text):
    print(f"[{time.strftime('%H:%M:%S')}] {text}", flush=True)


def check(holds, text):
    say(("ok    " if holds else "FAIL  ") + text)
    if not holds:
        for gate in gates:
            gate.kill()  # its guards end the workers
        sys.exit(1)


def ask(path, value=None):
    data = None if value is None else json.dumps(value).encode()
    with urllib.request.urlopen(urllib.request.Request(URL + path, data), timeout=120) as answer:
        return json.load(answer), dict(answer.headers)


def status_of(path, value):
    """Returns (status, problem or answer)."""
    try:
        return 200, ask(path, value)[0]
    except urllib.error.HTTPError as error:
        return error.code, json.load(error)


def command(*words):
    return subprocess.run([TURNPIKE, *words], env=ENV, capture_output=True, text=True).stdout


def smi(*query):
    return subprocess.run(["nvidia-smi", *query, "--format=csv,noheader,nounits"], capture_output=True, text=True,
                          check=True).stdout.strip()


def memory_mib():
    return int(smi("--query-gpu=memory.used", "-i", "0"))


def up(*words):
    output = open(HOME / f"up-{time.monotonic_ns()}.log", "wb+")
    process = subprocess.Popen([TURNPIKE, "up", *words, "--port", str(PORT)], env=ENV,
                               stdin=subprocess.DEVNULL, stdout=output, stderr=output)
    process.log = output.name
    gates.append(process)
    return process


def wait_ready(process, lanes, deadline=180):
    end = time.monotonic() + deadline
    while time.monotonic() < end:
        try:
            status, _ = ask("/-/status")
            if sum(lane["state"] == "ready" for lane in status["lanes"]) == lanes:
                return status
        except OSError:
            pass
        if process.poll() is not None:
            break
        time.sleep(0.02)
    check(False, f"{lanes} lanes come up; output:\n{Path(process.log).read_text()}")


def ours():
    """Returns the pids of all workers and guards, whatever their parents are now."""
    return subprocess.run(["pgrep", "-f", "torch_server.py|turnpike_worker.py|turnpike guard"], capture_output=True,
                          text=True).stdout.split()


def wait_for(holds, deadline):
    begin = time.monotonic()
    while time.monotonic() < begin + deadline:
        if holds():
            return time.monotonic() - begin
        time.sleep(0.005)
    return None


def stop(process):
    process.send_signal(signal.SIGTERM)
    check(process.wait(60) == 0, "SIGTERM: exit 0")
    check(not ours(), "and nothing is left")
