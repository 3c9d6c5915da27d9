"""Makes test data of any size, piece by piece. Model and client make the same data. No two MiB are the
same, so a lost, doubled, swapped or empty piece changes the digest."""
import functools
import hashlib

MIB = 1 << 20
BLOCK = hashlib.shake_128(b"turnpike").digest(MIB)


def pieces(size):
    """Yields pieces of 1 MiB each. The last may be shorter."""
    for offset in range(0, size, MIB):
        yield (offset.to_bytes(8, "little") + BLOCK[8:])[:size - offset]


@functools.cache
def digest(size):
    known = hashlib.sha256()
    for piece in pieces(size):
        known.update(piece)
    return known.hexdigest()
