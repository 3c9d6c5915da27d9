"""The imports of a warm process (warm.py): makes them, tells what forbids a fork, and notices files that changed on disk."""
from __future__ import annotations

import os
import sys
import threading

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Callable

_SDK = os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))), "")

# Packages that are known to break in a forked child once they were imported.
_NEVER_FORK = {"tensorflow": "TensorFlow", "jax": "JAX", "grpc": "gRPC", "ray": "Ray"}


def read_list(path: str) -> tuple[list[str], dict[str, str]]:
    """Returns the names of modules, and the variables that the model sets before it imports them."""
    try:
        with open(path, encoding="utf-8", errors="surrogateescape") as file:
            lines = file.read().split("\n")
    except OSError:  # no worker could write the list; modules of `preload` are still imported
        return [], {}
    return [line for line in lines if "=" not in line], dict(line.split("=", 1) for line in lines if "=" in line)


def import_all(names: list[str], is_required: bool, on_import: Callable[[str], None]) -> list[str]:
    """Imports the modules and returns the packages that are not installed. Calls `on_import` before each import, because an
    import may never return.

    Logs failed imports only if `is_required`: some modules of a recorded list can't be imported by themselves.
    """
    import importlib
    import warnings

    shown, warnings.showwarning = warnings.showwarning, _ignore_warning  # not with a filter: filters belong to the modules
    for name in names:
        if name in sys.modules:
            continue
        on_import(name)
        try:
            importlib.import_module(name)
        except BaseException as error:
            if is_required:
                print(f"turnpike: preload: {name} can't be imported: {error!r}", file=sys.stderr, flush=True)
    if warnings.showwarning is _ignore_warning:
        warnings.showwarning = shown
    return [top for top in {name.partition(".")[0] for name in names} if top and not _is_installed(top)]


def _is_installed(package: str) -> bool:
    if package in sys.modules:
        return True
    import importlib.util

    importlib.invalidate_caches()
    try:
        return importlib.util.find_spec(package) is not None
    except (ImportError, ValueError):
        return False


def _ignore_warning(*_: object, **__: object) -> None:
    pass


class ImportedFiles:
    """Notices files of imported modules that changed, as after `pip install`, and missing packages that were installed."""

    def __init__(self, missing: list[str]) -> None:
        self._missing = missing
        files = {getattr(module, "__file__", None) for module in list(sys.modules.values())}
        self._known = {file: _identity(file) for file in files | {sys.executable}
                       if isinstance(file, str) and not file.startswith(_SDK)}  # the gate touches the SDK's files
        self._latest = self._known

    def change(self) -> str:
        for file, identity in self._known.items():
            if _identity(file) != identity:
                return f"{file} has changed since it was imported"
        return ""

    def settled_change(self) -> str:
        """Like change(), and also reports packages installed since. Empty until all files exist and have not changed since the last
        call, that is, until the installation is over."""
        before, self._latest = self._latest, {file: _identity(file) for file in self._known}
        if self._latest != before or not all(now or not self._known[file] for file, now in self._latest.items()):
            return ""
        return self.change() or next((f"{name} is installed now" for name in self._missing if _is_installed(name)), "")


def _identity(file: str) -> tuple[int, int, int] | None:
    try:
        found = os.stat(file)
    except OSError:
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns


def fork_obstacle() -> str:
    """Returns why this process must not fork. Empty if it may."""
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
