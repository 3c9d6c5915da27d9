#!/usr/bin/python3
"""Trains the network of reader.py to read handwritten digits, in under a minute on one core.

    ./train.py                      # prints the held-out accuracy, writes reader.pt beside this file
    ./train.py --epochs 5 --out /tmp/other.pt

The data: 1797 digits by 13 people, 8 x 8 pixels of 0 (paper) to 16 (ink), those of examples/digits. Every fifth is held
out: the network never sees it during training, and the accuracy is measured only on these.
"""
import argparse
import gzip
import subprocess
from pathlib import Path

import torch
from torch.nn import functional as F

from reader import Reader

HERE = Path(__file__).resolve().parent
DIGITS = HERE.parent / "digits"
SEED = 1
EPOCHS = 60  # how often it sees every digit, each time augmented differently
BATCH = 64
LEARNING_RATE = 5e-3  # at its highest
LABEL_SMOOTHING = 0.05  # never teach full certainty: all ten digits get a little probability


def read_digits(path):
    """Returns pixels as (1797, 1, 8, 8), from 0 to 1, and the digits that they show."""
    with gzip.open(path, "rt") as file:
        table = torch.tensor([[float(number) for number in line.split(",")] for line in file])
    return table[:, :64].reshape(-1, 1, 8, 8) / 16, table[:, 64].long()


def augment(pixels):
    """Returns every digit turned, slanted, stretched and shifted a little, as different people would write it."""
    def around(middle, width):
        return middle + width * (2 * torch.rand(len(pixels)) - 1)
    turn, slant, wide, tall = around(0, 0.20), around(0, 0.25), around(1, 0.12), around(1, 0.12)
    across = torch.stack([turn.cos() * wide, turn.sin() + slant, around(0, 0.2)], dim=1)
    along = torch.stack([-turn.sin(), turn.cos() * tall, around(0, 0.2)], dim=1)
    grid = F.affine_grid(torch.stack([across, along], dim=1), list(pixels.shape), align_corners=False)
    return F.grid_sample(pixels, grid, align_corners=False)


def train(pixels, digits, epochs):
    torch.manual_seed(SEED)
    net = Reader()
    optimizer = torch.optim.AdamW(net.parameters(), lr=LEARNING_RATE, weight_decay=0.02)
    steps = epochs * (len(pixels) // BATCH)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, LEARNING_RATE, total_steps=steps)
    for epoch in range(1, epochs + 1):
        losses = []
        for some in torch.randperm(len(pixels)).split(BATCH)[:len(pixels) // BATCH]:
            loss = F.cross_entropy(net(augment(pixels[some])), digits[some], label_smoothing=LABEL_SMOOTHING)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
            losses.append(loss.item())
        if epoch % max(1, epochs // 8) == 0:
            print(f"epoch {epoch:3}: loss {sum(losses) / len(losses):.4f}", flush=True)
    return net.eval()


@torch.no_grad()
def accuracy(net, pixels, digits):
    return (net(pixels).argmax(dim=1) == digits).float().mean().item()


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--data", type=Path, help="digits.csv.gz of scikit-learn; without it: found, or fetched")
    options.add_argument("--out", type=Path, default=HERE / "reader.pt")
    options.add_argument("--epochs", type=int, default=EPOCHS)
    chosen = options.parse_args()
    data = chosen.data or subprocess.run([DIGITS / "fetch-data", DIGITS / "data"], check=True, text=True,
                                         stdout=subprocess.PIPE).stdout.strip()
    pixels, digits = read_digits(data)
    held_out = torch.arange(len(digits)) % 5 == 4
    net = train(pixels[~held_out], digits[~held_out], chosen.epochs)
    reached = accuracy(net, pixels[held_out], digits[held_out])
    print(f"held-out accuracy: {reached:.2%} of {int(held_out.sum())} digits that it has never seen")
    # The accuracy is text, because PyTorch 1.13 does not load a float with weights_only.
    torch.save({"accuracy": f"{reached:.4f}", "weights": net.state_dict()}, chosen.out)
    print(f"wrote {chosen.out} ({chosen.out.stat().st_size} bytes)")


if __name__ == "__main__":
    main()
