"""What the tests of the PyTorch examples share: where they are, their modules, and Debian's Python, which has torch."""
import sys
from pathlib import Path

import digits_data  # puts examples/digits on sys.path; our folders come before it

ROOT = Path(__file__).resolve().parents[2]
TORCH = ROOT / "examples" / "torch"
IMAGE = ROOT / "examples" / "image"
SEVEN = digits_data.EXAMPLE / "seven.json"

try:
    import torch
except ImportError as missing:
    sys.exit(f"these tests need Debian's python3-torch: {missing}")
torch.set_num_threads(1)


def data_file():
    return digits_data.data_file()
