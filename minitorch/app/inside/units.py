"""What the units of a network give, from its weights alone, by NumPy: for pictures and advice.

This file needs no `minitorch`, so that pages can use it too.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]


def outputs(arrays: Sequence[Array], X: npt.ArrayLike) -> list[Array]:
    """What each layer gives for each point, the inputs first: arrays of (points, units).

    Args:
        arrays: weights (inputs, outputs) and bias of each layer, in turn
        X: points, (points, 2)
    """
    found = [np.asarray(X, float).reshape(-1, 2)]
    last = len(arrays) // 2
    with np.errstate(all="ignore"):
        for layer, (weights, bias) in enumerate(zip(arrays[::2], arrays[1::2], strict=True), 1):
            sums = found[-1] @ weights + bias
            found.append(np.maximum(sums, 0.0) if layer < last else 1.0 / (1.0 + np.exp(-sums)))
    return found


def dead_units(arrays: Sequence[Array], X: npt.ArrayLike) -> list[set[int]]:
    """The units of each hidden layer that give 0 for every point."""
    hidden = outputs(arrays, X)[1:-1]
    return [set(np.flatnonzero((values <= 0).all(axis=0)).tolist()) for values in hidden]
