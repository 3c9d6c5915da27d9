"""What Turnpike itself lacks (descriptors, processes, disk) is no worker's fault: no crash is counted, no lane fails,
no worker is killed for it, and what is short is said. A reserve keeps starts and the command line going."""
import os
import shlex
import signal
import socket
import subprocess
import unittest

from addresses import OTHER, OwnNetwork
from harness import DEADLINE_S, PYTHON, TURNPIKE, Process, wait_until
from native_case import NativeCase

FILES = 260  # enough for two lanes and some clients
MIB = 1 << 20
LONELY = 64127  # a user that runs nothing else

MODEL = '''
def predict(request: turnpike.Request):
    if request.body == b"large":
        return b"x" * (3 << 20)
    return {"size": len(request.body), "pid": os.getpid()}
'''


class ShortCase(NativeCase):
    prefix = ()  # a command that runs the gate

    def spawn(self, name, command, pass_fds=()):
        return super().spawn(name, [*self.prefix, *command], pass_fds)

    def limit(self, gate, resource, soft):
        """Changes a limit of the running gate, as nothing but a shortage would."""
        subprocess.run(["setpriv", *self.user, "prlimit", "--pid", str(gate.process.pid), f"--{resource}={soft}:"],
                       check=True)

    def open_files(self, gate):
        return len(os.listdir(f"/proc/{gate.process.pid}/fd"))

    def flood(self, gate, count, data=b"", address=OTHER):
        clients = []
        for _ in range(count):
            client = socket.create_connection(("127.0.0.1", gate.port), DEADLINE_S, (address, 0))
            self.addCleanup(client.close)
            try:
                client.sendall(data)
            except OSError:
                pass  # it was pushed out
            clients.append(client)
        return clients

    def crashes(self, gate):
        return gate.ask("GET", "/-/crashes").json()["crashes"]

    def assert_all_is_well(self, gate, crashes=0):
        self.assertEqual(len(self.crashes(gate)), crashes)
        self.assertNotIn("failed", [lane["state"] for lane in gate.status()["lanes"]])
        self.order(gate, "status")
        self.assertEqual(gate.post("small").status, 200)


