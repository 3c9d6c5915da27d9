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
import threading
import time

from . import alike, sources

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, NoReturn

_GATE_PROGRAM = 4  # the descriptor of the gate's own program
_LINK = 3          # of a worker; of a guard it is the control socket
_MESSAGE_MAX = 1 << 20
_NAME_SHOWN_MAX = 100
_LOOK_EVERY_S = 5.0  # for packages that were installed anew
_SDK = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "")
_SET_DEATH_SIGNAL, _SET_SUBREAPER = 1, 36  # of prctl

# What is known to break in a forked child once it was imported.
_NEVER_FORK = {"tensorflow": "TensorFlow", "jax": "JAX", "grpc": "gRPC", "ray": "Ray"}


class Forked(Exception):
    """Raised in the new worker, to leave the warm process's frames behind: its arguments."""

    def __init__(self, argv: list[str]) -> None:
        super().__init__(argv)
        self.argv = argv
        self.origin = alike.Origin((), {})


def main(argv: list[str]) -> int:
    """`turnpike_worker.py --warm IMPORTS [MODULE…]`. Raises Forked in a worker."""
    sock = socket.socket(fileno=int(os.environ.pop("TURNPIKE_SOCKET")))
    sock.set_inheritable(False)
    os.set_inheritable(_GATE_PROGRAM, False)
    _prctl(_SET_DEATH_SIGNAL, signal.SIGKILL)
    if _is_alone(sock):
        return 0
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    at_first = {*sys.modules} - {"ctypes", "resource", "signal"}  # those are ours alone
    names, preset = _listed(argv[2])
    os.environ.update(preset)
    before = dict(os.environ)
    missing = _import(argv[3:] or names, bool(argv[3:]), lambda name: _tell(sock, {"importing": _shown(name)}))
    made = {name: value for name, value in os.environ.items() if before.get(name) != value}
    reason = _obstacle()
    if reason:
        _tell(sock, {"refused": f"{reason}: each start is a cold one"})
        return 0
    seen = _Files(missing)
    _tell(sock, {"ready": len(sys.modules)})
    _settle_memory()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for its children: the next fork need not, either
    while True:
        if not select.select([sock], [], [], _LOOK_EVERY_S)[0]:
            change = seen.installed_anew()
            if not change:
                continue
            _tell(sock, {"refused": change, "rebuild": True})
            return 0
        data, fds, _, _ = socket.recv_fds(sock, _MESSAGE_MAX, 8)
        if not data:  # the gate is gone
            return 0
        try:
            _serve(sock, data, fds, seen)
        except Forked as forked:
            forked.origin = alike.Origin(at_first, preset)
            for name, value in made.items():  # by imports
                os.environ.setdefault(name, value)
            raise
        finally:
            for fd in fds:
                os.close(fd)


def _is_alone(sock: socket.socket) -> bool:
    """The gate may have died before its death was a signal."""
    try:
        return not sock.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT)
    except BlockingIOError:
        return False


def _serve(sock: socket.socket, data: bytes, fds: list[int], seen: _Files) -> None:
    reason = _obstacle()
    change = seen.changed()
    if reason or change:
        return _tell(sock, {"refused": reason or change, "rebuild": not reason})
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


# ── imports ──

def _listed(path: str) -> tuple[list[str], dict[str, str]]:
    """Names of modules, and the variables that the model sets before it imports them."""
    try:
        with open(path, encoding="utf-8", errors="surrogateescape") as file:
            lines = file.read().split("\n")
    except OSError:  # nobody could leave them there; those that were named are imported
        return [], {}
    return [line for line in lines if "=" not in line], dict(line.split("=", 1) for line in lines if "=" in line)


def _import(names: list[str], must: bool, begins: Callable[[str], None]) -> list[str]:
    """Some can't be imported by their own: they came with others. Of those that were named, that is said.
    `begins` hears of each before: it may never return.

    Gives the packages that are not there at all.
    """
    import importlib
    import warnings

    shown, warnings.showwarning = warnings.showwarning, _say_nothing  # the filters are the modules' own
    for name in names:
        if name in sys.modules:
            continue
        begins(name)
        try:
            importlib.import_module(name)
        except BaseException as error:
            if must:
                print(f"turnpike: preload: {name} can't be imported: {error!r}", file=sys.stderr, flush=True)
    if warnings.showwarning is _say_nothing:
        warnings.showwarning = shown
    return [top for top in {name.partition(".")[0] for name in names} if top and not _is_there(top)]


