#!/usr/bin/env python3
"""Checks Turnpike on a machine with a real GPU. You run it by hand; its output is kept under docs/gpu/.

    tests/gpu/check.py PATH-TO-TURNPIKE [ROUNDS]

Four lanes on GPU 0 stand in for four GPUs. Each check prints what it saw. The first check that fails ends the run with exit code 1.
"""
import os
import random
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from machine import ENV, TURNPIKE, ask, check, command, memory_mib, ours, say, smi, stop, up, wait_for, wait_ready

ROUNDS = int(sys.argv[2]) if len(sys.argv) > 2 else 20
WORKER = f"{sys.executable} {Path(__file__).resolve().parent / 'torch_server.py'} {{port}} 2"


def main():
    say(f"{smi('--query-gpu=name,uuid,driver_version,memory.total', '-i', '0')}; "
        f"{command('version').strip()}")
    doctor = subprocess.run([TURNPIKE, "doctor"], env=ENV, capture_output=True, text=True)
    say(f"doctor ({doctor.returncode}):\n{doctor.stdout}{doctor.stderr}")
    before = memory_mib()
    uuid = smi("--query-gpu=uuid", "-i", "0")

    # all lanes at once, compared with one alone
    alone, together = [], []
    for round in range(3):
        for lanes, times in ((1, alone), (4, together)):
            begin = time.monotonic()
            gate = up("--worker", WORKER, "--gpus", "0", "--lanes", str(lanes))
            status = wait_ready(gate, lanes)
            times.append(time.monotonic() - begin)
            if round == 2 and lanes == 4:
                break
            stop(gate)
    say(f"ready: one lane {[f'{t:.2f}' for t in alone]} s, four lanes {[f'{t:.2f}' for t in together]} s, "
        f"ratio of medians {sorted(together)[1] / sorted(alone)[1]:.2f}")
    say(Path(gate.log).read_text())

    # discovery, pinning, answers
    for lane in status["lanes"]:
        check(lane["gpus"][0]["uuid"] == uuid and lane["gpus"][0]["index"] == 0,
              f"lane {lane['lane']} is on GPU 0, {uuid}; start {lane['start']}")
    with ThreadPoolExecutor(16) as threads:
        answers = list(threads.map(lambda _: ask("/predict", {"n": 200})[0], range(200)))
    check({a["visible"] for a in answers} == {"0"} and {a["order"] for a in answers} == {"PCI_BUS_ID"},
          "CUDA_VISIBLE_DEVICES=0, CUDA_DEVICE_ORDER=PCI_BUS_ID in every worker")
    check({a["count"] for a in answers} == {1} and {a["uuid"] for a in answers} == {uuid.removeprefix("GPU-")},
          "each worker sees one GPU, the right one")
    check(len({a["sum"] for a in answers}) == 1, f"200 jobs, one answer: {answers[0]['sum']}")
    check(len({a["pid"] for a in answers}) == 4, "by four processes")
    def used_mib():
        return (ask("/-/status")[0]["lanes"][0]["gpus"][0]["memory_used"] or 0) >> 20

    check(wait_for(lambda: abs(used_mib() - memory_mib()) < 200, 30) is not None,
          f"status: {used_mib()} MiB used; nvidia-smi: {memory_mib()} MiB")
    say(command("status"))

    # a worker dies: its lane restarts when its memory is free
    victim = ask("/-/status")[0]["lanes"][2]["pid"]
    os.kill(victim, signal.SIGKILL)
    took = wait_for(lambda: (l := ask("/-/status")[0]["lanes"][2])["state"] == "ready" and l["pid"] != victim, 60)
    check(took is not None, f"kill -9 of lane 2's worker: serves again after {took:.2f} s")
    say(command("crashes"))
    subprocess.run([TURNPIKE, "drain", "3"], env=ENV, check=True)
    full = memory_mib()
    took = wait_for(lambda: ask("/-/status")[0]["lanes"][3]["state"] == "drained", 30)
    check(took is not None and memory_mib() < full - 1500, f"drain 3: {full} MiB, then {memory_mib()} MiB")
    subprocess.run([TURNPIKE, "resume", "3"], env=ENV, check=True)
    wait_ready(gate, 4)
    stop(gate)
    check(wait_for(lambda: memory_mib() <= before + 1, 10) is not None, f"GPU memory is back at {before} MiB")

    # pinned by UUID
    gate = up("--worker", WORKER, "--gpus", uuid, "--lanes", "1")
    wait_ready(gate, 1)
    check(ask("/predict", {})[0]["visible"] == "0", "--gpus UUID finds the same GPU")
    stop(gate)

    # the gate is killed
    random.seed(4)
    gone, freed = [], []
    for round in range(ROUNDS):
        gate = up("--worker", WORKER, "--gpus", "0", "--lanes", "4")
        if round % 2 == 0:
            wait_ready(gate, 4)
        else:
            time.sleep(random.uniform(0.1, 6))  # at a random moment of the load
        gate.kill()
        begin = time.monotonic()
        took = wait_for(lambda: not ours(), 10)
        check(took is not None, f"round {round}: no process left")
        gone.append(took)
        check(wait_for(lambda: memory_mib() <= before + 1, 10) is not None, f"round {round}: memory free")
        freed.append(time.monotonic() - begin)
        gate.wait()
    say(f"kill -9 of the gate, {ROUNDS} times: processes gone after at most {max(gone):.2f} s (median "
        f"{sorted(gone)[ROUNDS // 2]:.2f}), GPU memory back at {before} MiB after at most {max(freed):.2f} s "
        f"(median {sorted(freed)[ROUNDS // 2]:.2f}; nvidia-smi itself takes some of that)")
    check(max(gone) < 1 and max(freed) < 2, "within 1 s and 2 s")
    say("all checks passed")


main()
