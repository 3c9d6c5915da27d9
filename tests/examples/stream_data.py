"""What the tests of examples/stream have in common: where it is, its modules, a strict reader of its events."""
import json
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "examples" / "stream"
WEIGHTS = EXAMPLE / "babble.safetensors"
sys.path[:0] = [str(EXAMPLE), str(ROOT / "sdk" / "python")]


def chat(words="What is a lane?", **fields):
    """Returns the body of a chat request."""
    return {"model": "babble", "messages": [{"role": "user", "content": words}], "seed": 1, "max_tokens": 60, **fields}


def events(body):
    """Returns the events of a whole stream. Each must be one line of data; [DONE] must be the last, and only there."""
    parts = body.decode().split("\n\n")
    assert parts[-1] == "" and parts[-2] == "data: [DONE]", parts[-2:]
    assert all(part.startswith("data: {") and "\n" not in part for part in parts[:-2]), parts
    return [json.loads(part[len("data: "):]) for part in parts[:-2]]


def text_of(pieces):
    return "".join(choice["delta"].get("content", "") for piece in pieces for choice in piece["choices"])


# (what is wrong with it, status, param, code)
BAD = [
    ({"model": "gpt-4o"}, 404, "model", "model_not_found"),
    ({"model": "\ud800"}, 404, "model", "model_not_found"),
    ({"model": None}, 400, "model", None),
    ({"model": ["babble"]}, 400, "model", None),
    ({"messages": None}, 400, "messages", "missing_required_parameter"),
    ({"messages": []}, 400, "messages", "invalid_type"),
    ({"messages": "hello"}, 400, "messages", "invalid_type"),
    ({"messages": ["hello"]}, 400, "messages.[0]", "invalid_value"),
    ({"messages": [{"role": "king", "content": "x"}]}, 400, "messages.[0]", "invalid_value"),
    ({"messages": [{"role": ["user"], "content": "x"}]}, 400, "messages.[0]", "invalid_value"),
    ({"messages": [{"role": "user"}]}, 400, "messages.[0].content", "invalid_type"),
    ({"messages": [{"role": "user", "content": 7}]}, 400, "messages.[0].content", "invalid_type"),
    ({"messages": [{"role": "user", "content": [{"type": "image_url"}]}]}, 400, "messages.[0].content", "invalid_type"),
    ({"messages": [{"role": "user", "content": [{"type": "text"}]}]}, 400, "messages.[0].content", "invalid_type"),
    ({"max_tokens": 0}, 400, "max_tokens", "integer_out_of_range"),
    ({"max_tokens": 1_000_001}, 400, "max_tokens", "integer_out_of_range"),
    ({"max_tokens": 1.5}, 400, "max_tokens", "invalid_type"),
    ({"max_tokens": True}, 400, "max_tokens", "invalid_type"),
    ({"max_completion_tokens": "9"}, 400, "max_completion_tokens", "invalid_type"),
    ({"temperature": -0.1}, 400, "temperature", "decimal_out_of_range"),
    ({"temperature": 10**400}, 400, "temperature", "decimal_out_of_range"),
    ({"temperature": "hot"}, 400, "temperature", "invalid_type"),
    ({"top_p": 1.1}, 400, "top_p", "decimal_out_of_range"),
    ({"seed": 2**63}, 400, "seed", "integer_out_of_range"),
    ({"stop": 1}, 400, "stop", "invalid_type"),
    ({"stop": ["a", 1]}, 400, "stop", "invalid_type"),
    ({"stop": ""}, 400, "stop", "invalid_value"),
    ({"stop": ["a", "b", "c", "d", "e"]}, 400, "stop", "invalid_value"),
    ({"stop": "x" * 201}, 400, "stop", "invalid_value"),
    ({"n": 2}, 400, "n", "unsupported_value"),
    ({"logprobs": True}, 400, "logprobs", "unsupported_value"),
    ({"response_format": {"type": "json_object"}}, 400, "response_format", "unsupported_value"),
    ({"tool_choice": "required"}, 400, "tool_choice", "unsupported_value"),
    ({"stream": "yes"}, 400, "stream", "invalid_type"),
    ({"ignore_eos": 1}, 400, "ignore_eos", "invalid_type"),
    ({"stream_options": {"include_usage": True}}, 400, "stream_options", None),
    ({"stream": True, "stream_options": True}, 400, "stream_options", "invalid_type"),
]
