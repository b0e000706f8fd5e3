"""A step of many ranks on paper: latency, bandwidth, buckets and overlap; and the same step measured.

    python benchmarks/rank_plan.py              what hundreds of machines would do
    python benchmarks/rank_plan.py check        predictions beside measured steps on 1, 2 and 4 ranks of this machine

The model: a ring of R ranks all-reduces n bytes in 2 (R - 1) messages, one after the other, each of n / R bytes, and a message of m
bytes takes a latency and m / bandwidth. A bucket starts when its gradients are there and the bucket before it is through.
A step is over when the last bucket is, and backward itself.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
SIZES = (
    1 << 12,
    1 << 16,
    1 << 19,
    1 << 21,
    1 << 23,
)  # bytes of the all-reduces that a network is known from
LAYERS, WIDTH = 8, 512  # of the network that waits: 1 MB a layer


# --- The model --------------------------------------------------------------------------------


@dataclass
class Network:
    """How ranks are connected: seconds a message takes to begin, bytes a second after that."""

    latency: float
    bandwidth: float

    def all_reduce(self, nbytes: float, ranks: int) -> float:
        """Seconds of an all-reduce in a ring."""
        return 2 * (ranks - 1) * (self.latency + nbytes / ranks / self.bandwidth)


@dataclass
class Layer:
    """A layer's gradient: its bytes, and when, after the start of backward, it is there."""

    nbytes: float
    ready: float


@dataclass
class Step:
    """What a rank computes in a step: seconds before backward, backward with its layers (the last layer first), seconds after."""

    before: float
    backward: float
    layers: Sequence[Layer]
    after: float = 0.0


def buckets(layers: Sequence[Layer], limit: float, first: float = 1 << 20) -> list[Layer]:
    """Layers in buckets, as DistributedDataParallel makes them: each until it has so many bytes."""
    found: list[Layer] = []
    room = 0.0
    for layer in layers:
        if not found or found[-1].nbytes >= room:
            room = min(first, limit) if not found else limit
            found.append(Layer(0.0, 0.0))
        found[-1].nbytes += layer.nbytes
        found[-1].ready = max(found[-1].ready, layer.ready)
    return found


def step_seconds(
    step: Step, network: Network, ranks: int, limit: float, overlap: bool = True
) -> float:
    """Seconds of a step of many ranks; without overlap, all buckets wait for the end of backward."""
    free = 0.0
    if ranks > 1:
        for bucket in buckets(step.layers, limit):
            start = max(free, bucket.ready if overlap else step.backward)
            free = start + network.all_reduce(bucket.nbytes, ranks)
    return step.before + max(step.backward, free) + step.after


def fitted(times: dict[int, float], ranks: int) -> Network:
    """The network whose all-reduces take the times that were measured (least squares of relative errors)."""
    import numpy as np

    sizes, seconds = np.array(list(times), float), np.array(list(times.values()))
    messages = 2 * (ranks - 1)
    columns = (
        np.stack([np.full_like(sizes, messages), messages * sizes / ranks], 1) / seconds[:, None]
    )
    (latency, per_byte), *_ = np.linalg.lstsq(columns, np.ones_like(sizes), rcond=None)
    return Network(max(float(latency), 1e-7), 1 / max(float(per_byte), 1e-13))


# --- On paper ---------------------------------------------------------------------------------


def gpt_step(forward: float = 0.1) -> Step:
    """GPT-2 (124 million parameters in float32), 12 blocks and the embedding; backward takes twice as long as forward."""
    block, embedding = 4 * 7.1e6, 4 * 38.6e6
    each = 2 * forward / 13
    layers = [Layer(block, each * (i + 1)) for i in range(12)] + [Layer(embedding, 2 * forward)]
    return Step(forward, 2 * forward, layers, 0.02)


def plan() -> None:
    """Efficiency of hundreds of machines, by network, bucket and overlap."""
    step = gpt_step()
    alone = step.before + step.backward + step.after
    networks = {
        "10 Gbit/s, 50 us": Network(50e-6, 1.25e9),
        "100 Gbit/s, 10 us": Network(10e-6, 12.5e9),
    }
    ranks = (2, 8, 64, 256, 512)
    print(f"GPT-2 in float32 (496 MB of gradients), {1e3 * alone:.0f} ms a step alone; part of ideal speed on " + ", ".join(map(str, ranks)) + " machines")  # fmt: skip
    for name, network in networks.items():
        for limit, overlap in ((1, True), (25, True), (100, True), (25, False)):
            found = [alone / step_seconds(step, network, r, limit * 2**20, overlap) for r in ranks]
            how = "overlap" if overlap else "no overlap"
            print(f"{name}, buckets of {limit:3} MB, {how:10}: " + "  ".join(f"{100 * f:3.0f} %" for f in found))  # fmt: skip


# --- Measured ---------------------------------------------------------------------------------


