"""Tests uploads. A body over the limit is refused before it costs anything, a large body goes through the
disk and not through memory, and the client is told if there is no room on disk."""
import os
import select
import subprocess
import tempfile
import unittest
from pathlib import Path

from harness import Case, wait_until
from memory import GROWTH_MAX, MIB, memory_of
from scripted_worker import echo

# To test 2 GiB, which takes half a minute on a small machine: TURNPIKE_TEST_UPLOAD_MIB=2048.
UPLOAD_MIB = int(os.environ.get("TURNPIKE_TEST_UPLOAD_MIB", 512))


class TooLarge(Case):
    def setUp(self):
        super().setUp()
        self.worker = self.scripted(echo)
        self.gate_ = self.gate([self.worker])  # body_max is 64 MiB

    def head(self, *fields):
        return "\r\n".join(["POST /big HTTP/1.1", "Host: localhost", *fields, "", ""]).encode()

    def test_a_declared_2_gib_is_refused_before_its_body_comes(self):
        client = self.gate_.connect().send(self.head(f"Content-Length: {2 << 30}"))
        answer = client.answer()
        self.assert_problem(answer, 413, "body-too-large")
        self.assertEqual(answer.header("connection"), "close")

    def test_with_expect_no_byte_of_the_body_is_asked_for(self):
        client = self.gate_.connect()
        client.send(self.head(f"Content-Length: {2 << 30}", "Expect: 100-continue"))
        self.assert_problem(client.answer(), 413, "body-too-large")
        self.assertTrue(client.is_closed())

    def test_curl_with_a_sparse_file_sends_little_of_it(self):
        sparse = self.folder / "sparse"
        with open(sparse, "wb") as file:
            file.truncate(2 << 30)
        for expect in ([], ["-H", "Expect:"]):
            curl = subprocess.run(
                ["curl", "-sS", "-T", str(sparse), "-o", "-", "-w", "\n%{http_code} %{size_upload}",
                 *expect, f"http://127.0.0.1:{self.gate_.port}/big"],
                capture_output=True, text=True, env=self.env, timeout=60)
            status, sent = curl.stdout.splitlines()[-1].split()
            self.assertEqual(status, "413", curl)
            self.assertLess(int(sent), 16 * MIB)

    def test_a_chunked_upload_is_cut_when_it_grows_too_large(self):
        client = self.gate_.connect().send(self.head("Transfer-Encoding: chunked"))
        chunk = b"100000\r\n" + bytes(MIB) + b"\r\n"
        sent = 0
        while not select.select([client.socket], [], [], 0)[0]:  # until the gate answers
            client.send(chunk)
            sent += 1
            self.assertLess(sent, 100)
        self.assertGreaterEqual(sent, 64)
        self.assert_problem(client.answer(), 413, "body-too-large")
        wait_until(lambda: self.gate_.status()["bytes_held"] == 0, "the bytes of the body are no longer counted")
        self.assertEqual(self.worker.seen, [])

    def test_exactly_the_limit_passes(self):
        gate = self.gate([self.worker], gate={"body_max": "2MiB"})
        body = os.urandom(2 * MIB)
        self.assertEqual(gate.ask("POST", "/", body).body, body)
        self.assert_problem(gate.ask("POST", "/", body + b"x"), 413, "body-too-large")

    def test_bodies_beyond_bytes_max_are_refused_while_others_hold_them(self):
        worker = self.scripted()
        gate = self.gate([worker], gate={"body_max": "3MiB"}, queue={"bytes_max": "4MiB"})
        holder = gate.connect().request("POST", "/", bytes(3 * MIB))
        held = worker.take()
        answer = gate.ask("POST", "/", bytes(2 * MIB))
        self.assert_problem(answer, 429, "bytes-full")
        self.assertGreaterEqual(int(answer.header("retry-after")), 1)
        held.reply()
        self.assertEqual(holder.answer().status, 200)
        later = gate.connect().request("POST", "/", bytes(2 * MIB))
        worker.take().reply()
        self.assertEqual(later.answer().status, 200)


