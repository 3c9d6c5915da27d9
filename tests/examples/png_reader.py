"""Reads a grey 8-bit PNG by the standard, not just as examples/image writes it: every filter, every checksum."""
import struct
import zlib


def read_png(data):
    """Returns rows of pixels. Raises ValueError if the data is not such a PNG."""
    if data[:8] != b"\x89PNG\r\n\x1a\n":
        raise ValueError("no PNG")
    chunks, at = [], 8
    while at < len(data):
        length, name = struct.unpack_from(">I4s", data, at)
        body = data[at + 8:at + 8 + length]
        (checksum,) = struct.unpack_from(">I", data, at + 8 + length)
        if checksum != zlib.crc32(name + body):
            raise ValueError(f"the checksum of {name} is wrong")
        chunks.append((name, body))
        at += 12 + length
    if chunks[0][0] != b"IHDR" or chunks[-1] != (b"IEND", b"") or at != len(data):
        raise ValueError("it does not begin or end as a PNG does")
    width, height, *rest = struct.unpack(">IIBBBBB", chunks[0][1])
    if rest != [8, 0, 0, 0, 0]:
        raise ValueError(f"not grey with 8 bits: {rest}")
    raw = zlib.decompress(b"".join(body for name, body in chunks if name == b"IDAT"))
    if len(raw) != height * (width + 1):
        raise ValueError(f"{len(raw)} bytes are not {height} rows of {width}")
    rows, above = [], [0] * width
    for row in range(height):
        line = raw[row * (width + 1):(row + 1) * (width + 1)]
        above = unfiltered(line[0], line[1:], above)
        rows.append(above)
    return rows


def unfiltered(kind, line, above):
    row = []
    for x, value in enumerate(line):
        left, up, corner = row[x - 1] if x else 0, above[x], above[x - 1] if x else 0
        guess = {0: 0, 1: left, 2: up, 3: (left + up) // 2, 4: paeth(left, up, corner)}[kind]
        row.append((value + guess) % 256)
    return row


def paeth(left, up, corner):
    guess = left + up - corner
    return min((left, up, corner), key=lambda one: abs(guess - one))
