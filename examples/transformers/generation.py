"""One call of generate(), seen from outside: its tokens as they come, its exception as if it were ours, and an end soon
after nobody wants it any more.

generate() gives nothing back before it is done; what it does on the way is to call a streamer. So it runs in a thread of
its own. The rest of this file sees to it that the thread neither hides an error nor outlives its job.
"""
import contextvars
import threading
from queue import SimpleQueue

import torch
import turnpike
from transformers import StoppingCriteria, StoppingCriteriaList
from transformers.generation.streamers import BaseStreamer


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
        self.hand, self.unwanted, self.errors = Hand(), Unwanted(), []

    def count(self):
        """Tokens that were made, whoever has taken them."""
        return max(self.hand.count, 0)

    def tokens(self):
        """Yields the ids of each step. Whoever leaves early waits here until generate() has ended, which is a token long."""
        # In a copy of this context turnpike.job() is the same as here.
        thread = threading.Thread(target=contextvars.copy_context().run, args=(self._generate,), name="generate", daemon=True)
        thread.start()
        try:
            yield from iter(self.hand.queue.get, None)
        finally:
            self.unwanted.is_left = True
            thread.join()
            if self.errors:
                raise self.errors.pop()

    def _generate(self):
        try:
            if self.wish.seed is not None:
                torch.manual_seed(self.wish.seed)
            self.model.generate(input_ids=self.ids, attention_mask=torch.ones_like(self.ids), streamer=self.hand,
                                stopping_criteria=StoppingCriteriaList([self.unwanted]), **options(self.wish))
        except BaseException as error:  # CUDA errors above all: Turnpike must hear of them in the job's own thread
            self.errors.append(error)
        finally:
            self.hand.end()
