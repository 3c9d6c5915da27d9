#!/usr/bin/python3
"""Teaches a small neural network to read handwritten digits, from nothing, in plain numpy and in seconds.

    ./train.py                      # prints the held-out accuracy, writes digits.safetensors beside this file
    ./train.py --data digits.csv.gz --out other.safetensors

The data: 1797 digits by 13 people, 8 x 8 pixels of 0 (paper) to 16 (ink). Every fifth is held out: the network never
sees it during training, and the accuracy is measured only on these.

The network: three layers, 64 -> 96 -> 48 -> 10. A layer is a matrix product and a sum; between two layers, negative
numbers become 0 (ReLU). The largest of the ten numbers at the end is the answer.
"""
import argparse
import gzip
import json
import struct
import subprocess
import sys
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent
SEED = 1
SIZES = (64, 96, 48, 10)
EPOCHS = 150  # how often it sees every digit, each time augmented differently
BATCH = 64
LEARNING_RATE = 4e-3  # at the first step
WEIGHT_DECAY = 1e-4  # unused weights shrink
LABEL_SMOOTHING = 0.05  # never teach full certainty: all ten digits get a little probability
ACCURACY_MIN = 0.97


# ── The data ────────────────────────────────────────────────────────────────────────────────────────────────

def read_digits(path):
    """Returns pixels as an array of (1797, 64), from 0 to 1, and the digits that they show."""
    with gzip.open(path) as file:
        table = np.loadtxt(file, delimiter=",", dtype=np.float32)
    return table[:, :64] / 16, table[:, 64].astype(int)


def split(count):
    """Returns which digits are for training, and which are held out."""
    held_out = np.arange(count) % 5 == 4
    return np.flatnonzero(~held_out), np.flatnonzero(held_out)


def augment(pixels, random):
    """Returns every digit turned, slanted, stretched and shifted a little, as different people would write it.

    For each pixel of the new picture, computes where it comes from in the old one. Between pixels, the four nearest are
    mixed."""
    count = len(pixels)
    old = np.zeros((count, 10, 10), np.float32)  # with a margin of paper
    old[:, 1:9, 1:9] = pixels.reshape(-1, 8, 8)

    turn, slant = random.uniform(-0.20, 0.20, (count, 1)), random.uniform(-0.25, 0.25, (count, 1))
    wide, tall = random.uniform(0.88, 1.12, (2, count, 1))
    right, down = random.uniform(-0.9, 0.9, (2, count, 1))
    y, x = (np.indices((8, 8)) - 3.5).reshape(2, 64)
    from_x = np.cos(turn) * wide * x + (np.sin(turn) + slant) * y + right
    from_y = -np.sin(turn) * x + np.cos(turn) * tall * y + down

    from_x, from_y = (np.clip(at + 4.5, 0, 8.999) for at in (from_x, from_y))
    column, row = from_x.astype(int), from_y.astype(int)
    u, v = (from_x - column).astype(np.float32), (from_y - row).astype(np.float32)
    each = np.arange(count)[:, None]
    above = (1 - u) * old[each, row, column] + u * old[each, row, column + 1]
    below = (1 - u) * old[each, row + 1, column] + u * old[each, row + 1, column + 1]
    return (1 - v) * above + v * below


# ── The network ─────────────────────────────────────────────────────────────────────────────────────────────

def new_network(random):
    """Returns [(weights, biases), …] with random weights, scaled so that signals neither fade nor grow."""
    return [((random.standard_normal((outputs, inputs)) * np.sqrt(2 / inputs)).astype(np.float32),
             np.zeros(outputs, np.float32)) for inputs, outputs in zip(SIZES, SIZES[1:])]


def forward(network, pixels):
    """Returns the output of every layer: the pixels first, the ten scores last."""
    values = [pixels]
    for weights, biases in network:
        if len(values) > 1:
            values[-1] = np.maximum(values[-1], 0)
        values.append(values[-1] @ weights.T + biases)
    return values


def softmax(scores):
    """Turns ten scores into ten probabilities."""
    powers = np.exp(scores - scores.max(axis=1, keepdims=True))
    return powers / powers.sum(axis=1, keepdims=True)


