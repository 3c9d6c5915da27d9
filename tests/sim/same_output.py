#!/usr/bin/env python3
"""Runs several programs with the same arguments. Fails at the first line in which their outputs differ.

    same_output.py --ignore 'seeds/s$' build/release/turnpike-sim build/clang/turnpike-sim -- --seeds 1..40 --hashes

Lines that match --ignore (such as measured speed) may differ.
"""
import argparse
import re
import subprocess
import sys
from itertools import zip_longest


def lines_of(program, arguments, ignore):
    done = subprocess.run([program, *arguments], stdout=subprocess.PIPE, text=True)
    if done.returncode != 0:
        sys.exit(f"{program}: exit status {done.returncode}\n{done.stdout[-2000:]}")
    lines = [line for line in done.stdout.splitlines() if not (ignore and re.search(ignore, line))]
    return lines or sys.exit(f"{program}: it printed nothing, so nothing was compared")


def main(own, arguments):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ignore", metavar="REGEX")
    parser.add_argument("programs", nargs="+")
    options = parser.parse_args(own)

    first, *others = options.programs
    expected = lines_of(first, arguments, options.ignore)
    for other in others:
        pairs = zip_longest(expected, lines_of(other, arguments, options.ignore))
        for number, (mine, its) in enumerate(pairs, 1):
            if mine != its:
                sys.exit(f"output differs in line {number}:\n  {first}: {mine}\n  {other}: {its}")
    print(f"{len(expected)} lines are the same in {len(options.programs)} runs")


at = sys.argv.index("--") if "--" in sys.argv else len(sys.argv)
main(sys.argv[1:at], sys.argv[at + 1:])
