"""Copies of tensors, and their memory formats."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..tensor import Array, Tensor
from .layout import laid_out
from .record import MOVEMENT, Op, bind
from .surface import check_tensor, function_and_method, only_method


def _channels_last(array: Array) -> Array:
    """A copy with the second dimension innermost in memory."""
    return np.moveaxis(np.moveaxis(array, 1, -1).copy("C"), -1, 1)


def _copy(input: Array, order: Any = "K") -> Array:
    if order == "channels_last":
        return _channels_last(input)
    if order == "C" or input.flags.c_contiguous or not any(input.strides):
        return input.copy("C")
    return laid_out(input.copy("K"), (input,))


CLONE = Op(
    "clone",
    ("input",),
    _copy,
    {"input": lambda g: g},
    doc="A copy.",
    kind=MOVEMENT,
)


def order_of_memory(array: Array, memory_format: Any) -> str:
    """A copy's layout in memory: "K" as the original, "C" row-major, or "channels_last"."""
    wanted = str(memory_format)
    if "channels_last" in wanted:
        need = 5 if wanted.endswith("3d") else 4
        if array.ndim != need:
            raise RuntimeError(
                f"required rank {need} tensor to use {wanted} format, got {array.ndim} dimensions"
            )
        return "channels_last"
    return "C" if wanted.endswith("contiguous_format") else "K"


@function_and_method
def clone(input: Tensor, *, memory_format: Any = None) -> Tensor:
    """A copy with its own memory."""
    check_tensor("clone", input)
    return CLONE(input, order=order_of_memory(input._array, memory_format))


@only_method
def _own_copy(self: Tensor) -> Tensor:
    """A copy, for backward: without checks of arguments and overrides."""
    return bind(CLONE, (self,), {"order": "K"})


@only_method
def contiguous(self: Tensor, memory_format: Any = None) -> Tensor:
    """The tensor itself if it is contiguous in the memory format, else a contiguous copy."""
    if memory_format is not None and order_of_memory(self._array, memory_format) == "channels_last":
        if self.is_contiguous(memory_format=memory_format):
            return self
        return CLONE(self, order="channels_last")
    if self._array.flags.c_contiguous:
        return self
    if memory_format is not None and str(memory_format).endswith("preserve_format"):
        raise RuntimeError("preserve memory format is unsupported by the contiguous operator")
    return bind(CLONE, (self,), {"order": "C"})
