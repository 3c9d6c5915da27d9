"""Tests what `turnpike up` shows in a terminal while lanes start. A small model of a terminal interprets its output."""
import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios
import time
import unittest

from harness import DEADLINE_S, TURNPIKE, Case, WorkerProcess, numbers
from scripted_worker import echo
from started_case import WORKER


class Screen:
    """Models the parts of a terminal that `up` uses: rows that wrap, a cursor, moving up, erasing below."""

    def __init__(self, columns):
        self.columns, self.rows, self.row, self.column = columns, [""], 0, 0
        self.wrapped = set()  # rows that continue in the next row
        self.rest = b""

    def feed(self, data):
        data = self.rest + data
        at = 0
        while at < len(data):
            found = re.compile(rb"\x1b\[(\d*)([A-Za-z])").match(data, at)
            if found:
                self._obey(found[2], int(found[1] or 1))
                at = found.end()
            elif data[at:at + 1] == b"\x1b":
                if len(data) - at > 8:
                    raise AssertionError(f"unknown escape sequence: {data[at:at + 9]!r}")
                break
            else:
                self._show(chr(data[at]))
                at += 1
        self.rest = data[at:]

    def _obey(self, letter, number):
        if letter == b"A":
            self.row = max(0, self.row - number)
        elif letter == b"J":
            self.rows[self.row] = self.rows[self.row][:self.column]
            del self.rows[self.row + 1:]
            self.wrapped = {row for row in self.wrapped if row < self.row}
        elif letter != b"m":
            raise AssertionError(f"unknown escape sequence: {letter}")

    def _show(self, character):
        if character == "\r":
            self.column = 0
        elif character == "\n":
            self.wrapped.discard(self.row)
            self._go_down()
        else:
            if self.column == self.columns:
                self._wrap()
            line = self.rows[self.row].ljust(self.column)
            self.rows[self.row] = line[:self.column] + character + line[self.column + 1:]
            self.column += 1

    def _wrap(self):
        """Continues in the next row. Fails for a line of the block: `up` moves up by as many rows as the block has lines,
        so these lines must not wrap."""
        is_first = self.row - 1 not in self.wrapped
        if is_first and self.rows[self.row].startswith("lane "):
            raise AssertionError(f"wider than the terminal: {self.rows[self.row]}")
        self.wrapped.add(self.row)
        self._go_down()
        self.column = 0

    def _go_down(self):
        self.row += 1
        if self.row == len(self.rows):
            self.rows.append("")

    def text(self):
        """Returns the text on the screen. Rows that wrapped are joined."""
        return "".join(row + ("" if number in self.wrapped else "\n")
                       for number, row in enumerate(self.rows)).removesuffix("\n")


