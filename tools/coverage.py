#!/usr/bin/env python3
"""Prints the line coverage of each folder and the lines that never ran. Fails if a folder has less than --require asks.

    coverage.py build/coverage --require src/core=95
"""
import argparse
import json
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def lines_by_file(build):
    """Returns file → {line number: times run}."""
    gcovr = ["gcovr", "--root", ROOT, "--filter", "src/", "--filter", "sim/", "--json", "-", build]
    report = json.loads(subprocess.run(gcovr, cwd=ROOT, check=True, stdout=subprocess.PIPE).stdout)
    return {entry["file"]: {line["line_number"]: line["count"] for line in entry["lines"] if not line["gcovr/noncode"]}
            for entry in report["files"]}


def percent(lines):
    return 100 * sum(count > 0 for count in lines) / len(lines) if lines else 100.0


def ranges(numbers):
    """Turns [3, 4, 5, 9] into '3-5 9'."""
    runs = []
    for number in numbers:
        if runs and number == runs[-1][1] + 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    return " ".join(f"{first}-{last}" if first != last else f"{first}" for first, last in runs)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=Path)
    parser.add_argument("--require", action="append", default=[], metavar="FOLDER=PERCENT")
    options = parser.parse_args()
    required = {folder: float(least) for folder, least in (rule.split("=") for rule in options.require)}

    folders = defaultdict(list)
    for file, lines in sorted(lines_by_file(options.build).items()):
        folders[str(Path(file).parent)].extend(lines.values())
        if missed := [number for number, count in sorted(lines.items()) if count == 0]:
            print(f"{file:32} {percent(lines.values()):6.1f} %  not run: {ranges(missed)}")
    print()
    for folder, lines in sorted(folders.items()):
        print(f"{folder:32} {percent(lines):6.1f} %  of {len(lines)} lines")
    short = [f"{folder} has less than {least:g} %" for folder, least in required.items()
             if folder not in folders or percent(folders[folder]) < least]
    sys.exit("\n".join(short) or 0)


main()
