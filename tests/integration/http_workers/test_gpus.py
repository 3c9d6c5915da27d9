"""Tests lanes on the GPUs of a fake driver: which GPUs each worker sees, and what happens to a lane if its
GPU's memory stays in use or the GPU is lost."""
import os
import signal
import socket
import unittest

from fake_gpus import FakeGpus, has_real_driver
from harness import numbers, wait_until
from started_case import WORKER, StartedCase

MIB = 1024 * 1024
MIG = "MIG-0a1b2c3d-0000-0000-0000-00000000000"


class GpuCase(StartedCase):
    def fake(self, count, kind="full", **env):
        fake = FakeGpus(self.folder / f"gpus-{next(numbers)}", count)
        clean = {key: value for key, value in type(self).env.items() if not key.startswith("CUDA")}
        self.env = {**clean, **fake.env(kind), **env}
        return fake

    def on_gpus(self, *flags, is_ready=True, **pool):
        return self.up(WORKER + " gpu={gpu} gpus={gpus}", *flags, is_ready=is_ready,
                       pool={"gpus": None, "lanes": None, **pool})

    def seen_by(self, gate):
        """Returns CUDA_VISIBLE_DEVICES of each lane's worker, or None where it is not set."""
        lanes = range(len(gate.status()["lanes"]))
        return [self.facts(gate, lane)["env"].get("CUDA_VISIBLE_DEVICES") for lane in lanes]

    def gpus_of(self, gate):
        return [[gpu["index"] for gpu in lane["gpus"]] for lane in gate.status()["lanes"]]


class Pins(GpuCase):
    def test_a_lane_on_every_gpu_by_index(self):
        fake = self.fake(4)
        gate = self.on_gpus()
        self.assertEqual(self.seen_by(gate), ["0", "1", "2", "3"])
        self.assertEqual(self.gpus_of(gate), [[0], [1], [2], [3]])
        facts = self.facts(gate, 2)
        self.assertEqual(facts["env"]["CUDA_DEVICE_ORDER"], "PCI_BUS_ID")
        self.assertEqual(facts["words"][1:], ["gpu=2", "gpus=2"])
        [gpu] = gate.lane(3)["gpus"]
        self.assertEqual((gpu["uuid"], gpu["name"]), (fake.uuids[3], "Fake GPU (Turnpike tests)"))
        self.assertIn("Fake GPU", self.order(gate, "status"))
        self.assertNotIn("serving on the CPU", gate.process.output())

    def test_by_uuid(self):
        fake = self.fake(2)
        self.assertEqual(self.seen_by(self.on_gpus(pin="uuid")), fake.uuids)

    def test_no_pinning_if_the_config_says_so(self):
        self.fake(2)
        gate = self.on_gpus(pin="none")
        self.assertEqual(self.seen_by(gate), [None, None])
        self.assertEqual(self.facts(gate, 1)["words"][1:], ["gpu=1", "gpus=1"])

    def test_two_for_each_lane(self):
        self.fake(4)
        gate = self.on_gpus("--gpus-per-lane", "2")
        self.assertEqual(self.seen_by(gate), ["0,1", "2,3"])
        self.assertEqual(self.facts(gate, 1)["words"][1:], ["gpu=2", "gpus=2,3"])

    def test_four_lanes_on_one(self):
        self.fake(2)
        gate = self.on_gpus("--gpus", "1", "--lanes", "4")
        self.assertEqual(self.seen_by(gate), ["1"] * 4)

    def test_chosen_gpus_in_the_order_of_the_config(self):
        fake = self.fake(4)
        self.assertEqual(self.seen_by(self.on_gpus("--gpus", "2,0")), ["2", "0"])
        gate = self.on_gpus(gpus=[fake.uuids[3], 1])
        self.assertEqual(self.gpus_of(gate), [[3], [1]])

    def test_cpu_lanes_see_no_gpu(self):
        self.fake(2)
        gate = self.on_gpus("--gpus", "none", "--lanes", "2")
        self.assertEqual(self.seen_by(gate), ["", ""], "a CPU lane sees no GPU")
        self.assertEqual(self.gpus_of(gate), [[], []])

    def test_only_gpus_in_the_callers_cuda_visible_devices_are_used(self):
        fake = self.fake(4, CUDA_VISIBLE_DEVICES="3,1")
        self.assertEqual(self.seen_by(self.on_gpus()), ["3", "1"])
        self.env["CUDA_VISIBLE_DEVICES"] = fake.uuids[2]
        self.assertEqual(self.seen_by(self.on_gpus()), ["2"])
        self.assertEqual(self.seen_by(self.on_gpus(pin="none")), [fake.uuids[2]])

    def test_mig_devices_have_names_only(self):
        self.fake(1)
        gate = self.on_gpus(gpus=[MIG + "1", MIG + "2"])
        self.assertEqual(self.seen_by(gate), [MIG + "1", MIG + "2"])
        self.assertEqual(self.facts(gate, 1)["words"][1:], [f"gpu={MIG}2", f"gpus={MIG}2"])
        self.env["CUDA_VISIBLE_DEVICES"] = MIG + "3"
        self.assertEqual(self.seen_by(self.on_gpus()), [MIG + "3"])

    def test_each_pool_has_its_own_gpus(self):
        self.fake(3)
        gate = self.up(pool={"gpus": [0], "lanes": None, "default": True},
                       sections={"pool.b": {"worker": WORKER, "gpus": [2, 1]}})
        self.assertEqual(self.gpus_of(gate), [[0], [2], [1]])
        answer = gate.post({}, "/-/to/b/facts")
        env = answer.json()["env"]
        self.assertEqual((env["TURNPIKE_POOL"], env["CUDA_VISIBLE_DEVICES"] in "12"), ("b", True))


