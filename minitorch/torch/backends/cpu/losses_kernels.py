"""Kernels of losses.py: cross entropy of rows of logits, forward and backward."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...formulas.losses import check_targets
from .kernels import kernel, over_rows, share
from .primitives import exp, log
from .runs import largest
from .softmax_kernels import row_logsums as logsums_of_rows
from .softmax_kernels import sum_of_exponentials

Array = Any


@kernel
def _entropies(
    task: int, tasks: int, x: Array, target: Array, ignored: int,
    logsums: Array, losses: Array, wrong: Array,
) -> None:  # fmt: skip
    """x is (rows, classes), target and losses (rows), logsums (rows, 2), wrong (1)."""
    first, last = share(task, tasks, len(x))
    x, target = x[first:last], target[first:last]
    logsums, losses = logsums[first:last], losses[first:last]
    for r in range(len(x)):
        top = largest(x[r])
        logsums[r, 0] = top
        losses[r] = sum_of_exponentials(x[r], top)
    for r in range(len(x)):
        losses[r] = log(losses[r])
    for r in range(len(x)):
        t, size = target[r], losses[r]
        logsums[r, 1] = size
        losses[r] = 0.0
        if np.uint64(t) < np.uint64(x.shape[1]) and t != ignored:
            losses[r] = size - (x[r, t] - logsums[r, 0])
        elif t != ignored:
            wrong[0] = 1


@over_rows(shared=1)
def _entropies_backward(
    g: Any, x: Array, logsums: Array, target: int, out: Array, ignored: int
) -> None:
    top, size = logsums[0], logsums[1]
    factor = 0.0 if target == ignored else g
    for i in range(len(out)):
        out[i] = exp((x[i] - top) - size) * factor
    if np.uint64(target) < np.uint64(len(out)):
        out[target] -= factor


def cross_entropy(
    logits: Array, target: Array, weight: Any = None, ignore_index: int = -100, label_smoothing: float = 0.0,
) -> Any:  # fmt: skip
    """The loss of each row, and what backward needs."""
    if weight is not None or label_smoothing:
        return NotImplemented
    x, classes = np.ascontiguousarray(logits), np.ascontiguousarray(target, np.int64)
    logsums, losses = np.empty((len(x), 2), x.dtype), np.empty(len(x), x.dtype)
    wrong = np.zeros(1, np.int64)
    _entropies(x.size, x, classes, ignore_index, logsums, losses, wrong)
    if wrong[0]:
        check_targets(target, logits.shape[1], ignore_index)
    return losses, logsums


def cross_entropy_backward(
    g: Array, logits: Array, logsums: Array, target: Array, weight: Any = None, ignore_index: int = -100,
    label_smoothing: float = 0.0,
) -> Any:  # fmt: skip
    """The gradient by the logits; arguments as in losses.py."""
    if weight is not None or label_smoothing:
        return NotImplemented
    x, out = np.ascontiguousarray(logits), np.empty(logits.shape, logits.dtype)
    classes = np.ascontiguousarray(target, np.int64)
    g = np.ascontiguousarray(g, x.dtype)
    _entropies_backward(x.size, g, x, logsums, classes, out, ignore_index)
    return out


def row_logsums(logits: Array) -> Array:
    """The largest number of each row, and the log of the sum of exp(x - largest): (N, 2)."""
    logsums = logsums_of_rows(logits)
    logsums[np.isinf(logsums[:, 1])] = np.nan  # infinities have no shares
    return logsums


def scaled_softmax(logits: Array, logsums: Array, scale: Array) -> Array:
    """The softmax of each row times a number of its own: as if no row had a target."""
    return cross_entropy_backward(scale, logits, logsums, np.full(len(logits), -1), None, -2)
