"""Losses: how wrong a prediction is.

Most are compositions: a value for each element, then `reduced`. Those with records are the
ones that choose (negative log likelihood) or that Torch differentiates in its own way
(binary cross entropy).
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from .. import dtypes
from ..tensor import Array, Tensor, wrap
from .activation import logsigmoid
from .comparison import where
from .distance import pairwise_distance
from .elementwise import kind_name
from .precision import in_single, require_floats
from .promotion import broadcast_shapes
from .record import Op, bind
from .softmax import log_softmax
from .surface import FUNCTIONS, check_tensor, function

# --- Reduction ---------------------------------------------------------------------------------

_NUMBERED = {0: "none", 1: "mean", 2: "sum"}


def reduced(loss: Tensor, reduction: Any, size_average: Any = None, reduce: Any = None) -> Tensor:
    """Losses as they are, their mean, or their sum; the two old flags win over `reduction`."""
    how = how_reduced(reduction, size_average, reduce)
    return loss if how == "none" else loss.mean() if how == "mean" else loss.sum()


def how_reduced(reduction: Any, size_average: Any = None, reduce: Any = None) -> str:
    """One of "none", "mean", "sum" from new or old arguments; ValueError for anything else."""
    if size_average is not None or reduce is not None:
        warnings.warn(
            "size_average and reduce args will be deprecated, please use reduction instead.",
            stacklevel=4,
        )
        if reduce is False:
            return "none"
        return "sum" if size_average is False else "mean"
    reduction = _NUMBERED.get(reduction, reduction)
    if reduction not in ("none", "mean", "sum"):
        raise ValueError(f"{reduction} is not a valid value for reduction")
    return reduction


# --- Regression ----------------------------------------------------------------------------------


def _meet(input: Tensor, target: Tensor) -> None:
    if input._array.shape != target._array.shape:
        warnings.warn(
            f"Using a target size ({target.shape}) that is different to the input size ({input.shape}). This will likely "
            "lead to incorrect results due to broadcasting. Please ensure they have the same size.",
            stacklevel=3,
        )
        broadcast_shapes("loss", input._array.shape, target._array.shape)


def _weighed(loss: Tensor, input: Tensor, weight: Tensor, reduction: Any) -> Tensor:
    """Losses times weights; their mean is over the weights."""
    if weight.shape != input.shape:
        raise ValueError("Weights and input must have the same size.")
    how = how_reduced(reduction)
    return (loss * weight).sum() / weight.sum() if how == "mean" else reduced(loss * weight, how)


def mse_loss(
    input: Tensor, target: Tensor, size_average: Any = None, reduce: Any = None, reduction: str = "mean",
    weight: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """The square of the difference."""
    _meet(input, target)
    loss = (input - target).square()
    return (
        reduced(loss, reduction, size_average, reduce)
        if weight is None
        else _weighed(loss, input, weight, reduction)
    )


def l1_loss(
    input: Tensor, target: Tensor, size_average: Any = None, reduce: Any = None, reduction: str = "mean",
    weight: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """The size of the difference."""
    _meet(input, target)
    loss = (input - target).abs()
    return (
        reduced(loss, reduction, size_average, reduce)
        if weight is None
        else _weighed(loss, input, weight, reduction)
    )


def smooth_l1_loss(
    input: Tensor, target: Tensor, size_average: Any = None, reduce: Any = None, reduction: str = "mean",
    beta: float = 1.0,
) -> Tensor:  # fmt: skip
    """The size of the difference, but its square where it is below `beta`."""
    _meet(input, target)
    if beta < 0:
        raise RuntimeError("smooth_l1_loss does not support negative values for beta.")
    apart = (input - target).abs()
    loss = (
        apart if beta == 0 else where(apart < beta, 0.5 * apart * apart / beta, apart - 0.5 * beta)
    )
    return reduced(loss, reduction, size_average, reduce)


def huber_loss(
    input: Tensor,
    target: Tensor,
    reduction: str = "mean",
    delta: float = 1.0,
    weight: Tensor | None = None,
) -> Tensor:
    """Half the square of the difference, but a straight line from `delta` on."""
    _meet(input, target)
    if delta <= 0:
        raise RuntimeError("huber_loss does not support non-positive values for delta.")
    apart = (input - target).abs()
    loss = where(apart <= delta, 0.5 * apart * apart, delta * (apart - 0.5 * delta))
    if weight is None:
        return reduced(loss, reduction)
    if weight.shape != input.shape:
        raise ValueError("Weights and input must have the same size.")
    return reduced(loss * weight, reduction)


def poisson_nll_loss(
    input: Tensor, target: Tensor, log_input: bool = True, full: bool = False, size_average: Any = None,
    eps: float = 1e-8, reduce: Any = None, reduction: str = "mean",
) -> Tensor:  # fmt: skip
    """How unlikely counts are under Poisson distributions of given rates, or logarithms of rates."""
    loss = input.exp() - target * input if log_input else input - target * (input + eps).log()
    if full:
        stirling = target * target.log() - target + 0.5 * (2 * math.pi * target).log()
        loss = loss + stirling.masked_fill(target <= 1, 0)
    return reduced(loss, reduction, size_average, reduce)


def gaussian_nll_loss(
    input: Tensor,
    target: Tensor,
    var: Any,
    full: bool = False,
    eps: float = 1e-6,
    reduction: str = "mean",
) -> Tensor:
    """How unlikely numbers are under normal distributions of given means and variances."""
    if isinstance(var, float):
        var = input.new_full(input.shape, var)
    if bool((var < 0).any()):
        raise ValueError("var has negative entry/entries")
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
    raised = var + (var.detach().clamp(min=eps) - var.detach())  # clamped, but for the gradient
    loss = 0.5 * (raised.log() + (input - target).square() / raised)
    return reduced(loss + 0.5 * math.log(2 * math.pi) if full else loss, reduction)


# --- Classes -------------------------------------------------------------------------------------


def _nll_weights(
    target: Array, weight: Array | None, ignore_index: int, kind: Any
) -> tuple[Array, Array]:
    """Each target's class, 0 where it is ignored, and its weight."""
    kept = target != ignore_index
    classes = np.where(kept, target, 0)
    return classes, kept.astype(kind) if weight is None else np.where(
        kept, weight[classes], kind.type(0)
    )


