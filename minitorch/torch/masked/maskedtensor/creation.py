"""Masked tensors of data and masks."""

from __future__ import annotations

from typing import Any

from ...tensor import Tensor
from .core import Inside, MaskedTensor, aligned, masked


def masked_tensor(data: Any, mask: Any, requires_grad: bool = False) -> MaskedTensor:
    """A masked tensor that is a leaf of the graph."""
    return MaskedTensor(data, mask, requires_grad)


def as_masked_tensor(data: Any, mask: Any) -> MaskedTensor:
    """A masked tensor that keeps the place of its data in the graph."""
    made = MaskedTensor(data.detach() if isinstance(data, Tensor) else data, mask)
    if not data.requires_grad:
        return made
    mask = made._masked_mask
    return masked(*aligned(Inside.apply(data.clone(), mask), mask))
