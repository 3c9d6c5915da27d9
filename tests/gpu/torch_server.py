"""A small PyTorch model behind the standard library's HTTP server. Turnpike starts it once per lane on a GPU machine.

    torch_server.py PORT [GIB]

Loads GIB of weights onto its GPU, then answers POST /predict with a checksum of a matrix product.
"""
import json
import os
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import torch

port, gib = int(sys.argv[1]), float(sys.argv[2]) if len(sys.argv) > 2 else 2.0
print("importing done, loading weights", flush=True)
device = torch.device("cuda:0")
weights = [torch.full((256, 1024, 1024), 0.5, dtype=torch.float32, device=device) for _ in range(round(gib))]
torch.cuda.synchronize()
generator = torch.Generator(device=device).manual_seed(7)
matrix = torch.rand(1024, 1024, device=device, generator=generator)
print(f"loaded {torch.cuda.memory_allocated() >> 20} MiB onto {torch.cuda.get_device_name(0)}", flush=True)


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def reply(self, value):
        body = json.dumps(value).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        self.reply({"ok": True})

    def do_POST(self):
        size = json.loads(self.rfile.read(int(self.headers.get("Content-Length", 0))) or b"{}").get("n", 1)
        product = matrix
        for _ in range(size):
            product = product @ matrix / 512
        self.reply({"sum": round(float(product.double().sum()), 3), "lane": os.environ["TURNPIKE_LANE"],
                    "pid": os.getpid(), "visible": os.environ.get("CUDA_VISIBLE_DEVICES"),
                    "order": os.environ.get("CUDA_DEVICE_ORDER"), "count": torch.cuda.device_count(),
                    "uuid": str(torch.cuda.get_device_properties(0).uuid)})

    def log_message(self, *_):
        pass


ThreadingHTTPServer(("127.0.0.1", port), Handler).serve_forever()