class Terminal(Case):
    def up(self, *arguments, columns=100, **env):
        """Starts `turnpike up` in a terminal. self.screen shows the terminal's contents."""
        self.master, slave = pty.openpty()
        self.addCleanup(os.close, self.master)
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
        self.screen, self.raw = Screen(columns), b""
        name = f"terminal-{next(numbers)}"
        self.process = subprocess.Popen(
            ["setpriv", "--pdeathsig", "KILL", TURNPIKE, "up", *arguments, "--port", "0", "--name", name],
            env={**self.env, "TERM": "xterm", **env}, stdin=slave, stdout=slave, stderr=slave)
        os.close(slave)
        self.addCleanup(self.process.wait)
        self.addCleanup(self.process.kill)

    def watch(self, holds, what):
        """Reads the output until `holds(text of the screen)` is true."""
        end = time.monotonic() + DEADLINE_S
        while not holds(self.screen.text()):
            if time.monotonic() > end:
                raise AssertionError(f"waited, but this did not happen: {what}\n{self.screen.text()}")
            if not select.select([self.master], [], [], 0.1)[0]:
                continue
            try:
                data = os.read(self.master, 65536)
            except OSError:
                raise AssertionError(f"`up` ended before this happened: {what}\n{self.screen.text()}")
            self.raw += data
            self.screen.feed(data)

    def url(self):
        self.watch(lambda text: "serving on http://" in text, "`up` prints its address")
        return re.search(r"serving on http://127\.0\.0\.1:(\d+)", self.screen.text())[1]

    def test_a_block_lives_below_the_lines_and_goes_when_all_serve(self):
        absent = WorkerProcess(self, "plain.py")
        here = self.scripted(echo)
        self.up("--attach", here.url, "--attach", absent.url)
        self.watch(lambda text: re.search(r"lane 1 .*waiting .*\n", text), "the block is there")
        self.assertRegex(self.screen.text(), rf"lane 0  {here.url} +ready")
        self.assertNotRegex(self.screen.text(), "turnpike: lane")
        first = re.search(r"waiting +([\d.]+ m?s)", self.screen.text())[1]
        self.watch(lambda text: first not in text and text.count("waiting") == 1,
                   "the time goes on, in its place")
        absent.start()
        self.watch(lambda text: "all lanes serve" in text, "all lanes serve")
        text = self.screen.text()
        self.assertNotRegex(text, r"waiting|  ready")
        for lane, url in enumerate((here.url, absent.url)):
            self.assertRegex(text, rf"turnpike: lane {lane} serves, {url}, after [\d.]+ m?s")

    def test_a_started_worker_is_watched_while_it_loads(self):
        """In a terminal that is too narrow for the worker's output."""
        go = self.folder / f"go-{next(numbers)}"
        worker = f"{WORKER} say={'x' * 300} until={go} dots"
        self.up("--worker", worker, "--gpus", "none", "--lanes", "1")
        self.watch(lambda text: re.search(r"\nlane 0  CPU  loading +[\d.]+ m?s  step", text), "the block shows the loading lane")
        first = re.search(r"loading +([\d.]+ m?s)", self.screen.text())[1]
        self.watch(lambda text: "loading" in text and first not in text, "the time goes on")
        self.assertEqual(len(re.findall("lane 0", self.screen.text())), 1)
        go.touch()
        self.watch(lambda text: "all lanes serve" in text, "all lanes serve")
        time = r"[\d.]+ m?s"
        self.assertRegex(self.screen.text(), rf"turnpike: lane 0 serves after {time} "
                         rf"\(spawn {time} \+ listen {time} \+ load {time}\)\n")
        self.assertNotIn("loading", self.screen.text())

    def test_job_lines_come_above_the_block(self):
        absent = WorkerProcess(self, "plain.py")
        long = "x" * 120  # so that the block is longer than the line of a job, and the rest must be erased
        self.up("--attach", f"{absent.url}/{long}", "--attach", self.scripted(echo).url, columns=250)
        port = self.url()
        for path in ("first", "second"):
            self.watch(lambda text: re.search(r"\nlane 0 .*waiting.*\nlane 1 .*ready", text), "the block")
            subprocess.run(["curl", "-sf", f"http://127.0.0.1:{port}/{path}"], check=True,
                           capture_output=True, env=self.env)
            self.watch(lambda text: re.search(rf"/{path}.*\nlane 0 .*waiting.*\nlane 1 .*ready", text),
                       "the job's line is above the block")
        self.assertEqual(len(re.findall("waiting", self.screen.text())), 1)
        for line in self.screen.text().splitlines():
            self.assertEqual("/first" in line or "/second" in line, " GET /" in line, line)
            if "GET /" in line:
                self.assertRegex(line, r"ran [\d.]+ m?s$")

    def test_it_fits_a_narrow_terminal(self):
        absent = WorkerProcess(self, "plain.py")
        self.up("--attach", absent.url, columns=30)
        self.watch(lambda text: re.search(r"(?m)^lane 0  http", text), "the block is there")
        for line in self.screen.text().splitlines():
            if line.startswith("lane 0"):
                self.assertLess(len(line), 30)

    def test_ctrl_c_leaves_nothing_of_the_block(self):
        absent = WorkerProcess(self, "plain.py")
        self.up("--attach", absent.url)
        self.watch(lambda text: "waiting" in text, "the block is there")
        self.process.send_signal(signal.SIGINT)
        self.watch(lambda text: "stopped" in text, "the gate has stopped")
        self.assertNotIn("waiting", self.screen.text())
        self.assertEqual(self.process.wait(), 0)

    def test_a_terminal_that_accepts_no_output_does_not_hold_up_the_gate(self):
        absent = WorkerProcess(self, "plain.py")
        self.up("--attach", self.scripted(echo).url, "--attach", absent.url)
        port = self.url()
        self.watch(lambda text: "waiting" in text, "the block is there")
        os.write(self.master, b"\x13")  # Ctrl-S
        while select.select([self.master], [], [], 0.6)[0]:  # longer than two updates of the block
            os.read(self.master, 65536)
        for _ in range(20):
            subprocess.run(["curl", "-sf", "--max-time", "10", f"http://127.0.0.1:{port}/-/healthz"],
                           check=True, capture_output=True, env=self.env)
            self.assertFalse(select.select([self.master], [], [], 0.1)[0], "the terminal must show nothing while it is stopped")
        os.write(self.master, b"\x11")  # Ctrl-Q
        self.assertTrue(select.select([self.master], [], [], DEADLINE_S)[0], "the terminal must show output again")

    def test_a_dumb_terminal_gets_plain_lines(self):
        absent = WorkerProcess(self, "plain.py")
        self.up("--attach", absent.url, TERM="dumb")
        self.watch(lambda text: "turnpike: lane 0 waits for its worker" in text, "`up` reports the missing worker")
        self.assertNotIn(b"\x1b", self.raw)


if __name__ == "__main__":
    unittest.main()
