"""For tests of gates that start their workers themselves."""
import shlex

from harness import HERE, POOL, PYTHON, Case, numbers, toml, wait_until
from memory import memory_of

SCRIPT = HERE / "workers" / "http_server.py"
WORKER = f"{PYTHON} -SE {shlex.quote(str(SCRIPT))} {{port}}"
SOCKET_WORKER = WORKER.replace("{port}", "{socket}")


def is_alive(pid):
    """True if the process lives. A zombie does not count."""
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] not in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return False


class StartedCase(Case):
    """Starts gates with CPU lanes, unless `pool` says otherwise."""

    def folder_for(self, name):
        path = self.folder / f"{name}-{next(numbers)}"
        path.mkdir()
        return path

    def worker_command(self, *words, worker=WORKER):
        return " ".join([worker, *(shlex.quote(word) for word in words)])

    def config(self, worker=WORKER, pool=None, top=None, sections=None):
        keys = {"worker": worker, "gpus": "none", "lanes": 1, **POOL, "stop_grace": "10s",
                **(pool or {})}
        return toml({"": top or {}, "gate": {"spool": str(self.folder)},
                     "pool.default": {key: value for key, value in keys.items()
                                      if value is not None},
                     **(sections or {})})

    def up(self, worker=WORKER, *flags, is_ready=True, **parts):
        """Starts a gate with one pool. In the config, the keys in `top` come before it and `sections` after it."""
        path = self.write_config(self.config(worker, **parts))
        gate = self.start(str(path), *flags)
        return gate.wait_ready() if is_ready else gate

    def start(self, *arguments):
        return self.start_gate(list(arguments))

    def order(self, gate, *arguments, code=0):
        done = self.command(*arguments, "--name", gate.name)
        self.assertEqual(done.returncode, code, done)
        return done.stdout if code == 0 else done.stderr

    def facts(self, gate, lane=None):
        """Returns what a worker reports about its environment."""
        headers = [] if lane is None else [("Turnpike-Lane", str(lane))]
        answer = gate.post({}, "/facts", headers)
        self.assertEqual(answer.status, 200, answer)
        return answer.json()

    def begin_job(self, gate, target="/wait", headers=(), **task):
        """Starts a job and waits until a worker has it. Returns the future answer, and the file that lets the job end."""
        folder = self.folder_for("job")
        started, go = folder / "started", folder / "go"
        task = {"started": str(started), "wait_for": str(go), **task}
        future = self.in_thread(gate.post, task, target, list(headers))
        wait_until(lambda: started.exists() or future.done(), "the job is aboard")
        return future, go

    def wait_lane_where(self, gate, number, holds, what):
        return wait_until(lambda: (lane := gate.lane(number)) and holds(lane) and lane, what)

    def wait_trouble(self, gate, words, lane=0, states=None):
        """Waits until a lane's trouble in `status` has these words."""
        def holds(found):
            return words in (found["trouble"] or "") and (not states or found["state"] in states)
        return self.wait_lane_where(gate, lane, holds, f"the trouble of lane {lane} has {words!r}")

    def assert_reported(self, gate, words, lane=0):
        """Checks that the output of `up` and the table of `status` have these words about a lane."""
        wait_until(lambda: any(words in line and f"lane {lane}" in line
                               for line in gate.process.output().splitlines()),
                   f"`up` says about lane {lane}: {words}")
        table = self.order(gate, "status")
        self.assertIn(words[:40], table)

    def log(self, gate, lane=0, after=0, lines=2000):
        return gate.ask("GET", f"/-/lanes/{lane}/log?after={after}&lines={lines}").json()["lines"]

    def wait_line(self, gate, words, lane=0):
        """Waits until the worker prints a line with these words, and returns the first such line."""
        def printed():
            lines = [line["text"] for line in self.log(gate, lane)
                     if line["stream"] in ("out", "err") and words in line["text"]]
            return lines[0] if lines else None
        return wait_until(printed, f"lane {lane} prints {words!r}")

    def wait_back(self, gate, lane=0):
        """Waits until the lane was restarted once and serves again."""
        return self.wait_lane_where(gate, lane, lambda found: found["restarts"] == 1 and
                                    found["state"] == "ready", f"lane {lane} is back")

    def crashes(self, gate):
        return gate.ask("GET", "/-/crashes").json()["crashes"]

    def state_folder(self, gate):
        return self.folder / "xdg_state_home" / "turnpike" / gate.name

    def peak_memory(self, gate):
        """Returns the most bytes of memory that the gate ever had."""
        return memory_of(gate.process.pid)[1]

