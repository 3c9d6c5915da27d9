"""What a model may raise, and what the SDK raises about itself."""


class BadInput(ValueError):
    """The client's fault: answered as 400, and the text goes to the client."""


class Unhealthy(RuntimeError):
    """This process can't go on (a poisoned CUDA context, a lost device).

    It is restarted, and the job runs elsewhere.
    """


class Cancelled(Exception):
    """Nobody waits for the running job any more; see `Job.raise_if_cancelled`."""


class NonFinite(ValueError):
    """The answer has a NaN or an infinity: found in JSON; a model whose answer is bytes raises it itself."""


class WrongAnswer(AssertionError):
    """The model's own `check` did not like its answer to a proof."""


class NoModel(Exception):
    """There is no model where one was looked for. The text says what is there and what to do."""


class GateBreach(Exception):
    """The gate said something that docs/worker-protocol.md does not allow."""


class WorkerEnded(BaseException):
    """Where the SDK runs in a thread of a test: this thread is to end, as the process would."""
