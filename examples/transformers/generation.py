"""One call of generate(), seen from outside: its tokens as they come, its exception as if it were ours, and an end soon
after nobody wants it any more.

generate() gives nothing back before it is done; what it does on the way is to call a streamer. So it runs in another
thread. The rest of this file sees to it that nothing there hides an error or outlives its job.
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
    """One beside each thread that has jobs, and it stays: PyTorch keeps some of what it has worked out (cuDNN's plans for
    attention, one for each length of text) for the thread that did it. With a new thread for each job an H200 takes 62 ms
    for a token, with an old one 14."""
    if not hasattr(PER_THREAD, "generate"):
        PER_THREAD.generate = ThreadPoolExecutor(1, thread_name_prefix="generate")
    return PER_THREAD.generate


class QueueStreamer(BaseStreamer):
    """Hands each new token to another thread."""

    def __init__(self):
        self.queue = SimpleQueue()
        self.count = -1  # of tokens: the prompt comes first

    def put(self, value):
        self.count += 1
        if self.count:
            self.queue.put(value.flatten().tolist())

    def end(self):
        self.queue.put(None)


class StopWhenUnwanted(StoppingCriteria):
    """Asked after each token: shall generate() stop?"""

    def __init__(self):
        self.is_abandoned = False

    def __call__(self, input_ids, scores, **_):
        stop = self.is_abandoned or turnpike.job().cancelled
        return torch.full((input_ids.shape[0],), stop, dtype=torch.bool, device=input_ids.device)


def generate_options(parameters):
    """What generate() takes, from what the client wants."""
    chosen = {"max_new_tokens": parameters.max_new_tokens, "do_sample": parameters.temperature > 0}
    return {**chosen, "temperature": parameters.temperature} if parameters.temperature > 0 else chosen


class Generation:
    def __init__(self, model, ids, parameters):
        self.model, self.ids, self.parameters = model, ids, parameters
        self.streamer, self.stopping = QueueStreamer(), StopWhenUnwanted()

    def count(self):
        """Tokens that were made, whoever has taken them."""
        return max(self.streamer.count, 0)

    def tokens(self):
        """Yields the ids of each step. Whoever leaves early waits here until generate() has ended, which is a token long."""
        # In a copy of this context turnpike.job() is the same as here.
        done = generate_thread().submit(contextvars.copy_context().run, self._generate)
        try:
            yield from iter(self.streamer.queue.get, None)
        finally:
            self.stopping.is_abandoned = True
            done.result()  # raises what it raised: Turnpike must hear of CUDA errors in the job's own thread

    def _generate(self):
        try:
            if self.parameters.seed is not None:
                torch.manual_seed(self.parameters.seed)
            self.model.generate(input_ids=self.ids, attention_mask=torch.ones_like(self.ids), streamer=self.streamer,
                                stopping_criteria=StoppingCriteriaList([self.stopping]), **generate_options(self.parameters))
        finally:
            self.streamer.end()
