#!/usr/bin/env python3
"""Checks every #include in src/ and sim/ against tools/layers.txt.

    layers.py ROOT

Own headers are named from their module ("core/lane.h"). A folder inside a module belongs to that module, unless it
has a row of its own ("supervisor/http"). A header in <> with a dot or a slash belongs to a library or to the system,
and the row must allow it; plain names such as <vector> are the standard library.
"""
import sys
from pathlib import Path

from sources import files, lines_matching, report, without_comments


def read_table(path):
    """Returns {module: (modules it may use, libraries it may include)}."""
    table = {}
    for line in path.read_text().splitlines():
        if line and not line.startswith("#"):
            module, modules, libraries = (set(column.split()) for column in line.split(":"))
            table[module.pop()] = modules, libraries
    return table


def row_of(folders, table):
    """Returns the longest row that these folders lie in: ("supervisor", "http") → supervisor/http, or None."""
    rows = ("/".join(folders[:length]) for length in range(len(folders), 0, -1))
    return next((row for row in rows if row in table), None)


def module_of(path, root, table):
    """Returns the module of a file: src/core/lane.h → core, sim/world.h → sim, src/stray.h → None."""
    folders = path.relative_to(root).parts[:-1]
    return row_of(folders[1:] if folders[0] == "src" else folders, table)


def problem_with(bracket, included, module, table):
    modules, libraries = table[module]
    *folders, _ = included.split("/")
    if bracket == "<":
        if (folders or "." in included) and not {included.partition("/")[0], "*"} & libraries:
            return f"'{module}' may not include <{included}>"
        return None
    if not folders:
        return f'"{included}" must name its folder'
    used = row_of(folders, table)
    if used is None:
        return f'"{included}" belongs to no module'
    if used not in modules | {module}:
        return f"'{module}' may not use '{used}'"
    return None


def violations_in(path, root, table):
    name = path.relative_to(root)
    text = without_comments(path.read_text())
    if path.suffix == ".h" and "#pragma once" not in text:
        yield f"{name}:1: no #pragma once"
    module = module_of(path, root, table)
    if module is None:
        yield f"{name}:1: lies in no module of tools/layers.txt"
        return
    for line, match in lines_matching(r'(?m)^[ \t]*#[ \t]*include[ \t]*(["<])([^">]+)[">]', text):
        if problem := problem_with(match[1], match[2], module, table):
            yield f"{name}:{line}: {problem}"


def main(root):
    table = read_table(root / "tools" / "layers.txt")
    checked = files(root, "src", "sim")
    report(len(checked), [found for path in checked for found in violations_in(path, root, table)])


main(Path(sys.argv[1]))
