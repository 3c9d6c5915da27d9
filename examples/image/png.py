"""A picture as a PNG file, by hand: the format is three chunks and a checksum for each. Standard library only."""
import struct
import zlib


def grey(rows):
    """PNG of rows of bytes, all of one length: a byte is a pixel, from 0 (black) to 255 (white)."""
    size = struct.pack(">II", len(rows[0]), len(rows))
    kind = bytes([8, 0, 0, 0, 0])  # 8 bits a pixel, grey, and nothing special
    pixels = b"".join(b"\0" + row for row in rows)  # 0: a row is written as it is
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", size + kind) + chunk(b"IDAT", zlib.compress(pixels))
            + chunk(b"IEND", b""))


def chunk(name, data):
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
