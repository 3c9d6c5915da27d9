"""Turns scores into text: reads a prompt, then draws one character after the other until the text ends, a stop comes or
max_tokens is reached."""
import random
from dataclasses import dataclass
from typing import Optional

import numpy as np
from network import END, UNKNOWN

PROMPT_MAX = 2000  # only the end of a longer prompt is read; the network would forget the rest
TEMPERATURE_MIN = 1e-3  # below this, the likeliest character is always taken, to avoid dividing by a tiny number


@dataclass(frozen=True)
class Parameters:
    """The parameters of a request for text."""
    prompt: tuple = ()  # of strings; between two of them, a section ends
    max_tokens: int = 400  # a token is a character
    temperature: float = 0.5  # 0 means always the likeliest character
    top_p: float = 1.0  # draw only from the likeliest characters that make up this share
    seed: Optional[int] = None  # the same parameters and seed give the same text
    stop: tuple = ()  # texts that end the answer and are not part of it
    ignore_eos: bool = False  # never ends by itself; for measurements


class Writing:
    """A text that is being written. Iterate over its pieces. Afterwards `reason` says why it ended ("stop" or "length"), and
    `read` and `written` count the characters of prompt and text. `look` is called before each character, and may raise."""

    def __init__(self, network, parameters, look=lambda: None):
        self.network, self.parameters, self.look = network, parameters, look
        self.random = random.Random(parameters.seed)
        self.prompt = self._prompt_places()[-PROMPT_MAX:]
        self.reason, self.read, self.written = None, len(self.prompt), 0

    def __iter__(self):
        memory = self.network.blank()
        for place in self.prompt:
            self.look()
            memory = self.network.after(memory, place)
        end = self.network.alphabet[END]
        stops, held = ("\n" + end, end, *self.parameters.stop), ""
        while self.written < self.parameters.max_tokens:
            self.look()
            place = self._draw(self.network.scores(memory))
            memory = self.network.after(memory, place)
            self.written += 1
            shown, held, is_over = split_at_stop(held + self.network.alphabet[place], stops)
            if shown:
                yield shown
            if is_over:
                self.reason = "stop"
                return
        self.reason = "length"
        if held:
            yield held

    def _prompt_places(self):
        """Returns the places of all characters of the prompt, with an END before each part."""
        known, found = self.network.places, [END]
        for number, part in enumerate(self.parameters.prompt):
            found += [END] * (number > 0)
            found += [max(known.get(character, UNKNOWN), UNKNOWN) for character in part]
        return found

    def _draw(self, scores):
        """Draws the next character and returns its place."""
        scores[UNKNOWN] = -np.inf
        if self.written == 0 or self.parameters.ignore_eos:  # never an empty answer
            scores[END] = -np.inf
        if self.parameters.temperature < TEMPERATURE_MIN:
            return int(scores.argmax())
        shares = np.exp((scores - scores.max()) / self.parameters.temperature, dtype=np.float64)
        if self.parameters.top_p < 1:
            shares = keep_top_p(shares / shares.sum(), self.parameters.top_p)
        sums = shares.cumsum()
        return int(sums.searchsorted(self.random.random() * sums[-1], side="right"))


def keep_top_p(shares, part):
    """Sets all shares to 0 except the largest that make up `part` of the sum. The largest always stays."""
    order = np.argsort(-shares, kind="stable")
    before = shares[order].cumsum() - shares[order]
    return np.where(np.isin(np.arange(len(shares)), order[(before < part) | (np.arange(len(order)) == 0)]), shares, 0)


def split_at_stop(text, stops):
    """Returns the text that may be shown, the text that must wait because a stop may begin there, and whether a stop came."""
    found = [at for at in map(text.find, stops) if at >= 0]
    if found:
        return text[:min(found)], "", True
    waits = max((size for stop in stops for size in range(1, len(stop)) if text.endswith(stop[:size])), default=0)
    return text[:len(text) - waits], text[len(text) - waits:], False
