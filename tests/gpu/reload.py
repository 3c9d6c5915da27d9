#!/usr/bin/env python3
"""Checks reloads and warm starts with real PyTorch and transformers on a real GPU. You run it by hand; its output is kept under docs/gpu/.

    tests/gpu/reload.py PATH-TO-TURNPIKE [--cpu]

Four lanes on GPU 0 stand in for four GPUs. They run a small PyTorch model first, then examples/transformers with random weights.
Each check prints what it saw. A check that fails does not end the run, because time on such a machine is short, but the exit code
is then 1. --cpu runs on CPU lanes with tests/examples/fake_transformers, to find mistakes in this script.
"""
import os
import re
import signal
import statistics
import subprocess
import sys
import threading
import time
from pathlib import Path

import machine
from machine import ENV, HOME, TURNPIKE, ask, command, memory_mib, say, smi, up, wait_for
from reload_parts import BAD, LANES, ROOT, Project, Steady, answers, seconds_until

CPU = "--cpu" in sys.argv
PYTHON = "/usr/bin/python3" if CPU else sys.executable
RELOADS, RESTARTS = 5, 3
if CPU:
    ENV |= {"PYTHONPATH": str(ROOT / "tests/examples/fake_transformers"), "OMP_NUM_THREADS": "1"}
failed = []
table = []  # (model, what, seconds, where the time goes)


def check(holds, text):
    say(("ok    " if holds else "FAIL  ") + text)
    if not holds:
        failed.append(text)
    return holds


def gpu_mib():
    return 0 if CPU else memory_mib()


def lanes():
    return ask("/-/status")[0]["lanes"]


def pids():
    return [lane["pid"] for lane in lanes()]


def reload_facts():
    return ask("/-/status")[0]["pools"][0]["reload"]


def note(project, what, seconds, starts):
    """Adds a line to the table. Each part of a start is that of the lane that was slowest in it."""
    parts = ", ".join(f"{key} {max(start[f'{key}_ms'] or 0 for start in starts) / 1000:.2f}"
                      for key in ("spawn", "import", "load", "proof"))
    times = [seconds] if isinstance(seconds, float) else seconds
    table.append((project.name, what, statistics.median(times), " ".join(f"{value:.2f}" for value in times), parts))
    say(f"{what}: " + ", ".join(f"{value:.2f} s" for value in times) + f" ({parts})")


# ── the warm process ──

def warm_pid():
    """Returns the pid of the warm process that can fork now, according to warm.log, or None."""
    logs = sorted(HOME.glob(".local/state/turnpike/*/lanes/warm.log"))
    found = re.findall(r"warm process (\d+): \d+ modules", logs[0].read_text()) if logs else []
    alive = found and Path(f"/proc/{found[-1]}/fd").exists() and Path(f"/proc/{found[-1]}/cmdline").read_bytes()
    return int(found[-1]) if alive else None


def wait_warm(other_than=None):
    took = wait_for(lambda: warm_pid() not in (None, other_than), 60)
    check(took is not None, f"a warm process is there ({0 if took is None else took:.1f} s later)")
    return warm_pid()


def is_without_cuda(pid):
    paths = [os.readlink(path) for path in Path(f"/proc/{pid}/fd").iterdir()]
    maps = Path(f"/proc/{pid}/maps").read_text()
    memory = re.search(r"VmRSS:\s+(\d+)", Path(f"/proc/{pid}/status").read_text())[1]
    check(not [path for path in paths if "nvidia" in path] and "/dev/nvidia" not in maps,
          f"CUDA is not initialised in the warm process {pid}: {len(paths)} descriptors, none of /dev/nvidia*; "
          f"{int(memory) >> 10} MiB resident")


# ── the parts ──

def cold_start(project):
    """Returns (gate, GPU memory in use before it started)."""
    before, begin = gpu_mib(), time.monotonic()
    gate = up(f"{project.path}", "--gpus", "none" if CPU else "0", "--lanes", str(LANES), "--python", PYTHON)
    status = machine.wait_ready(gate, LANES)
    note(project, "cold start of four lanes", time.monotonic() - begin, [lane["start"] for lane in status["lanes"]])
    say(f"GPU memory: {before} MiB before, {gpu_mib()} MiB now")
    check({answer["version"] for answer in answers()} == {"one"}, "all of them answer")
    return gate, before


def restart(lane):
    """Returns the seconds until the lane's new worker serves."""
    known, begin = lanes()[lane]["pid"], time.monotonic()
    ask(f"/-/lanes/{lane}/restart", {})
    is_new = wait_for(lambda: lanes()[lane]["pid"] not in (None, known) and lanes()[lane]["state"] in ("ready", "busy"), 60)
    return time.monotonic() - begin if is_new is not None else 60.0


def warm_restarts(project):
    warm = wait_warm()
    is_without_cuda(warm)
    times = [restart(1) for _ in range(RESTARTS)]
    start = lanes()[1]["start"]
    note(project, "warm restart of a lane", times, [start])
    check(start["warm"] is True, f"it was warm: {start}")
    check(warm_pid() == warm, "the warm process is the same as before")
    is_without_cuda(warm)


def reload():
    """Runs `turnpike reload` to its end. Returns (exit code, output)."""
    done = subprocess.run([TURNPIKE, "reload"], env=ENV, capture_output=True, text=True, timeout=120)
    return done.returncode, (done.stdout + done.stderr).strip()


