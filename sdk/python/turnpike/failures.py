"""Exceptions of a model → what the gate is told about the job, and what the log keeps.

CUDA errors are told apart by name and text, so that no framework needs to be imported.
"""
from __future__ import annotations

import os
import sys

from . import errors, frames

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import TracebackType

    from .job import Job

_FOLDER = os.path.dirname(os.path.abspath(__file__)) + os.sep

_OUT_OF_MEMORY_TYPES = frozenset(("OutOfMemoryError", "CUDAOutOfMemoryError"))  # torch, cupy
_OUT_OF_MEMORY = ("cuda out of memory", "cuda error: out of memory", "cuda_error_out_of_memory",
                  "cudaerrormemoryallocation", "cublas_status_alloc_failed", "cudnn_status_alloc_failed",
                  "hip out of memory", "resource_exhausted: out of memory")
_FATAL = ("illegal memory access", "an illegal address", "device-side assert", "unspecified launch failure",
          "misaligned address", "illegal instruction", "invalid program counter", "invalid address space",
          "uncorrectable ecc", "hardware stack error", "launch timed out", "launch failure", "nvlink error",
          "unrecoverable error", "cudaerrorillegaladdress", "cuda_error_illegal_address",
          "cuda_error_launch_failed", "cuda_error_assert", "cudaerrorassert", "cudaerrorlaunchfailure",
          "is lost", "contained error")
_SPEAKS_OF_CUDA = ("cuda", "cublas", "cudnn", "cufft", "nccl", "hip error", "gpu", "accelerator")


def _chain(error: BaseException) -> Iterator[BaseException]:
    """The exception and what it came from."""
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


def _of_gpu(error: BaseException) -> int | None:
    """UNHEALTHY, OUT_OF_MEMORY, or None: nothing of the kind."""
    verdict = None
    for link in _chain(error):
        name, text = type(link).__name__, _text(link).lower()
        if name == "AcceleratorError" or any(word in text for word in _SPEAKS_OF_CUDA):
            if any(phrase in text for phrase in _FATAL):
                return frames.UNHEALTHY
        if name in _OUT_OF_MEMORY_TYPES or any(phrase in text for phrase in _OUT_OF_MEMORY):
            verdict = frames.OUT_OF_MEMORY
    return verdict


def why(job: Job, error: BaseException) -> int:
    """One of the protocol's reasons."""
    if isinstance(error, errors.BadInput):
        return frames.BAD_INPUT
    if isinstance(error, errors.Unhealthy):
        return frames.UNHEALTHY
    if isinstance(error, errors.NonFinite):
        return frames.NON_FINITE
    if isinstance(error, errors.Cancelled) and job.cancelled:
        return frames.CANCELLED
    return _of_gpu(error) or frames.EXCEPTION


def is_ordinary(job: Job, error: BaseException) -> bool:
    """Does it speak of the job alone, not of the state of the GPU or of the process?"""
    return isinstance(error, Exception) and why(job, error) not in (frames.OUT_OF_MEMORY, frames.UNHEALTHY)


def report(job: Job, error: BaseException) -> bytes:
    """The frame `failed`; the traceback goes to stderr. After an out-of-memory, all that can be freed is."""
    reason = why(job, error)
    frame = frames.failed(job.number, reason, type(error).__name__, _text(error))
    if reason not in (frames.BAD_INPUT, frames.CANCELLED):
        name = "proof" if job.purpose == frames.PROOF else f"job {job.id}"
        say(f"{name}: {traceback_of(error)}")
    if reason == frames.OUT_OF_MEMORY:
        free_memory(error)
    return frame


def traceback_of(error: BaseException) -> str:
    """As Python prints it, without the SDK's own frames at its start."""
    import traceback  # slow to import, and seldom needed

    start: TracebackType | None = error.__traceback__
    while start is not None and start.tb_frame.f_code.co_filename.startswith(_FOLDER):
        start = start.tb_next
    try:
        return "".join(traceback.format_exception(type(error), error, start))
    except Exception:
        return f"{type(error).__name__} (its traceback can't be shown)\n"


def free_memory(error: BaseException) -> None:
    """Frames of a traceback hold the tensors that were on their way."""
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
    """To the lane's log. A model may have closed or replaced stderr."""
    try:
        sys.stderr.write(text)
        sys.stderr.flush()
    except Exception:
        pass
