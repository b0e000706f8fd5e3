"""Why a training may stand still, and what to try, in words."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from minitorch.datasets import Graph

from .networks import Plan, Training
from .units import Array, dead_units, outputs

STALL_EPOCHS = 40
_WHICH = ("first", "second", "third", "fourth")


def watch(losses: Sequence[float], correct: int, training: Training) -> str:
    """What is to be said about the course of a loss; the empty text if all is well."""
    plan, data = training.plan, training.train
    rate = plan.rate
    if losses and not math.isfinite(losses[-1]):
        return (
            f"The loss of epoch {len(losses)} is no number any more: the rate {rate:g} is too high "
            f"for this network. Try {rate / 10:g}, and reset."
        )
    if correct >= data.N:
        return ""
    if len(losses) <= STALL_EPOCHS:
        why = explain_dead_layer(training.model.read(), plan, data)
        return why and f"The network can learn no more: {why}"
    recent = losses[-STALL_EPOCHS:]
    if min(recent) > 1.5 * losses[0]:
        return (
            f"The loss went up from {losses[0]:.3g} to {losses[-1]:.3g}: the rate {rate:g} is too "
            "high. Try a tenth of it."
        )
    if max(recent) - min(recent) < 0.002 * max(recent):
        why = explain_stall(training.model.read(), plan, data)
        return f"The loss stands still since epoch {len(losses) - STALL_EPOCHS}: {why}"
    return ""


def explain_output(training: Training, points: int = 4) -> str:
    """Where the code gives something else than the network's weights say; empty if it does not.

    Pictures of units are drawn from the weights alone: this tells when they would flatter the code.
    """
    X = training.train.X[:points]
    gives = training.model.give(X)
    should = outputs(training.model.read(), X, training.plan.activation)[-1][:, 0]
    for point, mine, right in zip(X, gives, should, strict=True):
        if not math.isclose(mine, right, rel_tol=1e-6, abs_tol=1e-9) and math.isfinite(right):
            return (
                f"For the point ({point[0]:.3f}, {point[1]:.3f}) this code gives {mine:.6g}; with "
                f"these weights it should be {right:.6g}. The pictures show what the weights say."
            )
    return ""


def explain_stall(arrays: Sequence[Array], plan: Plan, data: Graph) -> str:
    """Why training may stand still, and what to try, in words."""
    if why := explain_dead_layer(arrays, plan, data):
        return why
    units = plan.units
    out = outputs(arrays, data.X, plan.activation)[-1][:, 0]
    wrong = (out > 0.5) != np.array(data.y, dtype=bool)
    stuck = int((np.minimum(out, 1 - out)[wrong] < 1e-6).sum())
    if stuck:
        points = "1 wrong point" if stuck == 1 else f"{stuck} wrong points"
        return (
            f"for {points} the output is 0 or 1 to six places, where sigmoid is flat. The rate is "
            "too high: try a tenth of it, and start again."
        )
    dead = dead_units(arrays, data.X, plan.activation)
    for which, gone, size in zip(_WHICH, dead, units, strict=False):
        if 2 * len(gone) >= size:
            return (
                f"{len(gone)} of {size} hidden units of the {which} layer give 0 for all {data.N} "
                f"points (dead ReLU). {_remedy(units)}"
            )
    return f"no unit is dead. Try a higher rate, {_more_units(units)}, or another seed."


def explain_dead_layer(arrays: Sequence[Array], plan: Plan, data: Graph) -> str:
    """Which layer gives nothing but 0, and what to try; the empty text if none does."""
    units, dead = plan.units, dead_units(arrays, data.X, plan.activation)
    for which, gone, size in zip(_WHICH, dead, units, strict=False):
        if len(gone) == size:
            words = {1: "the hidden unit", 2: "both hidden units"}.get(
                size, f"all {size} hidden units"
            )
            give = "gives" if size == 1 else "give"
            return (
                f"{words} of the {which} layer {give} 0 for all {data.N} points (dead ReLU). "
                + _remedy(units)
            )
    return ""


def _remedy(units: Sequence[int]) -> str:
    return f"Try another seed, {_more_units(units)}, or a lower rate."


def _more_units(units: Sequence[int]) -> str:
    return f"{max(10, 2 * max(units))} hidden units"
