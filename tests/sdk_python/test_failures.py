"""Models that misbehave: each failure is reported with its right reason, and affects only its own job."""
import json
import os
import signal
import sys
import unittest

from conversation import SDK, TalkCase, WorkerGone, frames

RAISES = """
import os, sys, turnpike
def kind(module, name, base=RuntimeError):
    return type(name, (base,), {{"__module__": module}})
def coded(code, module="torch", name="AcceleratorError", attribute="error_code"):
    error = kind(module, name)("told by a code")
    setattr(error, attribute, code)
    return error
def chained(first, then):
    try:
        raise first
    except Exception as error:
        raise then from error
class Raises(turnpike.Model):
    {extra}
    {define} predict(self, x):
        exec(x)
        return "fine"
"""


class Failures(TalkCase):
    def model(self, define="def", extra="pass", **welcome):
        return self.serve(RAISES.format(define=define, extra=extra), **welcome)

    def test_the_client_gets_type_and_message_and_the_log_the_traceback(self):
        for define, slots in (("def", 1), ("def", 2), ("async def", 1)):
            with self.subTest(define, slots=slots):
                talk = self.model(define, slots=slots)
                end = talk.ask("{}['key']", name="job-name")
                self.assert_fails(end, frames.EXCEPTION, "'key'")
                self.assertEqual(end.type, "KeyError")
                self.assertIn("job job-name: Traceback", talk.stderr())
                self.assertIn("exec(x)", talk.stderr())
                self.assertNotIn(str(SDK), talk.stderr())
                self.assertEqual(talk.ask("pass").body, b"fine")

    def test_the_log_calls_a_proof_a_proof(self):
        talk = self.model()
        self.assert_fails(talk.ask("{}['key']", name="proof", purpose=frames.PROOF), frames.EXCEPTION)
        self.assertTrue(talk.stderr().startswith("proof: Traceback"), talk.stderr())

    def test_bad_input_is_the_clients_fault_and_is_not_logged(self):
        talk = self.model()
        end = talk.ask("raise turnpike.BadInput('x must be positive')")
        self.assert_fails(end, frames.BAD_INPUT, "x must be positive")
        self.assertEqual((end.type, talk.stderr()), ("BadInput", ""))

    def test_types_of_frameworks_tell_of_the_gpu_on_a_lane_that_has_one(self):
        talk, cpu = self.model(gpus=1), self.model()
        for code, why in [
                ("raise kind('torch', 'OutOfMemoryError')('2 GiB')", frames.OUT_OF_MEMORY),
                ("raise kind('torch.cuda', 'OutOfMemoryError')('2 GiB')", frames.OUT_OF_MEMORY),
                ("raise kind('cupy.cuda.memory', 'OutOfMemoryError')(1)", frames.OUT_OF_MEMORY),
                ("raise kind('pycuda._driver', 'MemoryError', MemoryError)(1)", frames.OUT_OF_MEMORY),
                ("raise kind('tensorflow.python.framework.errors_impl', 'ResourceExhaustedError')(1)", frames.OUT_OF_MEMORY),
                ("class Mine(kind('torch', 'OutOfMemoryError')): pass\nraise Mine('a subclass')", frames.OUT_OF_MEMORY),
                ("chained(kind('torch', 'OutOfMemoryError')('2 GiB'), ValueError('layer 3'))", frames.OUT_OF_MEMORY),
                ("raise coded(710)", frames.UNHEALTHY),
                ("raise coded(700)", frames.UNHEALTHY),
                ("raise coded(214)", frames.UNHEALTHY),
                ("raise coded(719, 'cupy_backends.cuda.api.runtime', 'CUDARuntimeError', 'status')", frames.UNHEALTHY),
                ("raise coded(700, 'numba.cuda.cudadrv.driver', 'CudaAPIError', 'code')", frames.UNHEALTHY),
                ("raise coded(2)", frames.OUT_OF_MEMORY),
                ("raise coded(209)", frames.EXCEPTION),  # no kernel image: the device is well
                ("raise coded('710')", frames.EXCEPTION),
                ("raise coded(None)", frames.EXCEPTION),
                ("class Mine(type(coded(716))): error_code = 716\nraise Mine('a subclass')", frames.UNHEALTHY),
                ("chained(coded(716), KeyError('x'))", frames.UNHEALTHY),
                ("try:\n  raise coded(716)\nexcept Exception:\n  {}['the context of a second one']", frames.UNHEALTHY),
                ("try:\n  raise coded(716)\nexcept Exception:\n  raise ValueError('told apart') from None", frames.EXCEPTION)]:
            with self.subTest(code):
                self.assert_fails(talk.ask(code), why)
                self.assert_fails(cpu.ask(code), frames.EXCEPTION)

    def test_the_sdks_own_types_count_on_every_lane(self):
        for talk in (self.model(gpus=1), self.model()):
            for code, why in [
                    ("raise turnpike.NonFinite('loss is nan')", frames.NON_FINITE),
                    ("raise turnpike.Unhealthy('the camera is gone')", frames.UNHEALTHY),
                    ("class Mine(turnpike.Unhealthy): pass\nraise Mine('a subclass')", frames.UNHEALTHY),
                    ("chained(turnpike.Unhealthy('the camera is gone'), ValueError('frame 3'))", frames.UNHEALTHY),
                    ("chained(turnpike.Unhealthy('the camera is gone'), turnpike.BadInput('frame 3'))", frames.BAD_INPUT),
                    ("raise MemoryError('host')", frames.EXCEPTION),
                    ("bytes(1 << 62)", frames.EXCEPTION),  # as a client asks for a size
                    ("raise turnpike.Cancelled('by itself')", frames.EXCEPTION)]:
                with self.subTest(code):
                    self.assert_fails(talk.ask(code), why)

    @unittest.skipIf(sys.version_info < (3, 11), "there are no groups of exceptions")
    def test_members_of_a_group_count(self):
        talk = self.model(gpus=1)
        self.assert_fails(talk.ask("raise ExceptionGroup('of tasks', [KeyError(1), ExceptionGroup('', [coded(710)])])"), frames.UNHEALTHY)
        self.assert_fails(talk.ask("raise ExceptionGroup('gpu is lost', [KeyError('cuda out of memory')])"), frames.EXCEPTION)

    def test_words_tell_nothing_because_a_client_may_have_sent_them(self):
        for gpus in (0, 1):
            talk = self.model(gpus=gpus)
            for text in json.loads((SDK.parent / "conformance" / "gpu_errors.json").read_text()):
                for code in ("raise RuntimeError(W)", "int(W)", "{}[W]", "raise kind('mine', 'OutOfMemoryError')(W)",
                             "raise kind('mine', W)(W)", "chained(ValueError(W), KeyError(W))", "raise OSError(W.encode())",
                             "class Odd(Exception):\n  def __str__(self): return W\nraise Odd"):
                    with self.subTest(text, code=code, gpus=gpus):
                        self.assertEqual(talk.ask(f"W = {text!r}\n{code}").why, frames.EXCEPTION)

    def test_out_of_memory_drops_what_the_traceback_held_and_empties_the_cache(self):
        talk = self.serve("""
            import sys, types, weakref
            sys.modules["torch"] = torch = types.ModuleType("torch")
            class OutOfMemoryError(RuntimeError): __module__ = "torch"
            torch.cuda = types.SimpleNamespace(empty_cache=lambda: print("emptied"))
            class Tensor: pass
            held = None
            def compute():
                global held
                activations = Tensor()
                activations.itself = activations
                held = weakref.ref(activations)
                raise OutOfMemoryError("CUDA out of memory")
            def predict(x):
                if x == "ask":
                    return {"alive": held() is not None}
                try:
                    compute()
                except RuntimeError as error:
                    raise ValueError("while computing") from error
        """, gpus=1)
        end = talk.ask("compute")
        self.assert_fails(end, frames.OUT_OF_MEMORY, "while computing")
        self.assertEqual(talk.answer("ask"), {"alive": False})
        self.assertEqual(talk.stdout(), "emptied\n")
        self.assertIn("CUDA out of memory", talk.stderr())

    def test_exceptions_that_can_not_even_be_shown(self):
        talk = self.model(extra="class Mute(Exception):\n        def __str__(self): raise OSError('no')")
        end = talk.ask("raise self.Mute()")
        self.assertEqual((end.why, end.type), (frames.EXCEPTION, "Mute"))
        end = talk.ask("raise ValueError('\\ud800' + 'x' * 100_000)")
        self.assertEqual(len(end.message), 64 * 1024)
        end = talk.ask("raise type('N' * 300, (Exception,), {})('é' * 40_000)")
        self.assertEqual((len(end.type), len(end.message.encode())), (255, 64 * 1024))
        self.assertEqual(talk.ask("pass").body, b"fine")

    def test_sys_exit_ends_the_process_with_that_code(self):
        for define, slots in (("def", 1), ("def", 2), ("async def", 1)):
            with self.subTest(define, slots=slots):
                talk = self.model(define, slots=slots)
                talk.send("sys.exit(7)")
                self.assertEqual(talk.exit_code(), 7)
                self.assertIn("the model ended its own process, by sys.exit(7)", talk.stderr())
                with self.assertRaises(WorkerGone):
                    talk.gate.next()

    def test_a_segmentation_fault_leaves_its_stack_in_the_log(self):
        talk = self.model()
        talk.send("os.kill(os.getpid(), 11)")
        self.assertEqual(talk.exit_code(), -signal.SIGSEGV)
        self.assertIn("Segmentation fault", talk.stderr())
        self.assertIn("in predict", talk.stderr())

    def test_a_forked_child_that_comes_back_does_not_answer(self):
        for define in ("def", "async def"):
            with self.subTest(define):
                talk = self.model(define)
                end = talk.ask("pid = os.fork()\nif pid: print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))\nelse: turnpike.job().progress(1)")
                self.assertEqual(end.body, b"fine")
                self.assertEqual(talk.stdout(), "1\n")
                self.assertIn("a child that the model forked came back from the model", talk.stderr())
                self.assertEqual(talk.ask("pass").body, b"fine")

    def test_a_child_left_behind_does_not_hold_the_socket(self):
        talk = self.model()
        end = talk.ask("""
r, w = os.pipe()
pid = os.fork()
if not pid:
    os.write(w, b"here")
    os.execvp("sleep", ["sleep", "600"])
os.read(r, 4)
print(pid, flush=True)
""")
        self.assertEqual(end.body, b"fine")
        child = int(talk.stdout())
        self.addCleanup(os.kill, child, signal.SIGKILL)
        talk.process.kill()
        with self.assertRaises(WorkerGone):
            talk.gate.next()
        os.kill(child, 0)  # it is alive, and the gate still sees that the worker is gone

    def test_a_flood_of_prints_is_just_a_flood_of_prints(self):
        talk = self.model()
        self.assertEqual(talk.ask("for n in range(50_000): print('x' * 50)").body, b"fine")
        self.assertEqual(len(talk.stdout()), 50_000 * 51)

    def test_a_model_that_closed_its_stderr_still_fails_properly(self):
        talk = self.model()
        self.assert_fails(talk.ask("sys.stderr.close()\nraise KeyError(1)"), frames.EXCEPTION)
        self.assertEqual(talk.ask("pass").body, b"fine")


