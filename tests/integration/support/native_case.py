"""For tests of native workers: starts gates whose models are given as Python text in the test."""
import json
import os
import pathlib

from harness import POOL, PYTHON, wait_until
from started_case import StartedCase, is_alive

# Comes before each model's own text.
TOOLS = '''import os, signal, sys, time
import turnpike


def write_file(path, text=""):
    """Writes a file that appears only when it is complete."""
    with open(path + ".part", "w") as file:
        file.write(str(text))
    os.rename(path + ".part", path)


def wait_for(path):
    while not os.path.exists(path):
        time.sleep(0.002)


def wait(task):
    """Writes the file `started`, then waits for the file `wait_for`."""
    write_file(task["started"], turnpike.job().id)
    wait_for(task["wait_for"])
    return {"pid": os.getpid(), "lane": os.environ["TURNPIKE_LANE"],
            "attempt": turnpike.job().attempt}


'''


def children_of(pid):
    found = []
    for entry in os.listdir("/proc"):
        if entry.isdigit() and parent_of(int(entry)) == pid:
            found.append(int(entry))
    return found


def parent_of(pid):
    try:
        return int(pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    except (OSError, IndexError):
        return None


def command_of(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


class NativeCase(StartedCase):
    """One CPU lane with Debian's Python, unless `pool` says otherwise."""

    def model(self, text, name="model.py"):
        """Writes a model into a new folder and returns its path."""
        path = self.folder_for("model") / name
        path.write_text(TOOLS + text)
        return path

    def serve(self, model, *flags, is_ready=True, pool=None, **parts):
        """Starts a gate for a model. `model` is a path, or a path and a name (model.py:Name)."""
        no_health = {key: None for key in POOL if key.startswith("health.")}  # native workers are pinged instead
        pool = {"model": str(model), "python": PYTHON, **no_health, **(pool or {})}
        return self.up(None, *flags, is_ready=is_ready, pool=pool, **parts)

    def begin_job(self, gate, target="/predict", headers=(), **task):
        return super().begin_job(gate, target, headers, **{"do": "wait", **task})

    def busy_lane(self, gate):
        [lane] = [lane for lane in gate.status()["lanes"] if lane["state"] == "busy"]
        return lane

    def job(self, gate, name):
        answer = gate.ask("GET", f"/-/jobs/{name}")
        self.assertEqual(answer.status, 200, answer)
        return answer.json()

    def whole_log(self, gate, lane=0):
        return "\n".join(line["text"] for line in self.log(gate, lane))

    def wait_log(self, gate, words, lane=0):
        """Waits until the lane's log has these words, printed by the worker or by Turnpike."""
        wait_until(lambda: words in self.whole_log(gate, lane), f"lane {lane}'s log has {words!r}")

    def assert_gone(self, *pids):
        for pid in pids:
            wait_until(lambda: not is_alive(pid), f"process {pid} is gone")

    def warm_pids(self, gate):
        """Returns the pids of the gate's warm processes."""
        return [pid for pid in children_of(gate.process.pid) if b"--warm" in command_of(pid)]

    def warm_pid(self, gate):
        """Returns the pid of the gate's warm process, or None if there is none."""
        return next(iter(self.warm_pids(gate)), None)

    def descriptors(self, gate):
        """Counts the gate's descriptors. Leaves out two for each warm process and one for its log, because these may
        be opened at any time."""
        warm = self.warm_pids(gate)
        has_log = (self.state_folder(gate) / "lanes" / "warm.log").exists()
        return len(os.listdir(f"/proc/{gate.process.pid}/fd")) - 2 * len(warm) - has_log


class SharedGate(NativeCase):
    """All tests of a class share one gate, which `open` starts."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.host = cls("open")
        NativeCase.setUp(cls.host)
        cls.addClassCleanup(cls._close)
        try:
            cls.gate = cls.host.open()
        except AssertionError as error:
            raise AssertionError(f"{error}\n{cls._outputs()}") from None

    @classmethod
    def _outputs(cls):
        return "\n".join(process.output() for process in cls.host.processes)

    @classmethod
    def _close(cls):
        outputs = cls._outputs()
        assert cls.host.doCleanups(), f"the gate did not end well:\n{outputs}"

    def open(self):
        raise NotImplementedError

    def ask_model(self, target="/predict", headers=(), status=200, **task):
        answer = self.gate.post(task, target, headers)
        self.assertEqual(answer.status, status, answer)
        return answer


def body_of(value):
    return json.dumps(value).encode()


__all__ = ["POOL", "PYTHON", "NativeCase", "SharedGate", "body_of", "is_alive", "wait_until"]
