#!/usr/bin/python3
"""Trains a small network from scratch to draw digits by removing noise, in minutes on one core.

    ./train.py                      # writes denoiser.pt beside this file
    ./train.py --steps 20 --out /tmp/other.pt

Each step takes real digits, mixes a random amount of noise into each, and lets the network separate them again. The
better it separates, the better it draws: model.py starts from pure noise and repeats this.

The data: 1797 digits by 13 people, 8 x 8 pixels of 0 (paper) to 16 (ink), the same as in examples/digits.
"""
import argparse
import copy
import gzip
import math
import subprocess
from pathlib import Path

import torch
from torch.nn import functional as F

from denoiser import ANY, Denoiser, shares

HERE = Path(__file__).resolve().parent
DIGITS = HERE.parent / "digits"
SEED = 1
STEPS = 2000
BATCH = 128
LEARNING_RATE = 2e-3  # at its highest
LABEL_DROPOUT = 0.1  # how often the label is ANY, so that the network also learns what all digits have in common
AVERAGING_DECAY = 0.995  # saves a moving average over about the last 200 steps


def read_digits(path):
    """Returns pictures as (1797, 1, 8, 8), from -1 to 1, and the digits that they show."""
    with gzip.open(path, "rt") as file:
        table = torch.tensor([[float(number) for number in line.split(",")] for line in file])
    return table[:, :64].reshape(-1, 1, 8, 8) / 8 - 1, table[:, 64].long()


def loss_of(net, pictures, digits):
    noise = torch.randn_like(pictures)
    time = torch.rand(len(pictures))
    picture_share, noise_share = (share[:, None, None, None] for share in shares(time))
    told = digits.masked_fill(torch.rand(len(digits)) < LABEL_DROPOUT, ANY)
    guess = net(picture_share * pictures + noise_share * noise, time, told)
    return F.mse_loss(guess, picture_share * noise - noise_share * pictures)


def train(pictures, digits, steps, said_every=100):
    torch.manual_seed(SEED)
    net = Denoiser()
    kept = copy.deepcopy(net)
    optimizer = torch.optim.AdamW(net.parameters(), lr=LEARNING_RATE, weight_decay=0.01)
    recent = []
    for step in range(1, steps + 1):
        for group in optimizer.param_groups:  # warm-up, then cosine decay
            group["lr"] = LEARNING_RATE * min(step / 100, 1) * (1 + math.cos(math.pi * step / steps)) / 2
        some = torch.randint(len(pictures), (BATCH,))
        loss = loss_of(net, pictures[some], digits[some])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        with torch.no_grad():
            keep = min(AVERAGING_DECAY, step / (step + 10))
            for old, new in zip(kept.parameters(), net.parameters()):
                old.lerp_(new, 1 - keep)
        recent.append(loss.item())
        if step % said_every == 0:
            print(f"step {step:4}: loss {sum(recent) / len(recent):.4f}", flush=True)
            recent.clear()
    return kept


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--data", type=Path, help="digits.csv.gz of scikit-learn; without it: found, or fetched")
    options.add_argument("--out", type=Path, default=HERE / "denoiser.pt")
    options.add_argument("--steps", type=int, default=STEPS)
    chosen = options.parse_args()
    data = chosen.data or subprocess.run([DIGITS / "fetch-data", DIGITS / "data"], check=True, text=True,
                                         stdout=subprocess.PIPE).stdout.strip()
    net = train(*read_digits(data), chosen.steps, said_every=max(1, min(100, chosen.steps // 4)))
    torch.save({name: tensor.half() for name, tensor in net.state_dict().items()}, chosen.out)  # float16 halves the file
    print(f"wrote {chosen.out} ({chosen.out.stat().st_size} bytes)")


if __name__ == "__main__":
    main()
