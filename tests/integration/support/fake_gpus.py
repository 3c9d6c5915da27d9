"""Controls the GPUs of the fake driver (tests/fake_gpu/state.h). The binary under test finds that driver by LD_LIBRARY_PATH."""
import ctypes
import os
from pathlib import Path

from harness import TURNPIKE, numbers

DRIVERS = Path(os.environ.get("TURNPIKE_FAKE_DRIVERS", Path(TURNPIKE).parent / "fake_gpu"))


def has_real_driver():
    try:
        ctypes.CDLL("libnvidia-ml.so.1")
        return True
    except OSError:
        return False


def use_fake_gpu(case):
    """Gives the gates that this test case starts one fake GPU, and returns the keys of a pool with lanes on it."""
    fake = FakeGpus(case.folder / f"gpus-{next(numbers)}", 1)
    case.env = {**{key: value for key, value in case.env.items() if not key.startswith("CUDA")}, **fake.env()}
    return {"gpus": None}


class FakeGpus:
    def __init__(self, folder, count, memory_mib=81920):
        self.folder = Path(folder)
        self.folder.mkdir(parents=True)
        self.uuids = [f"GPU-fa4e0000-0000-0000-0000-{number:012x}" for number in range(count)]
        self.set("gpus", "".join(f"{uuid} {memory_mib}\n" for uuid in self.uuids))

    def env(self, kind="full"):
        """Returns the environment for a process that uses the fake driver. `kind` is a folder of tests/fake_gpu/CMakeLists.txt."""
        return {"LD_LIBRARY_PATH": str(DRIVERS / kind), "TURNPIKE_FAKE_GPUS": str(self.folder)}

    def set(self, name, text=""):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        new = path.with_name(f".{path.name}.new")
        new.write_text(str(text))
        new.rename(path)

    def clear(self, name):
        (self.folder / name).unlink()

    def hold(self, index, pid, mib):
        self.set(f"held/{self.uuids[index]}/{pid}", mib)

    def lose(self, index):
        self.set(f"lost-{self.uuids[index]}")

    def hang(self, index):
        """Makes every query about this GPU hang until the process that asks has ended."""
        os.mkfifo(self.folder / f"hang-{self.uuids[index]}")
