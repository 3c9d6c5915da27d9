#!/usr/bin/env python3
"""Compares `turnpike reload` with a cold restart of all lanes: seconds from a save until every lane answers with the new code.

    bench/reload_against_restart.py [--build build/release] [--rounds 5] [--lanes 4] [--python /usr/bin/python3]

Two gates serve the same small PyTorch model on CPU lanes. One has the default settings. The other has `warm = false`; it reloads
too, but each of its lanes starts cold. A client asks every lane until it answers with the new code. Rounds alternate, so that
other work on the machine affects both. Then one lane of each gate is restarted. Needs a Python with PyTorch (Debian's python3-torch).
"""
import argparse
import http.client
import json
import os
import statistics
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from side_by_side import free_port, stage

AIM = 5
DEADLINE_S = 120
PARTS = ("spawn", "import", "load", "proof")
MODEL = """
import os
import torch
import turnpike

VERSION = {version}


class Net(turnpike.Model):
    example = {{"n": 1}}

    def load(self, lane):
        torch.manual_seed(1)
        self.net = torch.nn.Sequential(torch.nn.Linear(256, 1024), torch.nn.ReLU(), torch.nn.Linear(1024, 10))

    def predict(self, x):
        with torch.no_grad():
            return {{"sum": float(self.net(torch.full((1, 256), 0.1 * x["n"])).sum()), "version": VERSION, "pid": os.getpid()}}
"""


class Gate:
    """A gate with its own model file. Each save has a new version number."""

    def __init__(self, on, options, name, warm):
        self.binary, self.name, self.lanes = Path(options.build, "turnpike").resolve(), name, options.lanes
        self.folder = on.folder / name
        self.folder.mkdir()
        self.environment = on.environment | {"XDG_STATE_HOME": str(self.folder / "state"), "OMP_NUM_THREADS": "1"}
        self.version = 0
        self.save()
        config = self.folder / "turnpike.toml"
        config.write_text(f'[pool.net]\nmodel = "model.py"\npython = "{options.python}"\ngpus = "none"\nlanes = {options.lanes}\n'
                          f"warm = {json.dumps(warm)}\n")
        self.port = free_port()
        begin = time.monotonic()
        on.start(self.binary, "up", config, "--name", name, "--port", str(self.port), env=self.environment,
                 stdout=subprocess.DEVNULL, stderr=open(self.folder / "up.log", "wb"))
        self.wait_for_all(begin)
        self.up_s = time.monotonic() - begin

    def save(self):
        self.version += 1
        draft = self.folder / "draft"
        draft.write_text(MODEL.format(version=self.version))
        draft.rename(self.folder / "model.py")

    def ask(self, method, path, value=None, lane=None):
        """Returns (status, answer), or (0, None) while the gate is not listening."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=DEADLINE_S)
        headers = {"Content-Type": "application/json"} | ({} if lane is None else {"Turnpike-Lane": str(lane)})
        try:
            connection.request(method, path, None if value is None else json.dumps(value), headers)
            answer = connection.getresponse()
            return answer.status, json.loads(answer.read())
        except ConnectionError:
            return 0, None
        finally:
            connection.close()

    def wait_for(self, lane, holds, begin):
        """Waits until `holds(answer)` is true. Returns the seconds since `begin`."""
        while time.monotonic() < begin + DEADLINE_S:
            status, answer = self.ask("POST", "/predict", {"n": 1}, lane)
            if status == 200 and holds(answer):
                return time.monotonic() - begin
            time.sleep(0.01)
        sys.exit(f"lane {lane} of the gate {self.name} does not come up: {(self.folder / 'up.log').read_text()}")

    def wait_for_all(self, begin):
        with ThreadPoolExecutor(self.lanes) as threads:
            return max(threads.map(lambda lane: self.wait_for(lane, lambda answer: answer["version"] == self.version, begin),
                                   range(self.lanes)))

    def reload(self):
        """Returns the seconds from the save until the last lane answers with the new code."""
        begin = time.monotonic()
        self.save()
        asked = subprocess.Popen([self.binary, "reload", "--name", self.name], env=self.environment, stdout=subprocess.DEVNULL)
        took = self.wait_for_all(begin)
        if asked.wait(DEADLINE_S) != 0:
            sys.exit(f"a reload of the gate {self.name} failed")
        return took

    def restart_one(self):
        """Returns the seconds until lane 0 answers from a new process."""
        pid = self.ask("POST", "/predict", {"n": 1}, 0)[1]["pid"]
        begin = time.monotonic()
        self.ask("POST", "/-/lanes/0/restart")
        return self.wait_for(0, lambda answer: answer["pid"] != pid, begin)

    def starts(self):
        return [lane["start"] for lane in self.ask("GET", "/-/status")[1]["lanes"]]

    def wait_warm(self):
        log = self.folder / "state/turnpike" / self.name / "lanes/warm.log"
        end = time.monotonic() + DEADLINE_S
        while not (log.exists() and "modules imported" in log.read_text()):
            if time.monotonic() > end:
                sys.exit("the warm process did not get ready in time")
            time.sleep(0.05)


def parts_of(starts):
    """Returns each part of a start, for the lane that was slowest in it."""
    return " + ".join(f"{part} {max(start[part + '_ms'] for start in starts):.0f} ms" for part in PARTS)


def compare(title, cold, warm, act, rounds, aim=None):
    """Prints a table and the median of its ratios."""
    print(f"\n{title}\n{'':10} {'cold':>10} {'warm':>10} {'ratio':>8}")
    ratios = []
    for number in range(1, rounds + 1):
        slow, quick = act(cold), act(warm)
        ratios.append(slow / quick)
        print(f"round {number:<4} {slow:8.2f} s {quick:8.2f} s {ratios[-1]:8.2f}", flush=True)
    print(f"median: {statistics.median(ratios):.2f} times faster" + (f" (aim: at least {aim})" if aim else ""))


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--build", default="build/release")
    options.add_argument("--rounds", type=int, default=5)
    options.add_argument("--lanes", type=int, default=4)
    options.add_argument("--python", default="/usr/bin/python3")
    options = options.parse_args()
    if subprocess.run([options.python, "-c", "import torch"], capture_output=True).returncode != 0:
        print(f"reload_against_restart: skipped: {options.python} has no PyTorch: apt-get install python3-torch")
        return
    with stage(needs=()) as on:
        cold, warm = Gate(on, options, "cold", False), Gate(on, options, "warm", True)
        warm.wait_warm()
        print(f"{options.lanes} lanes, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}; "
              f"`up` took {cold.up_s:.2f} and {warm.up_s:.2f} s")
        compare(f"save → all {options.lanes} lanes answer with the new code", cold, warm, Gate.reload, options.rounds, AIM)
        slow, quick = cold.starts(), warm.starts()
        print(f"cold: {parts_of(slow)}\nwarm: {parts_of(quick)}")
        if any(start["warm"] for start in slow) or not all(start["warm"] for start in quick):
            sys.exit("a lane of the cold gate started warm, or one of the warm gate cold: see the logs of the lanes")
        compare("restart of one lane, from its last job to its first new one", cold, warm, Gate.restart_one, options.rounds)


main()
