"""A worker that changes its listener. It uses bare sockets, so that it starts quickly. All its listeners have SO_REUSEADDR and
SO_REUSEPORT.

    listeners.py PLACE [ADDRESS]     PLACE: a port, or the path of a Unix socket. ADDRESS: 127.0.0.1

POST /renew     makes a new listener, then closes the old one, as servers do that reload themselves
POST /add       makes a second listener
POST /child     starts a child that listens in its place, as servers do that fork their workers
POST /close     closes its listener. Every connection that it has stays
anything else   answers with its pid
"""
import os
import socket
import sys
import threading

listeners = []


def listen():
    place = sys.argv[1]
    address = sys.argv[2] if len(sys.argv) > 2 else "127.0.0.1"
    if place.isdigit():
        listener = socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        listener.bind((address, int(place)))
    else:
        listener = socket.socket(socket.AF_UNIX)
        if os.path.exists(place):
            os.unlink(place)
        listener.bind(place)
    listener.listen(64)
    listeners.append(listener)
    threading.Thread(target=accept, args=[listener], daemon=True).start()


def accept(listener):
    while True:
        try:
            connection, _ = listener.accept()
        except OSError:
            return
        threading.Thread(target=serve, args=[connection], daemon=True).start()


def close():
    listener = listeners.pop(0)
    listener.shutdown(socket.SHUT_RDWR)
    listener.close()


def fork():
    if os.fork() != 0:
        return listeners.pop(0).close()  # only here: no shutdown
    threading.Thread(target=accept, args=[listeners[0]], daemon=True).start()
    threading.Event().wait()


def serve(connection):
    with connection, connection.makefile("rb") as reader:
        while head := reader.readline():
            length = 0
            while line := reader.readline().strip():
                if line.lower().startswith(b"content-length:"):
                    length = int(line.split(b":")[1])
            reader.read(length)
            target = head.split()[1]
            if target in (b"/renew", b"/add"):
                listen()
            if target in (b"/renew", b"/close"):
                close()
            if target == b"/child":
                fork()
            text = b"%d" % os.getpid()
            connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(text), text))


listen()
threading.Event().wait()
