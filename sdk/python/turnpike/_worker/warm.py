"""The warm process of a pool: has imported what the model imports from elsewhere, and forks a worker for each start.

    warm ── fork ── (ends at once) ── fork ── guard-to-be ── fork ── worker
                                              │ executes the guard, which adopts its child

The one in the middle ends, so that the guard is the gate's own child from the beginning. The gate's end of the
control socket tells it what became of a request; what goes wrong here just closes the descriptors that came with it.
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

_GATE_PROGRAM_FD = 4  # the descriptor of the gate's own program
_LINK_FD = 3          # of a worker; of a guard it is the control socket
_MESSAGE_MAX = 1 << 20
_NAME_SHOWN_MAX = 100
_LOOK_EVERY_S = 5.0  # for packages that were installed anew
_SET_DEATH_SIGNAL, _SET_SUBREAPER = 1, 36  # of prctl


class Forked(Exception):
    """Raised in the new worker, to leave the warm process's frames behind: its arguments."""

    def __init__(self, argv: list[str]) -> None:
        super().__init__(argv)
        self.argv = argv
        self.origin = warm_parity.ForkOrigin((), {})


def main(argv: list[str]) -> int:
    """`turnpike_worker.py --warm IMPORTS [MODULE…]`. Raises Forked in a worker."""
    sock = socket.socket(fileno=int(os.environ.pop("TURNPIKE_SOCKET")))
    sock.set_inheritable(False)
    os.set_inheritable(_GATE_PROGRAM_FD, False)
    _prctl(_SET_DEATH_SIGNAL, signal.SIGKILL)
    if _is_gate_gone(sock):
        return 0
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    initial_modules = {*sys.modules} - {"ctypes", "resource", "signal"}  # those are ours alone
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
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for its children: the next fork need not, either
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
    """The gate may have died before its death was a signal."""
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
    """What is there now is shared with every worker, as long as nobody writes to it."""
    import gc

    gc.collect()
    gc.freeze()


# ── a start ──

def _become_guard(request: dict[str, Any], fds: list[int], parent: int) -> NoReturn:
    """The worker is made first, as a child; then this process is the guard."""
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
    while os.getppid() == parent:  # it is about to end; then the gate is our parent
        time.sleep(0.0002)
    words = [request["label"], str(request["open_files"]), request["cgroup"], request["folder"], "", str(worker)]
    os.execve(_GATE_PROGRAM_FD, ["turnpike", "guard", *words], _environment(request))


def _become_worker(request: dict[str, Any], fds: list[int], guard: int) -> NoReturn:
    """As the guard would have made it (become_worker in os/guard.cpp)."""
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
    """As a shell does."""
    try:
        os.environ["PWD"] = os.getcwd()
    except OSError:  # somebody removed it
        pass


def _join_cgroup(cgroup: str) -> None:
    try:
        with open(os.path.join(cgroup, "cgroup.procs"), "w") as file:
            file.write("0")
    except OSError:  # better than nothing, never needed
        pass


def _limit_open_files(files: int) -> None:
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if files:
        resource.setrlimit(resource.RLIMIT_NOFILE, (files if hard == resource.RLIM_INFINITY else min(files, hard), hard))


def _reseed() -> None:
    """What is seeded from the system when it is imported would be the same in all. (`random` does this by itself.)"""
    numpy = sys.modules.get("numpy.random")
    if numpy is not None:
        numpy.seed()


def _prctl(option: int, value: int) -> None:
    ctypes.CDLL(None).prctl(option, value, 0, 0, 0)


def _shortened(name: str) -> str:
    """Short, and in characters that any JSON may have."""
    return name.encode("ascii", "backslashreplace").decode()[:_NAME_SHOWN_MAX]


def _send(sock: socket.socket, news: dict[str, Any]) -> None:
    sock.send(json.dumps(news).encode())
