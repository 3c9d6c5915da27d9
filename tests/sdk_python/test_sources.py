"""The store of a generation's sources (turnpike/_worker/sources.py): all workers import what the first one published, even if the file was saved since."""
import hashlib
import os
import pathlib
import shutil
import struct
import subprocess
import sys
import tempfile
import textwrap
import unittest

SDK = str(pathlib.Path(__file__).resolve().parents[2] / "sdk" / "python")
BEFORE = """
import os, sys
sys.path.insert(0, sys.argv[1])
from turnpike._worker import sources
del sys.path[0]
home, generation = sys.argv[2:4]
sys.path.insert(0, home)
"""
OPEN = "sources.open_store(generation)\n"


class StoreCase(unittest.TestCase):
    def setUp(self):
        top = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, top, ignore_errors=True)
        self.home = top / "home"
        self.home.mkdir()
        self.generation = top / "pool" / "1"
        self.store = self.generation / "sources"
        self.store.mkdir(parents=True)

    def write(self, name, text):
        path = self.home / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else textwrap.dedent(text).encode())
        return path

    def begin(self, script, **more):
        """Starts a process that imports like a worker."""
        words = [sys.executable, "-B", "-c", more.pop("before", BEFORE + OPEN) + textwrap.dedent(script)]
        return subprocess.Popen([*words, SDK, str(self.home), str(more.pop("generation", self.generation))], text=True,
                                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd="/", **more)

    def end(self, worker, said=""):
        out, err = worker.communicate(said, timeout=60)
        self.assertEqual(worker.returncode, 0, err)
        return out.strip(), err

    def out(self, script, **more):
        out, err = self.end(self.begin(script, **more))
        self.assertEqual(err, "")
        return out

    def place_of(self, path):
        return self.store / hashlib.sha256(os.fsencode(path)).hexdigest()

    def keep(self, path, data):
        """Publishes a source as another worker would."""
        key = os.fsencode(path)
        self.place_of(path).write_bytes(struct.pack("<I", len(key)) + key + data)

    def kept(self):
        return {os.fsdecode(data[4:4 + struct.unpack_from("<I", data)[0]]): data[4 + struct.unpack_from("<I", data)[0]:]
                for data in (place.read_bytes() for place in self.store.iterdir())}


