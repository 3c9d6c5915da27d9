"""The warm process of a pool: imports the installed modules that the model needs, once, and forks a worker for each start.

    warm ── fork ── (ends at once) ── fork ── future guard ── fork ── worker
                                              │ executes the guard, which takes over its child

The process in the middle ends at once, so that the guard becomes a direct child of the gate. The gate learns what became of a
request from its end of the control socket: if something fails here, the descriptors that came with the request are just closed.
"""
from __future__ import annotations

import ctypes
import json
import os
import resource
import select
import signal
import socket
import sys
import time

from . import sources, warm_imports, warm_parity

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NoReturn

_GATE_PROGRAM_FD = 4  # the gate's own executable
_LINK_FD = 3          # in a worker: the link to the gate; in a guard: the control socket
_MESSAGE_MAX = 1 << 20
_NAME_SHOWN_MAX = 100
_LOOK_EVERY_S = 5.0  # for packages that were installed or updated
_SET_DEATH_SIGNAL, _SET_SUBREAPER = 1, 36  # options of prctl


class Forked(Exception):
    """Raised in the new worker, to leave the warm process's stack frames. Carries the worker's arguments."""

    def __init__(self, argv: list[str]) -> None:
        super().__init__(argv)
        self.argv = argv
        self.origin = warm_parity.ForkOrigin((), {})


def main(argv: list[str]) -> int:
    """Runs `turnpike_worker.py --warm IMPORTS [MODULE…]`. Raises Forked in each new worker."""
    sock = socket.socket(fileno=int(os.environ.pop("TURNPIKE_SOCKET")))
    sock.set_inheritable(False)
    os.set_inheritable(_GATE_PROGRAM_FD, False)
    _prctl(_SET_DEATH_SIGNAL, signal.SIGKILL)
    if _is_gate_gone(sock):
        return 0
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    initial_modules = {*sys.modules} - {"ctypes", "resource", "signal"}  # these three only the warm process needs
    names, preset = warm_imports.read_list(argv[2])
    os.environ.update(preset)
    before = dict(os.environ)
    missing = warm_imports.import_all(argv[3:] or names, bool(argv[3:]), lambda name: _send(sock, {"importing": _shortened(name)}))
    set_by_imports = {name: value for name, value in os.environ.items() if before.get(name) != value}
    reason = warm_imports.fork_obstacle()
    if reason:
        _send(sock, {"refused": f"{reason}: each start is a cold one"})
        return 0
    imported = warm_imports.ImportedFiles(missing)
    _send(sock, {"ready": len(sys.modules)})
    _freeze_memory()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # children are reaped by the kernel, so the next fork need not wait for them
    while True:
        if not select.select([sock], [], [], _LOOK_EVERY_S)[0]:
            change = imported.settled_change()
            if not change:
                continue
            _send(sock, {"refused": change, "rebuild": True})
            return 0
        data, fds, _, _ = socket.recv_fds(sock, _MESSAGE_MAX, 8)
        if not data:  # the gate is gone
            return 0
        try:
            _serve(sock, data, fds, imported)
        except Forked as forked:
            forked.origin = warm_parity.ForkOrigin(initial_modules, preset)
            for name, value in set_by_imports.items():
                os.environ.setdefault(name, value)
            raise
        finally:
            for fd in fds:
                os.close(fd)


def _is_gate_gone(sock: socket.socket) -> bool:
    """True if the gate ended before the death signal was set."""
    try:
        return not sock.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT)
    except BlockingIOError:
        return False


def _serve(sock: socket.socket, data: bytes, fds: list[int], imported: warm_imports.ImportedFiles) -> None:
    reason = warm_imports.fork_obstacle()
    change = imported.change()
    if reason or change:
        return _send(sock, {"refused": reason or change, "rebuild": not reason})
    for fd in fds:
        os.set_inheritable(fd, False)
    request = json.loads(data.decode("utf-8", "surrogateescape"))
    if os.fork():
        return
    try:
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        parent = os.getpid()
        if os.fork() == 0:
            sock.close()
            _become_guard(request, fds, parent)
    except Forked:
        raise
    except BaseException as error:
        print(f"turnpike: a warm start failed: {type(error).__name__}: {error}", file=sys.stderr, flush=True)
        os._exit(1)
    os._exit(0)


