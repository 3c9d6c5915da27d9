"""Clients of a stream of events. They record what they got, when, and how the stream ended."""
import http.client
import json
import time
from dataclasses import dataclass, field

from machine import PORT


@dataclass
class Stream:
    lane: "str | None" = None
    job: "str | None" = None
    status: int = 0
    text: str = ""
    tokens: int = 0
    first_s: float = 0.0  # from the request to the first token
    last_s: float = 0.0  # … and to the last
    events: list = field(default_factory=list)  # all except tokens
    broken: str = ""  # the error that ended the connection, if any

    def rate(self):
        """Returns the tokens per second after the first token."""
        return (self.tokens - 1) / (self.last_s - self.first_s) if self.last_s > self.first_s else 0.0

    def is_done(self):
        return bool(self.events) and self.events[-1].get("done") is True

    def __str__(self):
        return f"lane {self.lane}: first token after {self.first_s * 1000:.0f} ms, {self.tokens} tokens, {self.rate():.0f} per second"


def opened(value, lane=None):
    """Sends the request. Returns the connection, the answer, its Stream (only the head has been read) and the start time."""
    connection = http.client.HTTPConnection("127.0.0.1", PORT, timeout=120)
    headers = {"Content-Type": "application/json", **({} if lane is None else {"Turnpike-Lane": str(lane)})}
    begin = time.monotonic()
    connection.request("POST", "/predict", json.dumps({**value, "events": True}), headers)
    answer = connection.getresponse()
    stream = Stream(answer.getheader("Turnpike-Lane"), answer.getheader("Turnpike-Job"), answer.status)
    if answer.status != 200:
        stream.events.append(json.loads(answer.read()))
    return connection, answer, stream, begin


def read(answer, stream, begin, tokens_max=None):
    """Reads the stream to its end, or until `tokens_max` tokens have come."""
    try:
        while tokens_max is None or stream.tokens < tokens_max:
            line = answer.readline()
            if not line:
                return stream
            if line.startswith(b"event: "):
                stream.events.append({"event": line[7:].decode().strip()})
            elif line.startswith(b"data: "):
                take(stream, json.loads(line[6:]), time.monotonic() - begin)
    except (http.client.HTTPException, OSError) as error:
        stream.broken = f"{type(error).__name__}: {error}"
    return stream


def take(stream, event, now):
    if "text" not in event:
        stream.events.append(event)
        return
    stream.text += event["text"]
    if event["tokens"] > stream.tokens:
        stream.first_s = stream.first_s or now
        stream.last_s, stream.tokens = now, event["tokens"]


def whole(value, lane=None):
    connection, answer, stream, begin = opened(value, lane)
    if stream.status == 200:
        read(answer, stream, begin)
    connection.close()
    return stream
