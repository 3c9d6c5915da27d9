"""Tests models that do unusual things: start processes and threads, change signals and descriptors, give odd answers."""
import os
import signal
import unittest

from native_case import NativeCase, SharedGate, body_of, is_alive

MODEL = '''
import asyncio, logging, multiprocessing, random, subprocess, threading
from turnpike import Response


def square(x):
    return x * x


class Wild(turnpike.Model):
    example = {"do": "echo"}

    def predict(self, task):
        return getattr(self, "do_" + task["do"])(task)

    def request(self, req):
        if req.path == "/stream":
            return (f"{number}\\n" for number in range(3))
        if req.path.startswith("/status/"):
            return Response(b"", int(req.path[8:]))
        if req.path == "/page":
            return Response("<p>page</p>", 200, {}, "text/html")
        return Response("nothing", 404)

    def do_echo(self, task):
        return {"pid": os.getpid(), "folder": os.getcwd()}

    def do_wait(self, task):
        return wait(task)

    def do_pool(self, task):
        with multiprocessing.get_context(task["method"]).Pool(2) as pool:
            return pool.map(square, [1, 2, 3])

    def do_subprocess(self, task):
        listed = subprocess.run(["ls", "-l", "/proc/self/fd"], capture_output=True, text=True,
                                close_fds=False).stdout
        return {"sockets": listed.count("socket:")}

    def do_asyncio(self, task):
        async def later():
            await asyncio.sleep(0)
            return turnpike.job().id
        return {"id": asyncio.run(later())}

    def do_threads(self, task):
        found = []
        import contextvars
        thread = threading.Thread(target=contextvars.copy_context().run,
                                  args=(lambda: found.append(turnpike.job().id),))
        thread.start()
        thread.join()
        return {"id": found[0]}

    def do_chdir(self, task):
        os.chdir("/")
        return {}

    def do_stdin(self, task):
        return {"read": sys.stdin.read()}

    def do_signals(self, task):
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
        return {}

    def do_close(self, task):
        os.closerange(3, 256)
        return {}

    def do_log(self, task):
        logging.warning("of the logging module")
        print("of print")
        sys.stderr.write("half a line")
        return {}

    def do_fields(self, task):
        return Response("x", 200, {"X-Odd": task["value"]})

    def do_many_fields(self, task):
        return Response("x", 200, [(f"X-{n}", "y" * task["size"]) for n in range(task["count"])])

    def do_field(self, task):
        return Response("x", 200, {task["name"]: "mine"})

    def do_cookies(self, task):
        return Response("x", 200, [("Set-Cookie", "a=1"), ("Set-Cookie", "b=2")])

    def do_recursion(self, task):
        return self.do_recursion(task)

    def do_deep(self, task):
        deep = []
        for _ in range(100_000):
            deep = [deep]
        return deep

    def do_keyboard(self, task):
        raise KeyboardInterrupt

    def do_base(self, task):
        class Odd(BaseException):
            def __str__(self):
                raise RuntimeError("no words")
        raise Odd

    def do_surrogate(self, task):
        return {"text": "\\ud800"}

    def do_generator_exit(self, task):
        raise GeneratorExit
'''


class Wild(SharedGate):
    def open(self):
        return self.serve(self.model(MODEL))

    def tearDown(self):
        self.assertEqual(self.ask_model(do="echo").status, 200)
        self.assertEqual(self.gate.lane(0)["restarts"], 0)

    def test_the_model_may_start_processes(self):
        for method in ("fork", "spawn", "forkserver"):
            self.assertEqual(self.ask_model(do="pool", method=method).json(), [1, 4, 9])

    def test_processes_that_the_model_starts_do_not_get_the_socket(self):
        self.assertEqual(self.ask_model(do="subprocess").json(), {"sockets": 0})

    def test_an_event_loop_and_threads_of_its_own_know_the_job(self):
        for what in ("asyncio", "threads"):
            answer = self.ask_model(do=what)
            self.assertEqual(answer.json(), {"id": answer.header("turnpike-job")})

    def test_its_input_is_empty(self):
        self.assertEqual(self.ask_model(do="stdin").json(), {"read": ""})

    def test_what_the_model_logs_is_in_the_log(self):
        self.ask_model(do="log")
        self.wait_log(self.gate, "of the logging module")
        self.wait_log(self.gate, "of print")

    def test_fields_that_would_split_an_answer_are_refused(self):
        for value in ("a\r\nX-Evil: 1", "a\n", "\0", "€"):
            answer = self.ask_model(do="fields", value=value, status=500)
            self.assert_problem(answer, 500, "model-failed")
            self.assertIsNone(answer.header("x-evil"))

    def test_many_fields_and_too_many(self):
        for count, size in ((500, 10), (1, 60_000)):
            answer = self.ask_model(do="many_fields", count=count, size=size)
            self.assertEqual(answer.header(f"x-{count - 1}"), "y" * size)
        answer = self.ask_model(do="many_fields", count=1, size=70_000, status=500)
        self.assert_problem(answer, 500, "model-failed")

    def test_a_model_cannot_set_fields_that_belong_to_the_gate(self):
        for name in ("Content-Length", "Transfer-Encoding", "Connection"):
            answer = self.ask_model(do="field", name=name, status=500)
            self.assert_problem(answer, 500, "model-failed")
        for name in ("Keep-Alive", "Upgrade", "Trailer", "Turnpike-Lane", "Turnpike-Job"):
            self.assertNotEqual(self.ask_model(do="field", name=name).header(name), "mine")

    def test_a_field_may_come_twice(self):
        answer = self.ask_model(do="cookies")
        self.assertEqual([value for name, value in answer.headers if name.lower() == "set-cookie"],
                         ["a=1", "b=2"])

    def test_odd_exceptions_are_failures_like_others(self):
        for what in ("recursion", "base", "generator_exit", "surrogate"):
            self.assert_problem(self.ask_model(do=what, status=500), 500, "model-failed")

    def test_an_answer_too_deep_for_json_is_a_failure(self):
        self.assert_problem(self.ask_model(do="deep", status=500), 500, "model-failed")

    def test_head_of_a_stream_has_no_body(self):
        client = self.gate.connect()
        client.request("HEAD", "/stream")
        self.assertEqual(client.answer("HEAD").status, 200)
        client.request("GET", "/stream")
        self.assertEqual(client.answer().body, b"0\n1\n2\n")

    def test_answers_that_have_no_body(self):
        client = self.gate.connect()
        for status in (204, 304):
            client.request("GET", f"/status/{status}")
            self.assertEqual(client.answer().status, status)
        client.request("GET", "/status/200")
        self.assertEqual(client.answer().header("content-length"), "0")

    def test_clients_of_http_1_0_get_streams_too(self):
        client = self.gate.connect()
        client.send(b"GET /stream HTTP/1.0\r\nHost: localhost\r\n\r\n")
        self.assertEqual(client.answer().body, b"0\n1\n2\n")

    def test_jobs_that_follow_each_other_on_a_connection_without_waiting(self):
        client = self.gate.connect()
        for _ in range(10):
            client.request("POST", "/predict", body_of({"do": "echo"}))
        pids = {client.answer().json()["pid"] for _ in range(10)}
        self.assertEqual(len(pids), 1)


