"""A Quart app, for tests that serve it with uvicorn and with Turnpike and compare the answers."""
import asyncio
import os

from quart import Quart, Response, abort, jsonify, make_response, redirect, request, send_file, session, url_for, websocket

OutOfGpuMemory = type("OutOfMemoryError", (RuntimeError,), {"__module__": "torch"})  # as PyTorch's

app = Quart(__name__, static_folder=os.path.dirname(os.path.abspath(__file__)), static_url_path="/static")
app.secret_key = "not one"
app.opened = []


def write_file(path, text=""):
    with open(path + ".part", "w") as file:
        file.write(text)
    os.rename(path + ".part", path)


@app.before_serving
async def load():
    app.opened.append("before serving")


@app.get("/")
async def root():
    return jsonify(opened=app.opened, url=url_for("hello", name="a b", _external=True), scheme=request.scheme)


@app.route("/hello/<name>")
async def hello(name):
    return {"name": name, "q": request.args.getlist("q"), "raw": request.query_string.decode("latin-1")}


@app.get("/sync/<int:number>")
def sync(number):
    return {"twice": 2 * number}


@app.get("/folder/")
async def folder():
    return "a folder"


@app.post("/form")
async def form():
    form, files = await request.form, await request.files
    found = {name: [file.filename, len(file.read())] for name, file in files.items()}
    return {"form": form.to_dict(), "files": found}


@app.post("/echo")
async def echo():
    return Response(await request.get_data(), content_type=request.content_type)


@app.post("/json")
async def json():
    return {"got": await request.get_json()}


@app.get("/stream")
async def stream():
    async def numbers():
        for number in range(5):
            yield f"{number}\n".encode()
            await asyncio.sleep(0.001)
    return numbers(), 200, {"X-Kind": "stream"}


@app.get("/endless")
async def endless():
    started, left = request.args["started"], request.args["left"]

    async def numbers():
        try:
            while True:
                yield b"more\n"
                write_file(started)
                await asyncio.sleep(0.005)
        finally:
            write_file(left, "closed")
    response = await make_response(numbers())
    response.timeout = None
    return response


@app.get("/boom")
async def boom():
    raise ValueError("boom")


@app.get("/out-of-memory")
async def out_of_memory():
    raise OutOfGpuMemory("CUDA out of memory. Tried to allocate 20.00 GiB")


@app.get("/teapot")
async def teapot():
    abort(418)


@app.errorhandler(404)
async def missing(error):
    return {"missing": request.path}, 404


@app.get("/away")
async def away():
    return redirect(url_for("root"))


@app.get("/count")
async def count():
    session["count"] = session.get("count", 0) + 1
    return {"count": session["count"]}


@app.get("/file")
async def file():
    return await send_file(__file__, as_attachment=True, attachment_filename="a.py")


@app.get("/task")
async def task():
    path = request.args["path"]

    async def later():
        while not os.path.exists(path + ".go"):
            await asyncio.sleep(0.005)
        write_file(path)
    app.add_background_task(later)
    return {"started": True}


@app.websocket("/ws")
async def ws():
    await websocket.send("hello")
