"""An HTTP client for tests. It sends exactly the bytes that the test gives it and shows exactly what came back."""
import json
import socket


def bearer(key):
    return [("Authorization", f"Bearer {key}")]


class Truncated(Exception):
    """The connection ended in the middle of an answer. `so_far` holds the bytes that had come."""

    def __init__(self, so_far=b""):
        super().__init__(f"the connection ended in the middle of an answer, after {so_far[:200]!r}")
        self.so_far = so_far


class Answer:
    def __init__(self, status, headers, body=b""):
        self.status, self.headers, self.body = status, headers, body
        self.chunks = []

    def header(self, name):
        """Returns the value of a field, or None if it is missing. A repeated field is an error."""
        values = [value for key, value in self.headers if key.lower() == name.lower()]
        assert len(values) <= 1, f"{name} is repeated: {values}"
        return values[0] if values else None

    def json(self):
        return json.loads(self.body)

    def __repr__(self):
        return f"<{self.status} {self.headers} {self.body[:500]!r}>"


class Client:
    def __init__(self, port, deadline_s=30.0):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=deadline_s)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.unread = bytearray()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self.socket.close()

    def send(self, data):
        self.socket.sendall(data)
        return self

    def request(self, method, target, body=None, headers=()):
        lines = [f"{method} {target} HTTP/1.1"]
        if not any(name.lower() == "host" for name, _ in headers):
            lines.append("Host: localhost")
        if body is not None:
            lines.append(f"Content-Length: {len(body)}")
        lines += [f"{name}: {value}" for name, value in headers]
        return self.send("\r\n".join([*lines, "", ""]).encode() + (body or b""))

    def _more(self):
        data = self.socket.recv(1 << 18)
        self.unread += data
        return bool(data)

    def _line(self):
        while b"\r\n" not in self.unread:
            if not self._more():
                raise Truncated(bytes(self.unread))
        line = self._take(self.unread.index(b"\r\n") + 2)
        return line[:-2]

    def _take(self, size):
        data = bytes(self.unread[:size])
        del self.unread[:size]
        return data

    def exactly(self, size):
        while len(self.unread) < size:
            if not self._more():
                raise Truncated(bytes(self.unread))
        return self._take(size)

    def is_closed(self):
        """Waits until the other side closes. Returns False if more bytes came instead."""
        try:
            return not self.unread and not self._more()
        except ConnectionResetError:
            return True

    def head(self) -> Answer:
        """Reads the next head, which may be that of a 1xx answer."""
        version, status, *_ = self._line().decode("latin-1").split(" ", 2)
        assert version == "HTTP/1.1", version
        headers = []
        while line := self._line().decode("latin-1"):
            name, value = line.split(":", 1)
            headers.append((name, value.strip()))
        return Answer(int(status), headers)

    def chunk(self):
        """Reads the next chunk of a chunked body. The last chunk is b""."""
        size = int(self._line(), 16)
        data = self.exactly(size)
        if self.exactly(2) != b"\r\n":
            raise AssertionError("a chunk does not end where it should")
        return data

    def answer(self, method="GET") -> Answer:
        answer = self.head()
        assert answer.status >= 200, f"an interim answer that nobody asked for: {answer}"
        if method == "HEAD" or answer.status in (204, 304):
            return answer
        return self.body_of(answer)

    def body_of(self, answer):
        length, coding = answer.header("content-length"), answer.header("transfer-encoding")
        if coding is not None:
            assert coding == "chunked" and length is None, answer
            while chunk := self.chunk():
                answer.chunks.append(chunk)
            answer.body = b"".join(answer.chunks)
        elif length is not None:
            answer.body = self.exactly(int(length))
        else:
            while self._more():
                pass
            answer.body = self._take(len(self.unread))
        return answer
