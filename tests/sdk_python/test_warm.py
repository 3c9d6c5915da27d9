"""The warm process (turnpike/_worker/warm.py) without a gate: what it imports, what forbids a fork, how it answers requests."""
import array
import json
import os
import pathlib
import shutil
import socket
import subprocess
import sys
import tempfile
import textwrap
import unittest

SDK = pathlib.Path(__file__).resolve().parents[2] / "sdk" / "python"
sys.path.insert(0, str(SDK))

from turnpike._worker import warm, warm_imports  # noqa: E402

# These tests run Python in place of the gate's own program. Python takes the argument "guard" for the path of a script: this one,
# which reports its arguments, environment and pid, and how the worker ended.
GUARD = """
import json, os, socket, sys
control = socket.socket(fileno=3)
control.send(json.dumps({"words": sys.argv, "env": dict(os.environ), "pid": os.getpid()}).encode())
pid, status = os.waitpid(int(sys.argv[-1]), 0)
control.send(json.dumps({"code": os.waitstatus_to_exitcode(status)}).encode())
"""
MODEL = """
import os, sys
def predict(x): return x
"""


class FolderCase(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)

    def write(self, name, text):
        path = self.folder / name
        path.write_text(textwrap.dedent(text), encoding="utf-8", errors="surrogateescape")
        return path

    def script(self, text, *arguments):
        """Runs the code in a process of its own, because imports can't be undone."""
        before = f"import sys; sys.path[0:0] = [{str(SDK)!r}, {str(self.folder)!r}]\nfrom turnpike._worker import warm, warm_imports\nname = lambda words: words.split(' ')[0].split('/')[-1]\n"
        done = subprocess.run([sys.executable, "-B", "-c", before + textwrap.dedent(text), *arguments], text=True, capture_output=True, timeout=60)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout.strip(), done.stderr


