"""Gates whose workers have families (workers/with_children.py), and a look at the process table that asks
neither the gate nor its marks: every process below a gate of a test has a word of that test's own in
its arguments, its environment, or both."""
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
GONE_S = 5.0  # after the gate's death; promised is one second, and machines of tests are busy


class ProcessInfo:
    """A process, as one look at it showed."""

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
    """All that live and have it; those that have ended have neither arguments nor environment."""
    word = word.encode()
    pids = [int(name) for name in os.listdir("/proc") if name.isdigit()]
    found = [process_info(pid) for pid in pids
             if word in read_proc(pid, "cmdline") or word in read_proc(pid, "environ")]
    return [process for process in found if process and process.state not in "ZX"]


def kill(process, number=signal.SIGKILL):
    """That very process; false: it is gone."""
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
        self.addCleanup(self.kill_all)  # after all else
        super().setUp()

    def kill_all(self):
        """Whatever went wrong: nothing stays."""
        wait_until(lambda: not [kill(process) for process in self.live_processes()] and not self.is_any_alive(),
                   "the family ends")

    def is_any_alive(self):
        """Whether any worker or child of one lives; also such as no look at the table ever meets."""
        with open(self.lock_path) as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return True
            return False

    def worker_command(self, habits="none"):
        """The command of a worker."""
        return f"{PYTHON} -I -S {self.script} {{port}} {{lane}} {self.folder} {self.token} {habits}"

    def gate_with_children(self, habits="none", *flags, **options):
        return self.started_gate(self.worker_command(habits), *flags, **options)

    def live_processes(self, *names):
        """All of this test; or those with these names ("worker", "daemon")."""
        return [process for process in processes_with_word(self.token) if not names or process.name in names]

    def processes_below(self, pid):
        """Of the family, whatever is below that process, and itself."""
        tree = self.live_processes()
        found = [process for process in tree if process.pid == pid]
        for parent in found:
            found += [process for process in tree if process.parent == parent.pid]
        return found

    def guards_of(self, gate):
        return [process for process in self.processes_below(gate.process.pid) if process.is_guard]

    def pids(self, *names):
        return sorted(process.pid for process in self.live_processes(*names))

    def kill_gate(self, gate):
        """The moment of its death."""
        gate.process.codes = (-signal.SIGKILL,)
        died = time.monotonic()
        gate.process.signal(signal.SIGKILL)
        gate.process.wait()
        return died

    def kill_with_guards(self, gate):
        """Together, so that no guard has a moment of its own. Workers die with their guards."""
        guards = self.guards_of(gate)
        workers = [process.pid for process in self.processes_below(gate.process.pid) if process.name == "worker"]
        for guard in guards:
            kill(guard, signal.SIGSTOP)
        wait_until(lambda: all(process_info(guard.pid).state == "T" for guard in guards), "guards stand still")
        self.kill_gate(gate)
        for guard in guards:
            kill(guard)
        wait_until(lambda: not set(self.pids()) & set(workers), "the workers are gone")

    def wait_for_no_process(self, since=None, besides=()):
        """None of the family is left; seconds since the given moment."""
        since = since or time.monotonic()

        def left():
            return [process for process in self.live_processes() if process.pid not in besides]
        try:
            wait_until(lambda: not left() and (besides or not self.is_any_alive()), "nothing is left")
        except AssertionError as error:
            raise AssertionError(f"{error}: {left() or 'one that hides'}") from None
        return time.monotonic() - since

    def assert_gone_with_gate(self, died):
        """One second after the gate's death no process is left: that is the promise. The bound here is
        one that only a broken promise reaches; how long it took is returned, for the test to print."""
        took = self.wait_for_no_process(died)
        self.assertLess(took, GONE_S, "a second after the gate's death nothing should be left")
        return took


class OrdinaryUser:
    """Mixed in: the gate and its workers are of a user who may do little. Tests that do not run as
    root run like that anyway."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        if os.getuid() != 0:
            return
        cls.user = AS_NOBODY
        cls.turnpike = str(cls.folder / "turnpike")
        shutil.copy(TURNPIKE, cls.turnpike)  # where it may lie, that user may not look
        os.chmod(cls.turnpike, 0o755)
        for path in (cls.folder, *cls.folder.iterdir()):
            os.chown(path, NOBODY, NOBODY)