class Absent(GpuCase):
    def refused(self, *flags):
        done = self.command("up", "--worker", WORKER, "--port", "0", *flags)
        self.assertEqual((done.returncode, done.stdout), (2, ""), done)
        return done.stderr

    def test_a_gpu_that_is_not_there(self):
        self.fake(2)
        self.assertIn("there is no GPU 5 here; there are 0,1", self.refused("--gpus", "0,5"))
        self.assertIn("is in the list twice", self.refused("--gpus", "1,1"))
        self.assertIn("a lane needs 4 GPUs, but the pool has 2 GPUs",
                      self.refused("--gpus-per-lane", "4"))

    def test_a_gpu_that_the_caller_may_not_see(self):
        self.fake(2, CUDA_VISIBLE_DEVICES="1")
        self.assertIn("there is no GPU 0 here", self.refused("--gpus", "0"))

    @unittest.skipIf(has_real_driver(), "this machine has a driver")
    def test_no_library(self):
        self.fake(2, kind="none")
        self.assertIn("there is no GPU here: there is no libnvidia-ml.so.1",
                      self.refused("--gpus", "0"))
        gate = self.on_gpus()
        self.assertEqual(len(gate.status()["lanes"]), 4)
        self.assertIn("serving on the CPU: there is no libnvidia-ml.so.1", gate.process.output())

    def test_a_driver_that_does_not_work(self):
        fake = self.fake(2)
        fake.set("init", 18)
        fake.set("cuda-init", 999)
        gate = self.on_gpus(lanes=1)
        self.assertIn("serving on the CPU: ", gate.process.output())
        self.assertIn("different versions", gate.process.output())

    def test_a_driver_without_gpus(self):
        self.fake(0)
        gate = self.on_gpus(lanes=1)
        self.assertIn("serving on the CPU: ", gate.process.output())
        self.assertEqual(gate.post({}).status, 200)


