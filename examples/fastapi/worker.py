"""One small FastAPI app per GPU, as Turnpike's first users had it. It does not import Turnpike.

    turnpike up examples/fastapi/worker.py:app                     # Turnpike calls the app itself, without a server in between
    turnpike up examples/fastapi                                   # as turnpike.toml says: with uvicorn
    turnpike up --worker 'uvicorn worker:app --port {port}'        # the same, in this folder, without a proof

It has no real model: it only works for a moment. Replace `load` and `predict` with yours.
"""
import os
import time

from fastapi import FastAPI
from pydantic import BaseModel

LANE = os.environ.get("TURNPIKE_LANE", "none")
GPU = os.environ.get("CUDA_VISIBLE_DEVICES")  # set only if there are GPUs; "cuda:0" is then the lane's own
WHERE = f"lane {LANE}, {'GPU ' + GPU if GPU else 'CPU'}, pid {os.getpid()}"


class Input(BaseModel):
    text: str = ""
    seconds: float = 0.2  # how long the model works


def load():
    """The output of a worker goes to its lane's log; `up` shows the latest line while the worker loads."""
    print(f"loading on {WHERE}")
    for part in range(1, 9):
        time.sleep(0.25)  # as if it read weights
        print(f"weights: {part} of 8 files")
    return lambda text: text[::-1]


app = FastAPI()
model = load()


@app.get("/health")
async def health():
    return {"where": WHERE}


@app.post("/predict")
async def predict(input: Input):
    time.sleep(input.seconds)  # blocks the loop, as models do
    return {"answer": model(input.text)}