def _nll(
    input: Array, target: Array, weight: Array | None, reduction: str, ignore_index: int
) -> Array:
    """Minus the input at each target, weighed; the classes are dimension 1, or the only one."""
    axis = min(input.ndim - 1, 1)
    classes, weights = _nll_weights(target, weight, ignore_index, input.dtype)
    wrong = (classes < 0) | (classes >= input.shape[axis])
    if wrong.any():
        raise IndexError(f"Target {classes[wrong].reshape(-1)[0]} is out of bounds.")
    chosen = np.take_along_axis(input, np.expand_dims(classes, axis), axis).squeeze(axis)
    losses = -chosen * weights
    if reduction == "none":
        return losses
    total = losses.sum()
    return total if reduction == "sum" else total / weights.sum()


def _nll_backward(
    grad: Array,
    target: Array,
    weight: Array | None,
    shape: tuple[int, ...],
    reduction: str,
    ignore_index: int,
) -> Array:
    axis = min(len(shape) - 1, 1)
    classes, weights = _nll_weights(target, weight, ignore_index, grad.dtype)
    shares = -grad * weights
    if reduction == "mean":
        shares /= weights.sum()
    out = np.zeros(shape, grad.dtype)
    np.put_along_axis(out, np.expand_dims(classes, axis), np.expand_dims(shares, axis), axis)
    return out


