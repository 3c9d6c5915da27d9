#!/usr/bin/env python3
"""Checks examples/transformers on a real GPU, with real PyTorch and transformers. You run it by hand; its output is kept under docs/gpu/.

    tests/gpu/hf.py PATH-TO-TURNPIKE [--fake]

Four lanes on GPU 0 stand in for four GPUs. Each has 0.7 billion random weights in bfloat16, made from a config. Each check
prints what it saw. A check that fails does not end the run, because time on such a machine is short, but the exit code is then 1.
--fake runs on CPU lanes with tests/examples/fake_transformers, to find mistakes in this script.
"""
import json
import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import machine
from hf_streams import opened, read, whole
from machine import ENV, HOME, URL, ask, command, memory_mib, say, smi, status_of, up, wait_for

HERE = Path(__file__).resolve().parent
FAKE = "--fake" in sys.argv
ROOT = HERE.parents[1]
LANES = 4
GREEDY = {"prompt": "Four lanes, one answer.", "max_new_tokens": 64, "temperature": 0}
LONG = {**GREEDY, "max_new_tokens": 256}
ENDLESS = {**GREEDY, "max_new_tokens": 4000}
failed = []


def check(holds, text):
    say(("ok    " if holds else "FAIL  ") + text)
    if not holds:
        failed.append(text)
    return holds


def lanes():
    return ask("/-/status")[0]["lanes"]


def ready(gate, count):
    """Waits until `count` lanes serve and returns the status. Ends the run if that is not possible."""
    def is_decided():
        try:
            states = [lane["state"] for lane in lanes()]
        except OSError:
            return gate.poll() is not None
        return states.count("ready") == count or {"failed", "quarantined"} & set(states)
    wait_for(is_decided, 180)
    if gate.poll() is None and all_ready():
        return ask("/-/status")[0]
    say(command("logs")[-4000:])
    machine.check(False, f"{count} lanes come up; output:\n{Path(gate.log).read_text()}")


def all_ready():
    return all(lane["state"] == "ready" for lane in lanes())


def pids():
    return [lane["pid"] for lane in lanes()]


def together(*calls):
    """Runs all calls at once and returns their results."""
    with ThreadPoolExecutor(len(calls)) as threads:
        return [future.result() for future in [threads.submit(*call) for call in calls]]


def report_of(lane):
    """Returns what the lane's worker reports about itself."""
    return json.loads(opened({"do": "tell"}, lane)[1].read())


def gpu_mib():
    return 0 if FAKE else memory_mib()


def config(name, model, count, env):
    if FAKE:
        env = {**env, "PYTHONPATH": str(ROOT / "tests/examples/fake_transformers"), "OMP_NUM_THREADS": "1"}
    path = HOME / f"{name}.toml"
    path.write_text(f'[pool.text]\nmodel = "{model}"\npython = "{sys.executable if not FAKE else "/usr/bin/python3"}"\n'
                    f'gpus = {"[0]" if not FAKE else chr(34) + "none" + chr(34)}\nlanes = {count}\n'
                    "env = { " + ", ".join(f'{key} = "{value}"' for key, value in env.items()) + " }\n")
    return str(path)


def loads():
    """Loads all lanes at once."""
    before = gpu_mib()
    begin = time.monotonic()
    gate = up(config("random", HERE / "hf_model.py", LANES, {"SIZE": "0.7b"}))
    status = ready(gate, LANES)
    say(f"{LANES} lanes serve {time.monotonic() - begin:.1f} s after `turnpike up`")
    for lane in status["lanes"]:
        say(f"lane {lane['lane']}: {lane['start']}")
    say(f"facts: {status['lanes'][0]['model_facts']}")
    check(status["pools"][0]["proof"] == "passed", "the example was generated on every lane before its first job")
    say(f"GPU memory: {before} MiB before, {gpu_mib()} MiB now")
    say(command("status"))
    return gate