class Costly(NativeCase):
    """The model ends or harms its own worker. No other job is affected."""

    def open(self, **pool):
        return self.serve(self.model(MODEL), pool={"crash_limit": 16, **pool})

    def test_a_model_that_closes_every_descriptor_is_retired(self):
        gate = self.open()
        answer = gate.post({"do": "close"})
        self.assert_problem(answer, 502, "poison")
        gate.wait_ready()
        self.assertEqual(gate.post({"do": "echo"}).status, 200)

    def test_a_keyboard_interrupt_of_its_own_is_a_death(self):
        gate = self.open()
        self.assert_problem(gate.post({"do": "keyboard"}), 502, "poison")
        self.wait_log(gate, "the model ended its own process, by KeyboardInterrupt")

    def test_a_worker_that_ignores_signals_still_stops_when_it_is_told(self):
        gate = self.open(stop_grace="20s")
        gate.post({"do": "signals"})
        pid = gate.lane(0)["pid"]
        self.assertEqual(self.stop(gate), 0)
        self.assertFalse(is_alive(pid))

    def test_a_worker_that_is_interrupted_from_outside_is_back(self):
        gate = self.open()
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            before = gate.lane(0)
            os.kill(before["pid"], number)
            self.wait_lane_where(gate, 0, lambda lane: lane["pid"] != before["pid"] and
                                 lane["state"] == "ready", "the lane is back")
        self.assertEqual(gate.post({"do": "echo"}).status, 200)

    def test_the_next_worker_starts_where_the_first_did(self):
        gate = self.open()
        folder = gate.post({"do": "echo"}).json()["folder"]
        gate.post({"do": "chdir"})
        self.order(gate, "restart", "0")
        self.wait_back(gate)
        self.assertEqual(gate.post({"do": "echo"}).json()["folder"], folder)

    def test_cheap_requests_go_beside_the_slots(self):
        for slots in (1, 2):
            gate = self.open(slots=slots, aside=["GET /page"])
            jobs = [self.begin_job(gate) for _ in range(slots)]
            self.assertEqual(gate.ask("GET", "/page").body, b"<p>page</p>")
            for future, go in jobs:
                self.assertFalse(future.done())
                go.touch()
                self.assertEqual(future.result().status, 200)

    def test_priorities_and_a_full_queue_work_as_for_other_workers(self):
        gate = self.serve(self.model(MODEL), sections={"queue": {"jobs_max": 2}})
        held, go = self.begin_job(gate)
        low = self.in_thread(gate.post, {"do": "echo"}, headers=[("Turnpike-Priority", "1")])
        gate.wait_queued(1)
        high = self.in_thread(gate.post, {"do": "echo"}, headers=[("Turnpike-Priority", "9")])
        gate.wait_queued(2)
        self.assert_problem(gate.post({"do": "echo"}), 429, "queue-full")
        go.touch()
        for future in (held, low, high):
            self.assertEqual(future.result().status, 200)
        ended = [job["id"] for job in gate.ended_jobs()]
        self.assertLess(ended.index(low.result().header("turnpike-job")),
                        ended.index(high.result().header("turnpike-job")), "the job with the higher priority must end first")


if __name__ == "__main__":
    unittest.main()