NLL = Op(
    "nll_loss", ("input", "target", "weight"), in_single(_nll),
    {
        "input": lambda g, target, weight, shapes, reduction, ignore_index: bind(
            NLL_BACKWARD, (g, target, weight), {"shape": shapes[0], "reduction": reduction, "ignore_index": ignore_index}
        ),
        "target": None,
        "weight": None,
    },
    doc="Minus the logarithm of the probability of each target.",
)  # fmt: skip
NLL_BACKWARD = Op(
    "nll_loss_backward", ("grad", "target", "weight"), in_single(_nll_backward),
    {
        "grad": lambda g, target, weight, reduction, ignore_index: bind(
            NLL, (g, target, weight), {"reduction": reduction, "ignore_index": ignore_index}
        ),
        "target": None,
        "weight": None,
    },
)  # fmt: skip


def nll_loss(
    input: Tensor, target: Tensor, weight: Tensor | None = None, size_average: Any = None, ignore_index: int = -100,
    reduce: Any = None, reduction: str = "mean",
) -> Tensor:  # fmt: skip
    """Minus the logarithm of the probability of each target, from logarithms of probabilities."""
    how = how_reduced(reduction, size_average, reduce)
    _check_classes(input, target, weight)
    require_floats("nll_loss_out_frame", input._array)
    return bind(NLL, (input, target, weight), {"reduction": how, "ignore_index": ignore_index})


def _check_classes(input: Tensor, target: Tensor, weight: Tensor | None) -> None:
    check_tensor("nll_loss", target, "target")
    have, want = target._array.shape, input._array.shape
    if not want:
        raise ValueError(f"Expected 1 or more dimensions (got {input.ndim})")
    expected = want[:1] + want[2:] if len(want) > 1 else ()
    if have != expected and not (len(want) == 1 and have == (1,)):
        if len(want) > 1 and have[:1] != want[:1]:
            raise ValueError(
                f"Expected input batch_size ({want[0]}) to match target batch_size ({have[:1]}): {list(want)} and {list(have)}."
            )
        raise RuntimeError(f"Expected target size {list(expected)}, got {list(have)}")
    if target.dtype not in (dtypes.int64, dtypes.uint8):
        raise RuntimeError(f"expected scalar type Long but found {kind_name(target._array)}")
    classes = want[min(len(want) - 1, 1)]
    if weight is not None and weight._array.shape != (classes,):
        raise RuntimeError(
            f"weight tensor should be defined either for all {classes} classes or no classes but got weight tensor of "
            f"shape: {list(weight.shape)}"
        )


def cross_entropy(
    input: Tensor, target: Tensor, weight: Tensor | None = None, size_average: Any = None, ignore_index: int = -100,
    reduce: Any = None, reduction: str = "mean", label_smoothing: float = 0.0,
) -> Tensor:  # fmt: skip
    """Minus the logarithm of the softmax at each target: class numbers, or probabilities of classes.

    Args:
        input: scores, the classes in dimension 1 (or 0 of a single sample)
        target: classes, or probabilities in the shape of the input
        weight: one number for each class
        size_average: old form of `reduction`
        ignore_index: a class that counts for nothing
        reduce: old form of `reduction`
        reduction: "none", "mean" or "sum"
        label_smoothing: how much of each target is spread evenly over all classes
    """
    how = how_reduced(reduction, size_average, reduce)
    if not 0 <= label_smoothing <= 1:
        raise RuntimeError(f"label_smoothing must be between 0.0 and 1.0. Got: {label_smoothing}")
    axis = min(input.ndim - 1, 1)
    logs = log_softmax(input, axis, dtype=input.dtype)
    if target._array.shape == input._array.shape:
        return _entropy_of_shares(logs, target, weight, how, label_smoothing, axis)
    plain = nll_loss(logs, target, weight, ignore_index=ignore_index, reduction=how)
    if label_smoothing == 0:
        return plain
    even = _spread_evenly(logs, target, weight, how, ignore_index, axis)
    return (1 - label_smoothing) * plain + even * (label_smoothing / input.shape[axis])


def _over_classes(weight: Tensor, ndim: int, axis: int) -> Tensor:
    return weight.reshape([-1 if d == axis else 1 for d in range(ndim)])


