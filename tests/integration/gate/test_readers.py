"""Tests at which rate clients may read. Who reads faster than gate.answer_rate_min gets every byte, whatever buffers lie
between, and who reads more slowly is cut off, and every record says so."""
import itertools
import unittest

from harness import wait_until
from reader_case import KINDS, ReaderCase

KIB, MIB = 1 << 10, 1 << 20

# Windows of a second. Every window in which a client is ahead gives it one more, up to three.
QUICK = {"rate_window": "1s", "answer_rate_min": "32KiB"}
ABOVE = ((192 * KIB, "whole", 300 * KIB), (192 * KIB, "stream", 600 * KIB),  # bytes per second, and what is read
         (512 * KIB, "whole", 6 * MIB), (512 * KIB, "stream", 6 * MIB),  # more than the kernel's buffers
         (None, "whole", 8 * MIB), (None, "stream", 8 * MIB))
BELOW = (0, 8 * KIB)
WAYS = {"keep_alive": {}, "close": {"headers": ["Connection: close"]}, "http_1_0": {"version": "1.0"}}


class Readers(ReaderCase):
    def open(self, **gate):
        self.log_path = self.folder_for("log") / "jobs.log"
        return self.gate_of_all_kinds({**QUICK, **gate}, log={"jobs": str(self.log_path)})

    def assert_cut(self, gate, client, size, reason="client_too_slow"):
        """Checks everything that is recorded of a cut."""
        self.assertLess(len(client.got), size)
        record = self.record_of(gate, client)
        self.assertEqual((record["outcome"], record["reason"]), ("cancelled", reason), record)
        self.assertIn("gate.", record["detail"])
        self.assertLess(record["bytes_out"], size)
        line = self.logged(self.log_path, client)
        self.assertEqual({key: line[key] for key in ("outcome", "reason", "bytes_out", "detail")},
                         {key: record[key] for key in ("outcome", "reason", "bytes_out", "detail")})

    def counts(self, gate):
        return {pool["pool"]: pool["jobs"] for pool in gate.status()["pools"]}

    def test_readers_above_the_minimum_get_every_byte(self):
        """Rates × sizes × lanes. Each meets each of the ways in which an answer may end."""
        gate = self.open()
        reading = []
        for (row, kind), (column, (rate, target, size)) in itertools.product(enumerate(KINDS), enumerate(ABOVE)):
            way = list(WAYS)[(row + column) % len(WAYS)]
            client = self.reader(gate, kind, f"/{target}/{size}", rate, **WAYS[way])
            is_whole = self.has_whole if way == "keep_alive" else lambda _: False
            future = self.in_thread(client.read_until, is_whole)
            reading.append((f"{kind}, {way}, {target} {size} at {rate}", client, size, future))
        for what, client, size, future in reading:
            with self.subTest(what):
                future.result(120)
                self.assertNotEqual(client.ended_as, "reset")
                self.assert_pattern(client.bodies()[0], size)
                record = self.record_of(gate, client)
                self.assertEqual((record["outcome"], record["reason"], record["bytes_out"]),
                                 ("finished", "answered", size))
        self.assertEqual(gate.status()["answers_cut"], {"client_too_slow": 0, "answers_full": 0})
        wait_until(lambda: gate.status()["answers_bytes"] == 0, "nothing waits any more")

    def test_readers_with_the_buffers_that_the_kernel_chooses_get_every_byte(self):
        gate = self.open()
        rates = ((192 * KIB, 600 * KIB), (512 * KIB, 3 * MIB))
        reading = [(size, self.reader(gate, kind, f"/{target}/{size}", rate, headers=["Connection: close"], buffer=None))
                   for (rate, size), kind, target in itertools.product(rates, KINDS, ("whole", "stream"))]
        futures = [self.in_thread(client.read_to_end) for _, client in reading]
        for (size, client), future in zip(reading, futures):
            future.result(120)
            self.assert_pattern(client.bodies()[0], size)
            self.assertEqual(self.record_of(gate, client)["reason"], "answered")

    @staticmethod
    def has_whole(got):
        head, _, body = bytes(got[:2000]).partition(b"\r\n\r\n")
        sizes = [int(line[16:]) for line in head.lower().split(b"\r\n") if line.startswith(b"content-length: ")]
        return len(got) >= len(head) + 4 + sizes[0] if sizes else got[-7:] == b"\r\n0\r\n\r\n"

    def test_readers_below_the_minimum_are_cut_and_recorded(self):
        gate = self.open()
        reading = []
        for kind, rate, target in itertools.product(KINDS, BELOW, ("whole", "stream")):
            client = self.reader(gate, kind, f"/{target}/{4 * MIB}", rate or 8 * KIB)
            if rate:
                reading.append((f"{kind}, {target} at {rate}", client, self.in_thread(client.read_to_end)))
            else:
                reading.append((f"{kind}, {target}, nothing is read", client, None))
        for what, client, future in reading:
            with self.subTest(what):
                self.assert_cut(gate, client, 4 * MIB)
                if future is not None:
                    future.result(120)
                    self.assertIn(client.ended_as, ("closed", "reset"))
        self.assertEqual(gate.status()["answers_cut"], {"client_too_slow": len(reading), "answers_full": 0})
        for kind in KINDS:
            self.assertEqual((self.counts(gate)[kind]["finished"], self.counts(gate)[kind]["cancelled"]), (0, 4), kind)
        wait_until(lambda: gate.status()["answers_bytes"] == 0, "nothing waits any more")
        for lane in range(len(gate.status()["lanes"])):
            gate.wait_lane(lane, "ready")

    def test_the_last_bytes_in_the_send_buffer_are_read_at_the_same_rule(self):
        """All is written, and the gate closes its side: a slow reader of the rest is cut only below the minimum."""
        gate = self.open()
        size = 600 * KIB
        slow = [(kind, self.reader(gate, kind, f"/whole/{size}", 160 * KIB, headers=["Connection: close"]))
                for kind in KINDS]
        futures = [self.in_thread(client.read_to_end) for _, client in slow]
        for (kind, client), future in zip(slow, futures):
            with self.subTest(kind):
                future.result(120)
                self.assert_pattern(client.bodies()[0], size)
                self.assertEqual(self.record_of(gate, client)["outcome"], "finished")

    def test_a_request_behind_a_slow_answer_waits_and_gets_its_own(self):
        gate = self.open()
        reading = []
        for kind, rate in itertools.product(KINDS, (256 * KIB, None)):
            client = self.reader(gate, kind, [f"/whole/{MIB // 2}", f"/stream/{MIB // 2}", "/whole/5", "/small"], rate)
            is_all = lambda got: got.endswith((b"\r\n\r\nok", b"\r\nok"))  # noqa: E731
            reading.append((f"{kind} at {rate}", client, self.in_thread(client.read_until, is_all)))
        for what, client, future in reading:
            with self.subTest(what):
                future.result(120)
                first, second, third, fourth = client.bodies()
                self.assert_pattern(first, MIB // 2)
                self.assert_pattern(second, MIB // 2)
                self.assert_pattern(third, 5)
                self.assertEqual(fourth, b"ok")

    def test_a_client_that_leaves_within_an_answer_has_not_finished(self):
        gate = self.open()
        for kind in KINDS:
            with self.subTest(kind):
                client = self.reader(gate, kind, f"/whole/{4 * MIB}", KIB)
                client.read_until(lambda got: len(got) > 100)
                gate.wait_lane(0, "ready")
                client.socket.close()
                record = self.record_of(gate, client)
                self.assertEqual((record["outcome"], record["reason"]), ("cancelled", "client_left"))
                self.assertLess(record["bytes_out"], 4 * MIB)

    def test_an_idle_stream_is_not_cut(self):
        """Only time in which something waits for the client counts."""
        worker = self.scripted()
        gate = self.gate([worker], gate=QUICK)
        client = gate.connect().request("GET", "/")
        request = worker.take().begin_chunked("text/event-stream")
        self.assertEqual(client.head().status, 200)
        for number in range(3):
            request.chunk(b"data: %d\n\n" % number)
            self.assertEqual(client.chunk(), b"data: %d\n\n" % number)
            before = gate.live_jobs()[0]["since_s"]
            wait_until(lambda: gate.live_jobs()[0]["since_s"] > before + 2, "two windows have passed")
        request.chunk(bytes(MIB)).chunk(b"").finish()
        received = 0
        while chunk := client.chunk():
            received += len(chunk)
        self.assertEqual(received, MIB)

    def test_without_a_minimum_nobody_is_cut(self):
        gate = self.open(answer_rate_min="0B")
        sleepers = [self.reader(gate, kind, f"/whole/{3 * MIB}", 2 * MIB) for kind in KINDS]
        wait_until(lambda: gate.status()["answers_bytes"] > 6 * MIB, "the answers wait")
        began = gate.status()["uptime_s"]
        wait_until(lambda: gate.status()["uptime_s"] > began + 6, "six windows have passed")
        for sleeper in sleepers:
            sleeper.read_until(self.has_whole)
            self.assert_pattern(sleeper.bodies()[0], 3 * MIB)


if __name__ == "__main__":
    unittest.main()
