"""An ordinary HTTP worker: FastAPI with uvicorn, on a listening socket that it inherits.

    fastapi_app.py FD [--model NAME]
"""
import argparse
import asyncio
import json
import os
import socket
import threading
import time

import fastapi
import uvicorn
from fastapi.responses import StreamingResponse

app = fastapi.FastAPI()
options = argparse.Namespace(model="none")
inside = 0
inside_most = 0
served = 0
count_lock = threading.Lock()


class OneJob:
    """Counts the jobs that run at the same time."""

    def __enter__(self):
        global inside, inside_most, served
        with count_lock:
            inside += 1
            served += 1
            inside_most = max(inside_most, inside)

    def __exit__(self, *_):
        global inside
        with count_lock:
            inside -= 1


def report(task):
    return {"id": task["id"], "pid": os.getpid(), "inside_most": inside_most, "served": served,
            "at": time.monotonic_ns()}


@app.get("/health")
async def health():
    return {"status": "ok"}


@app.post("/predict")
async def predict(task: dict):
    with OneJob():
        await asyncio.sleep(task.get("work_s", 0))
        return report(task)


@app.post("/predict-in-thread")
def predict_in_thread(task: dict):
    with OneJob():
        time.sleep(task.get("work_s", 0))
        return report(task)


@app.post("/predict-and-block")
async def predict_and_block(task: dict):
    """Blocks the event loop, as many people's code does. Nothing else in this process runs meanwhile, not even /health."""
    with OneJob():
        time.sleep(task["work_s"])
        return report(task)


@app.post("/v1/chat/completions")
async def chat(task: dict):
    words = ["You", " said", " ", str(len(task["messages"])), " things\u2026"]
    if not task.get("stream"):
        return {"object": "chat.completion", "model": task["model"], "served_by": options.model,
                "choices": [{"message": {"role": "assistant", "content": "".join(words)}}]}
    return StreamingResponse(chat_events(words), media_type="text/event-stream")


async def chat_events(words):
    for word in words:
        event = {"object": "chat.completion.chunk", "served_by": options.model,
                 "choices": [{"delta": {"content": word}}]}
        yield f"data: {json.dumps(event)}\n\n"
        await asyncio.sleep(0.01)
    yield "data: [DONE]\n\n"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("fd", type=int)
    parser.add_argument("--model", default="none")
    parser.parse_args(namespace=options)
    server = uvicorn.Server(uvicorn.Config(app, log_level="warning", lifespan="off"))
    server.run(sockets=[socket.socket(fileno=options.fd)])


main()
