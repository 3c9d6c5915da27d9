"""Tests the gate at its limits: memory, descriptors, uploads that are cancelled or grow too large, health and asides."""
import os
import socket
import unittest
from pathlib import Path

from harness import TURNPIKE, Case, Gate, wait_until
from scripted_worker import echo
from memory import GROWTH_MAX, MIB, memory_of


class Memory(Case):
    def assert_growth_below(self, gate, before):
        most = memory_of(gate.process.pid)[1]
        self.assertLess(most - before, GROWTH_MAX)

    def test_queued_bodies_wait_on_disk(self):
        worker = self.scripted()
        gate = self.gate([worker])
        before = memory_of(gate.process.pid)[0]
        running = gate.connect().request("GET", "/running")
        first = worker.take()
        body = os.urandom(8 * MIB)
        waiting = [gate.connect().request("POST", f"/{i}", body) for i in range(40)]
        gate.wait_queued(40)
        self.assert_growth_below(gate, before)
        self.assertEqual(gate.status()["bytes_held"], 40 * 8 * MIB)
        first.reply()
        self.assertEqual(running.answer().status, 200)
        for i in range(40):
            request = worker.take()
            self.assertTrue(request.body == body)
            request.reply(b"%d" % i)
            self.assertEqual(waiting[i].answer().body, b"%d" % i)
        self.assert_growth_below(gate, before)
        self.assertEqual(gate.status()["bytes_held"], 0)

    def test_answers_wait_on_disk_for_slow_readers_while_the_lane_goes_on(self):
        body = os.urandom(30 * MIB)
        gate = self.gate([self.scripted(lambda request: request.reply(body))])
        before = memory_of(gate.process.pid)[0]
        readers = [gate.connect().request("GET", f"/{i}") for i in range(12)]
        wait_until(lambda: gate.lane(0)["finished"] == 12, "the only lane has served all jobs")
        self.assert_growth_below(gate, before)
        for reader in readers:
            self.assertTrue(reader.answer().body == body)
        self.assert_growth_below(gate, before)


class Descriptors(Case):
    def test_a_gate_that_runs_out_of_descriptors_recovers(self):
        worker = self.scripted(echo)
        process = self.spawn("few-files", ["prlimit", "--nofile=128:128", TURNPIKE, "up", "--attach",
                                           worker.url, "--port", "0", "--name", "few-files"])
        self.addCleanup(self.end_gate, process)
        gate = Gate(self, process, worker.url).wait_ready()
        crowd = [gate.connect() for _ in range(200)]
        for i, client in enumerate(crowd[:8]):
            try:
                client.request("POST", "/", b"%d" % i)
            except OSError:
                pass  # the gate closed this connection to make room
        for client in crowd:
            client.close()
        wait_until(lambda: gate.ask("POST", "/", b"again").body == b"again", "the gate serves again")
        self.assertTrue(process.is_running())
        self.assert_idle(process)

    def assert_idle(self, process):
        """Checks that an idle gate does not spin: in one second it uses less than half a second of CPU time."""
        def ticks():
            fields = Path(f"/proc/{process.pid}/stat").read_text().rsplit(")", 1)[1].split()
            return int(fields[11]) + int(fields[12])
        before, start = ticks(), os.times().elapsed
        wait_until(lambda: os.times().elapsed > start + 1, "a second passes")
        self.assertLess((ticks() - before) / os.sysconf("SC_CLK_TCK"), 0.5)


