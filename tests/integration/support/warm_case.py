"""For tests of warm starts: a model that reports how it was started."""
from native_case import NativeCase, wait_until

MODEL = '''
import os, sys, resource, signal, threading
import numpy
import beside

class Facts(turnpike.Model):
    example = {"do": "facts"}

    def load(self, lane):
        self.lane = lane

    def predict(self, task):
        return getattr(self, "do_" + task["do"])(task)

    def do_facts(self, task):
        return {"pid": os.getpid(), "parent": os.getppid(), "word": beside.WORD, "file": beside.__file__, "argv": sys.argv,
                "lane": os.environ["TURNPIKE_LANE"], "threads": len(os.listdir("/proc/self/task")), "folder": os.getcwd(),
                "fds": sorted(os.readlink(f"/proc/self/fd/{fd}").partition(":")[0] for fd in os.listdir("/proc/self/fd")[:-1]),
                "limit": resource.getrlimit(resource.RLIMIT_NOFILE), "session": os.getsid(0) == os.getpid(),
                "ignored": [int(s) for s in (signal.SIGINT, signal.SIGTERM, signal.SIGCHLD) if signal.getsignal(s) == signal.SIG_IGN],
                "modules": "numpy" in sys.modules, "unbuffered": sys.stdout.write_through}

    def do_random(self, task):
        import random
        return {"numpy": numpy.random.random(), "python": random.random()}

    def do_env(self, task):
        return dict(os.environ)

    def do_print(self, task):
        print("a line on stdout"); print("a line on stderr", file=sys.stderr)
        return {}

    def do_raise(self, task):
        return beside.fail()

    def do_die(self, task):
        os.kill(os.getpid(), signal.SIGKILL)
'''
BESIDE = 'WORD = "first"\n\ndef fail():\n    raise KeyError("as it was")  # first\n'


class WarmCase(NativeCase):
    def setUp(self):
        super().setUp()
        self.path = self.model(MODEL)
        self.beside = self.path.parent / "beside.py"
        self.beside.write_text(BESIDE)

    def wait_warm(self, gate, other_than=None):
        """Waits until warm.log says that a warm process is ready to be forked. Returns its pid."""
        wait_until(lambda: self.warm_pid(gate) not in (None, other_than) and
                   f"warm process {self.warm_pid(gate)}:" in self.warm_log(gate), "a warm process is ready")
        return self.warm_pid(gate)

    def warm_log(self, gate):
        path = self.state_folder(gate) / "lanes" / "warm.log"
        return path.read_text() if path.exists() else ""

    def restart(self, gate, lane=0):
        before = gate.lane(lane)["pid"]
        self.assertEqual(gate.ask("POST", f"/-/lanes/{lane}/restart").status, 202)
        wait_until(lambda: gate.lane(lane)["pid"] not in (None, before) and gate.lane(lane)["state"] == "ready", "the lane has restarted")

    def facts(self, gate, lane=0):
        return self.answer(gate, "facts", lane)

    def answer(self, gate, do, lane=0):
        answer = gate.post({"do": do}, headers=[("Turnpike-Lane", str(lane))])
        self.assertEqual(answer.status, 200, answer.body)
        return answer.json()
