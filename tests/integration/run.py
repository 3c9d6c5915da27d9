#!/usr/bin/env python3
"""Runs one file of integration tests, as ctest does and as a person does:

    /usr/bin/python3 tests/integration/run.py native/answers
    /usr/bin/python3 tests/integration/run.py native/answers Values.test_numbers -v

TURNPIKE names the binary, if not build/dev/turnpike. What the tests share lies in support/, which only this process
gets to see: an environment variable would reach the gates and workers under test, too."""
import runpy
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent


def main(theme, *arguments):
    folder, _, name = theme.rpartition("/")
    path = HERE / folder / f"test_{name}.py"
    if not path.exists():
        themes = sorted(f"{test.parent.name}/{test.stem.removeprefix('test_')}" for test in HERE.glob("*/test_*.py"))
        sys.exit(f"there is no {path}; there are: {' '.join(themes)}")
    sys.path[0] = str(HERE / "support")
    sys.argv = [str(path), *arguments]
    runpy.run_path(str(path), run_name="__main__")


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    main(*sys.argv[1:])