class Large(Case):
    def test_a_large_upload_passes_and_the_gates_memory_stays_flat(self):
        worker = self.plain_worker()
        gate = self.gate([worker], gate={"body_max": "4GiB"}, queue={"bytes_max": "4GiB"})
        gate.post({"id": "warm"})
        before, _ = memory_of(gate.process.pid)
        answer = self.upload(gate)
        self.assertEqual((answer.status, answer.json()),
                         (200, {"count": UPLOAD_MIB * MIB, "ones": UPLOAD_MIB}))
        _, most = memory_of(gate.process.pid)
        self.assertLess(most - before, GROWTH_MAX)
        left = [path for path in self.folder.iterdir() if path.stat().st_size > MIB]
        self.assertEqual(left, [], "the spool file must have no name in the folder")

    def upload(self, gate):
        client = gate.connect()
        client.socket.settimeout(120)
        client.send(b"POST /count HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n"
                    % (UPLOAD_MIB * MIB))
        piece = b"1" + bytes(MIB - 1)
        for _ in range(UPLOAD_MIB):
            client.send(piece)
        return client.answer()

    def test_large_bodies_and_answers_come_through_unchanged(self):
        gate = self.gate([self.scripted(echo)])
        for size in (0, 1, 65535, MIB - 1, MIB, MIB + 1, 5 * MIB + 7, 20 * MIB):
            with self.subTest(size):
                body = os.urandom(size)
                answer = gate.ask("POST", "/", body)
                self.assertEqual((answer.status, answer.body == body), (200, True))

    def test_a_large_body_is_sent_whole_on_the_second_attempt(self):
        worker = self.scripted()
        gate = self.gate([worker])
        body = os.urandom(5 * MIB)
        client = gate.connect().request("POST", "/", body)
        worker.take().close()
        second = worker.take()
        self.assertTrue(second.body == body)
        self.assertEqual(second.header("turnpike-attempt"), "2")
        second.reply(b"ok")
        self.assertEqual(client.answer().header("turnpike-attempt"), "2")


class NoSpool(Case):
    def assert_large_fails_and_small_goes_on(self, spoil):
        spool = Path(tempfile.mkdtemp(dir=self.folder))
        gate = self.gate([self.scripted(echo)], gate={"spool": str(spool)})
        spool.rmdir()
        spoil(spool)
        for _ in range(3):
            self.assert_problem(gate.ask("POST", "/", bytes(5 * MIB)), 507, "no-room-on-disk")
            self.assertEqual(gate.ask("POST", "/", b"small").body, b"small")
            self.assertEqual(gate.ask("POST", "/", bytes(MIB)).status, 200)
        wait_until(lambda: gate.status()["bytes_held"] == 0, "the bytes of the body are no longer counted")
        self.assertEqual(gate.live_jobs(), [])

    def test_a_body_that_finds_no_descriptor_is_no_matter_of_the_disk(self):
        gate = self.gate([self.scripted(echo)])
        for _ in range(2):
            client = gate.connect()
            self.assertEqual(client.request("POST", "/", b"small").answer().body, b"small")
            self.limit_files(gate, 3)
            answer = client.request("POST", "/", bytes(5 * MIB)).answer()
            self.assert_problem(answer, 503, "shortage")
            self.assertIn("ulimit -n", answer.json()["detail"])
            self.assertGreaterEqual(int(answer.header("retry-after")), 1)
            self.limit_files(gate, 1024)
            self.assertEqual(gate.ask("POST", "/", bytes(5 * MIB)).status, 200)

    def limit_files(self, gate, most):
        subprocess.run(["prlimit", "--pid", str(gate.process.pid), f"--nofile={most}:"], check=True)

    def test_a_spool_that_goes_away(self):
        spool = self.folder / "spool"
        spool.mkdir()
        gate = self.gate([self.scripted(echo)], gate={"spool": str(spool)})
        self.assertEqual(gate.ask("POST", "/", bytes(5 * MIB)).status, 200)
        spool.rmdir()
        self.assert_problem(gate.ask("POST", "/", bytes(5 * MIB)), 507, "no-room-on-disk")
        self.assertEqual(gate.ask("POST", "/", b"small").body, b"small")
        spool.mkdir()
        self.assertEqual(gate.ask("POST", "/", bytes(5 * MIB)).status, 200)

    def test_a_spool_that_stays_away(self):
        self.assert_large_fails_and_small_goes_on(lambda spool: None)

    def test_a_spool_that_becomes_a_file(self):
        self.assert_large_fails_and_small_goes_on(lambda spool: spool.write_text(""))


if __name__ == "__main__":
    unittest.main()