def gradients(network, pixels, digits):
    """Returns the gradients of the cross-entropy by each weight and bias, by the chain rule from the last layer to the first."""
    values = forward(network, pixels)
    taught = np.full((len(digits), 10), LABEL_SMOOTHING / 10, np.float32)
    taught[np.arange(len(digits)), digits] += 1 - LABEL_SMOOTHING
    error = (softmax(values[-1]) - taught) / len(digits)
    found = []
    for (weights, _), value in zip(reversed(network), reversed(values[:-1])):
        found.append((error.T @ value + WEIGHT_DECAY * weights, error.sum(axis=0)))
        error = (error @ weights) * (value > 0)
    return found[::-1]


class Adam:
    """The Adam optimizer. Each number has its own step length: the mean of its gradients, divided by how much they vary."""

    def __init__(self, network):
        self.numbers = [numbers for layer in network for numbers in layer]
        self.mean = [np.zeros_like(numbers) for numbers in self.numbers]
        self.square = [np.zeros_like(numbers) for numbers in self.numbers]
        self.steps = 0

    def step(self, found, rate):
        self.steps += 1
        slopes = [slope for layer in found for slope in layer]
        for numbers, slope, mean, square in zip(self.numbers, slopes, self.mean, self.square):
            mean += 0.1 * (slope - mean)
            square += 0.001 * (slope * slope - square)
            numbers -= (rate * (mean / (1 - 0.9**self.steps))
                        / (np.sqrt(square / (1 - 0.999**self.steps)) + 1e-8))


def train(pixels, digits, epochs):
    random = np.random.default_rng(SEED)
    network = new_network(random)
    adam = Adam(network)
    steps = epochs * (len(pixels) // BATCH)
    for epoch in range(1, epochs + 1):
        order = random.permutation(len(pixels))
        augmented, shown = augment(pixels[order], random), digits[order]
        for start in range(0, len(order) - BATCH + 1, BATCH):
            some = slice(start, start + BATCH)
            rate = LEARNING_RATE * (1 + np.cos(np.pi * adam.steps / steps)) / 2  # steps get shorter and shorter
            adam.step(gradients(network, augmented[some], shown[some]), rate)
        if epoch % 30 == 0:
            print(f"epoch {epoch:3}: {accuracy(network, augmented, shown):6.2%} of the augmented digits it learns from")
    return network


def accuracy(network, pixels, digits):
    return float(np.mean(forward(network, pixels)[-1].argmax(axis=1) == digits))


# ── The file ────────────────────────────────────────────────────────────────────────────────────────────────

def write_safetensors(path, tensors, metadata):
    """Writes the whole format: the header's length as 8 bytes, the header as JSON, then the numbers of all tensors."""
    header, data = {"__metadata__": metadata}, b""
    for name, tensor in tensors.items():
        numbers = tensor.astype("<f4").tobytes()
        header[name] = {"dtype": "F32", "shape": list(tensor.shape),
                        "data_offsets": [len(data), len(data) + len(numbers)]}
        data += numbers
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)  # aligns the numbers
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


def save(path, network, held_out_accuracy):
    tensors = {}
    for number, (weights, biases) in enumerate(network, 1):
        tensors[f"layer{number}.weight"], tensors[f"layer{number}.bias"] = weights, biases
    write_safetensors(path, tensors, {"accuracy": f"{held_out_accuracy:.4f}", "seed": str(SEED),
                                      "held_out": "every fifth digit"})


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--data", type=Path, help="digits.csv.gz of scikit-learn; without it: found, or fetched")
    options.add_argument("--out", type=Path, default=HERE / "digits.safetensors")
    options.add_argument("--epochs", type=int, default=EPOCHS)
    chosen = options.parse_args()
    data = chosen.data or subprocess.run([HERE / "fetch-data", HERE / "data"], check=True, text=True,
                                         stdout=subprocess.PIPE).stdout.strip()
    pixels, digits = read_digits(data)
    learnt, held_out = split(len(digits))
    network = train(pixels[learnt], digits[learnt], chosen.epochs)
    reached = accuracy(network, pixels[held_out], digits[held_out])
    print(f"held-out accuracy: {reached:.2%} of {len(held_out)} digits that it has never seen")
    if reached < ACCURACY_MIN:
        sys.exit(f"that is less than {ACCURACY_MIN:.0%}: nothing is written")
    save(chosen.out, network, reached)
    print(f"wrote {chosen.out} ({chosen.out.stat().st_size} bytes)")


if __name__ == "__main__":
    main()
