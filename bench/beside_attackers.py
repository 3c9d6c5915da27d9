#!/usr/bin/env python3
"""Measures how long an honest client waits while another client attacks the gate.

    bench/beside_attackers.py [--build build/release] [--seconds 8] [--rounds 3] [--only NAME]

Every job takes the same time (--work, 5 ms, asleep, so that it needs no core). The honest client sends one job at a time over a
kept connection. Each round measures it alone, then beside one attack, so that both figures of a ratio come from neighbouring
seconds. Honest client and attacker have a key each. Attackers are limited in rate, because they share the cores with the gate.
The gate's bounds are low, so that attacks reach them; only that of connections is not, because connections count by address,
and here both clients have the same (tests/integration/gate/test_floods.py has several). Aim: p99 beside an attack at most twice the
quiet one (median of the rounds), and every honest job answered. Exit: 0 if each attack meets it, 1 if not.
"""
import argparse
import asyncio
import multiprocessing
import os
import statistics
import subprocess
import sys
import time

from side_by_side import stage

MODEL = """
import time
import turnpike

class Sleeps(turnpike.Model):
    slots = 1
    def predict(self, x):
        if isinstance(x, dict) and "mib" in x:
            return bytes(x["mib"] << 20)
        if isinstance(x, dict) and "n" in x:
            return int(x["n"])
        time.sleep({work})
        return 1
"""

BOUNDS = """
[gate]
answers_max = "256MiB"

[queue]
jobs_max = 60
arriving_max = 60
bytes_max = "128MiB"

[pool.default]
model = "model.py"
gpus = "none"
lanes = 4
"""
AIM = 2


