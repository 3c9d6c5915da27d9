"""The data that examples/digits was trained on, and the example's own modules, for its tests."""
import gzip
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "examples" / "digits"
WEIGHTS = EXAMPLE / "digits.safetensors"
sys.path[:0] = [str(EXAMPLE), str(ROOT / "sdk" / "python")]


def data_file():
    found = subprocess.run([EXAMPLE / "fetch-data", EXAMPLE / "data"], text=True, stdout=subprocess.PIPE)
    if found.returncode != 0:
        sys.exit("the digits are not to be had; see above")
    return found.stdout.strip()


def read():
    """Returns [(64 pixels, digit), …]."""
    with gzip.open(data_file(), "rt") as file:
        rows = [[float(number) for number in line.split(",")] for line in file]
    assert len(rows) == 1797
    return [(row[:64], int(row[64])) for row in rows]


def held_out(digits):
    """Returns the held-out digits, split as in train.py."""
    return digits[4::5]


def largest_difference(one, other):
    """Returns the largest difference between two lists of lists of numbers."""
    assert len(one) == len(other) > 0
    return max(abs(a - b) for left, right in zip(one, other) for a, b in zip(left, right, strict=True))
