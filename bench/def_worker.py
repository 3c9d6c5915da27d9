"""The app of examples/fastapi with a plain `def`, which FastAPI runs in a thread. asgi_against_uvicorn.py uses it."""
from fastapi import FastAPI
from pydantic import BaseModel


class Input(BaseModel):
    text: str = ""
    seconds: float = 0.2


app = FastAPI()


@app.post("/predict")
def predict(input: Input):
    return {"answer": input.text[::-1]}
