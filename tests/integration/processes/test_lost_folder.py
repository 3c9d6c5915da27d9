"""Tests what happens when the runtime folder of a running gate is removed or replaced, whole or in part, as at a logout or by a
clean-up: the gate is still found, no second gate takes its name, its lanes start again with the same code."""
import os
import re
import shutil
import signal
import socket
import subprocess
import unittest
from pathlib import Path

from harness import HERE, PYTHON, TURNPIKE, wait_until
from native_case import NativeCase
from scripted_worker import echo
from started_case import SOCKET_WORKER

MODEL = '''
import words


def predict(task):
    return {"says": words.SAYS, "pid": os.getpid()}
'''


def remove(path):
    """Removes whatever is there, itself. The gate may make things anew at the same time."""
    for _ in range(1000):
        try:
            if path.is_symlink() or not path.is_dir():
                return path.unlink(missing_ok=True)
            return shutil.rmtree(path)
        except OSError:
            pass
    raise AssertionError(f"{path} can't be removed")


def put(path, make):
    """Puts something else in the place of a path, before the gate makes it anew."""
    for _ in range(1000):
        remove(path)
        try:
            return make(path)
        except OSError:  # the gate was first
            pass
    raise AssertionError(f"{path} can't be replaced")


def replace_by_file(path):
    put(path, lambda place: place.open("x").close())


def replace_by_link(path):
    put(path, lambda place: place.symlink_to("/etc"))


class LostCase(NativeCase):
    def setUp(self):
        super().setUp()
        folder = Path(self.env["XDG_RUNTIME_DIR"])
        remove(folder)  # of the test before
        folder.mkdir(0o700)

    def place(self, gate):
        return Path(self.env["XDG_RUNTIME_DIR"]) / "turnpike" / gate.name

    def served(self, **pool):
        model = self.model(MODEL)
        (model.parent / "words.py").write_text('SAYS = "as it was"\n')
        gate = self.serve(model, pool={"crash_limit": 3, **pool})
        self.model_folder = model.parent
        return gate

    def break_the_source(self):
        (self.model_folder / "words.py").write_text("SAYS = broken(\n")

    def kill_worker(self, gate):
        """Kills the worker and waits until the lane serves again, with the code that it had."""
        before = gate.lane(0)
        os.kill(before["pid"], signal.SIGKILL)
        wait_until(lambda: gate.lane(0)["restarts"] > before["restarts"] and gate.lane(0)["state"] == "ready"
                   and gate.lane(0)["pid"], "the lane serves again")
        answer = gate.post({})
        self.assertEqual((answer.status, answer.json()["says"]), (200, "as it was"), answer)
        self.assertEqual(gate.lane(0)["restarts"], before["restarts"] + 1, "the first start succeeds")

    def assert_it_is_found(self, gate):
        done = self.command("status", "--name", gate.name)
        self.assertEqual(done.returncode, 0, done)
        second = self.spawn_up(["--attach", "http://127.0.0.1:1", "--name", gate.name])
        self.assertEqual(second.wait(), 1, second.output())
        self.assertRegex(second.output(), rf"a gate named {gate.name} is running already \(pid {gate.process.pid}\)")

    def assert_it_is_whole(self, gate):
        folder = self.place(gate)
        wait_until(lambda: all((folder / name).exists() for name in ("lock", "socket", "processes", "sdk", "generations")),
                   "the folder is whole again")
        self.assertEqual((folder / "lock").read_text(), f"{gate.process.pid}\n")
        self.assertEqual(folder.stat().st_mode & 0o777, 0o700)
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(str(folder / "socket"))


