"""A model as the worker sees it: which function serves a job, what the function gets, how many slots and jobs per batch."""
from __future__ import annotations

from types import ModuleType

from ..errors import NoModel, WrongAnswer
from ..messages import Request, is_field_value
from . import answers, frames, json_text, signatures
from .find_model import did_you_mean

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable

    from ..job import Job

PREDICT = frozenset((b"POST/predict", b"POST/"))
_PATHS = (b"/predict", b"/")
_ASYNC_FLAGS = 0x80 | 0x100 | 0x200  # flags of a code object: coroutine, old-style coroutine, async generator


class ModelAdapter:
    """Made from what find_model.find_in() returned. Instantiates it if it is a class."""

    def __init__(self, found: Any, slots: int = 0, batch: int = 0) -> None:
        if isinstance(found, type):
            signatures.check_constructor(found)
        self.model = found() if isinstance(found, type) else found
        self.name = found.__name__ if isinstance(found, (type, ModuleType)) else type(found).__name__
        self.predict: Callable[[Any], Any] | None = self._function("predict")
        self.request: Callable[[Request], Any] | None = self._function("request")
        self.check: Callable[[Any], Any] | None = self._function("check")
        self.load: Callable[[Any], Any] | None = self._function("load")
        self.unload: Callable[[], Any] | None = self._function("unload")
        if self.predict is None and self.request is None:
            raise NoModel(f"{self.name} has neither predict nor request: write a method predict(self, x). "
                          f"{did_you_mean('predict', dir(self.model))}".rstrip(" ."))
        own = self._width("batch")
        self.takes_lists = own > 1
        self.batch = (batch or own) if self.takes_lists else 1  # a predict for one input can't take lists
        self.slots = slots or self._width("slots")
        self.takes_requests = self.predict is not None and _wants_request(self.predict)
        self.is_async = any(_is_async(part) for part in (self.load, self.predict, self.request, self.check, self.unload) if part)

    def _function(self, name: str) -> Any:
        value = getattr(self.model, name, None)
        if not callable(value):
            return None
        signatures.check_function(value, name, self.name)
        return value

    def _width(self, name: str) -> int:
        value = getattr(self.model, name, 1)
        if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= frames.WIDTH_MAX:
            raise NoModel(f"{name} of {self.name} must be 1 … {frames.WIDTH_MAX}, not {value!r}")
        return value

    # ── for the frame `ready` ──

    def example(self) -> tuple[str, bytes] | None:
        """Returns content type and body of the model's example, or None if it has no example."""
        value = getattr(self.model, "example", None)
        if value is None:
            return None
        if isinstance(value, Request):
            found = value.headers.get("content-type", "application/octet-stream"), value.body
        elif isinstance(value, (bytes, bytearray)):
            found = "application/octet-stream", bytes(value)
        else:
            found = "application/json", self._json("example", value)
        if len(found[1]) > frames.INLINE_MAX:
            raise NoModel(f"the example of {self.name} is {len(found[1])} bytes, "
                          f"and at most {frames.INLINE_MAX} are taken")
        if not is_field_value(found[0]) or len(found[0].encode("utf-8")) > frames.NAME_MAX:
            raise NoModel(f"the content type of the example of {self.name} is not valid: {found[0]!r}")
        return found

    def facts(self) -> bytes:
        """Returns the model's facts as a JSON object. Empty if there are none."""
        value = getattr(self.model, "facts", None)
        if not isinstance(value, dict) or not value:
            return b""
        data = self._json("facts", value)
        if len(data) > frames.FACTS_MAX:
            raise NoModel(f"the facts of {self.name} are {len(data)} bytes of JSON, "
                          f"and at most {frames.FACTS_MAX} are taken")
        return data

    def _json(self, what: str, value: Any) -> bytes:
        try:
            return json_text.encode(value)
        except (TypeError, ValueError) as error:
            raise NoModel(f"the {what} of {self.name} can't be used: {error}") from None

    # ── jobs ──

    def is_predict(self, job: Job) -> bool:
        """True if the job is for `predict`. Only such jobs may be batched."""
        if self.predict is None:
            return False
        if job.route in PREDICT:
            return True
        return job.route[:job.method_length] == b"POST" and job.route[job.method_length:].partition(b"?")[0] in _PATHS

    def input_of(self, job: Job) -> Any:
        """Returns what `predict` gets for the job. Raises BadInput if it wants JSON and the body is not JSON."""
        return Request.of(job) if self.takes_requests else json_text.decode(job.body())

    def answer_other(self, job: Job) -> Any:
        """Returns the answer to a job that is not for `predict`."""
        request = Request.of(job)
        if self.request is not None:
            return self.request(request)
        if request.path in ("/", "/predict"):
            detail = f"This model takes POST {request.path}, not {request.method} (with curl, -d DATA makes it a POST)."
            return answers.problem(405, "Method Not Allowed", detail, {"Allow": "POST"})
        detail = f"This model has nothing at {request.path}: it answers POST /predict."
        return answers.problem(404, "Not Found", detail)

    def call(self, job: Job) -> Any:
        """Returns what the model returns for one job: a value, a generator, a coroutine, …"""
        if job.route in PREDICT or self.is_predict(job):
            if self.predict is not None and not self.takes_lists:
                return self.predict(self.input_of(job))
        return self.answer_other(job)

    def judge(self, verdict: Any) -> None:
        """Raises WrongAnswer if the model's own check returned a false value other than None."""
        if verdict is not None and not verdict:
            raise WrongAnswer("the model's own check says that its answer is wrong")


def checked_list(values: Any, count: int) -> list[Any]:
    """Returns what a predict for batches returned, as a list. Raises if it is not a list of `count` items."""
    if not isinstance(values, (list, tuple)):
        raise TypeError(f"predict got a list of {count} and must return a list of {count}, not a {type(values).__name__}")
    if len(values) != count:
        raise ValueError(f"predict got a list of {count} and must return a list of {count}, not of {len(values)}")
    return list(values)


def _is_async(function: Any) -> bool:
    while hasattr(function, "__wrapped__"):
        function = function.__wrapped__
    code = getattr(function, "__code__", None) or getattr(getattr(type(function), "__call__", None), "__code__", None)
    return code is not None and bool(code.co_flags & _ASYNC_FLAGS)


def _wants_request(predict: Any) -> bool:
    """True if the parameter is annotated as a Request or a list of Requests."""
    noted = getattr(predict, "__annotations__", None) or getattr(type(predict).__call__, "__annotations__", {})
    for name, kind in noted.items():
        if name == "return":
            continue
        if kind is Request or Request in getattr(kind, "__args__", ()):
            return True
        if isinstance(kind, str):
            return kind.strip("]'\" ").rpartition("[")[2].rpartition(".")[2] == "Request"
        return False
    return False
