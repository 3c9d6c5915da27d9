#!/usr/bin/env python3
"""Writes the corpora of the wire targets again, from the vectors and layouts of sdk/conformance.

There is one input for each good vector, one for each breach of each kind of frame, and some whole conversations, in which
`log` frames say what the gate does (wire_worker_frames_fuzz.cpp).
"""
import json
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "sdk" / "conformance"))

from layout import answer, failed, framed, hello, loading, log, progress, ready  # noqa: E402


def conversations():
    start = framed(0x81, hello()) + framed(0x82, loading(text=b"layers")) + framed(0x83, ready())
    gate = framed(0x8A, log(text=b"j\x01j\x02j\x03p\x04s\x05h\x01"))
    stream = framed(0x85, answer(), 1) + framed(0x86, b"one", 1) + framed(0x86, b"two", 1) + framed(0x87, answer(0), 1)
    whole = framed(0x84, progress(500, b"half"), 2) + framed(0x87, answer(200, rest=b"body"), 2)
    broken = framed(0x85, answer(), 3) + framed(0x88, failed(), 3)
    asked = framed(0x89, id=4) + framed(0x8B, b"Thread 1", 5)
    yield "talk-to-ready", start
    yield "talk-a-stream", start + gate + stream
    yield "talk-all", start + gate + whole + stream + asked + broken
    yield "talk-resumed", start + gate + framed(0x85, answer(), 1) + framed(0x8A, log(text=b"r\x01j\x09")) + framed(0x88, failed(), 9)
    yield "talk-a-second-end", start + gate + whole + framed(0x88, failed(), 2)


def main():
    vectors = json.loads((ROOT / "sdk" / "conformance" / "vectors.json").read_text(encoding="utf-8"))
    inputs = {("worker", name): data for name, data in conversations()}
    for vector in vectors:
        name = vector["name"] if vector["breach"] is None else vector["name"].split(":")[0] + " " + vector["breach"]
        inputs.setdefault((vector["direction"], re.sub(r"[^a-z0-9]+", "-", name.lower())), bytes.fromhex(vector["hex"]))
    for direction in ("gate", "worker"):
        folder = ROOT / "fuzz" / "corpus" / f"wire_{direction}_frames"
        folder.mkdir(exist_ok=True)
        for old in folder.iterdir():
            old.unlink()
        named = [name for way, name in inputs if way == direction]
        for name in named:
            (folder / name).write_bytes(inputs[direction, name])
        good = [bytes.fromhex(v["hex"]) for v in vectors if v["direction"] == direction and v["breach"] is None]
        (folder / "all-good").write_bytes(b"".join(good))
        print(f"{folder.name}: {len(named) + 1}")


main()