def reloads(project):
    times, before, most, ends = [], gpu_mib(), 0, threading.Event()

    def look():
        nonlocal most
        while not ends.wait(0.1):
            most = max(most, gpu_mib())
    looking = threading.Thread(target=look)
    looking.start()
    for _ in range(RELOADS):
        begin = time.monotonic()
        version = project.edit()
        said = []
        asked = threading.Thread(target=lambda: said.extend(reload()))
        asked.start()
        after = seconds_until(version, begin)
        asked.join()
        check(None not in after and said[0] == 0, f"save → each lane answers with {version}: {after}; {said[1]}")
        check(all(lane["start"]["warm"] for lane in lanes()), f"kind {reload_facts()['kind']}, all four starts were warm")
        times.append(max(60.0 if value is None else value for value in after))
    ends.set()
    looking.join()
    note(project, "reload of four lanes, save → every lane answers anew", times, [lane["start"] for lane in lanes()])
    check(reload_facts()["kind"] == "beside", f"the new workers were beside the old ones: {reload_facts()}")
    back = wait_for(lambda: gpu_mib() <= before + 256, 20)
    check(back is not None, f"GPU memory: {before} MiB before, {most} MiB at most, {gpu_mib()} MiB afterwards")


def bad_saves(project):
    good = answers()
    for what in BAD:
        word = project.spoil(what)
        begin = time.monotonic()
        code, said = reload()
        check(code == 1 and word in said, f"{what}: exit {code} after {time.monotonic() - begin:.2f} s\n{said[-700:]}")
        check(answers() == good, "the four old workers answer as before")
    os.kill(good[0]["pid"], signal.SIGKILL)
    took = wait_for(lambda: lanes()[0]["pid"] not in (None, good[0]["pid"]) and lanes()[0]["state"] in ("ready", "busy"), 60)
    check(took is not None and [answer["version"] for answer in answers()] == [answer["version"] for answer in good],
          f"kill -9 of a worker after the bad save: the last good code is back after {took} s")
    project.edit()
    check(reload()[0] == 0, "mended, saved: it reloads")


def warm_killed(project):
    """Checks that kill -9 of the warm process costs one cold start, and no other lane notices."""
    warm, known = wait_warm(), pids()
    os.kill(warm, signal.SIGKILL)
    took = restart(2)
    start, now = lanes()[2]["start"], pids()
    note(project, "restart of a lane just after kill -9 of the warm process", took, [start])
    check(start["warm"] is False and [a == b for a, b in zip(known, now)] == [True, True, False, True],
          f"kill -9 of the warm process: that restart was cold, no other lane noticed: {known} → {now}")
    wait_warm(warm)
    took = restart(2)
    check(lanes()[2]["start"]["warm"] is True, f"the next one was warm again: {took:.2f} s")


def ends(gate, before):
    warm, workers = warm_pid(), pids()
    gate.send_signal(signal.SIGTERM)
    check(gate.wait(60) == 0, "SIGTERM: exit 0")
    gone = wait_for(lambda: not any(Path(f"/proc/{pid}").exists() for pid in [warm, *workers]), 10)
    check(gone is not None, "the warm process and the workers are gone")
    back = wait_for(lambda: gpu_mib() <= before + 1, 20)
    check(back is not None, f"GPU memory is back at {gpu_mib()} MiB (before: {before} MiB)")


def part(run, *arguments):
    """Runs one part of the checks. If it raises, only this part has failed."""
    say(f"── {run.__name__.replace('_', ' ')} ──")
    try:
        return run(*arguments)
    except Exception as error:
        check(False, f"{run.__name__}: {type(error).__name__}: {error}")
        return None


def whole(name):
    say(f"════ {name} ════")
    project = Project(name)
    gate, before = cold_start(project)
    part(warm_restarts, project)
    load = Steady()
    for run in (reloads, bad_saves):
        part(run, project)
    said = load.end()
    check(not load.bad, f"across {RELOADS + 1} reloads, {len(BAD)} bad saves and a kill -9: {said} {load.bad[:2]}")
    part(warm_killed, project)
    say(command("status"))
    say(Path(gate.log).read_text())
    part(ends, gate, before)


def main():
    what = "on the CPU" if CPU else smi("--query-gpu=name,uuid,driver_version,memory.total", "-i", "0")
    versions = "import torch, transformers, sys; print(sys.version.split()[0], 'torch', torch.__version__, 'transformers', transformers.__version__)"
    begin = time.monotonic()  # this import also brings the files from disk into memory, so that it does not distort later starts
    said = subprocess.run([PYTHON, "-c", versions], env=ENV, capture_output=True, text=True).stdout.strip()
    say(f"{time.strftime('%Y-%m-%d')}; {what}; {os.cpu_count()} cores; {command('version').strip()}; Python {said} "
        f"(first import of both: {time.monotonic() - begin:.1f} s)")
    for name in ("small", "text"):
        part(whole, name)
    for started in machine.gates:
        if started.poll() is None:
            started.kill()
    print("\n| model | what | median, s | each, s | where the slowest lane's time went, s |\n|---|---|---|---|---|")
    for model, name, median, each, parts in table:
        print(f"| {model} | {name} | {median:.2f} | {each} | {parts} |")
    say("all checks passed" if not failed else f"{len(failed)} FAILED:\n" + "\n".join(failed))
    sys.exit(bool(failed))


main()
