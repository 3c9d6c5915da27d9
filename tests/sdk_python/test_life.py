"""A worker from hello to its end: loading, pings, stacks, stop, the gate's disappearance."""
import os
import resource
import unittest
from pathlib import Path

from conversation import SDK, TalkCase, WorkerGone, frames


def size_of(pid):
    """Returns the bytes of the process's address space. A new thread needs some MiB more for its stack."""
    return int(Path(f"/proc/{pid}/statm").read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")


def limit_memory(pid, size):
    resource.prlimit(pid, resource.RLIMIT_AS, (size, resource.RLIM_INFINITY))


WAITS = """
import turnpike
class Waits(turnpike.Model):
    def unload(self):
        print("unloaded")
    def predict(self, x):
        turnpike.job().progress(0, "began")
        with open(x) as fifo:
            return {"read": fifo.read()}
"""
LOADS = """
import turnpike
class Loads(turnpike.Model):
    def load(self, lane):
        lane.progress(0.25, "layers")
        with open({path!r}) as fifo:
            fifo.read()
    def predict(self, x):
        return x
"""


class Loading(TalkCase):
    def test_it_says_hello_before_it_imports_and_tells_how_far_it_is(self):
        talk = self.start("""
            import turnpike
            class Slow(turnpike.Model):
                def load(self, lane):
                    lane.progress(0.5, "half")
                    lane.progress(None, "and so on")
                def predict(self, x): return x
        """)
        hello = talk.greet()
        self.assertEqual((hello.magic, hello.lowest, hello.highest), (b"turnpike", 1, 1))
        self.assertRegex(hello.sdk, r"turnpike-python \S+, CPython 3\.")
        said = [talk.gate.next() for _ in range(4)]
        self.assertEqual([(frame.phase, frame.permille, frame.text) for frame in said],
                         [(0, 65535, ""), (1, 65535, ""), (1, 500, "half"), (1, 65535, "and so on")])
        self.assertEqual(talk.gate.next().name, "ready")

    def test_a_load_that_fails_ends_at_once_but_runs_exit_functions(self):
        talk = self.start("""
            import atexit, threading, time
            import turnpike
            class Slow:
                def __del__(self): time.sleep(60)
            kept = Slow()
            atexit.register(print, "the exit function ran")
            class Fails(turnpike.Model):
                def load(self, lane):
                    threading.Thread(target=time.sleep, args=(60,)).start()
                    raise ValueError("no weights")
                def predict(self, x): return x
        """)
        talk.greet()
        self.assert_ends(talk, 1)
        self.assertIn("no weights", talk.stderr())
        self.assertIn("the exit function ran", talk.stdout())

    def test_the_lane_says_where_it_is(self):
        source = """
            def load(lane):
                global seen
                seen = [lane.device, lane.devices, lane.index, lane.pool]
            def predict(x): return seen
        """
        self.assertEqual(self.serve(source, lane=3, gpus=2, pool="chat").answer(1), ["cuda:0", ["cuda:0", "cuda:1"], 3, "chat"])
        self.assertEqual(self.serve(source).answer(1), ["cpu", ["cpu"], 0, "default"])

    def test_pings_and_stacks_are_answered_while_it_loads(self):
        fifo = self.fifo()
        talk = self.start(LOADS.format(path=str(fifo)))
        talk.greet()
        while talk.gate.until("loading").text != "layers":
            pass
        talk.order(frames.PING, 71)
        self.assertEqual(talk.gate.next().id, 71)
        talk.order(frames.ASK_STACKS, 72)
        text = talk.gate.next().rest.decode()
        self.assertIn("in load", text)
        self.assertNotIn("turnpike-watch", text)
        self.assertNotIn("turnpike_worker.py", text, "the steps before the model's are nobody's concern")
        self.release(fifo)
        self.assertEqual(talk.gate.next().name, "ready")
        self.assertEqual(talk.answer([1]), [1])

    def test_stacks_that_can_not_be_shown_are_an_answer_as_well(self):
        talk = self.serve("import traceback\ntraceback.extract_stack = None\ndef predict(x): return x")
        talk.order(frames.ASK_STACKS, 72)
        stacks = talk.gate.next()
        self.assertEqual((stacks.name, stacks.id), ("stacks", 72))
        self.assertIn(b"can't be shown: TypeError", stacks.rest)
        self.assertEqual(talk.answer(7), 7)

    def test_stop_ends_a_load(self):
        talk = self.start(LOADS.format(path=str(self.fifo())))
        talk.greet()
        while talk.gate.until("loading").text != "layers":
            pass
        self.assertEqual(talk.stop(), 0)

    def test_a_gate_that_goes_ends_a_load(self):
        talk = self.start(LOADS.format(path=str(self.fifo())))
        talk.greet()
        while talk.gate.until("loading").text != "layers":
            pass
        talk.gate.sock.close()
        self.assertEqual(talk.exit_code(), 0)

    def test_a_load_that_raises_ends_the_worker_with_the_traceback(self):
        talk = self.start("def load(lane): raise RuntimeError('no weights')\ndef predict(x): return x")
        talk.greet()
        self.assertEqual(talk.exit_code(), 1)
        self.assertIn("in load", talk.stderr())
        self.assertIn("RuntimeError: no weights", talk.stderr())
        self.assertNotIn("--python", talk.stderr())
        self.assertNotIn(str(SDK), talk.stderr())

    def test_an_import_error_names_the_interpreter(self):
        talk = self.start("import nowhere_to_be_found\ndef predict(x): return x")
        talk.greet()
        self.assertEqual(talk.exit_code(), 1)
        for words in ("No module named 'nowhere_to_be_found'", "model.py", os.path.basename(os.path.realpath(os.sys.executable))[:6],
                      "choose another Python with --python PATH"):
            self.assertIn(words, talk.stderr())

    def test_a_syntax_error_is_shown_with_its_place(self):
        talk = self.start("def predict(x) return x")
        talk.greet()
        self.assertEqual(talk.exit_code(), 1)
        self.assertRegex(talk.stderr(), r'model\.py", line 1')

    def test_what_the_user_configured_counts(self):
        ready = self.start("slots = 3\nbatch = 4\ndef predict(x): return x").ready()
        self.assertEqual((ready.slots, ready.batch), (3, 4))
        ready = self.start("slots = 3\nbatch = 4\ndef predict(x): return x").ready(slots=5, batch=2)
        self.assertEqual((ready.slots, ready.batch), (5, 2))

    def test_a_configured_batch_without_effect_is_reported(self):
        talk = self.start("def predict(x): return x")
        ready = talk.ready(batch=16)
        self.assertEqual((ready.slots, ready.batch), (1, 1))
        self.assertEqual(talk.answer(7), 7)
        self.assertRegex(talk.stderr(), r"^turnpike: batch = 16 of the configuration has no effect: .*\n$")
        for source, batch in (("def predict(x): return x", 1), ("def predict(x): return x", 0), ("batch = 4\ndef predict(x): return x", 16)):
            talk = self.start(source)
            talk.ready(batch=batch)
            self.assertEqual(talk.stderr(), "")

    def test_values_that_ready_cannot_carry_are_refused_with_a_message(self):
        request = "import turnpike\nexample = turnpike.Request(body=b'', headers={'Content-Type': %r})"
        for line, words in [("example = 'x' * (1 << 20)", "at most 1048576 are taken"), ("facts = {'a': 'x' * 16384}", "at most 16384 are taken"),
                            (request % "a/b\r\nX-Two: 2", "content type of the example"), (request % ("a" * 256), "content type of the example"),
                            ("example = {1, 2}", "turnpike: the example of model can't be used: a set can't be encoded as JSON"),
                            ("facts = {'a': float('nan')}", "turnpike: the facts of model can't be used: ")]:
            with self.subTest(line[:60]):
                talk = self.start(line + "\ndef predict(x): return x")
                talk.greet()
                self.assertEqual(talk.exit_code(), 1)
                self.assertIn(words, talk.stderr())

    def test_widths_out_of_bounds_are_refused(self):
        for line in ("batch = 0", "slots = 2000", "batch = 'many'"):
            with self.subTest(line):
                talk = self.start(line + "\ndef predict(x): return x")
                talk.greet()
                self.assertEqual(talk.exit_code(), 1)
                self.assertIn("1 … 1024", talk.stderr())


class Serving(TalkCase):
    def test_pings_are_answered_while_it_is_idle_and_while_it_computes(self):
        fifo = self.fifo()
        talk = self.serve(WAITS)
        talk.order(frames.PING, 5)
        self.assertEqual((talk.gate.next().id), 5)
        number = talk.send(str(fifo))
        self.assertEqual(talk.gate.next().text, "began")
        for ping in (2 ** 63 + 9, 10):
            talk.order(frames.PING, ping)
            pong = talk.gate.next()
            self.assertEqual((pong.name, pong.id), ("pong", ping))
        self.release(fifo)
        end = talk.gate.next()
        self.assertEqual((end.id, end.body), (number, b'{"read":"go"}'))
        talk.order(frames.PING, 11)
        self.assertEqual(talk.gate.next().id, 11)

    def test_pings_are_answered_while_python_itself_computes(self):
        talk = self.serve("""
            import turnpike
            def predict(x):
                turnpike.job().progress(0, "began")
                n = 0
                while not turnpike.job().cancelled:
                    n += 1
                return n > 0
        """)
        number = talk.send(1)
        talk.gate.next()
        talk.order(frames.PING, 3)
        self.assertEqual(talk.gate.next().name, "pong")
        talk.order(frames.CANCEL, number)
        self.assertEqual(talk.gate.next().body, b"true")

    def test_stacks_show_the_line_the_model_is_at(self):
        fifo = self.fifo()
        talk = self.serve(WAITS)
        talk.order(frames.ASK_STACKS, 1)
        self.assertIn("thread MainThread:", talk.gate.next().rest.decode())
        talk.send(str(fifo))
        talk.gate.next()
        for number in range(2, 10_000):  # the model may take a while to get there
            talk.order(frames.ASK_STACKS, number)
            stacks = talk.gate.next()
            self.assertEqual((stacks.name, stacks.id), ("stacks", number))
            if "with open(x) as fifo:" in stacks.rest.decode():
                break
        self.assertIn("with open(x) as fifo:", stacks.rest.decode())
        self.assertNotIn("turnpike-watch", stacks.rest.decode())
        self.release(fifo)

    def test_stop_of_an_idle_worker_unloads_and_ends_it(self):
        talk = self.serve(WAITS)
        self.assertEqual(talk.stop(), 0)
        self.assertEqual(talk.stdout(), "unloaded\n")

    def test_stop_waits_a_little_for_a_job(self):
        fifo = self.fifo()
        talk = self.serve("import turnpike._worker.watch\nturnpike._worker.watch.STOP_PATIENCE_S = 600\n" + WAITS)  # long enough for a busy machine
        talk.send(str(fifo))
        talk.gate.next()
        talk.order(frames.STOP)
        self.release(fifo)
        self.assertEqual(talk.gate.next().name, "done")
        self.assertEqual(talk.exit_code(), 0)
        self.assertEqual(talk.stdout(), "unloaded\n")

    def test_stop_does_not_wait_for_a_job_that_never_ends(self):
        talk = self.serve(WAITS)
        talk.send(str(self.fifo()))
        talk.gate.next()
        self.assertEqual(talk.stop(), 0)

    def test_a_gate_that_goes_ends_the_worker_idle_or_not(self):
        for busy in (False, True):
            with self.subTest(busy=busy):
                talk = self.serve(WAITS)
                if busy:
                    talk.send(str(self.fifo()))
                    talk.gate.next()
                talk.gate.sock.close()
                self.assertEqual(talk.exit_code(), 0)

    def test_threads_that_never_end_do_not_keep_the_process(self):
        talk = self.serve("""
            import threading
            threading.Thread(target=threading.Event().wait).start()
            def predict(x): return x
        """)
        self.assertEqual(talk.stop(), 0)

    def test_a_thousand_jobs_after_each_other_and_pings_between_them(self):
        talk = self.serve("def predict(x): return x + 1")
        for number in range(1000):
            self.assertEqual(talk.answer(number), number + 1)
            if number % 100 == 0:
                talk.order(frames.PING, number + 1)
                self.assertEqual(talk.gate.next().id, number + 1)

    def test_asides_that_come_while_it_computes_are_answered_beside(self):
        fifo = self.fifo()
        talk = self.serve(WAITS)
        first = talk.send(str(fifo))
        talk.gate.next()
        second = talk.send(method="GET", target="/predict", purpose=frames.ASIDE)
        third = talk.send(body=b"", purpose=frames.ASIDE)
        ends = {end.id: end.name for end in (talk.gate.next(), talk.gate.next())}
        self.assertEqual(ends, {second: "done", third: "failed"})
        self.release(fifo)
        end = talk.gate.next()
        self.assertEqual((end.id, end.name), (first, "done"))

    def test_an_aside_for_which_no_thread_can_be_started_fails_alone(self):
        for slots in (1, 2):
            with self.subTest(slots=slots):
                fifo = self.fifo()
                talk = self.serve(WAITS, slots=slots)
                first = talk.send(str(fifo))
                talk.gate.next()
                limit_memory(talk.process.pid, size_of(talk.process.pid) + (4 << 20))
                for _ in range(3):
                    refused = talk.ask(method="GET", target="/predict", purpose=frames.ASIDE)
                    self.assertEqual((refused.name, refused.why), ("failed", frames.EXCEPTION))
                    self.assertIn("no thread could be started for this aside", refused.message)
                limit_memory(talk.process.pid, resource.RLIM_INFINITY)
                self.assertEqual(talk.ask(method="GET", target="/predict", purpose=frames.ASIDE).name, "done")
                self.release(fifo)
                end = talk.gate.next()
                self.assertEqual((end.id, end.name), (first, "done"))
                self.assertEqual(talk.stop(), 0)

    def test_without_a_gate_the_script_says_how_it_is_used(self):
        import subprocess
        import sys
        ended = subprocess.run([sys.executable, "-B", str(SDK / "turnpike_worker.py"), "model.py"], capture_output=True, text=True)
        self.assertEqual(ended.returncode, 2)
        self.assertIn("python3 -m turnpike check", ended.stderr)

    def test_the_socket_is_not_inherited_by_what_the_model_starts(self):
        talk = self.serve("""
            import os, subprocess
            def predict(x):
                seen = subprocess.run(["ls", "-l", "/proc/self/fd"], capture_output=True, close_fds=False, text=True).stdout
                return {"sockets": seen.count("socket:"), "told": "TURNPIKE_SOCKET" in os.environ}
        """)
        self.assertEqual(talk.answer(1), {"sockets": 0, "told": False})


class Gone(TalkCase):
    def test_the_end_of_a_worker_ends_the_conversation(self):
        talk = self.serve("def predict(x): return x")
        talk.order(frames.STOP)
        with self.assertRaises(WorkerGone):
            talk.gate.next()


if __name__ == "__main__":
    unittest.main()
