"""Two tensors that take each other's places."""

from __future__ import annotations

from typing import Any

from ..attributes import all_attributes
from ..tensor import Tensor


def swap_tensors(t1: Tensor, t2: Tensor) -> None:
    """Let each of two tensors be the other, in every place that holds one of them."""
    if not isinstance(t1, Tensor) or not isinstance(t2, Tensor):
        raise TypeError(
            f"expected two tensors, but got {type(t1).__name__} and {type(t2).__name__}"
        )
    one: Any = t1
    two: Any = t2
    one.__class__, two.__class__ = two.__class__, one.__class__
    mine, others = dict(all_attributes(one)), dict(all_attributes(two))
    for tensor, attributes in ((one, others), (two, mine)):
        all_attributes(tensor).clear()
        all_attributes(tensor).update(attributes)