class Breaches(TalkCase):
    """Breaches of the protocol by the gate, which end the worker."""

    def broken(self, breaks, words, **start):
        talk = self.serve("def predict(x): return x", **start)
        breaks(talk.gate)
        self.assertEqual(talk.exit_code(), 1)
        self.assertIn("turnpike: the gate broke the worker protocol: ", talk.stderr())
        self.assertIn(words, talk.stderr())

    def test_malformed_frames(self):
        head = frames.HEADER.pack
        job = frames.JOB.pack
        for name, data, words in [
                ("an unknown kind", head(0, 0x33, 0, 0, 0), "unknown kind"),
                ("too large", head(1 << 30, 2, 0, 0, 1), "header"),
                ("unknown flags", head(0, 4, 2, 0, 1), "header"),
                ("not zero", head(0, 4, 0, 1, 1), "header"),
                ("a ping with a payload", head(1, 4, 0, 0, 1) + b"x", "must not have a payload"),
                ("a ping with a payload that never comes", head(1, 4, 0, 0, 1), "must not have a payload"),
                ("an unknown kind with a payload that never comes", head(9, 0x33, 0, 0, 0), "unknown kind"),
                ("a stop with a payload that never comes", head(4, 8, 0, 0, 0), "must not have a payload"),
                ("a stop with a number", head(0, 8, 0, 0, 1), "wrong number"),
                ("a cancel of nobody", head(0, 3, 0, 0, 0), "wrong number"),
                ("a ping with a descriptor", head(0, 4, 1, 0, 1), "must not have a body"),
                ("a second welcome", head(12, 1, 0, 0, 0) + bytes(12), "twice"),
                ("a short job", head(5, 2, 0, 0, 1) + bytes(5), "shorter"),
                ("a short job that never comes", head(19, 2, 0, 0, 1), "shorter"),
                ("a job without a number that never comes", head(25, 2, 0, 0, 0), "out of turn"),
                ("a job beyond its end", head(20, 2, 0, 0, 1) + job(1, 0, 0, 0, 1, 9, 4, 1, 0, 0), "out of bounds"),
                ("a job without a number", head(25, 2, 0, 0, 0) + job(1, 0, 0, 0, 1, 0, 4, 1, 0, 0) + b"POST/", "out of turn"),
                ("a batch of none", head(25, 2, 0, 0, 1) + job(1, 0, 0, 0, 0, 0, 4, 1, 0, 0) + b"POST/", "out of bounds"),
                ("a batch that begins in its midst", head(25, 2, 0, 0, 1) + job(1, 0, 0, 1, 2, 0, 4, 1, 0, 0) + b"POST/", "batch"),
                ("a job alone that is not the first", head(25, 2, 0, 0, 1) + job(1, 0, 0, 1, 1, 0, 4, 1, 0, 0) + b"POST/", "out of bounds"),
                ("an unknown purpose", head(25, 2, 0, 0, 1) + job(1, 3, 0, 0, 1, 0, 4, 1, 0, 0) + b"POST/", "out of bounds"),
                ("a descriptor that did not come", head(33, 2, 1, 0, 1) + job(1, 0, 0, 0, 1, 0, 4, 1, 0, 0) + b"POST/" + bytes(8), "no descriptor came")]:
            with self.subTest(name):
                self.broken(lambda gate: gate.sock.sendall(data), words)

    def test_descriptors_that_are_not_sealed_memfds(self):
        payload = frames.JOB.pack(1, 0, 0, 0, 1, 0, 4, 1, 0, 0) + b"POST/" + frames.LENGTH.pack(3)
        whole = os.memfd_create("whole", os.MFD_ALLOW_SEALING)
        os.write(whole, b"123")
        null = os.open("/dev/null", os.O_RDONLY)
        self.addCleanup(os.close, whole)
        self.addCleanup(os.close, null)
        self.broken(lambda gate: gate.with_descriptor(1, payload, null), "not a memfd")
        self.broken(lambda gate: gate.with_descriptor(1, payload, whole), "not sealed")
        longer = payload[:-8] + frames.LENGTH.pack(1 << 40)
        from turnpike._worker import memfd
        sealed = memfd.sealed(b"123")
        self.addCleanup(os.close, sealed)
        self.broken(lambda gate: gate.with_descriptor(1, longer, sealed), "another length")

    def test_a_version_that_nobody_offered(self):
        talk = self.start("def predict(x): return x")
        talk.greet(version=2)
        self.assertEqual(talk.exit_code(), 1)
        self.assertIn("version 2", talk.stderr())

    def test_a_welcome_out_of_its_bounds(self):
        for welcome in ({"slots": 1025}, {"batch": 1025}):
            with self.subTest(welcome):
                talk = self.start("def predict(x): return x")
                talk.greet(**welcome)
                self.assertEqual(talk.exit_code(), 1)
                self.assertIn("a welcome is malformed", talk.stderr())
        head = frames.HEADER.pack
        for header, words in [(head(70_000, 1, 0, 0, 0), "must not have a payload of 70000 bytes"), (head(11, 1, 0, 0, 0), "must not have a payload of 11 bytes"),
                              (head(12, 1, 1, 0, 0), "must not have a body"), (head(12, 1, 0, 0, 7), "wrong number 7")]:
            with self.subTest(words):
                talk = self.start("def predict(x): return x")
                talk.gate.next()
                talk.gate.sock.sendall(header)  # and the rest never comes
                self.assertEqual(talk.exit_code(), 1)
                self.assertIn(words, talk.stderr())

    def test_a_breach_is_noticed_while_the_model_computes(self):
        talk = self.serve("import turnpike\ndef predict(x):\n turnpike.job().progress(0)\n open(x).read()")
        talk.send(str(self.fifo()))
        talk.gate.next()
        talk.gate.order(0x77)
        self.assertEqual(talk.exit_code(), 1)
        self.assertIn("unknown kind", talk.stderr())

    def test_frames_split_anywhere_are_whole_frames(self):
        talk = self.serve("def predict(x): return x")
        ours = talk.gate.sock
        data = bytearray()
        talk.gate.sock = type("Keeps", (), {"sendall": lambda self, part: data.extend(part)})()
        for number in range(1, 4):
            talk.gate.job(number, b"[%d]" % number, fields=[("A", "b")])
            talk.gate.order(frames.PING, number)
        talk.gate.sock = ours
        for at in range(len(data)):
            ours.sendall(data[at:at + 1])
        names = sorted((frame.name, frame.id) for frame in (talk.gate.next() for _ in range(6)))
        self.assertEqual(names, [(name, number) for name in ("done", "pong") for number in (1, 2, 3)])


if __name__ == "__main__":
    unittest.main()
