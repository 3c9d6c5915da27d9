#!/usr/bin/env python3
"""Checks that the core decides from its events alone, without clock, randomness, environment, threads or system calls.

    purity.py ROOT libturnpike_base.a libturnpike_core.a

It checks two things. Every outside symbol that the archives need must be on the short list below, which has nothing
that reaches beyond the program's own memory. And the sources of src/core must have nothing whose result depends on
addresses, rounding or the choice of standard library.
"""
import os
import re
import subprocess
import sys
from pathlib import Path

from sources import code_only, files, lines_matching, report

PURE = [  # demangled symbols of libc, libstdc++ and the compiler
    r"mem(cpy|move|set|cmp|chr)|bcmp|strlen|__stack_chk_fail|_GLOBAL_OFFSET_TABLE_",
    r"operator (new|delete)(\[\])?\(.*\)",
    # Exceptions. But not __cxa_guard_* and __cxa_atexit: a static built at run time is state outside the engine.
    r"__cxa_(allocate_exception|free_exception|throw|rethrow|begin_catch|end_catch|call_terminate|pure_virtual)",
    r"__cxa_(bad_typeid|throw_bad_array_new_length)|__gxx_personality_v0|_Unwind_Resume|std::terminate\(\)",
    r"std::(__throw_\w+|__glibcxx_assert_fail)\(.*\)",
    r"std::(exception|bad_\w+|logic_error|length_error|out_of_range)::.*",
    r"(vtable|typeinfo) for (std::(exception|bad_\w+|logic_error|length_error|out_of_range)|__cxxabiv1::\w+)",
    # The parts of containers and strings that are not templates.
    r"std::(_Rb_tree_\w+|__detail::_List_node_base::\w+)\(.*\).*",
    r"std::(__cxx11::basic_string|basic_string_view|allocator)<char\b.*",
    r"std::(to_chars|from_chars)\(.*\)",
]
ALSO_PURE = {"base": [r"abort|stderr|fprintf|__fprintf_chk|fputs|fputc|fwrite|fflush"]}  # for the message of CHECK

REASONS = [  # these only explain a failure; every symbol that is not PURE fails
    ("reads a clock", r"(clock_)?gettime(ofday)?|time|clock|.*_clock::now\(\)"),
    ("draws randomness", r"s?rand(om)?(_r)?|[dlm]rand48|getrandom|getentropy|arc4random.*|std::random_device.*"),
    ("reads the environment", r"(secure_)?getenv|setenv|environ"),
    ("uses threads", r"(pthread|sem|thrd|mtx)_.*|std::(\w+::)*(thread|\w*mutex|condition_variable|this_thread)\b.*"),
    ("keeps state in a static", r"__cxa_(guard_\w+|atexit)|__tls_get_addr|__dso_handle"),
    ("does input or output", r"f?(open|close|read|write|printf|puts)\w*|mmap|socket|poll|select|ioctl|syscall|std::\w*(stream|cout|cerr|filesystem).*"),
]

IMPURE_CODE = [
    ("unordered container: its order is not defined", r"\bunordered_\w+"),
    ("ordered by address", r"\b(multi)?(map|set)\s*<\s*(const\s+)?[\w:]+(\s+const)?\s*\*"),
    ("ordered by address", r"\bu?intptr_t\b|\bstd::less\s*<[^<>]*\*\s*>"),
    ("floating point", r"\b(float|double)\b|\b\d+\.\d"),
    ("std:: distributions and engines differ between libraries", r"\b\w+_distribution\b|\bmt19937\w*|\brandom_device\b"),
    ("reads a clock", r"\b(steady|system|high_resolution)_clock\b|\b_*rdtscp?\b"),
    ("leaves C++", r"\b(asm|__asm__)\b"),
    ("hidden state", r"\bthread_local\b|\bvolatile\b"),
]


def symbols(archive, *options):
    """Yields (object file, demangled symbol) as nm lists them."""
    member = archive.name
    listing = subprocess.run([os.environ.get("NM", "nm"), "-C", *options, archive],
                             check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout
    for line in listing.splitlines():
        if line.endswith(".o:"):
            member = line[:-1]
        elif match := re.match(r"[0-9a-f ]{16} [a-zA-Z] (.*)", line):
            yield member, match[1]


def reason_for(symbol):
    return next((reason for reason, pattern in REASONS if re.fullmatch(pattern, symbol)),
                "is not on the list of pure symbols (tests/structure/purity.py)")


def impure_symbols(archives):
    ours = {symbol for archive in archives for _, symbol in symbols(archive, "--defined-only")}
    for archive in archives:
        module = archive.stem.removeprefix("libturnpike_")
        pure = re.compile("|".join(PURE + ALSO_PURE.get(module, [])))
        for member, symbol in symbols(archive, "-u"):
            if symbol not in ours and not pure.fullmatch(symbol):
                yield f"{archive.name}: {member}: {symbol} {reason_for(symbol)}"


def impure_code(root):
    for path in files(root, "src/core"):
        text = code_only(path.read_text())
        for problem, pattern in IMPURE_CODE:
            for line, match in lines_matching(pattern, text):
                yield f"{path.relative_to(root)}:{line}: '{match[0]}': {problem}"


def main(root, *archives):
    report(len(archives), [*impure_symbols([Path(archive) for archive in archives]), *impure_code(Path(root))])


main(*sys.argv[1:])
