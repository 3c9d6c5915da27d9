"""`model.py[:Name]` → the model: a Model class, an instance of one, a module with plain functions; or an ASGI app."""
from __future__ import annotations

import os
import sys
from types import ModuleType

from . import apps
from .errors import NoModel
from .model import Model

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_ours: set[str] = set()  # modules that were loaded here


def split(choice: str) -> tuple[str, str]:
    """The file, and the name in it or nothing. Of a folder: its model.py."""
    path, colon, name = choice.rpartition(":")
    if not colon or os.path.exists(choice) or not name.isidentifier():
        path, name = choice, ""
    if os.path.isdir(path):
        path = os.path.join(path, "model.py")
    if not os.path.isfile(path):
        raise NoModel(f"there is no file {path}")
    return path, name


def load_module(path: str) -> ModuleType:
    """Runs the file as a module of its own name (so that pickles find their classes).

    Its folder comes first where modules are looked for.
    """
    from importlib.machinery import SourceFileLoader
    from importlib.util import module_from_spec, spec_from_file_location

    path = os.path.abspath(path)
    name = os.path.splitext(os.path.basename(path))[0]
    if name in sys.modules and name not in _ours:
        raise NoModel(f"{path} has the name of a module that is in use already ({name}): give it another")
    folder = os.path.dirname(path)
    if folder not in sys.path[:1]:
        sys.path.insert(0, folder)
    loader = SourceFileLoader(name, path)
    spec = spec_from_file_location(name, path, loader=loader)
    assert spec is not None
    module = module_from_spec(spec)
    sys.modules[name] = module
    _ours.add(name)
    loader.exec_module(module)
    return module


def find(module: ModuleType, name: str = "") -> Any:
    """The Model class or instance, the module itself if its functions are the model, or an apps.App.

    NoModel says what was there instead.
    """
    if name:
        return _named(module, name)
    models = [value for value in vars(module).values() if _is_model(value) and value.__module__ == module.__name__]
    models = list(dict.fromkeys(models))
    if len(models) == 1:
        return models[0]
    if models:
        names = [model.__name__ for model in models]
        raise NoModel(f"{_file(module)} has several models ({', '.join(names)}): "
                      f"say which, as in {_file(module)}:{names[-1]}")
    names = apps.alone(module)  # first: a route of an app may well be called `predict`
    if len(names) == 1:
        return apps.App(getattr(module, names[0]), names[0])
    if names:
        raise NoModel(f"{_file(module)} has several ASGI apps ({', '.join(names)}): say which, as in {_file(module)}:{names[0]}")
    if callable(getattr(module, "predict", None)) or callable(getattr(module, "request", None)):
        return module
    raise NoModel(_nothing_found(module))


def _named(module: ModuleType, name: str) -> Any:
    if not hasattr(module, name):
        raise NoModel(f"{_file(module)} has no {name}. {_candidates(module)}")
    value = getattr(module, name)
    if _is_model(value) or isinstance(value, Model):
        return value
    app = apps.named(module, name)
    if app is not None:
        return app
    if isinstance(value, type):
        raise NoModel(f"{name} in {_file(module)} is a class, but not a model: write class {name}(turnpike.Model)")
    raise NoModel(f"{name} in {_file(module)} is a {type(value).__name__}, not a turnpike.Model. {_candidates(module)}")


def _is_model(value: Any) -> bool:
    return isinstance(value, type) and issubclass(value, Model) and value is not Model


def _file(module: ModuleType) -> str:
    return os.path.basename(getattr(module, "__file__", None) or module.__name__)


def _nothing_found(module: ModuleType) -> str:
    return (f"{_file(module)} has no model: write a class Name(turnpike.Model) with a method predict(self, x), "
            f"or a function predict(x). {_candidates(module)}")


def _candidates(module: ModuleType) -> str:
    """What is there that may have been meant."""
    named = vars(module).items()
    models = [name for name, value in named if _is_model(value) or isinstance(value, Model)]
    near = [name for name, value in named if isinstance(value, type) and hasattr(value, "predict") and name not in models]
    said = ([f"Models there: {', '.join(models)}."] if models else []) + \
           ([f"Classes with a predict that are no turnpike.Model: {', '.join(near)}."] if near else [])
    return " ".join(said) or "There is no model in it."
