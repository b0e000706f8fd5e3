"""The epochs of a run in words: the one log format, as text and as a table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

Epochs = Sequence[dict[str, Any]]
"""One dictionary an epoch: epoch, loss, correct, test_loss, test_correct, seconds; losses per point."""


def seconds_per_epoch(epochs: Epochs) -> float:
    """Over the last ten epochs, without the first, which may compile."""
    recent = epochs[1:][-10:] or epochs
    return sum(row["seconds"] for row in recent) / max(len(recent), 1)


def time_left(epochs: Epochs, last: int) -> str:
    """How long the rest will take, in words.

    >>> time_left([{"epoch": 10, "seconds": 0.5}], 20), time_left([{"epoch": 1, "seconds": 2}], 200)
    ('about 5 s left', 'about 7 min left')
    """
    seconds = seconds_per_epoch(epochs) * (last - epochs[-1]["epoch"])
    if seconds < 1:
        return "less than a second left"
    return f"about {seconds:.0f} s left" if seconds < 90 else f"about {seconds / 60:.0f} min left"


def epoch_line(epochs: Epochs, last: int, points: int) -> str:
    """The line of the newest epoch.

    >>> row = {"epoch": 10, "loss": 0.2468, "correct": 46, "seconds": 0.035}
    >>> epoch_line([row], 500, 50)
    'Epoch 10/500 | loss 0.2468 | correct 46/50 | 0.035 s/epoch'
    """
    row = epochs[-1]
    return (
        f"Epoch {row['epoch']}/{last} | loss {row['loss']:.4f} | correct {row['correct']}/{points} "
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
        "loss of a point": [round(row["loss"], 4) for row in rows],
        "correct": [row["correct"] for row in rows],
    }
    if tested:
        table["test loss of a point"] = [round(row["test_loss"], 4) for row in rows]
        table["test correct"] = [row["test_correct"] for row in rows]
    table["ms"] = [round(1000 * row["seconds"], 2) for row in rows]
    return table
