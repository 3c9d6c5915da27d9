"""Turns an exception of a model into the frame for the gate and the traceback for the log.

What the GPU has to do with it is told by the types of exceptions and by the CUDA driver, and only on lanes with a GPU.
"""
from __future__ import annotations

import builtins
import os
import sys

from .. import errors
from . import cuda_state, frames

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import TracebackType
    from typing import Any

    from ..job import Job

_EXCEPTION_GROUP: Any = getattr(builtins, "BaseExceptionGroup", None)  # since Python 3.11
_SDK_FOLDER = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep

# Which exceptions tell of a GPU, by module and name, so that no framework needs to be imported. A subclass counts, too. Never by
# text: an exception may quote what a client sent.
_OUT_OF_MEMORY = frozenset((
    ("torch", "OutOfMemoryError"), ("torch.cuda", "OutOfMemoryError"),  # PyTorch since 2.5, before
    ("cupy.cuda.memory", "OutOfMemoryError"),
    ("pycuda._driver", "MemoryError"),
    ("tensorflow.python.framework.errors_impl", "ResourceExhaustedError"),
))
_ATTRIBUTE_WITH_CODE = {  # a number of CUDA
    ("torch", "AcceleratorError"): "error_code",
    ("cupy_backends.cuda.api.runtime", "CUDARuntimeError"): "status",
    ("cupy_backends.cuda.api.driver", "CUDADriverError"): "status",
    ("numba.cuda.cudadrv.driver", "CudaAPIError"): "code",
    ("numba.cuda.cudadrv.error", "CudaAPIError"): "code",
}


def _chain(error: BaseException) -> Iterator[BaseException]:
    """Yields the exception, its causes and contexts, and the members of groups (of asyncio.TaskGroup, or anyio's)."""
    seen: set[int] = set()
    left: list[BaseException | None] = [error]
    while left:
        link = left.pop()
        if link is None or id(link) in seen:
            continue
        seen.add(id(link))
        yield link
        left.append(link.__cause__ or (None if link.__suppress_context__ else link.__context__))
        if _EXCEPTION_GROUP is not None and isinstance(link, _EXCEPTION_GROUP):
            left.extend(link.exceptions)


def _text(error: BaseException) -> str:
    try:
        return str(error)
    except Exception:
        return "(its text can't be shown)"


def _reason_by_type(error: BaseException) -> int | None:
    """Returns UNHEALTHY or OUT_OF_MEMORY if the type of the exception says so."""
    for kind in type(error).__mro__:
        name = (str(kind.__module__), kind.__name__)
        if name in _OUT_OF_MEMORY:
            return frames.OUT_OF_MEMORY
        if name in _ATTRIBUTE_WITH_CODE:
            code = getattr(error, _ATTRIBUTE_WITH_CODE[name], None)
            if not isinstance(code, int):
                return None
            if code == cuda_state.OUT_OF_MEMORY:
                return frames.OUT_OF_MEMORY
            return frames.UNHEALTHY if code in cuda_state.POISONED else None
    return None


def _gpu_reason(error: BaseException) -> int | None:
    """Returns UNHEALTHY or OUT_OF_MEMORY, or None if the GPU is well. Where types don't tell, the driver does."""
    reasons = [_reason_by_type(link) for link in _chain(error)]
    if frames.UNHEALTHY in reasons or cuda_state.is_poisoned():
        return frames.UNHEALTHY
    return frames.OUT_OF_MEMORY if frames.OUT_OF_MEMORY in reasons else None


def reason_of(job: Job, error: BaseException) -> int:
    """Returns the reason of the worker protocol that fits the exception."""
    if isinstance(error, errors.BadInput):
        return frames.BAD_INPUT
    if any(isinstance(link, errors.Unhealthy) for link in _chain(error)):
        return frames.UNHEALTHY
    if isinstance(error, errors.NonFinite):
        return frames.NON_FINITE
    if isinstance(error, errors.Cancelled) and job.cancelled:
        return frames.CANCELLED
    on_gpu = job._link is not None and job._link.has_gpu
    return on_gpu and _gpu_reason(error) or frames.EXCEPTION


def is_ordinary(job: Job, error: BaseException) -> bool:
    """True if the exception concerns only this job, not the GPU or the process."""
    return isinstance(error, Exception) and reason_of(job, error) not in (frames.OUT_OF_MEMORY, frames.UNHEALTHY)


def report(job: Job, error: BaseException) -> bytes:
    """Returns the frame `failed` and writes the traceback to stderr. Frees what it can after an out-of-memory."""
    reason = reason_of(job, error)
    frame = frames.failed(job.number, reason, type(error).__name__, _text(error))
    if reason not in (frames.BAD_INPUT, frames.CANCELLED):
        name = "proof" if job.purpose == frames.PROOF else f"job {job.id}"
        say(f"{name}: {traceback_of(error)}")
    if reason == frames.OUT_OF_MEMORY:
        free_memory(error)
    return frame


def is_sdk_file(file: str) -> bool:
    """True for the SDK's own files, and for the import system, which the SDK calls to import a model."""
    return file.startswith(_SDK_FOLDER) or file.startswith("<frozen importlib")


def traceback_of(error: BaseException) -> str:
    """Returns the traceback as Python prints it, without the SDK's frames at its start."""
    import traceback  # slow to import and rarely needed

    start: TracebackType | None = error.__traceback__
    while start is not None and is_sdk_file(start.tb_frame.f_code.co_filename):
        start = start.tb_next
    try:
        return "".join(traceback.format_exception(type(error), error, start))
    except Exception:
        return f"{type(error).__name__} (its traceback can't be shown)\n"


def free_memory(error: BaseException) -> None:
    """Drops the tracebacks, whose frames hold tensors, then collects garbage and empties torch's cache."""
    import gc
    import traceback

    for link in list(_chain(error)):
        traceback.clear_frames(link.__traceback__)
        link.__traceback__ = None
    error.__cause__ = error.__context__ = None
    gc.collect()
    torch = sys.modules.get("torch")
    try:
        if torch is not None:
            torch.cuda.empty_cache()
    except Exception as second:
        say(f"torch.cuda.empty_cache(): {second}\n")


def say(text: str) -> None:
    """Writes to stderr, which is the lane's log. Ignores errors: a model may have closed or replaced stderr."""
    try:
        sys.stderr.write(text)
        sys.stderr.flush()
    except Exception:
        pass
