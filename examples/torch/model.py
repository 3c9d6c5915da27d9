"""Which digit is this? A PyTorch model for Turnpike that answers many clients in one forward pass.

    turnpike up examples/torch
    curl http://127.0.0.1:8000/predict -d @examples/digits/seven.json    # 8 x 8 pixels, from 0 (paper) to 16 (ink)

The network is in reader.py, its training in train.py. This file connects it to Turnpike.
"""
from pathlib import Path

import torch
import turnpike
from reader import Reader

HERE = Path(__file__).resolve().parent


class Digits(turnpike.Model):
    batch = 16  # predict gets a list of up to 16 waiting jobs. No job waits for a list to fill

    example = {"pixels": [0, 0, 7, 16, 16, 16, 6, 0,  # every lane answers this before its first job
                          0, 0, 9, 12, 9, 15, 10, 0,
                          0, 0, 0, 0, 1, 15, 7, 0,
                          0, 0, 4, 11, 13, 16, 8, 0,
                          0, 0, 9, 16, 16, 13, 5, 0,
                          0, 0, 0, 10, 13, 1, 0, 0,
                          0, 0, 2, 15, 7, 0, 0, 0,
                          0, 0, 8, 14, 1, 0, 0, 0]}

    def load(self, lane):
        self.device = torch.device(lane.device)  # "cuda:0", the lane's own GPU, or "cpu"
        if self.device.type == "cpu":
            torch.set_num_threads(1)  # lanes share the cores; more threads would slow each other down
        else:
            torch.backends.cudnn.allow_tf32 = False  # full precision, as on the CPU
        lane.progress(0.2, "reading the weights")
        saved = torch.load(HERE / "reader.pt", map_location="cpu", weights_only=True)  # numbers only, never code
        self.net = Reader()
        self.net.load_state_dict(saved["weights"])
        self.net.to(self.device).eval()  # without eval(), BatchNorm would mix the answers of a batch
        self.facts = {"accuracy": saved["accuracy"], "torch": torch.__version__}
        lane.progress(0.6, "warming up")
        self.read([self.example["pixels"]] * self.batch)  # a GPU's first pass is slow, so no client should wait for it

    def predict(self, xs):
        """Takes a list of inputs and returns a list of answers in the same order. An exception in the list fails only that job."""
        inputs = [pixels_of(x) for x in xs]
        good = [pixels for pixels in inputs if not isinstance(pixels, Exception)]
        scores = iter(self.read(good) if good else [])
        return [pixels if isinstance(pixels, Exception) else answer(next(scores), len(good)) for pixels in inputs]

    def read(self, pictures):
        """Takes lists of 64 numbers and returns lists of 10 that add up to 1. One tensor in, one pass, one tensor out."""
        with torch.inference_mode():
            pixels = torch.tensor(pictures, dtype=torch.float32).reshape(-1, 1, 8, 8) / 16
            return self.net(pixels.to(self.device)).softmax(dim=1).tolist()


def pixels_of(x):
    """Returns the 64 numbers of an input, or a BadInput that says what to send. Does not raise it, because only one job is bad."""
    pixels = x.get("pixels") if isinstance(x, dict) else x
    if not isinstance(pixels, list) or len(pixels) != 64:
        got = f"a list of {len(pixels)}" if isinstance(pixels, list) else "something else"
        return turnpike.BadInput(f"Send {{\"pixels\": [...]}}: a list of 64 numbers, 8 rows of 8; this was {got}.")
    for at, pixel in enumerate(pixels):
        if isinstance(pixel, bool) or not isinstance(pixel, (int, float)) or not 0 <= pixel <= 16:
            return turnpike.BadInput(f"A pixel must be a number from 0 (paper) to 16 (ink); pixels[{at}] is not.")
    return pixels


def answer(scores, together):
    digit = scores.index(max(scores))
    body = {"digit": digit, "confidence": scores[digit], "scores": scores}
    return turnpike.Response(body, headers={"Batch-Size": str(together)})  # visible with curl -i
