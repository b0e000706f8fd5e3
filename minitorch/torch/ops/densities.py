"""Negative log likelihoods of binary classes, counts and real numbers; KL divergence."""

from __future__ import annotations

import math
import warnings
from functools import partial
from typing import Any

import numpy as np

from .. import dtypes, scalars
from ..autograd.modes import no_grad
from ..interpreters import composite, update
from ..tensor import Array, Tensor
from .activation import logsigmoid
from .creation import ones_like
from .elementwise import on_arrays
from .layout import following
from .loss import how_reduced, reduced, with_numbers
from .nodes import as_one
from .precision import in_single, kind_name, require_floats
from .promotion import broadcast_shapes
from .record import Fused, Op, bind
from .reduce import MEAN, dims_of
from .surface import check_no_gradient
from .writes import check_castable

# --- Two classes -----------------------------------------------------------------------------------


def _binary(input: Array, target: Array) -> Array:
    """Binary cross entropy; logarithms are clamped to -100."""
    if input.size and not (input.min() >= 0 and input.max() <= 1):
        raise RuntimeError("all elements of input should be between 0 and 1")
    if target.size and not (target.min() >= 0 and target.max() <= 1):
        raise RuntimeError("all elements of target should be between 0 and 1")
    yes, no = np.maximum(np.log(input), -100), np.maximum(np.log1p(-input), -100)
    return (target - 1) * no - target * yes


BINARY = Op(
    "binary_cross_entropy", ("input", "target"), following(in_single(_binary)),
    {
        "input": lambda g, input, target: bind(BINARY_BACKWARD, (g, input, target), {}),
        "target": lambda g, input: g * ((1 - input).log() - input.log()),
    },
    doc="Binary cross entropy of probabilities.",
)  # fmt: skip


_LEAST = float(np.float32(1e-12))
"""A lower bound of x (1 - x) in the derivative, in all precisions."""


def _binary_backward(grad: Array, input: Array, target: Array) -> Array:
    return grad * ((input - target) / np.maximum((1 - input) * input, _LEAST))


def _spread_of(x: Any) -> Any:
    return (1 - x) * x + _LEAST


BINARY_BACKWARD = Op(
    "binary_cross_entropy_backward", ("grad", "input", "target"), in_single(_binary_backward),
    {
        "grad": lambda g, input, target: g * (input - target) / _spread_of(input),
        "input": lambda g, grad, input, target:
            g * grad * (input * input - 2 * input * target + target) / _spread_of(input).square(),
        "target": lambda g, grad, input: -g * grad / ((1 - input) * input),
    },
)  # fmt: skip


@composite
def binary_cross_entropy(
    input: Tensor, target: Tensor, weight: Tensor | None = None, size_average: Any = None, reduce: Any = None,
    reduction: str = "mean",
) -> Tensor:  # fmt: skip
    """Binary cross entropy of probabilities."""
    how = how_reduced(reduction, size_average, reduce)
    if target.shape != input.shape:
        raise ValueError(
            f"Using a target size ({target.shape}) that is different to the input size ({input.shape}) is deprecated. "
            "Please ensure they have the same size."
        )
    if target.dtype is not input.dtype:
        raise RuntimeError(
            f"Found dtype {kind_name(target._array)} but expected {kind_name(input._array)}"
        )
    require_floats("binary_cross_entropy", input._array)
    check_no_gradient("binary_cross_entropy", weight=weight)
    loss = BINARY(input, target)
    loss = reduced(loss if weight is None else (loss * weight).to(loss.dtype), how)
    return as_one("BinaryCrossEntropyBackward0", loss, input, target)


def _by_score(g: Any, input: Any, target: Any) -> Any:
    return bind(LOGISTIC_BACKWARD, (g, input, target), {})


def _logistic_curve(x: Any) -> Any:
    s = x.sigmoid()
    return s * (1 - s)


