"""An HTTP worker with one event loop, as most people write them: while a request computes, nothing else runs, not even the
health check.

    asyncio_server.py PORT

POST /block    {"for_s": N, "folder": FOLDER, "until": FILE}: makes a file in FOLDER/began, blocks the loop for N seconds and
               then until that file exists, and makes a file in FOLDER/ended
POST /stream   {"closed": FILE}: streams until the client closes the connection, then makes that file
anything else  answers with its pid
"""
import asyncio
import json
import os
import sys
import time
from pathlib import Path


async def read_request(reader):
    """Returns the target and the body, or None at the end of the connection."""
    head = await reader.readline()
    if not head:
        return None
    length = 0
    while line := (await reader.readline()).strip():
        if line.lower().startswith(b"content-length:"):
            length = int(line.split(b":")[1])
    return head.split()[1].decode(), await reader.readexactly(length)


async def block(task):
    name = str(time.monotonic_ns())
    (Path(task["folder"]) / "began" / name).touch()
    time.sleep(task["for_s"])
    while not Path(task["until"]).exists():
        time.sleep(0.005)
    (Path(task["folder"]) / "ended" / name).touch()


async def stream(task, writer):
    writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
    try:
        while True:
            writer.write(b"5\r\ntick\n\r\n")
            await writer.drain()
            await asyncio.sleep(0.01)
    except OSError:
        Path(task["closed"]).touch()
        raise


async def serve(reader, writer):
    try:
        while request := await read_request(reader):
            target, body = request
            task = json.loads(body or b"{}")
            if target == "/block":
                await block(task)
            if target == "/stream":
                await stream(task, writer)
            text = json.dumps({"pid": os.getpid()}).encode()
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(text), text))
            await writer.drain()
    except (OSError, asyncio.IncompleteReadError):
        pass  # the gate has closed the connection
    finally:
        writer.close()


async def main():
    server = await asyncio.start_server(serve, "127.0.0.1", int(sys.argv[1]))
    await server.serve_forever()


asyncio.run(main())
