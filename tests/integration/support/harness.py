"""The base of every integration test. It starts the real gate and real workers as processes, in their
own folders and on free ports, and ends all of them after the test. Tests don't sleep and hope: they
wait for what must happen, with a deadline that only a hang reaches."""
import concurrent.futures
import itertools
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

from client import Answer, Client
from scripted_worker import ScriptedWorker

try:
    import fastapi  # noqa: F401
    import uvicorn  # noqa: F401
except ImportError as missing:
    sys.exit(f"integration tests need Debian's python3-fastapi and python3-uvicorn: {missing}")

PYTHON = "/usr/bin/python3"
HERE = Path(__file__).resolve().parents[1]  # tests/integration
TURNPIKE = os.environ.get("TURNPIKE", str(HERE.parents[1] / "build/dev/turnpike"))
if not os.access(TURNPIKE, os.X_OK):
    sys.exit(f"there is no binary to test: {TURNPIKE}; build it, or set TURNPIKE to its path")
DEADLINE_S = 30.0  # only a hang reaches it
numbers = itertools.count(1)  # for unique names of files, gates and processes

# Shorter than the defaults, so that the tests are quick.
POOL = {"health.every": "100ms", "health.timeout": "2s", "restart_delay_min": "20ms",
        "restart_delay_max": "100ms"}
STARTED = {"lanes": 2, "stop_grace": "200ms", "crash_limit": 16, "crash_window": "1s"}


def wait_until(holds, what, deadline_s=DEADLINE_S):
    """Calls `holds` until its result is true, and returns that result."""
    end = time.monotonic() + deadline_s
    while True:
        found = holds()
        if found:
            return found
        if time.monotonic() > end:
            raise AssertionError(f"waited {deadline_s:.0f} s, but this did not happen: {what}")
        time.sleep(0.01)


def toml(sections):
    """Returns sections such as {"gate": {"body_max": "1MiB"}} as TOML. Keys with dots are not quoted."""
    lines = []
    for name, keys in sections.items():
        lines.append(f"[{name}]" if name else "")
        lines += [f"{key} = {json.dumps(value)}" for key, value in keys.items()]
    return "\n".join(lines) + "\n"


class Port:
    """Reserves a free port of this machine without listening on it. Connections are refused until
    listen(), and no other process can take the port."""

    def __init__(self, number=0):
        self.socket = socket.socket()
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.socket.bind(("127.0.0.1", number))
        self.number = self.socket.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.number}"

    def listen(self):
        self.socket.listen(512)
        return self.socket

    def close(self):
        self.socket.close()


class Process:
    """A child process that dies with the test. Its output goes to a file. `user` holds options for setpriv."""

    def __init__(self, folder, name, command, env, pass_fds=(), user=()):
        self.name = name
        self.output_path = Path(folder) / f"{name}.out"
        with open(self.output_path, "xb") as out:
            self.popen = subprocess.Popen(["setpriv", *user, "--pdeathsig", "KILL", *command],
                                          env=env, stdin=subprocess.DEVNULL, stdout=out,
                                          stderr=out, cwd=folder, pass_fds=pass_fds)
        self.pid = self.popen.pid
        self.codes = (0, 1, 2)  # exit codes that are all right

    def output(self):
        return self.output_path.read_text(errors="replace")

    def is_running(self):
        return self.popen.poll() is None

    def signal(self, number):
        self.popen.send_signal(number)

    def wait(self, deadline_s=DEADLINE_S):
        """Waits for the end and returns the exit code."""
        return self.popen.wait(deadline_s)

    def kill(self):
        if self.is_running():
            self.popen.kill()
            self.codes = (-signal.SIGKILL,)
        self.popen.wait()


class WorkerProcess:
    """A worker process. It has the same port after kill() and start()."""

    def __init__(self, case, script, *arguments):
        self.case, self.script, self.arguments = case, script, arguments
        self.process = None
        self._hold_port(0)
        self.url = self.port.url

    def start(self, *arguments):
        """Starts the worker with these arguments, or with those of the constructor if none are given."""
        listener = self.port.listen()
        command = [PYTHON, str(HERE / "workers" / self.script), str(listener.fileno()),
                   *(arguments or self.arguments)]
        self.process = self.case.spawn(f"worker-{self.port.number}-{next(numbers)}", command,
                                       pass_fds=[listener.fileno()])
        self.port.close()  # the worker has the listener now; connections are refused when the worker dies
        return self

    def _hold_port(self, number):
        self.port = Port(number)
        self.case.addCleanup(self.port.close)

    def kill(self):
        self.process.kill()
        self._hold_port(self.port.number)


