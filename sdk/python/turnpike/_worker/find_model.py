"""Finds what `model.py[:Name]` names: a Model class or instance, a module with plain functions, or an ASGI app."""
from __future__ import annotations

import os
import sys
from types import ModuleType

from ..errors import NoModel
from ..model import Model
from . import asgi_apps, package, sources

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

_loaded_here: set[str] = set()  # names of modules that load_module made


def split_choice(choice: str) -> tuple[str, str]:
    """Returns the file and the name in it, which may be empty. A folder means its model.py."""
    path, colon, name = choice.rpartition(":")
    if not colon or os.path.exists(choice) or not name.isidentifier():
        path, name = choice, ""
    if os.path.isdir(path):
        path = os.path.join(path, "model.py")
    if not sources.is_file(os.path.abspath(path)):
        question = _similar_file(path)
        raise NoModel(f"there is no file {path}{'. ' if question else ''}{question}")
    if path.endswith(".ipynb"):
        raise NoModel(f"{path} is a notebook, and a model is a Python file: "
                      f"jupyter nbconvert --to script {path}, and keep what predict needs")
    return path, name


def _similar_file(path: str) -> str:
    if os.path.isfile(path + ".py"):
        return f"Did you mean {path}.py?"
    try:
        files = [name for name in os.listdir(os.path.dirname(path) or ".") if name.endswith(".py")]
    except OSError:
        return ""
    return did_you_mean(os.path.basename(path), files)


def run_file(path: str) -> ModuleType:
    """Like load_module, for a process that serves only this model: sys.argv is set as if the file were the program."""
    sys.argv = [os.path.abspath(path)]
    try:
        return load_module(path)
    except SystemExit as error:
        from . import advice

        raise NoModel(f"{os.path.basename(path)} ended itself while it was imported: {advice.exit_text(error)}. "
                      "Put what it does as a script under if __name__ == \"__main__\"") from None


def load_module(path: str) -> ModuleType:
    """Imports the file under its own name (so that pickles find their classes), as part of its package if it is in one.

    Without a package, the file's folder becomes the first of sys.path and the current folder the last. With a package, the folder
    above it, the file's folder and the current one are appended. A Django project's folder comes first, as for its manage.py.
    """
    path = os.path.abspath(path)
    name = os.path.splitext(os.path.basename(path))[0]
    top, packages = package.enclosing(path)
    if not packages:
        if top not in sys.path[:1]:
            sys.path.insert(0, top)
        _append_to_path(_current_folder())
        return _execute(name, path)
    if sources.is_file(os.path.join(top, "manage.py")):
        sys.path.insert(0, top)
    for folder in (top, os.path.dirname(path), _current_folder()):  # last: a random.py in the package must not hide Python's
        _append_to_path(folder)
    parent = package.import_packages(top, packages)
    whole = f"{parent.__name__}.{name}"
    if whole in sys.modules and whole not in _loaded_here:  # its package has imported it
        return sys.modules[whole]
    module = _execute(whole, path)
    setattr(parent, name, module)
    return module


def _current_folder() -> str:
    try:
        return os.getcwd()
    except OSError:  # the folder was removed
        return ""


def _append_to_path(folder: str) -> None:
    if folder and folder not in sys.path:
        sys.path.append(folder)


def _execute(name: str, path: str) -> ModuleType:
    from importlib.util import module_from_spec, spec_from_file_location

    if name in sys.modules and name not in _loaded_here:
        raise NoModel(f"{path} has the name of a module that is in use already ({name}); rename the file")
    loader = sources.loader(name, path)
    spec = spec_from_file_location(name, path, loader=loader)
    assert spec is not None
    module = module_from_spec(spec)
    sys.modules[name] = module
    _loaded_here.add(name)
    loader.exec_module(module)
    return module


