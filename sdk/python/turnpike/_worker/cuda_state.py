"""Asks the CUDA driver whether this process can still use its GPUs.

After an illegal address, a device-side assert or the like, every call of the process's CUDA context fails with that error, for good.
So the driver knows what the text of an exception can only claim. Nothing here waits for the GPU, or starts to use it.
"""
from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from ctypes import CDLL

OUT_OF_MEMORY = 2

# Errors after which a context, or the GPU, is of no more use; CUDA's driver and runtime share these numbers. sdk/cpp has the same.
POISONED = frozenset((
    214,  # uncorrectable ECC error
    220,  # NVLink error
    226,  # contained error
    700,  # illegal address
    702,  # launch timeout
    709,  # the context is destroyed
    710,  # device-side assert
    714,  # hardware stack error
    715,  # illegal instruction
    716,  # misaligned address
    717,  # invalid address space
    718,  # invalid program counter
    719,  # launch failure
    721,  # tensor memory leak
    999,  # unknown; a lost GPU answers so
))
_PER_THREAD_STREAM = 2  # a stream that nobody else uses, so that asking for its state disturbs nothing
_RELAXED = 2


def is_poisoned() -> bool:
    """True if a CUDA context of this process has failed for good. False if the process does not use CUDA."""
    try:
        import ctypes

        cuda = ctypes.CDLL("libcuda.so.1", mode=os.RTLD_NOLOAD)
    except (ImportError, OSError):  # nothing in this process has loaded CUDA
        return False
    try:
        return any(code in POISONED for code in _codes(cuda))
    except AttributeError:  # a driver without one of these calls
        return False


def _codes(cuda: CDLL) -> Iterator[int]:
    """Yields what the driver answers about the thread's own context, and about the one that frameworks share on each GPU."""
    import ctypes

    context, count = ctypes.c_void_p(), ctypes.c_int()
    if cuda.cuCtxGetCurrent(ctypes.byref(context)) == 0 and context:
        yield _state_of_current(cuda)
    cuda.cuDeviceGetCount(ctypes.byref(count))
    for device in range(count.value):
        flags, is_active = ctypes.c_uint(), ctypes.c_int()
        yield cuda.cuDevicePrimaryCtxGetState(device, ctypes.byref(flags), ctypes.byref(is_active))
        if not is_active:
            continue
        code = cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), device)
        yield code
        if code != 0:
            continue
        code = cuda.cuCtxPushCurrent_v2(context)
        if code == 0:
            code = _state_of_current(cuda)
            cuda.cuCtxPopCurrent_v2(ctypes.byref(context))
        cuda.cuDevicePrimaryCtxRelease_v2(device)
        yield code


def _state_of_current(cuda: CDLL) -> int:
    """Returns the error of the current context. Relaxed, so that a graph that another thread captures is not spoiled."""
    import ctypes

    mode = ctypes.c_int(_RELAXED)
    cuda.cuThreadExchangeStreamCaptureMode(ctypes.byref(mode))
    code: int = cuda.cuStreamQuery(ctypes.c_void_p(_PER_THREAD_STREAM))
    cuda.cuThreadExchangeStreamCaptureMode(ctypes.byref(mode))
    return code
