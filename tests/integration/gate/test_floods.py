"""Clients that take connections and give nothing: whoever floods the gate loses connections of its own, and a
client beside it is served. The floods come from other addresses than this machine's loopback."""
import socket
import threading
import unittest

from addresses import OTHER, THIRD, OwnNetwork
from harness import DEADLINE_S, wait_until
from started_case import StartedCase

MOST = 40  # connections of these gates
PATIENT = 'head_timeout = "10m"\nidle_timeout = "1h"\nrate_window = "10m"\n'  # so that no timeout helps
HEAD = b"POST /predict HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n"


class Flooder:
    """One client at an address of its own. It keeps connecting until it is stopped."""

    def __init__(self, gate, behave, address=OTHER, held=5000):
        self.gate, self.behave, self.address, self.held = gate, behave, address, held
        self.sockets, self.connected, self.lost = [], 0, 0
        self.is_over = threading.Event()
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def connect(self):
        client = socket.create_connection(("127.0.0.1", self.gate.port), timeout=DEADLINE_S,
                                          source_address=(self.address, 0))
        self.connected += 1
        return client

    def run(self):
        while not self.is_over.is_set():
            try:
                client = self.connect()
                if self.behave(client):
                    self.sockets.append(client)
                else:
                    client.close()
            except OSError:
                self.lost += 1
            if len(self.sockets) > self.held:
                self.sockets.pop(0).close()
            self.is_over.wait(0.002)

    def stop(self):
        self.is_over.set()
        self.thread.join(DEADLINE_S)
        for client in self.sockets:
            client.close()


def idles(client):
    return True


def sends_half_a_head(client):
    client.sendall(b"GET /-/healthz HTTP/1.1\r\nHo")
    return True


def sends_a_byte(client):
    client.sendall(b"P")
    return True


def uploads_slowly(client):
    client.sendall(HEAD % 1000 + b"x")
    return True


def pipelines(client):
    client.sendall(b"GET /-/healthz HTTP/1.1\r\nHost: localhost\r\n\r\n" * 200)
    return True


def connects_and_closes(client):
    return False


FLOODS = [idles, sends_half_a_head, sends_a_byte, uploads_slowly, pipelines, connects_and_closes]


class Floods(OwnNetwork, StartedCase):
    def flood(self, gate, behave, **options):
        flooder = Flooder(gate, behave, **options)
        self.addCleanup(flooder.stop)
        wait_until(lambda: flooder.connected + flooder.lost > 2 * MOST, "the flood is there")
        return flooder

    def test_a_client_beside_any_flood_is_served(self):
        gate = self.up(gate_of=None, top={}, pool={"lanes": 2}, sections={"queue": {"arriving_max": MOST // 2}},
                       most=MOST)
        worker = gate.lane(0)["pid"]
        for behave in FLOODS:
            with self.subTest(behave.__name__):
                flooder = self.flood(gate, behave)
                for i in range(20):
                    self.assertEqual(gate.ask("GET", "/-/healthz").status, 200)
                    self.assertEqual(gate.post({"i": i}).status, 200)
                flooder.stop()
        self.assertEqual(gate.lane(0)["pid"], worker)
        self.assertEqual([lane["restarts"] for lane in gate.status()["lanes"]], [0, 0])

    def test_an_idle_connection_of_another_client_stays(self):
        gate = self.up(most=MOST)
        patient = gate.connect()
        self.assertEqual(patient.request("GET", "/-/healthz").answer().status, 200)
        flooder = self.flood(gate, sends_half_a_head)
        wait_until(lambda: flooder.connected > 4 * MOST, "the flood goes on")
        self.assertEqual(patient.request("GET", "/-/healthz").answer().status, 200)

    def test_two_floods_do_not_keep_a_third_client_out(self):
        gate = self.up(most=MOST)
        self.flood(gate, sends_half_a_head)
        self.flood(gate, idles, address=THIRD)
        for i in range(20):
            self.assertEqual(gate.post({"i": i}).status, 200)

    def test_jobs_that_wait_are_not_pushed_out(self):
        gate = self.up(most=MOST)
        running, go = self.begin_job(gate)
        waiting = [self.in_thread(gate.post, {"i": i}) for i in range(MOST // 2)]
        wait_until(lambda: gate.pool()["queued"] == MOST // 2, "the jobs wait")
        self.flood(gate, sends_half_a_head)
        go.touch()
        self.assertEqual([job.result().status for job in [running, *waiting]], [200] * (1 + MOST // 2))

    def up(self, *arguments, most=None, gate_of=None, **options):
        self.most = most
        return super().up(*arguments, **options)

    def config(self, *arguments, **options):
        text = super().config(*arguments, **options)
        return text.replace("[gate]\n", f"[gate]\nconnections_max = {self.most}\n{PATIENT}")


if __name__ == "__main__":
    unittest.main()