class Publishing(StoreCase):
    def test_what_is_imported_is_kept_under_the_digest_of_its_path(self):
        path = self.write("beside.py", "WORD = 1\n")
        self.assertEqual(self.out("import beside; print(beside.WORD, beside.__file__)"), f"1 {path}")
        self.assertEqual(self.kept(), {str(path): b"WORD = 1\n"})
        self.assertEqual([place.name for place in self.store.iterdir()], [self.place_of(path).name], "and no draft is left")

    def test_what_is_kept_counts_whatever_is_saved_since(self):
        self.write("beside.py", "WORD = 'first'\n")
        for text in ("WORD = 'second'\n", "no Python at all", "WORD = 'first!'\n"):
            self.assertEqual(self.out("import beside; print(beside.WORD)"), "first")
            self.write("beside.py", text)

    def test_the_faster_of_two_workers_counts_for_both(self):
        path = self.write("beside.py", "WORD = 'of the slower'\n")
        slower = self.begin("print('open', flush=True); input(); import beside; print(beside.WORD)")
        self.assertEqual(slower.stdout.readline(), "open\n")  # it has opened the store, which was empty
        self.keep(path, b"WORD = 'of the faster'\n")
        self.assertEqual(self.end(slower, "go\n"), ("of the faster", ""))
        self.assertEqual(self.kept(), {str(path): b"WORD = 'of the faster'\n"})

    def test_two_workers_that_import_at_once_have_the_same_bytes(self):
        for i in range(40):
            self.write(f"part{i}.py", f"WORD = '{i} 0'\n")
        script = """
            print('open', flush=True); input()
            for i in range(40):
                with open(f"{home}/part{i}.py.{os.getpid()}", "w") as file: file.write(f"WORD = '{i} {os.getpid()}'\\n")
                os.replace(file.name, f"{home}/part{i}.py")
                print(__import__(f"part{i}").WORD)
        """
        workers = [self.begin(script) for _ in range(2)]
        for worker in workers:
            self.assertEqual(worker.stdout.readline(), "open\n")
        for worker in workers:
            worker.stdin.write("go\n")
            worker.stdin.flush()
        first, second = (self.end(worker) for worker in workers)
        self.assertEqual(first, second)
        self.assertEqual(first[1], "")
        self.assertEqual(len(self.kept()), 40)

    def test_threads_that_import_at_once_do_not_mix_their_files(self):
        count = 60
        for i in range(count):
            self.write(f"part{i}.py", f"WORD = {i}\n" + "# filler\n" * i * 20)
        self.out(f"""
            import threading
            sys.setswitchinterval(1e-6)
            def work(first):
                for i in range(first, {count}, 6): assert __import__(f"part{{i}}").WORD == i
            threads = [threading.Thread(target=work, args=(i,)) for i in range(6)]
            for thread in threads: thread.start()
            for thread in threads: thread.join()
        """)
        self.assertEqual(self.kept(), {str(path): path.read_bytes() for path in self.home.glob("*.py")})
        for path in self.home.glob("*.py"):
            self.assertTrue(self.place_of(path).exists(), path)

    def test_no_bytecode_is_written_or_believed(self):
        self.write("beside.py", "WORD = 'first'\n")
        self.out("sys.dont_write_bytecode = False\nimport beside")
        self.assertFalse((self.home / "__pycache__").exists())
        self.write("beside.py", "WORD = 'other'\n")
        self.out("sys.dont_write_bytecode = False\nimport beside", before=BEFORE)  # this process does not use the store, and leaves a .pyc
        self.assertTrue((self.home / "__pycache__").exists())
        self.assertEqual(self.out("import beside; print(beside.WORD)"), "first")

    def test_without_a_store_everything_is_read_where_it_lies(self):
        path = self.write("beside.py", "WORD = 1\n")
        self.assertEqual(self.out("import beside; print(sources.read(beside.__file__), sources.is_file(beside.__file__))", before=BEFORE),
                         "b'WORD = 1\\n' True")
        self.assertEqual(self.out(f"print(sources.loader('beside', {str(path)!r}).__class__.__name__)", before=BEFORE), "SourceFileLoader")
        self.assertEqual(self.kept(), {})


class WhatIsGone(StoreCase):
    def test_a_deleted_file_is_imported_as_it_was(self):
        path = self.write("beside.py", "WORD = 'kept'\n")
        self.out("import beside")
        path.unlink()
        self.assertEqual(self.out("import beside; print(beside.WORD, beside.__file__, sources.is_file(beside.__file__))"),
                         f"kept {path} True")

    def test_a_deleted_package_is_imported_with_its_relative_imports(self):
        self.write("parts/__init__.py", "from .one import ONE\nfrom . import deep\n")
        self.write("parts/one.py", "ONE = 1\n")
        self.write("parts/deep/__init__.py", "from ..one import ONE as AGAIN\nfrom .two import TWO\n")
        self.write("parts/deep/two.py", "TWO = 2\n")
        script = "import parts, parts.deep.two; print(parts.ONE, parts.deep.AGAIN, parts.deep.TWO, *parts.__path__, parts.deep.two.__package__)"
        whole = self.out(script)
        self.assertEqual(whole, f"1 1 2 {self.home}/parts parts.deep")
        self.assertEqual(len(self.kept()), 4)
        shutil.rmtree(self.home / "parts")
        self.assertEqual(self.out(script), whole)

    def test_what_was_never_imported_is_not_there(self):
        self.write("beside.py", "WORD = 1\n")
        self.out("import beside")
        script = "try: import beyond\nexcept ModuleNotFoundError as error: print(error)"
        self.assertEqual(self.out(script), "No module named 'beyond'")
        self.write("beyond.py", "WORD = 1\n")
        self.assertEqual(self.out("import beyond; print(beyond.WORD)"), "1", "what is new comes from the disk")

    def test_a_file_that_came_since_into_a_folder_before_is_not_taken_instead(self):
        self.write("two/beside.py", "WORD = 'two'\n")
        script = "sys.path[0:0] = [home + '/one', home + '/two']; import beside; print(beside.WORD)"
        self.assertEqual(self.out(script), "two")
        self.write("one/beside.py", "WORD = 'one'\n")
        self.assertEqual(self.out(script), "two")

    def test_broken_files_in_the_store_are_passed_over(self):
        self.write("beside.py", "WORD = 1\n")
        for name, data in (("empty", b""), ("short", b"\x01"), ("long", struct.pack("<I", 4000) + b"/x"), (".123", b"a draft")):
            (self.store / name).write_bytes(data)
        (self.store / "folder").mkdir()
        self.assertEqual(self.out("import beside; print(beside.WORD)"), "1")


