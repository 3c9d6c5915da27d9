"""OpenAI's own clients, from PyPI and npm, read Turnpike's problems, survive a stream that breaks, and resend only what may be
sent again."""
import json
import shutil
import subprocess
import unittest
from pathlib import Path

from native_case import SharedGate, wait_until

HERE = Path(__file__).resolve().parent
PLACE = HERE.parents[1] / "build/current"
DEADLINE_S = 120
TRIES = 2  # how often the clients resend unless told otherwise

MODEL = '''
import json


class Chat(turnpike.Model):
    """Does what the message says. `runs` gets a line for each run, so that tests see what was sent again."""

    def request(self, req):
        task = json.loads(req.body)
        said = task["messages"][0]["content"]
        with open(RUNS, "a") as runs:
            print(said, file=runs)
        what = said.split()[0]
        if what == "fail":
            raise ValueError("layer 3 is missing")
        if what == "refuse":
            raise turnpike.BadInput("the prompt is too long")
        if what == "die":
            os.kill(os.getpid(), signal.SIGKILL)
        while what == "wait":
            turnpike.job().raise_if_cancelled()
            time.sleep(0.005)
        if task["stream"]:
            return self.pieces(what)
        return {"id": "1", "object": "chat.completion", "created": 1, "model": "any",
                "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": said}}]}

    def pieces(self, what):
        for text in ("one", "two"):
            yield {"id": "1", "object": "chat.completion.chunk", "created": 1, "model": "any",
                   "choices": [{"index": 0, "delta": {"content": text}}]}
        if what == "break":
            raise ValueError("layer 3 is missing")
'''


class Client:
    """The tests that each client passes. A subclass says how the client is started."""

    command = []

    def open(self):
        self.runs = type(self).runs = self.folder / "runs"
        path = self.model(f"RUNS = {str(self.runs)!r}\n" + MODEL)
        return self.serve(path, queue={"jobs_max": 1})

    def up(self, worker, *flags, queue=None, **parts):
        return super().up(worker, *flags, **parts, sections={"queue": queue or {}})

    def ask(self, do, stream=False, headers=None, retries=TRIES):
        """Asks once with the client and returns what it gave to its user."""
        options = {"do": do, "stream": stream, "headers": headers or {}, "retries": retries}
        done = subprocess.run([*self.command, f"http://127.0.0.1:{self.gate.port}", json.dumps(options)], cwd=PLACE / "node", env=self.env,
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=DEADLINE_S)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return json.loads(done.stdout)

    def run_count(self, said):
        return self.runs.read_text().splitlines().count(said) if self.runs.exists() else 0

    def assert_error(self, found, kind, status, code, type_name, *words):
        error = found["error"]
        self.assertIsNotNone(error, found)
        self.assertEqual((error["class"], error["status"], error["code"], error["type"]), (kind, status, code, type_name), error)
        for part in words:
            self.assertIn(part, error["message"])
        self.assertNotIn("no body", error["message"])

    def test_answers_and_streams_come_through(self):
        self.assertEqual(self.ask("hello"), {"pieces": ["hello"], "error": None})
        self.assertEqual(self.ask("hello", stream=True), {"pieces": ["one", "two"], "error": None})

    def test_bad_input_says_what_is_wrong(self):
        said = f"refuse {self.id()}"
        self.assert_error(self.ask(said), "BadRequestError", 400, "bad-input", "invalid_request_error", "the prompt is too long")
        self.assertEqual(self.run_count(said), 1)

    def test_a_failing_job_runs_exactly_once(self):
        for stream in (False, True):
            said = f"fail {self.id()} {stream}"
            found = self.ask(said, stream)
            self.assert_error(found, "InternalServerError", 500, "model-failed", "server_error", "The model failed", "layer 3 is missing")
            self.assertEqual(self.run_count(said), 1)

    def test_a_cancelled_job_does_not_come_back(self):
        said = f"wait {self.id()}"
        asking = self.in_thread(self.ask, said)
        [job] = wait_until(lambda: self.run_count(said) and self.gate.live_jobs(), "the job runs")
        self.assertEqual(self.gate.ask("DELETE", f"/-/jobs/{job['id']}").status, 202)
        self.assert_error(asking.result(), "ConflictError", 409, "cancelled", "invalid_request_error", "The job was cancelled")
        self.assertEqual((self.run_count(said), self.gate.live_jobs()), (1, []))

    def test_a_job_that_kills_its_workers_is_not_sent_again(self):
        said = f"die {self.id()}"
        self.assert_error(self.ask(said), "InternalServerError", 502, "poison", "server_error", "Twice a worker died", "SIGKILL")
        self.assertEqual(self.run_count(said), 2, "the gate's own second try is the last")
        self.gate.wait_ready()

    def test_a_job_out_of_time_is_not_sent_again(self):
        said = f"wait {self.id()}"
        found = self.ask(said, headers={"Turnpike-Timeout": "300ms"})
        self.assert_error(found, "InternalServerError", 504, "deadline-passed", "server_error", "longer than Turnpike-Timeout")
        self.assertEqual(self.run_count(said), 1)
        self.gate.wait_ready()

    def test_a_full_queue_is_readable_and_may_be_asked_again(self):
        first, second = f"wait {self.id()} 1", f"wait {self.id()} 2"
        running = self.in_thread(self.ask, first)
        wait_until(lambda: self.run_count(first), "a job runs")
        queued = self.in_thread(self.ask, second)
        self.gate.wait_queued(1)
        self.assert_error(self.ask("hello", retries=0), "RateLimitError", 429, "queue-full", "rate_limit_error", "The queue of this pool is full")
        third = self.in_thread(self.ask, "hello", retries=100)
        wait_until(lambda: self.gate.pool()["jobs"]["refused"] >= 2, "a second one is refused")
        for said in (first, second):
            wait_until(lambda: self.run_count(said), "it runs")
            for job in self.gate.live_jobs():
                if job["state"] == "running":
                    self.gate.ask("DELETE", f"/-/jobs/{job['id']}")
        for asking in (running, queued):
            self.assertEqual(asking.result()["error"]["code"], "cancelled")
        self.assertEqual(third.result()["pieces"], ["hello"], "it came back by itself")

    def test_a_stream_that_breaks_raises_an_error_with_our_text(self):
        said = f"break {self.id()}"
        found = self.ask(said, stream=True)
        self.assertEqual(found["pieces"], ["one", "two"])
        self.assert_error(found, "APIError", None, "model-failed", "server_error", "The model failed", "layer 3 is missing")
        self.assertEqual(self.run_count(said), 1)


class Python(Client, SharedGate):
    command = [str(PLACE / "venv/bin/python3"), str(HERE / "openai_client.py")]


class JavaScript(Client, SharedGate):
    command = ["node", "openai_client.mjs"]

    def open(self):
        shutil.copy(HERE / "openai_client.mjs", PLACE / "node")
        return super().open()


if __name__ == "__main__":
    unittest.main()
