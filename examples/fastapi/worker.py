"""A worker of the shape that Turnpike began with: one small FastAPI app per GPU. It needs nothing of Turnpike's.

    turnpike up examples/fastapi/worker.py:app                     # called by Turnpike itself, without a server in between
    turnpike up examples/fastapi                                   # turnpike.toml says how it is started: by uvicorn
    turnpike up --worker 'uvicorn worker:app --port {port}'        # the same, in this folder, without a proof

This one recognises no cats: it stands in for a model by working for a moment. Replace `load` and `predict` by yours.
"""
import os
import time

from fastapi import FastAPI
from pydantic import BaseModel

LANE = os.environ.get("TURNPIKE_LANE", "none")
GPU = os.environ.get("CUDA_VISIBLE_DEVICES")  # set only where there are GPUs; "cuda:0" is then the lane's own
WHERE = f"lane {LANE}, {'GPU ' + GPU if GPU else 'CPU'}, pid {os.getpid()}"


class Input(BaseModel):
    text: str = ""
    seconds: float = 0.2  # how long the model is to think


def load():
    """What a worker prints goes to its lane's log; `up` shows the latest line while it loads."""
    print(f"loading on {WHERE}")
    for part in range(1, 9):
        time.sleep(0.25)  # weights take their time
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
