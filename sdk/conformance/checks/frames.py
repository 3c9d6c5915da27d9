"""The frames of docs/worker-protocol.md on the gate's side: encodes what the gate sends, decodes what it receives.

This code is only for the kit and shares nothing with an SDK, so that it does not repeat an SDK's mistakes.
"""
import re
import struct
from dataclasses import dataclass, field

HEADER = struct.Struct("<IBBHQ")
INLINE_MAX = 1024 * 1024
FIELDS_MAX = 64 * 1024
TEXT_MAX, NAME_MAX, FACTS_MAX, MESSAGE_MAX, STACKS_MAX = 65535, 255, 16 * 1024, 64 * 1024, 256 * 1024

WELCOME, JOB, CANCEL, PING, ASK_STACKS, PAUSE, RESUME, STOP = range(0x01, 0x09)
HELLO, LOADING, READY, PROGRESS, BEGIN, CHUNK, DONE, FAILED, PONG, LOG, STACKS = range(0x81, 0x8C)
NAMES = {HELLO: "hello", LOADING: "loading", READY: "ready", PROGRESS: "progress", BEGIN: "begin", CHUNK: "chunk",
         DONE: "done", FAILED: "failed", PONG: "pong", LOG: "log", STACKS: "stacks"}
# The size of the fixed part, and the largest size of the payload.
SIZES = {HELLO: (14, 14 + TEXT_MAX), LOADING: (6, 6 + TEXT_MAX), READY: (16, 16 + NAME_MAX + INLINE_MAX + FACTS_MAX),
         PROGRESS: (4, 4 + TEXT_MAX), BEGIN: (8, 8 + FIELDS_MAX), CHUNK: (1, INLINE_MAX), DONE: (8, 8 + FIELDS_MAX + INLINE_MAX),
         FAILED: (8, 8 + NAME_MAX + MESSAGE_MAX), PONG: (0, 0), LOG: (2, 2 + MESSAGE_MAX), STACKS: (0, STACKS_MAX)}
WHY = {1: "bad_input", 2: "exception", 3: "out_of_memory", 4: "non_finite", 5: "unhealthy", 6: "cancelled"}


class Breach(Exception):
    """The worker broke the protocol; the text says how."""


# ── what the gate sends ──────────────────────────────────────────────────────────────────────────

def frame(kind, number=0, payload=b"", flags=0, reserved=0, size=None):
    return HEADER.pack(len(payload) if size is None else size, kind, flags, reserved, number) + payload


def welcome(version=1, lane=0, gpus=0, slots=0, batch=0, pool=b"conformance"):
    return frame(WELCOME, 0, struct.pack("<6H", version, lane, gpus, slots, batch, len(pool)) + pool)


def job(number, body=b"", *, method=b"POST", target=b"/predict", fields=b"Content-Type: application/json\r\n", attempt=1,
        purpose=0, index=0, size=1, name=None, in_descriptor=None):
    """With in_descriptor, the body is in a descriptor and has this length."""
    name = b"job-%d" % number if name is None else name
    payload = struct.pack("<HBBHHHHHHI", attempt, purpose, 0, index, size, len(name), len(method), len(target), 0,
                          len(fields)) + name + method + target + fields
    if in_descriptor is None:
        return frame(JOB, number, payload + body)
    return frame(JOB, number, payload + struct.pack("<Q", in_descriptor), flags=1)


# ── what it receives ─────────────────────────────────────────────────────────────────────────────

@dataclass
class Frame:
    kind: int
    id: int
    flags: int
    parts: dict = field(default_factory=dict)

    def __getattr__(self, name):
        try:
            return self.__dict__["parts"][name]
        except KeyError:
            raise AttributeError(name) from None


def utf8(what, data):
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise Breach(f"{what} is not UTF-8") from None


def within(what, value, low, high):
    if not low <= value <= high:
        raise Breach(f"{what} is {value}, not within {low} … {high}")
    return value


def zero(what, value):
    if value:
        raise Breach(f"{what} must be 0 and is {value}")


class Payload:
    """Splits a payload into its parts. Error messages begin with the name of the frame."""

    def __init__(self, kind, data):
        self.name, self.data, self.at = NAMES[kind], data, 0

    def fixed(self, layout):
        layout = struct.Struct("<" + layout)
        self.at = layout.size
        return layout.unpack_from(self.data)

    def take(self, what, length, most):
        within(f"{self.name}: length of {what}", length, 0, most)
        if self.at + length > len(self.data):
            raise Breach(f"{self.name}: {what} is longer than the payload")
        self.at += length
        return self.data[self.at - length:self.at]

    def text(self, what, length, most=TEXT_MAX):
        return utf8(f"{self.name}: {what}", self.take(what, length, most))

    def rest(self, low, high):
        data = self.data[self.at:]
        within(f"{self.name}: length of the rest", len(data), low, high)
        self.at = len(self.data)
        return data

    def end(self):
        if self.at != len(self.data):
            raise Breach(f"{self.name}: {len(self.data) - self.at} bytes too many")


