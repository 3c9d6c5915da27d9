"""A small HTTP worker that uses only the standard library, so that it starts quickly. It inherits its
listening socket.

    plain.py FD [--digit 7]

POST /predict {"wait_for": FILE}   answers as soon as that file exists
POST /count                        answers with the size of the body
GET /digit                         answers with the digit of --digit; a good model says 7
"""
import argparse
import json
import os
import socket
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

options = argparse.Namespace()


class Answering(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_GET(self):
        self.reply({"digit": options.digit} if self.path == "/digit" else {"status": "ok"})

    def do_POST(self):
        length = int(self.headers["Content-Length"])
        if self.path == "/count":
            return self.count(length)
        task = json.loads(self.rfile.read(length))
        if "started" in task:
            Path(task["started"]).write_text(str(os.getpid()))
        while "wait_for" in task and not Path(task["wait_for"]).exists():
            time.sleep(0.005)
        self.reply({"id": task.get("id"), "digit": options.digit, "pid": os.getpid()})

    def count(self, length):
        count, ones = 0, 0
        while count < length:
            data = self.rfile.read1(min(length - count, 1 << 20))
            if not data:
                return
            count += len(data)
            ones += data.count(b"1")
        self.reply({"count": count, "ones": ones})

    def reply(self, value):
        body = json.dumps(value).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("fd", type=int)
    parser.add_argument("--digit", type=int, default=7)
    parser.parse_args(namespace=options)
    server = ThreadingHTTPServer(("127.0.0.1", 0), Answering, bind_and_activate=False)
    server.socket.close()
    server.socket = socket.socket(fileno=options.fd)
    server.server_address = server.socket.getsockname()
    server.serve_forever()


main()