class Uploads(Case):
    def arriving(self, gate, *fields):
        client = gate.connect()
        head = ["POST /up HTTP/1.1", "Host: localhost", "Content-Length: 100", *fields, "", ""]
        client.send("\r\n".join(head).encode() + b"some of it")
        return client, wait_until(gate.live_jobs, "the upload has begun")[0]

    def test_an_upload_can_be_cancelled(self):
        worker = self.scripted(echo)
        gate = self.gate([worker])
        client, job = self.arriving(gate)
        self.assertEqual(job["state"], "arriving")
        self.assertEqual(gate.ask("DELETE", f"/-/jobs/{job['id']}").status, 202)
        self.assert_problem(client.answer(), 409, "cancelled")
        self.assertEqual((gate.status()["bytes_held"], worker.seen), (0, []))

    def test_the_clients_deadline_counts_from_the_arrival(self):
        worker = self.scripted(echo)
        gate = self.gate([worker])
        client, _ = self.arriving(gate, "Turnpike-Timeout: 200ms")
        self.assert_problem(client.answer(), 504, "deadline-passed")
        self.assertEqual((gate.status()["bytes_held"], worker.seen), (0, []))

    def test_a_chunked_upload_that_outgrows_bytes_max_is_refused(self):
        worker = self.scripted()
        gate = self.gate([worker], gate={"body_max": "8MiB"}, queue={"bytes_max": "8MiB"})
        holder = gate.connect().request("POST", "/", bytes(6 * MIB))
        running = worker.take()
        client = gate.connect()
        client.send(b"POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n")
        chunk = b"80000\r\n" + bytes(512 * 1024) + b"\r\n"
        for _ in range(8):
            client.send(chunk)
        self.assert_problem(client.answer(), 429, "bytes-full")
        self.assertEqual((len(gate.live_jobs()), worker.seen), (1, ["POST /"]))
        running.reply(b"fine")
        self.assertEqual(holder.answer().body, b"fine")


class Workers(Case):
    def test_health_is_2xx_to_4xx(self):
        worker = self.scripted()
        worker.health_status = 500
        gate = self.gate([worker], is_ready=False)
        lane = wait_until(lambda: gate.lane(0)["trouble"] and gate.lane(0), "a worker that answers 500 is not healthy")
        self.assertIn("500", lane["trouble"])
        worker.health_status = 404
        gate.wait_ready()

    def test_asides_beyond_their_number_get_503(self):
        worker = self.scripted()
        gate = self.gate([worker], pool={"aside": ["GET /aside"], "aside_max": 2})
        clients = [gate.connect().request("GET", "/aside") for _ in range(2)]
        running = [worker.take() for _ in range(2)]
        self.assert_problem(gate.ask("GET", "/aside"), 503, "aside-full")
        for request in running:
            request.reply(b"fine")
        self.assertEqual([client.answer().body for client in clients], [b"fine"] * 2)

    def test_an_aside_whose_worker_dies_is_not_retried(self):
        worker = self.scripted(lambda request: request.close())
        gate = self.gate([worker], pool={"aside": ["GET /aside"]})
        self.assert_problem(gate.ask("GET", "/aside"), 502, "worker-died")
        self.assertEqual(worker.seen, ["GET /aside"])

    def test_repeated_fields_and_old_characters_come_through(self):
        worker = self.scripted()
        gate = self.gate([worker])
        client = gate.connect().send(b"GET / HTTP/1.1\r\nHost: localhost\r\nX-Name: caf\xe9\r\n\r\n")
        request = worker.take()
        self.assertEqual(request.header("x-name"), "caf\xe9")
        request.send(b"HTTP/1.1 200 OK\r\nSet-Cookie: a=1\r\nSet-Cookie: b=2\r\nX-N: \xe9\r\n"
                     b"Content-Length: 0\r\n\r\n").finish()
        answer = client.answer()
        self.assertEqual([value for name, value in answer.headers if name.lower() == "set-cookie"],
                         ["a=1", "b=2"])
        self.assertEqual(answer.header("x-n"), "\xe9")

    def test_ipv6_on_both_sides(self):
        try:
            listener = socket.create_server(("::1", 0), family=socket.AF_INET6)
        except OSError:
            self.skipTest("this machine has no IPv6")
        listener.close()
        worker = self.scripted(echo, host="::1")
        process = self.spawn_up(["--attach", worker.url, "--host", "::1"])
        wait_until(lambda: "all lanes serve" in process.output(), "the gate serves")
        port = int(process.output().split("http://[::1]:")[1].split()[0])
        with socket.create_connection(("::1", port)) as client:
            client.sendall(b"POST / HTTP/1.1\r\nHost: [::1]:%d\r\nContent-Length: 2\r\n"
                           b"Connection: close\r\n\r\nv6" % port)
            data = client.makefile("rb").read()
        self.assertTrue(data.startswith(b"HTTP/1.1 200 ") and data.endswith(b"v6"), data)


if __name__ == "__main__":
    unittest.main()
