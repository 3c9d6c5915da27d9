"""Many jobs, pings, cancels, pauses and stacks in a random order with a known seed: the worker keeps to the protocol, and ends each job once."""
import json
import random
import select
import unittest

from conversation import PATIENCE_S, TalkCase, frames

MODEL = """
import asyncio, time, turnpike
class Storm(turnpike.Model):
    batch = BATCH
    DEF one(self, x):
        job = turnpike.job()
        if x["do"] == "raise":
            raise turnpike.BadInput("as asked")
        if x["do"] == "progress":
            job.progress(0.5, "half")
        if x["do"] == "wait":
            for _ in range(x["n"]):
                if job.cancelled:
                    break
                PAUSE(0.001)
        return x["big"] * "x" if x["do"] == "big" else {"n": x["n"]}
    DEF many(self, xs):
        return [turnpike.BadInput("as asked") if x["do"] == "raise" else {"n": x["n"]} for x in xs]
    DEF stream(self, req):
        for n in range(int(req.query)):
            yield {"n": n}
    predict = many if BATCH > 1 else one
    def request(self, req):
        return self.stream(req)
"""
JOBS = 400


class Client:
    """Knows which frames may come next, and fails if another one comes."""

    def __init__(self, case, talk, random_, slots, batch):
        self.case, self.talk, self.random, self.slots, self.batch = case, talk, random_, slots, batch
        self.aboard, self.asked = {}, {}
        self.number = self.order = self.ended = 0

    def run(self):
        poll = select.poll()
        poll.register(self.talk.gate.sock, select.POLLIN)
        while self.ended < JOBS:
            if self.number < JOBS and len(self.aboard) < self.slots * self.batch and (self.batch == 1 or not self.aboard):
                self.send_jobs()
            if self.random.random() < 0.3:
                self.disturb()
            while self.talk.gate._data or poll.poll(0 if self.number < JOBS and len(self.aboard) < self.slots else 2):
                self.take(self.talk.gate.next())
        while self.asked:
            self.take(self.talk.gate.next())

    def send_jobs(self):
        size = min(self.random.randint(1, self.batch), JOBS - self.number)
        for index in range(size):
            self.number += 1
            self.aboard[self.number] = "new"
            if self.random.random() < 0.2:
                self.talk.gate.job(self.number, method="GET", target=f"/s?{self.random.randint(0, 30)}", index=index, size=size)
                continue
            do = self.random.choice(("plain", "raise", "progress", "wait", "big"))
            x = {"do": do, "n": self.random.randint(0, 30), "big": self.random.choice((10, 100_000, 1_200_000))}
            self.talk.gate.job(self.number, json.dumps(x).encode(), index=index, size=size)

    def disturb(self):
        kind = self.random.choice((frames.PING, frames.ASK_STACKS, frames.CANCEL, frames.CANCEL, frames.PAUSE))
        self.order += 1
        if kind in (frames.PING, frames.ASK_STACKS):
            self.asked[self.order] = "pong" if kind == frames.PING else "stacks"
            return self.talk.gate.order(kind, self.order)
        number = self.random.choice(list(self.aboard) or [max(1, self.number)])  # or a job that ended long ago
        self.talk.gate.order(kind, number)
        if kind == frames.PAUSE:
            self.talk.gate.order(frames.RESUME, number)

    def take(self, frame):
        if frame.name in ("pong", "stacks"):
            return self.case.assertEqual(self.asked.pop(frame.id, None), frame.name)
        state = self.aboard.get(frame.id)
        self.case.assertIn((state, frame.name), [("new", "progress"), ("new", "begin"), ("open", "chunk"), ("new", "done"), ("open", "done"),
                                                 ("new", "failed"), ("open", "failed")], frame)
        if frame.name == "begin":
            self.aboard[frame.id] = "open"
        elif frame.name in ("done", "failed"):
            self.case.assertEqual(frame.name == "done" and frame.status == 0, state == "open" and frame.name == "done")
            del self.aboard[frame.id]
            self.ended += 1


class Storm(TalkCase):
    def test_each_way_to_run_models(self):
        for define, slots, batch in (("def", 1, 1), ("def", 4, 1), ("async def", 4, 1), ("def", 1, 4), ("async def", 2, 4)):
            with self.subTest(define, slots=slots, batch=batch):
                pause = "await asyncio.sleep" if define == "async def" else "time.sleep"
                source = MODEL.replace("DEF", define).replace("BATCH", str(batch)).replace("PAUSE", pause)
                talk = self.serve(source, slots=slots)
                talk.gate.sock.settimeout(PATIENCE_S)
                Client(self, talk, random.Random(5), slots, batch).run()
                self.assertEqual(talk.stop(), 0)
                self.assertEqual(talk.stderr(), "")


if __name__ == "__main__":
    unittest.main()
