#!/usr/bin/env python3
"""Writes vectors.json: every frame of the worker protocol as fields and as bytes, and malformed frames that must be refused.

    make_vectors.py            write the file beside this script
    make_vectors.py --check    fail if the file would change

This script follows docs/worker-protocol.md and uses no code of an implementation, so that it can't repeat a mistake of one. The file is a
list of

    {"name", "direction": "gate" | "worker", "frame": {"kind", …} | null, "hex": "…", "breach": null | "…"}

direction   who sends the frame
frame       the content of a good frame: numbers (also for enumerations), booleans and texts. Bytes are hex (body_hex,
            bytes_hex, example_hex). A body in a descriptor is body_in_descriptor, its length.
hex         the bytes. A good vector is exactly one frame, as an encoder must write it. A malformed one has just enough bytes
            to show the mistake, often only the header. A decoder must find the mistake at once, whether the bytes come
            whole or one by one.
breach      the name of the mistake, as in src/wire/breach.h
"""
import json
import struct
import sys
from pathlib import Path

from layout import KINDS, UNKNOWN, answer, failed, framed, hello, job, loading, log, progress, ready, welcome

FILE = Path(__file__).with_name("vectors.json")
LARGEST = 2**64 - 1  # number of a job or a ping


# ── good frames: what they say, and the same in bytes ─────────────────────────────────────────────────────────────────

def good_gate():
    def welcome_with(name, **values):
        said = dict({"version": 1, "lane": 0, "gpus": 1, "slots": 0, "batch": 0, "pool": "main"}, **values)
        bytes_said = dict(said, pool=said["pool"].encode())
        return name, dict(kind="welcome", **said), framed(0x01, welcome(**bytes_said))

    yield welcome_with("welcome")
    yield welcome_with("welcome: the largest numbers", version=65535, lane=65535, gpus=65535, slots=1024, batch=1024)
    yield welcome_with("welcome: a CPU lane of a pool without a name", gpus=0, pool="")
    yield welcome_with("welcome: a name beyond ASCII", lane=3, pool="größe 🚦")

    def job_with(what, id=7, body=b"", descriptor=None, **values):
        said = dict({"attempt": 1, "purpose": 0, "batch_index": 0, "batch_size": 1, "name": "a", "method": "POST",
                     "target": "/predict", "fields": ""}, **values)
        frame = dict(kind="job", id=id, **said)
        rest = body
        if descriptor is None:
            frame["body_hex"] = body.hex()
        else:
            frame["body_in_descriptor"] = descriptor
            rest = struct.pack("<Q", descriptor)
        texts = {key: said[key].encode() for key in ("name", "method", "target", "fields")}
        payload = job(said["attempt"], said["purpose"], 0, said["batch_index"], said["batch_size"], rest=rest, **texts)
        return what, frame, framed(0x02, payload, id, flags=0 if descriptor is None else 1)

    yield job_with("job", body=b'{"x": 1}', fields="Content-Type: application/json\r\nAccept: */*\r\n")
    yield job_with("job: no body, no fields", method="GET", target="/models?all=1&x=%20")
    yield job_with("job: a body of every byte", body=bytes(range(256)))
    yield job_with("job: the largest number, the last attempt", id=LARGEST, attempt=65535, name="otter-7")
    yield job_with("job: a proof", purpose=1)
    yield job_with("job: aside", purpose=2, method="GET", target="/")
    yield job_with("job: the first of a batch", batch_size=8)
    yield job_with("job: the last of the largest batch", batch_index=1023, batch_size=1024)
    yield job_with("job: the body in a descriptor", descriptor=5 * 2**30, fields="A: b\r\n")
    yield job_with("job: an empty body in a descriptor", descriptor=0)
    yield job_with("job: fields without a blank, and without a value", fields="A:b\r\nC:\r\n")

    for name, number in (("cancel", 0x03), ("pause", 0x06), ("resume", 0x07)):
        yield name, {"kind": name, "id": 7}, framed(number, id=7)
        yield f"{name}: the largest number", {"kind": name, "id": LARGEST}, framed(number, id=LARGEST)
    for name, number in (("ping", 0x04), ("stacks", 0x05)):
        yield name, {"kind": name, "id": 1}, framed(number, id=1)
        yield f"{name}: number 0", {"kind": name, "id": 0}, framed(number, id=0)
    yield "stop", {"kind": "stop"}, framed(0x08)


