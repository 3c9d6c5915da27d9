"""How much memory a gate takes, and how much more its tests let it take."""
import os
import re
from pathlib import Path

MIB = 1 << 20
GROWTH_MIB = int(os.environ.get("TURNPIKE_TEST_GROWTH_MIB", 64))


def memory_of(pid):
    """Bytes of its own and shared memory at this moment, and the most there ever were."""
    text = Path(f"/proc/{pid}/status").read_text()
    kib = {key: int(value) for key, value in re.findall(r"(\w+):\s+(\d+) kB", text)}
    return kib["VmRSS"] * 1024, kib["VmHWM"] * 1024
