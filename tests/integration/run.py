#!/usr/bin/env python3
"""Runs one file of integration tests, for ctest or by hand:

    /usr/bin/python3 tests/integration/run.py native/answers
    /usr/bin/python3 tests/integration/run.py native/answers Values.test_numbers -v

TURNPIKE names the binary; the default is build/dev/turnpike. Shared code lies in support/. This script adds support/ to
sys.path and not to PYTHONPATH, because the gates and workers under test would inherit that."""
import runpy
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent


def main(theme, *arguments):
    folder, _, name = theme.rpartition("/")
    path = HERE / folder / f"test_{name}.py"
    if not path.exists():
        themes = sorted(f"{test.parent.name}/{test.stem.removeprefix('test_')}" for test in HERE.glob("*/test_*.py"))
        sys.exit(f"there is no {path}. Choose one of: {' '.join(themes)}")
    sys.path[0] = str(HERE / "support")
    sys.argv = [str(path), *arguments]
    runpy.run_path(str(path), run_name="__main__")


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    main(*sys.argv[1:])
