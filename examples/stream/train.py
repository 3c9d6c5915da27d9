#!/usr/bin/python3
"""Trains a small network to write like this project's documentation, one character after the other.

    ./train.py                                # five minutes on one CPU core; writes babble.safetensors beside this file
    ./train.py my-notes/*.md --out mine.safetensors

Needs PyTorch (Debian's python3-torch will do). The text: every Markdown file of this repository, without its blocks of
code. It is cut into sections, each a heading and what is below it; every tenth is held out, and the loss is measured only
on these.

The network: each character is 64 numbers (an embedding); a GRU keeps 320 numbers of memory and updates them with every
character; a last layer turns them into a score for each character that may come next.
"""
import argparse
import json
import math
import random
import re
import struct
import sys
from pathlib import Path

import torch
from torch import nn

HERE = Path(__file__).resolve().parent
SEED = 1
EMBEDDING, MEMORY = 64, 320
STEPS, BATCH, WINDOW = 1000, 32, 128  # each step: 32 places of the text, 128 characters of each
RATE, DROPOUT, CLIP = 4e-3, 0.3, 1.0
SEEN_MIN = 4  # rarer characters become UNKNOWN
END, UNKNOWN = "\0", "\ufffd"  # the first two of the alphabet: end of a section, unknown character


# ── The text ────────────────────────────────────────────────────────────────────────────────────────────────

def documentation():
    """The Markdown files of this repository."""
    root = HERE.parents[1]
    return sorted(path for where in ("*.md", "docs/**/*.md", "examples/**/*.md", "sdk/**/*.md") for path in root.glob(where))


def sections(text):
    """Returns ["## Heading\\n\\nwords below it", …], without code. Keeps only the visible text of links."""
    text = re.sub(r"(?ms)^```.*?^```[^\n]*\n", "", text)
    text = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", text)
    text = re.sub(r"(?m)^\|[-|: ]+\|?\n", "", text)  # the ruled line of a table
    parts = re.split(r"(?m)^#+ +(.*)\n", text)
    found = zip(parts[1::2], parts[2::2])
    return [f"## {heading}\n\n" + re.sub(r"\n{3,}", "\n\n", words).strip("\n") + "\n"
            for heading, words in found if words.strip()]


def alphabet_of(text):
    return END + UNKNOWN + "".join(sorted(one for one in set(text) if text.count(one) >= SEEN_MIN and one not in END + UNKNOWN))


def numbered(text, alphabet):
    """Returns each character as its place in the alphabet."""
    places = {one: at for at, one in enumerate(alphabet)}
    return torch.tensor([places.get(one, 1) for one in text])


def rows(parts, alphabet, count):
    """Joins all sections, each with its END, and cuts them into `count` rows of equal length."""
    numbers = numbered(END + "".join(part + END for part in parts), alphabet)
    return numbers[:len(numbers) // count * count].reshape(count, -1)


# ── The network ─────────────────────────────────────────────────────────────────────────────────────────────

class Babbler(nn.Module):
    def __init__(self, characters, embedding=EMBEDDING, memory=MEMORY):
        super().__init__()
        self.embedding = nn.Embedding(characters, embedding)
        self.gru = nn.GRU(embedding, memory, batch_first=True)
        self.drop = nn.Dropout(DROPOUT)
        self.scores = nn.Linear(memory, characters)

    def forward(self, numbers, memory=None):
        """Returns scores for what follows each character, and the memory after the last."""
        values, memory = self.gru(self.drop(self.embedding(numbers)), memory)
        return self.scores(self.drop(values)), memory


def loss_of(network, numbers, memory=None):
    """Returns the cross-entropy in nats per character."""
    scores, memory = network(numbers[:, :-1], memory)
    return nn.functional.cross_entropy(scores.flatten(0, 1), numbers[:, 1:].flatten()), memory


def windows(parts, alphabet):
    """Yields (numbers, whether the memory of the previous window fits) without end."""
    while True:
        mixed = rows(random.sample(parts, len(parts)), alphabet, BATCH)
        start = random.randrange(min(WINDOW, mixed.shape[1] - 1))
        for at in range(start, mixed.shape[1] - 1, WINDOW):
            yield mixed[:, at:at + WINDOW + 1], at != start


def train(parts, alphabet, steps, network=None, rate=RATE, say=print):
    """Returns the network and the loss of each step."""
    network = network or Babbler(len(alphabet))
    adam = torch.optim.AdamW(network.parameters(), lr=rate, weight_decay=0.01)
    plan = torch.optim.lr_scheduler.LambdaLR(adam, lambda step: min(  # learning rate: warm-up, then decay
        (step + 1) * 50 / steps, (1 + math.cos(math.pi * step / steps)) / 2))
    losses, memory = [], None
    network.train()
    for step, (numbers, is_next) in zip(range(1, steps + 1), windows(parts, alphabet)):
        loss, memory = loss_of(network, numbers, memory.detach() if is_next and memory is not None else None)
        adam.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(network.parameters(), CLIP)
        adam.step()
        plan.step()
        losses.append(float(loss))
        if step % 50 == 0:
            say(f"step {step:4}: {sum(losses[-50:]) / 50:.3f} nats per character", flush=True)
    return network, losses


@torch.no_grad()
def held_out_loss(network, parts, alphabet):
    network.eval()
    return float(loss_of(network, rows(parts, alphabet, 1))[0])


# ── The file ────────────────────────────────────────────────────────────────────────────────────────────────

def write_safetensors(path, tensors, metadata):
    """Writes the header's length as 8 bytes, the header as JSON, then the numbers of all tensors, two bytes each."""
    header, data = {"__metadata__": metadata}, b""
    for name, tensor in tensors.items():
        numbers = tensor.detach().numpy().astype("<f2").tobytes()
        header[name] = {"dtype": "F16", "shape": list(tensor.shape), "data_offsets": [len(data), len(data) + len(numbers)]}
        data += numbers
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("text", nargs="*", type=Path, help="Markdown files; without any: this repository's")
    options.add_argument("--out", type=Path, default=HERE / "babble.safetensors")
    options.add_argument("--steps", type=int, default=STEPS)
    options.add_argument("--threads", type=int, default=1)
    chosen = options.parse_args()
    torch.manual_seed(SEED)
    random.seed(SEED)
    torch.set_num_threads(chosen.threads)

    parts = [part for path in chosen.text or documentation() for part in sections(path.read_text())]
    learnt, held_out = [part for at, part in enumerate(parts) if at % 10 != 9], parts[9::10]
    if not held_out or sum(map(len, learnt)) < 2 * BATCH * WINDOW:
        sys.exit(f"that is too little text: {len(parts)} sections with a heading, {sum(map(len, parts))} characters")
    alphabet = alphabet_of("".join(learnt))
    print(f"{sum(map(len, learnt))} characters in {len(learnt)} sections, an alphabet of {len(alphabet)}", flush=True)
    network, _ = train(learnt, alphabet, chosen.steps)
    reached = held_out_loss(network, held_out, alphabet)
    print(f"held out: {reached:.3f} nats per character, in {len(held_out)} sections that it has never seen")
    write_safetensors(chosen.out, network.state_dict(), {"alphabet": alphabet, "loss": f"{reached:.3f}", "seed": str(SEED)})
    print(f"wrote {chosen.out} ({chosen.out.stat().st_size} bytes)")


if __name__ == "__main__":
    main()
