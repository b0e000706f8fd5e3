"""Cutting a data set of points into small pieces, in a new order each time."""

from __future__ import annotations

import random
from collections.abc import Iterator

from ..datasets import Graph


def shuffled_batches(data: Graph, size: int) -> Iterator[Graph]:
    """All points once, in random order, at most `size` at a time."""
    if size < 1:
        raise ValueError(f"a batch must have at least 1 point, not {size}")
    order = list(range(data.N))
    random.shuffle(order)
    for i in range(0, data.N, size):
        chosen = order[i : i + size]
        yield Graph(len(chosen), [data.X[k] for k in chosen], [data.y[k] for k in chosen])
