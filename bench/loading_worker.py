#!/usr/bin/env python3
"""A worker that loads like one with large weights: it mostly waits for bytes, and computes a little.

    loading_worker.py PORT WAIT_SECONDS CPU_SECONDS
"""
import http.server
import sys
import time

PARTS = 10


class Answer(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


def compute(seconds):
    """Uses CPU time, not wall time, so that a busy machine slows it down as it would slow down real work."""
    until = time.process_time() + seconds
    while time.process_time() < until:
        sum(range(1000))


def main(port, wait, cpu):
    for part in range(1, PARTS + 1):
        time.sleep(wait / PARTS)
        compute(cpu / PARTS)
        print(f"weights: {part} of {PARTS} parts", flush=True)
    http.server.HTTPServer(("127.0.0.1", port), Answer).serve_forever()


main(int(sys.argv[1]), float(sys.argv[2]), float(sys.argv[3]))
