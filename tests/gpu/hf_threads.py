#!/usr/bin/env python3
"""Measures how long generate() of examples/transformers takes per token in the main thread, in a new thread, and in that
thread a second time. You run it by hand, on a machine with a GPU, PyTorch and transformers. Without a GPU it runs on the CPU.

    tests/gpu/hf_threads.py
"""
import os
import sys
import threading
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "sdk/python"), str(ROOT / "examples/transformers")]
os.environ.setdefault("SIZE", "0.7b")

import generation  # noqa: E402
import model  # noqa: E402
import torch  # noqa: E402
import transformers  # noqa: E402
import turnpike.model  # noqa: E402

TOKENS = 24


def measure(where):
    for times in ("first", "second"):
        begin = time.monotonic()
        text.model.generate(input_ids=ids, attention_mask=torch.ones_like(ids), max_new_tokens=TOKENS, do_sample=False,
                            streamer=generation.QueueStreamer(), stopping_criteria=transformers.StoppingCriteriaList())
        print(f"{where:32} {times:6} time: {(time.monotonic() - begin) / TOKENS * 1000:6.1f} ms for a token", flush=True)


def measure_in_a_thread(where):
    thread = threading.Thread(target=measure, args=(where,))
    thread.start()
    thread.join()


has_gpu = torch.cuda.is_available()
text = model.Text()
text.load(turnpike.model.Lane(gpus=int(has_gpu)))
ids = torch.tensor([[72, 101]], device=text.model.device)
print(torch.cuda.get_device_name() if has_gpu else "on the CPU", text.facts)
has_cudnn_attention = hasattr(torch.backends.cuda, "enable_cudnn_sdp")
if has_cudnn_attention:
    torch.backends.cuda.enable_cudnn_sdp(True)  # the example has switched it off
measure("main thread")
measure_in_a_thread("a new thread")
measure_in_a_thread("another new thread")
if has_cudnn_attention:
    torch.backends.cuda.enable_cudnn_sdp(False)
    measure_in_a_thread("a new thread, cuDNN's plans off")
