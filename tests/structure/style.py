#!/usr/bin/env python3
"""Checks small rules of style, so that reviews need not.

    style.py ROOT
"""
import re
import sys
from pathlib import Path

from sources import code_only, files, lines_matching, report

LINES_WARN = 400
LINES_MAX = 600
FOLDERS = ("src", "sim", "sdk", "tests", "fuzz", "bench", "cmake", "tools", "docs")
SUFFIXES = (".h", ".cpp", ".py", ".cmake", ".txt", ".md", "")

ANYWHERE = [
    ("a tab", r"\t"),
    ("blanks at the end of a line", r"(?m)[ \r]+$"),
    ("a note to oneself; open an issue instead", r"\b(TO" r"DO|FIX" r"ME|XX" r"X)\b"),
]
OF_LIBRARIES = re.compile(r"(?m)^#include <.*|\.handler\(\)|\.sa_handler")  # names from libraries
IN_CODE = [
    ("a word that says nothing", r"\b\w*(Manager|Helper|Util|Handler|Impl)s?(?![a-z])\w*"),
    ("a word that says nothing", r"\b(\w*_)?(manager|helper|util|handler|impl)s?(_\w*)?\b"),
]
IN_TESTS = [
    ("a test must not sleep", r"\b(sleep_for|sleep_until|usleep|nanosleep|sleep)\s*\("),
]


def violations_in(path, root):
    name = path.relative_to(root)
    text = path.read_text()
    rules = [(text, ANYWHERE)]
    if path.suffix in (".h", ".cpp"):
        rules.append((OF_LIBRARIES.sub("", code_only(text)), IN_CODE))
        if name.parts[0] == "tests":
            rules.append((code_only(text), IN_TESTS))
        yield from too_long(name, text.count("\n"))
    for checked, patterns in rules:
        for problem, pattern in patterns:
            for line, match in lines_matching(pattern, checked):
                yield f"{name}:{line}: {problem}: {match[0]!r}"
    if re.search(r"(?i)(manager|helper|utils?|handler|impl)\b", path.stem):
        yield f"{name}:1: a file name that says nothing"


def too_long(name, lines):
    if lines > LINES_MAX:
        yield f"{name}:{lines}: longer than {LINES_MAX} lines: two things live here"
    elif lines > LINES_WARN:
        print(f"{name}:{lines}: warning: over {LINES_WARN} lines: do two things live here?")


def names_taken_twice(root):
    """Yields types that two headers define with the same name. The linker would take them for one type."""
    holders = {}
    for path in files(root, "src", "sim", suffixes=(".h",)):
        space = ""
        for line in code_only(path.read_text()).splitlines():
            if opened := re.match(r"namespace ([\w:]+) \{", line):
                space = opened[1]
            found = re.match(r"(?:struct|class|enum class|enum) (\w+)\b(?!::)[^;]*(?:\{|$)", line)
            if not found:
                continue
            first = holders.setdefault((space, found[1]), path)
            if first != path:
                yield f"{path.relative_to(root)}:1: {found[1]} is a type of {first.relative_to(root)} already; choose another name"


def main(root):
    checked = files(root, *FOLDERS, suffixes=SUFFIXES) + sorted(root.glob("*.md"))
    checked = [path for path in checked if "corpus" not in path.parts]  # these files hold bytes, not text
    found = [found for path in checked for found in violations_in(path, root)]
    report(len(checked), found + list(names_taken_twice(root)))


main(Path(sys.argv[1]))
