"""The worker process: greets the gate, imports and loads the model, serves jobs, ends."""
from __future__ import annotations

import contextlib
import os
import socket
import sys
import threading

from ..errors import NoModel
from ..model import Lane
from ..version import VERSION, python_name
from . import failures, find_model, frames, sources, stacks, warm_parity
from .asgi_apps import App
from .link import Link
from .model_adapter import ModelAdapter
from .runner import exit_code
from .watch import Watch

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable

    from .runner import Runner

_EXIT_PATIENCE_S = 2.0  # for the model's exit functions and threads


def main(argv: list[str]) -> int:
    """Runs `turnpike_worker.py MODEL` and returns the exit code. With `--warm …` it runs the warm process; each worker that this
    process forks continues below."""
    origin = None
    if argv[1:2] == ["--warm"]:
        from . import warm

        try:
            return warm.main(argv)
        except warm.Forked as forked:
            argv = sys.argv = forked.argv
            origin = forked.origin
    number = os.environ.pop("TURNPIKE_SOCKET", "")
    generation = os.environ.pop("TURNPIKE_GENERATION", "")
    if len(argv) != 2 or not number.isdigit():
        print("turnpike: this script is started by `turnpike up MODEL`; to try a model without a gate: "
              "python3 -m turnpike check MODEL", file=sys.stderr)
        return 2
    if generation:
        sources.open_store(generation)
    if origin is not None:
        _start_over_if_a_module_is_hidden(origin, argv)
    sock = socket.socket(fileno=int(number))
    sock.set_inheritable(False)
    sock.setblocking(True)
    worker = Worker(sock, os._exit, generation)
    os.register_at_fork(after_in_child=worker.link.cut_off)
    _show_crashes()
    code = 1
    try:
        code = worker.run(lambda: _import_model(argv[1], origin), argv[1])
    except SystemExit as error:
        code = exit_code(error)
        raise
    finally:
        _end_within(_EXIT_PATIENCE_S, code)
    if worker.problem is not None:
        _exit_at_once(code)
    return code


def _end_within(seconds: float, code: int) -> None:
    """Ends the process after that time, even if threads or exit functions of the model still run."""
    timer = threading.Timer(seconds, os._exit, (code,))
    timer.daemon = True
    timer.start()


def _start_over_if_a_module_is_hidden(origin: warm_parity.ForkOrigin, argv: list[str]) -> None:
    try:
        path, _ = find_model.split_choice(argv[1])
    except NoModel:  # reported later, by the import
        return
    name = warm_parity.file_that_hides_a_module(path, origin.modules)
    if name:
        origin.start_over(f"{name} beside the model has the name of a module that is imported already", argv)


def _exit_at_once(code: int) -> None:
    """Ends the process of a model that did not load. Runs exit functions, but skips the interpreter's shutdown, which takes half
    a second with torch: the user who saved the file waits for the error."""
    import atexit

    with contextlib.suppress(Exception):
        atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(Exception):
            stream.flush()
    os._exit(code)


def _import_model(choice: str, origin: warm_parity.ForkOrigin | None) -> Any:
    import traceback  # noqa: F401: imported before the model, whose folder may have a tokenize.py
    import urllib.parse  # noqa: F401: for the same reason

    path, name = find_model.split_choice(choice)
    with warm_parity.SettingsRecorder():
        module = find_model.run_file(path)
    if origin is not None:
        warm_parity.report_setting_differences(origin.preset)
    return find_model.find_in(module, name)


def _show_crashes() -> None:
    """Makes a segmentation fault print the Python stack to the lane's log."""
    import faulthandler

    try:
        if not faulthandler.is_enabled():
            faulthandler.enable()
    except (OSError, ValueError):  # no stderr
        pass


