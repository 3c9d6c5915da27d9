#!/usr/bin/env python3
"""Checks that each structure test can fail: it must report one fault in a small tree, and nothing else.

    can_fail.py Layers | Purity | Style | Documented | Mapped | Linked
"""
import os
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
LAYERS = (HERE / "../../tools/layers.txt").read_text()


class Fixture(unittest.TestCase):
    def verdict(self, script, tree, *archives):
        """Runs a script on a tree of path → text. Returns (exit status, output)."""
        with tempfile.TemporaryDirectory() as folder:
            root = Path(folder)
            for name, text in tree.items():
                (root / name).parent.mkdir(parents=True, exist_ok=True)
                (root / name).write_text(text)
            built = [self.archive(root, module) for module in archives]
            done = subprocess.run([sys.executable, HERE / script, root, *built], capture_output=True, text=True)
            return done.returncode, done.stdout + done.stderr

    def archive(self, root, module):
        library = root / f"libturnpike_{module}.a"
        objects = []
        for source in sorted((root / "src" / module).glob("*.cpp")):
            objects.append(source.with_suffix(".o"))
            subprocess.run([os.environ.get("CXX", "c++"), "-std=c++20", "-c", source, "-o", objects[-1]], check=True)
        subprocess.run(["ar", "rc", library, *objects], check=True)
        return library

    def assert_passes(self, script, tree, *archives):
        status, output = self.verdict(script, tree, *archives)
        self.assertEqual(status, 0, output)

    def assert_fails(self, script, tree, expected, *archives):
        status, output = self.verdict(script, tree, *archives)
        self.assertEqual(status, 1, output)
        self.assertIn(expected, output)
        self.assertIn(" 1 violations", output)


class Layers(Fixture):
    def test_a_lawful_tree_passes(self):
        self.assert_passes("layers.py", {
            "tools/layers.txt": LAYERS,
            "src/base/id.h": "#pragma once\n#include <vector>\n",
            "src/core/lane.cpp": '#include "base/id.h"\n#include "core/lane.h"\n// #include "os/process.h"\n',
            "src/supervisor/http/link.cpp": '#include "supervisor/worker/lane_worker.h"\n',
            "src/core/deep/folder.cpp": '#include "core/lane.h"\n',
            "sim/world.h": '#pragma once\n#include <fmt/core.h>\n#include "core/lane.h"\n#include "sim/fault.h"\n',
        })

    def test_each_fault_is_found(self):
        for path, text, expected in [
            ("src/core/a.h", '#pragma once\n#include "os/process.h"\n', "src/core/a.h:2: 'core' may not use 'os'"),
            ("src/base/a.cpp", '#include "core/lane.h"\n', "src/base/a.cpp:1: 'base' may not use 'core'"),
            ("src/core/a.cpp", '\n\n#  include "sim/world.h"\n', "src/core/a.cpp:3: 'core' may not use 'sim'"),
            ("sim/a.cpp", '#include "os/process.h"\n', "sim/a.cpp:1: 'sim' may not use 'os'"),
            ("src/gate/a.cpp", '#include "cli/command.h"\n', "'gate' may not use 'cli'"),
            ("src/serve/a.cpp", '#include "cli/up.h"\n', "'serve' may not use 'cli'"),
            ("src/setup/a.cpp", '#include "serve/server.h"\n', "'setup' may not use 'serve'"),
            ("src/serve/a.cpp", '#include "supervisor/http/link.h"\n', "'serve' may not use 'supervisor/http'"),
            ("src/supervisor/http/a.cpp", '#include "supervisor/native/frame_link.h"\n',
             "'supervisor/http' may not use 'supervisor/native'"),
            ("src/supervisor/http/a.cpp", '#include "supervisor/supervisor.h"\n',
             "'supervisor/http' may not use 'supervisor'"),
            ("src/core/a.cpp", "#include <fmt/core.h>\n", "'core' may not include <fmt/core.h>"),
            ("src/core/a.cpp", "#include <unistd.h>\n", "'core' may not include <unistd.h>"),
            ("src/core/a.cpp", '#include "lane.h"\n', "must name its folder"),
            ("src/core/a.cpp", '#include "src/core/lane.h"\n', "belongs to no module"),
            ("src/core/a.h", "// #pragma once\n", "no #pragma once"),
            ("src/misc/a.cpp", "", "lies in no module"),
            ("src/a.cpp", "", "lies in no module"),
        ]:
            with self.subTest(path=path, text=text):
                self.assert_fails("layers.py", {"tools/layers.txt": LAYERS, path: text}, expected)

    def test_cmake_holds_linking_to_the_same_table(self):
        with tempfile.TemporaryDirectory() as folder:
            root = Path(folder)
            (root / "tools").mkdir()
            (root / "tools/layers.txt").write_text(LAYERS)
            for used, status in [("base", 0), ("os", 1)]:
                (root / "CMakeLists.txt").write_text(
                    "cmake_minimum_required(VERSION 3.25)\nproject(fixture NONE)\n"
                    f"include({HERE}/../../cmake/module.cmake)\nturnpike_check_layer(core {used})\n")
                done = subprocess.run(["cmake", "-S", root, "-B", root / "build"], capture_output=True, text=True)
                self.assertEqual(done.returncode, status, done.stderr)
            self.assertIn("'core' may not use 'os'", done.stderr)

    def test_an_empty_tree_is_a_mistake_of_the_caller(self):
        self.assertEqual(self.verdict("layers.py", {"tools/layers.txt": LAYERS})[0], 1)


