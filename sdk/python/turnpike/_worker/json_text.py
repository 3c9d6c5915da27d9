"""Encodes and decodes JSON with orjson if it is installed, else with the standard module. Both give the same results.

NaN and infinity are errors in both directions: JSON cannot express them, and `null` would be wrong.
"""
from __future__ import annotations

import json
import math
from json.encoder import c_make_encoder, encode_basestring  # type: ignore[attr-defined]

from ..errors import BadInput, NonFinite

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

try:
    import orjson
except ImportError:
    orjson = None  # type: ignore[assignment]


def decode(body: bytes) -> Any:
    """Raises BadInput, with the position, if the body is not JSON."""
    try:
        if orjson is not None:
            return orjson.loads(body)
        return _decode(body.decode("utf-8"))
    except BadInput:
        raise
    except UnicodeDecodeError as error:
        raise BadInput(f"the body is not JSON: byte {error.start} is not UTF-8") from None
    except json.JSONDecodeError as error:  # orjson's exception is a subclass
        raise BadInput(_syntax_problem(body, error)) from None
    except RecursionError:
        raise BadInput("the body is not usable: its JSON is nested too deeply") from None
    except ValueError as error:  # such as a number of 5000 digits
        raise BadInput(f"the body is not usable: {error}") from None


def _syntax_problem(body: bytes, error: json.JSONDecodeError) -> str:
    if not body.strip():
        return "the body is empty; send JSON, such as {\"x\": 1}"
    if body.startswith(b"--") and b"form-data" in body[:1000]:
        return "the body is a form, not JSON; send JSON, such as {\"x\": 1}, or let predict take a turnpike.Request"
    what = error.msg[:1].lower() + error.msg[1:]
    return f"the body is not JSON: {what} (line {error.lineno}, column {error.colno})"


def _refuse_constant(word: str) -> Any:
    raise BadInput(f"the body is not JSON: it contains {word}, which JSON does not allow")


def _finite_float(text: str) -> float:
    value = float(text)
    if math.isinf(value):
        raise BadInput(f"the body is not usable: {text[:40]} is too large for a number")
    return value


_decoder = json.JSONDecoder(parse_float=_finite_float, parse_constant=_refuse_constant)
_scan = _decoder.scan_once  # type: ignore[attr-defined]


def _decode(text: str) -> Any:
    try:
        value, end = _scan(text, 0)
        if end == len(text):  # else white space or garbage follows
            return value
    except StopIteration:
        pass
    return _decoder.decode(text)


def encode(value: Any) -> bytes:
    """Raises NonFinite for NaN or infinity anywhere in the value, and TypeError, with advice, for types that JSON lacks."""
    data: bytes | None = None
    if orjson is not None:
        try:
            data = orjson.dumps(value, None, _OPTIONS)
        except TypeError:  # a type that only the standard module encodes, or neither
            pass
    if data is None:  # not inside the `except`: tracebacks must not show orjson's error
        return _standard(value)
    if b"null" in data:  # orjson also writes null for NaN
        _refuse_non_finite(value)
    return data


_OPTIONS = orjson.OPT_PASSTHROUGH_DATACLASS | orjson.OPT_PASSTHROUGH_DATETIME if orjson is not None else 0


def _standard(value: Any) -> bytes:
    try:
        return "".join(_encode(value, 0)).encode("utf-8")
    except ValueError:
        _refuse_non_finite(value)
        raise


def _refuse_non_finite(value: Any) -> None:
    try:
        where = _non_finite(value, "answer")
    except RecursionError:
        return
    if where:
        raise NonFinite(f"{where}, which JSON can't express") from None


def _non_finite(value: Any, path: str) -> str:
    """Returns a phrase that names the part of the value that is NaN or infinite. Empty if there is none."""
    if isinstance(value, float):
        return "" if math.isfinite(value) else f"{path} is {float(value)!r}"
    if isinstance(value, dict):
        parts = value.items()
    elif isinstance(value, (list, tuple)):
        parts = enumerate(value)  # type: ignore[assignment]
    else:
        return ""
    for key, item in parts:
        if isinstance(item, float) and math.isfinite(item):
            continue
        if isinstance(item, (float, dict, list, tuple)) and (found := _non_finite(item, f"{path}[{key!r}]")):
            return found
    return ""


def _refuse_value(value: Any) -> Any:
    """Called by the encoder for a value of a type that JSON lacks."""
    name = f"{type(value).__module__}.{type(value).__qualname__}".replace("builtins.", "")
    advice = ""
    if hasattr(value, "tolist"):
        is_scalar = getattr(value, "ndim", None) == 0
        advice = "; return its .item()" if is_scalar and hasattr(value, "item") else "; return its .tolist()"
    elif isinstance(value, (bytes, bytearray, memoryview)):
        advice = "; return it alone, as bytes, or encode it in base64"
    elif isinstance(value, (set, frozenset)):
        advice = "; return a list"
    raise TypeError(f"a {name} can't be encoded as JSON{advice}")


if c_make_encoder is not None:  # made once; json.dumps would make one for each value
    _encode = c_make_encoder(None, _refuse_value, encode_basestring, None, ":", ",", False, False, False)
else:
    def _encode(value: Any, _level: int) -> Any:
        encoder = json.JSONEncoder(allow_nan=False, ensure_ascii=False, separators=(",", ":"), default=_refuse_value)
        return encoder.iterencode(value)
