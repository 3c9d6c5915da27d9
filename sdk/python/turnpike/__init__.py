"""Serve a model with Turnpike: one process per GPU, one address. Standard library only.

    import turnpike

    class Digits(turnpike.Model):
        def load(self, lane):
            self.net = read_weights(lane.device)
        def predict(self, x):
            return {"digit": self.net(x["pixels"])}

`turnpike up model.py` serves it; `python3 -m turnpike check model.py` tries it without a gate;
turnpike.testing tests it.
"""
from .errors import BadInput, Cancelled, NonFinite, Unhealthy
from .job import Job, job
from .messages import Headers, Request, Response
from .model import Lane, Model
from .version import VERSION as __version__

__all__ = ["BadInput", "Cancelled", "Headers", "Job", "Lane", "Model", "NonFinite", "Request", "Response",
           "Unhealthy", "__version__", "job"]
