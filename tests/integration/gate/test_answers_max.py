"""Tests the bound on all answers that wait for their clients (gate.answers_max): it holds on lanes of every kind, the
client that holds most pays for it, and nobody else."""
import itertools
import os
import subprocess
import threading
import unittest

from harness import wait_until
from reader_case import KINDS, ReaderCase

MIB = 1 << 20
MAX = 12 * MIB
LARGE = 5 * MIB  # what the greedy client asks for on each connection
GREEDY = "2001:db8:0:1"  # the network of a client that asks for much and reads nothing
KEYS = {"answers_max": f"{MAX}B", "answer_rate_min": "0B", "trusted_proxies": ["127.0.0.1"]}


def files_of(pid):
    """Returns the bytes in all spool files and memfds that the gate holds."""
    found = {}
    for name in os.listdir(f"/proc/{pid}/fd"):
        path = f"/proc/{pid}/fd/{name}"
        try:
            target = os.readlink(path)
            if target.startswith("/memfd:turnpike") or target.endswith("(deleted)"):
                facts = os.stat(path)
                found[facts.st_dev, facts.st_ino] = facts.st_blocks * 512
        except FileNotFoundError:
            pass  # it was closed meanwhile
    return sum(found.values())


class AnswersMax(ReaderCase):
    def watch(self, gate):
        """Looks again and again at what waits. Returns a function that ends this, and returns the largest sums."""
        is_over = threading.Event()

        def look():
            counted = on_files = 0
            while not is_over.wait(0.02):
                counted = max(counted, gate.status()["answers_bytes"])
                on_files = max(on_files, files_of(gate.process.pid))
            return counted, on_files
        watching = self.in_thread(look)

        def end():
            is_over.set()
            return watching.result(60)
        self.addCleanup(is_over.set)
        return end

    def cut(self, gate):
        return gate.status()["answers_cut"]["answers_full"]

    def test_the_sum_is_bounded_and_only_the_greedy_client_pays(self):
        gate = self.gate_of_all_kinds(KEYS)
        end_of_watch = self.watch(gate)
        small = 3 * MIB // 4  # six of these are less than one of the greedy client
        honest = [self.reader(gate, kind, f"/{target}/{small}", MIB // 4, headers=["Connection: close"])
                  for kind, target in itertools.product(KINDS, ("whole", "stream"))]
        reading = [self.in_thread(client.read_to_end) for client in honest]
        greedy = [self.reader(gate, kind, f"/{target}/{LARGE}", MIB, network=GREEDY)
                  for target, kind, _ in itertools.product(("whole", "stream"), KINDS, range(4))]
        wait_until(lambda: self.cut(gate) >= len(greedy) - MAX // LARGE - 1, "most of its connections are cut")
        for kind in KINDS:
            self.assertEqual(gate.ask("GET", f"/-/to/{kind}/small").body, b"ok")
            upload = gate.ask("POST", f"/-/to/{kind}/count", bytes(4 * MIB))
            self.assertEqual((upload.status, upload.body), (200, b"%d" % (4 * MIB)))
        for client, future in zip(honest, reading):
            future.result(120)
            self.assert_pattern(client.bodies()[0], small)
            self.assertEqual(self.record_of(gate, client)["outcome"], "finished")
        for lane in range(len(gate.status()["lanes"])):
            gate.wait_lane(lane, "ready")  # no lane waits for a reader
        counted, on_files = end_of_watch()
        self.assertLessEqual(counted, MAX)
        # A file that was just cut may not be closed yet, one for each lane, and uploads are no answers.
        self.assertLess(on_files, MAX + 4 * MIB * 2 + 6 * LARGE)
        records = [job for job in gate.ended_jobs() if job["client"].startswith(GREEDY)]
        self.assertGreaterEqual(len(records), self.cut(gate))
        for record in records:
            self.assertEqual((record["outcome"], record["reason"]), ("cancelled", "answers_full"))
            self.assertIn("gate.answers_max", record["detail"])
        for client in greedy:
            client.socket.close()
        wait_until(lambda: gate.status()["answers_bytes"] == 0, "nothing waits any more")

    def test_the_slowest_reader_of_the_greedy_client_is_cut(self):
        gate = self.gate_of_all_kinds(KEYS)
        for number, (kind, target) in enumerate((("native", "whole"), ("http", "whole"), ("attached", "stream"))):
            with self.subTest(kind):
                def ask(size, rate, network=GREEDY):
                    return self.reader(gate, kind, f"/{target}/{size}", rate, network=network, headers=["Connection: close"])
                sleeper = ask(LARGE, MIB)  # reads nothing
                wait_until(lambda: gate.status()["answers_bytes"] > LARGE - MIB, "its answer waits")
                began = gate.status()["uptime_s"]
                wait_until(lambda: gate.status()["uptime_s"] > began + 2, "it has read nothing for a while")
                others = [(LARGE, ask(LARGE, MIB)), (LARGE, ask(LARGE, MIB)), (MIB, ask(MIB, MIB // 2, "2001:db8:0:2"))]
                reading = [self.in_thread(other.read_to_end) for _, other in others]
                self.assertEqual(self.record_of(gate, sleeper)["reason"], "answers_full")
                for (size, other), future in zip(others, reading):
                    future.result(120)
                    self.assert_pattern(other.bodies()[0], size)
                self.assertEqual(self.cut(gate), number + 1)

    def test_a_single_answer_beyond_the_bound_is_cut(self):
        gate = self.gate_of_all_kinds(KEYS)
        client = self.reader(gate, "native", f"/whole/{MAX + MIB}", MIB)
        record = self.record_of(gate, client)
        self.assertEqual((record["reason"], record["outcome"]), ("answers_full", "cancelled"))
        self.assertEqual(gate.ask("GET", "/-/to/native/small").body, b"ok")
        wait_until(lambda: gate.status()["answers_bytes"] == 0, "nothing waits any more")


class SmallSpool(ReaderCase):
    def spool(self, size):
        folder = self.folder_for("spool")
        mount = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "none", str(folder)], capture_output=True)
        if mount.returncode != 0:
            self.skipTest(f"can't mount a small disk: {mount.stderr.decode().strip()}")
        self.addCleanup(subprocess.run, ["umount", "-l", str(folder)], check=True)
        return folder

    def free(self, folder):
        facts = os.statvfs(folder)
        return facts.f_bavail * facts.f_frsize

    def test_slow_readers_hold_neither_lanes_nor_the_room_of_uploads(self):
        """Four readers, as many as a pool has lanes, ask for more than the disk has. An honest client of the same pool is
        served: the slowest of these readers lose their answers, until the others fit."""
        folder = self.spool(32 * MIB)
        gate = self.gate_of_all_kinds({"answer_rate_min": "0B", "trusted_proxies": ["127.0.0.1"], "spool": str(folder)}, lanes=4)
        for kind in KINDS:
            with self.subTest(kind):
                greedy = [self.reader(gate, kind, f"/stream/{16 * MIB}", 16 * MIB, network=GREEDY) for _ in range(4)]
                wait_until(lambda: self.free(folder) < 17 * MIB, "answers have taken what they may")
                for _ in range(3):
                    upload = gate.ask("POST", f"/-/to/{kind}/count", bytes(8 * MIB))
                    self.assertEqual((upload.status, upload.body), (200, b"%d" % (8 * MIB)))
                for lane in range(len(gate.status()["lanes"])):
                    gate.wait_lane(lane, "ready")
                self.assertGreater(self.free(folder), 15 * MIB)
                cut = {job["client"]: job["reason"] for job in gate.ended_jobs() if job["client"].startswith(GREEDY)}
                left = [client for client in greedy if client.name not in cut]
                self.assertTrue(left, "no more than necessary are cut")
                for client in left:  # they lose nothing
                    client.read_until(lambda got: got.endswith(b"0\r\n\r\n") and len(got) > 16 * MIB)
                    self.assert_pattern(client.bodies()[0], 16 * MIB)
                self.assertEqual({cut[client.name] for client in greedy if client not in left}, {"answers_full"})
                for client in greedy:
                    client.socket.close()
                wait_until(lambda: gate.status()["answers_bytes"] == 0, "nothing waits any more")


if __name__ == "__main__":
    unittest.main()
