"""Builds the payloads of docs/worker-protocol.md part by part. Every part can be set to a wrong value."""
import struct

UNKNOWN = 65535
KINDS = {
    "gate": {"welcome": 0x01, "job": 0x02, "cancel": 0x03, "ping": 0x04, "stacks": 0x05, "pause": 0x06, "resume": 0x07,
             "stop": 0x08},
    "worker": {"hello": 0x81, "loading": 0x82, "ready": 0x83, "progress": 0x84, "begin": 0x85, "chunk": 0x86,
               "done": 0x87, "failed": 0x88, "pong": 0x89, "log": 0x8A, "stacks": 0x8B},
}


def framed(kind, payload=b"", id=0, flags=0, zero=0, size=None):
    return struct.pack("<IBBHQ", len(payload) if size is None else size, kind, flags, zero, id) + payload


def lengths(format, given, *parts):
    return struct.pack("<" + format, *(given if given else map(len, parts)))


def welcome(version=1, lane=0, gpus=1, slots=0, batch=0, pool=b"main", length=None):
    return struct.pack("<HHHHH", version, lane, gpus, slots, batch) + lengths("H", length, pool) + pool


def job(attempt=1, purpose=0, zero=0, index=0, size=1, name=b"a", method=b"POST", target=b"/predict", zero2=0, fields=b"",
        rest=b"", lengths_of=None, fields_length=None):
    three = lengths("HHH", lengths_of, name, method, target)
    four = struct.pack("<HI", zero2, len(fields) if fields_length is None else fields_length)
    return (struct.pack("<HBBHH", attempt, purpose, zero, index, size) + three + four
            + name + method + target + fields + rest)


def hello(magic=b"turnpike", low=1, high=1, sdk=b"sdk 1", length=None):
    return magic + struct.pack("<HH", low, high) + lengths("H", length, sdk) + sdk


def loading(phase=0, zero=0, permille=UNKNOWN, text=b"", length=None):
    return struct.pack("<BBH", phase, zero, permille) + lengths("H", length, text) + text


def ready(slots=1, batch=1, traits=0, zero=0, type=b"", example=b"", facts=b"", lengths_of=None):
    return (struct.pack("<HHBB", slots, batch, traits, zero) + lengths("HII", lengths_of, type, example, facts)
            + type + example + facts)


def progress(permille=0, text=b"", length=None):
    return struct.pack("<H", permille) + lengths("H", length, text) + text


def answer(status=200, zero=0, fields=b"", rest=b"", length=None):
    """The payload of begin and of done."""
    return struct.pack("<HH", status, zero) + lengths("I", length, fields) + fields + rest


def failed(why=2, zero=0, type=b"ValueError", message=b"no", lengths_of=None):
    return struct.pack("<BB", why, zero) + lengths("HI", lengths_of, type, message) + type + message


def log(level=1, zero=0, text=b"hello"):
    return struct.pack("<BB", level, zero) + text
