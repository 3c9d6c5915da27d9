"""A worker with a family: before it listens it starts what programs leave behind. Few modules are
loaded, so that it starts quickly.

    brood.py PORT LANE FOLDER TOKEN HABITS

HABITS has a word for each lane, in turn, with "," between; "-" joins habits. TOKEN is only there to be
found in the process table. FOLDER gets LANE.loading when the family is there. FOLDER/TOKEN is locked
as long as one of the family lives, however seldom it is in the process table.

POST /echo       answers with what it got
POST /after/MS   the same, so many milliseconds later
POST /hold       never answers
POST /late       leaves a daemon behind that overwrote its environment
"""
import fcntl
import os
import select
import signal
import socket
import sys
import time

CROWD = 200


def be_shown_as(name):
    with open("/proc/self/comm", "w") as comm:
        comm.write(name)


def is_parent(name):
    """Forks; true for the parent. Children have this name from their first moment on."""
    be_shown_as(name)
    if os.fork() == 0:
        return False
    be_shown_as("worker")
    return True


def rest():
    while True:
        signal.pause()


def ignore(*signals):
    for number in signals:
        signal.signal(number, signal.SIG_IGN)


def just_be(tells):
    os.close(tells)
    rest()


def daemon(life=just_be, name="daemon"):
    """As daemons are made: two forks, a session of its own, no output. `life` closes the pipe that it
    gets when it has become what it is."""
    hears, tells = os.pipe()
    if is_parent(name):
        os.close(tells)
        os.wait()
        os.read(hears, 1)
        return os.close(hears)
    os.setsid()
    if os.fork() != 0:
        os._exit(0)
    nothing = os.open("/dev/null", os.O_RDWR)
    for output in range(3):
        os.dup2(nothing, output)
    life(tells)


def wiped(tells):
    """Overwrites its environment, as programs do that set what ps shows."""
    import ctypes
    with open("/proc/self/stat") as stat:
        words = stat.read().rpartition(") ")[2].split()
    begin, end = int(words[47]), int(words[48])
    ctypes.memset(begin, 0, end - begin)
    os.close(tells)
    rest()


def chain(tells):
    """Never there for long: each hands over to its child, for as long as the test is there."""
    os.close(tells)
    ignore(signal.SIGCHLD)
    while os.path.exists(FOLDER):
        if os.fork() != 0:
            os._exit(0)
    os._exit(0)


def session():
    if is_parent("session"):
        return
    os.setsid()
    ignore(signal.SIGTERM, signal.SIGHUP, signal.SIGINT)
    rest()


def forking():
    """A child that keeps forking; its children live a little longer than it takes."""
    if is_parent("forking"):
        return
    ignore(signal.SIGCHLD)
    while True:
        if os.fork() == 0:
            time.sleep(0.02)
            os._exit(0)
        time.sleep(0.002)


def crowd():
    for _ in range(CROWD):
        if not is_parent("crowd"):
            rest()


HABITS = {
    "none": lambda: None,
    "stubborn": lambda: ignore(signal.SIGTERM),
    "daemon": daemon,
    "wiped": lambda: daemon(wiped, "wiped"),
    "chain": lambda: daemon(chain, "chain"),
    "session": session,
    "forking": forking,
    "crowd": crowd,
    "loading": rest,  # for ever
}


class Connection:
    def __init__(self, link):
        self.link = link
        self.unread = b""

    def take(self):
        """The path and body of a whole request, or None."""
        head, end, rest_of_it = self.unread.partition(b"\r\n\r\n")
        if not end:
            return None
        lines = head.split(b"\r\n")
        size = 0
        for line in lines[1:]:
            name, _, value = line.partition(b":")
            if name.lower() == b"content-length":
                size = int(value)
        if len(rest_of_it) < size:
            return None
        self.unread = rest_of_it[size:]
        return lines[0].split(b" ")[1].decode(), rest_of_it[:size]

    def reply(self, body):
        try:
            self.link.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body))
        except OSError:
            pass  # nobody waits for it any more


class Server:
    def __init__(self, port):
        self.listener = socket.create_server(("127.0.0.1", port), backlog=64)
        self.poll = select.poll()
        self.poll.register(self.listener, select.POLLIN)
        self.connections = {}
        self.due = []  # (when, connection, body)

    def serve(self):
        while True:
            wait_ms = max(0, (self.due[0][0] - time.monotonic()) * 1000) if self.due else None
            for fd, _ in self.poll.poll(wait_ms):
                if fd == self.listener.fileno():
                    self.accept()
                else:
                    self.read(self.connections[fd])
            while self.due and self.due[0][0] <= time.monotonic():
                _, connection, body = self.due.pop(0)
                connection.reply(body)

    def accept(self):
        link, _ = self.listener.accept()
        link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.connections[link.fileno()] = Connection(link)
        self.poll.register(link, select.POLLIN)

    def read(self, connection):
        try:
            data = connection.link.recv(65536)
        except OSError:
            data = b""
        if not data:
            self.poll.unregister(connection.link)
            del self.connections[connection.link.fileno()]
            return connection.link.close()
        connection.unread += data
        while (request := connection.take()) is not None:
            self.answer(connection, *request)

    def answer(self, connection, path, body):
        if path.startswith("/after/"):
            self.due.append((time.monotonic() + int(path[7:]) / 1000, connection, body))
            self.due.sort(key=lambda entry: entry[0])
        elif path != "/hold":
            if path == "/late":
                HABITS["wiped"]()
            connection.reply(body)


def main(port, lane, folder, token, habits):
    global FOLDER
    FOLDER = folder
    life = open(f"{folder}/{token}")
    fcntl.flock(life, fcntl.LOCK_SH)
    be_shown_as("worker")
    of_lanes = habits.split(",")
    own = of_lanes[int(lane) % len(of_lanes)].split("-")
    for habit in own:
        if habit == "loading":
            open(f"{folder}/{lane}.loading", "w").close()
        HABITS[habit]()
    Server(int(port)).serve()


main(*sys.argv[1:])
