"""A part of the fake: the base class of what generate() calls."""


class BaseStreamer:
    def put(self, value):
        raise NotImplementedError

    def end(self):
        raise NotImplementedError
