"""A FastAPI app that uses many features, for tests that serve it with uvicorn and with Turnpike and compare the answers.
Run as `asgi_app.py FD`, it serves itself with uvicorn on that listening socket."""
import asyncio
import json
import os
import socket
import sys
import tempfile
import time
from contextlib import asynccontextmanager
from typing import List

from fastapi import BackgroundTasks, Cookie, Depends, FastAPI, File, Form, HTTPException, Request, Response, UploadFile
from fastapi.responses import FileResponse, JSONResponse, PlainTextResponse, RedirectResponse, StreamingResponse
from pydantic import BaseModel
from starlette.applications import Starlette
from starlette.background import BackgroundTask
from starlette.middleware.base import BaseHTTPMiddleware
from starlette.routing import Route
from starlette.staticfiles import StaticFiles

FILES = tempfile.TemporaryDirectory()
LARGE = os.path.join(FILES.name, "large.bin")
with open(LARGE, "wb") as large:
    large.write(bytes(range(256)) * 2000)
os.utime(LARGE, (1_600_000_000, 1_600_000_000))  # so that its ETag is the same from both servers


class Ours(Exception):
    pass


class Item(BaseModel):
    name: str
    price: float = 1.5
    tags: List[str] = []


@asynccontextmanager
async def lifespan(app):
    app.state.opened = "before the first request"
    yield


app = FastAPI(title="A bit of everything")
app.router.lifespan_context = lifespan  # Debian's FastAPI is too old for FastAPI(lifespan=…)


def write_file(path, text=""):
    with open(path + ".part", "w") as file:
        file.write(text)
    os.rename(path + ".part", path)


@app.exception_handler(Ours)
async def answer_418(request, error):
    return JSONResponse({"ours": str(error)}, status_code=418, headers={"X-Ours": "1"})


def token(request: Request):
    if request.headers.get("x-token") != "secret":
        raise HTTPException(401, "no token", headers={"WWW-Authenticate": "Token"})
    yield "secret"


# ── plain routes ──

@app.get("/sync/{number}")
def sync(number: int, q: str = "none"):
    return {"number": number, "q": q}


@app.get("/async/{text:path}")
async def asynchronous(text: str):
    return {"text": text}


@app.post("/items", status_code=201, response_model=Item)
async def items(item: Item):
    return item


@app.get("/state")
async def state(request: Request):
    return {"opened": request.app.state.opened}


@app.get("/needs-token")
async def needs_token(found: str = Depends(token)):
    return {"token": found}


@app.get("/teapot")
async def teapot():
    raise Ours("short and stout")


@app.get("/missing")
async def missing():
    raise HTTPException(404, {"what": "nothing here"})


@app.get("/boom")
async def boom():
    raise ValueError("boom")


@app.get("/boom-sync")
def boom_sync():
    raise ValueError("boom")


@app.get("/empty")
async def empty():
    return Response(status_code=204)


@app.get("/redirect")
async def redirect():
    return RedirectResponse("/async/there?x=1")


@app.get("/cookies")
async def cookies(response: Response, seen: str = Cookie("none")):
    response.set_cookie("a", "1")
    response.set_cookie("b", "2", httponly=True)
    return {"seen": seen}


@app.api_route("/any", methods=["GET", "HEAD", "PUT", "DELETE", "OPTIONS", "PATCH"], include_in_schema=False)
async def any_method(request: Request):
    return PlainTextResponse(f"{request.method} {len(await request.body())}")


# ── bodies ──

@app.post("/upload")
async def upload(file: UploadFile = File(), note: str = Form("")):
    data = await file.read()
    return {"name": file.filename, "type": file.content_type, "size": len(data), "sum": sum(data), "note": note}


@app.post("/length")
async def length(request: Request):
    size = 0
    async for piece in request.stream():
        size += len(piece)
    return {"size": size, "content-length": request.headers.get("content-length")}


@app.post("/unread")
async def unread():
    return {"read": "nothing"}


# ── answers ──

@app.get("/stream")
async def stream(kind: str = "async"):
    async def numbers():
        for number in range(5):
            yield f"{number}\n"
            await asyncio.sleep(0.001)

    def plain():
        for number in range(5):
            yield b"%d\n" % number
            time.sleep(0.001)
    return StreamingResponse(numbers() if kind == "async" else plain(), media_type="text/plain")


@app.get("/large")
async def large_answer():
    return Response(b"x" * 3_000_000, media_type="application/octet-stream")


@app.api_route("/file", methods=["GET", "HEAD"], include_in_schema=False)
async def file():
    return FileResponse(LARGE, filename="large.bin")


@app.get("/background")
async def background(path: str, tasks: BackgroundTasks):
    async def wait():
        while not os.path.exists(path + ".go"):
            await asyncio.sleep(0.005)
        write_file(path, "done")
    tasks.add_task(wait)
    return {"started": True}


@app.get("/until-left")
async def until_left(request: Request, started: str, left: str):
    write_file(started)
    while not await request.is_disconnected():
        await asyncio.sleep(0.005)
    write_file(left, "is_disconnected")
    return {}


@app.get("/endless")
async def endless(started: str, left: str):
    async def numbers():
        try:
            while True:
                yield b"more\n"
                write_file(started)
                await asyncio.sleep(0.005)
        finally:
            write_file(left, "closed")
    return StreamingResponse(numbers())


# ── apps within apps ──

sub = FastAPI()


@sub.middleware("http")
async def stamp(request, call_next):
    response = await call_next(request)
    response.headers["X-Stamp"] = request.url.path
    return response


@sub.get("/where")
async def where(request: Request):
    return {"root_path": request.scope["root_path"], "path": request.scope["path"], "url": request.url.path}


@sub.get("/boom")
async def boom_below():
    raise ValueError("boom below")


@sub.get("/stream")
async def stream_below():
    return await stream()


def shown(value):
    """Returns the value in a form that JSON can express."""
    if isinstance(value, bytes):
        return value.decode("latin-1")
    if isinstance(value, (list, tuple)):
        return [shown(part) for part in value]
    return {key: shown(part) for key, part in value.items()} if isinstance(value, dict) else value


async def bare(scope, receive, send):
    known = ("type", "asgi", "http_version", "method", "scheme", "path", "raw_path", "query_string", "headers", "client", "server")
    body = json.dumps(shown({key: scope[key] for key in known})).encode()
    await send({"type": "http.response.start", "status": 200, "headers": [(b"Content-Type", b"application/json")]})
    await send({"type": "http.response.body", "body": body[:10], "more_body": True})
    await send({"type": "http.response.body", "body": body[10:]})


async def greeting(request):
    return PlainTextResponse("hello from Starlette", background=BackgroundTask(lambda: None))


class Twice(BaseHTTPMiddleware):
    async def dispatch(self, request, call_next):
        response = await call_next(request)
        response.headers["X-Twice"] = "yes"
        return response


starlette = Starlette(routes=[Route("/", greeting)])
starlette.add_middleware(Twice)
app.mount("/sub", sub)
app.mount("/scope", bare)
app.mount("/starlette", starlette)
app.mount("/static", StaticFiles(directory=FILES.name))


if __name__ == "__main__":
    import uvicorn

    listener = socket.socket(fileno=int(sys.argv[1]))
    uvicorn.Server(uvicorn.Config(app, log_level="warning")).run(sockets=[listener])
