"""`python3 -m turnpike check MODEL` and `python3 -m turnpike version`."""
from __future__ import annotations

import argparse
import sys

from .version import VERSION, python_name


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python3 -m turnpike", description="Tries models without a gate.")
    commands = parser.add_subparsers(dest="command", required=True)
    check = commands.add_parser("check", help="loads a model and runs one input",
                                epilog="example: python3 -m turnpike check model.py:Digits --input x.json")
    check.add_argument("model", metavar="MODEL", help="model.py, model.py:Name, app.py:app (an ASGI app), or a folder with a model.py")
    check.add_argument("--input", metavar="FILE",
                       help="the body of the request (- is stdin); without it, the model's `example`")
    check.add_argument("--device", default="cpu", metavar="cpu|cuda:0", help="the value of lane.device")
    check.add_argument("--pdb", action="store_true", help="opens the debugger where the model failed")
    commands.add_parser("version", help="prints the version of the SDK and of Python")
    options = parser.parse_args(argv)
    if options.command == "version":
        print(f"turnpike-python {VERSION}, {python_name()}")
        return 0
    from ._worker.check import run

    return run(options)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
