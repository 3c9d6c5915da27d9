"""Tests what `turnpike doctor` finds about GPUs, with fake drivers of several kinds."""
import json
import os
import subprocess
import unittest

from fake_gpus import FakeGpus, has_real_driver
from harness import PYTHON, Case, numbers

MIB = 1024 * 1024
BROKEN_CUDA = 999


class Doctor(Case):
    def fake(self, count, **options):
        return FakeGpus(self.folder / f"gpus-{next(numbers)}", count, **options)

    def doctor(self, fake, kind="full", code=0, **env):
        """Runs doctor and returns its JSON. Also checks that its text has the same sections."""
        self.env = {**type(self).env, **fake.env(kind), **env}
        done = self.command("doctor", "--json")
        self.assertEqual((done.returncode, done.stderr), (code, ""), done.stdout)
        page = json.loads(done.stdout)
        self.assertEqual(page["bad"] > 0, code == 1)
        text = self.command("doctor").stdout
        for finding in page["findings"]:
            self.assertEqual(finding["mark"] == "ok", finding["advice"] is None, finding)
            self.assertIn(finding["section"], text)
        return page

    def found(self, page, mark, words):
        """Returns the findings with this mark and these words."""
        return [finding for finding in page["findings"]
                if finding["mark"] == mark and words in finding["what"]]

    def assert_found(self, page, mark, words):
        self.assertTrue(self.found(page, mark, words), (mark, words, page["findings"]))

    def assert_no_gpus(self, page, words):
        self.assertEqual(page["gpus"], [])
        self.assertIn(words, page["no_gpus"])
        self.assertIn("`up` will serve on four CPU lanes", str(page["findings"]))

    def test_lists_all_gpus_of_the_machine(self):
        for count in (1, 4, 8):
            fake = self.fake(count)
            page = self.doctor(fake)
            self.assertEqual([gpu["uuid"] for gpu in page["gpus"]], fake.uuids)
            self.assertEqual([gpu["index"] for gpu in page["gpus"]], list(range(count)))
            self.assertEqual({gpu["name"] for gpu in page["gpus"]}, {"Fake GPU (Turnpike tests)"})
            self.assertEqual({gpu["memory_total"] for gpu in page["gpus"]}, {81920 * MIB})
            self.assertEqual({gpu["memory_used"] for gpu in page["gpus"]}, {0})
            self.assertEqual(page["driver"], "fake 1.0")
            self.assertEqual(page["cuda"], f"CUDA 12.4, {count} device{'s' * (count > 1)}")
            self.assert_found(page, "ok", "no process holds memory")

    def test_a_driver_without_gpus(self):
        self.assert_no_gpus(self.doctor(self.fake(0)), "finds no GPU")

    @unittest.skipIf(has_real_driver(), "this machine has a driver")
    def test_no_library(self):
        self.assert_no_gpus(self.doctor(self.fake(4), kind="none"), "there is no libnvidia-ml.so.1")

    def test_a_file_that_is_no_library(self):
        folder = self.folder / "no-library"
        folder.mkdir()
        (folder / "libnvidia-ml.so.1").write_text("INPUT(nothing)")
        (folder / "libcuda.so.1").write_text("")
        page = self.doctor(self.fake(4), LD_LIBRARY_PATH=str(folder))
        if not has_real_driver():  # the loader would find the real driver instead
            self.assert_no_gpus(page, "libnvidia-ml.so.1 can't be used")

    def test_a_library_that_lacks_what_is_needed(self):
        fake = self.fake(4)
        fake.set("cuda-init", BROKEN_CUDA)
        self.assert_no_gpus(self.doctor(fake, kind="broken"), "has no nvmlDeviceGetHandleByUUID")

    def test_an_old_library_is_enough(self):
        fake = self.fake(2)
        fake.hold(1, os.getpid(), 100)
        page = self.doctor(fake, kind="old", code=0 if has_real_driver() else 1)
        self.assertEqual([gpu["memory_used"] for gpu in page["gpus"]], [0, 100 * MIB])
        self.assertEqual([holder["pid"] for holder in page["gpus"][1]["holders"]], [os.getpid()])
        self.assertIsNone(page["driver"])
        if not has_real_driver():  # without CUDA, NVML sees GPUs that no worker can use
            self.assert_found(page, "bad", "there is no libcuda.so.1")

    def test_cuda_lists_the_gpus_where_there_is_no_nvml(self):
        if has_real_driver():
            self.skipTest("this machine has NVML")
        fake = self.fake(4)
        fake.hold(0, os.getpid(), 100)
        page = self.doctor(fake, kind="cuda_only", CUDA_VISIBLE_DEVICES="2")
        self.assertEqual([gpu["uuid"] for gpu in page["gpus"]], fake.uuids)
        self.assertEqual([gpu["visible"] for gpu in page["gpus"]], [False, False, True, False])
        self.assertEqual([gpu["memory_used"] for gpu in page["gpus"]], [None] * 4)
        self.assert_found(page, "warn", "not known who holds memory")
        self.assertFalse(self.found(page, "ok", "no process holds memory"))

    def test_init_errors_by_name(self):
        for code, words in ((9, "not loaded"), (18, "different versions"), (4, "no permission"),
                            (999, "an error of the fake driver")):
            fake = self.fake(4)
            fake.set("init", code)
            fake.set("cuda-init", BROKEN_CUDA)
            self.assert_no_gpus(self.doctor(fake), words)

    def test_cuda_that_does_not_work_is_bad(self):
        for code, words in ((100, "no device"), (803, "different versions"), (999, "unknown error"),
                            (-1, "crashed")):
            fake = self.fake(2)
            fake.set("cuda-init", code)
            page = self.doctor(fake, code=1)
            self.assertEqual(len(page["gpus"]), 2)
            self.assert_found(page, "bad", words)

    def test_a_gpu_that_is_lost_is_bad(self):
        fake = self.fake(4)
        fake.lose(1)
        page = self.doctor(fake, code=1)
        self.assertEqual([gpu["index"] for gpu in page["gpus"]], [0, 2, 3])
        self.assert_found(page, "bad", "GPU 1 can't be used: it fell off the bus")
        fake.clear(f"lost-{fake.uuids[1]}")
        self.assertEqual(len(self.doctor(fake)["gpus"]), 4)

    def test_a_gpu_that_hangs_does_not_hold_up_doctor(self):
        fake = self.fake(2)
        fake.hang(1)
        self.env = {**type(self).env, **fake.env()}
        done = self.command("doctor", "--json")
        self.assertEqual(done.returncode, 1, done)
        page = json.loads(done.stdout)
        self.assertEqual([gpu["memory_used"] for gpu in page["gpus"]], [0, None])
        self.assert_found(page, "bad", "the GPU does not answer")

    def test_who_holds_memory(self):
        fake = self.fake(2)
        holder = self.spawn("holder", [PYTHON, "-c", "import time; time.sleep(600)", "\x1b[2J"])
        fake.hold(1, holder.pid, 2048)
        page = self.doctor(fake)
        self.assertEqual(page["gpus"][0]["holders"], [])
        [held] = page["gpus"][1]["holders"]
        self.assertEqual((held["pid"], held["memory"]), (holder.pid, 2048 * MIB))
        self.assertIn("time.sleep(600)", held["command"])
        [finding] = self.found(page, "warn", f"GPU 1: pid {holder.pid}")
        self.assertIn(f"kill {holder.pid}", finding["advice"])
        self.assertNotIn("\x1b", self.command("doctor").stdout)
        holder.kill()
        self.assertEqual(self.doctor(fake)["gpus"][1]["memory_used"], 0)

    def test_memory_of_a_process_that_cannot_be_seen(self):
        fake = self.fake(1)
        fake.set(f"sticky-{fake.uuids[0]}")
        gone = subprocess.Popen(["true"])
        gone.wait()
        fake.hold(0, gone.pid, 512)
        page = self.doctor(fake)
        self.assertIsNone(page["gpus"][0]["holders"][0]["command"])
        self.assert_found(page, "warn", "can't be seen from here")

    def test_the_callers_own_cuda_visible_devices(self):
        fake = self.fake(4)
        for value, visible in (("1,3", [1, 3]), (fake.uuids[2], [2]), ("0,9,1", [0]), ("", []),
                               ("-1", [])):
            page = self.doctor(fake, CUDA_VISIBLE_DEVICES=value)
            self.assertEqual([gpu["index"] for gpu in page["gpus"] if gpu["visible"]], visible)
            self.assertEqual(page["cuda"], "CUDA 12.4, 4 devices")
            if not visible:
                self.assertIn("CUDA_VISIBLE_DEVICES", page["no_gpus"])
        page = self.doctor(fake, CUDA_VISIBLE_DEVICES="0,9,1")
        self.assert_found(page, "warn", '"9" names no GPU')


if __name__ == "__main__":
    unittest.main()