class Purity(Fixture):
    BASE = {"src/base/check.cpp": '#include <cstdio>\n#include <cstdlib>\n'
                                  'void check_failed() { std::fprintf(stderr, "%d", 1); std::abort(); }\n'}

    def test_pure_code_passes(self):
        self.assert_passes("purity.py", self.BASE | {
            "src/core/a.cpp": "#include <map>\n#include <string>\n#include <vector>\n"
                              "void check_failed();\n"
                              "void decide(std::map<int, std::string>& names, std::vector<int>& numbers) {\n"
                              "    numbers.push_back(1'000);  // not unordered_map, not 0.5\n"
                              "    if (names.at(1) == \"double\") check_failed();\n"
                              "    names.erase(names.begin());\n"
                              "}\n"}, "base", "core")

    def test_each_outside_symbol_is_found(self):
        faults = [
            ("#include <ctime>\nlong f() { return std::time(nullptr); }\n", "time reads a clock"),
            ("#include <chrono>\nauto f() { return std::chrono::file_clock::now(); }\n", "_clock::now() reads a clock"),
            ("#include <ctime>\nint f(timespec* t) { return clock_gettime(0, t); }\n", "clock_gettime reads a clock"),
            ("#include <cstdlib>\nint f() { return std::rand(); }\n", "rand draws randomness"),
            ("#include <cstdlib>\nchar* f() { return std::getenv(\"HOME\"); }\n", "getenv reads the environment"),
            ("#include <pthread.h>\nint f(pthread_mutex_t* m) { return pthread_mutex_lock(m); }\n", "uses threads"),
            ("int g(int x) { static int once = x; return once; }\n", "keeps state in a static"),
            ("#include <cstdio>\nvoid f() { std::puts(\"\"); }\n", "puts does input or output"),
            ("#include <unistd.h>\nlong f() { return write(1, \"\", 1); }\n", "write does input or output"),
            ("void stranger();\nvoid f() { stranger(); }\n", "stranger() is not on the list"),
            ("#include <cstdlib>\nvoid f() { std::abort(); }\n", "abort is not on the list"),  # allowed only in base
        ]
        tree = {f"src/core/fault{number}.cpp": text for number, (text, _) in enumerate(faults)}
        status, output = self.verdict("purity.py", tree, "core")
        self.assertEqual(status, 1, output)
        for number, (_, expected) in enumerate(faults):
            self.assertRegex(output, f"fault{number}.o: .*{re.escape(expected)}")

    def test_base_may_only_do_what_check_needs(self):
        self.assert_fails("purity.py", {"src/base/a.cpp": "#include <cstdlib>\nint f() { return std::rand(); }\n"},
                          "rand draws randomness", "base")

    def test_each_impure_source_is_found(self):
        faults = [
            ("std::unordered_map<int, int> jobs;", "unordered container"),
            ("std::map<Job*, int> jobs;", "ordered by address"),
            ("std::set<const core::Lane *> lanes;", "ordered by address"),
            ("std::uintptr_t where;", "ordered by address"),
            ("double rate;", "floating point"),
            ("auto rate = 0.5;", "floating point"),
            ("std::uniform_int_distribution<> draw;", "distributions"),
            ("auto begun = std::chrono::steady_clock::time_point{};", "reads a clock"),
            ("thread_local int count;", "hidden state"),
        ]
        tree = {f"src/core/fault{number}.h": f"\n{text}\n" for number, (text, _) in enumerate(faults)}
        status, output = self.verdict("purity.py", self.BASE | tree, "base")
        self.assertEqual(status, 1, output)
        self.assertIn(f" {len(faults)} violations", output)
        for number, (_, expected) in enumerate(faults):
            self.assertRegex(output, f"src/core/fault{number}.h:2: .*{expected}")


