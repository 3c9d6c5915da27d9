"""Tests the output of started workers: `turnpike logs`, the route for logs, and the log files."""
import json
import os
import re
import signal
import stat
import threading
import unittest

from harness import wait_until
from started_case import StartedCase


class Reader:
    """Collects the lines that a command prints while it runs."""

    def __init__(self, process):
        self.process, self.lines = process, []
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self):
        for line in self.process.stdout:
            self.lines.append(line.rstrip("\n"))

    def wait_for(self, words, times=1):
        wait_until(lambda: sum(words in line for line in list(self.lines)) >= times,
                   f"{words!r} is shown {times} times; so far {self.lines}")


class Logs(StartedCase):
    def say(self, gate, text, lane=0):
        answer = gate.ask("POST", "/write", text.encode(), [("Turnpike-Lane", str(lane))])
        self.assertEqual(answer.status, 200)
        last = re.split("[\r\n]", text.rstrip("\n"))[-1]
        self.wait_line(gate, last, lane)

    def test_logs_of_one_lane_and_of_all(self):
        gate = self.up(self.worker_command("say=hello from stderr"), pool={"lanes": 2})
        self.say(gate, "zero\n", 0)
        self.say(gate, "one\n", 1)
        text = self.order(gate, "logs", "0")
        self.assertIn("hello from stderr\n", text)
        self.assertIn("zero\n", text)
        self.assertNotIn("one\n", text)
        self.assertIn(f"started, pid {gate.lane(0)['pid']}: ", text)
        both = self.order(gate, "logs")
        self.assertIn("lane 0 │ zero\n", both)
        self.assertIn("lane 1 │ one\n", both)
        lines = [json.loads(line) for line in self.order(gate, "logs", "--json").splitlines()]
        for lane in (0, 1):
            streams = {line["stream"] for line in lines if line["lane"] == lane}
            self.assertEqual(streams, {"turnpike", "err", "out"})
        self.order(gate, "logs", "2", code=1)

    def test_the_log_route_continues_after_a_given_line(self):
        gate = self.up()
        self.say(gate, "first\n")  # the log gets one line about the first job
        self.say(gate, "a\nb\nc\n")
        lines = self.log(gate)
        numbers = [line["number"] for line in lines]
        self.assertEqual(numbers, list(range(1, len(lines) + 1)))
        self.assertEqual([line["text"] for line in self.log(gate, after=numbers[-3])], ["b", "c"])
        self.assertEqual([line["text"] for line in self.log(gate, lines=1)], ["c"])
        self.assertEqual(self.log(gate, after=numbers[-1]), [])
        self.assert_problem(gate.ask("GET", "/-/lanes/0/log?after=x"), 400, "bad-query")
        self.assert_problem(gate.ask("GET", "/-/lanes/1/log"), 404, "unknown-lane")

    def test_following_goes_on_across_a_restart(self):
        gate = self.up(self.worker_command("say=up I am"))
        reader = Reader(self.popen("logs", "0", "-f", "--name", gate.name))
        reader.wait_for("up I am")
        self.say(gate, "before\n")
        reader.wait_for("before")
        pid = gate.lane(0)["pid"]
        os.kill(pid, signal.SIGKILL)
        reader.wait_for("ended: killed by SIGKILL")
        reader.wait_for("up I am", times=2)
        self.order(gate, "restart", "0")
        reader.wait_for("up I am", times=3)
        gate.wait_ready()
        self.say(gate, "after\n")
        reader.wait_for("after")
        self.assertEqual(sum("before" in line for line in reader.lines), 1, "no line is shown twice")
        reader.process.send_signal(signal.SIGINT)
        self.assertEqual(reader.process.wait(30), 0)

    def test_following_ends_with_the_gate(self):
        gate = self.up(self.worker_command("say=up I am"))
        reader = Reader(self.popen("logs", "-f", "--name", gate.name))
        reader.wait_for("up I am")
        self.assertEqual(self.stop(gate), 0)
        self.assertEqual(reader.process.wait(30), 3)

    def test_a_progress_bar_is_one_line(self):
        gate = self.up()
        self.say(gate, "10%\r50%\r100%\n")
        self.assertEqual([line["text"] for line in self.log(gate) if "%" in line["text"]], ["100%"])

    def test_files_rotate_and_are_for_their_owner_only(self):
        gate = self.up(sections={"log": {"lane_size_max": "64KiB", "lane_keep": 1}})
        folder = self.state_folder(gate) / "lanes"
        for part in range(6):
            self.say(gate, f"part {part} " + "x" * 900 + "\n" + ("y" * 900 + "\n") * 40 +
                     f"end {part}\n")
        files = {"0.log", "0.log.1"}
        wait_until(lambda: {path.name for path in folder.iterdir()} == files, "a full file is rotated")
        wait_until(lambda: "end 5" in (folder / "0.log").read_text(), "the newest line is in the file")
        for path in folder.iterdir():
            self.assertLessEqual(path.stat().st_size, 64 * 1024)
            self.assertEqual(stat.S_IMODE(path.stat().st_mode), 0o600)
        self.assertEqual(stat.S_IMODE(folder.stat().st_mode), 0o700)
        newest = (folder / "0.log.1").read_text() + (folder / "0.log").read_text()
        self.assertRegex(newest.splitlines()[-1], r"^\d{4}-\d\d-\d\dT[\d:.]+Z out end 5$")
        self.assertNotIn("end 0", newest)

    def test_the_file_goes_on_with_the_next_gate(self):
        gate = self.up()
        self.say(gate, "of the first\n")
        self.assertEqual(self.stop(gate), 0)
        gate = self.start(str(self.write_config(self.config())), "--name", gate.name).wait_ready()
        self.say(gate, "of the second\n")
        path = self.state_folder(gate) / "lanes" / "0.log"
        wait_until(lambda: "of the second" in path.read_text(), "the line is in the file")
        self.assertIn("out of the first", path.read_text())

    def test_a_second_gate_with_the_same_state_folder_does_not_touch_the_files(self):
        """Two gates have one name but two runtime folders, for example one from a login and one from cron."""
        one = self.up()
        runtime = self.folder_for("runtime")
        runtime.chmod(0o700)
        self.env = {**self.env, "XDG_RUNTIME_DIR": str(runtime)}
        config = str(self.write_config(self.config()))
        other = self.start(config, "--name", one.name).wait_ready()
        self.assertIn("no logs or crash reports are kept: another gate uses", other.process.output())
        self.say(other, "of the second\n")
        self.assertIn("of the second", self.order(other, "logs", "0"))
        self.assertEqual(self.stop(other), 0)
        self.say(one, "of the first\n")
        self.assertEqual(self.stop(one), 0)
        text = (self.state_folder(one) / "lanes" / "0.log").read_text()
        self.assertIn("of the first", text)
        self.assertNotIn("of the second", text)
        third = self.start(config, "--name", one.name).wait_ready()
        self.assertNotIn("are kept", third.process.output())

    def test_without_a_home_logs_are_kept_in_memory(self):
        self.env = {name: value for name, value in self.env.items()
                    if name not in ("HOME", "XDG_STATE_HOME")}
        gate = self.up()
        self.assertIn("no logs or crash reports are kept", gate.process.output())
        self.say(gate, "still here\n")
        self.assertIn("still here", self.order(gate, "logs", "0"))

    def test_a_disk_that_refuses_writes_loses_only_the_log_file(self):
        name = f"refused-{os.getpid()}"
        folder = self.folder / "xdg_state_home" / "turnpike" / name
        folder.mkdir(parents=True, mode=0o700)
        (folder / "lanes").write_text("a file where a folder should be")
        path = self.write_config(self.config())
        gate = self.start(str(path), "--name", name).wait_ready()
        self.say(gate, "still here\n")
        self.assertIn("still here", self.order(gate, "logs", "0"))
        wait_until(lambda: "turnpike: logs of lanes: " in gate.process.output(), "`up` reports it")


if __name__ == "__main__":
    unittest.main()
