"""Batches, several jobs at once, cancels: everything that concerns more than one job."""
import json
import unittest

from conversation import TalkCase, frames

SUMS = """
import turnpike
class Sums(turnpike.Model):
    batch = 8
    DEF predict(self, xs):
        print(len(xs), flush=True)
        if "raise" in xs:
            raise ValueError("of all")
        if "bad" in xs:
            raise turnpike.BadInput("one is bad")
        if "oom" in xs:
            raise type("OutOfMemoryError", (RuntimeError,), {"__module__": "torch"})("CUDA out of memory")
        if "short" in xs:
            return [1]
        if "dict" in xs:
            return {"a": 1}
        return [turnpike.BadInput("odd") if x == "odd" else KeyError(x) if x == "error" else float("nan") if x == "nan" else {"x": x} for x in xs]
    def request(self, req):
        return req.path
"""
DEFINES = ("def", "async def")


class Batches(TalkCase):
    def each(self, **welcome):
        for define in DEFINES:
            yield define, self.serve(SUMS.replace("DEF", define), **welcome)

    def test_predict_gets_a_list_and_each_job_its_answer(self):
        for define, talk in self.each():
            with self.subTest(define):
                ends = talk.batch([1, 2, 3])
                self.assertEqual([json.loads(end.body) for end in ends], [{"x": 1}, {"x": 2}, {"x": 3}])
                self.assertEqual(talk.answer(4), {"x": 4})
                self.assertEqual(talk.stdout().split(), ["3", "1"])

    def test_one_jobs_failure_is_its_own(self):
        for define, talk in self.each():
            with self.subTest(define):
                ends = talk.batch(["odd", 1, "error", "nan", 2])
                self.assertEqual([getattr(end, "why", 0) for end in ends],
                                 [frames.BAD_INPUT, 0, frames.EXCEPTION, frames.NON_FINITE, 0])
                self.assertEqual(talk.stdout().split(), ["5"])

    def test_a_batch_that_fails_as_a_whole_is_tried_one_by_one(self):
        for define, talk in self.each():
            with self.subTest(define):
                ends = talk.batch([1, "raise", "bad", 2])
                self.assertEqual([getattr(end, "why", 0) for end in ends], [0, frames.EXCEPTION, frames.BAD_INPUT, 0])
                self.assertEqual(talk.stdout().split(), ["4", "1", "1", "1", "1"])

    def test_out_of_memory_is_not_tried_again(self):
        for define, talk in self.each(gpus=1):
            with self.subTest(define):
                ends = talk.batch([1, "oom"])
                self.assertEqual([end.why for end in ends], [frames.OUT_OF_MEMORY] * 2)
                self.assertEqual(talk.stdout().split(), ["2"])

    def test_a_predict_that_returns_anything_but_as_many_is_told_so(self):
        for define, talk in self.each():
            with self.subTest(define):
                self.assert_fails(talk.ask("dict"), frames.EXCEPTION, "must return a list of 1, not a dict")
                ends = talk.batch([1, "short"])
                self.assertEqual([getattr(end, "why", 0) for end in ends], [0, 0])  # each job was tried alone, where a list of one is right
                self.assertIn("2", talk.stdout().split())

    def test_members_for_other_paths_and_without_json_do_not_disturb_the_rest(self):
        for define, talk in self.each():
            with self.subTest(define):
                talk.send(1, index=0, size=4)
                talk.send(target="/other", index=1, size=4)
                talk.send(body=b"{", index=2, size=4)
                talk.send(2, index=3, size=4)
                ends = {frame.id: frame for frame in (talk.gate.next() for _ in range(4))}
                self.assertEqual([json.loads(ends[number].body) for number in (1, 4)], [{"x": 1}, {"x": 2}])
                self.assertEqual(ends[2].body, b"/other")
                self.assert_fails(ends[3], frames.BAD_INPUT, "not JSON")
                self.assertEqual(talk.stdout().split(), ["2"])

    def test_raw_requests_come_as_a_list_too(self):
        talk = self.serve("""
            import turnpike
            from typing import List
            batch = 4
            def predict(reqs: List[turnpike.Request]):
                return [req.body for req in reqs]
        """)
        self.assertEqual([end.body for end in talk.batch([1, 2])], [b"1", b"2"])

    def test_the_job_of_a_batch_speaks_for_all_members(self):
        talk = self.serve("""
            import turnpike
            batch = 4
            def predict(xs):
                job = turnpike.job()
                job.progress(0.5, "half")
                while not job.cancelled:
                    pass
                return [[member.cancelled for member in job.jobs], job.id]
        """)
        numbers = [talk.send(x, index=index, size=2) for index, x in enumerate("ab")]
        self.assertEqual([talk.gate.next().id for _ in numbers], numbers)
        for number in numbers:
            talk.order(frames.CANCEL, number)
        self.assertEqual([talk.gate.next().body for _ in numbers], [b"[true,true]", b"job-1"])


