"""For tests of reloads: gates whose code is edited while they serve."""
import os
import threading
import time

from native_case import NativeCase, wait_until

# The version has its own line, so that an edit changes one line.
MODEL = '''import turnpike
import parts

VERSION = {version!r}


class Model(turnpike.Model):
    example = {{"n": 1}}

    def load(self, lane):
        {load}

    def predict(self, task):
        {predict}
        return {{"version": VERSION, "parts": parts.VERSION, "n": task["n"]}}
'''


class Load:
    """Clients that ask all the time and keep what they got."""

    def __init__(self, gate, clients=4, pause_s=0.0):
        self.gate, self.pause_s = gate, pause_s
        self.bad = []  # answers that are wrong
        self.versions = []  # the model's version in each good answer
        self.longest_s = 0.0  # from a request to its answer
        self._ends = threading.Event()
        self._threads = [threading.Thread(target=self._ask) for _ in range(clients)]
        for thread in self._threads:
            thread.start()

    def _ask(self):
        with self.gate.connect() as client:
            number = 0
            while not self._ends.wait(self.pause_s):
                number += 1
                begin = time.monotonic()
                client.request("POST", "/predict", b'{"n": %d}' % number,
                               [("Content-Type", "application/json")])
                answer = client.answer("POST")
                self.longest_s = max(self.longest_s, time.monotonic() - begin)
                if answer.status != 200 or answer.json()["n"] != number:
                    self.bad.append(answer)
                else:
                    self.versions.append(answer.json()["version"])

    def end(self):
        self._ends.set()
        for thread in self._threads:
            thread.join()


class ReloadCase(NativeCase):
    def project(self, version="one", parts="one"):
        """Makes a folder with model.py, which imports parts.py. Returns the path of model.py."""
        self.source = self.folder_for("project")
        self.save_parts(parts)
        self.save(version)
        return self.source / "model.py"

    def save(self, version, load="pass", predict="pass", by_rename=True):
        text = MODEL.format(version=version, load=load, predict=predict)
        self.write("model.py", text, by_rename)

    def save_parts(self, version):
        self.write("parts.py", f"VERSION = {version!r}\n")

    def write(self, name, text, by_rename=True):
        path = self.source / name
        if not by_rename:
            path.write_text(text)
            return
        new = self.source / f".{name}.new"
        new.write_text(text)
        os.rename(new, path)

    def versions(self, gate):
        """Returns the version of model.py and of parts.py in each lane's answer."""
        answers = []
        for lane in range(len(gate.status()["lanes"])):
            answer = gate.post({"n": 1}, headers=[("Turnpike-Lane", str(lane))])
            self.assertEqual(answer.status, 200, answer)
            answers.append((answer.json()["version"], answer.json()["parts"]))
        return answers

    def reload_of(self, gate):
        return gate.pool()["reload"]

    def wait_reload(self, gate, generation, *states):
        """Waits until this reload, or a later one, is in one of these states. Returns its facts."""
        def there():
            reload = self.reload_of(gate)
            return reload if reload and reload["generation"] >= generation \
                and reload["state"] in states else None
        return wait_until(there, f"reload {generation} is {' or '.join(states)}")
