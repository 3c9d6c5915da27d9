"""Model, which users subclass, and Lane, which its `load` gets."""
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

    Optional methods: `request(self, req)` for other paths and methods, `check(self, answer)`, which tells
    whether the answer to a proof is right (False or an exception means wrong), and `unload(self)`. Each may
    be `async def`.
    """

    batch: int = 1
    """If more than 1, `predict` receives a list of up to this many inputs and returns a list of answers."""
    slots: int = 1
    """How many jobs run at once: in threads, or as coroutines if `predict` is `async def`."""
    example: Any = None
    """An input that `predict` must be able to answer: a value that JSON can express, bytes, or a Request."""
    facts: dict[str, Any] = {}
    """Facts about the model, shown in the gate's status."""

    def load(self, lane: Lane) -> Any:
        """Called once, before the first job."""


class Lane:
    """Where the model runs.

    `device` is "cuda:0" or "cpu"; `devices` lists all devices of the lane; `index` is the lane's number; `pool` is
    the name of its pool. Only the lane's own GPUs are visible, so the first is always "cuda:0".
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
        """Reports how far loading is (0 … 1, or None if unknown), for `turnpike status`. Renews `load_timeout`."""
        if self._tell is not None:
            self._tell(fraction, text)

    def __repr__(self) -> str:
        return f"<Lane {self.index} of {self.pool}: {', '.join(self.devices)}>"