def streams():
    """Streams on one lane alone, then on all four together. Returns the text that all of them give."""
    alone = whole(LONG, 0)
    check(alone.is_done() and alone.tokens == LONG["max_new_tokens"], f"alone, {alone}")
    four = together(*[(whole, LONG, lane) for lane in range(LANES)])
    for stream in four:
        check(stream.is_done() and stream.tokens == LONG["max_new_tokens"], f"of four at once, {stream}")
    say(f"four lanes together: {sum(stream.rate() for stream in four):.0f} tokens per second")
    check({stream.text for stream in four} == {alone.text}, f"one text from all lanes, {alone.text[:40]!r} …")
    text = whole(GREEDY, 0).text
    sampled = [whole({**GREEDY, "temperature": 1.0, "seed": seed}, lane).text for lane, seed in ((0, 7), (1, 7), (2, 8))]
    check(sampled[0] == sampled[1] and len({text, *sampled}) == 3, "a seed gives the same text on two lanes, another seed another")
    return text


def out_of_memory(text):
    """Checks that an out-of-memory error in the thread of generate() fails the job, and its worker goes on."""
    known, used = pids(), gpu_mib()
    (code, problem), *others = together((status_of, "/predict", {**GREEDY, "do": "out of memory"}),
                                        *[(whole, LONG, None) for _ in range(LANES - 1)])
    check(code == 500 and problem["type"].endswith("out-of-memory"), f"out of memory: {code} {problem}")
    check(all(stream.is_done() for stream in others), "three streams of that time went on to their ends")
    took = wait_for(all_ready, 30)
    check(took is not None and pids() == known, "no worker died of it")
    after = [whole(GREEDY, lane).text for lane in range(LANES)]
    check(set(after) == {text}, "every lane gives the same text as before")
    say(f"GPU memory: {used} MiB before, {gpu_mib()} MiB after; allocated on each lane, as torch says: "
        f"{[report_of(lane)['cuda_mib'] for lane in range(LANES)]} MiB")


def device_assert(text):
    """Checks that the worker is restarted if a token beyond the vocabulary poisons its CUDA context, and no other lane is affected."""
    known = pids()
    (code, problem), *others = together((status_of, "/predict", {**GREEDY, "do": "device assert"}),
                                        *[(whole, {**LONG, "max_new_tokens": 1024}, None) for _ in range(LANES - 1)])
    check(code == 502, f"device-side assert: {code} {problem}")
    check(all(stream.is_done() for stream in others),
          f"three streams of that time went on to their ends: {[stream.tokens for stream in others]} tokens")
    say(f"different texts among them (greedy, 1024 tokens of random weights in bf16): {len({stream.text for stream in others})}")
    took = wait_for(all_ready, 120)
    check(took is not None, f"all lanes serve again, {took or 0:.1f} s after the answer")
    changed = [lane["lane"] for lane, pid in zip(lanes(), known) if lane["pid"] != pid]
    check(0 < len(changed) <= 2, f"restarted: lanes {changed} (the job is tried twice)")
    check({whole(GREEDY, lane).text for lane in range(LANES)} == {text}, "every lane gives the same text as before")
    say(command("crashes"))
    for lane in changed[:1]:
        lines = [line for line in command("logs", str(lane)).splitlines() if "assert" in line.lower() or "Error" in line]
        say("its log: " + "\n".join(lines[:6]))


def cancel():
    """Checks that generate() stops after the current token if its client leaves or the job is cancelled."""
    connection, answer, stream, begin = opened(ENDLESS, 1)
    read(answer, stream, begin, tokens_max=20)
    answer.close()
    connection.close()
    left = time.monotonic()
    took = wait_for(all_ready, 30)
    check(took is not None, f"a client leaves after {stream.tokens} tokens: its lane is free {(time.monotonic() - left) * 1000:.0f} ms later")
    tell(1, stream.job)
    connection, answer, stream, begin = opened(ENDLESS, 2)
    read(answer, stream, begin, tokens_max=20)
    ordered = time.monotonic()
    command("cancel", stream.job)
    took = wait_for(all_ready, 30)
    check(took is not None, f"`turnpike cancel`: the lane is free {(time.monotonic() - ordered) * 1000:.0f} ms later")
    read(answer, stream, begin)
    say(f"its client got {stream.tokens} tokens, then {stream.events} {stream.broken}")
    tell(2, stream.job)
    for lane in (1, 2):
        threads = report_of(lane)["threads"]
        check(threads.count("generate_0") == 1 and len(threads) == 3, f"one thread generates, job after job, on lane {lane}: {threads}")