def _entropy_of_shares(
    logs: Tensor, target: Tensor, weight: Any, how: str, smoothing: float, axis: int
) -> Tensor:
    """Cross entropy with a probability for each class."""
    if not target.dtype.is_floating_point:
        raise RuntimeError(
            f"Expected floating point type for target with class probabilities, got {kind_name(target._array)}"
        )
    classes = logs.shape[axis]
    if weight is not None and weight._array.shape != (classes,):
        raise RuntimeError(
            f"cross_entropy: weight tensor should be defined either for all {classes} classes or no classes but got "
            f"weight tensor of shape: {list(weight.shape)}"
        )
    if smoothing:
        target = target * (1 - smoothing) + smoothing / classes
    terms = (
        logs * target if weight is None else logs * target * _over_classes(weight, logs.ndim, axis)
    )
    if how == "none":
        return -terms.sum(axis)
    return -terms.sum() / (logs.numel() / classes if how == "mean" else 1)


def _spread_evenly(
    logs: Tensor, target: Tensor, weight: Any, how: str, ignore_index: int, axis: int
) -> Tensor:
    """The cross entropy with an even share for every class."""
    terms = logs if weight is None else logs * _over_classes(weight, logs.ndim, axis)
    ignored: Any = target == ignore_index
    losses = (-terms.sum(axis)).reshape(target.shape).masked_fill(ignored, 0)
    if how != "mean":
        return reduced(losses, how)
    if weight is None:
        return losses.sum() / (~ignored).sum()
    return losses.sum() / weight.gather(0, target.reshape(-1)[~ignored.reshape(-1)]).sum()


def linear_cross_entropy(
    input: Tensor, linear_weight: Tensor, target: Tensor, *, linear_bias: Tensor | None = None,
    weight: Tensor | None = None, reduction: str = "mean", ignore_index: int | None = None,
    label_smoothing: float = 0.0, options: Any = None,
) -> Tensor:  # fmt: skip
    """The cross entropy of a linear layer's output."""
    from .linear import linear

    if input.ndim not in (1, 2):
        raise RuntimeError(f"expected input with dimensionality 1 or 2, got {input.ndim}")
    if linear_weight.ndim < 2:
        raise RuntimeError(
            f"expected linear_weight with dimensionality at least 2, got {linear_weight.ndim}"
        )
    if input.shape[-1] != linear_weight.shape[-1]:
        raise RuntimeError(
            "expected equal input and linear_weight last dimensions (in_features), "
            f"got {input.shape[-1]} and {linear_weight.shape[-1]}, respectively"
        )
    outputs = tuple(linear_weight.shape[:-1])
    if linear_bias is not None and tuple(linear_bias.shape) != outputs:
        raise RuntimeError(f"expected linear_bias shape {outputs}, got {tuple(linear_bias.shape)}")
    if len(outputs) > 1 and input.ndim == 1:
        raise RuntimeError(
            f"K-dimensional loss defined by linear_weight shape {tuple(linear_weight.shape)} requires batched input, "
            f"(N, {input.shape[-1]}), got unbatched input with shape {tuple(input.shape)}"
        )
    shape = (*input.shape[:-1], *outputs)
    if ignore_index is not None and tuple(target.shape) == shape:
        raise RuntimeError("ignore_index cannot be specified when target contains probabilities")
    rows = linear_weight.reshape(-1, linear_weight.shape[-1])
    logits = linear(input, rows, None if linear_bias is None else linear_bias.reshape(-1)).reshape(
        shape
    )
    ignored = -100 if ignore_index is None else ignore_index
    return cross_entropy(
        logits,
        target,
        weight,
        ignore_index=ignored,
        reduction=reduction,
        label_smoothing=label_smoothing,
    )


# --- Two classes -----------------------------------------------------------------------------------


def _binary(input: Array, target: Array) -> Array:
    """Cross entropy of two classes; logarithms stop at -100."""
    if input.size and not (input.min() >= 0 and input.max() <= 1):
        raise RuntimeError("all elements of input should be between 0 and 1")
    yes, no = np.maximum(np.log(input), -100), np.maximum(np.log1p(-input), -100)
    return (target - 1) * no - target * yes


