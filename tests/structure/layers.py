#!/usr/bin/env python3
"""Reads every #include of src/ and sim/ against tools/layers.txt.

    layers.py ROOT

Own headers are named from their folder ("core/lane.h"). A header in <> with a dot or a slash belongs to a library
(or to the system), which the module must be allowed to use; plain names such as <vector> are the standard library.
"""
import sys
from pathlib import Path

from sources import files, lines_matching, report, without_comments


def read_table(path):
    """module → (modules it may use, libraries it may include)"""
    table = {}
    for line in path.read_text().splitlines():
        if line and not line.startswith("#"):
            module, modules, libraries = (set(column.split()) for column in line.split(":"))
            table[module.pop()] = modules, libraries
    return table


def module_of(path, root):
    """src/core/lane.h → core, sim/world.h → sim, src/stray.h → None"""
    folders = path.relative_to(root).parts[:-1]
    return folders[0] if folders[0] != "src" else folders[1] if len(folders) > 1 else None


def problem_with(bracket, included, module, table):
    modules, libraries = table[module]
    first, slash, _ = included.partition("/")
    if bracket == "<":
        if (slash or "." in included) and not {first, "*"} & libraries:
            return f"'{module}' may not include <{included}>"
    elif not slash:
        return f'"{included}" must name its folder'
    elif first not in table:
        return f'"{included}" is of no module'
    elif first != module and not {first, "*"} & modules:
        return f"'{module}' may not use '{first}'"
    return None


def violations_in(path, root, table):
    name = path.relative_to(root)
    text = without_comments(path.read_text())
    if path.suffix == ".h" and "#pragma once" not in text:
        yield f"{name}:1: no #pragma once"
    module = module_of(path, root)
    if module not in table:
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
