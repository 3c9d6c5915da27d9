"""Tests native lanes on the GPUs of a fake driver: which GPUs each model sees, and under which names."""
import os
import signal
import unittest

from fake_gpus import FakeGpus, has_real_driver
from harness import numbers
from native_case import NativeCase, wait_until

MODEL = '''
class Devices(turnpike.Model):
    example = {}

    def load(self, lane):
        self.lane = lane

    def predict(self, task):
        return {"device": self.lane.device, "devices": self.lane.devices, "index": self.lane.index,
                "visible": os.environ.get("CUDA_VISIBLE_DEVICES"), "pid": os.getpid(),
                "order": os.environ.get("CUDA_DEVICE_ORDER")}
'''


@unittest.skipIf(has_real_driver(), "this machine has a driver of its own")
class Gpus(NativeCase):
    def fake(self, count):
        fake = FakeGpus(self.folder / f"gpus-{next(numbers)}", count)
        clean = {key: value for key, value in type(self).env.items() if not key.startswith("CUDA")}
        self.env = {**clean, **fake.env()}
        return fake

    def seen(self, **pool):
        """Returns what each lane's model sees, in the order of the lanes."""
        gate = self.serve(self.model(MODEL), pool={"gpus": None, "lanes": None, **pool})
        lanes = gate.status()["lanes"]
        return gate, [gate.post({}, headers=[("Turnpike-Lane", str(lane["lane"]))]).json()
                      for lane in lanes]

    def test_a_lane_on_each_sees_its_own_by_uuid_and_calls_it_the_first(self):
        fake = self.fake(3)
        gate, seen = self.seen()
        self.assertEqual([found["visible"] for found in seen], fake.uuids)
        self.assertEqual([found["index"] for found in seen], [0, 1, 2])
        for found in seen:
            self.assertEqual((found["device"], found["devices"]), ("cuda:0", ["cuda:0"]))
        self.assertEqual([lane["gpus"][0]["uuid"] for lane in gate.status()["lanes"]], fake.uuids)

    def test_two_for_each_lane(self):
        fake = self.fake(4)
        _, seen = self.seen(gpus_per_lane=2)
        self.assertEqual([found["visible"] for found in seen],
                         [",".join(fake.uuids[:2]), ",".join(fake.uuids[2:])])
        for found in seen:
            self.assertEqual((found["device"], found["devices"]), ("cuda:0", ["cuda:0", "cuda:1"]))

    def test_several_lanes_on_one(self):
        fake = self.fake(1)
        _, seen = self.seen(lanes=2)
        self.assertEqual([found["visible"] for found in seen], 2 * fake.uuids)
        self.assertEqual(len({found["pid"] for found in seen}), 2)

    def test_by_index_where_that_is_asked_for(self):
        self.fake(2)
        _, seen = self.seen(pin="index")
        self.assertEqual([(found["visible"], found["order"]) for found in seen],
                         [("0", "PCI_BUS_ID"), ("1", "PCI_BUS_ID")])

    def test_lanes_on_the_cpu_see_none_though_there_are_some(self):
        self.fake(2)
        _, [found] = self.seen(gpus="none", lanes=1)
        self.assertEqual((found["device"], found["visible"]), ("cpu", ""))

    def test_a_lane_waits_until_its_memory_is_free(self):
        fake = self.fake(1)
        gate, [found] = self.seen()
        fake.hold(0, found["pid"], 1000)
        fake.set(f"sticky-{fake.uuids[0]}")  # the driver still lists the dead worker as a user
        os.kill(found["pid"], signal.SIGKILL)
        gate.wait_lane(0, "backoff")
        waiting = self.in_thread(gate.post, {})
        gate.wait_queued(1)
        fake.clear(f"sticky-{fake.uuids[0]}")
        fake.clear(f"held/{fake.uuids[0]}/{found['pid']}")
        wait_until(waiting.done, "the lane serves")
        self.assertNotEqual(waiting.result().json()["pid"], found["pid"])


if __name__ == "__main__":
    unittest.main()