def good_worker():
    def hello_with(name, low, high, sdk):
        said = {"kind": "hello", "version_min": low, "version_max": high, "sdk": sdk}
        return name, said, framed(0x81, hello(low=low, high=high, sdk=sdk.encode()))

    yield hello_with("hello", 1, 1, "turnpike-python 0.1.0, CPython 3.11.2")
    yield hello_with("hello: more versions, no sdk", 1, 3, "")
    yield hello_with("hello: every version", 0, 65535, "sdk ✓")

    def loading_with(name, phase, permille, text):
        said = {"kind": "loading", "phase": phase, "permille": permille, "text": text}
        return name, said, framed(0x82, loading(phase, 0, permille, text.encode()))

    yield loading_with("loading: importing", 0, UNKNOWN, "")
    yield loading_with("loading: the first layers", 1, 0, "layers")
    yield loading_with("loading: done", 1, 1000, "schön 🎉")

    def ready_with(name, slots, batch, traits, type="", example=b"", facts=""):
        said = {"kind": "ready", "slots": slots, "batch": batch, "has_example": bool(traits & 1),
                "checks_proofs": bool(traits & 2), "example_type": type, "example_hex": example.hex(), "facts": facts}
        return name, said, framed(0x83, ready(slots, batch, traits, 0, type.encode(), example, facts.encode()))

    yield ready_with("ready: the least", 1, 1, 0)
    yield ready_with("ready: the most", 1024, 1024, 3, "application/json", b'{"x": [1, 2]}', '{"layers": 12, "ß": null}')
    yield ready_with("ready: an empty example", 2, 1, 1, "text/plain; charset=utf-8")
    yield ready_with("ready: an example of bytes", 1, 8, 1, "application/octet-stream", bytes(range(256)))
    yield ready_with("ready: a check, no example", 1, 8, 2)
    yield ready_with("ready: the longest type", 1, 1, 1, "t" * 255)

    def progress_with(name, permille, text, id=7):
        said = {"kind": "progress", "id": id, "permille": permille, "text": text}
        return name, said, framed(0x84, progress(permille, text.encode()), id)

    yield progress_with("progress", 250, "step 5 of 20")
    yield progress_with("progress: unknown, no text", UNKNOWN, "", LARGEST)
    yield progress_with("progress: the most", 1000, "fertig ✓")

    def begin_with(name, status, fields):
        said = {"kind": "begin", "id": 7, "status": status, "fields": fields}
        return name, said, framed(0x85, answer(status, fields=fields.encode()), 7)

    yield begin_with("begin", 200, "Content-Type: text/event-stream\r\n")
    yield begin_with("begin: no fields", 599, "")
    yield begin_with("begin: odd but good fields", 206, "!#$%&'*+-.^_`|~09azAZ:\t x \r\nEmpty:\r\nUmlaut: ü\r\nX: a: b\r\n")
    yield begin_with("begin: names that only begin like framing", 200, "Connection-Id: 1\r\nContent-Lengths: 2\r\n")
    yield begin_with("begin: a length", 200, "A: b\r\nContent-Length: 300\r\n")
    yield begin_with("begin: the largest length", 200, "content-LENGTH:\t 18446744073709551615 \r\nA: b\r\n")

    for size in (1, 300):
        data = bytes(i % 256 for i in range(size))
        yield f"chunk of {size}", {"kind": "chunk", "id": 7, "bytes_hex": data.hex()}, framed(0x86, data, 7)

    def done_with(name, status, fields="", body=b"", descriptor=None, id=7):
        said = {"kind": "done", "id": id, "status": status, "fields": fields}
        said.update({"body_hex": body.hex()} if descriptor is None else {"body_in_descriptor": descriptor})
        rest = body if descriptor is None else struct.pack("<Q", descriptor)
        return name, said, framed(0x87, answer(status, 0, fields.encode(), rest), id, 0 if descriptor is None else 1)

    yield done_with("done: a whole answer", 200, "Content-Type: application/json\r\n", b'{"y": 2}')
    yield done_with("done: the end of a stream", 0)
    yield done_with("done: no fields, no body", 204, id=LARGEST)
    yield done_with("done: a body of every byte", 599, "A: b\r\n", bytes(range(256)))
    yield done_with("done: the body in a descriptor", 200, "A: b\r\n", descriptor=2**40)
    yield done_with("done: an empty body in a descriptor", 200, descriptor=0)

    for why, type, message in ((1, "BadInput", "'x' is missing"), (2, "ValueError", "größer als 3"), (3, "", ""),
                               (4, "ValueError", "NaN"), (5, "Unhealthy", "CUDA error: 700"), (6, "T" * 255, "")):
        said = {"kind": "failed", "id": 7, "why": why, "type": type, "message": message}
        yield f"failed: {why}", said, framed(0x88, failed(why, 0, type.encode(), message.encode()), 7)

    for id in (0, 1, LARGEST):
        yield f"pong {id}", {"kind": "pong", "id": id}, framed(0x89, id=id)
    for level in range(4):
        text = ("", "one line", "two\nlines", "ö\t🚦")[level]
        yield f"log: level {level}", {"kind": "log", "level": level, "text": text}, framed(0x8A, log(level, 0, text.encode()))
    for text in ("", "Thread 1:\n  predict, model.py:12\n"):
        yield f"stacks of {len(text)}", {"kind": "stacks", "id": 3, "text": text}, framed(0x8B, text.encode(), 3)