class Memory(GpuCase):
    def test_memory_is_shown(self):
        fake = self.fake(2)
        gate = self.on_gpus()
        fake.hold(1, gate.lane(1)["pid"], 2048)

        def used():
            return [lane["gpus"][0]["memory_used"] for lane in gate.status()["lanes"]]
        wait_until(lambda: used() == [0, 2048 * MIB], "the status shows the memory")
        self.assertEqual(gate.lane(0)["gpus"][0]["memory_total"], 81920 * MIB)
        self.assertIn("2.0 of 80.0 GiB", self.order(gate, "status"))
        os.kill(gate.lane(1)["pid"], signal.SIGKILL)
        [report] = wait_until(lambda: self.crashes(gate), "there is a report")
        self.assertEqual(report["gpu_memory_used_bytes"], 2048 * MIB)
        self.assertEqual(report["gpus"], [f"1 {fake.uuids[1]} Fake GPU (Turnpike tests)"])

    def test_memory_held_by_another_process_is_reported_at_start(self):
        fake = self.fake(2)
        fake.hold(1, os.getpid(), 512)
        gate = self.on_gpus()
        self.assertIn(f"GPU 1: pid {os.getpid()}", gate.process.output())
        self.assertIn("already holds 512MiB", gate.process.output())

    def test_a_lane_waits_until_the_memory_of_its_dead_worker_is_free(self):
        fake = self.fake(2)
        gate = self.on_gpus()
        pid = gate.lane(0)["pid"]
        fake.set(f"sticky-{fake.uuids[0]}")
        fake.hold(0, pid, 4096)
        os.kill(pid, signal.SIGKILL)
        lane = self.wait_lane_where(gate, 0, lambda lane: lane["reason"] == "memory_held",
                                    "the lane waits for the memory")
        self.assertEqual((lane["state"], lane["pid"]), ("backoff", None))
        self.assertIn("the old worker's memory is still taken", self.order(gate, "status"))
        self.assertEqual({gate.post({}).header("turnpike-lane") for _ in range(4)}, {"1"})
        self.order(gate, "restart", "0")  # does not help
        os.kill(gate.lane(1)["pid"], signal.SIGKILL)  # the memory of this worker is free at once
        self.wait_back(gate, 1)
        lane = gate.lane(0)
        self.assertEqual((lane["state"], lane["reason"]), ("backoff", "memory_held"))
        fake.clear(f"held/{fake.uuids[0]}/{pid}")
        gate.wait_ready()
        self.assertNotEqual(gate.lane(0)["pid"], pid)
        self.assertEqual(self.facts(gate, 0)["env"]["CUDA_VISIBLE_DEVICES"], "0")

    def test_a_drained_lane_s_gpu_is_free(self):
        fake = self.fake(1)
        gate = self.on_gpus(lanes=2)
        fake.hold(0, gate.lane(0)["pid"], 100)
        fake.hold(0, gate.lane(1)["pid"], 200)
        wait_until(lambda: gate.lane(0)["gpus"][0]["memory_used"] == 300 * MIB, "the status shows the memory of both workers")
        self.order(gate, "drain", "0")
        gate.wait_lane(0, "drained")
        wait_until(lambda: gate.lane(1)["gpus"][0]["memory_used"] == 200 * MIB, "the memory of the drained lane is free")


class Lost(GpuCase):
    def test_a_gpu_that_gets_lost_takes_its_own_lanes_only(self):
        fake = self.fake(2)
        gate = self.on_gpus(lanes=3)  # GPUs 0, 1, 0
        pids = [lane["pid"] for lane in gate.status()["lanes"]]
        future, go = self.begin_job(gate)
        fake.lose(0)
        for lane in (0, 2):
            found = gate.wait_lane(lane, "quarantined")
            self.assertEqual(found["reason"], "gpu_lost")
        go.touch()
        self.assertEqual(future.result().status, 200, "the job may be run again on the other GPU")
        self.assertEqual(gate.lane(1)["pid"], pids[1])
        self.assertEqual({gate.post({}).header("turnpike-lane") for _ in range(3)}, {"1"})
        self.assertIn("its GPU is gone", self.order(gate, "status"))
        wait_until(lambda: "its GPU is gone" in gate.process.output(), "`up` reports it")
        wait_until(lambda: gate.lane(0)["gpus"][0]["memory_used"] is None, "the memory of the lost GPU is unknown")
        fake.clear(f"lost-{fake.uuids[0]}")
        self.order(gate, "restart", "0")
        self.order(gate, "restart", "2")
        gate.wait_ready()

    def test_a_gpu_whose_driver_hangs_does_not_hold_up_other_lanes(self):
        fake = self.fake(2)
        gate = self.on_gpus(kill_patience="200ms")
        fake.hang(0)
        os.kill(gate.lane(0)["pid"], signal.SIGKILL)
        self.wait_trouble(gate, "the driver of its GPU does not answer",
                          states=["quarantined"])
        os.kill(gate.lane(1)["pid"], signal.SIGKILL)
        self.wait_back(gate, 1)
        self.assertEqual(gate.post({}).header("turnpike-lane"), "1")
        self.assertEqual(self.stop(gate), 0)

    def test_a_start_that_fails_while_a_driver_hangs_does_not_crash(self):
        self.fake(2).hang(0)
        path = self.write_config(self.config(pool={"gpus": None, "lanes": None}))
        with socket.create_server(("127.0.0.1", 0)) as taken:
            process = self.spawn_up([str(path), "--port", str(taken.getsockname()[1])])
            self.assertEqual(process.wait(), 1, process.output())
        self.assertRegex(process.output(), "in use|taken")


if __name__ == "__main__":
    unittest.main()