BINARY = Op(
    "binary_cross_entropy", ("input", "target"), in_single(_binary),
    {
        "input": lambda g, input, target: bind(BINARY_BACKWARD, (g, input, target), {}),
        "target": lambda g, input: g * ((1 - input).log() - input.log()),
    },
    doc="Cross entropy of two classes, from the probability of one.",
)  # fmt: skip


def _binary_backward(grad: Array, input: Array, target: Array) -> Array:
    return grad * ((input - target) / np.maximum((1 - input) * input, 1e-12))


def _spread_of(x: Any) -> Any:
    return (1 - x) * x + 1e-12


BINARY_BACKWARD = Op(
    "binary_cross_entropy_backward", ("grad", "input", "target"), in_single(_binary_backward),
    {
        "grad": lambda g, input, target: g * (input - target) / _spread_of(input),
        "input": lambda g, grad, input, target:
            g * grad * (input * input - 2 * input * target + target) / _spread_of(input).square(),
        "target": lambda g, grad, input: -g * grad / ((1 - input) * input),
    },
)  # fmt: skip


def binary_cross_entropy(
    input: Tensor, target: Tensor, weight: Tensor | None = None, size_average: Any = None, reduce: Any = None,
    reduction: str = "mean",
) -> Tensor:  # fmt: skip
    """Cross entropy of two classes, from the probability of one."""
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
    loss = BINARY(input, target)
    return reduced(loss if weight is None else loss * weight, how)


