"""Tests huge bodies and answers on native lanes: no byte is lost, all bytes are counted, none are in the
gate's own memory, and all memory is freed, even if a worker dies or a client leaves."""
import hashlib
import os
import select
import signal
import socket
import unittest

from harness import POOL, PYTHON, toml
from huge import LARGE, SIZE, HugeCase, memfds_of
from memory import memory_of
from native_case import wait_until
from pattern import BLOCK, MIB, digest, pieces


class BothWays(HugeCase):
    def test_a_huge_body_arrives_whole_and_is_counted_as_long_as_it_is_held(self):
        gate = self.open()
        marks = self.marks("started", "wait_for")
        client = self.upload(gate, "/hold", SIZE, **marks)
        wait_until(lambda: os.path.exists(marks["started"]), "the job is aboard")
        self.assertEqual(self.held(gate), SIZE)
        self.assertAlmostEqual(self.memory_in(gate), SIZE, delta=MIB)
        refused = gate.ask("POST", "/digest", b"xx")
        self.assert_problem(refused, 429, "bytes-full")
        self.assertGreaterEqual(int(refused.header("retry-after")), 1)
        self.assert_problem(gate.ask("POST", "/digest", bytes(2 * MIB)), 429, "bytes-full")
        open(marks["wait_for"], "x").close()
        found = client.answer().json()
        self.assertEqual((found["size"], found["digest"]), (SIZE, digest(SIZE)))
        self.assert_all_is_freed(gate)
        self.assertEqual(gate.ask("POST", "/digest", b"xx").json()["size"], 2)

    def test_a_huge_chunked_body_arrives_whole(self):
        gate = self.open()
        client = self.connect(gate).send(self.head("/digest", None, "Transfer-Encoding: chunked"))
        for piece in pieces(SIZE):
            client.send(b"%x\r\n%s\r\n" % (len(piece), piece))
        client.send(b"0\r\n\r\n")
        found = client.answer().json()
        self.assertEqual((found["size"], found["digest"]), (SIZE, digest(SIZE)))
        self.assert_all_is_freed(gate)

    def test_a_huge_answer_arrives_whole(self):
        gate = self.open()
        client, head = self.begin_make(gate, SIZE)
        self.assertEqual(head.header("x-made"), "whole")
        self.assertEqual(self.digest_of_rest(client, SIZE), digest(SIZE))
        self.assert_all_is_freed(gate)

    def test_there_and_back(self):
        gate = self.open()
        client = self.upload(gate, "/echo", SIZE)
        head = client.head()
        self.assertEqual((head.status, head.header("content-length")), (200, str(SIZE)))
        self.assertEqual(self.digest_of_rest(client, SIZE), digest(SIZE))
        client.request("GET", "/small")  # the connection can be used again
        self.assertEqual(client.answer().json(), {"small": True})
        self.assert_all_is_freed(gate)


class Limits(HugeCase):
    def test_a_byte_over_body_max_is_refused_before_it_costs_anything(self):
        gate = self.open()
        client = self.connect(gate).send(self.head("/digest", SIZE + 1))
        self.assert_problem(client.answer(), 413, "body-too-large")
        self.assert_all_is_freed(gate)

    def test_a_chunked_body_is_cut_at_body_max_and_its_memory_given_back(self):
        gate = self.open(gate={"body_max": f"{LARGE}B"})
        client = self.connect(gate).send(self.head("/digest", None, "Transfer-Encoding: chunked"))
        sent = 0
        while not select.select([client.socket], [], [], 0)[0]:  # until the gate answers
            client.send(b"100000\r\n" + BLOCK + b"\r\n")
            sent += MIB
            self.assertLess(sent, LARGE + 64 * MIB)
        self.assertGreater(sent, LARGE - MIB)
        self.assert_problem(client.answer(), 413, "body-too-large")
        self.assert_all_is_freed(gate)

    def test_a_chunked_body_is_cut_where_no_bytes_are_left(self):
        gate = self.open()
        marks = self.marks("started", "wait_for")
        first = self.upload(gate, "/hold", LARGE, **marks)
        wait_until(lambda: os.path.exists(marks["started"]), "the job is aboard")
        second = self.connect(gate).send(self.head("/digest", None, "Transfer-Encoding: chunked"))
        sent = 0
        while not select.select([second.socket], [], [], 0)[0]:
            second.send(b"100000\r\n" + BLOCK + b"\r\n")
            sent += MIB
            self.assertLess(sent, SIZE)
        self.assert_problem(second.answer(), 429, "bytes-full")
        wait_until(lambda: self.held(gate) == LARGE, "only the first body is counted")
        open(marks["wait_for"], "x").close()
        self.assertEqual(first.answer().json()["digest"], digest(LARGE))
        self.assert_all_is_freed(gate)

    def test_bodies_that_wait_for_the_lane_are_counted(self):
        gate = self.open(queue={"bytes_max": f"{4 * LARGE + LARGE // 2}B"})
        marks = self.marks("started", "wait_for")
        first = self.upload(gate, "/hold", LARGE, **marks)
        wait_until(lambda: os.path.exists(marks["started"]), "the job is aboard")
        waiting = [self.upload(gate, "/digest", LARGE) for _ in range(3)]
        gate.wait_queued(3)
        self.assertEqual(self.held(gate), 4 * LARGE)
        self.assertAlmostEqual(self.memory_in(gate), 4 * LARGE, delta=MIB)
        one_more = self.connect(gate).send(self.head("/digest", LARGE))
        self.assert_problem(one_more.answer(), 429, "bytes-full")
        open(marks["wait_for"], "x").close()
        for client in (first, *waiting):
            self.assertEqual(client.answer().json()["digest"], digest(LARGE))
        self.assert_all_is_freed(gate)


