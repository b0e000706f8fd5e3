"""How well two trainings agree: losses digit by digit, and the largest difference of weights."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from .picture import FAINT, INK, RED, Picture

CLOSE = 1e-9
"""Differences below this are rounding."""

Epochs = Sequence[dict[str, Any]]
"""One dictionary an epoch, the state before training first: loss, weights."""


def same_digits(first: str, second: str) -> int:
    """How many characters two numbers have in common at their start.

    >>> same_digits("34.657359", "34.657311")
    7
    """
    pairs = enumerate(zip(first, second, strict=False))
    return next((i for i, (a, b) in pairs if a != b), min(len(first), len(second)))


def weight_differences(mine: Epochs, theirs: Epochs) -> list[float]:
    """The largest difference of any weight, epoch by epoch, as far as both have come."""
    return [
        max(abs(a - b) for a, b in zip(one["weights"], other["weights"], strict=True))
        for one, other in zip(mine, theirs, strict=False)
    ]


def verdict(name: str, mine: Epochs, theirs: Epochs) -> tuple[bool, str]:
    """Whether both trainings are the same but for rounding, and the same in words."""
    differences = weight_differences(mine, theirs)
    epochs = len(differences) - 1
    parted = next((n for n, d in enumerate(differences) if not d <= CLOSE), None)
    if parted is None:
        most = differences[-1]
        exact = "no weight differs, not even in its last digit"
        rounding = f"the largest difference of any weight is {most:.1e}, which is rounding"
        return True, f"{name}: after {epochs} epochs {rounding if most else exact}."
    where = "before the first epoch" if parted == 0 else f"from epoch {parted} on"
    most = max((d for d in differences if math.isfinite(d)), default=math.nan)
    return False, (
        f"{name}: the weights differ {where}; the largest difference in {epochs} epochs is {most:.1e}."
    )


def stand(mine: Epochs, last: int, seconds: float) -> str:
    """How far a training is, in words; before its first epoch it may be compiling."""
    if len(mine) > 1:
        return f"epoch {mine[-1]['epoch']} of {last}."
    return (
        f"getting ready, {seconds:.0f} s so far. The first time, its kernels are compiled, which "
        "can take a minute; they are kept for the next time."
    )


def draw_digits(losses: Mapping[str, Sequence[float]], count: int = 10) -> Picture:
    """The first losses of each training as columns; digits that differ from the first are red."""
    names = list(losses)
    rows = min(count, max((len(values) for values in losses.values()), default=0))
    wide, high = 178, 26
    picture = Picture(64 + wide * len(names), high * (rows + 1) + 12, "The first losses, in full")
    picture.text(10, 14, "epoch", anchor="start", bold=True, size=13)
    for column, name in enumerate(names):
        picture.text(64 + wide * column, 14, name, anchor="start", bold=True, size=13)
    picture.line([(0, high), (picture.width, high)], color=FAINT)
    for row in range(rows):
        y = high * (row + 1) + 16
        picture.text(10, y, row + 1, anchor="start", size=13)
        model = _words(losses[names[0]], row)
        for column, name in enumerate(names):
            _draw_number(picture, 64 + wide * column, y, _words(losses[name], row), model)
    return picture


def _words(values: Sequence[float], row: int) -> str:
    """A loss with all digits that a double has at such sizes."""
    return f"{values[row]:.15f}" if row < len(values) else ""


def _draw_number(picture: Picture, x: float, y: float, text: str, model: str) -> None:
    same = same_digits(text, model)
    wide = 8.2
    for place, digit in enumerate(text):
        differs = place >= same
        picture.text(
            x + wide * place, y, digit, anchor="start", mono=True, size=13, bold=differs,
            color=RED if differs else INK,
        )  # fmt: skip
