#!/usr/bin/env python3
"""Checks examples/torch and examples/image on four lanes of a real GPU. You run it by hand; its output is kept under docs/gpu/.

    tests/gpu/examples.py PATH-TO-TURNPIKE [cpu]

Without a GPU (or with the word cpu) the same checks run on four CPU lanes, and the log says so. The answers of
the lanes are compared with those of the same model in this process, on the CPU. The first check that fails ends the run with
exit code 1.
"""
import http.client
import json
import signal
import sys
import time
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import torch

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "sdk/python"))
sys.path.insert(0, str(ROOT / "tests/examples"))
import turnpike.testing  # noqa: E402
from machine import (HOME, PORT, URL, ask, check, command, memory_mib, say, smi, status_of, up,  # noqa: E402
                     wait_for, wait_ready)
from png_reader import read_png  # noqa: E402

ON_GPU = torch.cuda.is_available() and "cpu" not in sys.argv[2:]
SECONDS = 4.0 if ON_GPU else 2.0  # length of each measurement
READ_CLOSE = 1e-4  # allowed difference between scores of the CPU and of the GPU
DRAW_CLOSE = 0.1  # allowed difference between pixels (0 to 16) after many steps
LONG = {"digit": 8, "count": 64, "steps": 1000}


def lanes():
    return ask("/-/status")[0]["lanes"]


def all_ready():
    return all(lane["state"] == "ready" for lane in lanes())


def start(what):
    where = ["--gpus", "0"] if ON_GPU else ["--gpus", "none"]
    gate = up(str(what), *where, "--lanes", "4", "--python", sys.executable)
    status = wait_ready(gate, 4)
    say(Path(gate.log).read_text().strip())
    for lane in status["lanes"]:
        where = ", ".join(gpu["name"] for gpu in lane["gpus"]) or "cpu"
        say(f"lane {lane['lane']}: {where}, {lane['model_facts']}, {lane['start']}")
    check(status["pools"][0]["proof"] in ("passed", None), "every lane gave the right answer before it served")
    if ON_GPU:
        say(f"GPU memory in use: {memory_mib()} MiB")
    return gate


def finish(gate):
    pids = [lane["pid"] for lane in lanes()]
    gate.send_signal(signal.SIGTERM)
    check(gate.wait(60) == 0, "SIGTERM: exit 0")
    check(not any(Path(f"/proc/{pid}").exists() for pid in pids), "and no worker is left")


def pictures_of(count):
    """Returns pictures of 8 x 8 with random ink, the same in every run. Needs no file."""
    source = torch.Generator().manual_seed(5)
    return (16 * torch.rand(count, 64, generator=source) ** 3).tolist()


def largest_difference(one, other):
    return max(abs(a - b) for left, right in zip(one, other, strict=True) for a, b in zip(left, right, strict=True))


def rate(bodies, clients):
    """Returns jobs per second over connections that stay open, and the mean number of inputs in a forward pass."""
    end = time.monotonic() + SECONDS

    def client(number):
        sizes = []
        connection = http.client.HTTPConnection("127.0.0.1", PORT)
        while time.monotonic() < end:
            connection.request("POST", "/predict", bodies[(number + len(sizes)) % len(bodies)])
            answer = connection.getresponse()
            assert answer.read().startswith(b"{") and answer.status == 200
            sizes.append(int(answer.headers["Batch-Size"]))
        return sizes
    begin = time.monotonic()
    with ThreadPoolExecutor(clients) as threads:
        sizes = [size for found in threads.map(client, range(clients)) for size in found]
    return len(sizes) / (time.monotonic() - begin), len(sizes) / sum(1 / size for size in sizes), max(sizes)


