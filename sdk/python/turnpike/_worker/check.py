"""`python3 -m turnpike check MODEL`: loads a model and runs one input, without a gate."""
from __future__ import annotations

import os
import sys
import time

from ..errors import BadInput, NoModel
from ..job import Job, current
from ..messages import Headers, Response
from ..model import Lane
from . import advice, answers, failures, find_model, frames
from .asgi_apps import App
from .model_adapter import ModelAdapter, checked_list

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from typing import Any

_SHOWN_MAX = 2000


def run(options: argparse.Namespace) -> int:
    """Returns the exit code: 0 if the model answered."""
    try:
        return _check(options)
    except NoModel as error:
        print(f"turnpike: {error}", file=sys.stderr)
    except BadInput as error:
        print(f"the model says that the input is bad: {error}", file=sys.stderr)
    except Exception as error:
        sys.stderr.write(failures.traceback_of(error) + advice.last_line(error, options.model))
        if options.pdb:
            import pdb

            pdb.post_mortem(_models_own_traceback(error))
    return 1


def _check(options: argparse.Namespace) -> int:
    path, name = find_model.split_choice(options.model)
    try:
        given = _read_input(options.input)  # before the load, which may take minutes
    except OSError as error:
        print(f"turnpike: the input {options.input} can't be read: {error.strerror}", file=sys.stderr)
        return 1
    stopwatch = _Stopwatch()
    found = find_model.find_in(find_model.run_file(path), name)
    stopwatch.print_lap("imported")
    if isinstance(found, App):
        return _check_app(found, given, stopwatch)
    adapter = ModelAdapter(found)
    run_to_end = _coroutine_runner(adapter)
    lane = Lane(gpus=int(options.device.startswith("cuda")), tell=_print_loading)
    if adapter.load is not None:
        run_to_end(adapter.load(lane))
    stopwatch.print_lap(f"loaded on {lane.device}")
    given = given or adapter.example()
    if given is None:
        print("nothing was predicted, because the model has no `example`; add one, or use --input FILE")
        return 0
    job = _job(*given)
    current.set(job)
    value = run_to_end(_call_model(adapter, job))
    if adapter.takes_lists:
        value = checked_list(value, 1)[0]
    value = _show(value, run_to_end)
    stopwatch.print_lap("answered")
    if adapter.check is not None and options.input is None:
        adapter.judge(run_to_end(adapter.check(value)))
        print("the model's own check accepts the answer")
    return 0


def _check_app(app: App, given: tuple[str, bytes] | None, stopwatch: _Stopwatch) -> int:
    """Starts the app, sends it a POST /predict if there is an input, and shuts it down."""
    from .. import testing

    with testing.serve(app.call) as served:
        stopwatch.print_lap("started up")
        if given is None:
            print("no request was sent; use --input FILE to send one as POST /predict")
            return 0
        answer = served.post("/predict", given[1], {"Host": "localhost", "Content-Type": given[0]})
        print(f"{answer.status} {answer.headers.get('content-type', '')}")
        print(_shortened(answer.body))
        stopwatch.print_lap("answered")
        return 0 if answer.status < 500 else 1


def _call_model(adapter: ModelAdapter, job: Job) -> Any:
    if not adapter.takes_lists:
        return adapter.call(job)
    assert adapter.predict is not None
    return adapter.predict([adapter.input_of(job)])


def _read_input(path: str | None) -> tuple[str, bytes] | None:
    """Returns content type and body of the user's input: a file, or `-` for stdin. None if no input was named."""
    if path is None:
        return None
    if path == "-":
        return "application/json", sys.stdin.buffer.read()
    with open(path, "rb") as file:
        return "application/json" if path.endswith(".json") else "application/octet-stream", file.read()


def _job(kind: str, body: bytes) -> Job:
    fields = f"Content-Type: {kind}\r\n".encode("latin-1")
    return Job(None, 1, 1, frames.JOB_PURPOSE, b"check", b"POST/predict", 4, fields, body)


def _coroutine_runner(adapter: ModelAdapter) -> Any:
    """Returns a function that runs a coroutine to its end and returns anything else unchanged. load and predict share a loop."""
    if not adapter.is_async:
        return lambda value: value
    import asyncio

    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    return lambda value: loop.run_until_complete(value) if hasattr(value, "__await__") else value


def _show(value: Any, run_to_end: Any) -> Any:
    """Encodes the answer as in service and prints its beginning. Returns the value for the model's own check."""
    if isinstance(value, BaseException):
        raise value
    body = value.body if isinstance(value, Response) else value
    if not answers.is_stream(body):
        status, fields, data = answers.encode_answer(value)
        print(f"{status} {Headers.parsed(fields).get('content-type', '')}")
        print(_shortened(data))
        return value
    pieces, items = answers.Pieces(), []
    while True:
        try:
            item = run_to_end(body.__anext__()) if hasattr(type(body), "__anext__") else next(body)
        except (StopIteration, StopAsyncIteration):
            break
        items.append(item)
        print(f"  {_shortened(pieces.encode(item)).rstrip()}")
    print(f"a stream of {Headers.parsed(pieces.fields)['content-type']}")
    return items


def _shortened(data: bytes) -> str:
    text = data[:_SHOWN_MAX].decode("utf-8", "backslashreplace")
    return text if len(data) <= _SHOWN_MAX else f"{text} … ({len(data)} bytes)"


def _print_loading(fraction: float | None, text: str) -> None:
    percent = "" if fraction is None else f"{frames.permille(fraction) / 10:.0f} % "
    print(f"  loading: {percent}{text}")


def _models_own_traceback(error: BaseException) -> Any:
    """Returns the traceback without the SDK's frames at its start."""
    start = error.__traceback__
    folder = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    while start is not None and start.tb_next is not None and start.tb_frame.f_code.co_filename.startswith(folder):
        start = start.tb_next
    return start


class _Stopwatch:
    def __init__(self) -> None:
        self._since = time.perf_counter()

    def print_lap(self, what: str) -> None:
        now = time.perf_counter()
        print(f"{what} in {(now - self._since) * 1000:.1f} ms")
        self._since = now
