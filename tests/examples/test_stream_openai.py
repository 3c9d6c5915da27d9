"""OpenAI's own client (npm's openai, of the version in openai/package-lock.json) against examples/stream behind the real
gate. Debian's npm is 350 packages, too much for one test: without node and npm the test is skipped, and says so."""
import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import stream_data
from harness import PYTHON, wait_until
from started_case import StartedCase

SKIPPED = 77  # exit code for ctest's "skipped"
SOURCE = Path(__file__).resolve().parent / "openai"
CASES = 8
NPM = ["--prefer-offline", "--no-audit", "--no-fund", "--ignore-scripts", "--fetch-retries=1"]
missing = [name for name in ("node", "npm") if shutil.which(name) is None]
if missing:
    print(f"SKIPPED: OpenAI's own client is not tried: there is no {' and no '.join(missing)} on the PATH. "
          "Install Node.js 20 or newer, which brings npm.", file=sys.stderr)
    sys.exit(SKIPPED)


def installed(folder):
    """Returns a folder with the client's package and our test cases."""
    folder.mkdir(parents=True, exist_ok=True)
    lock = SOURCE / "package-lock.json"
    mark = folder / "installed.json"
    if not mark.exists() or mark.read_bytes() != lock.read_bytes():
        for name in ("package.json", "package-lock.json"):
            shutil.copy(SOURCE / name, folder)
        done = subprocess.run(["npm", "ci", *NPM], cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=200)
        if done.returncode != 0:
            sys.exit(f"npm can't install OpenAI's client; is its registry reachable? It said:\n{done.stdout}{done.stderr}")
        shutil.copy(lock, mark)
    shutil.copy(SOURCE / "client.mjs", folder)
    return folder


class OpenAI(StartedCase):
    def client_folder(self):
        named = os.environ.get("OPENAI_FOLDER")
        if named:
            return installed(Path(named))
        own = tempfile.TemporaryDirectory(prefix="turnpike-openai-")
        self.addCleanup(own.cleanup)
        return installed(Path(own.name))

    def test_its_client_works_unchanged(self):
        folder = self.client_folder()
        gate = self.start(str(stream_data.EXAMPLE), "--python", PYTHON, "--gpus", "none", "--lanes", "1").wait_ready()
        done = subprocess.run(["node", "client.mjs", f"http://127.0.0.1:{gate.port}"], cwd=folder, env=self.env,
                              capture_output=True, text=True, timeout=200)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        cases = [json.loads(line) for line in done.stdout.splitlines()]
        for case in cases:
            with self.subTest(case["name"]):
                self.assertIsNone(case["failure"], case["failure"])
        self.assertEqual(len(cases), CASES)
        outcomes = wait_until(lambda: "cancelled" in (found := [job["outcome"] for job in gate.ended_jobs()]) and found,
                              "the job that was aborted has ended")
        self.assertEqual(outcomes.count("cancelled"), 1)
        self.assertEqual(gate.lane(0)["restarts"], 0)


if __name__ == "__main__":
    unittest.main()