class Deaths(HugeCase):
    def test_the_second_worker_gets_the_same_bytes(self):
        gate = self.open()
        marks = self.marks("died")
        found = self.upload(gate, "/die_once", LARGE, **marks).answer().json()
        with open(marks["died"]) as file:
            self.assertEqual(file.read(), digest(LARGE))
        self.assertEqual((found["attempt"], found["size"], found["digest"]),
                         (2, LARGE, digest(LARGE)))
        self.assert_all_is_freed(gate)

    def test_a_worker_that_dies_while_another_job_waits_loses_neither_job(self):
        gate = self.open(pool={"lanes": 2})
        marks = self.marks("started", "wait_for")
        first = self.upload(gate, "/hold", LARGE, **marks)
        wait_until(lambda: os.path.exists(marks["started"]), "the job is aboard")
        os.kill(self.busy_lane(gate)["pid"], signal.SIGKILL)
        second = self.upload(gate, "/digest", LARGE)
        open(marks["wait_for"], "x").close()
        for client, attempt in ((first, 2), (second, 1)):
            found = client.answer().json()
            self.assertEqual((found["digest"], found["attempt"]), (digest(LARGE), attempt))
        gate.wait_ready()
        self.assert_all_is_freed(gate)

    def test_a_huge_answer_outlives_the_worker_that_made_it(self):
        gate = self.open()
        client, _ = self.begin_make(gate, LARGE)
        os.kill(gate.lane(0)["pid"], signal.SIGKILL)
        self.wait_back(gate)
        self.assertEqual(self.digest_of_rest(client, LARGE), digest(LARGE))
        self.assert_all_is_freed(gate)


class Departures(HugeCase):
    def test_during_an_upload(self):
        gate = self.open()
        client = self.connect(gate).send(self.head("/digest", SIZE))
        for piece in pieces(LARGE):
            client.send(piece)
        wait_until(lambda: self.memory_in(gate) > LARGE - 4 * MIB, "the part that has come is in memory")
        self.assertGreater(self.held(gate), LARGE - 4 * MIB)
        self.assertLessEqual(self.held(gate), LARGE)
        client.close()
        self.assert_all_is_freed(gate)
        self.assertEqual(gate.lane(0)["finished"], 2, "only the two small jobs must have run")

    def test_while_it_waits(self):
        gate = self.open()
        holder, go = self.hold_lane(gate)
        client = self.upload(gate, "/digest", LARGE)
        gate.wait_queued(1)
        client.close()
        wait_until(lambda: self.memory_in(gate) == 0, "the memory is freed at once")
        self.assertEqual(self.held(gate), 0)
        open(go, "x").close()
        self.assertEqual(holder.answer().status, 200)
        holder.close()
        self.assert_all_is_freed(gate)

    def hold_lane(self, gate):
        marks = self.marks("started", "wait_for")
        client = self.connect(gate).send(self.head("/hold", 0, **marks))
        wait_until(lambda: os.path.exists(marks["started"]), "the job is aboard")
        return client, marks["wait_for"]

    def test_while_the_model_works(self):
        gate = self.open()
        marks = self.marks("started", "cancelled")
        client = self.upload(gate, "/leave", LARGE, **marks)
        wait_until(lambda: os.path.exists(marks["started"]), "the job is aboard")
        client.close()
        wait_until(lambda: os.path.exists(marks["cancelled"]), "the model has noticed the cancel")
        with open(marks["cancelled"]) as file:
            self.assertEqual(file.read(), str(LARGE), "the model must still be able to read the body")
        self.assert_all_is_freed(gate)

    def test_during_the_answer(self):
        gate = self.open()
        client, _ = self.begin_make(gate, LARGE)
        client.exactly(5 * MIB)
        self.assertGreater(self.memory_in(gate), 0)
        client.close()
        self.assert_all_is_freed(gate)
        self.assertEqual(gate.lane(0)["restarts"], 0)


