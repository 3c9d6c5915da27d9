#!/usr/bin/env python3
"""Checks that the binary runs on machines without a GPU: it links no library of NVIDIA, but opens them at run time.

    linked.py turnpike
"""
import re
import subprocess
import sys

from sources import report

NVIDIA = r"lib(nvidia|cuda|cudart|cublas|cudnn|nccl|nvrtc|nvml)\b"

binary = sys.argv[1]
section = subprocess.run(["readelf", "-d", binary], check=True, capture_output=True, text=True).stdout
needed = re.findall(r"\(NEEDED\).*\[(.+)\]", section)
report(len(needed), [f"{binary}: needs {name}" for name in needed if re.match(NVIDIA, name)])
