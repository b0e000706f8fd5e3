"""Spread tensors of zeros, ones or random numbers: the numbers that the plain functions give, in parts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...ops.surface import FUNCTIONS
from .dtensor import DTensor, distribute_tensor


def _spread(name: str) -> Callable[..., DTensor]:
    def make(*size: Any, device_mesh: Any = None, placements: Any = None, requires_grad: bool = False, **options: Any) -> DTensor:  # fmt: skip
        made = distribute_tensor(FUNCTIONS[name](*size, **options), device_mesh, placements)
        return made.requires_grad_(requires_grad)  # type: ignore[return-value]

    make.__name__ = name
    make.__doc__ = f"`torch.{name}`, spread over the ranks of a mesh."
    return make


zeros, ones, empty, full, rand, randn = map(_spread, ("zeros", "ones", "empty", "full", "rand", "randn"))  # fmt: skip
