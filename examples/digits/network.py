"""The trained network: reads digits.safetensors and computes, with numpy if it is installed, else in plain Python. The
answers are the same. network.h is this file in C++; train.py made the weights."""
import array
import json
import math
import operator
import struct
import sys

try:
    import numpy
except ImportError:  # then an answer takes 1 ms instead of 0.1 ms
    numpy = None


def read_safetensors(path):
    """Returns {name: (shape, numbers)} and the metadata. Reads only float32, which is all that train.py writes."""
    with open(path, "rb") as file:
        (length,) = struct.unpack("<Q", file.read(8))
        header = json.loads(file.read(length))
        data = file.read()
    metadata, tensors = header.pop("__metadata__", {}), {}
    for name, entry in header.items():
        begin, end = entry["data_offsets"]
        numbers = array.array("f", data[begin:end])
        if entry["dtype"] != "F32" or len(numbers) != math.prod(entry["shape"]):
            raise ValueError(f"{path}: {name} is not float32 numbers of shape {entry['shape']}")
        if sys.byteorder == "big":
            numbers.byteswap()
        tensors[name] = entry["shape"], numbers
    return tensors, metadata


class Network:
    """Layers, each a matrix product and a sum. Between two layers, negative numbers become 0 (ReLU)."""

    def __init__(self, path, with_numpy=numpy is not None):
        tensors, self.metadata = read_safetensors(path)
        self.layer = layer_of_numpy if with_numpy else layer_of_plain
        self.layers = []
        for number in range(1, len(tensors) // 2 + 1):
            (outputs, inputs), weights = tensors[f"layer{number}.weight"]
            _, biases = tensors[f"layer{number}.bias"]
            if with_numpy:
                self.layers.append((numpy.array(weights).reshape(outputs, inputs), numpy.array(biases)))
            else:
                rows = [weights[start:start + inputs].tolist() for start in range(0, len(weights), inputs)]
                self.layers.append((rows, biases.tolist()))

    def probabilities(self, pixels):
        """Returns the probability of each of the ten digits. `pixels` are 64 numbers from 0 to 16."""
        values = [pixel / 16 for pixel in pixels]
        for number, (weights, biases) in enumerate(self.layers):
            if number:
                values = [max(value, 0.0) for value in values]
            values = self.layer(weights, biases, values)
        largest = max(values)
        powers = [math.exp(value - largest) for value in values]
        return [power / sum(powers) for power in powers]


def layer_of_plain(weights, biases, values):
    return [sum(map(operator.mul, row, values)) + bias for row, bias in zip(weights, biases)]


def layer_of_numpy(weights, biases, values):
    return (weights @ numpy.asarray(values, numpy.float32) + biases).tolist()
