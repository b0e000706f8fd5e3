"""Products of matrices."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..backends.interface import accelerated, as_array

Array = Any


@accelerated
def matmul(a: Array, b: Array, bias: Array | None = None) -> Array:
    """The product of two matrices, or of two stacks of them that broadcast, plus a bias in each row."""
    out = as_array(np.matmul(a, b))
    if bias is not None:
        out += bias
    return out
