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
        self.is_prompt = True  # what comes first

    def put(self, value):
        if not self.is_prompt:
            self.queue.put(value.flatten().tolist())
        self.is_prompt = False

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


def tokens(model, ids, wish):
    """Yields the ids of each step. Whoever leaves early waits here until generate() has ended, which is a token long."""
    hand, unwanted, errors = Hand(), Unwanted(), []

    def generate():
        try:
            if wish.seed is not None:
                torch.manual_seed(wish.seed)
            model.generate(input_ids=ids, attention_mask=torch.ones_like(ids), streamer=hand,
                           stopping_criteria=StoppingCriteriaList([unwanted]), **options(wish))
        except BaseException as error:  # CUDA errors above all: Turnpike must hear of them in the job's own thread
            errors.append(error)
        finally:
            hand.end()

    # In a copy of this context turnpike.job() is the same as here.
    thread = threading.Thread(target=contextvars.copy_context().run, args=(generate,), name="generate", daemon=True)
    thread.start()
    try:
        yield from iter(hand.queue.get, None)
    finally:
        unwanted.is_left = True
        thread.join()
        if errors:
            raise errors.pop()
