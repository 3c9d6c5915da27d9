"""A part of the fake: what generate() speaks to."""


class BaseStreamer:
    def put(self, value):
        raise NotImplementedError

    def end(self):
        raise NotImplementedError
