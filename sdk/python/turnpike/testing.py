"""Unit tests for models, through the same code that serves them.

    import turnpike.testing
    from model import Digits

    def test_a_seven():
        with turnpike.testing.serve(Digits) as model:
            assert model.predict({"pixels": SEVEN}) == {"digit": 7}
            assert model.get("/about").status == 200

The worker runs in a thread of the test, over a real socket; `load` gets a CPU lane unless the test says
otherwise.
"""
from __future__ import annotations

import os
import socket
import threading
from types import ModuleType

from . import errors
from ._worker import asgi_apps, find_model, frames, json_text
from ._worker.fake_gate import Gate, WorkerGone
from ._worker.worker import Worker
from .messages import Headers, Response
from .model import Model

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any, Union

    from .messages import Fields

    Servable = Union[str, "os.PathLike[str]", type[Model], Model, ModuleType]

_REASONS = {frames.BAD_INPUT: "bad input", frames.EXCEPTION: "exception", frames.OUT_OF_MEMORY: "out of memory",
            frames.NON_FINITE: "non-finite", frames.UNHEALTHY: "unhealthy", frames.CANCELLED: "cancelled"}


class JobFailed(Exception):
    """The model failed a job. `why` is "exception", "out of memory", …; `type` and `message` are those of the exception."""

    def __init__(self, why: str, type_name: str, message: str) -> None:
        super().__init__(f"{why}: {type_name}: {message}")
        self.why = why
        self.type = type_name
        self.message = message


def serve(model: Servable, *, gpus: int = 0, slots: int = 0, batch: int = 0) -> Served:
    """Serves a model inside a `with` statement. `model` is a Model class or instance, a module with functions, an ASGI app, or
    "model.py[:Name]".

    `gpus` is how many GPUs the lane claims to have; `slots` and `batch` override the model's own.
    """
    return Served(model, gpus, slots, batch)


class Served:
    """A model that is served to a test."""

    def __init__(self, model: Servable, gpus: int, slots: int, batch: int) -> None:
        self._choice = model
        self._welcome: dict[str, Any] = {"gpus": gpus, "slots": slots, "batch": batch}
        self._number = 0
        self._problem: BaseException | None = None

    def __enter__(self) -> Served:
        ours, theirs = socket.socketpair()
        self._gate = Gate(ours)
        self._theirs = theirs
        self._worker = Worker(theirs, _leave)
        self._thread = threading.Thread(target=self._run, name="turnpike-worker", daemon=True)
        self._thread.start()
        try:
            self._gate.next()
            self._gate.welcome(**self._welcome)
            self._gate.until("ready")
        except WorkerGone:
            self._close()
            raise self._why() from None
        return self

    def __exit__(self, *_: Any) -> None:
        try:
            self._gate.order(frames.STOP)
            self._thread.join(10)
        except OSError:  # the worker is gone already
            pass
        self._close()

    @property
    def model(self) -> Any:
        """The instance, module or app that answers."""
        assert self._worker.adapter is not None
        model = self._worker.adapter.model
        return model.call if isinstance(model, asgi_apps.App) else model

    def predict(self, x: Any) -> Any:
        """Returns what a client gets for this input: JSON decoded, text as str, anything else as bytes.

        Raises BadInput or JobFailed.
        """
        answer = self.post("/predict", json_text.encode(x))
        kind = answer.headers.get("content-type", "")
        if kind.startswith("application/json"):
            return answer.json()
        return answer.body.decode("utf-8") if kind.startswith("text/") else answer.body

    def predict_all(self, xs: list[Any]) -> list[Any]:
        """Sends one batch. Returns an answer for each input, or the exception of a job that failed."""
        if not xs:
            return []
        first = self._number + 1
        self._number += len(xs)
        for index, x in enumerate(xs):
            self._gate.job(first + index, json_text.encode(x), index=index, size=len(xs))
        ends: dict[int, Any] = {}
        while len(ends) < len(xs):
            frame = self._until("done", "failed")
            ends[frame.id] = _failure(frame) if frame.name == "failed" else json_text.decode(frame.body)
        return [ends[first + index] for index in range(len(xs))]

    def get(self, path: str, headers: Fields = ()) -> Response:
        return self.request("GET", path, b"", headers)

    def post(self, path: str, body: bytes, headers: Fields = ()) -> Response:
        return self.request("POST", path, body, headers)

    def request(self, method: str, path: str, body: bytes = b"", headers: Fields = ()) -> Response:
        """Returns the whole answer, also of a model that streams."""
        items = self.stream(method, path, body, headers)
        head = next(items)
        return Response(b"".join(items), head.status, head.headers)

    def stream(self, method: str, path: str, body: bytes = b"", headers: Fields = ()) -> Iterator[Any]:
        """Yields first a Response with status and headers, then each piece of the body as it comes.

        Leaving early cancels the job.
        """
        self._number += 1
        number = self._number
        self._gate.job(number, body, method, path, Headers(headers).pairs)
        is_over = False
        try:
            while not is_over:
                frame = self._until("begin", "chunk", "done", "failed")
                is_over = frame.name in ("done", "failed")
                if frame.name == "failed":
                    raise _failure(frame)
                if frame.name == "chunk":
                    yield frame.rest
                elif frame.status:
                    yield Response(b"", frame.status, Headers.parsed(frame.fields))
                    if is_over and frame.body:
                        yield frame.body
        except GeneratorExit:
            if not is_over:
                self._gate.order(frames.CANCEL, number)
                self._until("done", "failed")
            raise

    def _until(self, *names: str) -> Any:
        try:
            return self._gate.until(*names)
        except WorkerGone:
            raise self._why() from None

    def _why(self) -> BaseException:
        """Returns the exception that ended the worker."""
        return self._problem or self._worker.problem or RuntimeError("the worker ended; stderr says why")

    def __getattr__(self, name: str) -> Any:
        if name in ("_gate", "_worker"):
            raise RuntimeError("nothing is served yet: write `with turnpike.testing.serve(…) as model:`")
        raise AttributeError(f"{type(self).__name__} has no {name}")

    def _run(self) -> None:
        try:
            self._worker.run(self._find_model)
        except errors.WorkerEnded:
            pass
        except BaseException as error:  # such as the model's sys.exit
            self._problem = error
        finally:
            self._worker.close()
            self._theirs.shutdown(socket.SHUT_RDWR)

    def _find_model(self) -> Any:
        choice = self._choice
        if isinstance(choice, ModuleType):
            return find_model.find_in(choice)
        if not isinstance(choice, (str, os.PathLike)):
            return asgi_apps.App(choice, "app") if asgi_apps.is_asgi(choice) else choice
        path, name = find_model.split_choice(os.fspath(choice))
        return find_model.find_in(find_model.load_module(path), name)

    def _close(self) -> None:
        self._gate.sock.close()
        self._thread.join(10)
        self._theirs.close()


def _failure(frame: Any) -> Exception:
    if frame.why == frames.BAD_INPUT:
        return errors.BadInput(frame.message)
    return JobFailed(_REASONS.get(frame.why, str(frame.why)), frame.type, frame.message)


def _leave(_: int) -> None:
    raise errors.WorkerEnded
