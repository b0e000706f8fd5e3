"""What the units of a network give, from its weights alone, by NumPy: for pictures and advice.

This file needs no `minitorch`, so that pages can use it too.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]


ACTIVATIONS: dict[str, Callable[[Array], Array]] = {
    "relu": lambda x: np.maximum(x, 0.0),
    "sigmoid": lambda x: 1.0 / (1.0 + np.exp(-x)),
    "tanh": np.tanh,
}


def outputs(arrays: Sequence[Array], X: npt.ArrayLike, activation: str = "relu") -> list[Array]:
    """What each layer gives for each point, the inputs first: arrays of (points, units).

    Args:
        arrays: weights (inputs, outputs) and bias of each layer, in turn
        X: points, (points, 2)
        activation: of the hidden units
    """
    found = [np.asarray(X, float).reshape(-1, 2)]
    last = len(arrays) // 2
    with np.errstate(all="ignore"):
        for layer, (weights, bias) in enumerate(zip(arrays[::2], arrays[1::2], strict=True), 1):
            sums = found[-1] @ weights + bias
            found.append(ACTIVATIONS[activation if layer < last else "sigmoid"](sums))
    return found


def dead_units(
    arrays: Sequence[Array], X: npt.ArrayLike, activation: str = "relu"
) -> list[set[int]]:
    """The units of each hidden layer that give 0 for every point, as only ReLU can for good."""
    hidden = outputs(arrays, X, activation)[1:-1]
    if activation != "relu":
        return [set() for _ in hidden]
    return [set(np.flatnonzero((values <= 0).all(axis=0)).tolist()) for values in hidden]
