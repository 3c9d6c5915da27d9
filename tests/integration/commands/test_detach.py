"""Tests `up --detach`: the gate runs in the background, or the command says why it cannot."""
import os
import re
import signal
import socket
import subprocess
import unittest

from harness import TURNPIKE, Case, Port, wait_until
from scripted_worker import echo


class Detach(Case):
    def up(self, *arguments, **options):
        """Runs `turnpike up --detach`, which returns when the gate listens."""
        done = subprocess.run([TURNPIKE, "up", "--detach", *arguments], env=self.env,
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=30,
                              cwd=self.folder, **options)
        self.addCleanup(self.command, "down", "--now")
        return done

    def log_of(self, name):
        return (self.folder / "xdg_state_home" / "turnpike" / name / "gate.log").read_text()

    def test_it_serves_until_it_is_told_to_stop(self):
        done = self.up("--attach", self.scripted(echo).url, "--port", "0")
        self.assertEqual(done.returncode, 0, done)
        for words in (r"listens on http://127\.0\.0\.1:\d+ in the background", "turnpike status",
                      "turnpike logs -f", "turnpike down", "gate.log"):
            self.assertRegex(done.stdout, words)
        self.assertIn("serving on", done.stderr)
        self.assertEqual(self.command("status").returncode, 0)
        wait_until(lambda: "all lanes serve" in self.log_of("default"), "the log says that all lanes serve")
        self.assertEqual(self.command("down").returncode, 0)
        self.assertIn("stopped", self.log_of("default"))
        self.assertEqual(self.command("status").returncode, 3)

    def test_it_has_its_own_session_and_no_access_to_the_terminal(self):
        done = self.up("--attach", self.scripted(echo).url, "--port", "0", "--name", "alone")
        self.assertIn("turnpike down --name alone", done.stdout)
        pid = int(re.search(r"pid (\d+)", done.stdout)[1])
        self.assertEqual(os.getsid(pid), pid)
        links = {fd: os.readlink(f"/proc/{pid}/fd/{fd}") for fd in ("0", "1", "2")}
        self.assertEqual(links["0"], "/dev/null")
        self.assertTrue(links["1"].endswith("alone/gate.log"), links)
        self.assertEqual(links["1"], links["2"])
        with open(f"/proc/{pid}/comm") as comm:
            self.assertEqual(comm.read(), "turnpike\n")

    def test_its_log_is_for_its_owner_alone(self):
        self.up("--attach", self.scripted(echo).url, "--port", "0", "--name", "mine")
        folder = self.folder / "xdg_state_home" / "turnpike" / "mine"
        self.assertEqual(folder.stat().st_mode & 0o777, 0o700)
        self.assertEqual((folder / "gate.log").stat().st_mode & 0o777, 0o600)

    def test_a_wrong_config_is_shown(self):
        config = self.write_config('[pool.default]\nattach = ["http://127.0.0.1:1"]\nslots = 0\n')
        done = self.up(str(config))
        self.assertEqual((done.returncode, done.stdout), (2, ""), done)
        self.assertIn(f"{config}:3: pool.default.slots", done.stderr)

    def test_a_taken_port_is_shown(self):
        with socket.create_server(("127.0.0.1", 0)) as taken:
            port = taken.getsockname()[1]
            done = self.up("--attach", "http://127.0.0.1:1", "--port", str(port))
        self.assertEqual((done.returncode, done.stdout), (1, ""), done)
        self.assertIn(str(port), done.stderr)

    def test_a_taken_name_is_shown_and_harms_nobody(self):
        worker = self.scripted(echo)
        self.assertEqual(self.up("--attach", worker.url, "--port", "0").returncode, 0)
        done = self.up("--attach", worker.url, "--port", "0")
        self.assertEqual((done.returncode, done.stdout), (1, ""), done)
        self.assertIn("running already", done.stderr)
        self.assertNotIn("running already", self.log_of("default"))
        self.assertEqual(self.command("status").returncode, 0)

    def test_an_invalid_name_is_refused(self):
        done = self.up("--attach", "http://127.0.0.1:1", "--name", "../x")
        self.assertEqual((done.returncode, done.stdout), (2, ""), done)
        self.assertIn("name", done.stderr)

    def test_a_log_that_can_not_be_written(self):
        folder = self.folder / "xdg_state_home" / "turnpike" / "walled"
        (folder / "gate.log").mkdir(parents=True)
        done = self.up("--attach", "http://127.0.0.1:1", "--name", "walled")
        self.assertEqual((done.returncode, done.stdout), (1, ""), done)
        self.assertIn("gate.log", done.stderr)

    def test_it_outlives_its_starter_and_its_terminal(self):
        port = Port()
        port.close()
        up = subprocess.Popen([TURNPIKE, "up", "--detach", "--attach", self.scripted(echo).url,
                               "--port", str(port.number)], env=self.env, start_new_session=True,
                              stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL)
        self.addCleanup(self.command, "down", "--now")
        self.assertEqual(up.wait(30), 0)
        try:
            os.killpg(up.pid, signal.SIGHUP)
        except ProcessLookupError:
            pass  # no process is left in that group
        self.assertEqual(self.command("status").returncode, 0)


if __name__ == "__main__":
    unittest.main()