LOGISTIC = Op(
    "logistic_loss", ("input", "target"), following(on_arrays(scalars.logistic_loss)),
    {"input": _by_score, "target": lambda g, input: -g * input},
    scalar=scalars.logistic_loss, node="BinaryCrossEntropyWithLogitsBackward0",
    doc="Binary cross entropy of logits.",
)  # fmt: skip
LOGISTIC_BACKWARD = Op(
    "logistic_loss_backward", ("grad", "input", "target"), on_arrays(scalars.logistic_loss_backward),
    {"grad": _by_score, "input": lambda g, grad, input: g * grad * _logistic_curve(input),
     "target": lambda g, grad: -g * grad}, scalar=scalars.logistic_loss_backward,
)  # fmt: skip


def _mean_logistic(input: Array, target: Array) -> Array:
    return MEAN.compute(LOGISTIC.compute(input, target), dims_of(None, input.ndim), False, None)


MEAN_LOGISTIC = Fused(
    lambda input, target: _shown_as_one(LOGISTIC(input, target).mean(), input, target),
    "mean_logistic_loss", ("input", "target"), _mean_logistic,
    {"input": lambda g, input, target: _by_score(g / input._array.size, input, target),
     "target": lambda g, input: -g / input._array.size * input},
    node="BinaryCrossEntropyWithLogitsBackward0", doc="The mean binary cross entropy of logits.",
)  # fmt: skip
_shown_as_one = partial(as_one, "BinaryCrossEntropyWithLogitsBackward0")


def _logistic(input: Tensor, target: Tensor, pos_weight: Tensor | None) -> Tensor:
    """Binary cross entropy of logits for operands of several dtypes, or with `pos_weight`."""
    logs = logsigmoid(input)
    if pos_weight is not None:
        logs = logs * ((pos_weight - 1) * target + 1)
    if not target.dtype.is_floating_point and not target.dtype.is_complex:
        raise RuntimeError(
            f"result type {kind_name(logs._array)} can't be cast to the desired output type {kind_name(target._array)}"
        )
    loss = (1 - target) * input - logs
    check_castable(loss.dtype, target.dtype)
    return loss.to(target.dtype)