class Texts(StoreCase):
    def test_tracebacks_show_the_lines_that_run(self):
        path = self.write("beside.py", "def fail():\n    raise KeyError  # as it was\n")
        self.out("import beside")
        path.write_text("# new\n# newer\n# newest\n")
        out = self.out("import beside, traceback\ntry: beside.fail()\nexcept KeyError: print(traceback.format_exc())")
        self.assertIn("raise KeyError  # as it was", out)
        self.assertIn(f'File "{path}", line 2', out)
        self.assertIn("# as it was", self.out("import beside, inspect; print(inspect.getsource(beside.fail))"))

    def test_a_coding_cookie_is_obeyed(self):
        self.write("beside.py", b"# -*- coding: latin-1 -*-\nWORD = '\xe9'\n")
        for _ in ("from the disk", "from the store"):
            self.assertEqual(self.out("import beside; print(ascii(beside.WORD))"), "'\\xe9'")
        self.assertEqual(self.kept(), {f"{self.home}/beside.py": b"# -*- coding: latin-1 -*-\nWORD = '\xe9'\n"})

    def test_a_source_that_is_no_utf_8_fails_as_ever(self):
        self.write("beside.py", b"WORD = '\xe9'\n")
        script = "try: import beside\nexcept SyntaxError as error: print('SyntaxError', error.filename)"
        self.assertEqual(self.out(script), f"SyntaxError {self.home}/beside.py")
        self.write("beside.py", b"WORD = 1\0\n")
        self.store.joinpath(self.place_of(self.home / "beside.py").name).unlink()
        self.assertIn("null bytes", self.out("try: import beside\nexcept (SyntaxError, ValueError) as error: print(error)"))

    def test_paths_of_any_bytes(self):
        folder = os.fsdecode(os.fsencode(self.home) + b"/\xff\xe4")
        os.mkdir(folder)
        pathlib.Path(folder, "beside.py").write_text("WORD = 1\n")
        script = "sys.path.insert(0, os.fsdecode(os.fsencode(home) + b'/\\xff\\xe4')); import beside; print(beside.WORD)"
        self.assertEqual(self.out(script), "1")
        self.assertEqual(list(self.kept()), [folder + "/beside.py"])
        shutil.rmtree(folder)
        self.assertEqual(self.out(script), "1")

    def test_other_data_of_a_package_is_read_from_the_disk(self):
        self.write("parts/__init__.py", "")
        path = self.write("parts/data.txt", "first")
        script = "import parts, pkgutil; print(pkgutil.get_data('parts', 'data.txt').decode())"
        self.assertEqual(self.out(script), "first")
        path.write_text("second")
        self.assertEqual(self.out(script), "second")


