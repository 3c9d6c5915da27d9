"""Runs ASGI apps: each job is one call of the app, in the loop of loop_runner.py. There is no HTTP server in between."""
from __future__ import annotations

import json
import sys
from types import FunctionType, MethodType

from ..errors import Cancelled, WorkerEnded
from ..job import current
from .asgi_call import Call
from .asgi_lifespan import Lifespan
from .asgi_scope import Scopes
from .event_loop import new_app_loop
from .logged_errors import keep_logged_errors
from .loop_runner import LoopRunner
from .runner import log_process_end
from .watch import STOP_PATIENCE_S

TYPE_CHECKING = False
if TYPE_CHECKING:
    import asyncio
    from typing import Any, Callable

    from ..job import Job
    from .asgi_apps import App
    from .link import Link
    from .watch import Watch

_DELAY_S = 0.005


class AppAdapter:
    """An app as the worker sees it. Takes the place of a ModelAdapter."""

    batch = 1
    check = None
    is_async = True
    takes_lists = False

    def __init__(self, app: App, slots: int) -> None:
        self.model = app
        self.name = app.name
        self.slots = slots or 1
        self.lifespan = Lifespan(app.call)
        _import_django_urls()

    async def load(self, _: Any) -> None:
        await self.lifespan.start()

    async def unload(self) -> None:
        await self.lifespan.stop()

    def example(self) -> None:
        return None

    def facts(self) -> bytes:
        """Names the app's framework for `turnpike status`. The gate also uses it to leave out hints that are for models."""
        call = self.model.call
        return json.dumps({"asgi": "function" if isinstance(call, (FunctionType, MethodType)) else type(call).__name__}).encode()


class AsgiRunner(LoopRunner):
    def __init__(self, link: Link, adapter: AppAdapter, watch: Watch, leave: Callable[[int], Any]) -> None:
        super().__init__(link, adapter, watch, leave)
        watch.stop_patience_s = 2 * STOP_PATIENCE_S  # once for background tasks, once for the app's shutdown
        self.scopes = Scopes(adapter.lifespan.state)
        self._app = adapter.model.call
        self._delayed: list[Call] = []
        self._delayed_once: list[Call] = []  # these have waited through one timer already
        self._is_timer_set = False
        keep_logged_errors()

    def new_loop(self) -> asyncio.AbstractEventLoop:
        return new_app_loop()

    async def run_work(self, job: Job) -> None:
        current.set(job)
        if job.cancelled:
            return self.fail(job, Cancelled("the job was cancelled before it began"))
        call = Call(self, job)
        try:
            await self._app(call.scope, call.receive, call.send)
        except (SystemExit, KeyboardInterrupt) as error:
            log_process_end(error)
            raise
        except WorkerEnded:
            raise
        except BaseException as error:
            call.failed(error)
        else:
            call.returned()

    # ── delayed calls ──

    def delay(self, call: Call) -> None:
        """Calls call.delay_passed() after one or two _DELAY_S. One timer serves all calls."""
        self._delayed.append(call)
        if not self._is_timer_set:
            self._is_timer_set = True
            self.loop.call_later(_DELAY_S, self._on_timer)

    def _on_timer(self) -> None:
        due, self._delayed_once, self._delayed = self._delayed_once, self._delayed, []
        for call in due:
            call.delay_passed()
        self._is_timer_set = bool(self._delayed_once)
        if self._is_timer_set:
            self.loop.call_later(_DELAY_S, self._on_timer)


def _import_django_urls() -> None:
    """Django imports URLs and views at the first request. Importing them now shows their errors at the start or reload."""
    conf, urls = sys.modules.get("django.conf"), sys.modules.get("django.urls")
    if "django.core.handlers.asgi" not in sys.modules or conf is None or urls is None:
        return
    if conf.settings.configured and getattr(conf.settings, "ROOT_URLCONF", None):
        urls.get_resolver().url_patterns
