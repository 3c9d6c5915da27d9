"""The last log line of a model that could not be imported or loaded. People see this line first.

It names the exception, its place in the user's own files and, for common mistakes, what to do about it.
"""
from __future__ import annotations

import os
import sys

from ..version import python_name
from .failures import is_sdk_file

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

_TEXT_MAX = 160
_NO_GPU = ("not compiled with cuda", "no nvidia driver", "no cuda gpus", "cuda.is_available() is false", "no cuda-capable device")


def last_line(error: BaseException, path: str) -> str:
    """Returns the line. `path` is the model's file."""
    said = f"turnpike: {type(error).__name__}: {_one_line(error)}"
    where = place(error)
    advice = _advice(error, os.path.dirname(os.path.abspath(path)))
    return f"{said}{f' ({where})' if where else ''}{f': {advice}' if advice else ''}\n"


def place(error: BaseException) -> str:
    """Returns the innermost line of the user's own code, as "net.py, line 3". Empty if there is none."""
    if isinstance(error, SyntaxError) and error.filename:
        return f"{_relative(error.filename)}, line {error.lineno}" if error.lineno else _relative(error.filename)
    found = ""
    step = error.__traceback__
    while step is not None:
        file = step.tb_frame.f_code.co_filename
        if not is_sdk_file(file) and not _is_installed(file):
            found = f"{_relative(file)}, line {step.tb_lineno}"
        step = step.tb_next
    return found


def exit_text(error: SystemExit) -> str:
    """Returns the call and its place, as "sys.exit(2) (model.py, line 3)"."""
    said = "" if error.code is None else repr(error.code)[:_TEXT_MAX]
    where = place(error)
    return f"sys.exit({said}){f' ({where})' if where else ''}"


def _one_line(error: BaseException) -> str:
    """Returns the exception's text in one line, cut to _TEXT_MAX."""
    try:
        text = error.msg if isinstance(error, SyntaxError) else str(error)
    except Exception:
        text = "(its text can't be shown)"
    text = " ".join((text or "").split())
    return text if len(text) <= _TEXT_MAX else text[:_TEXT_MAX] + "…"


def _relative(file: str) -> str:
    """Returns the path relative to the current folder if the file is inside it, else as it is."""
    try:
        here = os.path.join(os.getcwd(), "")
    except OSError:
        return file
    return file[len(here):] if file.startswith(here) else file


def _is_installed(file: str) -> bool:
    """True if the file belongs to Python itself or to an installed package."""
    is_compiled_in = not os.path.isabs(file) and not os.path.exists(file)  # such as Cython's uvloop/loop.pyx
    return is_compiled_in or file.startswith("<") or "site-packages" in file or "dist-packages" in file or \
        file.startswith(os.path.dirname(os.__file__) + os.sep)


def _advice(error: BaseException, folder: str) -> str:
    try:
        return _what_to_do(error, folder)
    except Exception:  # its __str__ may raise, or the current folder may be gone
        return ""


def _what_to_do(error: BaseException, folder: str) -> str:
    hiding = next(_hiding_files(folder), "") if isinstance(error, (ImportError, AttributeError)) else ""
    if hiding:
        return f"{hiding} has the name of another module and hides it; give it another name"
    if isinstance(error, ModuleNotFoundError):
        return f"install it for {sys.executable} ({python_name()}), or choose another Python with --python {_other_python(folder)}"
    if isinstance(error, ImportError) and "relative import" in str(error):
        stem = os.path.splitext(os.path.basename(place(error).rpartition(",")[0]))[0]
        return f"that file was not imported as part of a package; use a relative import for it, too: from . import {stem}"
    if isinstance(error, SyntaxError) and "utf-8" in _one_line(error).lower():
        return "save the file as UTF-8, or name its encoding in its first line"
    if isinstance(error, EOFError) and "reading a line" in str(error):
        return "a worker has no keyboard, so nobody can answer an input(); read it from a file or from the environment"
    if isinstance(error, FileNotFoundError) and isinstance(error.filename, str) and not os.path.isabs(error.filename):
        return _missing_file_advice(error.filename, folder)
    if any(words in str(error).lower() for words in _NO_GPU):
        return "there is no GPU that this Python can use; write lane.device instead of \"cuda\" (turnpike doctor lists the GPUs)"
    return ""


def _other_python(folder: str) -> str:
    """Returns the Python of a virtual environment near the model, or "PATH". A venv that is not active is the usual cause."""
    for place in (folder, os.getcwd()):
        for name in (".venv", "venv", "env"):
            python = os.path.join(place, name, "bin", "python")
            if os.access(python, os.X_OK) and os.path.join(place, name) != sys.prefix:
                return python
    return "PATH"


def _missing_file_advice(name: str, folder: str) -> str:
    beside = f"os.path.join(os.path.dirname(__file__), {name!r})"
    if os.path.exists(os.path.join(folder, name)):
        return f"the file is beside the model, not in {os.getcwd()}, where turnpike was called; open {beside}"
    return f"it is not in {os.getcwd()}, where turnpike was called; for a file beside the model, open {beside}"


def _hiding_files(folder: str) -> Iterator[str]:
    """Yields files beside the model that were imported in place of a standard or installed module."""
    from importlib.machinery import PathFinder

    elsewhere = [path for path in sys.path if os.path.abspath(path) != folder and path != os.getcwd()]
    for name, module in list(sys.modules.items()):
        file = getattr(module, "__file__", None) or ""
        if os.path.dirname(file) != folder or "." in name:
            continue
        try:
            found = PathFinder.find_spec(name, elsewhere)
        except Exception:
            continue
        if found is not None and found.origin not in (None, file):
            yield os.path.basename(file)