class Worker:
    """Talks to one gate, from hello to stop. `leave(code)` ends the process (in tests: the thread) at once."""

    def __init__(self, sock: socket.socket, leave: Callable[[int], Any], generation: str = "") -> None:
        self.link = Link(sock, leave, self._stacks)
        self.adapter: Any = None  # a ModelAdapter, or an AppAdapter
        self.problem: Exception | None = None  # why the model could not be loaded
        self._leave = leave
        self._path = ""
        self._generation = generation  # the generation's folder
        self._watch = Watch(self.link, leave)
        self._loop: Any = None

    def run(self, find: Callable[[], Any], path: str = "") -> int:
        """Serves until the gate says stop. `find` imports the model from `path`. Returns the exit code."""
        self._path = path
        self._greet()
        self._watch.work = self
        self._watch.is_loading = True
        self._watch.thread.start()
        runner = self._load(find)
        if runner is None:
            return 1
        runner.run()
        self._unload(runner)
        return 0

    def close(self) -> None:
        """Ends the watch and the loop, for tests, where the process goes on."""
        self._watch.close()
        if self._loop is not None:
            self._loop.close()

    def _greet(self) -> None:
        link = self.link
        link.send(frames.hello(f"turnpike-python {VERSION}, {python_name()}"))
        with link.reading:
            while link.incoming.welcome is None:
                link.read()
        link.send(frames.loading(frames.IMPORTING, None, ""))

    def _load(self, find: Callable[[], Any]) -> Runner | None:
        """Imports and loads the model. Returns None if that failed; the log says why."""
        link = self.link
        assert link.incoming.welcome is not None
        _, lane, gpus, slots, batch, pool = link.incoming.welcome
        try:
            model = find()
            link.send(frames.loading(frames.LOADING_PHASE, None, ""))
            self.adapter = adapter = _make_adapter(model, slots, batch)
            if batch > adapter.batch and isinstance(adapter, ModelAdapter):
                failures.say(f"turnpike: batch = {batch} of the configuration has no effect: predict of {adapter.name} takes one "
                             "input; set batch in the model, and let predict take a list\n")
            runner = self._make_runner(adapter)
            loaded = adapter.load(Lane(lane, pool, gpus, self._send_progress)) if adapter.load else None
            if self._loop is not None and hasattr(loaded, "__await__"):
                self._loop.run_until_complete(loaded)
            ready = frames.ready(adapter.slots, adapter.batch, adapter.check is not None, adapter.example(), adapter.facts())
        except NoModel as error:
            self.problem = error
            failures.say(f"turnpike: {error}\n")
            return None
        except SystemExit as error:  # raised by load
            from . import advice

            failures.say(f"turnpike: the model ended itself while it loaded: {advice.exit_text(error)}\n")
            raise
        except Exception as error:
            self.problem = error
            from . import advice

            failures.say(failures.traceback_of(error) + advice.last_line(error, self._path))
            return None
        if self._generation:
            sources.save_imports(self._generation, warm_parity.settings)
        self._watch.is_loading = False
        self._watch.work = None
        link.send(ready)
        return runner

    def _make_runner(self, adapter: Any) -> Runner:
        if isinstance(adapter.model, App):
            from .asgi_runner import AsgiRunner

            app_runner = AsgiRunner(self.link, adapter, self._watch, self._leave)
            self._loop = app_runner.loop
            return app_runner
        if adapter.is_async:
            from .async_runner import AsyncRunner  # asyncio is slow to import

            async_runner = AsyncRunner(self.link, adapter, self._watch, self._leave)
            self._loop = async_runner.loop
            return async_runner
        if adapter.slots > 1:
            from .thread_runner import ThreadRunner

            return ThreadRunner(self.link, adapter, self._leave)
        from .serial_runner import SerialRunner

        return SerialRunner(self.link, adapter, self._watch, self._leave)

    def _unload(self, runner: Runner) -> None:
        if runner.adapter.unload is None:
            return
        try:
            given = runner.adapter.unload()
            if self._loop is not None and hasattr(given, "__await__"):
                self._loop.run_until_complete(given)
        except Exception as error:
            failures.say(failures.traceback_of(error))

    def _send_progress(self, fraction: float | None, text: str) -> None:
        if not self.link.is_cut and self._watch.is_loading:
            self.link.send(frames.loading(frames.LOADING_PHASE, fraction, text))

    def _stacks(self) -> str:
        try:
            return stacks.text(self._watch.thread.ident, self._loop)
        except Exception as error:  # a model may have patched what stacks.py uses
            return f"the stacks can't be shown: {error!r}"


def _make_adapter(found: Any, slots: int, batch: int) -> Any:
    if not isinstance(found, App):
        return ModelAdapter(found, slots, batch)
    from .asgi_runner import AppAdapter

    if batch > 1:
        failures.say(f"turnpike: batch = {batch} of the configuration has no effect: an ASGI app takes single requests; "
                     "slots = sets how many run at once\n")
    return AppAdapter(found, slots)