class Parts(FolderCase):
    def test_files_of_modules_that_change_are_named(self):
        self.write("one.py", "")
        self.write("two.py", "")
        out, _ = self.script("""
            import os, one, two
            seen = warm_imports.ImportedFiles([])
            print([seen.change()])
            os.utime(one.__file__, ns=(1, 1))
            print([name(seen.change())])
            seen = warm_imports.ImportedFiles([])
            os.unlink(two.__file__)
            print([name(seen.change())])
            print([warm_imports.ImportedFiles([]).change()])
        """)
        self.assertEqual(out, "['']\n['one.py']\n['two.py']\n['']")

    def test_an_installation_is_over_when_all_files_are_there_and_stay_as_they_are(self):
        self.write("one.py", "")
        self.write("two.py", "")
        out, _ = self.script("""
            import os, types, one, two
            gone = types.ModuleType("gone")
            gone.__file__ = "/nowhere/gone.py"  # as of a module from an archive
            sys.modules["gone"] = gone
            seen = warm_imports.ImportedFiles([])
            look = lambda: print(name(seen.settled_change()) or "-")
            look(); look()
            os.rename(one.__file__, one.__file__ + ".old")
            look(); look()
            open(one.__file__, "w").close()
            look()
            os.utime(two.__file__, ns=(1, 1))
            look(); look()
        """)
        self.assertEqual(out.splitlines(), ["-"] * 6 + [out.splitlines()[-1]])
        self.assertIn(out.splitlines()[-1], ("one.py", "two.py"))

    def test_a_package_that_was_missing_is_seen_when_it_comes(self):
        out, _ = self.script("""
            missing = warm_imports.import_all(["nowhere.part", "json", "late.part", "late"], False, str)
            seen = warm_imports.ImportedFiles(missing)
            print(sorted(missing), [seen.settled_change()])
            open(sys.path[1] + "/late.py", "w").close()
            print(seen.settled_change())
        """)
        self.assertEqual(out, "['late', 'nowhere'] ['']\nlate is installed now")

    def test_replaced_by_one_of_the_same_size_and_time_is_changed_too(self):
        self.write("one.py", "A = 1\n")
        out, _ = self.script("""
            import os, one
            seen, found = warm_imports.ImportedFiles([]), os.stat(one.__file__)
            with open(one.__file__ + ".new", "w") as file: file.write("A = 2\\n")
            os.utime(file.name, ns=(found.st_atime_ns, found.st_mtime_ns))
            os.rename(file.name, one.__file__)
            print(name(seen.change()))
        """)
        self.assertEqual(out, "one.py")

    def test_modules_whose_file_is_no_path_are_passed_over(self):
        self.assertEqual(self.script("""
            import types
            for name, file in (("a", None), ("b", 7), ("c", b"bytes")):
                sys.modules[name] = types.ModuleType(name)
                sys.modules[name].__file__ = file
            sys.modules["d"] = None
            print([warm_imports.ImportedFiles([]).change()])
        """)[0], "['']")

    def test_says_why_a_fork_is_not_possible(self):
        self.assertEqual(self.script("""
            import threading
            print([warm_imports.fork_obstacle()])
            end = threading.Event()
            thread = threading.Thread(target=end.wait, name="busybody")
            thread.start()
            print(warm_imports.fork_obstacle())
            end.set(); thread.join()
            print([warm_imports.fork_obstacle()])
            sys.modules["ray"] = threading
            print(warm_imports.fork_obstacle())
        """)[0], "['']\nan import has started a thread (busybody), which a fork would lose\n['']\nRay does not survive a fork")

    def test_what_can_not_be_imported_is_passed_over_and_said_only_of_what_was_named(self):
        self.write("broken.py", "1 / 0")
        self.write("leaves.py", "import sys; sys.exit(3)")
        self.write("warns.py", "import warnings; warnings.warn('old'); WORD = 1")
        names = "['broken', 'nowhere', 'leaves', 'a.b', '', 'warns', 'colorsys']"
        for must in (False, True):
            out, err = self.script(f"warm_imports.import_all({names}, {must}, str); print('warns' in sys.modules, 'colorsys' in sys.modules)")
            self.assertEqual(out, "True True")
            said = [line.split()[2] for line in err.splitlines()]
            self.assertEqual(said, ["broken", "nowhere", "leaves", "a.b", "can't"] if must else [])

    def test_the_list_of_imports_is_read_whatever_its_bytes(self):
        path = self.folder / "imports"
        path.write_bytes(b"json\n\xff\xfe\ncolorsys")
        self.assertEqual(warm_imports.read_list(str(path)), (["json", "\udcff\udcfe", "colorsys"], {}))

    def test_variables_that_the_model_sets_are_listed_with_its_imports(self):
        path = self.folder / "imports"
        path.write_text("json\nOMP_NUM_THREADS=1\nA=b=c")
        self.assertEqual(warm_imports.read_list(str(path)), (["json"], {"OMP_NUM_THREADS": "1", "A": "b=c"}))
        self.assertEqual(warm_imports.read_list(str(self.folder / "nowhere")), ([], {}))

    def test_an_environment_of_any_bytes(self):
        request = json.loads(b'{"environment": ["A=\xff=b", "B=", "C", "=D"]}'.decode("utf-8", "surrogateescape"))
        self.assertEqual(warm._environment(request), {"A": "\udcff=b", "B": ""})

    def test_a_gate_that_died_before_the_death_signal_was_set_is_noticed(self):
        import socket

        gate, own = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.addCleanup(own.close)
        self.assertFalse(warm._is_gate_gone(own))
        gate.close()
        self.assertTrue(warm._is_gate_gone(own))

    def test_a_folder_that_was_removed_is_no_obstacle(self):
        self.assertEqual(self.script("""
            import os, tempfile
            os.chdir(tempfile.mkdtemp())
            warm._set_pwd()
            print(os.environ["PWD"] == os.getcwd())
            os.rmdir(os.getcwd())
            warm._set_pwd()
        """)[0], "True")


