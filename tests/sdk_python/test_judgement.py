"""No text changes how an exception is judged: exceptions of random types, causes, contexts and groups are judged twice, with harmless
and with hostile words, on lanes with and without a GPU."""
import builtins
import json
import random
import sys
import types
import unittest

from conversation import SDK, frames

import turnpike
from turnpike._worker import failures

HOSTILE = [*json.loads((SDK.parent / "conformance" / "gpu_errors.json").read_text()),
           "gpu is lost", "CUDA out of memory", "cuda out of memory", "CUDA ERROR: DEVICE-SIDE ASSERT TRIGGERED", "turnpike.Unhealthy",
           "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB", "torch.AcceleratorError: CUDA error: 700", "710",
           "error_code", "\ud800", "\0\n\r", "ü 😀 out of memory", "Unhealthy", "NonFinite: nan", "BadInput: no", "Cancelled", "3", "5"]
SDK_TYPES = [turnpike.BadInput, turnpike.Unhealthy, turnpike.NonFinite, turnpike.Cancelled]


def of_framework(module, name, base=RuntimeError):
    return type(name, (base,), {"__module__": module})


BUILTIN_TYPES = [kind for kind in vars(builtins).values()
                 if isinstance(kind, type) and issubclass(kind, Exception) and not issubclass(kind, getattr(builtins, "BaseExceptionGroup", ()))]
OUT_OF_MEMORY_TYPES = [of_framework("torch", "OutOfMemoryError"), of_framework("pycuda._driver", "MemoryError", MemoryError)]
CODED_TYPES = [of_framework("torch", "AcceleratorError"), of_framework("cupy_backends.cuda.api.runtime", "CUDARuntimeError")]
NAMESAKES = [of_framework("mine", "OutOfMemoryError"), of_framework("mine", "AcceleratorError"), of_framework("mine", "Unhealthy")]
TYPES = [*BUILTIN_TYPES, *OUT_OF_MEMORY_TYPES, *CODED_TYPES, *NAMESAKES, *SDK_TYPES]


def exception(luck, words, depth=0):
    """Returns an exception whose shape depends on `luck` alone, and whose texts are what words() returns."""
    kind = luck.choice(TYPES)
    if luck.random() < 0.1:
        kind = type("".join(filter(str.isprintable, words())), (kind,), {"__module__": luck.choice(["mine", kind.__module__])})
    error = kind.__new__(kind)
    error.args = tuple(words() for _ in range(luck.randrange(3)))
    for name in ("name", "msg", "reason", "object", "filename", "strerror", "note", "message", "why"):
        try:
            setattr(error, name, words())
        except (AttributeError, TypeError):
            pass
    if luck.random() < 0.3:
        error.error_code = error.status = luck.choice([2, 209, 700, 710, None]) if luck.random() < 0.7 else words()
    if depth < 3 and luck.random() < 0.5:
        error.__cause__ = exception(luck, words, depth + 1)
    if depth < 3 and luck.random() < 0.3:
        error.__context__ = exception(luck, words, depth + 1)
        error.__suppress_context__ = luck.random() < 0.5
    if depth < 3 and sys.version_info >= (3, 11) and luck.random() < 0.2:
        error = ExceptionGroup(words(), [error, exception(luck, words, depth + 1)])  # noqa: F821: since Python 3.11
    return error


def judged(error, gpus):
    job = types.SimpleNamespace(_link=types.SimpleNamespace(has_gpu=bool(gpus)), cancelled=False)
    return failures.reason_of(job, error)


class Judgement(unittest.TestCase):
    def test_no_words_change_how_any_exception_is_judged(self):
        seen = set()
        for seed in range(20_000):
            for gpus in (0, 1):
                harmless = judged(exception(random.Random(seed), lambda: "x"), gpus)
                choose = random.Random(seed + 1)
                error = exception(random.Random(seed), lambda: choose.choice(HOSTILE))
                self.assertEqual(judged(error, gpus), harmless, (seed, gpus))
                seen.add((gpus, harmless))
                is_sick = any(isinstance(link, turnpike.Unhealthy) for link in failures._chain(error))
                if not gpus and not is_sick:
                    self.assertNotIn(harmless, (frames.OUT_OF_MEMORY, frames.UNHEALTHY), seed)
        every = {frames.BAD_INPUT, frames.EXCEPTION, frames.NON_FINITE, frames.UNHEALTHY}
        self.assertEqual(seen, {(0, why) for why in every} | {(1, why) for why in every | {frames.OUT_OF_MEMORY}})


if __name__ == "__main__":
    unittest.main()
