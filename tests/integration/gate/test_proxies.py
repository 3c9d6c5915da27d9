"""Tests who the client is behind a proxy: only gate.trusted_proxies may say so, and nobody becomes local or the
command line by what a proxy says."""
import json
import os
import socket
import unittest

from client import Client, bearer
from harness import Case, Port, wait_until
from http_servers import is_open, program
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

    def test_whoever_comes_through_a_proxy_over_tcp_is_no_admin_without_keys(self):
        gate = self.gate([self.scripted(echo)])
        for mark in (("X-Forwarded-For", "127.0.0.1"), ("Forwarded", "for=unknown"), ("X-Real-IP", "127.0.0.1"), ("Via", "1.1 proxy")):
            with self.subTest(mark=mark):
                self.assertEqual(gate.ask("POST", "/", b"x", [mark]).status, 200)
                self.assertEqual(gate.ask("GET", "/-/readyz", None, [mark]).status, 200)
                for method, target in ADMIN_ROUTES:
                    self.assert_problem(gate.ask(method, target, b"" if method == "POST" else None, [mark]), 403, "not-permitted")
        self.assertEqual(gate.ask("GET", "/-/status").status, 200)
        self.assertEqual(gate.lane(0)["state"], "ready")

    def test_mistakes_are_named(self):
        config = self.write_config('[gate]\ntrusted_proxies = ["proxy.lan", "10.0.0.1/8", "::/0"]\n'
                                   '[pool.default]\nattach = ["http://127.0.0.1:1"]\n')
        done = self.command("check", str(config))
        self.assertEqual(done.returncode, 2)
        for words in ("must be an IP address or a network", "the network is 10.0.0.0/8", "the whole internet"):
            self.assertIn(words, done.stderr + done.stdout)


# It says nothing about those for whom it forwards.
NGINX = """daemon off; master_process off; pid {folder}/nginx.pid; error_log {folder}/nginx.log;
events {{}}
http {{
    access_log off;
    client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy; fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi; scgi_temp_path {folder}/scgi;
    server {{
        listen 127.0.0.1:{port};
        location / {{ proxy_pass http://unix:{socket}:; proxy_http_version 1.1; proxy_set_header Connection ""; {fields} }}
    }}
}}
"""
ADMIN_ROUTES = [("GET", "/-/status"), ("GET", "/-/jobs"), ("GET", "/-/crashes"), ("POST", "/-/reload"),
                ("POST", "/-/lanes/0/drain"), ("POST", "/-/pools/default/reload"), ("DELETE", "/-/jobs/x")]


