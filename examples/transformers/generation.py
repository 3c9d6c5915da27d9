"""Runs one call of generate(): yields its tokens as they come, raises its exception in the job's own thread, and stops it
soon after the client has left.

generate() returns only when it is done, and calls a streamer on the way. So it runs in another thread. This file makes
sure that no error is lost there and that nothing outlives its job.
"""
import contextvars
import threading
from concurrent.futures import ThreadPoolExecutor
from queue import SimpleQueue

import torch
import turnpike
from transformers import StoppingCriteria, StoppingCriteriaList
from transformers.generation.streamers import BaseStreamer

PER_THREAD = threading.local()


def generate_thread():
    """Returns the thread for generate(): each thread that runs jobs has one and keeps it, because PyTorch caches some results
    per thread."""
    if not hasattr(PER_THREAD, "generate"):
        PER_THREAD.generate = ThreadPoolExecutor(1, thread_name_prefix="generate")
    return PER_THREAD.generate


class QueueStreamer(BaseStreamer):
    """A streamer that puts each new token into a queue for another thread."""

    def __init__(self):
        self.queue = SimpleQueue()
        self.count = -1  # of tokens; starts at -1 because the prompt comes first

    def put(self, value):
        self.count += 1
        if self.count:
            self.queue.put(value.flatten().tolist())

    def end(self):
        self.queue.put(None)


class StopWhenUnwanted(StoppingCriteria):
    """Asked after each token whether generate() should stop."""

    def __init__(self):
        self.is_abandoned = False

    def __call__(self, input_ids, scores, **_):
        stop = self.is_abandoned or turnpike.job().cancelled
        return torch.full((input_ids.shape[0],), stop, dtype=torch.bool, device=input_ids.device)


def generate_options(parameters):
    """Returns the arguments of generate() for the client's parameters."""
    chosen = {"max_new_tokens": parameters.max_new_tokens, "do_sample": parameters.temperature > 0}
    return {**chosen, "temperature": parameters.temperature} if parameters.temperature > 0 else chosen


class Generation:
    def __init__(self, model, ids, parameters):
        self.model, self.ids, self.parameters = model, ids, parameters
        self.streamer, self.stopping = QueueStreamer(), StopWhenUnwanted()

    def count(self):
        """Returns how many tokens were generated, read or not."""
        return max(self.streamer.count, 0)

    def tokens(self):
        """Yields the ids of each step. If the caller leaves early, close() waits until generate() has ended, for about one token."""
        # In a copy of this context, turnpike.job() is the same as here.
        done = generate_thread().submit(contextvars.copy_context().run, self._generate)
        try:
            yield from iter(self.streamer.queue.get, None)
        finally:
            self.stopping.is_abandoned = True
            done.result()  # raises generate()'s exception here: Turnpike must see CUDA errors in the job's own thread

    def _generate(self):
        try:
            if self.parameters.seed is not None:
                torch.manual_seed(self.parameters.seed)
            self.model.generate(input_ids=self.ids, attention_mask=torch.ones_like(self.ids), streamer=self.streamer,
                                stopping_criteria=StoppingCriteriaList([self.stopping]), **generate_options(self.parameters))
        finally:
            self.streamer.end()
