"""Draws digits out of noise: a job of many steps that reports progress, answers with a PNG, and stops if the client leaves.

    turnpike up examples/image
    curl http://127.0.0.1:8000/predict -d '{"digit": 7, "count": 16}' -o sevens.png

The network is in denoiser.py, its training in train.py, the file format in png.py; this file has the loop and
connects it to Turnpike.
"""
import math
import random
from pathlib import Path

import png
import torch
import turnpike
from denoiser import ANY, PIXELS, Denoiser, shares
from torch.nn import functional as F

HERE = Path(__file__).resolve().parent
GUIDANCE = 1.5  # strength of classifier-free guidance towards the wanted digit


class Drawing(turnpike.Model):
    example = {"digit": 7, "count": 1, "steps": 5}  # every lane draws this before its first job

    def load(self, lane):
        self.device = torch.device(lane.device)  # "cuda:0", the lane's own GPU, or "cpu"
        if self.device.type == "cpu":
            torch.set_num_threads(1)  # lanes share the cores; more threads would slow each other down
        else:
            torch.backends.cudnn.allow_tf32 = False  # full precision, as on the CPU
        lane.progress(0.2, "reading the weights")
        weights = torch.load(HERE / "denoiser.pt", map_location="cpu", weights_only=True)  # numbers only, never code
        self.net = Denoiser()
        self.net.load_state_dict(weights)
        self.net.to(self.device).eval()
        self.facts = {"torch": torch.__version__}

    def predict(self, x):
        parameters = parameters_of(x)
        count = parameters["count"]
        if parameters["digit"] is None:
            digits, columns = [number % 10 for number in range(count)], min(count, 10)
        else:
            digits, columns = [parameters["digit"]] * count, math.ceil(math.sqrt(count))
        pictures = self.draw(digits, parameters["steps"], parameters["seed"])
        if parameters["as"] == "numbers":
            pixels = (8 * (pictures + 1)).reshape(count, -1).tolist()
            return {"pictures": [{"digit": digit, "pixels": each} for digit, each in zip(digits, pixels)]}
        return turnpike.Response(png.grey(sheet(pictures, parameters["size"], columns)), content_type="image/png")

    @torch.inference_mode()
    def draw(self, digits, steps, seed):
        """Runs the loop: starts from pure noise and removes a little with each step. Returns (n, 1, 8, 8) pictures."""
        job = turnpike.job()
        source = random.Random(seed)  # not PyTorch's, so that a seed means the same on every device and version
        noise = [source.gauss(0, 1) for _ in range(len(digits) * PIXELS * PIXELS)]
        pictures = torch.tensor(noise, device=self.device).reshape(-1, 1, PIXELS, PIXELS)
        digits = torch.tensor(digits, device=self.device)
        for step in range(steps):
            job.raise_if_cancelled()  # if no client waits any more, end here and free the lane
            pictures = self.one_step(pictures, digits, 1 - step / steps, 1 - (step + 1) / steps)
            if self.device.type == "cuda":
                torch.cuda.synchronize()  # else the loop runs ahead of the GPU, and reports progress too early
            job.progress((step + 1) / steps, f"step {step + 1}/{steps}")
        if not pictures.isfinite().all():
            raise turnpike.NonFinite("the picture has NaN in it")  # Turnpike finds NaN in JSON, but not in a PNG
        return pictures.clamp(-1, 1).cpu()

    def one_step(self, noisy, digits, now, then):
        """Separates picture and noise, and mixes them again with the smaller amount of noise of time `then`."""
        count = len(digits)
        time = torch.full((2 * count,), now, device=self.device)
        asked = torch.cat([digits, torch.full_like(digits, ANY)])  # wanted digit and any digit, in one pass
        wanted, any_digit = self.net(torch.cat([noisy, noisy]), time, asked).split(count)
        direction = any_digit + GUIDANCE * (wanted - any_digit)
        picture_share, noise_share = shares(time[0])
        picture = (picture_share * noisy - noise_share * direction).clamp(-1, 1)
        noise = (noisy - picture_share * picture) / noise_share
        picture_share, noise_share = shares(torch.tensor(then, device=self.device))
        return picture_share * picture + noise_share * noise


def sheet(pictures, size, columns):
    """Arranges all pictures in a grid, each enlarged to size x size. Returns rows of bytes; ink is black."""
    with_margin = F.pad(pictures, (1, 1, 1, 1), value=-1)
    large = F.interpolate(with_margin, size=(size, size), mode="bicubic", align_corners=False).clamp(-1, 1)
    ink = torch.sin(large * (math.pi / 2))  # more contrast
    grey = ((1 - ink) * 127.5).round().to(torch.uint8).squeeze(1)
    rows = math.ceil(len(grey) / columns)
    paper = torch.full((rows * columns, size, size), 255, dtype=torch.uint8)
    paper[:len(grey)] = grey
    lines = paper.reshape(rows, columns, size, size).transpose(1, 2).reshape(rows * size, columns * size)
    return [bytes(line.tolist()) for line in lines]


PARAMETERS = {  # name: (least, most, default)
    "digit": (0, 9, None), "count": (1, 64, 10), "steps": (1, 1000, 200), "seed": (0, 2**63 - 1, 0),
    "size": (8, 256, 64)}


def parameters_of(x):
    """Returns all parameters, with defaults. Raises BadInput, which says what to send."""
    if not isinstance(x, dict):
        raise turnpike.BadInput('Send an object such as {"digit": 7, "count": 16, "steps": 200, "seed": 1}.')
    said = {name: value for name, value in x.items() if value is not None}
    parameters = {"as": "png", **{name: default for name, (_, _, default) in PARAMETERS.items()}, **said}
    for name, value in said.items():
        if name == "as":
            if value not in ("png", "numbers"):
                raise turnpike.BadInput('as must be "png" or "numbers".')
        elif name not in PARAMETERS:
            raise turnpike.BadInput(f"There is no parameter {name[:40]!r}; there are {', '.join(PARAMETERS)} and as.")
        else:
            least, most, _ = PARAMETERS[name]
            if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
                raise turnpike.BadInput(f"{name} must be a whole number from {least} to {most}.")
    return parameters
