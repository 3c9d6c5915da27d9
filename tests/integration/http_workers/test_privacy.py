"""Tests privacy: a job never reaches another program on the worker's port, and only admins see what workers print."""
import json
import socket
import threading
import unittest

from client import bearer
from harness import wait_until
from started_case import StartedCase


class Stranger:
    """Another program's server, on [::1] and the port of a worker. `heard` holds everything that reached it."""

    def __init__(self, port):
        self.heard = []
        self.socket = socket.create_server(("::1", port), family=socket.AF_INET6)
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self):
        while True:
            try:
                connection, _ = self.socket.accept()
            except OSError:
                return
            with connection:
                self.heard.append(connection.recv(65536))
                connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 8\r\n"
                                   b"Connection: close\r\n\r\nSTRANGER")

    def close(self):
        self.socket.shutdown(socket.SHUT_RDWR)
        self.socket.close()


class Strangers(StartedCase):
    def stranger(self, port):
        try:
            stranger = Stranger(port)
        except OSError as error:
            self.skipTest(f"a server cannot listen on [::1] here: {error}")
        self.addCleanup(stranger.close)
        return stranger

    def stop_listening(self, gate):
        """Makes the worker stop listening until the returned file exists."""
        folder = self.folder_for("port")
        closed, again = folder / "closed", folder / "again"
        gate.post({"closed": str(closed), "wait_for": str(again)}, "/stop-listening")
        wait_until(closed.exists, "the worker has stopped listening")
        return again

    def test_a_stranger_on_the_workers_port_does_no_harm(self):
        """Also if the connection to the worker broke, and the gate connects to the port again."""
        gate = self.up()
        facts = self.facts(gate)
        stranger = self.stranger(int(facts["words"][0]))
        answer = gate.ask("POST", "/", b"no JSON: the connection breaks")
        self.assert_problem(answer, 502, "poison")
        gate.wait_ready()
        self.assertEqual(gate.post({}).json()["pid"], facts["pid"])
        self.assertEqual(stranger.heard, [])

    def test_a_stranger_on_the_workers_port_never_gets_a_job(self):
        """Not even while the worker itself can't be reached. That worker is ended and started again."""
        gate = self.up()
        facts = self.facts(gate)
        stranger = self.stranger(int(facts["words"][0]))
        self.assertEqual(gate.post({}).json()["pid"], facts["pid"])
        again = self.stop_listening(gate)
        jobs = [self.in_thread(gate.post, {"number": number}) for number in range(4)]
        self.wait_lane_where(gate, 0, lambda lane: lane["state"] not in ("ready", "busy"),
                             "the gate notices that the worker does not listen")
        again.touch()
        gate.wait_ready()
        pids = {facts["pid"], gate.lane(0)["pid"]}
        for job in jobs:
            self.assertIn(job.result(30).json()["pid"], pids)
        self.assertEqual(stranger.heard, [])


class PlainKeys(StartedCase):
    def seen_by(self, gate, key, job):
        """Returns all that the gate shows to the owner of a key."""
        pages = ["/-/status", "/-/jobs", f"/-/jobs/{job}", "/-/lanes/0/log", "/-/crashes"]
        answers = [gate.ask("GET", page, None, key) for page in pages]
        answers.append(gate.post({}, "/", key))
        return "".join(answer.body.decode() for answer in answers)

    def test_what_workers_print_and_their_command_are_for_admins(self):
        """Also if a worker dies with a job of this key, and if no lane is left to serve."""
        plain, admin = bearer(self.new_key("plain")), bearer(self.new_key("root", "--admin"))
        worker = self.worker_command("say=SECRET-start", "SECRET-word")
        broken = "test $TURNPIKE_LANE = 1 && echo SECRET-last >&2 && exit 3"  # lane 1 never serves
        gate = self.up(f"{broken}; exec {worker}", is_ready=False, pool={"lanes": 2, "crash_limit": 2})
        wait_until(lambda: gate.ask("GET", "/-/readyz").status == 200, "the gate is ready")
        answer = gate.post({"code": 3, "say": "SECRET-last\n"}, "/die", plain)
        self.assertEqual(answer.status, 502)
        self.assertEqual(gate.ask("POST", "/-/lanes/0/drain", None, admin).status, 202)

        def are_off():
            lanes = gate.ask("GET", "/-/status", None, admin).json()["lanes"]
            return [lane["state"] for lane in lanes] == ["drained", "failed"]
        wait_until(are_off, "no lane is left")
        job = answer.header("turnpike-job")
        self.assertNotIn("SECRET", answer.body.decode())
        self.assertNotIn("SECRET", self.seen_by(gate, plain, job))
        status = gate.ask("GET", "/-/status", None, plain).json()
        self.assertIn("exit code 3", json.dumps(status["lanes"][1]))  # this much is shown to all
        for word in ("SECRET-start", "SECRET-word", "SECRET-last"):
            self.assertIn(word, self.seen_by(gate, admin, job))


if __name__ == "__main__":
    unittest.main()
