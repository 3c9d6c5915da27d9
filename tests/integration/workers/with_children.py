"""An HTTP worker that starts children of all the kinds that programs leave behind, and then listens. It
imports few modules, so that it starts quickly.

    with_children.py PORT LANE FOLDER TOKEN HABITS

HABITS has one entry per lane, separated by ",". An entry is one or more habits, joined by "-". TOKEN is
there so that tests find the process in the process table. FOLDER/LANE.loading appears when the
children have started. FOLDER/TOKEN is locked as long as one of these processes lives; this also shows
processes that live too briefly to be seen in the process table.

POST /echo       answers with the body
POST /after/MS   the same after that many milliseconds
POST /hold       never answers
POST /late       starts a daemon that overwrites its environment, then answers with the body
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
    """Forks. Returns True in the parent and False in the child. The child has this name from its start."""
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
    """Starts a daemon in the usual way: two forks, its own session, no output. `run` is what the daemon
    does. It must close the pipe that it gets when the daemon is ready."""
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
    """A daemon that overwrites its environment, as programs do to change what ps shows."""
    import ctypes
    with open("/proc/self/stat") as stat:
        words = stat.read().rpartition(") ")[2].split()
    begin, end = int(words[47]), int(words[48])
    ctypes.memset(begin, 0, end - begin)
    os.close(writer)
    idle_forever()


def chain(writer):
    """A daemon that forks and exits all the time, so that no process lives for long. Ends with the test."""
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
    """A child that keeps forking. Its children live a little longer than one fork takes."""
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
    "loading": idle_forever,  # never listens
}


class Connection:
    def __init__(self, link):
        self.link = link
        self.unread = b""

    def take(self):
        """Returns the path and body of the next request, or None if it is not complete yet."""
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
            pass  # the gate has closed the connection


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
