"""Parts of the check of reloads: a project whose version changes, clients that never stop, and when each lane gave a new answer."""
import http.client
import json
import shutil
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from machine import HOME, PORT

ROOT = Path(__file__).resolve().parents[2]
LANES = 4
DEADLINE_S = 60
SMALL = '''import os
import torch
import turnpike

VERSION = "one"


class Net(turnpike.Model):
    example = {"n": 1}

    def load(self, lane):
        torch.manual_seed(1)
        self.device = lane.device
        self.net = torch.nn.Sequential(torch.nn.Linear(256, 1024), torch.nn.ReLU(), torch.nn.Linear(1024, 10)).to(self.device)

    def predict(self, x):
        with torch.no_grad():
            total = float(self.net(torch.full((1, 256), 0.01 * x["n"], device=self.device)).sum())
        return {"n": x["n"], "version": VERSION, "sum": round(total, 3), "pid": os.getpid()}

    def check(self, answer):
        return True
'''
TEXT = '''import os
import model
import turnpike

VERSION = "one"


class Versioned(model.Text):
    def predict(self, x):
        if "n" not in x:
            return super().predict(x)
        text = "".join(self.pieces(model.request_parameters.from_json({"prompt": "Hello", "max_new_tokens": 2, "temperature": 0})))
        return {"n": x["n"], "version": VERSION, "sum": text, "pid": os.getpid()}

    def load(self, lane):
        super().load(lane)

    def check(self, answer):
        return True
'''
BAD = {  # what to change in either text, and what the developer must be told
    "a syntax error": ("    def predict(self, x):", "    def predict(self, x:", "SyntaxError"),
    "a load that fails": ("    def load(self, lane):", "    def load(self, lane):\n        open('/no/such/weights')", "/no/such/weights"),
    "a wrong answer": ("        return True", "        return 'no such digit' in str(answer)", "")}


class Project:
    def __init__(self, name):
        self.name = name
        self.folder = HOME / name
        if name == "text":
            shutil.copytree(ROOT / "examples/transformers", self.folder)
        else:
            self.folder.mkdir()
        self.path = self.folder / "served.py"
        self.good = TEXT if name == "text" else SMALL
        self.number = 0
        self.save(self.good)

    def save(self, text):
        draft = self.folder / ".served.new"
        draft.write_text(text)
        draft.rename(self.path)

    def edit(self):
        """Saves a new version and returns its name."""
        self.number += 1
        version = f"version {self.number}"
        self.save(self.good.replace('"one"', f'"{version}"'))
        return version

    def spoil(self, what):
        """Saves a bad version and returns what the developer must be told."""
        old, new, word = BAD[what]
        assert old in self.good
        self.save(self.good.replace(old, new).replace('"one"', '"bad"'))
        return word


def post(connection, value, lane=None):
    """Returns (status, answer)."""
    headers = {"Content-Type": "application/json", **({} if lane is None else {"Turnpike-Lane": str(lane)})}
    connection.request("POST", "/predict", json.dumps(value), headers)
    answer = connection.getresponse()
    return answer.status, json.loads(answer.read())


def connect():
    return http.client.HTTPConnection("127.0.0.1", PORT, timeout=120)


def answers():
    """Returns what each lane answers now."""
    return [post(connect(), {"n": 1}, lane)[1] for lane in range(LANES)]


def seconds_until(version, begin):
    """Returns for each lane the seconds from `begin` to its first answer with this version, or None."""
    def wait(lane):
        connection = connect()
        while time.monotonic() < begin + DEADLINE_S:
            status, answer = post(connection, {"n": 1}, lane)
            if status == 200 and answer["version"] == version:
                return time.monotonic() - begin
            time.sleep(0.005)
        return None
    with ThreadPoolExecutor(LANES) as threads:
        return list(threads.map(wait, range(LANES)))


class Steady:
    """Clients that ask all the time. Every wrong answer is kept."""

    def __init__(self, clients=LANES, pause_s=0.01):
        self.count, self.bad, self.longest_s = 0, [], 0.0
        self._pause_s = pause_s
        self._ends = threading.Event()
        self._lock = threading.Lock()
        self._threads = [threading.Thread(target=self._ask, daemon=True) for _ in range(clients)]
        for thread in self._threads:
            thread.start()

    def _ask(self):
        connection, number = connect(), 0
        while not self._ends.wait(self._pause_s):
            number += 1
            begin = time.monotonic()
            try:
                status, answer = post(connection, {"n": number % 7 + 1})
                is_good = status == 200 and answer["n"] == number % 7 + 1 and answer["version"] != "bad"
            except (OSError, http.client.HTTPException, ValueError) as error:
                is_good, answer, connection = False, repr(error), connect()
            with self._lock:
                self.count += 1
                self.longest_s = max(self.longest_s, time.monotonic() - begin)
                if not is_good:
                    self.bad.append(answer)

    def end(self):
        self._ends.set()
        for thread in self._threads:
            thread.join(DEADLINE_S)
        return f"{self.count} requests of a steady load, {len(self.bad)} failed, the longest took {self.longest_s:.2f} s"
