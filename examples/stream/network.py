"""The trained network, one character at a time: reads babble.safetensors and computes, with numpy alone. train.py
made the weights, and PyTorch computes the same there."""
import json
import struct

import numpy as np

END, UNKNOWN = 0, 1  # the first two places of the alphabet: end of a section, unknown character


def read_safetensors(path):
    """Returns {name: array of float32} and the metadata. Reads only float16, which is all that train.py writes."""
    with open(path, "rb") as file:
        (length,) = struct.unpack("<Q", file.read(8))
        header = json.loads(file.read(length))
        data = file.read()
    metadata, tensors = header.pop("__metadata__", {}), {}
    for name, entry in header.items():
        begin, end = entry["data_offsets"]
        if entry["dtype"] != "F16":
            raise ValueError(f"{path}: {name} is {entry['dtype']}, not float16")
        tensors[name] = np.frombuffer(data[begin:end], "<f2").astype(np.float32).reshape(entry["shape"])
    return tensors, metadata


class Network:
    """A GRU. It knows the text so far only by its memory, an array that `after` replaces with every character."""

    def __init__(self, path):
        tensors, self.metadata = read_safetensors(path)
        self.alphabet = self.metadata["alphabet"]
        self.places = {character: place for place, character in enumerate(self.alphabet)}
        # What a character adds to the three gates never changes, so a table of it replaces a matrix product.
        self.inputs = tensors["embedding.weight"] @ tensors["gru.weight_ih_l0"].T + tensors["gru.bias_ih_l0"]
        self.weights = np.ascontiguousarray(tensors["gru.weight_hh_l0"].T)
        self.biases = tensors["gru.bias_hh_l0"]
        self.score_weights = np.ascontiguousarray(tensors["scores.weight"].T)
        self.score_biases = tensors["scores.bias"]
        self.size = len(self.weights)

    def blank(self):
        """Returns the memory before the first character."""
        return np.zeros(self.size, np.float32)

    def after(self, memory, place):
        """Returns the memory after one more character, given by its place in the alphabet."""
        size, new, old = self.size, self.inputs[place], memory @ self.weights + self.biases
        gates = (1 + np.tanh((new[:2 * size] + old[:2 * size]) / 2)) / 2  # the logistic function, written so that nothing overflows
        reset, keep = gates[:size], gates[size:]
        fresh = np.tanh(new[2 * size:] + reset * old[2 * size:])
        return fresh + keep * (memory - fresh)

    def scores(self, memory):
        """Returns a score for each character of the alphabet. The larger the score, the likelier the character comes next."""
        return memory @ self.score_weights + self.score_biases
