"""Arrays in the form in which NumPy and the kernels can work on them."""

from __future__ import annotations

from typing import Any

import numpy as np

Array = Any


def in_order(array: Array) -> Array:
    """The array, or a copy, as kernels take it: in memory's order, aligned, not read-only."""
    return array if array.flags.carray else np.require(array, requirements=["C", "A", "W"])


def view_as(array: Array, *shape: int) -> Array:
    """The array's own memory in another shape, to write to; RuntimeError where that needs a copy."""
    view = array.reshape(shape)
    if view.size and not np.may_share_memory(view, array):
        raise RuntimeError(
            f"an array of shape {array.shape} and strides {array.strides} has no view of shape {shape}"
        )
    return view
