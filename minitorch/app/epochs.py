"""The epochs of a run in words: the one log format, as text and as a table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

Epochs = Sequence[dict[str, Any]]
"""One dictionary an epoch: epoch, loss, correct, test_loss, test_correct, seconds."""


def seconds_per_epoch(epochs: Epochs) -> float:
    """Over the last ten epochs, without the first, which may compile."""
    recent = epochs[1:][-10:] or epochs
    return sum(row["seconds"] for row in recent) / max(len(recent), 1)


def epoch_line(epochs: Epochs, last: int, points: int) -> str:
    """The line of the newest epoch.

    >>> row = {"epoch": 10, "loss": 12.341, "correct": 46, "seconds": 0.035}
    >>> epoch_line([row], 500, 50)
    'Epoch 10/500 | loss 12.34 | correct 46/50 | 0.035 s/epoch'
    """
    row = epochs[-1]
    return (
        f"Epoch {row['epoch']}/{last} | loss {row['loss']:.2f} | correct {row['correct']}/{points} "
        f"| {seconds_per_epoch(epochs):.3f} s/epoch"
    )


def log_text(epochs: Epochs, last: int, points: int) -> str:
    """The log of a run, one line an epoch."""
    lines = [epoch_line(epochs[max(i - 11, 0) : i + 1], last, points) for i in range(len(epochs))]
    return "".join(f"{line}\n" for line in lines)


def log_table(epochs: Epochs, tested: bool) -> dict[str, list[Any]]:
    """The same as columns, the newest epoch first."""
    rows = epochs[::-1]
    table: dict[str, list[Any]] = {
        "epoch": [row["epoch"] for row in rows],
        "loss": [round(row["loss"], 4) for row in rows],
        "correct": [row["correct"] for row in rows],
    }
    if tested:
        table["test loss"] = [round(row["test_loss"], 4) for row in rows]
        table["test correct"] = [row["test_correct"] for row in rows]
    table["ms"] = [round(1000 * row["seconds"], 2) for row in rows]
    return table
