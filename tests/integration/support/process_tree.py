"""For tests of what is left when processes die: gates whose workers start children of many kinds
(workers/with_children.py), and a way to find all of these processes without asking the gate. Every
process below a test's gate has that test's token in its arguments, its environment, or both."""
import fcntl
import os
import secrets
import shutil
import signal
import time
from pathlib import Path

from harness import HERE, PYTHON, TURNPIKE, Case, wait_until

NOBODY = 65534
AS_NOBODY = (f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups")
TOKEN_VARIABLE = "TEST_TOKEN"
GONE_S = 5.0  # after the gate's death; the promise is one second, but test machines are busy


class ProcessInfo:
    """What /proc showed about a process at one moment."""

    def __init__(self, pid, stat):
        self.pid = pid
        self.name, _, rest = stat.partition("(")[2].rpartition(") ")
        words = rest.split()
        self.state, self.parent, self.start = words[0], int(words[1]), int(words[19])
        self.words = read_proc(pid, "cmdline").split(b"\0")

    @property
    def is_guard(self):
        return self.words[1:2] == [b"guard"]

    def __repr__(self):
        command = b" ".join(self.words).decode(errors="replace")[:120]
        return f"{self.pid} ({self.name}, {self.state}, child of {self.parent}): {command}"


def read_proc(pid, file):
    try:
        return Path(f"/proc/{pid}/{file}").read_bytes()
    except OSError:
        return b""


def process_info(pid):
    stat = read_proc(pid, "stat").decode(errors="replace")
    return ProcessInfo(pid, stat) if stat else None


def processes_with_word(word):
    """Returns all live processes with this word in their arguments or environment. (Zombies have neither.)"""
    word = word.encode()
    pids = [int(name) for name in os.listdir("/proc") if name.isdigit()]
    found = [process_info(pid) for pid in pids
             if word in read_proc(pid, "cmdline") or word in read_proc(pid, "environ")]
    return [process for process in found if process and process.state not in "ZX"]


def kill(process, number=signal.SIGKILL):
    """Sends a signal to this process, and never to another one that got its pid. Returns False if it is gone."""
    try:
        pidfd = os.pidfd_open(process.pid)
    except ProcessLookupError:
        return False
    try:
        now = process_info(process.pid)
        if not now or now.start != process.start or now.state in "ZX":
            return False
        signal.pidfd_send_signal(pidfd, number)
        return True
    except ProcessLookupError:
        return False
    finally:
        os.close(pidfd)


class ProcessTreeCase(Case):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.script = cls.folder / "with_children.py"
        shutil.copy(HERE / "workers" / "with_children.py", cls.script)

    def setUp(self):
        self.token = f"token-{secrets.token_hex(8)}"
        self.env = {**self.env, TOKEN_VARIABLE: self.token}
        self.lock_path = self.folder / self.token
        self.lock_path.touch()
        self.addCleanup(self.kill_all)  # runs last
        super().setUp()

    def kill_all(self):
        """Kills every process of this test, also after a failure."""
        wait_until(lambda: not [kill(process) for process in self.live_processes()] and not self.is_any_alive(),
                   "all processes of the test end")

    def is_any_alive(self):
        """True if any worker or child of a worker lives. All of them hold a lock, so this also finds processes
        that live too briefly to be seen in /proc."""
        with open(self.lock_path) as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return True
            return False

    def worker_command(self, habits="none"):
        """Returns the command of a worker whose children have these habits."""
        return f"{PYTHON} -I -S {self.script} {{port}} {{lane}} {self.folder} {self.token} {habits}"

    def gate_with_children(self, habits="none", *flags, **options):
        return self.started_gate(self.worker_command(habits), *flags, **options)

    def live_processes(self, *names):
        """Returns all live processes of this test, or those with these names ("worker", "daemon")."""
        return [process for process in processes_with_word(self.token) if not names or process.name in names]

    def processes_below(self, pid, tree=None):
        """Returns this process and all of the test's processes below it. `tree` is an earlier list of live processes."""
        tree = tree or self.live_processes()
        found = [process for process in tree if process.pid == pid]
        for parent in found:
            found += [process for process in tree if process.parent == parent.pid]
        return found

    def guards_of(self, gate):
        return [process for process in self.processes_below(gate.process.pid) if process.is_guard]

    def pids(self, *names):
        return sorted(process.pid for process in self.live_processes(*names))

    def kill_gate(self, gate):
        """Kills the gate and returns the time of its death."""
        gate.process.codes = (-signal.SIGKILL,)
        died = time.monotonic()
        gate.process.signal(signal.SIGKILL)
        gate.process.wait()
        return died

    def kill_with_guards(self, gate):
        """Kills the gate and its guards together, so that no guard has time to clean up. Workers die with
        their guards."""
        guards = self.guards_of(gate)
        workers = [process.pid for process in self.processes_below(gate.process.pid) if process.name == "worker"]
        for guard in guards:
            kill(guard, signal.SIGSTOP)
        wait_until(lambda: all(process_info(guard.pid).state == "T" for guard in guards), "the guards are stopped")
        self.kill_gate(gate)
        for guard in guards:
            kill(guard)
        wait_until(lambda: not set(self.pids()) & set(workers), "the workers are gone")

    def wait_for_no_process(self, since=None, besides=()):
        """Waits until no process of this test is left, except those in `besides`. Returns the seconds since the
        given time."""
        since = since or time.monotonic()

        def left():
            return [process for process in self.live_processes() if process.pid not in besides]
        try:
            wait_until(lambda: not left() and (besides or not self.is_any_alive()), "no process is left")
        except AssertionError as error:
            raise AssertionError(f"{error}: {left() or 'a process that is not in /proc'}") from None
        return time.monotonic() - since

    def assert_gone_with_gate(self, died):
        """Checks that no process is left soon after the gate's death, and returns the seconds it took. The
        promise is one second. The limit here is longer, because test machines are busy."""
        took = self.wait_for_no_process(died)
        self.assertLess(took, GONE_S, "processes are left too long after the gate's death")
        return took


class OrdinaryUser:
    """A mixin: the gate and its workers run as a user without privileges. If the tests don't run as
    root, this changes nothing."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        if os.getuid() != 0:
            return
        cls.user = AS_NOBODY
        cls.turnpike = str(cls.folder / "turnpike")
        shutil.copy(TURNPIKE, cls.turnpike)  # that user may have no access to the original's folder
        os.chmod(cls.turnpike, 0o755)
        for path in (cls.folder, *cls.folder.iterdir()):
            os.chown(path, NOBODY, NOBODY)
