"""The exceptions that a model may raise, and those that the SDK raises itself."""


class BadInput(ValueError):
    """The input is wrong: the client gets a 400 with this exception's text."""


class Unhealthy(RuntimeError):
    """This process can't go on (a poisoned CUDA context, a lost device).

    The worker is restarted, and the job runs elsewhere.
    """


class Cancelled(Exception):
    """Nobody waits for the running job any more; see `Job.raise_if_cancelled`."""


class NonFinite(ValueError):
    """The answer contains NaN or infinity. Turnpike checks JSON; a model that answers with bytes must raise this itself."""


class WrongAnswer(AssertionError):
    """The model's own `check` rejected the answer to a proof."""


class NoModel(Exception):
    """No usable model was found. The text says what was found and what to do."""


class GateBreach(Exception):
    """The gate sent something that docs/worker-protocol.md does not allow."""


class WorkerEnded(BaseException):
    """Ends the thread of a worker that runs inside a test, where a real worker would end its process."""
