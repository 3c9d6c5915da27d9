#!/usr/bin/env python3
"""Tests a worker program against the whole worker protocol, with correct and with broken frames.

    kit.py [--only NAME] [--list] [--json] [--patience SECONDS] -- WORKER COMMAND…

The worker must serve the conformance model that README.md describes. Prints one line per check. The exit status is 0 if all passed.
"""
import argparse
import json
import shutil
import sys
import time
from pathlib import Path

from checks import all_checks
from checks.frames import Breach
from checks.gate import Failure, Gate, NoWorker


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", action="append", metavar="NAME", help="run only checks whose name contains NAME; may be repeated")
    parser.add_argument("--list", action="store_true", help="list the checks, and what each one tests")
    parser.add_argument("--json", action="store_true", help="print one JSON object per check")
    parser.add_argument("--patience", type=float, default=20, metavar="SECONDS",
                        help="how long to wait for something that must happen (default 20)")
    parser.add_argument("worker", nargs="*", metavar="WORKER COMMAND", help="the command that starts the worker, after --")
    options = parser.parse_args()
    if not options.worker and not options.list:
        parser.error("there is no worker command; give it after --")
    return options


def run(check, command, patience):
    """Runs one check. Returns why it failed, or None if it passed."""
    environment = check.environment() if check.environment else {}
    try:
        with Gate(command, patience, check.variant, environment.items()) as gate:
            gate.environment = environment
            check.run(gate)
    except Breach as breach:
        return f"breaks the protocol: {breach}"
    except Failure as failure:
        return str(failure)
    finally:
        if "CONFORMANCE_HOLD" in environment:
            shutil.rmtree(Path(environment["CONFORMANCE_HOLD"]).parent)
    return None


def show(check, reason, seconds, as_json):
    if as_json:
        print(json.dumps({"check": check.name, "promise": check.promise, "passed": reason is None, "reason": reason,
                          "seconds": round(seconds, 3)}), flush=True)
    else:
        print(f"pass  {check.name}" if reason is None else f"FAIL  {check.name}: {reason}", flush=True)


def main():
    options = arguments()
    checks = [check for check in all_checks() if not options.only or any(name in check.name for name in options.only)]
    if not checks:
        sys.exit(f"no check is called {' or '.join(options.only)}")
    if options.list:
        for check in checks:
            print(f"{check.name}\n    {check.promise}")
        return
    failed = 0
    for check in checks:
        begun = time.monotonic()
        try:
            reason = run(check, options.worker, options.patience)
        except NoWorker as error:
            sys.exit(str(error))
        failed += reason is not None
        show(check, reason, time.monotonic() - begun, options.json)
    if not options.json:
        print(f"{len(checks)} checks, {failed} failed")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
