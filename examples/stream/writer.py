"""From scores to text: reads a prompt, then draws one character after the other until the text ends, a stop comes or the
wish is fulfilled."""
import random
from dataclasses import dataclass
from typing import Optional

import numpy as np
from network import END, UNKNOWN

PROMPT_MAX = 2000  # of a longer prompt only the end is read: it would have forgotten the rest
TEMPERATURE_MIN = 1e-3  # a temperature below is 0: nothing but the likeliest would be drawn, and it is no good divisor


@dataclass(frozen=True)
class Parameters:
    """What somebody wants to be written."""
    prompt: tuple = ()  # of strings; between two of them, a section ends
    max_tokens: int = 400  # a token is a character
    temperature: float = 0.5  # 0: always the likeliest character
    top_p: float = 1.0  # only the likeliest ones that make up this share
    seed: Optional[int] = None  # the same wish with the same seed gives the same text
    stop: tuple = ()  # texts that end it, and are not part of it
    ignore_eos: bool = False  # never ends by itself: for measurements


class Writing:
    """A text that is being written: iterate over its pieces. Then `reason` says why it ended ("stop" or "length"),
    `read` and `written` how many characters went in and came out. `look` is called before each of them, and may raise."""

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
        """Of all characters of the prompt; each part after the first follows the end of a section."""
        known, found = self.network.places, [END]
        for number, part in enumerate(self.parameters.prompt):
            found += [END] * (number > 0)
            found += [max(known.get(character, UNKNOWN), UNKNOWN) for character in part]
        return found

    def _draw(self, scores):
        """The place of the next character."""
        scores[UNKNOWN] = -np.inf
        if self.written == 0 or self.parameters.ignore_eos:  # something is always said
            scores[END] = -np.inf
        if self.parameters.temperature < TEMPERATURE_MIN:
            return int(scores.argmax())
        shares = np.exp((scores - scores.max()) / self.parameters.temperature, dtype=np.float64)
        if self.parameters.top_p < 1:
            shares = keep_top_p(shares / shares.sum(), self.parameters.top_p)
        sums = shares.cumsum()
        return int(sums.searchsorted(self.random.random() * sums[-1], side="right"))


def keep_top_p(shares, part):
    """The shares without the unlikely ones, beyond those that make up `part` of all; the likeliest always stays."""
    order = np.argsort(-shares, kind="stable")
    before = shares[order].cumsum() - shares[order]
    return np.where(np.isin(np.arange(len(shares)), order[(before < part) | (np.arange(len(order)) == 0)]), shares, 0)


def split_at_stop(text, stops):
    """What may be shown of it, what must wait since a stop may begin there, and whether a stop came."""
    found = [at for at in map(text.find, stops) if at >= 0]
    if found:
        return text[:min(found)], "", True
    waits = max((size for stop in stops for size in range(1, len(stop)) if text.endswith(stop[:size])), default=0)
    return text[:len(text) - waits], text[len(text) - waits:], False
