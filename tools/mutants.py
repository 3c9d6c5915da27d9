#!/usr/bin/env python3
"""Plants small bugs in the engine, one at a time, and shows that the simulation finds them.

    tools/mutants.py --check                 checks that every mutant still fits the sources (part of `make test`)
    tools/mutants.py                         builds and runs all mutants, and prints a table (`make mutants`)
    tools/mutants.py --only poison-never     builds and runs one of them

sim/mutants.txt has the mutants: a name, a file, a sentence, the lines to replace (-) and what replaces them (+).
Each mutated file is compiled alone and linked before the release build's library, so a mutant costs one compile. The
table says at which seed, counted from 1, the simulation caught the mutant, and by which invariant.
"""

import argparse
import concurrent.futures
import dataclasses
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
TABLE = ROOT / "sim" / "mutants.txt"
BUILD = ROOT / "build" / "release"
OUT = ROOT / "build" / "mutants"
LIBRARIES = [BUILD / "sim" / "libturnpike_sim_world.a", BUILD / "src" / "core" / "libturnpike_core.a",
             BUILD / "src" / "base" / "libturnpike_base.a"]
FLAGS = ["-std=c++23", "-O1", f"-I{ROOT / 'src'}", f"-I{ROOT}"]


@dataclasses.dataclass
class Mutant:
    name: str
    file: str
    why: str
    old: str
    new: str

    def text(self):
        """Returns the mutated source. Raises ValueError unless the old lines occur exactly once."""
        source = (ROOT / self.file).read_text()
        found = source.count(self.old)
        if found != 1:
            raise ValueError(f"{self.name}: the lines to replace occur {found} times in {self.file}, not once")
        return source.replace(self.old, self.new)


def parse(text):
    mutants = []
    for block in re.split(r"\n(?=\[)", text):
        lines = [line for line in block.splitlines() if line.strip() and not line.startswith("#")]
        if not lines:
            continue
        heading = re.fullmatch(r"\[([a-z0-9-]+)\] (\S+)", lines[0])
        if not heading:
            raise ValueError(f"not a heading '[name] file': {lines[0]}")
        rest = lines[1:]
        why = " ".join(line for line in rest if line[0] not in "-+").strip()
        old, new = ("\n".join(line[1:] for line in rest if line[0] == sign) for sign in "-+")
        if not why or not old or old == new:
            raise ValueError(f"{heading[1]}: needs a sentence and lines that change")
        mutants.append(Mutant(heading[1], heading[2], why, old, new))
    names = [mutant.name for mutant in mutants]
    twice = {name for name in names if names.count(name) > 1}
    if twice:
        raise ValueError(f"names used twice: {sorted(twice)}")
    return mutants


def check(mutants):
    problems = []
    for mutant in mutants:
        try:
            mutant.text()
        except (ValueError, OSError) as problem:
            problems.append(str(problem))
    for problem in problems:
        print(problem, file=sys.stderr)
    print(f"{len(mutants) - len(problems)} of {len(mutants)} mutants fit the sources")
    return 1 if problems else 0


def compile_unit(source, output, compiler):
    ccache = ["ccache"] if shutil.which("ccache") else []
    subprocess.run([*ccache, compiler, *FLAGS, "-c", str(source), "-o", str(output)], check=True)


def gather_parts(compiler):
    """Copies what all mutants share, so that a build in the meantime does no harm."""
    parts = OUT / ".parts"
    parts.mkdir(parents=True, exist_ok=True)
    compile_unit(ROOT / "sim" / "main.cpp", parts / "main.o", compiler)
    for library in LIBRARIES:
        shutil.copy(library, parts)
    return [parts / "main.o", *(parts / library.name for library in LIBRARIES)]


def build(mutant, compiler, parts):
    folder = OUT / mutant.name
    folder.mkdir(parents=True, exist_ok=True)
    source = folder / pathlib.Path(mutant.file).name
    source.write_text(mutant.text())
    compile_unit(source, folder / "mutant.o", compiler)
    program = folder / "turnpike-sim"
    subprocess.run([compiler, str(folder / "mutant.o"), *map(str, parts), "-lfmt", "-pthread", "-o", str(program)],
                   check=True)
    return program


def run(mutant, compiler, parts, seeds, seconds):
    """Returns the seed that caught the mutant and the violation, or None and a reason if no seed caught it."""
    try:
        program = build(mutant, compiler, parts)
        done = subprocess.run([str(program), "--seeds", f"1..{seeds}", "--jobs", "1", "--no-shrink"],
                              capture_output=True, text=True, timeout=seconds)
    except subprocess.CalledProcessError:
        return None, "does not build"
    except subprocess.TimeoutExpired:
        return None, "no violation in time"
    if done.returncode == 0:
        return None, f"no violation in {seeds} seeds"
    found = re.search(r"seed (\d+), scenario (\S+): (.*)", done.stdout + done.stderr)
    if found:
        return int(found[1]), found[3].strip()
    crash = re.search(r"CHECK failed: .*", done.stdout + done.stderr)
    if done.returncode < 0 and crash:
        return 1, crash[0]
    return None, f"exit {done.returncode}: {(done.stdout + done.stderr)[-200:].strip()}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="only check that every mutant fits the sources")
    parser.add_argument("--only", action="append", help="run only this mutant (may be repeated)")
    parser.add_argument("--seeds", type=int, default=20000, help="how many seeds to try for each mutant (20000)")
    parser.add_argument("--seconds", type=int, default=240, help="how long the run of one mutant may take (240)")
    parser.add_argument("--compiler", default="g++")
    arguments = parser.parse_args()
    try:
        mutants = parse(TABLE.read_text())
    except ValueError as problem:
        print(f"{TABLE.name}: {problem}", file=sys.stderr)
        return 2
    if arguments.check:
        return check(mutants)
    if arguments.only:
        mutants = [mutant for mutant in mutants if mutant.name in arguments.only]
    started = time.monotonic()
    survivors = []
    print("| mutant | file | caught after | by |\n|---|---|---|---|")
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        parts = gather_parts(arguments.compiler)
        runs = [pool.submit(run, mutant, arguments.compiler, parts, arguments.seeds, arguments.seconds)
                for mutant in mutants]
        for mutant, result in zip(mutants, runs):
            seed, what = result.result()
            if seed is None:
                survivors.append(mutant)
            after = f"{seed} seeds" if seed is not None else "**survived**"
            print(f"| {mutant.name} | {mutant.file} | {after} | {what} |", flush=True)
    print(f"\n{len(mutants) - len(survivors)} of {len(mutants)} caught in {time.monotonic() - started:.0f} s")
    for mutant in survivors:
        print(f"survived: {mutant.name}: {mutant.why}")
    return 1 if survivors or not mutants else 0


if __name__ == "__main__":
    sys.exit(main())
