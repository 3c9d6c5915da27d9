"""Turns an exception of a model into the frame for the gate and the traceback for the log.

CUDA errors are recognized by name and text, so that no framework needs to be imported.
"""
from __future__ import annotations

import os
import sys

from .. import errors
from . import frames

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import TracebackType

    from ..job import Job

_SDK_FOLDER = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep

# Texts of the CUDA driver, its runtime and the frameworks above it, in lower case. sdk/cpp has the same lists;
# sdk/conformance/gpu_errors.json has the texts that both must recognize.
_GPU_WORDS = ("cuda", "cublas", "cudnn", "cufft", "nccl", "hip error", "hip out of memory", "gpu", "accelerator",
                  "resource_exhausted")
_FATAL = ("illegal memory access", "illegal address", "illegaladdress", "illegal_address", "device-side assert",
          "errorassert", "error_assert", "launch failure", "launchfailure", "launch_failed", "launch timed out",
          "misaligned address", "illegal instruction", "illegal_instruction", "invalid program counter",
          "invalid address space", "uncorrectable ecc", "hardware stack error", "nvlink error", "contained error",
          "unrecoverable error", "is lost")
_OUT_OF_MEMORY = ("out of memory", "out_of_memory", "memoryallocation", "alloc_failed")
_OUT_OF_MEMORY_TYPES = frozenset(("OutOfMemoryError", "CUDAOutOfMemoryError"))  # torch, cupy


def _chain(error: BaseException) -> Iterator[BaseException]:
    """Yields the exception, then its cause or context, and so on."""
    seen: set[int] = set()
    link: BaseException | None = error
    while link is not None and id(link) not in seen:
        seen.add(id(link))
        yield link
        link = link.__cause__ or (None if link.__suppress_context__ else link.__context__)


def _text(error: BaseException) -> str:
    try:
        return str(error)
    except Exception:
        return "(its text can't be shown)"


def _gpu_reason(error: BaseException) -> int | None:
    """Returns UNHEALTHY or OUT_OF_MEMORY, or None if the exception is not about a GPU."""
    verdict = None
    for link in _chain(error):
        name, text = type(link).__name__, _text(link).lower()
        is_about_gpu = name == "AcceleratorError" or any(word in text for word in _GPU_WORDS)
        if is_about_gpu and any(phrase in text for phrase in _FATAL):
            return frames.UNHEALTHY
        if name in _OUT_OF_MEMORY_TYPES or is_about_gpu and any(phrase in text for phrase in _OUT_OF_MEMORY):
            verdict = frames.OUT_OF_MEMORY
    return verdict


def reason_of(job: Job, error: BaseException) -> int:
    """Returns the reason of the worker protocol that fits the exception."""
    if isinstance(error, errors.BadInput):
        return frames.BAD_INPUT
    if isinstance(error, errors.Unhealthy):
        return frames.UNHEALTHY
    if isinstance(error, errors.NonFinite):
        return frames.NON_FINITE
    if isinstance(error, errors.Cancelled) and job.cancelled:
        return frames.CANCELLED
    return _gpu_reason(error) or frames.EXCEPTION


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
