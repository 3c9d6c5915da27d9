"""For tests that serve the same ASGI app on a native lane and with a real uvicorn, and compare every answer."""
from client import Client
from harness import wait_until
from native_case import PYTHON, SharedGate

JSON = [("Content-Type", "application/json")]
FORM = [("Content-Type", "multipart/form-data; boundary=cut")]
PER_SERVER_HEADERS = ("date", "server", "server-timing", "connection", "transfer-encoding", "keep-alive")  # these may differ between servers


def multipart(size):
    return (b'--cut\r\nContent-Disposition: form-data; name="note"\r\n\r\nfrom afar\r\n'
            b'--cut\r\nContent-Disposition: form-data; name="file"; filename="a.bin"\r\nContent-Type: application/x-a\r\n\r\n' +
            bytes(range(250)) * (size // 250) + b"\r\n--cut--\r\n")


def comparable_headers(answer, *ignoring):
    """Returns the headers that must be the same from both servers."""
    headers = [(name.lower(), _sorted_names(value) if name.lower() == "allow" else value) for name, value in answer.headers]
    return sorted((name, value) for name, value in headers if name not in (*PER_SERVER_HEADERS, *ignoring) and not name.startswith("turnpike-"))


def _sorted_names(names):
    """Sorts a list of names whose order may differ from process to process."""
    return ", ".join(sorted(names.split(", ")))


class RunningServer:
    """A server on a port, which tests ask like a gate of the harness."""

    def __init__(self, port):
        self.port = port

    def ask(self, method, target, body=None, headers=()):
        with Client(self.port) as client:
            client.request(method, target, body, [*headers, ("Connection", "close")])
            return client.answer(method)


def start_uvicorn(case, folder, app, *flags):
    """Starts uvicorn. `app` is `module:name`, and the module lies in `folder`."""
    worker = case.spawn("uvicorn", [PYTHON, "-B", "-m", "uvicorn", "--app-dir", str(folder), "--port", "0", *flags, app])
    line = wait_until(lambda: [line for line in worker.output().splitlines() if "running on http://127.0.0.1:" in line], "uvicorn is up")
    return RunningServer(int(line[0].split("127.0.0.1:")[1].split()[0]))


class SideBySideCase(SharedGate):
    """`open` sets type(self).uvicorn, a RunningServer, and returns the gate."""

    def ask_both(self, method, target, body=None, headers=(), ignoring=()):
        """Checks that both servers give the same answer and returns it. Headers in `ignoring` may differ."""
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
        """Checks that a background task runs on after the answer. The task of `target` must write the file `path` when the
        file `path`.go is there."""
        for server in (self.uvicorn, self.gate):
            path = self.folder_for("task") / "done"
            self.assertEqual(server.ask("GET", f"{target}?path={path}").json(), {"started": True})
            self.assertFalse(path.exists())
            path.with_name("done.go").touch()
            wait_until(path.exists, "the task is done")

    def assert_notices_departure(self, target, words="closed"):
        """Checks that the app notices when its client leaves. `target` must write the file `started`, and `words` into the
        file `left` when the client is gone."""
        for server in (self.uvicorn, self.gate):
            with self.subTest(target, server=type(server).__name__):
                folder = self.folder_for("left")
                with Client(server.port) as client:
                    client.request("GET", f"{target}?started={folder}/started&left={folder}/left")
                    wait_until((folder / "started").exists, "the app has begun its answer")
                wait_until((folder / "left").exists, "the app has noticed that the client left")
                self.assertEqual((folder / "left").read_text(), words)