class AtOnce(TalkCase):
    def test_slots_run_at_the_same_time_in_threads(self):
        talk = self.serve("""
            import threading
            slots = 3
            meeting = threading.Barrier(3)
            def predict(x):
                meeting.wait(60)
                return x
        """)
        numbers = {talk.send(x) for x in range(3)}
        self.assertEqual({talk.gate.next().id for _ in range(3)}, numbers)
        self.assertEqual(talk.stop(), 0)

    def test_coroutines_run_at_the_same_time_in_one_loop(self):
        talk = self.serve("""
            import asyncio, turnpike
            slots = 3
            async def load(lane):
                global here, all_here
                here, all_here = set(), asyncio.Event()
            async def predict(x):
                here.add(turnpike.job().id)
                if len(here) == 3:
                    all_here.set()
                await all_here.wait()
                return turnpike.job().id
            async def unload():
                print("unloaded")
        """)
        numbers = {talk.send(x) for x in range(3)}
        ends = [talk.gate.next() for _ in range(3)]
        self.assertEqual({end.id for end in ends}, numbers)
        self.assertEqual({end.body.decode() for end in ends}, {f"job-{number}" for number in numbers})
        self.assertEqual(talk.stop(), 0)
        self.assertEqual(talk.stdout(), "unloaded\n")

    def test_cancel_reaches_the_right_job_in_every_mode(self):
        source = """
            import time, asyncio, turnpike
            slots = 2
            DEF predict(x):
                turnpike.job().progress(0, "began")
                while True:
                    turnpike.job().raise_if_cancelled()
                    PAUSE
        """
        for define, pause in (("def", "time.sleep(0.001)"), ("async def", "await asyncio.sleep(0.001)")):
            with self.subTest(define):
                talk = self.serve(source.replace("DEF", define).replace("PAUSE", pause))
                first, second = talk.send(1), talk.send(2)
                self.assertEqual({talk.gate.until("progress").id for _ in range(2)}, {first, second})
                for number in (second, first):
                    talk.order(frames.CANCEL, number)
                    end = talk.gate.next()
                    self.assertEqual((end.id, end.why), (number, frames.CANCELLED))
                talk.order(frames.CANCEL, first)  # ignored, because the job has ended
                talk.order(frames.PING, 1)
                self.assertEqual(talk.gate.next().name, "pong")

    def test_an_async_model_that_blocks_its_loop_is_still_heard(self):
        talk = self.serve("""
            import turnpike
            async def predict(x):
                turnpike.job().progress(0, "began")
                while not turnpike.job().cancelled:
                    pass
                return "told"
        """)
        number = talk.send(1)
        talk.gate.next()
        talk.order(frames.PING, 1)
        self.assertEqual(talk.gate.next().name, "pong")
        talk.order(frames.ASK_STACKS, 2)
        self.assertIn("in predict", talk.gate.next().rest.decode())
        second = talk.send(2)
        talk.order(frames.CANCEL, number)
        self.assertEqual(talk.gate.until("done").body, b"told")
        talk.gate.until("progress")
        talk.order(frames.CANCEL, second)
        self.assertEqual(talk.gate.until("done").id, second)

    def test_a_gate_that_goes_ends_async_and_pooled_workers(self):
        for source in ("import turnpike, time\nslots = 2\ndef predict(x):\n turnpike.job().progress(0)\n time.sleep(600)",
                       "import turnpike, time\nasync def predict(x):\n turnpike.job().progress(0)\n time.sleep(600)",
                       "import turnpike, asyncio\nasync def predict(x):\n turnpike.job().progress(0)\n await asyncio.sleep(600)"):
            for stop in (False, True):
                with self.subTest(source[-40:], stop=stop):
                    talk = self.serve(source)
                    talk.send(1)
                    talk.gate.next()
                    if stop:
                        talk.order(frames.STOP)
                    else:
                        talk.gate.sock.close()
                    self.assertEqual(talk.exit_code(), 0)


if __name__ == "__main__":
    unittest.main()
