"""An HTTP worker that gives large answers. Each connection has a thread.

    large_answers.py PORT              listens on that port
    large_answers.py FD inherited      listens on the socket that it inherited

GET /whole/SIZE    answers with SIZE bytes, whose number is known before
GET /stream/SIZE   streams SIZE bytes in chunks
POST /count        answers with the size of the body
anything else      answers with "ok"
"""
import socket
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

PIECE = bytes(range(256)) * 256


class Answering(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_GET(self):
        _, kind, *size = self.path.split("/")
        if kind == "whole":
            return self.give(int(size[0]))
        if kind == "stream":
            return self.stream(int(size[0]))
        return self.reply(b"ok")

    def do_POST(self):
        left = size = int(self.headers["Content-Length"])
        while left > 0:
            left -= len(self.rfile.read(min(left, 1 << 20)))
        self.reply(b"%d" % size)

    def begin(self, name, value):
        self.send_response(200)
        self.send_header(name, value)
        self.end_headers()

    def reply(self, body):
        self.begin("Content-Length", str(len(body)))
        self.wfile.write(body)

    def give(self, size):
        self.begin("Content-Length", str(size))
        for at in range(0, size, len(PIECE)):
            self.wfile.write(PIECE[:size - at])

    def stream(self, size):
        self.begin("Transfer-Encoding", "chunked")
        for at in range(0, size, len(PIECE)):
            piece = PIECE[:size - at]
            self.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))
        self.wfile.write(b"0\r\n\r\n")

    def handle(self):
        try:
            super().handle()
        except OSError:
            pass  # the gate has closed the connection

    def log_message(self, *_):
        pass


class Server(ThreadingHTTPServer):
    request_queue_size = 128
    daemon_threads = True


if __name__ == "__main__":
    is_inherited = sys.argv[2:] == ["inherited"]
    server = Server(("127.0.0.1", 0 if is_inherited else int(sys.argv[1])), Answering,
                    bind_and_activate=not is_inherited)
    if is_inherited:
        server.socket = socket.socket(fileno=int(sys.argv[1]))
    server.serve_forever()
