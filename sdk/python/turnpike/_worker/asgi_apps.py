"""Finds the ASGI apps in a module. Recognizes them by class name and parameters, without importing any framework."""
from __future__ import annotations

import os
from types import FunctionType, ModuleType

from ..errors import NoModel

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_FRAMEWORKS = frozenset(("FastAPI", "Starlette", "Litestar", "Quart", "Sanic", "ASGIHandler", "BlackSheep"))
_PARTS = frozenset(("Router", "StaticFiles"))  # they have the signature of an app, but are parts of one
_COROUTINE = 0x80  # flag of a code object


class App:
    """An ASGI app, and its name in the module."""

    __slots__ = ("call", "name")

    def __init__(self, call: Any, name: str) -> None:
        self.call = call
        self.name = name


def is_asgi(value: Any) -> bool:
    """True for an app of a known framework, or a callable with the parameters scope, receive and send."""
    if isinstance(value, type):
        return False
    return _is_framework(value) or _parameters(value)[:3] == ("scope", "receive", "send")


def readable_values(module: ModuleType) -> dict[str, Any]:
    """Returns the module's values, except those that raise on attribute access: Quart's and Flask's `request` does outside of
    a request."""
    return {name: value for name, value in vars(module).items() if _is_readable(value)}


def _is_readable(value: Any) -> bool:
    try:
        getattr(value, "__code__", None)
        return value.__class__ is not None
    except Exception:
        return False


def is_wsgi(value: Any) -> bool:
    """True for WSGI apps, such as Flask's or the one in Django's wsgi.py."""
    return not isinstance(value, type) and _parameters(value)[1:2] == ("start_response",)


def wsgi_text(where: str) -> str:
    return (f"{where} is a WSGI app, but Turnpike serves ASGI apps: name Django's asgi.py instead of its wsgi.py, "
            "or wrap the app, as in asgiref.wsgi.WsgiToAsgi(app)")


def app_names(module: ModuleType) -> list[str]:
    """Returns the names of the module's apps. Apps of known frameworks win over other callables; an app with two names counts
    once."""
    named: dict[int, tuple[str, Any]] = {}
    for name, value in readable_values(module).items():
        is_own = not isinstance(value, FunctionType) or value.__module__ == module.__name__
        if is_own and is_asgi(value) and not _has_base(value, _PARTS):
            named.setdefault(id(value), (name, value))
    whole = [name for name, value in named.values() if _is_framework(value)]
    return whole or [name for name, _ in named.values()]


def app_named(module: ModuleType, name: str) -> App | None:
    """Returns the app that the user named, directly or by a function that makes it; None if the name is neither."""
    value, where = getattr(module, name), f"{name} in {os.path.basename(getattr(module, '__file__', '') or module.__name__)}"
    if is_asgi(value) or _is_three_argument_coroutine(value):
        return App(value, name)
    if is_wsgi(value):
        raise NoModel(wsgi_text(where))
    _refuse_asgi_2(value, where)
    if not isinstance(value, FunctionType) or _needs_arguments(value):
        return None
    made = value()
    if is_asgi(made) or _is_three_argument_coroutine(made):
        return App(made, name)
    if hasattr(made, "close") and hasattr(made, "__await__"):
        made.close()
    raise NoModel(f"{where} is a function that returned a {type(made).__name__}; "
                  "a function that makes an app must return an ASGI app (FastAPI, Starlette, …)")


def _is_framework(value: Any) -> bool:
    return not isinstance(value, type) and callable(value) and _has_base(value, _FRAMEWORKS)


def _has_base(value: Any, names: frozenset[str]) -> bool:
    return any(base.__name__ in names for base in type(value).__mro__)


def _is_three_argument_coroutine(value: Any) -> bool:
    """True for a coroutine function with three parameters of any name. Only for values that the user named."""
    code = _code(value)
    return code is not None and bool(code.co_flags & _COROUTINE) and len(_parameters(value)) == 3


def _refuse_asgi_2(value: Any, where: str) -> None:
    """Raises NoModel for an ASGI 2 app (a class or function that takes only the scope) and for the class of an ASGI 3 app."""
    is_class = isinstance(value, type)
    taken = _parameters(value.__init__)[1:] if is_class else _parameters(value)
    if taken == ("scope",):
        raise NoModel(f"{where} is an ASGI 2 app, which takes only the scope, but Turnpike serves ASGI 3 apps: async def app(scope, receive, send). "
                      "asgiref.compatibility.guarantee_single_callable converts it")
    if is_class and _parameters(value.__call__)[1:4] == ("scope", "receive", "send"):
        raise NoModel(f"{where} is the class of an ASGI app: name an instance of it, as in app = {value.__name__}()")


def _code(value: Any) -> Any:
    return getattr(value, "__code__", None) or getattr(getattr(type(value), "__call__", None), "__code__", None)


def _parameters(value: Any) -> tuple[str, ...]:
    """Returns the names of the positional parameters, without `self`."""
    code = _code(value)
    if code is None:
        return ()
    names = code.co_varnames[:code.co_argcount]
    is_bound = getattr(value, "__self__", None) is not None or getattr(value, "__code__", None) is None
    return tuple(names[1:] if is_bound else names)


def _needs_arguments(function: FunctionType) -> bool:
    code = function.__code__
    given = len(function.__defaults__ or ()), len(function.__kwdefaults__ or ())
    return (code.co_argcount, code.co_kwonlyargcount) != given
