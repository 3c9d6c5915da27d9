"""A forked worker behaves as one that was started: what its model could tell apart.

- A file beside the model hides an installed module of that name, if nobody has imported that one yet. The warm process
  may have: then the worker starts over in the ordinary way, in the same process.
- A model may set variables before its imports (`os.environ["OMP_NUM_THREADS"] = "1"`): its worker leaves them with its
  imports, and the next warm process sets them before its own.
"""
from __future__ import annotations

import os
import sys

from . import failures, package, sources

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import NoReturn, Union

    _PathText = Union[str, bytes, os.PathLike[str], os.PathLike[bytes]]

_LANE_VARIABLES = ("CUDA_VISIBLE_DEVICES", "TURNPIKE_")  # no import needs them, and they differ

settings: dict[str, str] = {}  # that this worker's model made while it was imported


class ForkOrigin:
    """What a forked worker had from the beginning: names of modules, its environment, what was set before the imports."""

    def __init__(self, modules: Iterable[str], preset: dict[str, str]) -> None:
        self.modules = frozenset(modules)
        self.preset = preset
        self.environment = dict(os.environ)

    def start_over(self, why: str, argv: list[str]) -> NoReturn:
        failures.say(f"turnpike: a cold start: {why}\n")
        os.execve(sys.executable, [sys.executable, *argv], self.environment)


def file_that_hides_a_module(path: str, modules: frozenset[str]) -> str:
    """A file beside the model that hides a module which is there already, and was not from the beginning."""
    top, packages = package.enclosing(os.path.abspath(path))
    if packages:  # its folder is the last where modules are looked for
        return ""
    try:
        names = os.listdir(top)
    except OSError:
        return ""
    for name in names:
        stem, ending = os.path.splitext(name)
        is_module = ending == ".py" or (not ending and os.path.isfile(os.path.join(top, name, "__init__.py")))
        if is_module and stem in sys.modules and stem not in modules:
            return name
    return ""


class SettingsRecorder:
    """While it is open, `settings` learns what the user's own code sets."""

    def __enter__(self) -> None:
        self._putenv = os.putenv
        os.putenv = self._put  # os.environ calls it by this name

    def __exit__(self, *_: object) -> None:
        os.putenv = self._putenv

    def _put(self, name: _PathText, value: _PathText) -> None:
        self._putenv(name, value)
        text, frame = os.fsdecode(name), sys._getframe(1)
        while frame.f_back is not None and frame.f_code.co_filename.startswith(("<frozen ", os.path.dirname(os.__file__))):
            frame = frame.f_back
        if sources.is_own(frame.f_code.co_filename) and not text.startswith(_LANE_VARIABLES) and "\n" not in os.fsdecode(value):
            settings[text] = os.fsdecode(value)


def report_setting_differences(preset: dict[str, str]) -> None:
    """Of a forked worker whose imports had been made under other settings."""
    for name in sorted({*preset, *settings}):
        if preset.get(name) != settings.get(name):
            before = f"with {preset[name]}" if name in preset else "without it"
            failures.say(f"turnpike: {name} was set after a warm start's imports, which were made {before}; "
                         "from the next start on it comes before them\n")
