"""A worker of the shape that Turnpike began with: one small FastAPI app per GPU, started by uvicorn on its own port.

    GPU=0 uvicorn worker:app --port 8001

This one recognises no cats: it stands in for a model by working for a moment. Replace `load` and `predict` by yours.
"""
import os
import time

from fastapi import FastAPI
from pydantic import BaseModel

GPU = os.environ.get("GPU", "cpu")


class Input(BaseModel):
    text: str = ""
    seconds: float = 0.2  # how long the model is to think


def load():
    time.sleep(1)  # weights take their time
    return lambda text: text[::-1]


app = FastAPI()
model = load()


@app.post("/predict")
async def predict(input: Input):
    time.sleep(input.seconds)  # blocks the loop, as models do
    return {"gpu": GPU, "pid": os.getpid(), "answer": model(input.text)}
