#!/usr/bin/env python3
"""Checks that everything users can see is documented.

    documented.py ROOT

docs/http-api.md must name every problem, every route of Turnpike itself, and every Turnpike field of requests and answers.
README.md must name every command. (unit_config checks the keys of turnpike.toml against the example config.)
"""
import re
import sys
from pathlib import Path

from sources import report


def problems(root):
    return re.findall(r'Row\{Problem::\w+,\s*\d+,\s*"([\w-]+)"', (root / "src/gate/problem.cpp").read_text())


def routes(root):
    found = re.findall(r'OwnRoute\{http::Method::(\w+), "([^"]+)"', (root / "src/gate/own_routes.cpp").read_text())
    return [f"{method.rstrip('_').upper()} {path.replace('*', 'ID')}" for method, path in found]


def fields(root):
    text = (root / "src/gate/reply.cpp").read_text() + (root / "src/gate/arrival.cpp").read_text()
    return set(re.findall(r'"(Turnpike-\w+)"', text))


def commands(root):
    return re.findall(r'\{"(\w+)",\s*"[A-Z]', (root / "src/cli/command_words.cpp").read_text())


def missing(root):
    api = (root / "docs/http-api.md").read_text()
    readme = (root / "README.md").read_text()
    for name, page, text, wanted in [("problem", "docs/http-api.md", api, [f"`{slug}`" for slug in problems(root)]),
                                     ("route", "docs/http-api.md", api, routes(root)),
                                     ("field", "docs/http-api.md", api, fields(root)),
                                     ("command", "README.md", readme, commands(root))]:
        if not wanted:
            yield f"{page}:1: no {name} was found in the sources: has their format changed? Then change the patterns in tests/structure/documented.py"
        for item in wanted:
            if item not in text:
                yield f"{page}:1: the {name} {item} is not documented"


def main(root):
    report(1, list(missing(root)))


main(Path(sys.argv[1]))
