"""Broadcasting: the shape that two shapes make, where each cell comes from, what flows back."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

import minitorch


def join(first: list[int], second: list[int]) -> dict[str, Any]:
    """What `shape_broadcast` makes of two shapes: a `result`, or None and its `refusal`."""
    try:
        result = minitorch.shape_broadcast(tuple(first), tuple(second))
    except minitorch.IndexingError as error:
        return {"result": None, "refusal": str(error)}
    return {"result": [int(size) for size in result], "refusal": ""}


def sources(big: list[int], shape: list[int]) -> list[list[int]]:
    """For every index of the big shape, in counting order, the cell that `broadcast_index` takes."""
    big_shape, small = np.array(big, dtype=np.int32), np.array(shape, dtype=np.int32)
    found = []
    for index in np.ndindex(*big):
        out = np.zeros(len(shape), dtype=np.int32)
        minitorch.broadcast_index(np.array(index, dtype=np.int32), big_shape, small, out)
        found.append(out.tolist())
    return found


def gradients(first: list[int], second: list[int]) -> dict[str, Any]:
    """The gradients of `first + second` when 1, 2, 3, ... comes in, as flat lists."""
    a, b = (minitorch.tensor(np.zeros(shape)) for shape in (first, second))
    out = a + b
    incoming = [float(n + 1) for n in range(prod(out.shape))]
    out.backward(minitorch.Tensor.make(incoming, out.shape))
    return {"incoming": incoming, "first": _flat(a.grad), "second": _flat(b.grad)}


def _flat(tensor: Any) -> list[float]:
    return tensor.to_numpy().ravel().tolist()
