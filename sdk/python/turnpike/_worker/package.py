"""Finds and imports the package that a model's file belongs to, so that `from .net import Net` works in the file.

    /srv/shop/model.py, with a /srv/shop/__init__.py        → package shop, found in /srv
    without __init__.py, if model.py has relative imports   → package shop, made here
"""
from __future__ import annotations

import os
import sys
from types import ModuleType

from . import sources

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def enclosing(path: str) -> tuple[str, list[str]]:
    """Returns the folder above the top package, and the names of the packages from there on. No names if the file is in no
    package."""
    folder = os.path.dirname(path)
    names: list[str] = []
    stem = os.path.splitext(os.path.basename(path))[0]
    depth = 0 if "." in stem else _relative_import_depth(path)
    while "." not in stem and (depth > len(names) or sources.is_file(os.path.join(folder, "__init__.py"))):
        above, name = os.path.split(folder)
        if not name or "." in name:
            break
        folder, names = above, [name, *names]
    return folder, names


def _relative_import_depth(path: str) -> int:
    """Returns the largest number of leading dots in the file's relative imports."""
    import re

    try:
        source = sources.read(path)
        if not re.search(rb"^[ \t]*from[ \t]+\.", source, re.MULTILINE):
            return 0
        import ast

        nodes: Any = ast.walk(ast.parse(source))
        return max((node.level for node in nodes if isinstance(node, ast.ImportFrom)), default=0)
    except (OSError, SyntaxError, ValueError, RecursionError):  # the import will raise it again, with a better message
        return 0


def import_packages(top: str, names: list[str]) -> ModuleType:
    """Imports the packages and returns the innermost one. They need not be on sys.path."""
    inner: ModuleType | None = None
    folder = top
    for part in names:
        folder = os.path.join(folder, part)
        name = f"{inner.__name__}.{part}" if inner is not None else _free_name(part, folder)
        there = sys.modules.get(name) or _import_folder(name, folder)
        if inner is not None:
            setattr(inner, part, there)
        inner = there
    assert inner is not None
    return inner


def _free_name(name: str, folder: str) -> str:
    """Returns the name, with a `_` if another module has it: a folder called transformers must not hide the installed package."""
    from importlib.machinery import PathFinder

    there = sys.modules.get(name)
    if there is not None:
        return name if folder in list(getattr(there, "__path__", ())) else name + "_"
    found = PathFinder.find_spec(name)
    is_other = found is not None and folder not in list(found.submodule_search_locations or ())
    return name + "_" if is_other or name in sys.builtin_module_names else name


def _import_folder(name: str, folder: str) -> ModuleType:
    from importlib.util import module_from_spec, spec_from_file_location

    file = os.path.join(folder, "__init__.py")
    if not sources.is_file(file):
        module = sys.modules[name] = ModuleType(name)
        module.__path__ = [folder]
        return module
    spec = spec_from_file_location(name, file, loader=sources.loader(name, file), submodule_search_locations=[folder])
    assert spec is not None and spec.loader is not None
    module = sys.modules[name] = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