def waiting_layer(torch: Any, seconds: float) -> Any:
    """A layer of 1 MB that waits where a GPU would compute: ranks on few cores do not disturb each other."""

    class Wait(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any, weight: Any) -> Any:
            time.sleep(seconds / 2)
            ctx.save_for_backward(weight)
            return x.clone()

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            (weight,) = ctx.saved_tensors
            time.sleep(seconds)
            return g, weight.new_ones(weight.shape)

    class Layer(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = torch.nn.Parameter(torch.ones(WIDTH, WIDTH))

        def forward(self, x: Any) -> Any:
            return Wait.apply(x, self.weight)

    return Layer()


def make(torch: Any, name: str) -> tuple[Any, Any]:
    """A network and what computes its loss."""
    torch.manual_seed(0)
    if name == "waiting":
        model = torch.nn.Sequential(*[waiting_layer(torch, 0.006) for _ in range(LAYERS)])
        return model, lambda made: made(torch.ones(1, requires_grad=True)).sum()
    sys.path.insert(0, str(ROOT / "examples"))
    from mnist_cnn import Net  # type: ignore[import-not-found]

    x, y = torch.randn(32, 1, 28, 28), torch.randint(0, 10, (32,))
    return Net(), lambda made: torch.nn.functional.cross_entropy(made(x), y)


def timeline(torch: Any, model: Any, loss_of: Any, turns: int) -> Step:
    """A step alone, while the other ranks do the same: when it computes what."""
    arrived: dict[int, list[float]] = {}
    began = [0.0]
    handles = [
        p.register_post_accumulate_grad_hook(
            lambda _, i=i: arrived.setdefault(i, []).append(time.perf_counter() - began[0])
        )
        for i, p in enumerate(model.parameters())
    ]
    before, backward = [], []
    for _ in range(turns):
        torch.distributed.barrier()
        start = time.perf_counter()
        loss = loss_of(model)
        began[0] = time.perf_counter()
        loss.backward()
        backward.append(time.perf_counter() - began[0])
        before.append(began[0] - start)
        model.zero_grad()
    for handle in handles:
        handle.remove()
    slow = slowness(torch, [a + b for a, b in zip(before, backward, strict=True)])
    sizes = [4.0 * p.numel() for p in model.parameters()]
    order = reversed(range(len(sizes)))
    layers = [Layer(sizes[i], slow * statistics.median(arrived[i][2:])) for i in order]
    return Step(
        slow * statistics.median(before[2:]), slow * statistics.median(backward[2:]), layers
    )


def slowness(torch: Any, times: list[float]) -> float:
    """How much longer than this rank's step the step of the slowest rank takes: all wait for it."""
    everyone: list[Any] = [None] * torch.distributed.get_world_size()
    torch.distributed.all_gather_object(everyone, times[2:])
    slowest = [max(turn) for turn in zip(*everyone, strict=True)]
    return statistics.median(slowest) / statistics.median(times[2:])


def network_here(torch: Any, turns: int) -> Network:
    """The network between these ranks, from all-reduces of several sizes."""
    dist, times = torch.distributed, {}
    for size in SIZES:
        x, found = torch.ones(size // 4), []
        for _ in range(turns):
            dist.barrier()
            began = time.perf_counter()
            dist.all_reduce(x, async_op=True).wait()
            found.append(time.perf_counter() - began)
            x.fill_(1.0)
        times[size] = statistics.median(found[2:])
    return fitted(times, dist.get_world_size())


def as_rank() -> None:
    """Measure steps, and predict them."""
    import torch

    dist = torch.distributed
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    ranks, found = dist.get_world_size(), []
    network = network_here(torch, 12) if ranks > 1 else Network(0.0, 1e12)
    for name in ("waiting", "CNN"):
        model, loss_of = make(torch, name)
        step = timeline(torch, model, loss_of, 10)
        for limit in (0.25, 2.0, 64.0):
            parallel = torch.nn.parallel.DistributedDataParallel(make(torch, name)[0], bucket_cap_mb=limit)  # fmt: skip
            times = []
            for _ in range(10):
                dist.barrier()
                began = time.perf_counter()
                loss_of(parallel).backward()
                times.append(time.perf_counter() - began)
                parallel.zero_grad()
            predicted = step_seconds(step, network, ranks, limit * 2**20)
            found.append((name, limit, predicted, statistics.median(times[2:])))
    if dist.get_rank() == 0:
        sys.stdout.write(f"FOUND {json.dumps([network.latency, network.bandwidth, found])}\n")
    dist.destroy_process_group()


def check() -> None:
    """Predictions beside measured steps."""
    print(f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    errors = []
    for ranks in (1, 2, 4):
        command = [sys.executable, "-m", "minitorch.torch.distributed.run", "--nproc_per_node", str(ranks), __file__, "--rank"]  # fmt: skip
        variables = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT)}
        done = subprocess.run(command, env=variables, capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError(done.stderr[-2000:])
        line = next(line for line in done.stdout.splitlines() if line.startswith("FOUND "))
        latency, bandwidth, found = json.loads(line.removeprefix("FOUND "))
        if ranks > 1:
            print(f"{ranks} ranks: latency {1e6 * latency:.0f} us, bandwidth {bandwidth / 1e9:.2f} GB/s")  # fmt: skip
        for name, limit, predicted, measured in found:
            errors.append(abs(predicted / measured - 1))
            print(
                f"  {name}, {ranks} ranks, buckets of {limit:g} MB: predicted {1e3 * predicted:.1f} ms, measured "
                f"{1e3 * measured:.1f} ms, {100 * (predicted / measured - 1):+.0f} %"
            )
    print(
        f"median error {100 * statistics.median(errors):.0f} %, largest {100 * max(errors):.0f} %"
    )


if __name__ == "__main__":
    {"--rank": as_rank, "check": check, "": plan}[sys.argv[1] if len(sys.argv) > 1 else ""]()
