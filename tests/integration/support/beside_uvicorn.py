"""The same ASGI app on a native lane and under a real uvicorn: what tests need that compare the two, answer by answer."""
from client import Client
from harness import wait_until
from native_case import PYTHON, SharedGate

JSON = [("Content-Type", "application/json")]
FORM = [("Content-Type", "multipart/form-data; boundary=cut")]
PER_SERVER_HEADERS = ("date", "server", "server-timing", "connection", "transfer-encoding", "keep-alive")  # each server's own affair


def multipart(size):
    return (b'--cut\r\nContent-Disposition: form-data; name="note"\r\n\r\nfrom afar\r\n'
            b'--cut\r\nContent-Disposition: form-data; name="file"; filename="a.bin"\r\nContent-Type: application/x-a\r\n\r\n' +
            bytes(range(250)) * (size // 250) + b"\r\n--cut--\r\n")


def comparable_headers(answer, *ignoring):
    """What both servers must say alike."""
    headers = [(name.lower(), _sorted_names(value) if name.lower() == "allow" else value) for name, value in answer.headers]
    return sorted((name, value) for name, value in headers if name not in (*PER_SERVER_HEADERS, *ignoring) and not name.startswith("turnpike-"))


def _sorted_names(names):
    """Of a set in each process's own order."""
    return ", ".join(sorted(names.split(", ")))


class RunningServer:
    """A port that answers; as the harness's gates."""

    def __init__(self, port):
        self.port = port

    def ask(self, method, target, body=None, headers=()):
        with Client(self.port) as client:
            client.request(method, target, body, [*headers, ("Connection", "close")])
            return client.answer(method)


def start_uvicorn(case, folder, app, *flags):
    """`app` as uvicorn names it, `module:name`, found in `folder`."""
    worker = case.spawn("uvicorn", [PYTHON, "-B", "-m", "uvicorn", "--app-dir", str(folder), "--port", "0", *flags, app])
    line = wait_until(lambda: [line for line in worker.output().splitlines() if "running on http://127.0.0.1:" in line], "uvicorn is up")
    return RunningServer(int(line[0].split("127.0.0.1:")[1].split()[0]))


class SideBySideCase(SharedGate):
    """`open` sets type(self).uvicorn, a RunningServer, and returns the gate."""

    def ask_both(self, method, target, body=None, headers=(), ignoring=()):
        """Turnpike's answer, once the two are found alike; `but` are headers that differ each time."""
        there, here = (server.ask(method, target, body, headers) for server in (self.uvicorn, self.gate))
        self.assertEqual(here.status, there.status, (here, there))
        self.assertEqual(here.body, there.body)
        self.assertEqual(comparable_headers(here, *ignoring), comparable_headers(there, *ignoring))
        return here

    def assert_alike(self, *requests):
        for method, target, *more in requests:
            with self.subTest(f"{method} {target}"):
                self.ask_both(method, target, *more)

    def assert_background_task_runs_on(self, target):
        """`target` answers, and then its task writes the file `path` once `path`.go is there."""
        for server in (self.uvicorn, self.gate):
            path = self.folder_for("task") / "done"
            self.assertEqual(server.ask("GET", f"{target}?path={path}").json(), {"started": True})
            self.assertFalse(path.exists())
            path.with_name("done.go").touch()
            wait_until(path.exists, "the task is done")

    def assert_notices_departure(self, target, words="closed"):
        """`target` writes the file `started`, and `words` into `left` once the client is gone."""
        for server in (self.uvicorn, self.gate):
            with self.subTest(target, server=type(server).__name__):
                folder = self.folder_for("left")
                with Client(server.port) as client:
                    client.request("GET", f"{target}?started={folder}/started&left={folder}/left")
                    wait_until((folder / "started").exists, "it has begun")
                wait_until((folder / "left").exists, "the app has noticed")
                self.assertEqual((folder / "left").read_text(), words)
