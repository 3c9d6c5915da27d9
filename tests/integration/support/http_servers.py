"""Starts nginx, HAProxy and Node, to compare what they and the gate take the same bytes for. The two proxies stand before
`worker_port`; Node tells in the field Seen what it got, as the worker does."""
import os
import shutil
import socket
import sys

from harness import Port, numbers, wait_until

NGINX = """daemon off; master_process off; worker_processes 1; pid {folder}/nginx.pid; error_log {folder}/nginx.log;
events {{}}
http {{
    access_log off;
    client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy; fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi; scgi_temp_path {folder}/scgi;
    server {{
        listen 127.0.0.1:{port};
        location / {{ proxy_pass http://127.0.0.1:{worker_port}; proxy_http_version 1.1; proxy_buffer_size 64k; proxy_buffers 4 64k; }}
    }}
}}
"""
HAPROXY = """defaults
    mode http
    timeout connect 30s
    timeout client 30s
    timeout server 30s
frontend f
    bind 127.0.0.1:{port}
    default_backend b
backend b
    server w 127.0.0.1:{worker_port}
"""
NODE = """
const answer = (request, response) => {
    const parts = [];
    request.on("data", part => parts.push(part));
    request.on("end", () => {
        const seen = {method: request.method, target: request.url, body: Buffer.concat(parts).toString("latin1")};
        response.writeHead(200, {"Content-Length": 0, "Seen": encodeURIComponent(JSON.stringify(seen))});
        response.end();
    });
};
require("http").createServer(answer).listen(PORT, "127.0.0.1");
"""


def program(name):
    found = shutil.which(name, path=os.environ["PATH"] + ":/usr/sbin")
    if found is None:
        sys.exit(f"this test needs {name}: tools/install-deps haproxy nginx-light nodejs")
    return found


def start_servers(case, worker_port):
    """Returns the port of each server by its name."""
    ports = {}
    for name in ("nginx", "haproxy", "node"):
        reserved = Port()
        ports[name] = reserved.number
        reserved.close()
    (case.folder / "nginx.conf").write_text(NGINX.format(folder=case.folder, port=ports["nginx"], worker_port=worker_port))
    (case.folder / "haproxy.cfg").write_text(HAPROXY.format(port=ports["haproxy"], worker_port=worker_port))
    (case.folder / "server.js").write_text(NODE.replace("PORT", str(ports["node"])))
    commands = {"nginx": [program("nginx"), "-e", str(case.folder / "nginx.log"), "-c", str(case.folder / "nginx.conf")],
                "haproxy": [program("haproxy"), "-db", "-f", str(case.folder / "haproxy.cfg")],
                "node": [program("node"), str(case.folder / "server.js")]}
    for name, command in commands.items():
        case.spawn(f"{name}-{next(numbers)}", command)
    for name, port in ports.items():
        wait_until(lambda port=port: is_open(port), f"{name} listens")
    return ports


def is_open(port):
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0