def reading():
    """Checks that examples/torch is right on every lane, and that batches make it faster."""
    say("── examples/torch ──")
    pictures = pictures_of(64)
    with turnpike.testing.serve(str(ROOT / "examples/torch/model.py")) as here:
        expected = [one["scores"] for start in range(0, 64, 16) for one in here.predict_all(pictures[start:start + 16])]
    gate = start(ROOT / "examples/torch")
    with ThreadPoolExecutor(32) as threads:
        answers = list(threads.map(lambda pixels: ask("/predict", {"pixels": pixels}), pictures * 4))
    apart = largest_difference([answer["scores"] for answer, _ in answers], expected * 4)
    check(apart < READ_CLOSE, f"256 answers differ from the CPU's by at most {apart:.1e} (allowed: {READ_CLOSE:.0e})")
    check(len({fields["Turnpike-Lane"] for _, fields in answers}) == 4, "all four lanes answered")
    sizes = sorted({int(fields["Batch-Size"]) for _, fields in answers})
    check(sizes[-1] > 1, f"inputs in a forward pass, of 32 clients: {sizes}")

    with ThreadPoolExecutor(32) as threads:
        mixed = list(threads.map(lambda n: status_of("/predict", pictures[n] if n % 8 else [0] * 63), range(64)))
    check([code for code, _ in mixed] == [200 if n % 8 else 400 for n in range(64)], "bad inputs among them fail alone")
    bodies = [json.dumps({"pixels": pixels}) for pixels in pictures]
    together = {clients: rate(bodies, clients) for clients in (1, 16, 64)}
    finish(gate)

    config = HOME / "alone.toml"
    config.write_text(f"[pool.digits]\nmodel = {json.dumps(str(ROOT / 'examples/torch/model.py'))}\nbatch = 1\n")
    gate = start(config)
    for clients, (jobs, mean, most) in together.items():
        alone, _, largest = rate(bodies, clients)
        check(largest == 1, f"{clients:2} clients: {jobs:6.0f} jobs/s in batches of {mean:.1f} (at most {most}), "
                            f"{alone:6.0f} with batch = 1: {jobs / alone:.1f} times")
    say("(the client is a Python program, too: with many clients it is what is measured)")
    finish(gate)


def drawing():
    """Checks that examples/image draws the same pictures as the CPU, reports progress, and stops when told to."""
    say("── examples/image ──")
    parameters = {"count": 10, "steps": 50, "seed": 4, "as": "numbers"}
    with turnpike.testing.serve(str(ROOT / "examples/image/model.py")) as here:
        expected = [one["pixels"] for one in here.predict(parameters)["pictures"]]
    gate = start(ROOT / "examples/image")
    with ThreadPoolExecutor(4) as threads:
        answers = list(threads.map(lambda _: ask("/predict", parameters), range(8)))
    for answer, fields in answers:
        apart = largest_difference([one["pixels"] for one in answer["pictures"]], expected)
        check(apart < DRAW_CLOSE,
              f"lane {fields['Turnpike-Lane']}: pixels differ from the CPU's by at most {apart:.1e} of 16")

    begin = time.monotonic()
    body = json.dumps({"count": 20, "seed": 1, "steps": 100}).encode()
    with urllib.request.urlopen(urllib.request.Request(URL + "/predict", body), timeout=120) as answer:
        kind, data = answer.headers["Content-Type"], answer.read()
    took = time.monotonic() - begin
    rows = read_png(data)
    check((kind, len(rows), len(rows[0])) == ("image/png", 128, 640),
          f"20 digits in 100 steps: a PNG of {len(rows[0])} x {len(rows)}, {len(data)} bytes, in {took:.2f} s")

    pids = [lane["pid"] for lane in lanes()]
    for how in ("its client leaves", "DELETE /-/jobs/ID"):
        stopped(how)
    check([lane["pid"] for lane in lanes()] == pids, "no worker had to be ended for it")
    say(command("status"))
    finish(gate)


def stopped(how):
    """Starts a long job, checks its progress, and tells it to stop."""
    connection = http.client.HTTPConnection("127.0.0.1", PORT, timeout=120)
    begin = time.monotonic()
    connection.request("POST", "/predict", json.dumps(LONG))
    check(wait_for(lambda: ask("/-/jobs")[0]["live"], 20) is not None, "a drawing of 64 digits in 1000 steps begins")
    job = ask("/-/jobs")[0]["live"][0]["id"]
    check(wait_for(lambda: ask(f"/-/jobs/{job}")[0].get("progress", {}).get("fraction", 0) > 0.01, 60) is not None,
          f"after {time.monotonic() - begin:.2f} s: {ask(f'/-/jobs/{job}')[0]['progress']}")
    asked = time.monotonic()
    if how.startswith("DELETE"):
        request = urllib.request.Request(f"{URL}/-/jobs/{job}", method="DELETE")
        check(urllib.request.urlopen(request, timeout=20).status == 202, "DELETE: 202")
        answer = connection.getresponse()
        check(answer.status == 409, f"its client: {answer.status} {answer.read().decode()}")
    connection.close()
    is_free = wait_for(all_ready, 20) is not None
    check(is_free, f"{how}: the lane is free {1000 * (time.monotonic() - asked):.0f} ms later")


def main():
    if ON_GPU:
        say(f"on the GPU: {smi('--query-gpu=name,uuid,driver_version,memory.total', '-i', '0')}")
    else:
        say("on the CPU: no GPU is used")
    say(f"{command('version').strip()}, PyTorch {torch.__version__}, Python {sys.version.split()[0]}")
    torch.set_num_threads(1)
    reading()
    drawing()
    say("all checks passed")


main()
