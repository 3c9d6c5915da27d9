#!/usr/bin/env python3
"""Runs the tests of this folder, on the binary that TURNPIKE names (default: build/dev/turnpike):

    tools/current-packages && /usr/bin/python3 -B tests/current/run.py [-v] [NAME…]

They use the harness of tests/integration, and the packages that tools/current-packages has put into build/current."""
import sys
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[0:1] = [str(HERE), str(HERE.parent / "integration/support")]

if __name__ == "__main__":
    names = [word for word in sys.argv[1:] if not word.startswith("-")]
    flags = [word for word in sys.argv[1:] if word.startswith("-")]
    modules = sorted(path.stem for path in HERE.glob("test_*.py"))
    unittest.main(module=None, argv=[sys.argv[0], *flags, *(names or modules)])