# ── frames that must be refused. A vector may end early: its bytes are enough to see the mistake. ──────────────────────

NOT_UTF8 = {
    "a stray continuation byte": b"a\x80", "a character cut off": b"12345678\xC3", "an overlong form": b"\xC0\xAF",
    "a surrogate": b"\xED\xA0\x80", "beyond U+10FFFF": b"\xF4\x90\x80\x80", "a byte of no text": b"12345678\xFF",
}

BAD_FIELDS = {
    "no line end": b"A: b", "a bare LF": b"A: b\n", "a bare CR": b"A: b\rC: d\r\n", "no colon": b"A b\r\n",
    "no name": b": b\r\n", "an empty line": b"A: b\r\n\r\n", "only an empty line": b"\r\n", "a NUL": b"A: b\0c\r\n",
    "an LF within": b"A: b\nC: d\r\n",
}

BAD_ANSWER_FIELDS = {
    "a blank in the name": b"A B: c\r\n", "a blank before the colon": b"A : c\r\n", "a folded line": b"A: b\r\n c: d\r\n",
    "a name beyond ASCII": "ä: b\r\n".encode(), "a control byte": b"A: \x01\r\n", "a DEL": b"A: \x7f\r\n",
    "a NUL in the name": b"A\0: b\r\n",
    "transfer-encoding": b"A: b\r\ntransfer-encoding: chunked\r\n", "CONNECTION": b"CONNECTION: close\r\n",
}

BAD_LENGTHS = {
    "two lengths": b"Content-Length: 3\r\nContent-Length: 3\r\n", "no number as the length": b"Content-Length:\r\n",
    "a negative length": b"Content-Length: -3\r\n", "a signed length": b"Content-Length: +3\r\n",
    "a list of lengths": b"Content-Length: 3, 3\r\n", "a length beyond 64 bits": b"Content-Length: 18446744073709551616\r\n",
}


