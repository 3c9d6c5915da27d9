"""Makes a forked worker behave like a cold-started one, where a model could see a difference.

- In a cold start, a file beside the model hides an installed module of the same name. In a warm start, the warm process may
  have imported the installed one: then the worker starts over cold, in the same process.
- A model may set variables before its imports (`os.environ["OMP_NUM_THREADS"] = "1"`). Its worker saves them with the list
  of its imports, and the next warm process sets them before it imports.
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

_LANE_VARIABLES = ("CUDA_VISIBLE_DEVICES", "TURNPIKE_")  # they differ from lane to lane, and no import needs them

settings: dict[str, str] = {}  # variables that this worker's model set while it was imported


class ForkOrigin:
    """What a forked worker began with: modules that a cold start has, too; variables set before the imports; the environment."""

    def __init__(self, modules: Iterable[str], preset: dict[str, str]) -> None:
        self.modules = frozenset(modules)
        self.preset = preset
        self.environment = dict(os.environ)

    def start_over(self, why: str, argv: list[str]) -> NoReturn:
        failures.say(f"turnpike: a cold start: {why}\n")
        os.execve(sys.executable, [sys.executable, *argv], self.environment)


def file_that_hides_a_module(path: str, modules: frozenset[str]) -> str:
    """Returns the name of a file beside the model that would hide a module that the warm process has imported. Empty if there is
    none. `modules` are those that a cold start has imported by now, too."""
    top, packages = package.enclosing(os.path.abspath(path))
    if packages:  # its folder comes last in sys.path, so it hides nothing
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
    """A context manager that records in `settings` the environment variables that the user's own code sets."""

    def __enter__(self) -> None:
        self._putenv = os.putenv
        os.putenv = self._put  # os.environ looks it up under this name

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
    """Logs the variables that this model set, but that were different when the warm process made its imports."""
    for name in sorted({*preset, *settings}):
        if preset.get(name) != settings.get(name):
            before = f"with {preset[name]}" if name in preset else "without it"
            failures.say(f"turnpike: the model set {name} after the imports of this warm start, which were made {before}; "
                         "the next start sets it before them\n")
