"""A language model of Hugging Face transformers, for Turnpike: text streams while it is generated.

    MODEL=Qwen/Qwen3-0.6B turnpike up examples/transformers --python env/bin/python    # a name on the hub, or a folder
    curl -N http://127.0.0.1:8000/predict -d '{"prompt": "Once upon a time"}'

Without MODEL nothing is downloaded: a model is built from a config, with random weights, and talks nonsense. SIZE sets its
size. generation.py runs generate() and stops it when no client waits any more; chat.py has OpenAI's API; words.py makes text.
"""
import os
import time
from contextlib import closing, nullcontext

import turnpike

try:
    import torch
    import transformers
except ModuleNotFoundError as missing:
    raise ModuleNotFoundError(f"{missing} (python -m pip install torch transformers accelerate)") from None

import chat
import generation
import request_parameters
import words

SIZES = {  # for models with random weights
    "tiny": dict(hidden_size=128, intermediate_size=384, num_hidden_layers=4, num_attention_heads=4, num_key_value_heads=2),
    "0.7b": dict(hidden_size=1536, intermediate_size=6144, num_hidden_layers=20, num_attention_heads=12, num_key_value_heads=4)}


class Text(turnpike.Model):
    example = {"prompt": "Hello", "max_new_tokens": 4, "temperature": 0}  # every lane generates this before its first job

    def load(self, lane):
        if hasattr(torch.backends.cuda, "enable_cudnn_sdp"):  # else each new length of text costs 60 ms on an H200
            torch.backends.cuda.enable_cudnn_sdp(False)
        self.name = os.environ.get("MODEL", "")
        dtype = torch.float32 if lane.device == "cpu" else torch.bfloat16
        if self.name:
            lane.progress(0.1, f"reading {self.name}")
            self.model, self.tokenizer = pretrained(self.name, lane, dtype)
        else:
            size = os.environ.get("SIZE", "tiny")
            self.name = f"random-{size}"
            lane.progress(0.1, f"random weights, {size}")
            print("MODEL is not set: this model has RANDOM WEIGHTS and talks nonsense. Choose one with "
                  "MODEL=Qwen/Qwen3-0.6B, or env = { MODEL = \"…\" } in turnpike.toml.", flush=True)
            self.model, self.tokenizer = random(size, lane, dtype), words.ByteTokenizer()
        self.model.eval()
        self.positions = getattr(self.model.config, "max_position_embeddings", None)
        self.facts = {"model": self.name, "parameters": sum(weight.numel() for weight in self.model.parameters()),
                      "dtype": str(dtype), "device": str(self.model.device), "torch": torch.__version__,
                      "transformers": transformers.__version__}

    def predict(self, x):
        """Takes {"prompt", "max_new_tokens", "temperature", "seed"} and streams text; with "events", server-sent events."""
        parameters = request_parameters.from_json(x)
        items = self.events(parameters) if x.get("events") else self.pieces(parameters)
        return turnpike.Response(items, headers={"Model": ascii(self.name)[1:-1]})

    def request(self, req):
        """Answers the other paths: those of OpenAI's API."""
        return chat.answer(self, req)

    # ── generating ──

    def encode(self, parameters):
        """Returns the prompt as token ids, (1, length)."""
        ids = self.tokenizer.encode(parameters.prompt)
        if self.positions and len(ids) + parameters.max_new_tokens > self.positions:
            raise turnpike.BadInput(f"The prompt has {len(ids)} tokens; with max_new_tokens = {parameters.max_new_tokens} that is "
                                    f"more than the {self.positions} tokens that this model can take.")
        return torch.tensor([ids], device=self.model.device)

    def steps(self, parameters):
        """Yields (new text or "", tokens so far) after each token."""
        job, decoder = turnpike.job(), words.TextDecoder(self.tokenizer)
        run = generation.Generation(self.model, self.encode(parameters), parameters)
        try:
            with closing(run.tokens()) as steps:
                for count, ids in enumerate(steps, 1):
                    yield decoder.take(ids), count
            job.raise_if_cancelled()
            yield decoder.rest(), run.count()
        finally:
            if job.cancelled:
                print(f"job {job.id}: nobody waits any more; stopped after {run.count()} of {parameters.max_new_tokens} tokens",
                      flush=True)

    def pieces(self, parameters):
        with closing(self.steps(parameters)) as steps:
            yield from (text for text, _ in steps if text)

    def events(self, parameters):
        begin, count = time.monotonic(), 0
        with closing(self.steps(parameters)) as steps:
            for text, count in steps:
                yield {"text": text, "tokens": count}
        yield {"done": True, "tokens": count, "seconds": round(time.monotonic() - begin, 3)}


def pretrained(name, lane, dtype):
    """Loads a model from the hub or a folder straight to the lane's GPU, spread over all of them if the lane has several."""
    tokenizer = transformers.AutoTokenizer.from_pretrained(name)
    place = lane.device if len(lane.devices) == 1 else "auto"
    return transformers.AutoModelForCausalLM.from_pretrained(name, dtype=dtype, device_map=place), tokenizer


def random(size, lane, dtype):
    """Makes a model with random weights, the same on every lane by a fixed seed. A token is a byte, and no token ends a text."""
    if size not in SIZES:
        raise ValueError(f"SIZE is one of {', '.join(SIZES)}, not {size!r}")
    config = transformers.LlamaConfig(vocab_size=words.ByteTokenizer.count, max_position_embeddings=8192, bos_token_id=None,
                                      eos_token_id=None, **SIZES[size])
    torch.manual_seed(1)
    with nullcontext() if lane.device == "cpu" else torch.device(lane.device):  # makes the weights on the GPU
        model = transformers.AutoModelForCausalLM.from_config(config, dtype=dtype)
    return model.to(lane.device)
