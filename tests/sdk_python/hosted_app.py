"""Runs an ASGI app, given as source lines, in a real worker process."""
from conversation import TalkCase

TOOLS = """
import asyncio, os, time
import turnpike

def start(status=200, *headers):
    return {"type": "http.response.start", "status": status, "headers": headers}

def body(data=b"", more=False):
    return {"type": "http.response.body", "body": data, "more_body": more}
"""
HTTP = TOOLS + """
async def app(scope, receive, send):
    assert scope["type"] == "http"
"""


class AppCase(TalkCase):
    def host(self, source, **welcome):
        """Starts a worker with the app. `source` is the body of an http-only app, or a whole module."""
        if "async def app" not in source:
            source = HTTP + "".join(f"    {line}\n" for line in source.strip("\n").split("\n"))
        else:
            source = TOOLS + source
        return self.serve(source, **welcome)

    def get(self, talk, target="/", method="GET", **job):
        return talk.send(body=b"", method=method, target=target, **job)
