"""An HTTP worker that Turnpike starts. It uses bare sockets, so that it starts quickly.

    http_server.py PLACE [OPTION …]        PLACE: a port, or the path of a Unix socket

    say=TEXT           prints TEXT to stderr first
    gather=FOLDER,N    makes a file in FOLDER, and listens when N files are there
    turns=FOLDER       makes FOLDER/LANE.begin when it starts, and FOLDER/LANE.end before it listens
    until=FILE         listens when FILE exists
    dots               prints a line now and then until it listens
    ignore-sigterm     ignores SIGTERM
    elsewhere          listens on a port that the system chose
    nowhere            never listens
    note=FILE          appends the body of each POST to FILE, as one line
    drop=answered      closes each connection after an answer, without saying so before
    drop=asked         answers one request on each connection; closes the connection when the next one has come

POST /facts            answers with its environment, descriptors, limits and signals
POST /wait             {"started": FILE, "wait_for": FILE}: makes the first file, waits for the second
POST /print            {"bytes": N, "line": N}: prints N bytes in lines of that length (0: one line)
POST /close-output     closes stdout and stderr
POST /write            writes the body to stdout unchanged
POST /stop-listening   {"closed": FILE, "wait_for": FILE}: stops listening, makes the first file, waits
                       for the second, listens again on the same port
POST /die              {"code": N} or {"signal": N}, {"say": TEXT}: prints TEXT, then ends like that. {"last_s": N}: first
                       closes all its connections and answers nothing for N seconds; {"last_s": N, "deaf": true}: and its
                       listener, too. {"spare": true}: does nothing of all this
anything else          answers with its pid and the size of the body
"""
import json
import os
import resource
import signal
import socket
import sys
import threading
import time

closed = {}  # the body of the latest /stop-listening
connections = set()
is_dying = False
options = dict(word.partition("=")[::2] for word in sys.argv[2:])


def exists(path):
    return os.path.exists(path)


def touch(path, text=""):
    with open(path + ".new", "w") as file:
        file.write(text)
    os.rename(path + ".new", path)


def wait_for(path):
    while not exists(path):
        time.sleep(0.005)


def facts():
    files = {}
    for name in os.listdir("/proc/self/fd"):
        try:
            files[name] = os.readlink(f"/proc/self/fd/{name}")
        except OSError:
            pass  # the descriptor of this listing itself
    return {"env": dict(os.environ), "folder": os.getcwd(), "files": files, "pid": os.getpid(),
            "stdin": sys.stdin.read(), "group": os.getpgid(0), "session": os.getsid(0),
            "open_files": resource.getrlimit(resource.RLIMIT_NOFILE)[0], "words": sys.argv[1:],
            "blocked": sorted(signal.pthread_sigmask(signal.SIG_BLOCK, [])),
            "ignored": [number for number in range(1, 32)
                        if signal.getsignal(number) == signal.SIG_IGN]}


def print_much(task):
    line = task.get("line", 100)
    block = (b"x" * (line - 1) + b"\n" if line else b"x") * (65536 // max(line, 1))
    left = task["bytes"]
    while left > 0:
        left -= os.write(1, block[:left])


def die(task, listener):
    sys.stderr.write(task.get("say", ""))
    sys.stderr.flush()
    if "last_s" in task:
        linger(task, listener)
    if "signal" in task:
        os.kill(os.getpid(), task["signal"])
        signal.pause()
    os._exit(task["code"])


def linger(task, listener):
    """Does what a slow core dump does: the connections are gone, and the process still is there."""
    global is_dying
    is_dying = True
    if task.get("deaf"):
        listener.shutdown(socket.SHUT_RDWR)
    close_connections()
    time.sleep(task["last_s"])


def note(body):
    with open(options["note"], "ab", buffering=0) as file:
        file.write(body + b"\n")


def answer(target, body, listener):
    if target == "/write":
        os.write(1, body)
        return {}
    task = json.loads(body or b"{}")
    if target == "/facts":
        return facts()
    if target == "/die" and not task.get("spare"):
        die(task, listener)
    if target == "/stop-listening":
        closed.update(task)
    if target == "/print":
        print_much(task)
    if target == "/close-output":
        os.close(1), os.close(2)
    if target == "/wait":
        touch(task["started"], str(os.getpid()))
        wait_for(task["wait_for"])
    return {"pid": os.getpid(), "bytes": len(body)}


def serve(connection, listener):
    connections.add(connection)
    with connection, connection.makefile("rb") as reader:
        served = 0
        while head := reader.readline():
            length = 0
            while line := reader.readline().strip():
                if line.lower().startswith(b"content-length:"):
                    length = int(line.split(b":")[1])
            body = reader.read(length)
            while is_dying:
                time.sleep(60)
            if "note" in options and head.startswith(b"POST"):
                note(body)
            if options.get("drop") == "asked" and served > 0:
                return
            text = json.dumps(answer(head.split()[1].decode().partition("?")[0], body, listener)).encode()
            connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s"
                               % (len(text), text))
            served += 1
            if options.get("drop") == "answered":
                return
            if closed:
                listener.shutdown(socket.SHUT_RDWR)  # wakes the thread in accept()


def listen(place):
    if not place.isdigit():
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(place)
    else:
        listener = socket.socket()
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(("127.0.0.1", 0 if "elsewhere" in options else int(place)))
    listener.listen(64)
    return listener


def close_connections():
    for connection in list(connections):
        try:
            connection.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass  # the client has closed it already
    connections.clear()


def stop_listening(listener):
    """Closes the listener and all connections until the file is there. Returns a new listener."""
    listener.close()
    close_connections()
    touch(closed["closed"])
    wait_for(closed["wait_for"])
    closed.clear()
    return listen(sys.argv[1])


def load():
    name = os.environ["TURNPIKE_LANE"]
    if "turns" in options:
        touch(f"{options['turns']}/{name}.begin", str(time.monotonic_ns()))
    if "gather" in options:
        folder, count = options["gather"].split(",")
        touch(f"{folder}/{name}")
        while len([entry for entry in os.listdir(folder) if entry.isdigit()]) < int(count):
            time.sleep(0.005)
    while "until" in options and not exists(options["until"]):
        if "dots" in options:
            print("step", flush=True)
        time.sleep(0.02)
    if "turns" in options:
        touch(f"{options['turns']}/{name}.end", str(time.monotonic_ns()))


def main():
    if "ignore-sigterm" in options:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if "say" in options:
        print(options["say"], file=sys.stderr, flush=True)
    load()
    if "nowhere" in options:
        print(f"port {sys.argv[1]} it was", flush=True)
        while True:
            signal.pause()
    listener = listen(sys.argv[1])
    while True:
        try:
            connection, _ = listener.accept()
        except OSError:
            if is_dying:
                listener.close()
                signal.pause()
            listener = stop_listening(listener)
            continue
        threading.Thread(target=serve, args=[connection, listener], daemon=True).start()


main()