@composite
def binary_cross_entropy_with_logits(
    input: Tensor, target: Tensor, weight: Tensor | None = None, size_average: Any = None, reduce: Any = None,
    reduction: str = "mean", pos_weight: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """Binary cross entropy of logits."""
    how = how_reduced(reduction, size_average, reduce)
    if target._array.shape != input._array.shape:
        raise ValueError(
            f"Target size ({target.shape}) must be the same as input size ({input.shape})"
        )
    kind = input._array.dtype
    plain = pos_weight is None and kind == target._array.dtype and kind.kind in "fV"
    if plain and weight is None and how == "mean":
        return MEAN_LOGISTIC(input, target)
    check_no_gradient("binary_cross_entropy_with_logits", weight=weight, pos_weight=pos_weight)
    loss = LOGISTIC(input, target) if plain else _logistic(input, target, pos_weight)
    if weight is None:
        return _shown_as_one(reduced(loss, how), input, target)
    weighed = loss * weight
    check_castable(weighed.dtype, loss.dtype)
    weighed = weighed.to(loss.dtype)
    if weighed.shape != loss.shape:
        raise RuntimeError(
            f"output with shape {list(loss.shape)} doesn't match the broadcast shape {list(weighed.shape)}"
        )
    return reduced(weighed, how)


@composite
def kl_div(
    input: Tensor, target: Tensor, size_average: Any = None, reduce: Any = None, reduction: Any = "mean",
    log_target: bool = False,
) -> Tensor:  # fmt: skip
    """The pointwise Kullback-Leibler divergence from log probabilities to the target."""
    if reduction == "mean" and size_average is None and reduce is None:
        warnings.warn(
            "reduction: 'mean' divides the total loss by both the batch size and the support size. 'batchmean' divides "
            "only by the batch size, and aligns with the KL div math definition. 'mean' will be changed to behave the "
            "same as 'batchmean' in the next major release.",
            stacklevel=2,
        )
    for kind in (input.dtype, target.dtype):
        if not kind.is_floating_point:
            word = "Complex" if kind.is_complex else "Integral"
            raise RuntimeError(f"kl_div: {word} inputs not supported.")
    loss = target.exp() * (target - input) if log_target else target.xlogy(target) - target * input
    if reduction != "batchmean":
        return reduced(loss, reduction, size_average, reduce)
    plain = size_average is None and reduce is None
    result = loss.sum() if plain else reduced(loss, "mean", size_average, reduce)
    return result / input.shape[0] if input.ndim else result


# --- Counts and numbers ------------------------------------------------------------------------------


@composite
def poisson_nll_loss(
    input: Tensor, target: Tensor, log_input: bool = True, full: bool = False, size_average: Any = None,
    eps: float = 1e-8, reduce: Any = None, reduction: str = "mean",
) -> Tensor:  # fmt: skip
    """The negative log likelihood of counts under Poisson distributions, given rates or their logarithms."""
    loss = (
        input.exp() - target * input if log_input else input - target * (input + float(eps)).log()
    )
    if full:
        stirling = target * target.log() - target + 0.5 * (2 * math.pi * target).log()
        loss = (loss + stirling.masked_fill(target <= 1, 0)).to(loss.dtype)
    return reduced(loss, reduction, size_average, reduce)


@update()
def _check_variances(var: Tensor) -> None:
    """ValueError if a variance is negative: an operation, since it depends on values."""
    if var.dtype.is_complex:
        raise NotImplementedError(f"\"lt_cpu\" not implemented for '{kind_name(var._array)}'")
    with np.errstate(invalid="ignore"):
        negative = (var._array < 0).any()
    if negative:
        raise ValueError("var has negative entry/entries")


def gaussian_nll_loss(
    input: Tensor,
    target: Tensor,
    var: Any,
    full: bool = False,
    eps: float = 1e-6,
    reduction: str = "mean",
) -> Tensor:
    """The negative log likelihood of numbers under normal distributions of given means and variances."""
    if isinstance(var, float):
        if var < 0:
            raise ValueError(f"var must not be negative, got {var}")
        var = var * ones_like(input)
    elif not isinstance(var, Tensor):
        raise TypeError(f"var must be a Tensor or a float, not {type(var).__name__}")
    _check_variances(var)
    if var.shape != input.shape:
        odd = [b for a, b in zip(input.shape, var.shape, strict=False) if a != b]
        if input.shape[:-1] == var.shape:
            var = var.unsqueeze(-1)
        elif input.ndim != var.ndim or sum(odd) != 1:
            raise ValueError(
                f"var is of incorrect size: {list(var.shape)} for input of {list(input.shape)}"
            )
    if reduction not in ("none", "mean", "sum"):
        raise ValueError(f"{reduction} is not valid")
    if var.dtype.kind < dtypes.FLOATING and isinstance(eps, float):
        check_castable(dtypes.get_default_dtype(), var.dtype)
    var = var.clone()
    with no_grad():  # the gradient passes as if nothing had been raised
        var.clamp_(min=eps)
    loss = 0.5 * (var.log() + (input - target).square() / var)
    return reduced(loss + 0.5 * math.log(2 * math.pi) if full else loss, reduction)


with_numbers(kl_div, ("input", "target", "reduction"))
with_numbers(poisson_nll_loss, ("input", "target", "log_input", "full", "eps", "reduction"))


def _broadcast_scores(input: Tensor, target: Tensor, **rest: Any) -> Tensor:
    """`torch.binary_cross_entropy_with_logits`, whose input may broadcast to the target's shape."""
    shape = broadcast_shapes("binary_cross_entropy_with_logits", target.shape, input.shape)
    if shape != tuple(target.shape):
        raise RuntimeError(
            f"output with shape {list(target.shape)} doesn't match the broadcast shape {list(shape)}"
        )
    return binary_cross_entropy_with_logits(input.expand(shape), target, **rest)


with_numbers(
    binary_cross_entropy_with_logits,
    ("input", "target", "weight", "pos_weight", "reduction"),
    _broadcast_scores,
)
