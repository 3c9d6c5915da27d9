"""The parameters of a request, checked before the GPU sees them."""
from dataclasses import dataclass

import turnpike

NEW_TOKENS_MAX = 4096


@dataclass(frozen=True)
class Parameters:
    prompt: str
    max_new_tokens: int = 256
    temperature: float = 0.7  # 0 means always the likeliest token
    seed: "int | None" = None


FIELDS = ("prompt", "max_new_tokens", "temperature", "seed")


def from_json(x):
    """Reads {"prompt": …, "max_new_tokens": …, "temperature": …, "seed": …}. Raises BadInput, which says what to send."""
    if not isinstance(x, dict):
        raise turnpike.BadInput('Send an object: {"prompt": "Once upon a time"}.')
    unknown = sorted(set(x) - {*FIELDS, "events", "model"})
    if unknown:
        raise turnpike.BadInput(f"There is no parameter {unknown[0]!r}; send {', '.join(FIELDS)}, or events.")
    return checked(Parameters(**{"prompt": "", **{name: x[name] for name in FIELDS if x.get(name) is not None}}))


def checked(parameters):
    if not isinstance(parameters.prompt, str) or not parameters.prompt:
        raise turnpike.BadInput("prompt must be a text that is not empty.")
    if not is_int(parameters.max_new_tokens, 1, NEW_TOKENS_MAX):
        raise turnpike.BadInput(f"max_new_tokens must be a whole number from 1 to {NEW_TOKENS_MAX}.")
    temperature = parameters.temperature
    if isinstance(temperature, bool) or not isinstance(temperature, (int, float)) or not 0 <= temperature <= 2:
        raise turnpike.BadInput("temperature must be a number from 0 (always the likeliest token) to 2.")
    if parameters.seed is not None and not is_int(parameters.seed, 0, 2**63 - 1):
        raise turnpike.BadInput("seed must be a whole number from 0 to 2^63 - 1.")
    return parameters


def is_int(value, least, most):
    return isinstance(value, int) and not isinstance(value, bool) and least <= value <= most
