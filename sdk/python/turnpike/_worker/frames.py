"""Encodes the frames that a worker sends, and defines the numbers that both sides share.

The contract is docs/worker-protocol.md.
"""
from __future__ import annotations

from struct import Struct

VERSION = 1

HEADER = Struct("<IBBHQ")  # size, kind, flags, 0, id
WELCOME = Struct("<HHHHHH")  # version, lane, gpus, slots, batch, pool length
JOB = Struct("<HBBHHHHHHI")  # attempt, purpose, 0, index, size, lengths of name, method, target, 0, fields
JOB_FRAME = Struct("<IBBHQHBBHHHHHHI")  # header and fixed part of a job
LENGTH = Struct("<Q")  # length of a body in a descriptor

_HELLO = Struct("<8sHHH")
_LOADING = Struct("<BBHH")
_READY = Struct("<HHBBHII")
_PROGRESS = Struct("<IBBHQHH")
_HEAD = Struct("<IBBHQHHI")  # header and fixed part of begin and done
_FAILED = Struct("<BBHI")

# from the gate
WELCOME_KIND, JOB_KIND, CANCEL, PING, ASK_STACKS, PAUSE, RESUME, STOP = range(0x01, 0x09)
# from the worker
HELLO, LOADING, READY, PROGRESS, BEGIN, CHUNK, DONE, FAILED, PONG, LOG, STACKS = range(0x81, 0x8C)

IN_DESCRIPTOR = 1  # flag: the body is in a descriptor

JOB_PURPOSE, PROOF, ASIDE = range(3)
BAD_INPUT, EXCEPTION, OUT_OF_MEMORY, NON_FINITE, UNHEALTHY, CANCELLED = range(1, 7)
IMPORTING, LOADING_PHASE = range(2)

PAYLOAD_MAX = 1280 * 1024
INLINE_MAX = 1024 * 1024
FIELDS_MAX = 64 * 1024
MESSAGE_MAX = 64 * 1024
STACKS_MAX = 256 * 1024
FACTS_MAX = 16 * 1024
NAME_MAX = 255
TEXT_MAX = 1024  # bytes of a progress text; the protocol allows 65535
WIDTH_MAX = 1024
PERMILLE_UNKNOWN = 65535


def utf8(text: str, most: int) -> bytes:
    """Returns at most `most` bytes of whole characters. Characters that UTF-8 cannot encode become `?`."""
    data = text.encode("utf-8", "replace")
    return data if len(data) <= most else data[:most].decode("utf-8", "ignore").encode("utf-8")


def permille(fraction: float | None) -> int:
    """Returns a fraction as frames carry it. None and NaN mean "unknown"; other values are clamped to 0 … 1."""
    if fraction is None or fraction != fraction:
        return PERMILLE_UNKNOWN
    return int(min(max(float(fraction), 0.0), 1.0) * 1000 + 0.5)


def plain(kind: int, number: int, rest: bytes = b"") -> bytes:
    return HEADER.pack(len(rest), kind, 0, 0, number) + rest


def hello(sdk: str) -> bytes:
    text = utf8(sdk, NAME_MAX)
    return plain(HELLO, 0, _HELLO.pack(b"turnpike", VERSION, VERSION, len(text)) + text)


def loading(phase: int, fraction: float | None, text: str) -> bytes:
    said = utf8(text, TEXT_MAX)
    return plain(LOADING, 0, _LOADING.pack(phase, 0, permille(fraction), len(said)) + said)


def ready(slots: int, batch: int, checks: bool, example: tuple[str, bytes] | None, facts: bytes) -> bytes:
    kind, body = example or ("", b"")
    said = utf8(kind, NAME_MAX)
    traits = (1 if example else 0) | (2 if checks else 0)
    return plain(READY, 0, _READY.pack(slots, batch, traits, 0, len(said), len(body), len(facts)) + said + body + facts)


def progress(number: int, fraction: float | None, text: str) -> bytes:
    said = utf8(text, TEXT_MAX)
    return _PROGRESS.pack(4 + len(said), PROGRESS, 0, 0, number, permille(fraction), len(said)) + said


def begin(number: int, status: int, fields: bytes) -> bytes:
    return _HEAD.pack(8 + len(fields), BEGIN, 0, 0, number, status, 0, len(fields)) + fields


def chunks(number: int, data: bytes) -> bytes:
    """Returns as many chunk frames as the data needs. Empty for empty data."""
    if 0 < len(data) <= INLINE_MAX:
        return HEADER.pack(len(data), CHUNK, 0, 0, number) + data
    parts = (data[at:at + INLINE_MAX] for at in range(0, len(data), INLINE_MAX))
    return b"".join(HEADER.pack(len(part), CHUNK, 0, 0, number) + part for part in parts)


def done(number: int, status: int, fields: bytes, body: bytes) -> bytes:
    return _HEAD.pack(8 + len(fields) + len(body), DONE, 0, 0, number, status, 0, len(fields)) + fields + body


def done_in_descriptor(number: int, status: int, fields: bytes, length: int) -> bytes:
    """Must be sent together with the descriptor."""
    head = _HEAD.pack(16 + len(fields), DONE, IN_DESCRIPTOR, 0, number, status, 0, len(fields))
    return head + fields + LENGTH.pack(length)


def failed(number: int, why: int, type_name: str, message: str) -> bytes:
    name, said = utf8(type_name, NAME_MAX), utf8(message, MESSAGE_MAX)
    return plain(FAILED, number, _FAILED.pack(why, 0, len(name), len(said)) + name + said)
