"""A worker on Python's http.server, with kept-alive connections. It never reads the body of a request, so that the body stays on the
connection. It answers HEAD, 204 and 304 with a body, as many first servers do.

    leaves_bodies.py PORT NOTES [anonymous]      NOTES: the target of each request goes there, one a line
                                                 anonymous: answers do not name the server

ANY /path?status=404      answers with that status; the body is the target
"""
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit


class Careless(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def answer(self):
        with open(sys.argv[2], "a") as notes:
            notes.write(self.path + "\n")
        status = int(parse_qs(urlsplit(self.path).query).get("status", ["200"])[0])
        if "anonymous" in sys.argv:
            self.send_response_only(status)
        else:
            self.send_response(status)
        self.send_header("Content-Length", str(len(self.path)))
        self.end_headers()
        self.wfile.write(self.path.encode())

    do_GET = do_HEAD = do_POST = do_PUT = do_PATCH = do_DELETE = do_OPTIONS = answer

    def log_message(self, *_):
        pass


ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Careless).serve_forever()
