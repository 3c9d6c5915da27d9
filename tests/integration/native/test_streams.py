"""Tests streams of native models: text and events, failures in the middle, and clients that read slowly."""
import json
import unittest

from client import Truncated
from native_case import NativeCase, SharedGate, body_of, wait_until

MODEL = '''
from turnpike import Response


class Streams(turnpike.Model):
    example = {"do": "echo", "value": 1}

    def predict(self, task):
        return getattr(self, "do_" + task["do"])(task)

    def do_echo(self, task):
        return {"value": task["value"]}

    def do_big(self, task):
        return bytes(range(256)) * (task["size"] // 256)

    def do_nan_stream(self, task):
        yield {"n": 1}
        yield {"n": float("inf")}

    def do_stream(self, task):
        for item in task["items"]:
            yield item
        if task.get("then"):
            raise RuntimeError(task["then"])

    def do_steps(self, task):
        for number, path in enumerate(task["paths"]):
            yield f"{number}\\n"
            wait_for(path)

    def do_endless(self, task):
        try:
            while True:
                yield "tick\\n"
                time.sleep(0.002)
        except BaseException as error:
            write_file(task["closed"], f"{type(error).__name__}, cancelled: {turnpike.job().cancelled}")
            raise

    def do_flood(self, task):
        piece = bytes(range(256)) * 1024
        for number in range(task["pieces"]):
            write_file(task["count_file"], number)
            yield piece

    def do_stream_response(self, task):
        return Response((item for item in task["items"]), 202, {"X-Kind": "stream"}, "text/x-lines")
'''


class Streams(SharedGate):
    def open(self):
        return self.serve(self.model(MODEL), pool={"lanes": 2})

    def stream(self, **task):
        client = self.gate.connect()
        client.request("POST", "/predict", body_of(task))
        head = client.head()
        return client, head

    def test_text_is_passed_on_unchanged(self):
        answer = self.ask_model(do="stream", items=["one ", "", "zwei ", "trö"])
        self.assertEqual(answer.header("content-type"), "text/plain; charset=utf-8")
        self.assertEqual(answer.header("transfer-encoding"), "chunked")
        self.assertEqual(answer.body.decode(), "one zwei trö")

    def test_dicts_are_server_sent_events(self):
        items = [{"token": "a\nb"}, {"token": "ü"}, {}]
        answer = self.ask_model(do="stream", items=items)
        self.assertEqual(answer.header("content-type"), "text/event-stream")
        events = answer.body.decode().split("\n\n")
        self.assertEqual(events.pop(), "")
        self.assertEqual([json.loads(event.removeprefix("data: ")) for event in events], items)

    def test_each_piece_leaves_when_it_is_made(self):
        folder = self.folder_for("steps")
        paths = [folder / str(number) for number in range(3)]
        client, head = self.stream(do="steps", paths=[str(path) for path in paths])
        self.assertEqual(head.status, 200)
        for number, path in enumerate(paths):
            self.assertEqual(client.chunk(), f"{number}\n".encode())
            path.touch()
        self.assertEqual(client.chunk(), b"")

    def test_an_empty_stream_is_an_answer(self):
        answer = self.ask_model(do="stream", items=[])
        self.assertEqual((answer.status, answer.body), (200, b""))

    def test_a_response_may_stream(self):
        answer = self.ask_model(do="stream_response", items=["a\n", "b\n"], status=202)
        self.assertEqual((answer.header("x-kind"), answer.header("content-type"), answer.body),
                         ("stream", "text/x-lines", b"a\nb\n"))

    def test_a_text_stream_that_breaks_has_no_final_chunk(self):
        client, head = self.stream(do="stream", items=["half "], then="out of ideas")
        with self.assertRaises(Truncated):
            client.body_of(head)
        self.assertEqual(b"".join(head.chunks), b"half ")

    def test_an_event_stream_that_breaks_says_so_first(self):
        client, head = self.stream(do="stream", items=[{"n": 1}], then="out of ideas")
        with self.assertRaises(Truncated):
            client.body_of(head)
        first, error, rest = b"".join(head.chunks).decode().split("\n\n")
        self.assertEqual((first, rest), ('data: {"n":1}', ""))
        name, data = error.split("\n", 1)
        self.assertEqual(name, "event: error")
        problem = json.loads(data.removeprefix("data: "))
        self.assertEqual(problem["type"], "urn:turnpike:problem:model-failed")
        self.assertEqual(problem["detail"], "RuntimeError: out of ideas")

    def test_infinity_within_an_event_stream_breaks_it(self):
        client, head = self.stream(do="nan_stream")
        with self.assertRaises(Truncated):
            client.body_of(head)
        self.assertIn(b"urn:turnpike:problem:non-finite", b"".join(head.chunks))

    def test_a_stream_that_fails_before_its_first_piece_is_an_ordinary_failure(self):
        answer = self.ask_model(do="stream", items=[], then="nothing to say", status=500)
        self.assert_problem(answer, 500, "model-failed")

    def test_a_client_that_leaves_closes_the_generator(self):
        closed = self.folder_for("endless") / "closed"
        client, _ = self.stream(do="endless", closed=str(closed))
        self.assertEqual(client.chunk()[:5], b"tick\n")
        lane = self.busy_lane(self.gate)["lane"]
        client.close()
        wait_until(closed.exists, "the generator is closed")
        self.assertEqual(closed.read_text(), "GeneratorExit, cancelled: True")
        self.gate.wait_lane(lane, "ready")
        self.assertEqual(self.gate.lane(lane)["restarts"], 0)