def binary_cross_entropy_with_logits(
    input: Tensor, target: Tensor, weight: Tensor | None = None, size_average: Any = None, reduce: Any = None,
    reduction: str = "mean", pos_weight: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """Cross entropy of two classes, from the score of one."""
    how = how_reduced(reduction, size_average, reduce)
    if target.shape != input.shape:
        raise ValueError(
            f"Target size ({target.shape}) must be the same as input size ({input.shape})"
        )
    logs = logsigmoid(input)
    if pos_weight is not None:
        logs = logs * ((pos_weight - 1) * target + 1)
    loss = (1 - target) * input - logs
    return reduced(loss if weight is None else loss * weight, how)


def kl_div(
    input: Tensor, target: Tensor, size_average: Any = None, reduce: Any = None, reduction: Any = "mean",
    log_target: bool = False,
) -> Tensor:  # fmt: skip
    """How far a distribution is from the target's, from logarithms of its probabilities."""
    if reduction == "mean" and size_average is None and reduce is None:
        warnings.warn(
            "reduction: 'mean' divides the total loss by both the batch size and the support size. 'batchmean' divides "
            "only by the batch size, and aligns with the KL div math definition. 'mean' will be changed to behave the "
            "same as 'batchmean' in the next major release.",
            stacklevel=2,
        )
    loss = target.exp() * (target - input) if log_target else target.xlogy(target) - target * input
    if reduction == "batchmean" and size_average is None and reduce is None:
        return loss.sum() / input.shape[0] if input.ndim else loss.sum()
    return reduced(loss, reduction, size_average, reduce)


# --- Margins ---------------------------------------------------------------------------------------


def soft_margin_loss(
    input: Tensor,
    target: Tensor,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
) -> Tensor:
    """log(1 + exp(-target input)), for targets 1 and -1."""
    return reduced((-target * input).exp().log1p(), reduction, size_average, reduce)


def hinge_embedding_loss(
    input: Tensor,
    target: Tensor,
    margin: float = 1.0,
    size_average: Any = None,
    reduce: Any = None,
    reduction: Any = "mean",
) -> Tensor:
    """The input where the target is 1, what it lacks to a margin where it is -1."""
    near, far = where(target != -1, input, 0), where(target != 1, (margin - input).clamp_min(0), 0)
    return reduced(near + far, reduction, size_average, reduce)


def margin_ranking_loss(
    input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0, size_average: Any = None, reduce: Any = None,
    reduction: Any = "mean",
) -> Tensor:  # fmt: skip
    """How much the first lacks to be larger (target 1) or smaller (-1) than the second by a margin."""
    if not input1.ndim == input2.ndim == target.ndim:
        raise RuntimeError(
            f"margin_ranking_loss : All input tensors should have same dimension but got sizes: input1: {input1.shape}, "
            f"input2: {input2.shape}, target: {target.shape} "
        )
    return reduced(
        (-target * (input1 - input2) + margin).clamp_min(0), reduction, size_average, reduce
    )


def multilabel_soft_margin_loss(
    input: Tensor, target: Tensor, weight: Tensor | None = None, size_average: Any = None, reduce: Any = None,
    reduction: str = "mean",
) -> Tensor:  # fmt: skip
    """Cross entropy of two classes for each label, averaged over labels."""
    loss = -(target * logsigmoid(input) + (1 - target) * logsigmoid(-input))
    loss = loss if weight is None else loss * weight
    return reduced(loss.sum(-1) / input.shape[-1], reduction, size_average, reduce)


def cosine_embedding_loss(
    input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0, size_average: Any = None, reduce: Any = None,
    reduction: Any = "mean",
) -> Tensor:  # fmt: skip
    """1 minus the cosine where the target is 1, what it exceeds a margin by where it is -1."""
    if target.ndim > 1:
        raise RuntimeError("0D or 1D target tensor expected, multi-target not supported")
    if input1.ndim != target.ndim + 1 or input2.ndim != target.ndim + 1:
        raise RuntimeError(
            f"{target.ndim}D target tensor expects {target.ndim + 1}D input tensors, but found inputs with sizes "
            f"{list(input1.shape)} and {list(input2.shape)}."
        )
    lengths = ((input1 * input1).sum(-1) + 1e-12) * ((input2 * input2).sum(-1) + 1e-12)
    cosine = (input1 * input2).sum(-1) / lengths.sqrt()
    alike, apart = (
        where(target == 1, 1 - cosine, 0),
        where(target == -1, (cosine - margin).clamp_min(0), 0),
    )
    return reduced(alike + apart, reduction, size_average, reduce)


def multi_margin_loss(
    input: Tensor, target: Tensor, p: int = 1, margin: float = 1.0, weight: Tensor | None = None,
    size_average: Any = None, reduce: Any = None, reduction: str = "mean",
) -> Tensor:  # fmt: skip
    """How much the other classes come closer than a margin to the right one."""
    how = how_reduced(reduction, size_average, reduce)
    if p not in (1, 2):
        raise ValueError("only p == 1 and p == 2 supported")
    if weight is not None and weight.ndim != 1:
        raise ValueError("weight must be one-dimensional")
    rows, classes = _rows_of("multi_margin_loss", input), target.reshape(-1, 1)
    if classes.shape[0] != rows.shape[0] or target.ndim > 1:
        raise RuntimeError(
            f"inconsistent target size, got: {list(target.shape)} for input of {list(input.shape)}"
        )
    if weight is not None and weight.numel() != rows.shape[1]:
        raise RuntimeError(
            f"inconsistent weight size, expected {rows.shape[1]} but got {list(weight.shape)}"
        )
    if target.numel() and not (target._array.min() >= 0 and target._array.max() < rows.shape[1]):
        raise RuntimeError("target out of range")
    losses = (margin - rows.gather(1, classes) + rows).clamp_min(0)
    losses = losses if p == 1 else losses * losses
    losses = (
        losses
        if weight is None
        else losses * weight.index_select(0, classes.reshape(-1)).unsqueeze(1)
    )
    loss = losses.scatter(1, classes, 0).sum(1) / rows.shape[1]
    return reduced(loss.reshape(target.shape) if how == "none" else loss, how)


def _rows_of(name: str, input: Tensor) -> Tensor:
    """A sample as a batch of one."""
    if input.ndim > 2 or 0 in input.shape[-1:]:
        raise RuntimeError(
            f"{name}: Expected non-empty vector or matrix with optional 0-dim batch size, but got: {list(input.shape)}"
        )
    return input if input.ndim == 2 else input.reshape(1, -1)


def multilabel_margin_loss(
    input: Tensor,
    target: Tensor,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
) -> Tensor:
    """How much wrong labels come closer than 1 to right ones; a target's labels end at the first -1."""
    how = how_reduced(reduction, size_average, reduce)
    rows = _rows_of("multilabel_margin_loss", input)
    if target._array.shape != input._array.shape:
        raise RuntimeError(
            f"inconsistent target size: {list(target.shape)} for input of size: {list(input.shape)}"
        )
    labels = target._array.reshape(rows._array.shape)
    if labels.size and not (labels.min() >= -1 and labels.max() < rows.shape[1]):
        raise RuntimeError(
            f"multilabel_margin_loss: Expected all target values to be between -1 and {rows.shape[1] - 1}"
        )
    named = np.logical_and.accumulate(labels >= 0, axis=1)
    labels = np.where(named, labels, 0)
    right = np.zeros(labels.shape, bool)
    right[np.nonzero(named)[0], labels[named]] = True
    counted = wrap(named[:, :, None] & ~right[:, None, :])
    gaps = (1 - rows.gather(1, wrap(labels)).unsqueeze(2) + rows.unsqueeze(1)).clamp_min(0)
    loss = gaps.masked_fill(~counted, 0).sum((1, 2)) / rows.shape[1]
    return reduced(loss.reshape(target.shape[:-1]) if how == "none" else loss, how)


def triplet_margin_loss(
    anchor: Tensor, positive: Tensor, negative: Tensor, margin: float = 1.0, p: float = 2, eps: float = 1e-6,
    swap: bool = False, size_average: Any = None, reduce: Any = None, reduction: str = "mean",
) -> Tensor:  # fmt: skip
    """How much the negative lacks to be farther from the anchor than the positive by a margin."""
    how = how_reduced(reduction, size_average, reduce)
    return triplet_margin_with_distance_loss(
        anchor, positive, negative, margin=margin, swap=swap, reduction=how,
        distance_function=lambda a, b: pairwise_distance(a, b, p, eps),
    )  # fmt: skip


def triplet_margin_with_distance_loss(
    anchor: Tensor, positive: Tensor, negative: Tensor, *, distance_function: Callable[[Tensor, Tensor], Tensor] | None = None,
    margin: float = 1.0, swap: bool = False, reduction: str = "mean",
) -> Tensor:  # fmt: skip
    """`triplet_margin_loss` with a distance of one's own."""
    how = how_reduced(reduction)
    if margin <= 0:
        raise ValueError(f"margin must be greater than 0, got {margin}")
    if not anchor.ndim == positive.ndim == negative.ndim:
        raise RuntimeError(
            "The anchor, positive, and negative tensors are expected to have the same number of dimensions, but got: "
            f"anchor {anchor.ndim}D, positive {positive.ndim}D, and negative {negative.ndim}D inputs"
        )
    distance = distance_function or pairwise_distance
    near, far = distance(anchor, positive), distance(anchor, negative)
    if swap:
        far = FUNCTIONS["minimum"](far, distance(positive, negative))
    return reduced((margin + near - far).clamp_min(0), how)


# --- As torch.name, where the reduction is a number -----------------------------------------------


def _numbered(fn: Callable[..., Tensor], names: tuple[str, ...]) -> None:
    def call(*args: Any, **kwargs: Any) -> Tensor:
        given = dict(zip(names, args, strict=False)) | kwargs
        return fn(**{"reduction": 1} | given)

    call.__name__, call.__doc__ = fn.__name__, fn.__doc__
    function(call)


for _fn, _names in [
    (kl_div, "input target reduction"),
    (hinge_embedding_loss, "input target margin reduction"),
    (margin_ranking_loss, "input1 input2 target margin reduction"),
    (cosine_embedding_loss, "input1 input2 target margin reduction"),
    (triplet_margin_loss, "anchor positive negative margin p eps swap reduction"),
    (poisson_nll_loss, "input target log_input full eps reduction"),
    (binary_cross_entropy_with_logits, "input target weight pos_weight reduction"),
]:
    _numbered(_fn, tuple(_names.split()))
