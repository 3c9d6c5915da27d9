"""Tests that a program which takes a worker's port or socket gets nothing: each new connection to a worker is checked. A worker that
makes a new listener itself goes on."""
import os
import unittest

from harness import HERE, PYTHON, Process, numbers, wait_until
from started_case import StartedCase

WORKER = f"{PYTHON} -SE {HERE / 'workers' / 'listeners.py'} {{port}}"
SOCKET_WORKER = WORKER.replace("{port}", "{socket}")
ANOTHER_USER = ("--reuid=65534", "--regid=65534", "--clear-groups")

# Answers everything, health checks too, and prints what it got. Tries until it can listen.
STRANGER = """
import os, socket, sys, time
place, address, shared = sys.argv[1], sys.argv[2], sys.argv[3]
print("waits", flush=True)
while True:
    try:
        if place.isdigit():
            listener = socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET)
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, shared == "shared")
            listener.bind((address, int(place)))
        else:
            if shared == "shared":
                os.unlink(place)
            listener = socket.socket(socket.AF_UNIX)
            listener.bind(place)
        listener.listen(64)
        break
    except OSError:
        listener.close()
        time.sleep(0.001)
print("listens", flush=True)
while True:
    connection, _ = listener.accept()
    got = connection.recv(65536)
    if got:
        print("heard", got, flush=True)
    try:
        connection.sendall(b"HTTP/1.1 200 OK\\r\\nContent-Length: 8\\r\\nConnection: close\\r\\n\\r\\nSTRANGER")
    except OSError:
        pass
    connection.close()
"""


class Ports(StartedCase):
    def open(self, worker=WORKER, **pool):
        """Starts a gate. Returns it, with the place where its worker listens and the worker's pid."""
        gate = self.up(worker, pool={"health.every": "50ms", "keep_alive": False, **pool})
        pid = gate.lane(0)["pid"]
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            words = file.read().decode().split("\0")
        return gate, words[words.index(str(HERE / "workers" / "listeners.py")) + 1], pid

    def stranger(self, place, address="127.0.0.1", shared="alone", user=()):
        """Starts a program that listens there as soon as it can."""
        stranger = Process(self.folder, f"stranger-{next(numbers)}",
                           [PYTHON, "-IS", "-c", STRANGER, place, address, shared], self.env, user=user)
        self.processes.append(stranger)
        self.addCleanup(stranger.kill)
        wait_until(lambda: "waits" in stranger.output(), "the stranger waits for the port")
        return stranger

    def wait_listens(self, stranger):
        wait_until(lambda: "listens" in stranger.output(), "the stranger listens")

    def tell(self, gate, target):
        """Tells the worker to do something. Returns its pid."""
        answer = gate.ask("POST", target, b"x")
        self.assertEqual(answer.status, 200, answer)
        return int(answer.body)

    def assert_nothing_heard(self, gate, strangers, pid):
        """Sends jobs until another worker serves, which has another port. Checks that only workers answered."""
        def is_replaced():
            answers = [self.in_thread(gate.ask, "POST", "/job", b"secret") for _ in range(4)]
            for answer in answers:
                self.assertTrue(answer.result().body.isdigit(), answer.result())
            return int(answers[0].result().body) != pid
        wait_until(is_replaced, "another worker serves")
        for stranger in strangers:
            self.assertNotIn("heard", stranger.output())


class Strangers(Ports):
    def take_port(self, **options):
        for keep_alive in (False, True):
            gate, place, pid = self.open(keep_alive=keep_alive)
            stranger = self.stranger(place, **options)  # listens as soon as the worker does not
            self.assertEqual(self.tell(gate, "/close"), pid)
            self.wait_listens(stranger)
            if keep_alive:  # jobs go on over the old connection, so nobody looks
                wait_until(lambda: gate.lane(0)["pid"] not in (None, pid), "the worker is replaced")
            self.assert_nothing_heard(gate, [stranger], pid)

    @unittest.skipUnless(os.geteuid() == 0, "only root can start a program as another user")
    def test_another_user_who_takes_the_port_gets_nothing(self):
        self.take_port(user=ANOTHER_USER)

    def test_the_lane_says_who_has_its_port(self):
        gate, place, _ = self.open(**{"restart_delay_min": "1h", "restart_delay_max": "1h"})
        stranger = self.stranger(place)
        self.tell(gate, "/close")
        lane = self.wait_trouble(gate, f"(pid {stranger.pid}) listens on its port {place}, but its worker did not start that process")
        self.assertEqual((lane["cause"], lane["state"]), ("port_taken", "backoff"))

    def test_another_process_of_the_same_user_that_takes_the_port_gets_nothing(self):
        self.take_port()

    @unittest.skipUnless(os.geteuid() == 0, "only root can start a program as another user")
    def test_another_user_who_takes_all_addresses_gets_nothing(self):
        self.take_port(address="0.0.0.0", user=ANOTHER_USER)

    def test_a_listener_that_shadows_the_workers_gets_nothing(self):
        """The worker listens on every address, the stranger on 127.0.0.1: the kernel prefers the latter."""
        gate, place, pid = self.open(f"{WORKER} 0.0.0.0")
        stranger = self.stranger(place, shared="shared")
        self.wait_listens(stranger)
        self.assert_nothing_heard(gate, [stranger], pid)

    def test_a_second_listener_on_the_port_is_found(self):
        """Both have SO_REUSEPORT, which the kernel allows only for one user: each gets a part of the connections until it is found."""
        gate, place, pid = self.open()
        stranger = self.stranger(place, shared="shared")
        self.wait_listens(stranger)
        wait_until(lambda: gate.lane(0)["pid"] not in (None, pid), "the worker is replaced")

    def test_a_program_that_replaces_the_socket_gets_nothing(self):
        gate, place, pid = self.open(SOCKET_WORKER)
        stranger = self.stranger(place, shared="shared")
        self.wait_listens(stranger)
        self.assert_nothing_heard(gate, [stranger], pid)


class OwnListeners(Ports):
    """The worker itself changes its listener."""

    def assert_goes_on(self, target, worker=WORKER, many=3):
        gate, _, pid = self.open(worker)
        for _ in range(many):
            self.tell(gate, target)
            for _ in range(5):
                self.tell(gate, "/job")
        lane = gate.lane(0)
        self.assertEqual((lane["pid"], lane["restarts"], lane["failed"]), (pid, 0, 0), lane)

    def test_a_worker_that_makes_a_new_listener_goes_on(self):
        for worker in (WORKER, f"{WORKER} 0.0.0.0", SOCKET_WORKER):
            self.assert_goes_on("/renew", worker)

    def test_a_worker_with_several_listeners_goes_on(self):
        self.assert_goes_on("/add")

    def test_a_worker_whose_child_listens_in_its_place_goes_on(self):
        self.assert_goes_on("/child", many=1)


if __name__ == "__main__":
    unittest.main()
