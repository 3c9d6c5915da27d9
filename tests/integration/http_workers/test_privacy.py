"""Who gets to see what is a worker's own: jobs go to nobody else, and what it prints is for admins."""
import json
import socket
import threading
import unittest

from client import bearer
from harness import wait_until
from started_case import StartedCase


class Stranger:
    """Somebody else's server on [::1], on a port of a worker. `heard`: whatever reached it."""

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
            self.skipTest(f"nobody can listen on [::1] here: {error}")
        self.addCleanup(stranger.close)
        return stranger

    def stop_listening(self, gate):
        """Its worker listens no more, until the file that is returned is there."""
        folder = self.folder_for("port")
        closed, again = folder / "closed", folder / "again"
        gate.post({"closed": str(closed), "wait_for": str(again)}, "/stop-listening")
        wait_until(closed.exists, "its worker listens no more")
        return again

    def test_a_stranger_on_the_workers_port_does_no_harm(self):
        """Also when its link broke, so that the gate looks at the port once more."""
        gate = self.up()
        facts = self.facts(gate)
        stranger = self.stranger(int(facts["words"][0]))
        answer = gate.ask("POST", "/", b"no JSON: the connection breaks")
        self.assert_problem(answer, 502, "poison")
        gate.wait_ready()
        self.assertEqual(gate.post({}).json()["pid"], facts["pid"])
        self.assertEqual(stranger.heard, [])

    def test_a_stranger_on_the_workers_port_never_gets_a_job(self):
        """Not even while the worker itself can't be reached; that one is ended, and started anew."""
        gate = self.up()
        facts = self.facts(gate)
        stranger = self.stranger(int(facts["words"][0]))
        self.assertEqual(gate.post({}).json()["pid"], facts["pid"])
        again = self.stop_listening(gate)
        jobs = [self.in_thread(gate.post, {"number": number}) for number in range(4)]
        self.wait_lane_where(gate, 0, lambda lane: lane["state"] not in ("ready", "busy"),
                             "it is noticed that the worker does not listen")
        again.touch()
        gate.wait_ready()
        pids = {facts["pid"], gate.lane(0)["pid"]}
        for job in jobs:
            self.assertIn(job.result(30).json()["pid"], pids)
        self.assertEqual(stranger.heard, [])


class PlainKeys(StartedCase):
    def seen_by(self, gate, key, job):
        """All that the gate tells the owner of a key."""
        pages = ["/-/status", "/-/jobs", f"/-/jobs/{job}", "/-/lanes/0/log", "/-/crashes"]
        answers = [gate.ask("GET", page, None, key) for page in pages]
        answers.append(gate.post({}, "/", key))
        return "".join(answer.body.decode() for answer in answers)

    def test_what_workers_print_and_their_command_are_for_admins(self):
        """Also where a worker dies under a job of that very key, and where none is left to serve."""
        plain, admin = bearer(self.new_key("plain")), bearer(self.new_key("root", "--admin"))
        worker = self.worker_command("say=SECRET-start", "SECRET-word")
        gate = self.up(worker, is_ready=False, pool={"crash_limit": 2, "crash_window": "1h"})
        wait_until(lambda: gate.ask("GET", "/-/readyz").status == 200, "it is ready")
        answer = gate.post({"code": 3, "say": "SECRET-last\n"}, "/die", plain)
        self.assertEqual(answer.status, 502)

        def has_failed():
            status = gate.ask("GET", "/-/status", None, admin).json()
            return status["lanes"][0]["state"] == "failed"
        wait_until(has_failed, "its lane has failed")
        job = answer.header("turnpike-job")
        self.assertNotIn("SECRET", answer.body.decode())
        self.assertNotIn("SECRET", self.seen_by(gate, plain, job))
        status = gate.ask("GET", "/-/status", None, plain).json()
        self.assertIn("exit code 3", json.dumps(status["lanes"][0]))  # so much is for all
        for word in ("SECRET-start", "SECRET-word", "SECRET-last"):
            self.assertIn(word, self.seen_by(gate, admin, job))


if __name__ == "__main__":
    unittest.main()