class Gate:
    def __init__(self, case, process, attached):
        self.case, self.process = case, process
        self.port = wait_until(lambda: self._port(attached), "the gate prints its address")

    def _port(self, attached):
        output = self.process.output()
        for found in re.finditer(r"http://127\.0\.0\.1:(\d+)", output):
            if f"http://127.0.0.1:{found[1]}" not in attached:
                return int(found[1])
        if not self.process.is_running():
            raise AssertionError(f"the gate ended with {self.process.wait()}:\n{output}")
        return None

    @property
    def name(self):
        words = self.process.popen.args
        return words[words.index("--name") + 1]

    def connect(self):
        client = Client(self.port)
        self.case.addCleanup(client.close)
        return client

    def ask(self, method, target, body=None, headers=(), deadline_s=DEADLINE_S) -> Answer:
        """Sends one request on a new connection and returns the answer."""
        with Client(self.port, deadline_s) as client:
            client.request(method, target, body, [*headers, ("Connection", "close")])
            return client.answer(method)

    def post(self, value, target="/predict", headers=(), deadline_s=DEADLINE_S) -> Answer:
        headers = [("Content-Type", "application/json"), *headers]
        return self.ask("POST", target, json.dumps(value).encode(), headers, deadline_s)

    def status(self):
        return self.ask("GET", "/-/status").json()

    def lane(self, number):
        return self.status()["lanes"][number]

    def pool(self, number=0):
        return self.status()["pools"][number]

    def live_jobs(self):
        return self.ask("GET", "/-/jobs").json()["live"]

    def ended_jobs(self):
        return self.ask("GET", "/-/jobs").json()["ended"]

    def wait_ready(self, lanes=None):
        """Waits until all lanes serve, or at least this number of lanes."""
        def serve():
            states = [lane["state"] for lane in self.status()["lanes"]]
            return sum(state in ("ready", "busy") for state in states) >= (lanes or len(states))
        wait_until(serve, f"{lanes or 'all'} lanes serve")
        return self

    def wait_lane(self, number, *states):
        return wait_until(lambda: self.lane(number)["state"] in states and self.lane(number),
                          f"lane {number} is {' or '.join(states)}")

    def wait_queued(self, count):
        wait_until(lambda: self.pool()["queued"] == count, f"{count} jobs are queued")


