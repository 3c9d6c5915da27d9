"""Bytes of any amount, made piece by piece, alike by a model and by its client: no two MiB are the
same, so what is lost, doubled, swapped or left empty on the way shows in their digest."""
import functools
import hashlib

MIB = 1 << 20
BLOCK = hashlib.shake_128(b"turnpike").digest(MIB)


def pieces(size):
    """Of a MiB each, but for the last."""
    for offset in range(0, size, MIB):
        yield (offset.to_bytes(8, "little") + BLOCK[8:])[:size - offset]


@functools.cache
def digest(size):
    known = hashlib.sha256()
    for piece in pieces(size):
        known.update(piece)
    return known.hexdigest()