def _freeze_memory() -> None:
    """Keeps the garbage collector from touching the present objects, so that their memory stays shared with every worker."""
    import gc

    gc.collect()
    gc.freeze()


# ── a start ──

def _become_guard(request: dict[str, Any], fds: list[int], parent: int) -> NoReturn:
    """Forks the worker, then executes the guard in this process."""
    out, err, control, link = fds
    _prctl(_SET_SUBREAPER, 1)
    nothing = os.open("/dev/null", os.O_RDONLY)
    for fd, place in ((nothing, 0), (out, 1), (err, 2)):
        os.dup2(fd, place)
    os.close(nothing)
    own = os.getpid()
    worker = os.fork()
    if worker == 0:
        _become_worker(request, fds, own)
    os.dup2(control, _LINK_FD)
    while os.getppid() == parent:  # the parent is about to end; then the gate is our parent
        time.sleep(0.0002)
    words = [request["label"], str(request["open_files"]), request["cgroup"], request["folder"], "", str(worker)]
    os.execve(_GATE_PROGRAM_FD, ["turnpike", "guard", *words], _environment(request))


def _become_worker(request: dict[str, Any], fds: list[int], guard: int) -> NoReturn:
    """Sets the process up as the guard would in a cold start (become_worker in os/guard.cpp)."""
    os.setsid()
    _prctl(_SET_DEATH_SIGNAL, signal.SIGKILL)
    if os.getppid() != guard:
        os._exit(1)
    if request["cgroup"]:
        _join_cgroup(request["cgroup"])
    if request["folder"]:
        os.chdir(request["folder"])
    signal.signal(signal.SIGINT, signal.default_int_handler)
    _limit_open_files(request["open_files"])
    os.dup2(fds[3], _LINK_FD)
    for fd in {*fds, _GATE_PROGRAM_FD} - {_LINK_FD}:
        os.close(fd)
    fds.clear()
    os.environ.clear()
    os.environ.update(_environment(request))
    _set_pwd()
    _reseed()
    sources.remember_inherited()
    raise Forked([sys.argv[0], request["model"]])


def _environment(request: dict[str, Any]) -> dict[str, str]:
    return dict(entry.split("=", 1) for entry in request["environment"] if entry.find("=") > 0)


def _set_pwd() -> None:
    """Sets PWD, as a shell does."""
    try:
        os.environ["PWD"] = os.getcwd()
    except OSError:  # the folder was removed
        pass


def _join_cgroup(cgroup: str) -> None:
    try:
        with open(os.path.join(cgroup, "cgroup.procs"), "w") as file:
            file.write("0")
    except OSError:  # optional: works without the cgroup, too
        pass


def _limit_open_files(files: int) -> None:
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if files:
        resource.setrlimit(resource.RLIMIT_NOFILE, (files if hard == resource.RLIM_INFINITY else min(files, hard), hard))


def _reseed() -> None:
    """Seeds numpy again, else all workers would have the seed of the warm process. (`random` does this itself.)"""
    numpy = sys.modules.get("numpy.random")
    if numpy is not None:
        numpy.seed()


def _prctl(option: int, value: int) -> None:
    ctypes.CDLL(None).prctl(option, value, 0, 0, 0)


def _shortened(name: str) -> str:
    """Returns the name in ASCII, cut to _NAME_SHOWN_MAX."""
    return name.encode("ascii", "backslashreplace").decode()[:_NAME_SHOWN_MAX]


def _send(sock: socket.socket, news: dict[str, Any]) -> None:
    sock.send(json.dumps(news).encode())
