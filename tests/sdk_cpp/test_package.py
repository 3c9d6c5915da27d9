#!/usr/bin/env python3
"""Uses the C++ SDK like somebody else would: installs it, finds it with CMake, builds a worker, runs the conformance kit on it.

    test_package.py BUILD_FOLDER
"""
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BUILD = sys.argv.pop()


def run(*command):
    done = subprocess.run([str(part) for part in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode:
        raise AssertionError(f"{command}: exit code {done.returncode}\n{done.stdout[-4000:]}")
    return done.stdout


class Package(unittest.TestCase):
    def setUp(self):
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.prefix = self.folder / "prefix"
        run("cmake", "--install", BUILD, "--prefix", self.prefix, "--component", "sdk")

    def built(self, source, target, *options):
        build = self.folder / target
        run("cmake", "-S", source, "-B", build, "-G", "Ninja", f"-DCMAKE_PREFIX_PATH={self.prefix}",
            f"-DCMAKE_CXX_COMPILER={os.environ['CXX']}", f"-DCMAKE_CXX_FLAGS={os.environ['CXXFLAGS']}", *options)
        run("cmake", "--build", build)
        return build / target

    def test_only_the_sdk_is_installed(self):
        installed = sorted(str(path.relative_to(self.prefix)) for path in self.prefix.rglob("*") if path.is_file())
        names = {Path(name).name.partition("-")[0] for name in installed}
        self.assertEqual(names, {"worker.h", "libturnpike_worker.a", "TurnpikeConfig.cmake", "TurnpikeConfigVersion.cmake",
                                 "TurnpikeTargets.cmake", "TurnpikeTargets"}, installed)

    def test_the_example_builds_as_cxx20_and_serves(self):
        echo = self.built(ROOT / "sdk/cpp/example", "echo", "-DCMAKE_CXX_STANDARD=20", "-DCMAKE_CXX_STANDARD_REQUIRED=ON")
        output = run(sys.executable, "-B", ROOT / "sdk/conformance/kit.py", "--only", "stop_before_the_first_job", "--only",
                     "pings_are_answered_while_idle", "--", echo)
        self.assertIn("2 checks, 0 failed", output)

    def test_the_conformance_model_built_outside_passes(self):
        model = self.built(ROOT / "sdk/conformance/cpp", "turnpike_conformance")
        output = run(sys.executable, "-B", ROOT / "sdk/conformance/kit.py", "--", model)
        self.assertIn(" checks, 0 failed", output)


if __name__ == "__main__":
    unittest.main()
