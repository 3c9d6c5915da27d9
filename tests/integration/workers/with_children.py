"""A worker with a family: before it listens it starts what programs leave behind. Few modules are
loaded, so that it starts quickly.

    with_children.py PORT LANE FOLDER TOKEN HABITS

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


def set_process_name(name):
    with open("/proc/self/comm", "w") as comm:
        comm.write(name)


def fork_child(name):
    """Forks; true for the parent. Children have this name from their first moment on."""
    set_process_name(name)
    if os.fork() == 0:
        return False
    set_process_name("worker")
    return True


def idle_forever():
    while True:
        signal.pause()


def ignore(*signals):
    for number in signals:
        signal.signal(number, signal.SIG_IGN)


def close_and_idle(writer):
    os.close(writer)
    idle_forever()


def daemon(run=close_and_idle, name="daemon"):
    """As daemons are made: two forks, a session of its own, no output. `life` closes the pipe that it
    gets when it has become what it is."""
    reader, writer = os.pipe()
    if fork_child(name):
        os.close(writer)
        os.wait()
        os.read(reader, 1)
        return os.close(reader)
    os.setsid()
    if os.fork() != 0:
        os._exit(0)
    nothing = os.open("/dev/null", os.O_RDWR)
    for output in range(3):
        os.dup2(nothing, output)
    run(writer)


def wiped(writer):
    """Overwrites its environment, as programs do that set what ps shows."""
    import ctypes
    with open("/proc/self/stat") as stat:
        words = stat.read().rpartition(") ")[2].split()
    begin, end = int(words[47]), int(words[48])
    ctypes.memset(begin, 0, end - begin)
    os.close(writer)
    idle_forever()


def chain(writer):
    """Never there for long: each hands over to its child, for as long as the test is there."""
    os.close(writer)
    ignore(signal.SIGCHLD)
    while os.path.exists(FOLDER):
        if os.fork() != 0:
            os._exit(0)
    os._exit(0)


def session():
    if fork_child("session"):
        return
    os.setsid()
    ignore(signal.SIGTERM, signal.SIGHUP, signal.SIGINT)
    idle_forever()


def forking():
    """A child that keeps forking; its children live a little longer than it takes."""
    if fork_child("forking"):
        return
    ignore(signal.SIGCHLD)
    while True:
        if os.fork() == 0:
            time.sleep(0.02)
            os._exit(0)
        time.sleep(0.002)


def crowd():
    for _ in range(CROWD):
        if not fork_child("crowd"):
            idle_forever()


HABITS = {
    "none": lambda: None,
    "stubborn": lambda: ignore(signal.SIGTERM),
    "daemon": daemon,
    "wiped": lambda: daemon(wiped, "wiped"),
    "chain": lambda: daemon(chain, "chain"),
    "session": session,
    "forking": forking,
    "crowd": crowd,
    "loading": idle_forever,  # for ever
}


class Connection:
    def __init__(self, link):
        self.link = link
        self.unread = b""

    def take(self):
        """The path and body of a whole request, or None."""
        head, end, rest = self.unread.partition(b"\r\n\r\n")
        if not end:
            return None
        lines = head.split(b"\r\n")
        size = 0
        for line in lines[1:]:
            name, _, value = line.partition(b":")
            if name.lower() == b"content-length":
                size = int(value)
        if len(rest) < size:
            return None
        self.unread = rest[size:]
        return lines[0].split(b" ")[1].decode(), rest[:size]

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
    lock = open(f"{folder}/{token}")
    fcntl.flock(lock, fcntl.LOCK_SH)
    set_process_name("worker")
    habits_by_lane = habits.split(",")
    own = habits_by_lane[int(lane) % len(habits_by_lane)].split("-")
    for habit in own:
        if habit == "loading":
            open(f"{folder}/{lane}.loading", "w").close()
        HABITS[habit]()
    Server(int(port)).serve()


main(*sys.argv[1:])
