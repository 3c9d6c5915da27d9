"""Typed models and a test of them, as users write them. The test `typed` checks this file with mypy; it is never run."""
from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import turnpike
from turnpike import testing


class Digits(turnpike.Model):
    batch = 4
    example = {"pixels": [0.0]}
    facts = {"classes": 10}

    def load(self, lane: turnpike.Lane) -> None:
        lane.progress(0.5, "half")
        self.device: str = lane.device

    def predict(self, xs: list[dict[str, Any]]) -> list[dict[str, int] | turnpike.Response]:
        if turnpike.job().cancelled:
            raise turnpike.Cancelled("nobody waits")
        if len(xs) > 4:
            raise turnpike.BadInput("too many")
        return [{"digit": 7}, turnpike.Response(b"7", 200, {"X-Sure": "yes"}, "text/plain")]

    def request(self, req: turnpike.Request) -> turnpike.Response:
        return turnpike.Response({"method": req.method, "size": len(req.body), "kind": req.headers.get("content-type")})

    def check(self, answer: dict[str, int]) -> bool:
        return answer["digit"] == 7

    def unload(self) -> None:
        raise turnpike.Unhealthy(f"{self.device} does not let go")


class Words(turnpike.Model):
    slots = 8

    async def load(self, lane: turnpike.Lane) -> None:
        self.devices: list[str] = lane.devices

    async def predict(self, x: str) -> AsyncIterator[str]:
        turnpike.job().progress(0.5, "soon")
        yield x


def test_digits() -> None:
    with testing.serve(Digits, gpus=1, batch=2) as served:
        assert served.predict_all([{"pixels": [0.0]}]) == [{"digit": 7}]
        answer: turnpike.Response = served.post("/size", b"12", headers={"Content-Type": "text/plain"})
        assert answer.status == 200 and answer.json()["size"] == 2
    with testing.serve("model.py:Words") as served:
        text: str = served.predict("hello")
        assert text == "hello"
