"""Further addresses of this machine, for tests that need several clients without a key. All loopback addresses are one
client, so such clients must come from elsewhere."""
import ctypes
import fcntl
import os
import socket
import struct
import unittest

CLONE_NEWNET = 0x40000000
SIOCSIFFLAGS, SIOCSIFADDR = 0x8914, 0x8916
IFF_UP = 1
SELF = "198.51.100.1"  # a class C network, so all of 198.51.100.0/24 is ours
OTHER, THIRD, FOURTH = "198.51.100.2", "198.51.100.3", "198.51.100.4"


def interface(name, request):
    return struct.pack("16s16s", name.encode(), request) + bytes(8)


def make_network():
    """Moves this thread, and all that it starts from now on, into a network of its own."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(CLONE_NEWNET) != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        fcntl.ioctl(control, SIOCSIFFLAGS, interface("lo", struct.pack("h", IFF_UP)))
        address = struct.pack("=HH4s", socket.AF_INET, 0, socket.inet_aton(SELF))
        fcntl.ioctl(control, SIOCSIFADDR, interface("lo:1", address))


class OwnNetwork:
    """A part of test cases whose clients may bind to OTHER, THIRD and so on, and connect to 127.0.0.1 from there."""
    is_made = False

    @classmethod
    def setUpClass(cls):
        if not OwnNetwork.is_made:
            try:
                make_network()
            except OSError as error:
                raise unittest.SkipTest(f"can't make a network with further addresses: {error}") from error
            OwnNetwork.is_made = True
        super().setUpClass()


__all__ = ["FOURTH", "OTHER", "OwnNetwork", "THIRD"]
