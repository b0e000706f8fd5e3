"""One training, epoch by epoch, with all its weights: to be compared with another of the same seed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .networks import Plan, Training, torch_name


def train(**plan: Any) -> Iterator[dict[str, Any]]:
    """The weights before training, then loss, right points and weights of each epoch."""
    training = Training(Plan(**plan))
    name = torch_name() if training.plan.backend == "torch" else ""
    yield {"epoch": 0, "torch": name, "weights": _flat(training)}
    for epoch in range(1, training.plan.epochs + 1):
        loss, correct = training.run_epoch()
        yield {"epoch": epoch, "loss": loss, "correct": correct, "weights": _flat(training)}


def train_all(**plan: Any) -> list[dict[str, Any]]:
    """The same, all epochs at once."""
    return list(train(**plan))


def _flat(training: Training) -> list[float]:
    return [number for array in training.model.read() for number in array.ravel().tolist()]