class Case(unittest.TestCase):
    """Tests start gates and workers with the methods below. All of them end with the test."""
    user = ()  # options for setpriv, to run gates as another user
    turnpike = TURNPIKE

    @classmethod
    def setUpClass(cls):
        cls.folder = Path(tempfile.mkdtemp(prefix="turnpike-test-"))
        cls.addClassCleanup(shutil.rmtree, cls.folder, ignore_errors=True)
        cls.env = {key: value for key, value in os.environ.items() if "proxy" not in key.lower()}
        for name in ("ASAN_OPTIONS", "UBSAN_OPTIONS", "TSAN_OPTIONS"):
            given = os.environ.get(name, "")
            cls.env[name] = f"{given}:exitcode=86".lstrip(":")  # an exit code that the gate itself never uses
        cls.env["TSAN_OPTIONS"] += ":report_thread_leaks=0"  # after a second signal a gate exits without joining its threads
        for name in ("XDG_RUNTIME_DIR", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "HOME"):
            folder = cls.folder / name.lower()
            folder.mkdir(mode=0o700)
            cls.env[name] = str(folder)

    def setUp(self):
        self.processes = []
        self.threads = concurrent.futures.ThreadPoolExecutor(256)
        self.addCleanup(self.threads.shutdown, wait=False, cancel_futures=True)

    def run(self, result=None):
        bad = len(result.failures) + len(result.errors) if result else 0
        super().run(result)
        if result and len(result.failures) + len(result.errors) > bad:
            for process in self.processes:
                print(f"── {self.id()}: output of {process.name} ──\n{process.output()}",
                      file=sys.stderr)

    def spawn(self, name, command, pass_fds=()):
        process = Process(self.folder, name, command, self.env, pass_fds, self.user)
        self.processes.append(process)
        self.addCleanup(process.kill)
        return process

    def in_thread(self, call, *arguments, **options):
        """Calls `call` in a thread. result() of the returned future gives or raises its outcome."""
        return self.threads.submit(call, *arguments, **options)

    def scripted(self, behave=None, **options):
        worker = ScriptedWorker(behave, **options)
        self.addCleanup(worker.close)
        return worker

    def fastapi_worker(self, *arguments):
        return WorkerProcess(self, "fastapi_app.py", *arguments).start()

    def plain_worker(self, *arguments):
        return WorkerProcess(self, "plain.py", *arguments).start()

    def write_config(self, text):
        path = self.folder / f"config-{next(numbers)}.toml"
        path.write_text(text)
        return path

    def gate(self, workers=(), *flags, sections=None, is_ready=True, **parts) -> Gate:
        """Starts a gate with attached workers. `gate`, `queue`, `log`, `pool` and `proof` hold keys of these
        sections of the config. `sections` holds further sections."""
        pool = {"attach": [worker.url for worker in workers], **POOL, **parts.pop("pool", {})}
        whole = {"gate": {"spool": str(self.folder)}}
        whole["gate"].update(parts.pop("gate", {}))
        if workers:
            whole["pool.default"] = pool
        if "proof" in parts:
            whole["pool.default.proof"] = parts.pop("proof")
        whole.update(parts)
        whole.update(sections or {})
        text = toml(whole)
        gate = self.start_gate([str(self.write_config(text)), *flags], text)
        return gate.wait_ready() if is_ready else gate

    def started_gate(self, command, *flags, is_ready=True, gate=None, **pool) -> Gate:
        """Starts a gate that starts its own workers on CPU lanes. `pool` holds further keys of the pool."""
        text = toml({"gate": {"spool": str(self.folder), **(gate or {})},
                     "pool.default": {"worker": command, "gpus": "none", **POOL, **STARTED, **pool}})
        started = self.start_gate([str(self.write_config(text)), *flags])
        return started.wait_ready() if is_ready else started

    def start_gate(self, arguments, attached="") -> Gate:
        process = self.spawn_up(arguments)
        return Gate(self, process, attached + " ".join(arguments))

    def spawn_up(self, arguments):
        """Starts `turnpike up`, whether or not it will serve. It gets a free port and a unique name unless
        `arguments` has them."""
        name = f"gate-{os.getpid()}-{next(numbers)}"
        extra = [] if "--port" in arguments else ["--port", "0"]
        extra += [] if "--name" in arguments else ["--name", name]
        process = self.spawn(name, [self.turnpike, "up", *arguments, *extra])
        self.addCleanup(self.end_gate, process)
        return process

    def end_gate(self, process):
        """Sends SIGTERM until the gate ends, and checks its exit code. Runs after every test."""
        end = time.monotonic() + DEADLINE_S
        while process.is_running() and time.monotonic() < end:
            process.signal(signal.SIGTERM)
            try:
                process.wait(0.1)
            except subprocess.TimeoutExpired:
                pass
        self.assertFalse(process.is_running(), f"{process.name} does not stop")
        self.assertIn(process.wait(), process.codes, f"{process.name} ended badly")

    def command(self, *arguments, deadline_s=DEADLINE_S):
        """Runs another command of the binary to its end."""
        as_user = ["setpriv", *self.user] if self.user else []
        return subprocess.run([*as_user, self.turnpike, *arguments], env=self.env, cwd=self.folder,
                              stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              timeout=deadline_s)

    def popen(self, *arguments):
        """Starts another command of the binary. Its output can be read while it runs."""
        process = subprocess.Popen([self.turnpike, *arguments], env=self.env, cwd=self.folder,
                                   stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True)
        self.addCleanup(process.communicate)
        self.addCleanup(process.kill)
        return process

    def new_key(self, name, *flags):
        """Makes an API key and returns it. It is revoked after the test."""
        done = self.command("key", "new", name, "--yes", *flags)
        self.assertEqual(done.returncode, 0, done)
        self.addCleanup(self.command, "key", "revoke", name)
        return done.stdout.split()[-1]

    def assert_problem(self, answer, status, slug):
        self.assertEqual(answer.status, status, answer)
        self.assertEqual(answer.header("content-type"), "application/problem+json", answer)
        self.assertEqual(answer.json()["type"], f"urn:turnpike:problem:{slug}", answer)
        self.assertEqual(answer.json()["status"], status)
        self.assertEqual(answer.header("x-should-retry"), "false" if status in (409, 500, 501, 502, 504, 505) else None)
        error = answer.json()["error"]
        self.assertEqual((error["code"], sorted(error)), (slug, ["code", "message", "type"]))
        self.assertTrue(error["message"].startswith(answer.json()["title"][:-1]), answer)

    def stop(self, gate, *signals):
        """Sends SIGTERM, or these signals, and returns the exit code."""
        for number in signals or (signal.SIGTERM,):
            gate.process.signal(number)
        return gate.process.wait()
