"""Where examples/transformers is, and the fake transformers that the tests use instead of the real one."""
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "examples/transformers"
BROKEN = ROOT / "tests/gpu/hf_model.py"  # the same model, with prompts that make it fail
FAKE = ROOT / "tests/examples/fake_transformers"
HELLO = {"prompt": "Hello", "max_new_tokens": 20, "temperature": 0}
ENDLESS = {**HELLO, "max_new_tokens": 4000}

# Bad inputs that must not reach the GPU, and a word of the message for each.
BAD = [([1], "object"), ({}, "prompt"), ({"prompt": ""}, "prompt"), ({"prompt": 7}, "prompt"), ({"prompt": None}, "prompt"),
       ({"prompt": "a", "max_new_tokens": 0}, "max_new_tokens"), ({"prompt": "a", "max_new_tokens": 4097}, "max_new_tokens"),
       ({"prompt": "a", "max_new_tokens": True}, "max_new_tokens"), ({"prompt": "a", "max_new_tokens": "9"}, "max_new_tokens"),
       ({"prompt": "a", "temperature": -1}, "temperature"), ({"prompt": "a", "temperature": 2.1}, "temperature"),
       ({"prompt": "a", "temperature": "hot"}, "temperature"), ({"prompt": "a", "temperature": False}, "temperature"),
       ({"prompt": "a", "seed": -1}, "seed"), ({"prompt": "a", "seed": 1.5}, "seed"), ({"prompt": "a", "seed": 2**63}, "seed"),
       ({"prompt": "a", "max_tokens": 9}, "max_tokens"), ({"prompt": "a" * 8190, "max_new_tokens": 3}, "8190")]