def bad_headers(kinds):
    """Returns vectors with a wrong header, for frames of one direction."""
    with_job = {"job", "cancel", "pause", "resume", "progress", "begin", "chunk", "done", "failed"}
    without_id = {"welcome", "stop", "hello", "loading", "ready", "log"}
    empty = {"cancel", "ping", "pause", "resume", "stop", "pong"} | ({"stacks"} if "job" in kinds else set())
    least = {"welcome": 12, "job": 20, "hello": 14, "loading": 6, "ready": 16, "progress": 4, "begin": 8, "chunk": 1, "done": 8,
             "failed": 8, "log": 2}
    most = {"welcome": 12 + 65535, "job": 1310720, "hello": 14 + 65535, "loading": 6 + 65535,
            "ready": 16 + 255 + 2**20 + 2**14, "progress": 4 + 65535, "begin": 8 + 2**16, "chunk": 2**20,
            "done": 8 + 2**16 + 2**20, "failed": 8 + 255 + 2**16, "log": 2 + 2**16, "stacks": 2**18}
    for name, number in kinds.items():
        id = 7 if name in with_job else 0
        size = least.get(name, 0)
        for flags in (2, 0x80, 0xFF):
            yield f"{name}: flags {flags}", "flags_unknown", framed(number, id=id, flags=flags, size=size)
        if name not in ("job", "done"):
            yield f"{name}: in a descriptor", "descriptor_out_of_place", framed(number, id=id, flags=1, size=size)
        yield f"{name}: the header's zero is 1", "not_zero", framed(number, id=id, zero=1, size=size)
        yield f"{name}: the header's zero is 256", "not_zero", framed(number, id=id, zero=256, size=size)
        if name in with_job:
            yield f"{name}: of no job", "value_out_of_bounds", framed(number, size=size)
        if name in without_id:
            yield f"{name}: with a number", "not_zero", framed(number, id=1, size=size)
        top = 0 if name in empty else most[name]
        yield f"{name}: one byte too large", "size_too_large", framed(number, id=id, size=top + 1)
        yield f"{name}: far too large", "size_too_large", framed(number, id=id, size=0xFFFFFFFF)
        if size > 0:
            yield f"{name}: without its fixed part", "size_wrong", framed(number, id=id, size=0)
        if size > 1:
            yield f"{name}: a fixed part cut off", "size_wrong", framed(number, id=id, size=size - 1)


def bad_gate():
    yield from bad_headers(KINDS["gate"])
    for number in (0x00, 0x09, 0x7F, 0x80, 0x81, 0x8B, 0xFF):
        yield f"kind {number:#04x}", "kind_unknown", framed(number)

    for name, breach, payload in (
            ("version 0", "value_out_of_bounds", welcome(version=0)),
            ("1025 slots", "value_out_of_bounds", welcome(slots=1025)),
            ("a batch of 1025", "value_out_of_bounds", welcome(batch=1025)),
            ("a pool cut off", "size_wrong", welcome(length=[5])),
            ("more than a pool", "size_wrong", welcome(length=[3])),
            *((f"{what} in the pool", "not_utf8", welcome(pool=text)) for what, text in NOT_UTF8.items())):
        yield f"welcome: {name}", breach, framed(0x01, payload)

    for name, breach, payload in (
            ("attempt 0", "value_out_of_bounds", job(attempt=0)),
            ("purpose 3", "value_out_of_bounds", job(purpose=3)),
            ("purpose 255", "value_out_of_bounds", job(purpose=255)),
            ("the first zero", "not_zero", job(zero=1)),
            ("the second zero", "not_zero", job(zero2=1)),
            ("a batch of 0", "value_out_of_bounds", job(size=0)),
            ("a batch of 1025", "value_out_of_bounds", job(size=1025)),
            ("the second of one", "value_out_of_bounds", job(index=1)),
            ("beyond the batch", "value_out_of_bounds", job(index=8, size=8)),
            ("a name cut off", "size_wrong", job(lengths_of=[100, 4, 8])),
            ("a method cut off", "size_wrong", job(lengths_of=[1, 100, 8])),
            ("a target cut off", "size_wrong", job(lengths_of=[1, 4, 100])),
            ("fields cut off", "size_wrong", job(fields=b"A: b\r\n", fields_length=7)),
            ("fields longer than a frame", "length_too_large", job(fields_length=1310721)),
            ("fields of 4 GiB", "length_too_large", job(fields_length=0xFFFFFFFF)),
            *((f"{what} in the fields", "fields_malformed", job(fields=fields)) for what, fields in BAD_FIELDS.items()),
            *((f"{what} in the {part}", "not_utf8", job(**{part: text}))
              for part in ("name", "method", "target") for what, text in NOT_UTF8.items())):
        yield f"job: {name}", breach, framed(0x02, payload, 7)
    for size in (0, 7, 9):
        yield (f"job: {size} bytes instead of a descriptor's length", "size_wrong",
               framed(0x02, job(rest=bytes(size)), 7, flags=1))