def header_of(data):
    size, kind, flags, reserved, number = HEADER.unpack(data)
    if kind not in NAMES:
        raise Breach(f"unknown kind 0x{kind:02x}")
    name = NAMES[kind]
    if flags & ~1:
        raise Breach(f"{name}: unknown flags 0x{flags:02x}")
    if flags and kind != DONE:
        raise Breach(f"{name}: no descriptor may go with it")
    zero(f"{name}: the header's reserved part", reserved)
    within(f"{name}: size", size, *SIZES[kind])
    if kind in (HELLO, LOADING, READY, LOG):
        zero(f"{name}: id", number)
    elif not number and kind not in (PONG, STACKS):
        raise Breach(f"{name}: its id is 0, which is not the number of a job")
    return Frame(kind, number, flags), size


def read_hello(part):
    magic, low, high, length = part.fixed("8sHHH")
    if magic != b"turnpike":
        raise Breach(f"hello: its magic is {magic!r}, not b'turnpike'")
    if low > high:
        raise Breach(f"hello: its lowest version, {low}, is above its highest, {high}")
    return {"low": low, "high": high, "sdk": part.text("sdk", length)}


def permille(name, value):
    return None if value == 65535 else within(f"{name}: permille", value, 0, 1000)


def read_loading(part):
    phase, reserved, value, length = part.fixed("BBHH")
    within("loading: phase", phase, 0, 1)
    zero("loading: reserved part", reserved)
    return {"phase": phase, "permille": permille("loading", value), "text": part.text("text", length)}


def read_ready(part):
    slots, batch, traits, reserved, type_length, example_length, facts_length = part.fixed("HHBBHII")
    within("ready: slots", slots, 1, 1024)
    within("ready: batch", batch, 1, 1024)
    within("ready: traits", traits, 0, 3)
    zero("ready: reserved part", reserved)
    kind = part.text("type", type_length, NAME_MAX)
    if not VALUE.fullmatch(kind.encode()):
        raise Breach(f"ready: its type can't be a content type: {kind!r}")
    example = part.take("example", example_length, INLINE_MAX)
    facts = part.text("facts", facts_length, FACTS_MAX)
    return {"slots": slots, "batch": batch, "traits": traits, "type": kind, "example": example, "facts": facts}


def read_progress(part):
    value, length = part.fixed("HH")
    return {"permille": permille("progress", value), "text": part.text("text", length)}


def read_begin(part):
    status, reserved, length = part.fixed("HHI")
    within("begin: status", status, 200, 599)
    zero("begin: reserved part", reserved)
    return {"status": status, "fields": fields_of("begin", part.take("fields", length, FIELDS_MAX))}


def read_done(part, flags):
    status, reserved, length = part.fixed("HHI")
    if status:
        within("done: status", status, 200, 599)
    zero("done: reserved part", reserved)
    fields = fields_of("done", part.take("fields", length, FIELDS_MAX))
    body = part.rest(0, INLINE_MAX)
    if not status and (fields or body or flags):
        raise Breach("done with status 0 must have no fields and no body")
    if flags and len(body) != 8:
        raise Breach(f"done: with the flag its rest must have 8 bytes, not {len(body)}")
    return {"status": status, "fields": fields, "body": body}


def read_failed(part):
    why, reserved, type_length, message_length = part.fixed("BBHI")
    within("failed: why", why, 1, 6)
    zero("failed: reserved part", reserved)
    kind = part.text("type", type_length, NAME_MAX)
    return {"why": WHY[why], "type": kind, "message": part.text("message", message_length, MESSAGE_MAX)}


def read_log(part):
    level, reserved = part.fixed("BB")
    within("log: level", level, 0, 3)
    zero("log: reserved part", reserved)
    return {"text": utf8("log: text", part.rest(0, MESSAGE_MAX))}


READERS = {
    HELLO: read_hello, LOADING: read_loading, READY: read_ready, PROGRESS: read_progress, BEGIN: read_begin,
    CHUNK: lambda part: {"bytes": part.rest(1, INLINE_MAX)}, FAILED: read_failed,
    PONG: lambda part: {}, LOG: read_log, STACKS: lambda part: {"text": utf8("stacks: text", part.rest(0, STACKS_MAX))},
}


def read(found, data):
    """Returns the frame with its parts."""
    part = Payload(found.kind, data)
    found.parts = read_done(part, found.flags) if found.kind == DONE else READERS[found.kind](part)
    part.end()
    return found


VALUE = re.compile(rb"[^\x00-\x08\x0a-\x1f\x7f]*")
LINE = re.compile(rb"([!#$%&'*+.^_`|~0-9A-Za-z-]+): ?([^\x00-\x08\x0a-\x1f\x7f]*)")
FRAMING = {"content-length", "transfer-encoding", "connection"}


def fields_of(name, data):
    """Returns header lines as a list of (name in lower case, value). Only `begin` may have a content-length."""
    if not data:
        return []
    if not data.endswith(b"\r\n"):
        raise Breach(f"{name}: its fields do not end with CRLF")
    fields = []
    for line in data[:-2].split(b"\r\n"):
        match = LINE.fullmatch(line)
        if not match:
            raise Breach(f"{name}: a malformed header line: {line!r}")
        key = match[1].decode().lower()
        value = match[2].decode("latin-1").strip()
        if key == "content-length" and name == "begin":
            if not re.fullmatch("[0-9]+", value) or int(value.lstrip("0")[:21] or "0") >= 2**64 or any(known == key for known, _ in fields):
                raise Breach(f"{name}: there may be only one content-length, and it must be a number of at most 64 bits")
        elif key in FRAMING:
            raise Breach(f"{name}: the header line {key} is not allowed: only the gate sets it")
        fields.append((key, value))
    return fields
