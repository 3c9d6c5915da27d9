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

OF_THIS_THREAD = threading.local()


def second_thread():
    """One beside each thread that has jobs, and it stays: PyTorch keeps some of what it has worked out (cuDNN's plans for
    attention, one for each length of text) for the thread that did it. With a new thread for each job an H200 takes 62 ms
    for a token, with an old one 14."""
    if not hasattr(OF_THIS_THREAD, "second"):
        OF_THIS_THREAD.second = ThreadPoolExecutor(1, thread_name_prefix="generate")
    return OF_THIS_THREAD.second


class Hand(BaseStreamer):
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


class Unwanted(StoppingCriteria):
    """Asked after each token: shall generate() stop?"""

    def __init__(self):
        self.is_left = False

    def __call__(self, input_ids, scores, **_):
        stop = self.is_left or turnpike.job().cancelled
        return torch.full((input_ids.shape[0],), stop, dtype=torch.bool, device=input_ids.device)


def options(wish):
    """What generate() takes, from what the client wants."""
    chosen = {"max_new_tokens": wish.max_new_tokens, "do_sample": wish.temperature > 0}
    return {**chosen, "temperature": wish.temperature} if wish.temperature > 0 else chosen


class Generation:
    def __init__(self, model, ids, wish):
        self.model, self.ids, self.wish = model, ids, wish
        self.hand, self.unwanted = Hand(), Unwanted()

    def count(self):
        """Tokens that were made, whoever has taken them."""
        return max(self.hand.count, 0)

    def tokens(self):
        """Yields the ids of each step. Whoever leaves early waits here until generate() has ended, which is a token long."""
        # In a copy of this context turnpike.job() is the same as here.
        done = second_thread().submit(contextvars.copy_context().run, self._generate)
        try:
            yield from iter(self.hand.queue.get, None)
        finally:
            self.unwanted.is_left = True
            done.result()  # raises what it raised: Turnpike must hear of CUDA errors in the job's own thread

    def _generate(self):
        try:
            if self.wish.seed is not None:
                torch.manual_seed(self.wish.seed)
            self.model.generate(input_ids=self.ids, attention_mask=torch.ones_like(self.ids), streamer=self.hand,
                                stopping_criteria=StoppingCriteriaList([self.unwanted]), **options(self.wish))
        finally:
            self.hand.end()
