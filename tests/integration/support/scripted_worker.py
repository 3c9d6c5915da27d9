"""A worker inside the test process, on a real socket. It does what the test tells it to, step by step or
by a function, right or wrong."""
import queue
import socket
import struct
import threading


class Request:
    """One request that a scripted worker got, and the connection to answer it on."""

    def __init__(self, connection, method, target, headers, body):
        self.connection, self.method, self.target = connection, method, target
        self.headers, self.body = headers, body
        self.is_over = threading.Event()
        self.gate_answered = threading.Event()  # for tests: the client has its answer
        self.is_closed = False

    def header(self, name):
        values = [value for key, value in self.headers if key == name.lower()]
        return values[0] if values else None

    def send(self, data):
        self.connection.sendall(data)
        return self

    def chunk(self, data):
        return self.send(b"%x\r\n%s\r\n" % (len(data), data))

    def begin_chunked(self, content_type="text/plain"):
        return self.send(b"HTTP/1.1 200 OK\r\nContent-Type: %s\r\nTransfer-Encoding: chunked\r\n"
                         b"\r\n" % content_type.encode())

    def reply(self, body=b"", status=200, headers=()):
        """Sends a whole answer. The connection stays open."""
        lines = [f"HTTP/1.1 {status} Whatever", f"Content-Length: {len(body)}", *headers, "", ""]
        self.send("\r\n".join(lines).encode() + body)
        self.finish()

    def finish(self):
        """Ends this answer, so that the next request on the connection is read."""
        self.is_over.set()

    def close(self):
        self._end()

    def reset(self):
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self._end(is_graceful=False)

    def _end(self, is_graceful=True):
        try:
            if is_graceful:
                self.connection.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        self.connection.close()
        self.is_closed = True
        self.is_over.set()

    def gate_has_closed(self, deadline_s=30.0):
        """Waits until the gate closes the connection. Returns False if it sent something instead."""
        self.connection.settimeout(deadline_s)
        try:
            return self.connection.recv(1) == b""
        except ConnectionResetError:
            return True


class ScriptedWorker:
    """Answers GET /health by itself while `is_healthy` is true. Other requests go to `behave(request)`.
    Without `behave` they wait for take()."""

    def __init__(self, behave=None, host="127.0.0.1", reads_bodies=True):
        self.behave, self.host, self.reads_bodies = behave, host, reads_bodies
        self.is_healthy = True
        self.health_status = 200
        self.seen = []  # "METHOD target" of each request, without /health
        self.latest = None  # the latest request, without /health
        self.probes = 0
        self.waiting = queue.Queue()
        self.connections = []
        self._bind(0)
        self.port = self.listener.getsockname()[1]
        self.url = f"http://[{host}]:{self.port}" if ":" in host else f"http://{host}:{self.port}"
        self.revive()

    def _bind(self, port):
        family = socket.AF_INET6 if ":" in self.host else socket.AF_INET
        self.listener = socket.socket(family)
        self.listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.listener.bind((self.host, port))

    def revive(self):
        self.listener.listen(512)
        threading.Thread(target=self._accept, args=[self.listener], daemon=True).start()

    def die(self):
        """Closes the listener and all connections, as the death of a process does. revive() undoes it."""
        self.close()
        self._bind(self.port)

    def take(self, deadline_s=30.0) -> Request:
        return self.waiting.get(timeout=deadline_s)

    def close(self):
        try:
            self.listener.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        self.listener.close()
        connections, self.connections = self.connections, []
        for connection in connections:
            try:
                connection.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
            connection.close()

    def _accept(self, listener):
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            self.connections.append(connection)
            threading.Thread(target=self._serve, args=[connection], daemon=True).start()

    def _serve(self, connection):
        try:
            with connection, connection.makefile("rb") as stream:
                while request := self._read(connection, stream):
                    if not self._answer(request):
                        return
        except (OSError, ValueError):
            pass  # the test or the gate closed it

    def _answer(self, request):
        if request.target == "/health":
            self.probes += 1
            if not self.is_healthy:
                return False
            request.reply(b"ok", status=self.health_status)
        else:
            self.seen.append(f"{request.method} {request.target}")
            self.latest = request
            if self.behave:
                self.behave(request)
            else:
                self.waiting.put(request)
            request.is_over.wait()
        return not request.is_closed

    def _read(self, connection, stream):
        line = stream.readline().decode("latin-1")
        if not line:
            return None
        method, target, _ = line.split(" ")
        headers = []
        while (line := stream.readline().decode("latin-1")) not in ("\r\n", ""):
            name, value = line.split(":", 1)
            headers.append((name.lower(), value.strip()))
        body = self._read_body(stream, dict(headers)) if self.reads_bodies else b""
        return Request(connection, method, target, headers, body)

    def _read_body(self, stream, headers):
        if headers.get("transfer-encoding", "").lower() != "chunked":
            return stream.read(int(headers.get("content-length", 0)))
        body = b""
        while size := int(stream.readline(), 16):
            body += stream.read(size)
            stream.readline()
        while stream.readline() != b"\r\n":
            pass  # a trailer
        return body


def echo(request):
    request.reply(request.body)