def find_in(module: ModuleType, name: str = "") -> Any:
    """Returns the Model class or instance, the module itself if its functions are the model, or an asgi_apps.App.

    Raises NoModel, which says what was found instead.
    """
    if name:
        return _find_named(module, name)
    models = [value for value in asgi_apps.readable_values(module).values() if _is_model(value) and value.__module__ == module.__name__]
    models = list(dict.fromkeys(models))
    if len(models) == 1:
        return models[0]
    if models:
        names = [model.__name__ for model in models]
        raise NoModel(f"{_file_name(module)} has several models ({', '.join(names)}): "
                      f"say which, as in {_file_name(module)}:{names[-1]}")
    names = asgi_apps.app_names(module)  # before plain functions: a route of an app may be called `predict`
    if len(names) == 1:
        return asgi_apps.App(getattr(module, names[0]), names[0])
    if names:
        raise NoModel(f"{_file_name(module)} has several ASGI apps ({', '.join(names)}): say which, as in {_file_name(module)}:{names[0]}")
    known = asgi_apps.readable_values(module)
    if callable(known.get("predict")) or callable(known.get("request")):
        return module
    raise NoModel(_no_model_text(module))


def _find_named(module: ModuleType, name: str) -> Any:
    if not hasattr(module, name):
        raise NoModel(f"{_file_name(module)} has no {name}. {did_you_mean(name, vars(module)) or _candidates(module)}")
    value = getattr(module, name)
    if _is_model(value) or isinstance(value, Model):
        return value
    app = asgi_apps.app_named(module, name)
    if app is not None:
        return app
    if isinstance(value, type):
        raise NoModel(f"{name} in {_file_name(module)} is a class, but not a model: {_how_to_wrap(name, value)}")
    raise NoModel(f"{name} in {_file_name(module)} is a {type(value).__name__}, not a turnpike.Model. {_candidates(module)}")


def _is_model(value: Any) -> bool:
    return isinstance(value, type) and issubclass(value, Model) and value is not Model


def _file_name(module: ModuleType) -> str:
    return os.path.basename(getattr(module, "__file__", None) or module.__name__)


def _no_model_text(module: ModuleType) -> str:
    for name, value in asgi_apps.readable_values(module).items():
        if asgi_apps.is_wsgi(value):
            return asgi_apps.wsgi_text(f"{name} in {_file_name(module)}")
    if _file_name(module) == "manage.py":
        return f"manage.py is Django's command line; the app is in the project's asgi.py: {_asgi_file(module)}:application"
    own = {name: value for name, value in asgi_apps.readable_values(module).items() if getattr(value, "__module__", None) == module.__name__}
    for name, value in own.items():
        if isinstance(value, type) and (hasattr(value, "predict") or hasattr(value, "forward")):
            return f"{_file_name(module)} has no model, but a class {name}: {_how_to_wrap(name, value)}"
    return (f"{_file_name(module)} has no model: write a class Name(turnpike.Model) with a method predict(self, x), "
            f"or a function predict(x). {did_you_mean('predict', own)}".rstrip(" ."))


def _asgi_file(module: ModuleType) -> str:
    """Returns the path of asgi.py in the Django project that this manage.py belongs to."""
    folder = os.path.dirname(module.__file__ or "")
    projects = [name for name in sorted(os.listdir(folder)) if os.path.isfile(os.path.join(folder, name, "asgi.py"))]
    return os.path.join(*projects[:1] or ["mysite"], "asgi.py")


def _how_to_wrap(name: str, value: type) -> str:
    if hasattr(value, "forward") and not hasattr(value, "predict"):
        return f"write a class Model(turnpike.Model) whose load(self, lane) makes a {name}, and whose predict(self, x) calls it"
    return f"write class {name}(turnpike.Model)"


def did_you_mean(name: str, names: Iterable[str]) -> str:
    """Returns "Did you mean …?" if one of `names` is similar to `name`, else an empty string."""
    from difflib import get_close_matches  # slow to import and rarely needed

    found = get_close_matches(name, [other for other in names if not other.startswith("__")], 1, 0.7)
    return f"Did you mean {found[0]}?" if found and found[0] != name else ""


def _candidates(module: ModuleType) -> str:
    """Names the models in the module, and classes that may have been meant as models."""
    named = asgi_apps.readable_values(module).items()
    models = [name for name, value in named if _is_model(value) or isinstance(value, Model)]
    near = [name for name, value in named if isinstance(value, type) and hasattr(value, "predict") and name not in models]
    said = ([f"Models there: {', '.join(models)}."] if models else []) + \
           ([f"Classes with a predict that are not a turnpike.Model: {', '.join(near)}."] if near else [])
    return " ".join(said) or "There is no model in it."