def bad_worker():
    yield from bad_headers(KINDS["worker"])
    for number in (0x00, 0x01, 0x08, 0x80, 0x8C, 0xFF):
        yield f"kind {number:#04x}", "kind_unknown", framed(number)

    def texts(frame, part):
        return ((f"{what} in the {part}", "not_utf8", frame(**{part: text})) for what, text in NOT_UTF8.items())

    groups = {
        ("hello", 0): (
            ("another magic", "magic_wrong", hello(magic=b"turnpikf")),
            ("a magic in capitals", "magic_wrong", hello(magic=b"TURNPIKE")),
            ("the lowest version above the highest", "value_out_of_bounds", hello(low=2, high=1)),
            ("an sdk cut off", "size_wrong", hello(length=[6])),
            ("more than an sdk", "size_wrong", hello(length=[4])),
            *texts(hello, "sdk")),
        ("loading", 0): (
            ("phase 2", "value_out_of_bounds", loading(phase=2)),
            ("the zero", "not_zero", loading(zero=1)),
            ("permille 1001", "value_out_of_bounds", loading(permille=1001)),
            ("permille 65534", "value_out_of_bounds", loading(permille=65534)),
            ("a text cut off", "size_wrong", loading(text=b"ab", length=[3])),
            ("more than a text", "size_wrong", loading(text=b"ab", length=[1])),
            *texts(loading, "text")),
        ("ready", 0): (
            ("no slots", "value_out_of_bounds", ready(slots=0)),
            ("1025 slots", "value_out_of_bounds", ready(slots=1025)),
            ("a batch of 0", "value_out_of_bounds", ready(batch=0)),
            ("a batch of 1025", "value_out_of_bounds", ready(batch=1025)),
            ("unknown traits", "flags_unknown", ready(traits=4)),
            ("the zero", "not_zero", ready(zero=1)),
            ("a type of 256 bytes", "length_too_large", ready(type=b"t" * 256)),
            ("an example of more than 1 MiB", "length_too_large", ready(lengths_of=[0, 2**20 + 1, 0])),
            ("an example of 4 GiB", "length_too_large", ready(lengths_of=[0, 0xFFFFFFFF, 0])),
            ("facts of more than 16 KiB", "length_too_large", ready(lengths_of=[0, 0, 2**14 + 1])),
            ("a type cut off", "size_wrong", ready(lengths_of=[1, 0, 0])),
            ("an example cut off", "size_wrong", ready(lengths_of=[0, 1, 0])),
            ("facts cut off", "size_wrong", ready(lengths_of=[0, 0, 1])),
            ("more than facts", "size_wrong", ready(facts=b"{}", lengths_of=[0, 0, 1])),
            ("a line end in the type", "fields_malformed", ready(type=b"a\r\nB: c")),
            ("a NUL in the type", "fields_malformed", ready(type=b"a\0")),
            *texts(ready, "type"), *texts(ready, "facts")),
        ("progress", 7): (
            ("permille 1001", "value_out_of_bounds", progress(permille=1001)),
            ("permille 65534", "value_out_of_bounds", progress(permille=65534)),
            ("a text cut off", "size_wrong", progress(text=b"ab", length=[3])),
            ("more than a text", "size_wrong", progress(text=b"ab", length=[1])),
            *texts(progress, "text")),
        ("done", 7): (
            ("fields without a status", "size_wrong", answer(status=0, fields=b"A: b\r\n")),
            ("a body without a status", "size_wrong", answer(status=0, rest=b"x")),
            ("fields cut off, without a status", "size_wrong", answer(status=0, length=[1]))),
        ("failed", 7): (
            ("why 0", "value_out_of_bounds", failed(why=0)),
            ("why 7", "value_out_of_bounds", failed(why=7)),
            ("the zero", "not_zero", failed(zero=1)),
            ("a type of 256 bytes", "length_too_large", failed(type=b"t" * 256)),
            ("a message of more than 64 KiB", "length_too_large", failed(lengths_of=[10, 2**16 + 1])),
            ("a type cut off", "size_wrong", failed(lengths_of=[13, 0])),
            ("a message cut off", "size_wrong", failed(lengths_of=[10, 3])),
            ("more than a message", "size_wrong", failed(lengths_of=[10, 1])),
            *texts(failed, "type"), *texts(failed, "message")),
        ("log", 0): (
            ("level 4", "value_out_of_bounds", log(level=4)),
            ("the zero", "not_zero", log(zero=1)),
            *texts(log, "text")),
        ("stacks", 3): tuple((what, "not_utf8", text) for what, text in NOT_UTF8.items()),
    }
    for kind in ("begin", "done"):
        groups[kind, 7] = groups.get((kind, 7), ()) + (
            *((f"status {status}", "value_out_of_bounds", answer(status)) for status in (1, 199, 600, 65535)),
            ("the zero", "not_zero", answer(zero=1)),
            ("fields of more than 64 KiB", "length_too_large", answer(length=[2**16 + 1])),
            ("fields of 4 GiB", "length_too_large", answer(length=[0xFFFFFFFF])),
            ("fields cut off", "size_wrong", answer(fields=b"A: b\r\n", length=[7])),
            *((f"{what} in the fields", "fields_malformed", answer(fields=fields))
              for what, fields in {**BAD_FIELDS, **BAD_ANSWER_FIELDS}.items()))
    groups["done", 7] += (("Content-Length in the fields", "fields_malformed", answer(fields=b"Content-Length: 3\r\n")),)
    groups["begin", 7] += tuple((f"{what} in the fields", "fields_malformed", answer(fields=fields))
                                for what, fields in BAD_LENGTHS.items())
    groups["begin", 7] += (("status 0", "value_out_of_bounds", answer(0)), ("more than fields", "size_wrong", answer(rest=b"x")))
    for (kind, id), rows in groups.items():
        for name, breach, payload in rows:
            yield f"{kind}: {name}", breach, framed(KINDS["worker"][kind], payload, id)

    for size in (0, 7, 9):
        yield (f"done: {size} bytes instead of a descriptor's length", "size_wrong",
               framed(0x87, answer(rest=bytes(size)), 7, flags=1))
    yield ("done: a descriptor at the end of a stream", "descriptor_out_of_place",
           framed(0x87, answer(status=0, rest=bytes(8)), 7, flags=1))


def vectors():
    for direction, good, bad in (("gate", good_gate, bad_gate), ("worker", good_worker, bad_worker)):
        for name, frame, data in good():
            yield {"name": name, "direction": direction, "frame": frame, "hex": data.hex(), "breach": None}
        for name, breach, data in bad():
            yield {"name": name, "direction": direction, "frame": None, "hex": data.hex(), "breach": breach}


def main():
    found = list(vectors())
    names = [(vector["direction"], vector["name"], vector["breach"]) for vector in found]
    assert len(set(names)) == len(names), sorted(name for name in names if names.count(name) > 1)
    text = "[\n" + ",\n".join(json.dumps(vector, ensure_ascii=False) for vector in found) + "\n]\n"
    if "--check" in sys.argv[1:]:
        if not FILE.exists() or FILE.read_text(encoding="utf-8") != text:
            sys.exit(f"{FILE.name} is not what {Path(__file__).name} writes")
    else:
        FILE.write_text(text, encoding="utf-8")
        print(f"{len(found)} vectors")


main()
