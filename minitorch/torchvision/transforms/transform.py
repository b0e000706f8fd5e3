"""What transforms have in common, and what random ones draw from Torch's generator."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ... import torch
from ...torch import nn
from .functional import InterpolationMode


def uniform(low: float, high: float) -> float:
    """A random number between two."""
    return float(torch.empty(1).uniform_(float(low), float(high)).item())


def draw(count: int) -> int:
    """A random whole number below another."""
    return int(torch.randint(0, count, size=(1,)).item())


def happens(probability: float) -> bool:
    """Whether a random number is below a probability."""
    return bool(torch.rand(1) < probability)


def pair(size: Any, message: str) -> tuple[int, int]:
    """A height and a width, from one number or two."""
    if isinstance(size, int):
        return size, size
    if isinstance(size, Sequence) and len(size) == 1:
        return size[0], size[0]
    if len(size) != 2:
        raise ValueError(message)
    return tuple(size)


class Transform(nn.Module):
    """A transform of a picture, shown with the options that `_shown` names."""

    _shown: tuple[str, ...] = ()
    _between = ", "

    def __repr__(self) -> str:
        options = self._between.join(f"{name}={self._text(name)}" for name in self._shown)
        return f"{type(self).__name__}({options})"

    def _text(self, name: str) -> Any:
        value = getattr(self, name)
        return value.value if isinstance(value, InterpolationMode) else value
