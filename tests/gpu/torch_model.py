"""A PyTorch model for native lanes on a GPU machine. What a job asks for, good or bad, affects the real CUDA context."""
import os
import threading
import time

import torch
import turnpike
from turnpike._worker import cuda_state

GIB = 2


def ask_while_capturing(device):
    """Asks the driver as the SDK does after an exception, while this thread captures a graph, then replays the graph."""
    ones, found, graph = torch.ones(4, device=device), [], torch.cuda.CUDAGraph()
    ones * 2

    def ask():
        begin = time.perf_counter()
        found.append(cuda_state.is_poisoned())
        found.append(round((time.perf_counter() - begin) * 1e6))

    with torch.cuda.graph(graph):
        twos = ones * 2
        thread = threading.Thread(target=ask)
        thread.start()
        thread.join()
        fours = twos * 2
    ask()
    ones.fill_(3)
    graph.replay()
    return {"poisoned": found[0] or found[2], "us": [found[1], found[3]], "sum": float(fours.sum())}


class Net(turnpike.Model):
    example = {"n": 2}

    def load(self, lane):
        self.device = torch.device(lane.device)
        self.weights = []
        for part in range(GIB):
            lane.progress(part / GIB, f"weights, {part} of {GIB} GiB")
            self.weights.append(torch.full((256, 1024, 1024), 0.5, dtype=torch.float32, device=self.device))
        torch.cuda.synchronize()
        generator = torch.Generator(device=self.device).manual_seed(7)
        self.matrix = torch.rand(1024, 1024, device=self.device, generator=generator)

    def predict(self, x):
        what = x.get("do", "multiply")
        if what == "out of memory":
            torch.empty(1 << 38, dtype=torch.float32, device=self.device)
        if what == "device assert":
            torch.zeros(4, device=self.device)[torch.tensor([7], device=self.device)]
            torch.cuda.synchronize()
        if what == "hidden assert":
            try:
                torch.zeros(4, device=self.device)[torch.tensor([7], device=self.device)]
                torch.cuda.synchronize()
            except RuntimeError:
                pass
            raise ValueError("no type and no word tells of the GPU")
        if what == "words":
            int(x["words"])
        if what == "ask while capturing":
            return ask_while_capturing(self.device)
        if what == "not a number":
            return {"value": float(torch.tensor(0.0, device=self.device) / 0)}
        if what == "wait":
            until = time.monotonic() + x["seconds"]
            while time.monotonic() < until and not turnpike.job().cancelled:
                self.matrix @ self.matrix
                torch.cuda.synchronize()
            return {"cancelled": turnpike.job().cancelled}
        product = self.matrix
        for _ in range(x.get("n", 1)):
            product = product @ self.matrix / 512
        return {"sum": round(float(product.double().sum()), 3), "lane": os.environ["TURNPIKE_LANE"], "pid": os.getpid(),
                "visible": os.environ.get("CUDA_VISIBLE_DEVICES"), "count": torch.cuda.device_count(),
                "memory_mib": torch.cuda.memory_allocated() >> 20}