class AskedByATest(FolderCase):
    """The whole warm process, asked for a worker. A script takes the place of the gate's own program."""

    def begin(self, *modules, imports="", program=os.path.realpath(sys.executable), start=(str(SDK / "turnpike_worker.py"),)):
        self.write("guard", GUARD)
        self.write("imports", imports)
        self.model = self.write("model.py", MODEL)
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        ours.settimeout(60)
        self.addCleanup(ours.close)
        words = [sys.executable, "-B", *start, "--warm", str(self.folder / "imports"), *modules]
        gate = os.open(program, os.O_RDONLY)

        def place():
            socket_copy, program_copy = os.dup(theirs.fileno()), os.dup(gate)
            os.dup2(socket_copy, 3)
            os.dup2(program_copy, 4)

        process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, pass_fds=(3, 4),
                                   preexec_fn=place, cwd=self.folder, env={"TURNPIKE_SOCKET": "3", "PYTHONPATH": str(self.folder)})
        os.close(gate)
        theirs.close()
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process, ours

    def heard(self, sock):
        """Returns its first message after the imports."""
        said = {"importing": ""}
        while "importing" in said:
            said = json.loads(sock.recv(1000))
        return said

    def ask(self, sock, **changed):
        """Asks for a worker. Returns the other ends of the descriptors that the worker and its guard get."""
        control, their_control = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        link, their_link = socket.socketpair()
        for end in (control, link):
            end.settimeout(60)
            self.addCleanup(end.close)
        out, their_out = os.pipe()
        self.addCleanup(os.close, out)
        request = {"label": "lane 7", "open_files": 0, "cgroup": "", "folder": str(self.folder), "model": str(self.model),
                   "environment": ["TURNPIKE_SOCKET=3", "WORD=b\udcff"], **changed}
        data = json.dumps(request, ensure_ascii=False).encode("utf-8", "surrogateescape")
        descriptors = [their_out, their_out, their_control.fileno(), their_link.fileno()]
        sock.sendmsg([data], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", descriptors))])
        os.close(their_out)
        their_control.close()
        their_link.close()
        return control, link, out


class Warm(AskedByATest):
    def test_it_says_that_it_is_ready_and_ends_with_the_gate(self):
        process, sock = self.begin(imports="json\ncolorsys")
        self.assertGreater(self.heard(sock)["ready"], 10)
        sock.close()
        self.assertEqual(process.wait(60), 0)

    def test_it_names_what_it_imports_before_it_does(self):
        self.write("waits.py", "input_that_never_comes = __import__('threading').Event().wait()\n")
        process, sock = self.begin(imports="colorsys\n\udcff\u00fc" + "x" * 20_000 + "\nwaits")
        names = [json.loads(sock.recv(1000))["importing"] for _ in range(3)]
        self.assertEqual((names[0], names[1][:9], len(names[1]), names[2]), ("colorsys", "\\udcff\\xf", 100, "waits"))
        self.assertIsNone(process.poll())

    def test_it_refuses_where_an_import_started_a_thread(self):
        self.write("busy.py", "import threading\nthreading.Thread(target=threading.Event().wait, name='busybody', daemon=True).start()\n")
        process, sock = self.begin("busy")
        said = self.heard(sock)
        self.assertIn("busybody", said["refused"])
        self.assertFalse(said.get("rebuild"))
        self.assertEqual(process.wait(60), 0)

    def test_it_asks_for_a_rebuild_when_imported_files_have_changed(self):
        path = self.write("installed.py", "")
        _, sock = self.begin("installed")
        self.assertIn("ready", self.heard(sock))
        path.write_text("A = 1\n")
        control, link, _ = self.ask(sock)
        self.assertEqual(json.loads(sock.recv(1000)), {"refused": f"{path} has changed since it was imported", "rebuild": True})
        self.assertEqual(control.recv(10), b"", "nobody holds the other ends any more")
        self.assertEqual(link.recv(10), b"")

    def test_it_asks_for_a_rebuild_by_itself_once_an_installation_is_over(self):
        path = self.write("installed.py", "")
        often = f"import sys; sys.path.insert(0, {str(SDK)!r})\nfrom turnpike._worker import warm\nwarm._LOOK_EVERY_S = 0.01\nwarm.main(sys.argv)"
        process, sock = self.begin("installed", start=("-c", often))
        self.assertIn("ready", self.heard(sock))
        path.write_text("A = 1\n")
        self.assertEqual(json.loads(sock.recv(1000)), {"refused": f"{path} has changed since it was imported", "rebuild": True})
        self.assertEqual(process.wait(60), 0)

    def test_a_worker_is_forked_under_a_guard_that_gets_its_pid(self):
        process, sock = self.begin("json")
        self.assertIn("ready", self.heard(sock))
        for _ in range(2):
            control, link, _ = self.ask(sock)
            guard = json.loads(control.recv(10_000))
            self.assertEqual(guard["words"][:-1], ["guard", "lane 7", "0", "", str(self.folder), ""])
            self.assertEqual(guard["env"]["WORD"], "b\udcff")
            self.assertNotEqual(guard["pid"], process.pid)
            hello = link.recv(10_000)
            self.assertIn(b"turnpike-python", hello.lower().replace(b" ", b"-"))
            link.close()  # the gate is gone, so the worker ends
            self.assertIn("code", json.loads(control.recv(10_000)))

    def test_a_request_that_can_not_be_served_closes_what_came_with_it(self):
        process, sock = self.begin("json")
        self.assertIn("ready", self.heard(sock))
        control, link, out = self.ask(sock, folder="/nowhere/at/all")
        self.assertIn("words", json.loads(control.recv(10_000)))
        self.assertEqual(json.loads(control.recv(10_000)), {"code": 1})
        self.assertEqual(link.recv(10), b"")
        self.assertRegex(os.read(out, 1000), b"^turnpike: a warm start failed: FileNotFoundError: .*/nowhere/at/all")
        control, _, _ = self.ask(sock)
        self.assertIn("words", json.loads(control.recv(10_000)), "and the next one is served")
        self.assertIsNone(process.poll())

    def test_a_gates_program_that_can_not_be_run_ends_its_worker(self):
        process, sock = self.begin("json", program=os.devnull)
        self.assertIn("ready", self.heard(sock))
        control, link, _ = self.ask(sock)
        self.assertEqual(control.recv(10), b"")
        while link.recv(10_000):  # skip earlier frames
            pass
        self.assertIsNone(process.poll())


if __name__ == "__main__":
    unittest.main()
