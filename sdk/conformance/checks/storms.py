"""A check of everything at once, in a random order: jobs, streams, large bodies, cancels, pauses, pings and stacks."""
import json
import os
import random

from . import check, frames
from .bodies import RAW, pattern
from .gate import Failure, Job, memfd
from .streams import expected

SLOTS, ASIDES_MAX = 4, 3


class Storm:
    def __init__(self, gate, seed, jobs):
        self.gate, self.random, self.left = gate, random.Random(seed), jobs
        self.kept, self.wanted, self.asides = b"", {}, set()
        self.cancelled, self.paused = set(), set()

    def run(self):
        while self.left:
            self.random.choice(self.steps())()
            if self.random.random() < 0.3:
                self.flush()
            self.gate.pump(0 if self.random.random() < 0.9 else 0.002)
        self.flush()
        for number in list(self.paused):
            self.order(frames.RESUME, number)
        self.flush()
        gate = self.gate
        gate.wait(lambda: all(gate.jobs[number].ended for number in self.wanted), "the end of every job")
        gate.wait(lambda: not gate.asked and not gate.asked_stacks, "every pong and all stacks")
        for number, want in self.wanted.items():
            self.judge(gate.jobs[number], want)

    def steps(self):
        aboard = [number for number in self.wanted if not self.gate.jobs[number].ended]
        steps = [self.ping]
        if len([number for number in aboard if number not in self.asides]) < SLOTS:
            steps += [self.job] * 6
        if len([number for number in aboard if number in self.asides]) < ASIDES_MAX:
            steps.append(self.aside)
        if aboard:
            number = self.random.choice(aboard)
            steps += [lambda: self.order(frames.CANCEL, number), lambda: self.order(frames.PAUSE, number),
                      lambda: self.order(frames.RESUME, number)]
        if self.random.random() < 0.05:
            steps.append(self.ask_stacks)
        return steps

    # ── sending: frames are collected in `kept`, and flushed in pieces of any size ──

    def flush(self):
        while self.kept:
            size = self.random.choice([1, 7, 100, 5000, len(self.kept)])
            self.gate.send(self.kept[:size])
            self.kept = self.kept[size:]

    def new(self, want):
        number = self.gate.next_number()
        self.gate.jobs[number] = Job(number)
        self.wanted[number] = want
        self.left -= 1
        return number

    def job(self):
        if self.random.random() < 0.1:
            return self.large_body()
        body, want = self.random.choice(self.bodies())
        self.kept += frames.job(self.new(want), json.dumps(body).encode())
        return None

    def bodies(self):
        value, size = self.random.randrange(1000), self.random.choice([0, 10, 100_000, 1_500_000])
        pieces, length = self.random.choice([(1, 8), (100, 20), (40, 65536)])
        return [({"echo": value}, {"echo": value})] * 4 + [
            ({"sleep": value / 2**17}, {"slept": value / 2**17}), ({"compute": value / 2**17}, {"computed": value / 2**17}),
            ({"size": size}, pattern(size)), ({"stream": pieces, "size": length}, expected(pieces, length)),
            ({"fail": "exception", "message": "no"}, "exception"), ({"fail": "bad_input", "message": "no"}, "bad_input")]

    def aside(self):
        value = self.random.randrange(1000)
        number = self.new({"echo": value})
        self.asides.add(number)
        self.kept += frames.job(number, json.dumps({"echo": value}).encode(), purpose=2)

    def large_body(self):
        self.flush()
        body = pattern(self.random.choice([0, 5, 1_200_000]))
        descriptor = memfd(body)
        self.gate.send(frames.job(self.new(body), target=b"/bytes", fields=RAW, in_descriptor=len(body)), [descriptor])
        while self.gate.out:
            self.gate.pump(0.01)
        os.close(descriptor)

    def order(self, kind, number):
        if kind == frames.CANCEL:
            self.cancelled.add(number)
        (self.paused.add if kind == frames.PAUSE else self.paused.discard)(number)
        self.kept += frames.frame(kind, number)

    def ping(self):
        number = self.gate.next_number() + 1_000_000
        self.gate.asked.add(number)
        self.kept += frames.frame(frames.PING, number)

    def ask_stacks(self):
        number = self.gate.next_number() + 2_000_000
        self.gate.asked_stacks.add(number)
        self.kept += frames.frame(frames.ASK_STACKS, number)

    # ── checking the answers ──

    def judge(self, job, want):
        if job.failed:
            if job.failed.why != want and not (job.failed.why == "cancelled" and job.number in self.cancelled):
                raise Failure(f"job {job.number} failed ({job.failed.why}: {job.failed.message}); expected was {str(want)[:100]}")
        elif want in ("exception", "bad_input"):
            raise Failure(f"job {job.number} did not fail, but was answered with {job.status}")
        elif isinstance(want, dict):
            if job.json != want:
                raise Failure(f"job {job.number} was answered with {job.json}, not with {want}")
        elif job.body != want:
            raise Failure(f"job {job.number} was answered with {len(job.body)} bytes, not with the expected {len(want)} bytes")


@check(variant="slots")
def a_storm(gate):
    """among hundreds of mixed jobs, orders and pings, in pieces of any size, each job ends once and with the right result"""
    gate.until_ready()
    for seed in range(3):
        Storm(gate, seed, jobs=150).run()