class Answers(HugeCase):
    def slow_reader(self, gate):
        """Returns a client that sent LARGE bytes, gets as many back, and has not read them yet."""
        client = self.connect(gate)
        client.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 64 * 1024)
        client.send(self.head("/echo", LARGE))
        for piece in pieces(LARGE):
            client.send(piece)
        self.assertEqual(client.head().status, 200)
        return client

    def test_a_slow_reader_frees_the_lane_and_others_go_on(self):
        gate = self.open()
        client = self.slow_reader(gate)
        gate.wait_lane(0, "ready")
        for _ in range(5):
            self.small(gate)
        found = self.upload(gate, "/digest", LARGE).answer().json()
        self.assertEqual(found["digest"], digest(LARGE))
        self.assertEqual(self.digest_of_rest(client, LARGE), digest(LARGE))
        self.assert_all_is_freed(gate)

    def test_the_body_of_a_job_is_not_kept_for_the_reader_of_its_answer(self):
        gate = self.open()
        client = self.slow_reader(gate)
        gate.wait_lane(0, "ready")
        wait_until(lambda: self.memory_in(gate) < LARGE + MIB, "only the answer is in memory", 5)
        self.assertEqual(self.digest_of_rest(client, LARGE), digest(LARGE))

    def test_head_tells_the_length_and_keeps_nothing(self):
        gate = self.open()
        client, _ = self.begin_make(gate, LARGE, "HEAD")
        wait_until(lambda: self.memory_in(gate) == 0, "the body of the answer is dropped")
        client.request("GET", "/small")
        self.assertEqual(client.answer().json(), {"small": True}, "the HEAD answer must have no body")
        self.assert_all_is_freed(gate)

    def test_a_gate_that_ends_while_somebody_reads_lets_it_finish(self):
        gate = self.open()
        client, _ = self.begin_make(gate, LARGE)
        gate.process.signal(signal.SIGTERM)
        self.assertEqual(self.digest_of_rest(client, LARGE), digest(LARGE))
        self.assertEqual(gate.process.wait(), 0)


class Routed(HugeCase):
    """Jobs are routed by the field "model", so the pool is known only when the whole body is there."""

    def pools(self, **default):
        attached = self.plain_worker()
        native = {"model": str(self.model_path()), "python": PYTHON, "gpus": "none", "lanes": 1,
                  "models": ["native"], "restart_delay_min": "20ms"}
        pools = {"pool.plain": {"attach": [attached.url], **POOL, "models": ["plain"]},
                 "pool.native": native}
        pools[f"pool.{default['first']}"]["default"] = True
        keys = {"gate": {"spool": str(self.folder), "body_max": f"{SIZE}B"},
                "queue": {"bytes_max": f"{SIZE + 1}B"}}
        gate = self.start(str(self.write_config(toml({**keys, **pools})))).wait_ready()
        self.before = memory_of(gate.process.pid)[0]
        self.descriptors_before = self.descriptors(gate)
        return gate

    def ask(self, gate, model, size, target="/predict"):
        opening, end = b'{"model": "%s", "text": "' % model.encode(), b'"}'
        client = self.connect(gate)
        client.send(self.head(target, len(opening) + size + len(end),
                              "Content-Type: application/json"))
        client.send(opening)
        for offset in range(0, size, MIB):
            client.send(self.text(offset)[:size - offset])
        return client.send(end)

    def text(self, offset):
        return b"%08x" % offset + b"x" * (MIB - 8)

    def digest_of_text(self, size):
        found = hashlib.sha256()
        for offset in range(0, size, MIB):
            found.update(self.text(offset)[:size - offset])
        return found.hexdigest()

    def assert_native_serves(self, gate):
        found = self.ask(gate, "native", LARGE).answer()
        self.assertEqual((found.status, found.body and found.json()),
                         (200, {"size": LARGE, "digest": self.digest_of_text(LARGE)}))
        wait_until(lambda: self.held(gate) == 0, "no bytes are counted any more")
        wait_until(lambda: self.memory_in(gate) == 0, "no memfd is left")
        self.assert_flat(gate)

    def test_from_the_disk_into_a_native_lane(self):
        self.assert_native_serves(self.pools(first="plain"))

    def test_straight_into_a_native_lane(self):
        self.assert_native_serves(self.pools(first="native"))

    def test_from_memory_to_a_server(self):
        gate = self.pools(first="native")
        found = self.ask(gate, "plain", LARGE, "/count").answer()
        self.assertEqual((found.status, found.json()["count"]),
                         (200, LARGE + len('{"model": "plain", "text": ""}')))
        wait_until(lambda: memfds_of(gate.process.pid) == {}, "no memfd is left")
        self.assert_flat(gate)


if __name__ == "__main__":
    unittest.main()
