"""A FAKE of Hugging Face transformers: the few parts that examples/transformers uses, for tests on machines without it.

It keeps the order of calls that matters here: generate() gives the prompt to the streamer, then each token, and asks the
stopping criteria after each. StoppingCriteria return a tensor of one bool per row. The weights are random. GPU errors are
simulated with PyTorch's own types and the fake driver: a batch that no GPU could hold is out of memory, and a token beyond the
vocabulary is a device-side assert, which poisons the process's CUDA context.
"""
import ctypes
import json
import os
import time
from pathlib import Path

import torch

__version__ = "0 (fake)"
SECONDS_PER_TOKEN = 0.002  # so that a client can leave in mid-generation
ROWS_MAX = 1024


class StoppingCriteria:
    pass


class StoppingCriteriaList(list):
    def __call__(self, input_ids, scores):
        done = torch.zeros(input_ids.shape[0], dtype=torch.bool)
        for criterion in self:
            done = done | criterion(input_ids, scores)
        return done


class LlamaConfig:
    def __init__(self, **given):
        self.__dict__.update(given)


def poison_cuda():
    cuda = ctypes.CDLL("libcuda.so.1")  # tests/fake_gpu
    assert cuda.cuInit(0) == 0 and cuda.cuDevicePrimaryCtxRetain(ctypes.byref(ctypes.c_void_p()), 0) == 0
    cuda.fake_poison(710)


class FakeModel(torch.nn.Module):
    def __init__(self, config):
        super().__init__()
        self.config = config
        self.embedding = torch.nn.Embedding(config.vocab_size, 32)
        self.head = torch.nn.Linear(32, config.vocab_size)
        self.device = torch.device("cpu")

    def forward(self, ids):
        if ids.shape[0] > ROWS_MAX:
            raise torch.cuda.OutOfMemoryError("CUDA out of memory. Tried to allocate 1.00 TiB (fake)")
        if int(ids.max()) >= self.config.vocab_size:
            poison_cuda()
            raise RuntimeError("CUDA error: device-side assert triggered (fake)")
        return self.head(self.embedding(ids).cumsum(1)[:, -1])

    @torch.no_grad()
    def generate(self, input_ids, attention_mask, streamer, stopping_criteria, max_new_tokens, do_sample, temperature=1.0):
        assert attention_mask.shape == input_ids.shape
        streamer.put(input_ids.cpu())
        for _ in range(max_new_tokens):
            scores = self(input_ids)
            time.sleep(SECONDS_PER_TOKEN)
            new = torch.multinomial(torch.softmax(scores / temperature, -1), 1)[:, 0] if do_sample else scores.argmax(-1)
            input_ids = torch.cat([input_ids, new[:, None]], dim=1)
            streamer.put(new.cpu())
            done = stopping_criteria(input_ids, scores)
            assert done.dtype == torch.bool and done.shape == (input_ids.shape[0],)
            if bool(done.all()):
                break
        streamer.end()
        return input_ids


class AutoModelForCausalLM:
    @staticmethod
    def from_config(config, dtype=None):
        return FakeModel(config).to(dtype)

    @staticmethod
    def from_pretrained(name, dtype=None, device_map=None):
        assert device_map == "cpu", device_map
        torch.manual_seed(7)
        return FakeModel(LlamaConfig(**_read(name))).to(dtype)


class AutoTokenizer:
    """Reads a tokenizer from a folder. A token is a character of its alphabet; the first one is special and is not text."""

    chat_template = "fake"

    @classmethod
    def from_pretrained(cls, name):
        tokenizer = cls()
        tokenizer.alphabet = _read(name)["alphabet"]
        return tokenizer

    def encode(self, text):
        return [0, *(self.alphabet.index(one) for one in text)]

    def decode(self, ids, skip_special_tokens=False):
        return "".join(self.alphabet[one] for one in ids if one or not skip_special_tokens)

    def apply_chat_template(self, messages, tokenize, add_generation_prompt):
        assert not tokenize and add_generation_prompt
        return "".join(message["content"] for message in messages)


def _read(name):
    if not os.path.isdir(name):
        raise OSError(f"{name} is not a local folder and is not a valid model identifier (fake)")
    return json.loads((Path(name) / "config.json").read_text())
