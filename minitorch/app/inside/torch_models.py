"""Models of the Torch floor: the graph behind a loss, the time of a step, weights as they change."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from minitorch import torch
from minitorch.torch import Tensor, nn
from minitorch.torch.autograd.graph import Node, layout_at
from minitorch.torch.nn import functional as F  # noqa: N812

from .gpt import GPT

BINS = 40
"""Columns of a histogram."""
REPORTS = 60
"""Parts of a training, at most."""


# --- Models --------------------------------------------------------------------------------------


@dataclass
class Example:
    """A model and what to train it with: inputs, targets and a loss of both."""

    model: nn.Module
    inputs: Tensor
    targets: Tensor
    loss_of: Callable[[Tensor, Tensor], Tensor]

    def loss(self) -> Tensor:
        """The loss of all inputs."""
        return self.loss_of(self.model(self.inputs), self.targets)


def class_loss(scores: Tensor, targets: Tensor) -> Tensor:
    """Cross entropy, of one score list for each example or for each place in it."""
    return F.cross_entropy(scores.flatten(0, -2), targets.flatten())


def _perceptron() -> Example:
    model = nn.Sequential(
        nn.Linear(2, 16), nn.ReLU(), nn.Linear(16, 16), nn.ReLU(), nn.Linear(16, 2)
    )
    points = torch.rand(64, 2)
    return Example(model, points, ((points[:, 0] > 0.5) ^ (points[:, 1] > 0.5)).long(), class_loss)


def _convolution() -> Example:
    model = nn.Sequential(
        nn.Conv2d(1, 6, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(54, 2)
    )
    images = torch.randn(64, 1, 8, 8)
    return Example(model, images, (images.mean(dim=(1, 2, 3)) > 0).long(), class_loss)


class _Recurrent(nn.Module):
    """An LSTM, and scores from its last state."""

    def __init__(self) -> None:
        super().__init__()
        self.lstm, self.scores = nn.LSTM(1, 12, batch_first=True), nn.Linear(12, 2)

    def forward(self, x: Tensor) -> Tensor:
        """Scores (B, 2) of sequences (B, T, 1)."""
        return self.scores(self.lstm(x)[0][:, -1])


def _recurrent() -> Example:
    steps = torch.randn(64, 6, 1)
    return Example(_Recurrent(), steps, (steps.sum(dim=(1, 2)) > 0).long(), class_loss)


def _transformer() -> Example:
    model = GPT(size=10, layers=1, heads=2, width=16, length=8)
    numbers = (torch.randint(10, (32, 1)) + torch.arange(9)) % 10  # counting, from anywhere
    return Example(model, numbers[:, :-1], numbers[:, 1:], class_loss)


EXAMPLES: dict[str, Callable[[], Example]] = {
    "perceptron": _perceptron,
    "convolution": _convolution,
    "LSTM": _recurrent,
    "GPT": _transformer,
}


def make(model: str, seed: int = 0) -> Example:
    """One of the examples, its weights and data drawn anew from a seed."""
    torch.manual_seed(seed)
    return EXAMPLES[model]()


# --- The graph -----------------------------------------------------------------------------------


def graph(model: str) -> dict[str, Any]:
    """The nodes that `backward` would walk through, from the loss to the parameters, with shapes.

    An arrow goes as the values do: from what an operation was computed from, to the operation.
    """
    example = make(model)
    names = {id(p): name for name, p in example.model.named_parameters()}
    sizes = {id(p): p.numel() for p in example.model.parameters()}
    loss = example.loss()
    if loss.grad_fn is None:
        raise RuntimeError("the loss has no graph")
    boxes: dict[int, dict[str, Any]] = {}
    arrows: list[dict[str, Any]] = []
    waiting: list[Any] = [loss.grad_fn]
    while waiting:
        node = waiting.pop()
        if id(node) in boxes:
            continue
        if not isinstance(node, Node):
            boxes[id(node)] = {
                "label": names.get(id(node), "a leaf"), "kind": "parameter",
                "shape": list(node.shape), "numbers": sizes.get(id(node), node.numel()),
            }  # fmt: skip
            continue
        layout = node.layout_of(0)
        shape = None if layout is None else list(layout[0])
        boxes[id(node)] = {"label": node.name(), "kind": "operation", "shape": shape}
        for edge in node.edges:
            if edge is None:
                continue
            passed = layout_at(edge)
            shape = None if passed is None else list(passed[0])
            arrows.append({"from": id(edge[0]), "to": id(node), "shape": shape})
            waiting.append(edge[0])
    numbers = {key: number for number, key in enumerate(boxes)}
    for arrow in arrows:
        arrow["from"], arrow["to"] = numbers[arrow["from"]], numbers[arrow["to"]]
    return {"nodes": list(boxes.values()), "arrows": arrows}


# --- Time ----------------------------------------------------------------------------------------


def profile(model: str) -> dict[str, Any]:
    """What happens when in one training step, in microseconds, and how long each kind takes."""
    example = make(model)
    optimizer = torch.optim.AdamW(example.model.parameters())

    def step() -> None:
        with torch.profiler.record_function("forward"):
            loss = example.loss()
        with torch.profiler.record_function("backward"):
            loss.backward()
        with torch.profiler.record_function("optimizer"):
            optimizer.step()
            optimizer.zero_grad()

    for _ in range(3):  # kernels are compiled and memory is found
        step()
    with torch.profiler.profile(record_shapes=True) as recorded:
        step()
    events = sorted(recorded.events(), key=lambda event: event.start_ns)
    first = events[0].start_ns
    rows = [
        {
            "name": event.name, "start": (event.start_ns - first) / 1000,
            "time": event.cpu_time_total, "own": event.own_time(), "depth": _depth(event),
            "shapes": [list(shape) for shape in event.input_shapes],
        }
        for event in events
    ]  # fmt: skip
    return {"events": rows}


def _depth(event: Any) -> int:
    depth = 0
    while event.cpu_parent is not None:
        event, depth = event.cpu_parent, depth + 1
    return depth


# --- Weights and gradients -----------------------------------------------------------------------


def train(
    model: str, optimiser: str, rate: float, steps: int, seed: int
) -> Iterator[dict[str, Any]]:
    """Loss and histograms of each parameter's weights and gradients, as training goes on."""
    example = make(model, seed)
    parameters = dict(example.model.named_parameters())
    make_optimizer = {
        "SGD": torch.optim.SGD, "Adam": torch.optim.Adam, "AdamW": torch.optim.AdamW,
        "RMSprop": torch.optim.RMSprop,
    }  # fmt: skip
    optimizer = make_optimizer[optimiser](parameters.values(), lr=rate)
    every = max(steps // REPORTS, 1)
    for step in range(1, steps + 1):
        optimizer.zero_grad()
        loss = example.loss()
        loss.backward()
        if step % every == 0 or step in (1, steps):
            yield {"step": step, "loss": loss.item(), "parameters": describe(parameters)}
        optimizer.step()


def describe(parameters: dict[str, Any]) -> dict[str, Any]:
    """The histogram of each parameter's numbers, and of its gradient's."""
    return {
        name: {"weights": histogram(p.detach().numpy()), "gradients": histogram(p.grad.numpy())}
        for name, p in parameters.items()
    }


def histogram(values: Any) -> dict[str, Any]:
    """How many numbers lie in each of equal steps from the least to the most."""
    known = values[np.isfinite(values)]
    low, high = (float(known.min()), float(known.max())) if known.size else (0.0, 1.0)
    margin = 1e-6 * max(abs(low), abs(high), 1e-6)  # where all are the same
    if high - low < margin:
        low, high = low - margin, high + margin
    counts, _ = np.histogram(known.astype(float), BINS, (low, high))
    return {
        "low": low, "high": high, "counts": counts.tolist(), "wild": int(values.size - known.size),
        "mean": float(known.mean()) if known.size else None,
        "spread": float(known.std()) if known.size else None,
    }  # fmt: skip
