"""Flattening of dimensions, and the inverse."""

from __future__ import annotations

from typing import Any

from ...tensor import Tensor
from .layer import layer
from .module import Module


@layer(shows="start_dim={start_dim}, end_dim={end_dim}")
class Flatten(Module):
    """The dimensions from `start_dim` to `end_dim` flattened to one."""

    start_dim: int = 1
    end_dim: int = -1

    def forward(self, input: Tensor) -> Tensor:
        return input.flatten(self.start_dim, self.end_dim)


@layer(shows="dim={dim}, unflattened_size={unflattened_size}")
class Unflatten(Module):
    """A dimension unflattened to several."""

    dim: int
    unflattened_size: Any

    def _normalize_arguments(self) -> None:
        sizes = self.unflattened_size
        if not isinstance(sizes, (tuple, list)):
            raise TypeError(
                f"unflattened_size must be a tuple of ints, but found type {type(sizes).__name__}"
            )
        for place, size in enumerate(sizes):
            if not isinstance(size, int):
                raise TypeError(
                    "unflattened_size must be tuple of ints, but found element of type "
                    f"{type(size).__name__} at pos {place}"
                )

    def forward(self, input: Tensor) -> Tensor:
        return input.unflatten(self.dim, self.unflattened_size)