class LostFolder(LostCase):
    @classmethod
    def setUpClass(cls):
        """Gates of other tests that run now must not remove our spare folders."""
        super().setUpClass()
        (cls.folder / "tmpdir").mkdir()
        cls.env["TMPDIR"] = str(cls.folder / "tmpdir")

    def test_whatever_is_removed_comes_back(self):
        gate = self.served()
        self.break_the_source()
        folder = self.place(gate)
        ways = {"all of it": folder, "the folder of all gates": folder.parent, "XDG_RUNTIME_DIR": folder.parents[1]}
        for name in sorted(os.listdir(folder)):
            ways[name] = folder / name
        ways["the generation"] = folder / "generations" / "default" / "1"
        ways["kept sources"] = folder / "generations" / "default" / "1" / "sources"
        ways["a module of the SDK"] = folder / "sdk" / "turnpike" / "_worker" / "worker.py"
        ways["the SDK's package"] = folder / "sdk" / "turnpike"
        for way, path in ways.items():
            with self.subTest(way):
                remove(path)
                self.assert_it_is_found(gate)
                self.kill_worker(gate)
                self.assert_it_is_whole(gate)
        self.assertIn("made anew", gate.process.output())
        self.assertEqual(self.command("down", "--name", gate.name).returncode, 0)

    def test_each_kept_source_comes_back(self):
        gate = self.served(warm=False)
        self.break_the_source()
        kept = self.place(gate) / "generations" / "default" / "1" / "sources"
        wait_until(lambda: len(list(kept.iterdir())) == 2, "both sources are kept")
        # The gate must have seen them once.
        wait_until(lambda: self.command("status", "--name", gate.name).returncode == 0, "a turn")
        for path in list(kept.iterdir()):
            text = path.read_bytes()
            remove(path)
            self.kill_worker(gate)
            self.assertEqual(path.read_bytes(), text)

    def test_what_is_replaced_is_replaced_back(self):
        """By a file, a link or a folder. Where the gate may not remove what is there, it says so and goes on."""
        gate = self.served()
        self.break_the_source()
        folder = self.place(gate)
        elsewhere = self.folder / "elsewhere"
        elsewhere.mkdir()
        for replace in (replace_by_file, replace_by_link):
            for name in ("socket", "processes", "sdk", "generations", "sdk/turnpike/__init__.py", "sdk/turnpike"):
                with self.subTest(f"{replace.__name__} {name}"):
                    replace(folder / name)
                    self.assert_it_is_found(gate)
                    self.kill_worker(gate)
        for name in ("lock", "."):
            for replace in (replace_by_file, replace_by_link):
                with self.subTest(f"{replace.__name__} {name}"):
                    replace(folder / name if name != "." else folder)
                    self.assert_it_is_found(gate)
                    self.kill_worker(gate)
                    remove(folder / name if name != "." else folder)
        self.kill_worker(gate)
        self.assert_it_is_whole(gate)
        self.assertTrue(os.path.exists("/etc/passwd"))

    def test_where_it_can_not_be_made_the_gate_says_so_and_goes_on(self):
        gate = self.served()
        self.break_the_source()
        folder = self.place(gate)
        replace_by_file(folder.parent)
        wait_until(lambda: "runtime folder: " in gate.process.output(), "the gate says so")
        spare = re.search(r"files are in (\S+) meanwhile", gate.process.output())
        self.assertIsNotNone(spare, gate.process.output())
        self.assert_it_is_found(gate)
        for _ in range(3):
            self.kill_worker(gate)
        (self.model_folder / "words.py").write_text('SAYS = "new"\n')
        self.assertEqual(self.command("reload", "--name", gate.name).returncode, 0)
        self.assertEqual(gate.post({}).json()["says"], "new")
        (self.model_folder / "words.py").write_text('SAYS = "as it was"\n')
        self.assertEqual(self.command("reload", "--name", gate.name).returncode, 0)
        folder.parent.unlink()
        self.assert_it_is_whole(gate)
        self.kill_worker(gate)
        self.assertTrue(os.path.exists(spare[1]))
        self.assertEqual(self.command("down", "--name", gate.name).returncode, 0)
        self.assertFalse(os.path.exists(spare[1]))

    def test_the_spare_folder_of_a_killed_gate_is_removed_by_the_next(self):
        gate = self.served()
        folder = self.place(gate)
        replace_by_file(folder.parent)
        wait_until(lambda: "runtime folder: " in gate.process.output(), "the gate says so")
        spare = re.search(r"files are in (\S+) meanwhile", gate.process.output())[1]
        worker = gate.lane(0)["pid"]
        guard = Path(f"/proc/{worker}/stat").read_text().rsplit(")", 1)[1].split()[1]
        gate.process.kill()
        wait_until(lambda: not os.path.exists(f"/proc/{worker}") and not os.path.exists(f"/proc/{guard}"), "worker and guard are gone")
        folder.parent.unlink()
        self.assertTrue(os.path.exists(spare))
        self.served()
        self.assertFalse(os.path.exists(spare))

    def test_a_folder_that_can_not_be_written(self):
        gate = self.served()
        folder = self.place(gate)
        for mode in (0o500, 0o000, 0o777):
            folder.chmod(mode)
            self.assert_it_is_found(gate)
            self.kill_worker(gate)
            wait_until(lambda: folder.stat().st_mode & 0o777 == 0o700, "the mode is as before")

    @unittest.skipIf(os.geteuid() != 0, "only root can give a folder away")
    def test_a_folder_of_somebody_else(self):
        gate = self.served()
        folder = self.place(gate)
        for path in (folder, folder.parent):
            remove(path)
            path.mkdir(0o700)
            os.chown(path, 12345, 12345)
            self.assert_it_is_found(gate)
            self.kill_worker(gate)
            wait_until(lambda: "belongs to user 12345" in gate.process.output(), "the gate says whose it is")
            self.assertEqual(os.listdir(path), [])
            path.rmdir()
            self.assert_it_is_whole(gate)

    def test_while_a_worker_is_loading_and_during_a_reload(self):
        gate = self.served()
        folder = self.place(gate)
        os.kill(gate.lane(0)["pid"], signal.SIGKILL)
        remove(folder)
        gate.wait_ready()
        (self.model_folder / "words.py").write_text('SAYS = "new"\n')
        reloading = self.popen("reload", "--name", gate.name)
        remove(folder)
        if reloading.wait(30) != 0:  # the files were gone in the moment when they were read
            self.assertEqual(self.command("reload", "--name", gate.name).returncode, 0)
        self.assertEqual(gate.post({}).json()["says"], "new")
        self.assert_it_is_whole(gate)

    def test_another_gate_takes_the_folder_before_it_is_made_anew(self):
        """The name can't be taken, so this stands for a gate in a container that shares the folder."""
        gate = self.served()
        folder = self.place(gate)
        gate.process.signal(signal.SIGSTOP)
        remove(folder)
        folder.mkdir(0o700)
        lock = subprocess.Popen(["flock", str(folder / "lock"), "sleep", "60"])
        self.addCleanup(lock.wait)
        self.addCleanup(lock.kill)
        wait_until(lambda: subprocess.run(["flock", "-n", str(folder / "lock"), "true"]).returncode != 0, "the lock is taken")
        gate.process.signal(signal.SIGCONT)
        wait_until(lambda: "running already" in gate.process.output(), "the gate says so")
        self.kill_worker(gate)
        self.assertEqual(self.command("down", "--name", gate.name).returncode, 0)

    def test_a_program_starts_again_from_its_copy(self):
        program = self.folder_for("program") / "worker"
        program.write_text("#!/bin/sh\nexec " + PYTHON + " " + str(HERE.parents[1] / "sdk/conformance/minimal_worker.py") + ' "$@"\n')
        program.chmod(0o755)
        gate = self.serve(program, pool={"python": None})
        copy = self.place(gate) / "generations" / "default" / "1" / "program" / "worker"
        wait_until(copy.exists, "the program is copied")
        before = gate.lane(0)["pid"]
        program.write_text("#!/bin/sh\nexit 1\n")
        remove(self.place(gate))
        os.kill(before, signal.SIGKILL)
        wait_until(lambda: gate.lane(0)["pid"] not in (None, before) and gate.lane(0)["state"] == "ready", "the copy serves")
        self.assertEqual(gate.lane(0)["restarts"], 1)

    def test_a_worker_on_a_socket_that_is_gone_starts_again(self):
        gate = self.up(self.worker_command(worker=SOCKET_WORKER), pool={"crash_limit": 3})
        remove(self.place(gate))
        os.kill(gate.lane(0)["pid"], signal.SIGKILL)
        gate.wait_ready()
        self.assert_it_is_found(gate)

    def test_the_state_folder_comes_back(self):
        gate = self.served()
        state = self.state_folder(gate)
        remove(state)
        self.kill_worker(gate)
        wait_until(lambda: list((state / "crashes").glob("*-lane0-*")), "the crash report is stored")
        wait_until(lambda: "serves" in (state / "lanes" / "0.log").read_text() if (state / "lanes" / "0.log").exists() else False,
                   "the lane's log is written")
        self.assertEqual(state.stat().st_mode & 0o777, 0o700)

    def test_an_attached_gate_in_the_background(self):
        started = self.command("up", "--detach", "--attach", self.scripted(echo).url, "--port", "0", "--name", "lost")
        self.addCleanup(self.command, "down", "--now", "--name", "lost")
        self.assertEqual(started.returncode, 0, started)
        folder = Path(self.env["XDG_RUNTIME_DIR"]) / "turnpike"
        remove(folder)
        again = subprocess.run([TURNPIKE, "up", "--detach", "--attach", "http://127.0.0.1:1", "--name", "lost"], env=self.env,
                               capture_output=True, text=True, timeout=30, check=False)
        self.assertEqual((again.returncode, again.stdout), (1, ""))
        self.assertIn("running already", again.stderr)
        self.assertEqual(self.command("status").returncode, 0)
        wait_until(lambda: (folder / "lost" / "socket").exists(), "the folder is made anew")
        log = Path(self.env["XDG_STATE_HOME"]) / "turnpike" / "lost" / "gate.log"
        wait_until(lambda: "made anew" in log.read_text(), "the log says so")
        remove(folder)
        self.assertEqual(self.command("down").returncode, 0)
        self.assertEqual(self.command("status").returncode, 3)


if __name__ == "__main__":
    unittest.main()