def tell(lane, job):
    """Checks what the worker prints about a job that it stopped."""
    def lines():
        return [line for line in command("logs", str(lane)).splitlines() if f"job {job}: nobody waits" in line]
    wait_for(lines, 10)
    found = lines()
    count = int(found[-1].split("stopped after ")[1].split()[0]) if found else -1
    check(0 < count < ENDLESS["max_new_tokens"] // 4, f"the worker says: {found[-1].strip() if found else 'nothing'}")


def kill(text):
    """Checks that after kill -9 of a worker in mid-stream its client gets an error, and other streams go on."""
    pid = next(lane["pid"] for lane in lanes() if lane["lane"] == 3)
    connection, answer, stream, begin = opened(ENDLESS, 3)
    with ThreadPoolExecutor(1) as threads:
        other = threads.submit(whole, LONG, 0)
        read(answer, stream, begin, tokens_max=20)
        os.kill(pid, signal.SIGKILL)
        killed = time.monotonic()
        read(answer, stream, begin)
        delay = time.monotonic() - killed
        check(not stream.is_done() and (stream.broken or stream.events),
              f"kill -9 after {stream.tokens} tokens: its client is told within {delay * 1000:.0f} ms: {stream.events} {stream.broken}")
        check(other.result().is_done(), "a stream on another lane went on to its end")
    took = wait_for(all_ready, 120)
    check(took is not None, f"the lane serves again {time.monotonic() - killed:.1f} s after the kill")
    check(whole(GREEDY, 3).text == text, "and gives the same text as before")
    connection.close()


def ends(gate):
    gate.kill()
    gate.wait()
    took = wait_for(lambda: gpu_mib() <= MEMORY_BEFORE + 1, 15)
    check(took is not None, f"kill -9 of the gate: GPU memory is back at {MEMORY_BEFORE} MiB after {took or 0:.2f} s")


def from_folder():
    """Checks MODEL=FOLDER, which uses from_pretrained, with a small model and tokenizer that transformers itself saved."""
    folder = HOME / "saved"
    env = {**ENV, "PYTHONPATH": str(ROOT / "tests/examples/fake_transformers")} if FAKE else ENV
    python = "/usr/bin/python3" if FAKE else sys.executable
    made = subprocess.run([python, str(HERE / "hf_save.py"), str(folder)], env=env, capture_output=True, text=True)
    if not check(made.returncode == 0, f"a model was saved into a folder {made.stderr[-2000:] if made.returncode else ''}"):
        return
    gate = up(config("folder", ROOT / "examples/transformers/model.py", 1, {"MODEL": folder}))
    status = ready(gate, 1)
    say(f"facts: {status['lanes'][0]['model_facts']}")
    stream = whole({"prompt": "hello", "max_new_tokens": 32, "temperature": 0})
    check(stream.is_done() and 0 < stream.tokens <= 32, f"MODEL=folder streams: {stream}, {stream.text[:40]!r}")
    chat = {"messages": [{"role": "user", "content": "hello"}], "max_tokens": 8, "temperature": 0}
    code, answer = status_of("/v1/chat/completions", chat)
    check(code == 200 and answer["choices"][0]["message"]["role"] == "assistant", f"/v1/chat/completions: {code} {answer}")
    gate.send_signal(signal.SIGTERM)
    check(gate.wait(60) == 0, "SIGTERM: exit 0")


def part(run, *arguments):
    """Runs one part of the checks. If it raises, only this part has failed."""
    say(f"── {run.__name__.replace('_', ' ')} ──")
    try:
        return run(*arguments)
    except Exception as error:
        check(False, f"{run.__name__}: {type(error).__name__}: {error}")
        return None


def main():
    what = "FAKE, on the CPU" if FAKE else smi("--query-gpu=name,uuid,driver_version,memory.total", "-i", "0")
    say(f"{time.strftime('%Y-%m-%d')}; {what}; {command('version').strip()}; Python {sys.version.split()[0]}; {URL}")
    gate = loads()
    text = part(streams)
    for run in () if FAKE else (out_of_memory, device_assert):  # a CPU lane has no GPU that could be sick
        part(run, text)
    part(cancel)
    part(kill, text)
    part(ends, gate)
    part(from_folder)
    for started in machine.gates:
        if started.poll() is None:
            started.kill()
    say("all checks passed" if not failed else f"{len(failed)} FAILED:\n" + "\n".join(failed))
    sys.exit(bool(failed))


MEMORY_BEFORE = gpu_mib()
main()