def _is_there(package: str) -> bool:
    if package in sys.modules:
        return True
    import importlib.util

    importlib.invalidate_caches()
    try:
        return importlib.util.find_spec(package) is not None
    except (ImportError, ValueError):
        return False


def _shown(name: str) -> str:
    """Short, and in characters that any JSON may have."""
    return name.encode("ascii", "backslashreplace").decode()[:_NAME_SHOWN_MAX]


def _say_nothing(*_: object, **__: object) -> None:
    pass


def _settle_memory() -> None:
    """What is there now is shared with every worker, as long as nobody writes to it."""
    import gc

    gc.collect()
    gc.freeze()


class _Files:
    """Of the modules: what has changed since, as after `pip install`; and of packages that were missing. In words."""

    def __init__(self, missing: list[str]) -> None:
        self._missing = missing
        files = {getattr(module, "__file__", None) for module in list(sys.modules.values())}
        self._known = {file: _identity(file) for file in files | {sys.executable}
                       if isinstance(file, str) and not file.startswith(_SDK)}  # the gate touches its own
        self._latest = self._known

    def changed(self) -> str:
        for file, identity in self._known.items():
            if _identity(file) != identity:
                return f"{file} has changed since it was imported"
        return ""

    def installed_anew(self) -> str:
        """The same, once all files are there and as they were at the last look: nobody is at work on them any more."""
        before, self._latest = self._latest, {file: _identity(file) for file in self._known}
        if self._latest != before or not all(now or not self._known[file] for file, now in self._latest.items()):
            return ""
        return self.changed() or next((f"{name} is installed now" for name in self._missing if _is_there(name)), "")


def _identity(file: str) -> tuple[int, int, int] | None:
    try:
        found = os.stat(file)
    except OSError:
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns


def _obstacle() -> str:
    """Why this process must not fork; nothing: it may."""
    for module, name in _NEVER_FORK.items():
        if module in sys.modules:
            return f"{name} does not survive a fork"
    for fd in os.listdir("/proc/self/fd"):
        try:
            if os.readlink(f"/proc/self/fd/{fd}").startswith("/dev/nvidia"):
                return "an import has started CUDA, which does not survive a fork"
        except OSError:
            continue
    others = [thread.name for thread in threading.enumerate() if thread is not threading.main_thread()]
    return f"an import has started a thread ({others[0]}), which a fork would lose" if others else ""


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
    os.dup2(control, _LINK)
    while os.getppid() == parent:  # it is about to end; then the gate is our parent
        time.sleep(0.0002)
    words = [request["label"], str(request["open_files"]), request["cgroup"], request["folder"], "", str(worker)]
    os.execve(_GATE_PROGRAM, ["turnpike", "guard", *words], _environment(request))


def _become_worker(request: dict[str, Any], fds: list[int], guard: int) -> NoReturn:
    """As the guard would have made it (become_worker in os/guard.cpp)."""
    os.setsid()
    _prctl(_SET_DEATH_SIGNAL, signal.SIGKILL)
    if os.getppid() != guard:
        os._exit(1)
    if request["cgroup"]:
        _join(request["cgroup"])
    if request["folder"]:
        os.chdir(request["folder"])
    signal.signal(signal.SIGINT, signal.default_int_handler)
    _limit_open_files(request["open_files"])
    os.dup2(fds[3], _LINK)
    for fd in {*fds, _GATE_PROGRAM} - {_LINK}:
        os.close(fd)
    fds.clear()
    os.environ.clear()
    os.environ.update(_environment(request))
    _say_where()
    _reseed()
    sources.inherit()
    raise Forked([sys.argv[0], request["model"]])


def _environment(request: dict[str, Any]) -> dict[str, str]:
    return dict(entry.split("=", 1) for entry in request["environment"] if entry.find("=") > 0)


def _say_where() -> None:
    """As a shell does."""
    try:
        os.environ["PWD"] = os.getcwd()
    except OSError:  # somebody removed it
        pass


def _join(cgroup: str) -> None:
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


def _tell(sock: socket.socket, news: dict[str, Any]) -> None:
    sock.send(json.dumps(news).encode())
