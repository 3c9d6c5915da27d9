#!/usr/bin/python3
"""Measures what batching gives: the same model on the same lanes with `batch = 1` and with `batch = 16`, in turns.

    ./measure.py PATH-TO-TURNPIKE [--gpus 0] [--lanes 1] [--clients 64]

Clients are threads that send a job, wait for its answer, and send the next. The clients use the same cores that CPU
lanes compute on, so compare the two columns, and do not read either as a record.
"""
import argparse
import json
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

HERE = Path(__file__).resolve().parent
BODY = (HERE.parent / "digits" / "seven.json").read_bytes()
JOB = b"POST /predict HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n" % len(BODY) + BODY


class Gate:
    """Runs `turnpike up` with this batch inside a `with` statement. All lanes serve, at `port`."""

    def __init__(self, chosen, batch, folder):
        config = Path(folder) / f"batch-{batch}.toml"
        config.write_text(f"[pool.digits]\nmodel = {json.dumps(str(HERE / 'model.py'))}\nbatch = {batch}\n")
        words = [chosen.turnpike, "up", config, "--port", "0", "--name", f"measure-{batch}", "--gpus", chosen.gpus,
                 "--lanes", str(chosen.lanes), "--python", sys.executable]
        self.words = [str(word) for word in words]

    def __enter__(self):
        self.process = subprocess.Popen(self.words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                        stderr=subprocess.STDOUT, text=True)
        said = ""
        for line in self.process.stdout:
            said += line
            if found := re.search(r"http://127\.0\.0\.1:(\d+)", line):
                self.port = int(found[1])
                break
        else:
            sys.exit(f"turnpike did not come up:\n{said}")
        end = time.monotonic() + 120
        while " 200 " not in self.ask("/-/readyz"):
            if '"state":"failed"' in self.ask("/-/status") or time.monotonic() > end:
                self.__exit__()
                sys.exit("the model does not come up; see what it says: turnpike up examples/torch")
            time.sleep(0.1)
        return self

    def ask(self, path):
        with socket.create_connection(("127.0.0.1", self.port)) as connection:
            return exchange(connection, f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGINT)
        self.process.communicate(timeout=60)


def exchange(connection, request):
    """Sends a request and returns the answer's head and body as text. Reads only bodies with a Content-Length."""
    connection.sendall(request)
    answer = b""
    while not (ends := re.search(rb"(?i)content-length: (\d+)(?s:.*?)\r\n\r\n", answer)) \
            or len(answer) < ends.end() + int(ends[1]):
        more = connection.recv(65536)
        if not more:
            break
        answer += more
    return answer.decode()


def measure(port, clients, seconds):
    """Returns jobs per second, and the average number of inputs in a forward pass."""
    def client(_):
        batches = []
        with socket.create_connection(("127.0.0.1", port)) as connection:
            while time.monotonic() < end:
                answer = exchange(connection, JOB)
                if '"digit":7' not in answer.replace(" ", ""):
                    sys.exit(f"not what was expected:\n{answer}")
                batches.append(int(re.search(r"(?i)batch-size: (\d+)", answer)[1]))
        return batches
    begin = time.monotonic()
    end = begin + seconds
    with ThreadPoolExecutor(clients) as threads:
        batches = [size for found in threads.map(client, range(clients)) for size in found]
    passes = sum(1 / size for size in batches)  # each job counts as 1/size of its pass
    return len(batches) / (time.monotonic() - begin), len(batches) / passes


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("turnpike", type=Path)
    options.add_argument("--gpus", default="none")
    options.add_argument("--lanes", type=int, default=1)
    options.add_argument("--clients", type=int, default=64)
    options.add_argument("--seconds", type=float, default=4)
    chosen = options.parse_args()
    with tempfile.TemporaryDirectory() as folder, Gate(chosen, 1, folder) as alone, Gate(chosen, 16, folder) as batched:
        print("clients   batch = 1   batch = 16   times   inputs in a pass of batch = 16")
        for clients in sorted({1, 4, 16, chosen.clients}):
            for gate in (alone, batched):
                measure(gate.port, clients, 0.5)  # warm-up
            slow, _ = measure(alone.port, clients, chosen.seconds)
            fast, size = measure(batched.port, clients, chosen.seconds)
            print(f"{clients:7} {slow:9.0f}/s {fast:10.0f}/s {fast / slow:7.1f} {size:14.1f}", flush=True)


if __name__ == "__main__":
    main()
