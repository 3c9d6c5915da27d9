"""Tests who the client is behind a proxy: only gate.trusted_proxies may say so, and nobody becomes local or the
command line by what a proxy says."""
import json
import os
import socket
import unittest

from client import Client, bearer
from harness import Case, wait_until
from scripted_worker import echo


class Proxies(Case):
    def gate_behind(self, *proxies):
        self.log = self.folder / f"{self.id()}.jsonl"
        return self.gate([self.scripted(echo)], "--log-jobs", str(self.log), gate={"trusted_proxies": list(proxies)})

    def clients_in_log(self, gate):
        self.assertEqual(self.stop(gate), 0)
        return [json.loads(line)["client"] for line in self.log.read_text().splitlines()]

    def test_the_client_is_whom_a_trusted_proxy_names(self):
        gate = self.gate_behind("127.0.0.0/8")
        asked = [([("X-Forwarded-For", "9.9.9.9, 203.0.113.7")], "203.0.113.7"),
                 ([("X-Forwarded-For", "203.0.113.7:5000, 127.0.0.9")], "203.0.113.7"),
                 ([("X-Forwarded-For", "9.9.9.9"), ("X-Forwarded-For", "203.0.113.7")], "203.0.113.7"),
                 ([("Forwarded", 'for="[2001:DB8::7]:80";proto=https')], "2001:db8::7"),
                 ([("Forwarded", "for=203.0.113.7"), ("X-Forwarded-For", "203.0.113.7")], "203.0.113.7"),
                 ([("X-Forwarded-For", "::ffff:203.0.113.7")], "203.0.113.7"),
                 ([("X-Forwarded-For", "10.0.0.1, " * 1000 + "203.0.113.7")], "203.0.113.7"),
                 ([("Forwarded", 'for="' + "x" * 8192 + ", for=203.0.113.7")], "203.0.113.7"),
                 ([("X-Forwarded-For", "127.0.0.7, " * 1000 + "127.0.0.8")], "127.0.0.7")]
        for headers, _ in asked:
            self.assertEqual(gate.ask("POST", "/", b"x", headers).status, 200, headers)
        self.assertEqual(self.clients_in_log(gate), [client for _, client in asked])

    def test_a_proxy_that_hides_its_client_counts_itself(self):
        gate = self.gate_behind("127.0.0.1")
        hidden = ["unknown", "_hidden", "", ",,", "fe80::1%eth0", "1.2.3", "0x7f.1", "203.0.113.7:", "[2001:db8::7",
                  "203.0.113.7;x", "a" * 8192]
        asked = [[("X-Forwarded-For", value)] for value in hidden]
        asked += [[("Forwarded", value)] for value in ("for=unknown", "for=_x", 'for="', "for=1.2.3.4;for=5.6.7.8",
                                                       "proto=https", "for=2001:db8::7", "203.0.113.7")]
        asked += [[("Forwarded", "for=9.9.9.9"), ("X-Forwarded-For", "203.0.113.7")],
                  [("X-Real-IP", "203.0.113.7")], [("Via", "1.1 proxy")], []]
        for headers in asked:
            self.assertEqual(gate.ask("POST", "/", b"x", headers).status, 200, headers)
        for headers, client in zip(asked, self.clients_in_log(gate), strict=True):
            self.assertTrue(client.startswith("127.0.0.1:"), (headers, client))

    def test_nobody_else_is_believed(self):
        gate = self.gate_behind("127.0.0.2", "10.0.0.0/8", "unix")
        headers = [("Forwarded", "for=203.0.113.7"), ("X-Forwarded-For", "203.0.113.7")]
        self.assertEqual(gate.ask("POST", "/", b"x", headers).status, 200)
        clients = self.clients_in_log(gate)
        self.assertTrue(clients[0].startswith("127.0.0.1:"), clients)

    def test_mistakes_are_named(self):
        config = self.write_config('[gate]\ntrusted_proxies = ["proxy.lan", "10.0.0.1/8", "::/0"]\n'
                                   '[pool.default]\nattach = ["http://127.0.0.1:1"]\n')
        done = self.command("check", str(config))
        self.assertEqual(done.returncode, 2)
        for words in ("must be an IP address or a network", "the network is 10.0.0.0/8", "the whole internet"):
            self.assertIn(words, done.stderr + done.stdout)


class UnixSocket(Case):
    """A proxy on the gate's Unix socket speaks for others; the command line speaks for itself."""

    def ask(self, gate, target, headers=()):
        path = self.folder / "xdg_runtime_dir/turnpike" / gate.name / "socket"
        client = Client.__new__(Client)
        client.socket, client.unread = socket.socket(socket.AF_UNIX), bytearray()
        self.addCleanup(client.close)
        here = os.getcwd()
        os.chdir(path.parent)  # the path may be too long for a socket
        try:
            client.socket.connect(path.name)
        finally:
            os.chdir(here)
        return client.request("GET", target, None, [*headers, ("Connection", "close")]).answer()

    def test_what_a_proxy_forwards_needs_a_key_as_over_tcp(self):
        for proxies in ([], ["unix"]):
            with self.subTest(proxies=proxies):
                key = self.new_key("alice" if proxies else "bob")
                gate = self.gate([self.scripted(echo)], gate={"trusted_proxies": proxies} if proxies else {}, is_ready=False)
                wait_until(lambda: self.ask(gate, "/-/readyz").status == 200, "the gate is ready")
                self.assertEqual(self.ask(gate, "/-/crashes").status, 200)
                for name, value in (("X-Forwarded-For", "203.0.113.7"), ("Forwarded", "for=127.0.0.1"),
                                    ("X-Real-IP", "127.0.0.1"), ("Via", "1.1 proxy")):
                    for target in ("/", "/-/status", "/-/crashes"):
                        self.assert_problem(self.ask(gate, target, [(name, value)]), 401, "no-key")
                    self.assert_problem(self.ask(gate, "/-/crashes", [(name, value), *bearer(key)]), 403, "not-permitted")
                    self.assertEqual(self.ask(gate, "/", [(name, value), *bearer(key)]).status, 200)
                    self.assert_problem(self.ask(gate, "/", [(name, value), ("Host", "evil.example")]),
                                        403, "foreign-host")


if __name__ == "__main__":
    unittest.main()