class Style(Fixture):
    def test_good_style_passes(self):
        self.assert_passes("style.py", {
            "src/core/a.h": "// The helper thread's Manager is only prose.\nint utilization;\nstruct Implied {};\n",
            "tests/unit/core/a.cpp": "// no sleep_for(1s) here\n" + "\n" * 450,
        })

    def test_a_name_that_two_headers_give_to_a_type_is_found(self):
        one = "namespace turnpike {\nstruct Facts {\n};\n}\n"
        self.assert_fails("style.py", {"src/cli/a.h": one, "src/gate/b.h": one}, "Facts is a type of src/cli/a.h")
        self.assert_passes("style.py", {"src/cli/a.h": one, "src/gate/b.h": "namespace turnpike {\nstruct Facts;\n}\n",
                                        "src/http/c.h": one.replace("turnpike", "turnpike::http")})

    def test_each_fault_is_found(self):
        for path, text, expected in [
            ("src/core/a.h", "\tint a;\n", "src/core/a.h:1: a tab"),
            ("src/core/a.h", "\nint a; \n", "src/core/a.h:2: blanks at the end"),
            ("README.md", "word  \n", "README.md:1: blanks at the end"),
            ("src/core/a.h", "// TO" "DO: later\n", "a note to oneself"),
            ("src/core/a.h", "class LaneManager {};\n", "'LaneManager'"),
            ("src/core/a.h", "class QueueUtils {};\n", "'QueueUtils'"),
            ("src/core/a.h", "void lane_helper();\n", "'lane_helper'"),
            ("src/core/a.h", "namespace impl {}\n", "'impl'"),
            ("src/core/lane_utils.h", "\n", "a file name that says nothing"),
            ("src/core/a.h", "\n" * 601, "longer than 600 lines"),
            ("tests/unit/core/a.cpp", "void f() { std::this_thread::sleep_for(1s); }\n", "must not sleep"),
        ]:
            with self.subTest(path=path, text=text[:40]):
                self.assert_fails("style.py", {path: text}, expected)


class Documented(Fixture):
    TREE = {"src/gate/problem.cpp": 'Row{Problem::no_job, 404, "no-job", "…"},',
            "src/gate/own_routes.cpp": 'OwnRoute{http::Method::delete_, "/-/jobs/*", Rule::member, cancel},',
            "src/gate/reply.cpp": 'append_field(out, "Turnpike-Job", job);', "src/gate/arrival.cpp": "",
            "src/cli/command_words.cpp": '{"up", "Serve: …"}',
            "docs/http-api.md": "`no-job`, DELETE /-/jobs/ID, Turnpike-Job", "README.md": "turnpike up"}

    def test_a_documented_tree_passes(self):
        self.assert_passes("documented.py", self.TREE)

    def test_each_gap_is_found(self):
        for page, text, expected in [
            ("docs/http-api.md", "DELETE /-/jobs/ID, Turnpike-Job", "the problem `no-job`"),
            ("docs/http-api.md", "`no-job`, GET /-/jobs/ID, Turnpike-Job", "the route DELETE /-/jobs/ID"),
            ("docs/http-api.md", "`no-job`, DELETE /-/jobs/ID", "the field Turnpike-Job"),
            ("README.md", "turnpike", "the command up"),
            ("src/gate/problem.cpp", "", "no problem was found"),
        ]:
            with self.subTest(expected=expected):
                self.assert_fails("documented.py", self.TREE | {page: text}, expected)


class Mapped(Fixture):
    TREE = {"ARCHITECTURE.md": "`src/core` `tests/integration` `core/blame` `native/answers` `src/core/blame.cpp`",
            "CONTRIBUTING.md": "`core/blame`, `/v1/models` and `a or b/c`",
            "src/core/blame.cpp": "", "tests/integration/native/test_answers.py": ""}

    def test_a_true_map_passes(self):
        self.assert_passes("mapped.py", self.TREE)

    def test_each_fault_is_found(self):
        for path, text, expected in [
            ("CONTRIBUTING.md", "\n`core/blames`", "CONTRIBUTING.md:2: there is no core/blames"),
            ("CONTRIBUTING.md", "`src/core/blame.h`", "there is no src/core/blame.h"),
            ("CONTRIBUTING.md", "`native/streams`", "there is no native/streams"),
            ("src/gate/a.cpp", "", "the folder src/gate is not on the map"),
            ("tests/gpu/a.py", "", "the folder tests/gpu is not on the map"),
        ]:
            with self.subTest(path=path, text=text):
                self.assert_fails("mapped.py", self.TREE | {path: text}, expected)


class Linked(unittest.TestCase):
    def built(self, folder, *options):
        """Links a program with these options, and runs linked.py on it."""
        program = Path(folder) / "program"
        subprocess.run([os.environ.get("CXX", "c++"), "-x", "c++", "-", "-o", program, *options], check=True,
                       input="int main() {}", text=True)
        return subprocess.run([sys.executable, HERE / "linked.py", program], capture_output=True, text=True)

    def test_a_program_without_nvidia_passes(self):
        with tempfile.TemporaryDirectory() as folder:
            self.assertEqual(self.built(folder).returncode, 0)

    def test_each_library_of_nvidia_is_found(self):
        for name in ("libcuda.so.1", "libnvidia-ml.so.1", "libcudart.so.12"):
            with self.subTest(name=name), tempfile.TemporaryDirectory() as folder:
                library = Path(folder) / name
                subprocess.run([os.environ.get("CXX", "c++"), "-shared", "-x", "c++", "-", "-o", library,
                                f"-Wl,-soname,{name}"], check=True, input="", text=True)
                done = self.built(folder, "-x", "none", "-Wl,--no-as-needed", library)
                self.assertEqual(done.returncode, 1, done)
                self.assertIn(f"needs {name}", done.stdout)


unittest.main()
