"""The version of the SDK, and of the Python that runs it."""
from __future__ import annotations

import sys

VERSION = "0.1.0"


def python_name() -> str:
    """Returns a name such as "CPython 3.11.2". (The module platform has it, too, but is slow to import.)"""
    name = {"cpython": "CPython", "pypy": "PyPy"}.get(sys.implementation.name, sys.implementation.name)
    return f"{name} {'.'.join(map(str, sys.version_info[:3]))}"