class Floods(OwnNetwork, ShortCase):
    prefix = ("prlimit", f"--nofile={FILES}:{FILES}")

    def kill_worker_of(self, gate):
        before = gate.lane(0)["pid"]
        os.kill(before, signal.SIGKILL)
        wait_until(lambda: gate.lane(0)["pid"] not in (None, before), "the next worker runs")
        gate.wait_ready()

    def survive(self, gate):
        """A worker is restarted, the command line and an honest client are served."""
        self.kill_worker_of(gate)
        self.assert_all_is_well(gate, crashes=1)
        self.assertLess(self.open_files(gate), FILES)

    def test_idle_connections_leave_room_for_starts(self):
        gate = self.serve(self.model(MODEL), pool={"lanes": 2})
        self.flood(gate, 2 * FILES)
        self.survive(gate)

    def test_idle_connections_leave_room_for_http_workers(self):
        gate = self.up(pool={"lanes": 2})
        self.flood(gate, 2 * FILES)
        self.survive(gate)

    def test_uploads_in_spool_files_leave_room_for_starts(self):
        gate = self.serve(self.model(MODEL), pool={"lanes": 2})
        self.flood(gate, FILES // 2, b"POST /predict HTTP/1.1\r\nHost: localhost\r\n"
                   b"Content-Length: %d\r\n\r\n" % (2 * MIB) + b"x" * (MIB + MIB // 2))
        self.survive(gate)

    def test_answers_in_files_leave_room_for_starts(self):
        gate = self.serve(self.model(MODEL), pool={"lanes": 2})
        self.flood(gate, FILES // 2, b"POST /predict HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n\r\nlarge")
        wait_until(lambda: gate.pool()["queued"] == 0, "the answers are there")
        self.survive(gate)


class Lowered(ShortCase):
    """A limit falls below what the gate has open, so that nothing at all can be opened."""

    def test_a_start_without_descriptors_is_no_crash(self):
        for kind in ("native", "http"):
            with self.subTest(kind):
                pool = {"lanes": 2, "crash_limit": 2}
                gate = self.serve(self.model(MODEL), pool=pool) if kind == "native" else self.up(pool=pool)
                client = gate.connect()
                before = [lane["pid"] for lane in gate.status()["lanes"]]
                self.limit(gate, "nofile", 3)
                os.kill(before[1], signal.SIGKILL)
                lane = self.wait_through(client, lambda lane: lane["reason"] == "shortage")
                self.assertEqual(lane["state"], "backoff")
                self.assertIn("ulimit -n", lane["trouble"])
                self.limit(gate, "nofile", 1024)
                gate.wait_ready()
                self.assertEqual(gate.lane(0)["pid"], before[0])
                self.assertLessEqual(len(self.crashes(gate)), 1)
                self.stop(gate)

    def wait_through(self, client, holds):
        """Waits over a connection that is already open."""
        def look():
            lane = client.request("GET", "/-/status").answer().json()["lanes"][1]
            return holds(lane) and lane
        return wait_until(look, "the lane shows the shortage")

    def test_a_job_that_cannot_be_sent_is_no_fault_of_its_worker(self):
        gate = self.up(pool={"lanes": 1, "fail_streak": 1})
        pid = gate.lane(0)["pid"]
        client = gate.connect()
        self.limit(gate, "nofile", 3)
        for _ in range(5):
            answer = client.request("POST", "/", b"{}").answer()
            self.assert_problem(answer, 503, "shortage")
            self.assertIsNotNone(answer.header("retry-after"))
        wait_until(lambda: client.request("GET", "/-/status").answer().json()["lanes"][0]["state"] == "ready",
                   "the lane is ready")
        self.limit(gate, "nofile", 1024)
        self.assertEqual(gate.post({}, "/").status, 200)
        self.assertEqual((gate.lane(0)["pid"], self.crashes(gate)), (pid, []))

    def test_an_answer_that_cannot_be_taken_is_no_fault_of_its_worker(self):
        gate = self.serve(self.model(MODEL))
        pid = gate.lane(0)["pid"]
        client = gate.connect()
        client.request("GET", "/-/healthz").answer()
        self.limit(gate, "nofile", 3)
        for _ in range(3):
            self.assert_problem(client.request("POST", "/predict", b"large").answer(), 503, "shortage")
        self.limit(gate, "nofile", 1024)
        self.assertEqual(len(gate.ask("POST", "/predict", b"large").body), 3 * MIB)
        self.assertEqual((gate.lane(0)["pid"], self.crashes(gate)), (pid, []))

    def test_probes_that_cannot_be_sent_kill_nobody(self):
        gate = self.up(pool={"health.every": "100ms"})
        pid = gate.lane(0)["pid"]
        client = gate.connect()
        client.request("GET", "/-/healthz").answer()
        self.limit(gate, "nofile", 3)
        def uptime():
            return client.request("GET", "/-/status").answer().json()["uptime_s"]
        since = uptime()
        wait_until(lambda: uptime() > since + 1.5, "time has passed for 15 probes")
        self.limit(gate, "nofile", 1024)
        self.assertEqual(gate.post({}, "/").status, 200)
        self.assertEqual((gate.lane(0)["pid"], self.crashes(gate)), (pid, []))


class Processes(ShortCase):
    """Another user's limit of processes falls to one."""

    @classmethod
    def setUpClass(cls):
        if os.getuid() != 0:
            raise unittest.SkipTest("only root can run a gate as another user, and the limit does not hold for root")
        super().setUpClass()
        cls.user = (f"--reuid={LONELY}", f"--regid={LONELY}", "--clear-groups")
        for folder in (cls.folder, *cls.folder.iterdir()):
            os.chown(folder, LONELY, LONELY)

    def test_a_start_without_processes_is_no_crash(self):
        gate = self.up(pool={"lanes": 2, "crash_limit": 2})
        before = [lane["pid"] for lane in gate.status()["lanes"]]
        self.limit(gate, "nproc", 1)
        os.kill(before[1], signal.SIGKILL)
        lane = self.wait_lane_where(gate, 1, lambda lane: lane["reason"] == "shortage", "the shortage shows")
        self.assertIn("no more processes can be made", lane["trouble"])
        self.assertEqual(gate.post({}, "/").status, 200)
        self.limit(gate, "nproc", 10000)
        gate.wait_ready()
        self.assertEqual(gate.lane(0)["pid"], before[0])
        self.assertEqual(len(self.crashes(gate)), 1)


class Tiny(ShortCase):
    COMMANDS = [["up", "--worker", "true {port}", "--gpus", "none", "--port", "0"], ["status"], ["jobs"],
                ["logs"], ["crashes"], ["reload"], ["down"], ["version"], ["key", "list"], ["check"]]

    def test_every_command_ends_in_a_sentence_under_any_limit(self):
        for files in range(41):
            for words in self.COMMANDS if files % 4 == 0 else self.COMMANDS[:1]:
                name = [] if words[0] in ("version", "key", "check") else ["--name", f"tiny{files}"]
                done = subprocess.run(["prlimit", f"--nofile={files}:{files}", TURNPIKE, *words, *name],
                                      env=self.env, cwd=self.folder, stdin=subprocess.DEVNULL,
                                      capture_output=True, text=True, timeout=DEADLINE_S)
                with self.subTest(files=files, command=words[0]):
                    if "error while loading shared libraries" in done.stderr:
                        continue  # the program did not even begin
                    if words[0] == "up":
                        self.assertIn(done.returncode, (1, 2), done)
                        self.assertRegex(done.stderr, r"\Aturnpike: [^\n]+\n\Z")
                    self.assertIn(done.returncode, (0, 1, 2, 3), done)
                    self.assertNotIn("terminate called", done.stderr)


class Disk(ShortCase):
    def setUp(self):
        super().setUp()
        self.spool = self.folder_for("spool")
        mount = f"mount -t tmpfs -o size=4m none {shlex.quote(str(self.spool))} && exec \"$@\""
        self.prefix = ("unshare", "-m", "sh", "-c", mount, "sh")
        tried = subprocess.run([*self.prefix, "true"], capture_output=True)
        if tried.returncode != 0:
            self.skipTest("a mount needs root and a mount namespace")

    def test_a_full_spool_hurts_only_what_does_not_fit(self):
        gate = self.up(pool={"lanes": 2, "fail_streak": 1})
        before = [lane["pid"] for lane in gate.status()["lanes"]]
        for _ in range(5):
            self.assert_problem(gate.post("x" * (8 * MIB)), 507, "no-room-on-disk")
            self.assertEqual(gate.post("x" * (2 * MIB)).status, 200)
        self.assertEqual([lane["pid"] for lane in gate.status()["lanes"]], before)
        self.assertEqual(self.crashes(gate), [])

    def config(self, *arguments, **options):
        return super().config(*arguments, **options).replace(str(self.folder) + '"', str(self.spool) + '"', 1)


if __name__ == "__main__":
    unittest.main()
