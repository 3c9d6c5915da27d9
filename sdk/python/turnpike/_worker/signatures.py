"""Checks, when a model loads, that its functions take the arguments that jobs will pass."""
from __future__ import annotations

from ..errors import NoModel

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_VARARGS = 0x04  # flag of a code object: takes any number of arguments
_WANTED = {"predict": "x", "request": "request", "check": "answer", "load": "lane", "unload": ""}
_WHY = {"predict": "it gets one value, the decoded JSON, and takes its parts from there, as in x[\"text\"]",
        "load": "it gets the lane, for lane.device and lane.progress()"}


def check_function(function: Any, name: str, model: str) -> None:
    """Raises NoModel, which says what to write, if `function` can't be called as a `name` is."""
    code = getattr(function, "__code__", None)
    is_method = getattr(function, "__self__", None) is not None
    if code is None or not _is_mismatch(function, code, bool(_WANTED[name]) + is_method):
        return
    written = ", ".join(code.co_varnames[:code.co_argcount + code.co_kwonlyargcount])
    wanted = ", ".join(part for part in ("self" if is_method else "", _WANTED[name]) if part)
    why = f": {_WHY[name]}" if name in _WHY else ""
    raise NoModel(f"{name}({written}) of {model} must be {name}({wanted}){why}")


def check_constructor(model: type) -> None:
    code = getattr(model.__init__, "__code__", None)  # type: ignore[misc]
    if code is None or not _is_mismatch(model.__init__, code, 1):  # type: ignore[misc]
        return
    written = ", ".join(code.co_varnames[:code.co_argcount + code.co_kwonlyargcount])
    raise NoModel(f"__init__({written}) of {model.__name__} must be __init__(self): a model is made without arguments; "
                  "prepare it in load(self, lane)")


def _is_mismatch(function: Any, code: Any, given: int) -> bool:
    least = code.co_argcount - len(getattr(function, "__defaults__", None) or ())
    only_named = code.co_kwonlyargcount - len(getattr(function, "__kwdefaults__", None) or ())
    most = given if code.co_flags & _VARARGS else code.co_argcount
    return only_named > 0 or not least <= given <= most