class SlowReaders(NativeCase):
    def flood(self, gate, pieces):
        count_file = self.folder_for("flood") / "count_file"
        client = gate.connect()
        client.request("POST", "/predict", body_of({"do": "flood", "pieces": pieces,
                                                    "count_file": str(count_file)}))
        return client, client.head(), count_file

    def test_a_stream_waits_for_its_reader_and_goes_on(self):
        gate = self.serve(self.model(MODEL),
                          sections={"gate": {"spool": str(self.folder), "answer_buffer": "2MiB"}})
        client, head, count_file = self.flood(gate, pieces := 400)  # 100 MiB
        wait_until(lambda: count_file.exists(), "the model has begun to stream")
        still = [None] * 20

        def rests():
            still.append(count_file.read_text())
            return len(set(still[-20:])) == 1
        wait_until(rests, "the model waits for the reader")
        self.assertLess(int(count_file.read_text()), 200, "what the reader has not read must be limited")
        self.assertEqual(gate.lane(0)["state"], "busy")
        client.body_of(head)
        self.assertEqual(len(head.chunks) > 0 and b"".join(head.chunks),
                         bytes(range(256)) * 1024 * pieces)
        gate.wait_lane(0, "ready")
        self.assertEqual(gate.lane(0)["restarts"], 0)

    def test_a_paused_stream_can_be_left(self):
        gate = self.serve(self.model(MODEL),
                          sections={"gate": {"spool": str(self.folder), "answer_buffer": "1MiB"}})
        client, _, count_file = self.flood(gate, 4000)
        wait_until(lambda: count_file.exists() and int(count_file.read_text() or 0) > 4, "the model has begun to stream")
        client.close()
        gate.wait_lane(0, "ready")
        self.assertEqual(gate.post({"do": "echo", "value": 1}).status, 200)
        self.assertEqual(gate.lane(0)["restarts"], 0)

    def test_a_slow_reader_of_a_large_answer_frees_the_lane(self):
        gate = self.serve(self.model(MODEL))
        size = 48 << 20
        client = gate.connect()
        client.request("POST", "/predict", body_of({"do": "big", "size": size}))
        head = client.head()
        self.assertEqual(head.header("content-length"), str(size))
        self.assertEqual(gate.post({"do": "echo", "value": 1}).json(), {"value": 1})
        gate.wait_lane(0, "ready")
        client.body_of(head)
        self.assertEqual(head.body, bytes(range(256)) * (size // 256))


ASYNC = '''
import asyncio


class Loop(turnpike.Model):
    slots = 8
    example = {"do": "echo"}
    met = 0

    async def load(self, lane):
        self.all_there = asyncio.Event()

    async def predict(self, task):
        return await getattr(self, "do_" + task["do"])(task)

    async def do_echo(self, task):
        await asyncio.sleep(0)
        return {"id": turnpike.job().id}

    async def do_meet(self, task):
        self.met += 1
        if self.met == task["count"]:
            self.all_there.set()
        await self.all_there.wait()
        return {"met": self.met, "id": turnpike.job().id}

    async def do_raise(self, task):
        await asyncio.sleep(0)
        raise ValueError("later")

    async def do_stream(self, task):
        async def pieces():
            for item in task["items"]:
                await asyncio.sleep(0)
                yield item
        return pieces()
'''


class Async(SharedGate):
    def open(self):
        return self.serve(self.model(ASYNC))

    def test_as_many_at_once_as_the_model_says(self):
        self.assertEqual(self.gate.lane(0)["slots"], 8)
        jobs = [self.in_thread(self.gate.post, {"do": "meet", "count": 8}) for _ in range(8)]
        for job in jobs:
            answer = job.result()
            self.assertEqual(answer.json(), {"met": 8, "id": answer.header("turnpike-job")})

    def test_streams_and_failures(self):
        self.assertEqual(self.ask_model(do="stream", items=["a", "b"]).body, b"ab")
        self.assert_problem(self.ask_model(do="raise", status=500), 500, "model-failed")
        answer = self.ask_model(do="echo")
        self.assertEqual(answer.json()["id"], answer.header("turnpike-job"))


if __name__ == "__main__":
    unittest.main()