class UnixSocket(Case):
    """A proxy on the gate's Unix socket speaks for others; the command line speaks for itself."""

    def path(self, gate):
        return self.folder / "xdg_runtime_dir/turnpike" / gate.name / "socket"

    def behind_nginx(self, gate, fields=""):
        """Starts an nginx before the gate's Unix socket. Returns a function that asks through it."""
        reserved = Port()
        port = reserved.number
        reserved.close()
        config = self.folder / f"nginx-{port}.conf"
        config.write_text(NGINX.format(folder=self.folder, port=port, socket=self.path(gate), fields=fields))
        self.spawn(f"nginx-{port}", [program("nginx"), "-e", str(self.folder / "nginx.log"), "-c", str(config)])
        wait_until(lambda: is_open(port), "nginx listens")

        def ask(method, target, headers=()):
            client = Client(port)
            self.addCleanup(client.close)
            return client.request(method, target, b"" if method == "POST" else None, headers).answer()
        return ask

    def test_a_visitor_of_a_proxy_that_says_nothing_is_no_admin(self):
        for fields in ("", "proxy_set_header Host $host;", "proxy_set_header X-Forwarded-For $remote_addr;"):
            with self.subTest(fields=fields, keys=False):
                gate = self.gate([self.scripted(echo)])
                ask = self.behind_nginx(gate, fields)
                self.assertEqual(ask("POST", "/").status, 200)
                for method, target in ADMIN_ROUTES:
                    self.assert_problem(ask(method, target), 403, "not-permitted")
                self.assertEqual(gate.lane(0)["state"], "ready")
                self.assertEqual(self.command("status", "--name", gate.name).returncode, 0)

    def test_a_visitor_of_a_proxy_that_says_nothing_needs_a_key(self):
        key, admin = self.new_key("carol"), self.new_key("dave", "--admin")
        gate = self.gate([self.scripted(echo)], is_ready=False)
        ask = self.behind_nginx(gate)
        wait_until(lambda: ask("GET", "/-/readyz").status == 200, "the gate is ready")
        for method, target in [("POST", "/"), *ADMIN_ROUTES]:
            self.assert_problem(ask(method, target), 401, "no-key")
        self.assertEqual(ask("POST", "/", bearer(key)).status, 200)
        self.assert_problem(ask("GET", "/-/crashes", bearer(key)), 403, "not-permitted")
        self.assertEqual(ask("GET", "/-/crashes", bearer(admin)).status, 200)
        self.assertEqual(self.command("crashes", "--name", gate.name).returncode, 0)

    def connect(self, gate, name=None):
        """Connects to the Unix socket, from an abstract name if there is one."""
        path = self.path(gate)
        client = Client.__new__(Client)
        client.socket, client.unread = socket.socket(socket.AF_UNIX), bytearray()
        self.addCleanup(client.close)
        if name is not None:
            client.socket.bind("\0" + name)
        here = os.getcwd()
        os.chdir(path.parent)  # the path may be too long for a socket
        try:
            client.socket.connect(path.name)
        finally:
            os.chdir(here)
        return client

    def ask(self, gate, target, headers=()):
        return self.connect(gate).request("GET", target, None, [*headers, ("Connection", "close")]).answer()

    def test_a_flood_of_the_unix_socket_is_bounded_and_keeps_nobody_out(self):
        most, commands = 40, 16
        gate = self.gate([self.scripted(echo)], gate={"connections_max": most})
        files = f"/proc/{gate.process.pid}/fd"
        before = len(os.listdir(files))
        for name in (None, "turnpike-command-line/{}", "turnpike-command-lines", "turnpike/{}"):
            flood = [self.connect(gate, name and f"{name.format(i)}{'' if '{' in name else i}") for i in range(5 * most)]
            with self.subTest(name=name):
                for i in range(5):
                    self.assertEqual(gate.post({"i": i}).status, 200)
                    self.assertEqual(self.command("status", "--name", gate.name).returncode, 0)
                self.assertLessEqual(len(os.listdir(files)), before + most + commands + 2)
            for client in flood:
                client.close()

    def test_what_a_proxy_forwards_needs_a_key_as_over_tcp(self):
        for proxies in ([], ["unix"]):
            with self.subTest(proxies=proxies):
                key = self.new_key("alice" if proxies else "bob")
                gate = self.gate([self.scripted(echo)], gate={"trusted_proxies": proxies} if proxies else {}, is_ready=False)
                wait_until(lambda: self.ask(gate, "/-/readyz").status == 200, "the gate is ready")
                self.assertEqual(self.command("crashes", "--name", gate.name).returncode, 0)
                for name, value in (("User-Agent", "turnpike"), ("X-Forwarded-For", "203.0.113.7"), ("Forwarded", "for=127.0.0.1"),
                                    ("X-Real-IP", "127.0.0.1"), ("Via", "1.1 proxy")):
                    for target in ("/", "/-/status", "/-/crashes"):
                        self.assert_problem(self.ask(gate, target, [(name, value)]), 401, "no-key")
                    self.assert_problem(self.ask(gate, "/-/crashes", [(name, value), *bearer(key)]), 403, "not-permitted")
                    self.assertEqual(self.ask(gate, "/", [(name, value), *bearer(key)]).status, 200)
                    self.assert_problem(self.ask(gate, "/", [(name, value), ("Host", "evil.example")]),
                                        403, "foreign-host")


if __name__ == "__main__":
    unittest.main()
