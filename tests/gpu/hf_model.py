"""examples/transformers with requests that break it. What "do" asks for runs in the example's own generate(), in its own thread,
and affects the real CUDA context."""
import os
import sys
import threading
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "examples/transformers"))
import model  # noqa: E402


class Broken(model.Text):
    do = None

    def predict(self, x):
        self.do = x.pop("do", None)
        if self.do == "tell":
            return {"pid": os.getpid(), "threads": sorted(thread.name for thread in threading.enumerate()),
                    "cuda_mib": torch.cuda.memory_allocated() >> 20 if torch.cuda.is_available() else 0}
        return super().predict(x)

    def encode(self, parameters):
        ids = super().encode(parameters)
        if self.do == "out of memory":  # a batch of prompts that no GPU holds
            return ids.repeat(1 << 15, 512) if self.model.device.type == "cuda" else ids.repeat(2048, 1)
        if self.do == "device assert":  # a token that is not in the vocabulary
            return ids + self.model.config.vocab_size
        return ids
