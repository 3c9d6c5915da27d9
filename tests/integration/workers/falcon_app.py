"""A Falcon app, for tests that serve it with uvicorn and with Turnpike and compare the answers."""
import asyncio
import os
import time

import falcon
import falcon.asgi

OutOfGpuMemory = type("OutOfMemoryError", (RuntimeError,), {"__module__": "torch"})  # as PyTorch's


def write_file(path, text=""):
    with open(path + ".part", "w") as file:
        file.write(text)
    os.rename(path + ".part", path)


class Lifespan:
    def __init__(self):
        self.opened = []

    async def process_startup(self, scope, event):
        self.opened.append("startup")

    async def process_request(self, request, response):
        request.context.opened = self.opened


class Root:
    async def on_get(self, request, response):
        response.media = {"opened": request.context.opened, "uri": request.uri, "prefix": request.prefix, "q": request.params,
                          "scheme": request.scheme, "forwarded": request.forwarded_scheme, "host": request.host}

    async def on_post(self, request, response):
        response.media = {"got": await request.get_media()}


class Sync:
    async def on_get(self, request, response, number):
        response.media = {"twice": await asyncio.get_running_loop().run_in_executor(None, lambda: 2 * number)}


class Form:
    async def on_post(self, request, response):
        parts = []
        async for part in await request.get_media():
            parts.append([part.name, part.filename, len(await part.stream.read())])
        response.media = {"parts": parts}


class Echo:
    async def on_post(self, request, response):
        response.content_type = request.content_type or falcon.MEDIA_TEXT
        response.data = await request.stream.read()


class Stream:
    async def on_get(self, request, response):
        async def numbers():
            for number in range(5):
                yield b"%d\n" % number
                await asyncio.sleep(0.001)
        response.content_type = falcon.MEDIA_TEXT
        response.stream = numbers()


class Endless:
    async def on_get(self, request, response):
        started, left = request.get_param("started"), request.get_param("left")

        async def numbers():
            try:
                while True:
                    yield falcon.asgi.SSEvent(text="more")
                    write_file(started)
                    await asyncio.sleep(0.005)
            finally:
                write_file(left, "closed")
        response.sse = numbers()  # with a plain stream, Falcon does not notice that the client left


class Boom:
    async def on_get(self, request, response):
        raise ValueError("boom")


class OutOfMemory:
    async def on_get(self, request, response):
        raise OutOfGpuMemory("CUDA out of memory. Tried to allocate 20.00 GiB")


class Errors:
    async def on_get(self, request, response, status):
        raise falcon.HTTPError(status, title="told", headers={"X-Told": "yes"})


class Cookies:
    async def on_get(self, request, response):
        response.set_cookie("a", "1", secure=False)
        response.set_cookie("b", "2")
        response.append_header("X-Twice", "1")
        response.append_header("X-Twice", "2")
        response.media = request.cookies


class Task:
    async def on_get(self, request, response):
        path = request.get_param("path")

        def later():
            while not os.path.exists(path + ".go"):
                time.sleep(0.005)
            write_file(path)
        response.schedule_sync(later)
        response.media = {"started": True}


async def answer_418(request, response, error, params):
    response.status, response.media = 418, {"ours": str(error)}


class Ours(Exception):
    pass


class Teapot:
    async def on_get(self, request, response):
        raise Ours("short and stout")


app = falcon.asgi.App(middleware=[Lifespan()])
app.add_error_handler(Ours, answer_418)
app.req_options.strip_url_path_trailing_slash = False
for path, resource in (("/", Root()), ("/sync/{number:int}", Sync()), ("/form", Form()), ("/echo", Echo()), ("/stream", Stream()),
                       ("/endless", Endless()), ("/boom", Boom()), ("/error/{status:int}", Errors()), ("/cookies", Cookies()),
                       ("/task", Task()), ("/teapot", Teapot()), ("/out-of-memory", OutOfMemory())):
    app.add_route(path, resource)
app.add_static_route("/static", os.path.dirname(os.path.abspath(__file__)))
