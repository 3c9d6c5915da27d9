"""Writes a picture as a PNG file with the standard library only. The format is three chunks with a checksum each."""
import struct
import zlib


def grey(rows):
    """Returns a PNG of rows of bytes, all of one length. A byte is a pixel, from 0 (black) to 255 (white)."""
    size = struct.pack(">II", len(rows[0]), len(rows))
    kind = bytes([8, 0, 0, 0, 0])  # 8 bits per pixel, grey, default methods
    pixels = b"".join(b"\0" + row for row in rows)  # 0 means an unfiltered row
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", size + kind) + chunk(b"IDAT", zlib.compress(pixels))
            + chunk(b"IEND", b""))


def chunk(name, data):
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
