#!/usr/bin/env python3
"""Shows that the map of the code is true.

    mapped.py ROOT

Every path that ARCHITECTURE.md and CONTRIBUTING.md quote exists, and ARCHITECTURE.md names every folder of src/ and tests/. A path may be
written as the map writes it: `core/blame` is src/core/blame.cpp or .h, `native/answers` is tests/integration/native/test_answers.py.
"""
import re
import sys
from pathlib import Path

from sources import lines_matching, report

PAGES = ("ARCHITECTURE.md", "CONTRIBUTING.md")
QUOTED_PATH = r"`([a-z_0-9]+(?:/[a-z_0-9.]+)+)/?`"
HOMES = ("", "src/")
ENDINGS = ("", ".h", ".cpp", ".py", ".md")


def exists(root, name):
    folder, _, last = name.rpartition("/")
    return (any((root / f"{home}{name}{ending}").exists() for home in HOMES for ending in ENDINGS)
            or (root / "tests/integration" / folder / f"test_{last}.py").exists())


def wrong_paths(root):
    for page in PAGES:
        for line, match in lines_matching(QUOTED_PATH, (root / page).read_text()):
            if not exists(root, match[1]):
                yield f"{page}:{line}: there is no {match[1]}"


def folders(root):
    for home in ("src", "src/supervisor", "tests"):
        for path in sorted((root / home).glob("*/")):
            if path.is_dir() and any(path.iterdir()) and path.name != "__pycache__":
                yield f"{home}/{path.name}"


def unnamed_folders(root):
    text = (root / PAGES[0]).read_text()
    for folder in folders(root):
        if f"`{folder}`" not in text:
            yield f"{PAGES[0]}:1: the folder {folder} is not on the map"


def main(root):
    report(len(list(folders(root))), [*wrong_paths(root), *unnamed_folders(root)])


main(Path(sys.argv[1]))
