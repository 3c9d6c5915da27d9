"""The scope that an ASGI app is called with."""
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "sdk" / "python"))

from turnpike._worker import asgi_scope  # noqa: E402
from turnpike.job import Job  # noqa: E402


class Scope(unittest.TestCase):
    def scope(self, route=b"GET/", fields=b"", body=b"", state=None, **environment):
        method = len(route.partition(b"/")[0])
        return asgi_scope.Scopes(state or {}, environment).scope_of(Job(None, 1, 1, 0, b"a", route, method, fields, body))

    def origin(self, *lines, **environment):
        scope = self.scope(fields=b"".join(line + b"\r\n" for line in lines), **environment)
        return (scope["client"] or ("", 0))[0], scope["scheme"]

    def test_path_and_query_are_taken_apart(self):
        scope = self.scope(b"GET/a%2Fb%20c?x=%20&y=?")
        self.assertEqual((scope["path"], scope["raw_path"], scope["query_string"]), ("/a/b c", b"/a%2Fb%20c", b"x=%20&y=?"))

    def test_headers_are_pairs_of_bytes_with_names_in_lower_case(self):
        scope = self.scope(fields=b"Host: a\r\nX-Two: 1\r\nX-Two:  2 \r\nEmpty:\r\n")
        self.assertEqual(scope["headers"], [(b"host", b"a"), (b"x-two", b"1"), (b"x-two", b"2"), (b"empty", b"")])

    def test_a_body_has_a_length(self):
        length = (b"content-length", b"2")
        self.assertIn(length, self.scope(body=b"ab")["headers"])
        self.assertEqual(self.scope(fields=b"Host: a\r\nContent-Length: 2\r\n", body=b"ab")["headers"][1:], [length])
        self.assertIn((b"content-length", b"0"), self.scope(b"POST/")["headers"])
        self.assertEqual(self.scope(fields=b"Host: a\r\n")["headers"], [(b"host", b"a")])

    def test_server_is_what_the_client_calls_it(self):
        for host, server in ((b"a:81", ("a", 81)), (b"a", ("a", 80)), (b"[::1]:81", ("::1", 81)), (b"[::1]", ("::1", 80))):
            self.assertEqual(self.scope(fields=b"Host: " + host + b"\r\n")["server"], server)

    def test_a_proof_has_a_host_as_well(self):
        scope = self.scope()
        self.assertEqual((scope["server"], scope["headers"]), (("localhost", 80), [(b"host", b"localhost")]))

    def test_client_is_the_nearest_that_is_not_this_machine(self):
        for hops, client in ((b"10.0.0.1", "10.0.0.1"), (b"10.0.0.1, 127.0.0.1", "10.0.0.1"), (b"127.0.0.1", "127.0.0.1"),
                             (b"1.1.1.1, 10.0.0.2", "10.0.0.2"), (b"1.1.1.1, ::1", "1.1.1.1")):
            self.assertEqual(self.scope(fields=b"X-Forwarded-For: " + hops + b"\r\n")["client"], (client, 0))
        self.assertIsNone(self.scope()["client"])

    def test_only_a_proxy_on_this_machine_is_trusted_about_https(self):
        https = b"X-Forwarded-Proto: https"
        self.assertEqual(self.origin(https, b"X-Forwarded-For: 1.1.1.1, 127.0.0.1"), ("1.1.1.1", "https"))
        self.assertEqual(self.origin(https, b"X-Forwarded-For: 127.0.0.1, 10.0.0.2"), ("10.0.0.2", "http"))
        self.assertEqual(self.origin(https), ("", "http"))

    def test_a_proxy_that_the_environment_names_is_trusted_too(self):
        lines = (b"X-Forwarded-Proto: https", b"X-Forwarded-For: 1.1.1.1, 10.0.0.2")
        for said in ("10.0.0.2", "127.0.0.1,10.0.0.2", "10.0.0.0/8", "192.168.0.0/16, 10.0.0.0/24"):
            self.assertEqual(self.origin(*lines, FORWARDED_ALLOW_IPS=said), ("1.1.1.1", "https"), said)
        self.assertEqual(self.origin(*lines, FORWARDED_ALLOW_IPS="*"), ("1.1.1.1", "https"))
        for said in ("10.0.0.3", "11.0.0.0/8", ""):
            self.assertEqual(self.origin(*lines, FORWARDED_ALLOW_IPS=said), ("10.0.0.2", "http"), said)
        self.assertEqual(self.origin(b"X-Forwarded-For: nonsense", FORWARDED_ALLOW_IPS="10.0.0.0/8"), ("nonsense", "http"))

    def test_nonsense_in_the_environment_makes_no_proxy_trusted(self):
        lines = (b"X-Forwarded-Proto: https", b"X-Forwarded-For: 1.1.1.1, 10.0.0.2")
        for said in ("10.0.0.0/99", "/", "10.0.0.0/8/8", "\u0661/8", "http://proxy/", ",/,"):
            self.assertEqual(self.origin(*lines, FORWARDED_ALLOW_IPS=said), ("10.0.0.2", "http"), said)
            self.assertEqual(self.origin(*lines, FORWARDED_ALLOW_IPS=f"{said}, 10.0.0.0/8"), ("1.1.1.1", "https"), said)

    def test_a_scheme_is_http_or_https(self):
        for said, scheme in ((b"HTTPS", "https"), (b"https, http", "https"), (b"javascript", "http"), (b"", "http"), (b"\xff", "http")):
            self.assertEqual(self.origin(b"X-Forwarded-Proto: " + said, b"X-Forwarded-For: 127.0.0.1")[1], scheme)

    def test_the_port_of_a_server_is_that_of_its_scheme(self):
        fields = b"Host: a\r\nX-Forwarded-Proto: https\r\nX-Forwarded-For: 127.0.0.1\r\n"
        self.assertEqual(self.scope(fields=fields)["server"], ("a", 443))

    def test_the_root_path_is_uvicorns(self):
        self.assertEqual((self.scope()["root_path"], self.scope(UVICORN_ROOT_PATH="/api")["root_path"]), ("", "/api"))

    def test_the_lifespans_state_is_copied(self):
        state = {"a": 1}
        self.scope(state=state)["state"]["a"] = 2
        self.assertEqual(state, {"a": 1})


if __name__ == "__main__":
    unittest.main()
