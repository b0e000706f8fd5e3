"""Cross entropy of rows of logits and class numbers, forward and backward."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..backends.interface import accelerated, reduce
from .indexing import all_within

Array = Any


def check_targets(target: Array, classes: int, ignore_index: int) -> Array:
    """Where targets count; IndexError if one that counts is not a class."""
    counts = target != ignore_index
    if all_within(target, classes):
        return counts
    wrong = counts & ((target < 0) | (target >= classes))
    if wrong.any():
        raise IndexError(f"Target {target[wrong][0]} is out of bounds.")
    return counts


@accelerated
def cross_entropy(
    logits: Array,
    target: Array,
    weight: Array | None = None,
    ignore_index: int = -100,
    label_smoothing: float = 0.0,
) -> tuple[Array, Array]:
    """The loss of each row, and what backward needs: its largest number and the log of its sum.

    Args:
        logits: of shape (N, C)
        target: class numbers, of shape (N,)
        weight: of each class, or None
        ignore_index: the target of rows whose loss is 0
        label_smoothing: how much of each target is spread over all classes
    """
    counts = check_targets(target, logits.shape[1], ignore_index)
    logsums = row_logsums(logits)
    all_count = counts.all()
    classes = target if all_count else np.where(counts, target, 0)
    losses = logsums[:, 1] - (logits[np.arange(len(classes), like=logits), classes] - logsums[:, 0])
    if weight is not None:
        losses = losses * weight[classes]
    if label_smoothing:
        spread = _spread(logits, logsums, weight) / logits.shape[1]
        losses = (1 - label_smoothing) * losses + label_smoothing * spread
    return losses if all_count else np.where(counts, losses, logits.dtype.type(0)), logsums


@accelerated
def row_logsums(logits: Array) -> Array:
    """The largest number of each row, and the log of the sum of exp(x - largest): (N, 2)."""
    top = logits.max(axis=1, keepdims=True)
    sums = np.add.reduce(np.exp(logits - top), axis=1, keepdims=True)
    return np.concatenate((top, np.log(sums)), axis=1)


def _spread(logits: Array, logsums: Array, weight: Array | None) -> Array:
    """The sum over classes of minus the log-probabilities, weighted."""
    shifted = logits - logsums[:, :1]
    if weight is None:
        return logits.shape[1] * logsums[:, 1] - np.add.reduce(shifted, axis=1)
    return weight.sum() * logsums[:, 1] - shifted @ weight


@accelerated
def cross_entropy_backward(
    g: Array,
    logits: Array,
    logsums: Array,
    target: Array,
    weight: Array | None = None,
    ignore_index: int = -100,
    label_smoothing: float = 0.0,
) -> Array:
    """The gradient by the logits, where g is the gradient of each row's loss."""
    n, classes = logits.shape
    real = logits.dtype.type
    counts = target != ignore_index
    places = np.where(counts, target, 0)
    g = np.where(counts, g, real(0))
    at_target = g * real(1 - label_smoothing)
    if weight is not None:
        at_target = at_target * weight[places]
    everywhere = g * real(label_smoothing / classes)
    total = real(classes) if weight is None else reduce(np.add, weight)
    out = scaled_softmax(logits, logsums, at_target + everywhere * total)
    out[np.arange(n, like=logits), places] -= at_target
    if label_smoothing:
        out -= everywhere[:, None] * (real(1) if weight is None else weight)
    return out


@accelerated
def scaled_softmax(logits: Array, logsums: Array, scale: Array) -> Array:
    """The softmax of each row times a number of its own."""
    return np.exp((logits - logsums[:, :1]) - logsums[:, 1:]) * scale[:, None]
