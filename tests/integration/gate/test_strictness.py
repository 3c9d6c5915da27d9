"""Tests small gaps through which a client could reach more than it should, on the real binary: chunk extensions, overlong UTF-8 in
targets, fields that merge under WSGI, and offers of other protocols."""
import unittest

from harness import Case
from scripted_worker import echo


class Strictness(Case):
    def setUp(self):
        super().setUp()
        self.worker = self.scripted(echo)
        self.serving = self.gate([self.worker])

    def chunked(self, body):
        with self.serving.connect() as client:
            client.send(b"POST /c HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n" + body)
            return client.answer()

    def test_chunk_extensions(self):
        for extension in (b"", b";a", b";a=b", b';a="b;c"'):
            self.assertEqual(self.chunked(b"5" + extension + b"\r\nhello\r\n0\r\n\r\n").body, b"hello", extension)
        for extension in (b";", b";;", b";a;", b"; ", b";=b", b";a=", b';a="b', b";a=\x01", b" a", b";a b", b" ; a = b", b";" + b"a" * 10000):
            for body in (b"5" + extension + b"\r\nhello\r\n0\r\n\r\n", b"5\r\nhello\r\n0" + extension + b"\r\n\r\n"):
                self.assert_problem(self.chunked(body), 400, "malformed")

    def test_overlong_and_other_bad_utf_8_in_paths(self):
        for path in ("/%c3%a4", "/%e2%82%ac", "/%f0%9f%98%80"):
            self.assertEqual(self.serving.ask("GET", path).status, 200, path)
        for path in ("/%c0%af", "/%c0%ae%c0%ae/x", "/%e0%80%af", "/%f0%80%80%af", "/%c1%81", "/a%C0%AF", "/-/to/default/%c0%af"):
            self.assert_problem(self.serving.ask("GET", path), 400, "malformed")

    def test_fields_with_underscores_do_not_reach_the_worker(self):
        seen = []
        self.worker.behave = lambda request: (seen.append(dict(request.headers)), request.reply())
        answer = self.serving.ask("POST", "/", b"x", [("Turnpike_Job", "forged"), ("X_Forwarded_For", "1.2.3.4"), ("x_real-ip", "1"),
                                                      ("Content_Length", "9"), ("Authorization_", "x"), ("X-Mine", "1")])
        self.assertEqual(answer.status, 200)
        self.assertEqual([name for name in seen[0] if "_" in name], [])
        self.assertEqual(seen[0]["x-mine"], "1")
        self.assertNotEqual(seen[0].get("turnpike-job"), "forged")

    def test_offers_of_other_protocols_are_ignored_except_websockets(self):
        for protocol in ("h2c", "TLS/1.0", "something/1", "h2c, something"):
            answer = self.serving.ask("POST", "/", b"x", [("Upgrade", protocol)])
            self.assertEqual((answer.status, answer.body), (200, b"x"), protocol)
        for protocol in ("websocket", "WebSocket", "h2c, websocket"):
            with self.serving.connect() as client:
                client.request("GET", "/", None, [("Upgrade", protocol), ("Connection", "upgrade"),
                                                  ("Sec-WebSocket-Version", "13"), ("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ==")])
                self.assertEqual(client.answer().status, 501, protocol)


if __name__ == "__main__":
    unittest.main()