class Attacker:
    """One client with a key, and how it can send."""

    def __init__(self, port, key):
        self.port, self.key, self.open = port, key, []

    async def connect(self):
        try:
            reader, writer = await asyncio.open_connection("127.0.0.1", self.port, limit=4096)
        except OSError:  # the gate closes what it has no room for
            return None, None
        self.open.append(writer)
        return reader, writer

    def head(self, *fields, line="POST /predict HTTP/1.1", length=0):
        lines = [line, "Host: localhost", f"Turnpike-Key: {self.key}", f"Content-Length: {length}", *fields]
        return "\r\n".join([*lines, "", ""]).encode()

    async def hold(self, first, rest, connections, pause):
        """Opens connections, sends `first` on each, and then a byte of `rest` on one after the other."""
        writers = []
        at = 0
        while True:
            if len(writers) < connections:
                _, writer = await self.connect()
                if writer:
                    writer.write(first)
                    writers.append(writer)
            elif rest:
                writers[at % connections].write(rest)
                at += 1
            writers = [writer for writer in writers if not writer.is_closing()]
            await asyncio.sleep(pause)

    async def ask(self, body, line="POST /predict HTTP/1.1", fields=()):
        reader, writer = await self.connect()
        if not writer:
            return
        writer.write(self.head("Content-Type: application/json", "Connection: close", *fields, line=line, length=len(body)) + body)
        try:
            await asyncio.wait_for(reader.read(), 10)
        except (OSError, asyncio.TimeoutError):
            pass
        writer.close()
        self.open.remove(writer)

    async def flood(self, *fields, connections=64):
        """Keeps a job waiting on each connection, as long as the honest client's."""
        await asyncio.gather(*(self.one_after_the_other(*fields) for _ in range(connections)))

    async def one_after_the_other(self, *fields):
        body = b'{"x": 1}'
        request = self.head("Content-Type: application/json", *fields, length=len(body)) + body
        while True:
            reader, writer = await self.connect()
            try:
                while writer:
                    writer.write(request)
                    head = await reader.readuntil(b"\r\n\r\n")
                    length = next(line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:"))
                    await reader.readexactly(int(length[15:]))
                    if not head.startswith(b"HTTP/1.1 200"):
                        await asyncio.sleep(0.2)  # refused; refusals cost the attacker's share of the cores, too
            except (OSError, asyncio.IncompleteReadError):
                self.open.remove(writer)
            await asyncio.sleep(0.05)


class Attacks(Attacker):
    """Each method is an attack; it runs until it is cancelled."""

    async def idle_connections(self):
        await self.hold(b"", b"", 2000, 0.003)

    async def partial_heads(self):
        await self.hold(b"POST /predict HTTP/1.1\r\nHost: localhost\r\nX: ", b"a", 1000, 0.003)

    async def slow_uploads(self):
        await self.hold(self.head("Content-Type: application/json", length=1 << 20), b" " * 100, 300, 0.003)

    async def announced_bytes(self):
        await self.hold(self.head("Content-Type: application/json", length=64 << 20), b" " * 100, 64, 0.01)

    async def stalled_readers(self):
        body = b'{"mib": 16}'
        while True:
            _, writer = await self.connect()
            if writer:
                writer.transport.pause_reading()
                writer.write(self.head("Content-Type: application/json", length=len(body)) + body)
            await asyncio.sleep(0.2)

    async def heads_without_bodies(self):
        await self.hold(self.head("Content-Type: application/json", length=1000), b"", 400, 0.003)

    async def many_jobs(self):
        await self.flood()

    async def pinned_jobs(self):
        await self.flood("Turnpike-Lane: 0")

    async def urgent_jobs(self):
        await self.flood("Turnpike-Priority: 9")

    async def sick_words(self):
        while True:
            for words in ("GPU is lost", "CUDA out of memory", "device-side assert triggered", "uncorrectable ECC error"):
                await self.ask(f'{{"n": "CUDA error: {words}"}}'.encode())
                await asyncio.sleep(0.05)

    async def cross_site_images(self):
        while True:
            await self.ask(b"", "GET /predict?n=gpu+is+lost HTTP/1.1", ["Sec-Fetch-Site: cross-site", "Sec-Fetch-Dest: image"])
            await asyncio.sleep(0.01)


ATTACKS = [name for name in vars(Attacks) if not name.startswith("_")]


def attack(name, port, key):
    asyncio.run(getattr(Attacks(port, key), name)())


class Honest:
    """Sends one job at a time and keeps how long each took."""

    def __init__(self, port, key):
        body = b'{"x": 1}'
        self.request = (f"POST /predict HTTP/1.1\r\nHost: localhost\r\nTurnpike-Key: {key}\r\nContent-Type: application/json\r\n"
                        f"Content-Length: {len(body)}\r\n\r\n").encode() + body
        self.port = port

    async def measure(self, seconds):
        """Returns the times in milliseconds."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        times = []
        end = time.monotonic() + seconds
        while (begin := time.monotonic()) < end:
            writer.write(self.request)
            head = await reader.readuntil(b"\r\n\r\n")
            if not head.startswith(b"HTTP/1.1 200"):
                sys.exit(f"an honest job was refused:\n{head.decode()}")
            await reader.readexactly(1)
            times.append((time.monotonic() - begin) * 1000)
        writer.close()
        return times


def p99(times):
    return statistics.quantiles(times, n=100)[98]


def beside(honest, name, port, key, seconds):
    """Returns the p99 of the honest client alone, and beside the attack."""
    quiet = p99(asyncio.run(honest.measure(seconds)))
    attacker = multiprocessing.Process(target=attack, args=(name, port, key), daemon=True)
    attacker.start()
    try:
        asyncio.run(honest.measure(seconds / 2))  # the attack grows
        attacked = p99(asyncio.run(honest.measure(seconds)))
    finally:
        attacker.kill()
        attacker.join()
    asyncio.run(honest.measure(1))  # the gate closes what the attacker left
    return quiet, attacked


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--build", default="build/release")
    options.add_argument("--seconds", type=float, default=8)
    options.add_argument("--rounds", type=int, default=3)
    options.add_argument("--work", type=float, default=0.005, help="seconds that each job takes")
    options.add_argument("--only", choices=ATTACKS, action="append", help="this attack; may be given several times")
    options = options.parse_args()
    binary = os.path.abspath(options.build + "/turnpike")
    with stage(needs=()) as on:
        (on.folder / "model.py").write_text(MODEL.format(work=options.work))
        (on.folder / "turnpike.toml").write_text(BOUNDS)
        keys = [subprocess.run([binary, "key", "new", name], env=on.environment, stdout=subprocess.PIPE, text=True,
                               check=True).stdout.split()[-1] for name in ("honest", "attacker")]
        _, port = on.start_gate(binary, on.folder / "turnpike.toml", "--name", f"bench-{os.getpid()}")
        honest = Honest(port, keys[0])
        asyncio.run(honest.measure(1))  # waits for the lanes, and warms them up
        print(f"{'attack':20} {'quiet':>8} {'attacked':>9} {'ratio':>6}   (p99 of an honest client in ms; jobs of {options.work * 1000:g} ms)")
        missed = []
        for name in options.only or ATTACKS:
            ratios = []
            for _ in range(options.rounds):
                quiet, attacked = beside(honest, name, port, keys[1], options.seconds)
                ratios.append(attacked / quiet)
                print(f"{name:20} {quiet:8.2f} {attacked:9.2f} {ratios[-1]:6.2f}", flush=True)
            ratio = statistics.median(ratios)
            print(f"{name:20} {'':8} {'median':>9} {ratio:6.2f}   (aim: at most {AIM})", flush=True)
            if ratio > AIM:
                missed.append(name)
        if missed:
            sys.exit(f"beside_attackers: more than {AIM} times the quiet p99: {', '.join(missed)}")


if __name__ == "__main__":
    main()
