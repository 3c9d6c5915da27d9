"""Measures a gate's memory, and says by how much it may grow during a test."""
import os
import re
from pathlib import Path

MIB = 1 << 20
GROWTH_MAX = int(os.environ.get("TURNPIKE_TEST_GROWTH_MIB", 64)) * MIB  # CMake sets more for sanitizers, which keep freed memory


def memory_of(pid):
    """Returns the bytes of resident memory now, and the most there ever were."""
    text = Path(f"/proc/{pid}/status").read_text()
    kib = {key: int(value) for key, value in re.findall(r"(\w+):\s+(\d+) kB", text)}
    return kib["VmRSS"] * 1024, kib["VmHWM"] * 1024
