#!/usr/bin/env python3
"""Workers with one fault each, to show that the kit and the gate find the fault.

    broken.py FAULT        run a worker that has this fault, and is otherwise correct (minimal_worker.py)
    broken.py --list       list every fault, the check of the kit that finds it, and a part of its message

The faults are in faults/.
"""
import sys

from faults import all_faults


def main():
    faults = all_faults()
    if sys.argv[1:] == ["--list"]:
        for name, (_, check, reason) in faults.items():
            print(f"{name:40} {check}: {reason}")
    elif len(sys.argv) == 2 and sys.argv[1] in faults:
        faults[sys.argv[1]][0]().run()
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main()