class WithoutAFolder(StoreCase):
    def test_code_is_compiled_once_for_all_generations_and_again_if_it_is_damaged_or_changed(self):
        path = self.write("large.py", "WORD = 'first'\n" + "# long\n" * 1000)
        script = """
            compiled = []
            sources._Loader.source_to_code = lambda self, source, path: compiled.append(path) or compile(source, path, "exec")
            import large; print(large.WORD, len(compiled))
        """
        self.assertEqual(self.out(script), "first 1")
        self.assertEqual(self.out(script), "first 0")
        other = self.generation.parent / "2"
        (other / "sources").mkdir(parents=True)
        self.assertEqual(self.out(script, generation=other), "first 0")
        [code] = (self.generation.parent / "code").iterdir()
        for damaged in (b"", b"\x00", b"garbage", code.read_bytes()[:40]):
            code.write_bytes(damaged)
            self.assertEqual(self.out(script), "first 1", damaged)
        path.write_text(path.read_text().replace("first", "other"))
        third = self.generation.parent / "3"
        (third / "sources").mkdir(parents=True)
        self.assertEqual(self.out(script, generation=third), "other 1")

    def test_what_is_built_in_is_not_hidden_by_a_file(self):
        name = next(name for name in sys.builtin_module_names if name not in sys.modules)
        self.write(f"{name}.py", "")
        self.assertEqual(self.out(f"import {name}; print({name}.__spec__.origin)"), "built-in")

    def test_what_the_finder_of_an_editable_install_finds_is_kept(self):
        path = self.write("elsewhere/project.py", "WORD = 'first'")
        script = f"""
            from importlib.util import spec_from_file_location
            class Editable:
                @staticmethod
                def find_spec(name, path=None, target=None):
                    return spec_from_file_location(name, {str(path)!r}) if name == "project" else None
            sys.meta_path.append(Editable)
            import project; print(project.WORD)
        """
        self.assertEqual(self.out(script), "first")
        path.write_text("WORD = 'second'")
        self.assertEqual(self.out(script), "first")

    def test_a_folder_that_is_missing_costs_a_warning(self):
        self.write("beside.py", "WORD = 1\n")
        shutil.rmtree(self.generation)
        out, err = self.end(self.begin("import beside; print(beside.WORD)"))
        self.assertEqual(out, "1")
        self.assertEqual(err.count("\n"), 1, err)
        self.assertIn(f"turnpike: {self.home}/beside.py can't be kept for restarts: [Errno 2]", err)

    def test_a_folder_that_takes_nothing_costs_a_warning(self):
        self.write("beside.py", "WORD = 1\n")
        self.store.rmdir()
        self.store.write_text("a file, not a folder; nobody may write here, and nobody is root enough")
        out, err = self.end(self.begin("import beside; print(beside.WORD)"))
        self.assertEqual(out, "1")
        self.assertIn("can't be kept for restarts", err)

    def test_a_missing_folder_for_the_imports_is_ignored(self):
        shutil.rmtree(self.generation.parent)
        self.assertEqual(self.out("sources.save_imports(generation)\nprint('goes on')"), "goes on")


class Imports(StoreCase):
    def listed(self):
        return (self.generation.parent / "imports").read_text().split("\n")

    def test_the_users_own_modules_are_not_listed(self):
        self.write("beside.py", "import json.decoder\n")
        self.out("import beside; sources.save_imports(generation)")
        self.assertIn("json.decoder", self.listed())
        for name in ("beside", "turnpike", "turnpike._worker.sources", "__main__", "sys", ""):
            self.assertNotIn(name, self.listed())

    def test_the_list_is_written_only_if_something_is_new(self):
        self.out("import json; sources.save_imports(generation)")
        path = self.generation.parent / "imports"
        before = path.stat().st_ino, path.stat().st_mtime_ns
        self.out("sources.save_imports(generation)")
        self.assertIn("json", self.listed(), "fewer modules do not change the list")
        self.assertEqual((path.stat().st_ino, path.stat().st_mtime_ns), before)
        self.out("import colorsys; sources.save_imports(generation)")
        self.assertLessEqual({"json", "colorsys"}, set(self.listed()), "it only grows")

    def test_a_forked_worker_lists_only_modules_that_its_warm_process_lacked(self):
        self.out("import json; sources.remember_inherited(); import colorsys; sources.save_imports(generation)")
        self.assertEqual([name for name in self.listed() if name in ("json", "colorsys")], ["colorsys"])

    def test_own_files_are_told_from_installed_ones(self):
        script = """
            import json
            for path in (home + "/a.py", "/srv/app/model.py", os.getcwd() + "x.py", json.__file__, sources.__file__,
                         home + "/venv/lib/python3.11/site-packages/torch/__init__.py", "/usr/lib/python3/dist-packages/numpy/a.py",
                         home + "/site-packages.py", home + "/my-site-packages/a.py"):
                print(int(sources.is_own(path)), end="")
        """
        self.assertEqual(self.out(script), "111" + "0000" + "11")


if __name__ == "__main__":
    unittest.main()
