"""What a user writes: a Model; what its `load` gets: a Lane."""
from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable


class Model:
    """A model that Turnpike serves.

        class Digits(turnpike.Model):
            def load(self, lane):
                self.net = read_weights(lane.device)
            def predict(self, x):
                return {"digit": self.net(x["pixels"])}

    There may also be `request(self, req)` for other paths and methods, `check(self, answer)`, which says
    whether the answer to a proof is right (False or an exception: wrong), and `unload(self)`. Each may be
    `async def`.
    """

    batch: int = 1
    """More than 1: `predict` receives a list of up to so many inputs, and returns a list of answers."""
    slots: int = 1
    """How many jobs at once: threads, or coroutines where `predict` is `async def`."""
    example: Any = None
    """An input that `predict` must be able to answer: a value that JSON can say, bytes, or a Request."""
    facts: dict[str, Any] = {}
    """What people may want to know about the model; shown in the gate's status."""

    def load(self, lane: Lane) -> Any:
        """Called once, before the first job."""


class Lane:
    """Where the model runs.

    `device`: "cuda:0", or "cpu"; `devices`: all of the lane's; `index`: the lane's number; `pool`: the name
    of its pool. Only the lane's own GPUs are visible, so the first is always "cuda:0".
    """

    __slots__ = ("device", "devices", "index", "pool", "_tell")

    def __init__(self, index: int = 0, pool: str = "default", gpus: int = 0,
                 tell: Callable[[float | None, str], None] | None = None) -> None:
        self.devices = [f"cuda:{gpu}" for gpu in range(gpus)] or ["cpu"]
        self.device = self.devices[0]
        self.index = index
        self.pool = pool
        self._tell = tell

    def progress(self, fraction: float | None = None, text: str = "") -> None:
        """How far loading is (0 … 1, or None: unknown), for `turnpike status`; renews `load_timeout`."""
        if self._tell is not None:
            self._tell(fraction, text)

    def __repr__(self) -> str:
        return f"<Lane {self.index} of {self.pool}: {', '.join(self.devices)}>"
