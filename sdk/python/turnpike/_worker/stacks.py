"""Shows what every thread does now, as text, for the watchdog and for `turnpike stacks`."""
from __future__ import annotations

import sys
import threading

from .failures import is_sdk_file

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def text(without: int | None = None, loop: Any = None) -> str:
    """Returns the stacks of all threads except `without` (the SDK's own), the main thread first, and of the loop's tasks."""
    import traceback

    names = {thread.ident: thread.name for thread in threading.enumerate()}
    main = threading.main_thread().ident
    parts = []
    for ident, frame in sorted(sys._current_frames().items(), key=lambda item: item[0] != main):
        if ident != without:
            parts.append(f"thread {names.get(ident, ident)}:\n" + "".join(traceback.format_list(_without_sdk(traceback.extract_stack(frame)))))
    if loop is not None:
        parts += _tasks(loop)
    return "\n".join(parts)


def _without_sdk(steps: list[Any]) -> list[Any]:
    """Drops the SDK's frames before the model's first frame. Keeps all frames if none is the model's."""
    own = [step for step in steps if not is_sdk_file(step.filename) and not step.filename.endswith("turnpike_worker.py")]
    return steps[steps.index(own[0]):] if own else steps


def _tasks(loop: Any) -> list[str]:
    import asyncio
    import io

    parts = []
    try:
        tasks = asyncio.all_tasks(loop)
    except RuntimeError:  # another thread changed them meanwhile
        return []
    for task in tasks:
        said = io.StringIO()
        task.print_stack(file=said)
        parts.append(said.getvalue())
    return parts
