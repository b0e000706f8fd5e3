"""Losses, most of them compositions.

A loss is computed for each element, then `reduced`. Records of their own have those that index
(negative log likelihood), or whose derivative in Torch is not that of the composition (binary
cross entropy).
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from .. import dtypes
from ..backends.interface import as_numpy
from ..interpreters import composite
from ..tensor import Tensor, wrap_beside
from .activation import logsigmoid
from .analysis import SQUARE
from .comparison import where
from .distance import pairwise_distance
from .nodes import as_one
from .precision import kind_name, require_floats
from .promotion import broadcast_shapes, exact_number, result_type, wide_type
from .record import Op
from .surface import check_no_gradient, function
from .writes import check_castable

# --- Reduction ---------------------------------------------------------------------------------

_NUMBERED = {0: "none", 1: "mean", 2: "sum"}


def reduced(loss: Tensor, reduction: Any, size_average: Any = None, reduce: Any = None) -> Tensor:
    """The losses, their mean, or their sum; the two deprecated flags take precedence over `reduction`."""
    return _weighed(loss, loss, None, how_reduced(reduction, size_average, reduce))


def how_reduced(reduction: Any, size_average: Any = None, reduce: Any = None) -> str:
    """One of "none", "mean", "sum" from `reduction` or the deprecated flags; ValueError for anything else."""
    if size_average is not None or reduce is not None:
        warnings.warn(
            "size_average and reduce args will be deprecated, please use reduction instead.",
            stacklevel=4,
        )
        average, one = size_average is None or bool(size_average), reduce is None or bool(reduce)
        return "none" if not one else "mean" if average else "sum"
    if reduction not in ("none", "mean", "sum"):
        raise ValueError(f"{reduction} is not a valid value for reduction")
    return reduction


# --- Regression ----------------------------------------------------------------------------------


def _meet(input: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
    """Both broadcast to one shape, with a warning if their shapes differ."""
    if input._array.shape != target._array.shape:
        warnings.warn(
            f"Using a target size ({target.shape}) that is different to the input size ({input.shape}). This will likely "
            "lead to incorrect results due to broadcasting. Please ensure they have the same size.",
            stacklevel=3,
        )
        shape = broadcast_shapes("loss", input._array.shape, target._array.shape)
        return input.expand(shape), target.expand(shape)
    return input, target


def _difference(name: str, input: Tensor, target: Tensor) -> Tensor:
    """Input minus target, in their common dtype, which must be floating point or complex."""
    if input._array.dtype.char in "fd" and target._array.dtype == input._array.dtype:
        return input - target
    kind = input.dtype
    if target.dtype is not kind:
        kind = result_type(input, target)
        input, target = input.to(kind), target.to(kind)
    if kind.kind != dtypes.FLOATING:
        name_of_type = kind.type_name.removesuffix("Tensor")
        raise NotImplementedError(f"\"{name}\" not implemented for '{name_of_type}'")
    return input - target


def _weighed(loss: Tensor, input: Tensor, weight: Tensor | None, how: str) -> Tensor:
    """Weighted losses, reduced; their mean is divided by the sum of the weights."""
    if weight is None:
        return loss if how == "none" else loss.mean() if how == "mean" else loss.sum()
    if weight.shape != input.shape:
        raise ValueError("Weights and input must have the same size.")
    return (loss * weight).sum() / weight.sum() if how == "mean" else reduced(loss * weight, how)


SQUARED_ERROR = Op(
    "square", ("input",), SQUARE.compute, {"input": lambda g, input: 2 * (g * input)},
    kind=SQUARE.kind, scalar=SQUARE.scalar, ufunc=SQUARE.ufunc,
)  # fmt: skip
"""A square whose gradient is doubled last: of a mean, where twice the error may overflow."""


@composite
def mse_loss(
    input: Tensor, target: Tensor, size_average: Any = None, reduce: Any = None, reduction: str = "mean",
    weight: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """The squared error."""
    met, target = _meet(input, target)
    how = how_reduced(reduction, size_average, reduce)
    apart = _difference("mse_cpu", met, target) if weight is None else met - target
    if weight is not None:
        return _weighed(apart.square(), input, weight, how)
    squares = SQUARED_ERROR(apart) if how == "mean" and apart.numel() > 1 else apart.square()
    return as_one("MseLossBackward0", _weighed(squares, input, None, how), input, target)


@composite
def l1_loss(
    input: Tensor, target: Tensor, size_average: Any = None, reduce: Any = None, reduction: str = "mean",
    weight: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """The absolute error."""
    met, target = _meet(input, target)
    how = how_reduced(reduction, size_average, reduce)
    return _weighed((met - target).abs(), input, weight, how)


@composite
def smooth_l1_loss(
    input: Tensor, target: Tensor, size_average: Any = None, reduce: Any = None, reduction: str = "mean",
    beta: float = 1.0,
) -> Tensor:  # fmt: skip
    """The absolute error, quadratic where it is below `beta`."""
    input, target = _meet(input, target)
    if not beta >= 0:
        raise RuntimeError("smooth_l1_loss does not support negative values for beta.")
    if beta == 0:
        return reduced((input - target).abs(), reduction, size_average, reduce)
    apart = _difference("smooth_l1_cpu", input, target).abs()
    far = apart >= beta
    near = apart.masked_fill(far, 0)  # clamped, so that the square does not overflow
    loss = where(far, apart - 0.5 * beta, 0.5 * near * near / beta)
    loss = reduced(loss, reduction, size_average, reduce)
    return as_one("SmoothL1LossBackward0", loss, input, target)


@composite
def huber_loss(
    input: Tensor,
    target: Tensor,
    reduction: str = "mean",
    delta: float = 1.0,
    weight: Tensor | None = None,
) -> Tensor:
    """Half the squared error, linear where the absolute error is above `delta`."""
    _meet(input, target)
    if not delta > 0:
        raise RuntimeError("huber_loss does not support non-positive values for delta.")
    apart = _difference("huber_cpu", input, target).abs()
    check_castable(apart.dtype, input.dtype)
    far = apart >= delta
    near = apart.masked_fill(far, 0)  # clamped, so that the square does not overflow
    loss = where(far, delta * (apart - 0.5 * delta), 0.5 * near * near).to(input.dtype)
    if weight is None:
        return as_one("HuberLossBackward0", reduced(loss, reduction), input, target)
    if weight.shape != input.shape:
        raise ValueError("Weights and input must have the same size.")
    return reduced(loss * weight, reduction)


# --- Margins ---------------------------------------------------------------------------------------


@composite
def soft_margin_loss(
    input: Tensor,
    target: Tensor,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
) -> Tensor:
    """log(1 + exp(-target input)), for targets 1 and -1."""
    check_no_gradient("soft_margin_loss", target=target)
    if input.dtype.kind < max(dtypes.FLOATING, target.dtype.kind):
        kind = "ComplexFloat" if target.dtype.is_complex else "Float"
        raise RuntimeError(
            f"result type {kind} can't be cast to the desired output type {kind_name(input._array)}"
        )
    if broadcast_shapes("soft_margin_loss", input._array.shape, target._array.shape) != input.shape:
        raise RuntimeError(
            f"output with shape {list(input.shape)} doesn't match the broadcast shape with {list(target.shape)}"
        )
    loss = (target * -input).exp().log1p().to(input.dtype)
    return reduced(loss, reduction, size_average, reduce)


@composite
def hinge_embedding_loss(
    input: Tensor,
    target: Tensor,
    margin: float = 1.0,
    size_average: Any = None,
    reduce: Any = None,
    reduction: Any = "mean",
) -> Tensor:
    """The input where the target is 1, max(0, margin - input) where it is -1."""
    lack = (input.new_full((), margin) - input).clamp_min(0)  # the margin in the input's dtype
    near, far = where(target != -1, input, 0), where(target != 1, lack, 0)
    return reduced(near + far, reduction, size_average, reduce)


@composite
def margin_ranking_loss(
    input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0, size_average: Any = None, reduce: Any = None,
    reduction: Any = "mean",
) -> Tensor:  # fmt: skip
    """max(0, -target (input1 - input2) + margin)."""
    if not input1.ndim == input2.ndim == target.ndim:
        raise RuntimeError(
            f"margin_ranking_loss : All input tensors should have same dimension but got sizes: input1: {input1.shape}, "
            f"input2: {input2.shape}, target: {target.shape} "
        )
    return _ranked(input1, input2, target, margin, how_reduced(reduction, size_average, reduce))


def _ranked(
    input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0.0, reduction: str = "mean"
) -> Tensor:
    return reduced((-target * (input1 - input2) + float(margin)).clamp_min(0), reduction)


def multilabel_soft_margin_loss(
    input: Tensor, target: Tensor, weight: Tensor | None = None, size_average: Any = None, reduce: Any = None,
    reduction: str = "mean",
) -> Tensor:  # fmt: skip
    """Binary cross entropy of logits for each label, averaged over labels."""
    loss = -(target * logsigmoid(input) + (1 - target) * logsigmoid(-input))
    loss = loss if weight is None else loss * weight
    classes = input.ndim - 1
    return reduced(loss.sum(classes) / input.size(classes), reduction, size_average, reduce)


@composite
def cosine_embedding_loss(
    input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0, size_average: Any = None, reduce: Any = None,
    reduction: Any = "mean",
) -> Tensor:  # fmt: skip
    """1 - cosine where the target is 1, max(0, cosine - margin) where it is -1."""
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


@composite
def multi_margin_loss(
    input: Tensor, target: Tensor, p: int = 1, margin: float = 1.0, weight: Tensor | None = None,
    size_average: Any = None, reduce: Any = None, reduction: str = "mean",
) -> Tensor:  # fmt: skip
    """The mean over the other classes of max(0, margin - input[target] + input[i])^p."""
    how = how_reduced(reduction, size_average, reduce)
    check_no_gradient("multi_margin_loss", weight=weight)
    if p not in (1, 2):
        raise ValueError("only p == 1 and p == 2 supported")
    if weight is not None and weight.ndim != 1:
        raise ValueError("weight must be one-dimensional")
    rows, classes = _rows_of("multi_margin_loss", input), target.reshape(-1, 1)
    if classes.shape[0] != rows.shape[0] or target.ndim > 1:
        raise RuntimeError(
            f"inconsistent target size, got: {list(target.shape)} for input of {list(input.shape)}"
        )
    if weight is not None and weight.dtype is not input.dtype:
        raise RuntimeError(
            f"expected scalar type {kind_name(input._array)} but found {kind_name(weight._array)}"
        )
    if weight is not None and weight.numel() != rows.shape[1]:
        raise RuntimeError(
            f"inconsistent weight size, expected {rows.shape[1]} but got {list(weight.shape)}"
        )
    if target.numel() and not (target._array.min() >= 0 and target._array.max() < rows.shape[1]):
        raise RuntimeError("target out of range")
    require_floats("multi_margin_loss_cpu_kernel", input._array)
    exact_number(margin, wide_type(input.dtype))
    losses = margin - rows.gather(1, classes) + rows
    losses = losses.masked_fill(~(losses > 0), 0)
    losses = losses if p == 1 else losses * losses
    losses = (
        losses
        if weight is None
        else losses * weight.index_select(0, classes.reshape(-1)).unsqueeze(1)
    )
    loss = losses.scatter(1, classes, 0).sum(1) / rows.shape[1]
    return reduced(loss.reshape(target.shape) if how == "none" else loss, how)


def _rows_of(name: str, input: Tensor) -> Tensor:
    """A single sample as a batch of one."""
    if input.ndim > 2 or 0 in input.shape[-1:]:
        raise RuntimeError(
            f"{name}: Expected non-empty vector or matrix with optional 0-dim batch size, but got: {list(input.shape)}"
        )
    return input if input.ndim == 2 else input.reshape(1, -1)


@composite
def multilabel_margin_loss(
    input: Tensor,
    target: Tensor,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
) -> Tensor:
    """max(0, 1 - (input[j] - input[i])), summed over targets j and other classes i; targets end at the first -1."""
    how = how_reduced(reduction, size_average, reduce)
    require_floats("multilabel_margin_loss_forward_out_frame", input._array)
    rows = _rows_of("multilabel_margin_loss", input)
    single = input._array.size == target._array.size == 1 and max(input.ndim, target.ndim) == 1
    if target._array.shape != input._array.shape and not single:
        raise RuntimeError(
            f"inconsistent target size: {list(target.shape)} for input of size: {list(input.shape)}"
        )
    if target.dtype is not dtypes.int64:
        raise RuntimeError(f"expected scalar type Long but found {kind_name(target._array)}")
    labels = as_numpy(target._array).reshape(rows._array.shape)
    if labels.size and not (labels.min() >= -1 and labels.max() < rows.shape[1]):
        raise RuntimeError(
            f"multilabel_margin_loss: Expected all target values to be between -1 and {rows.shape[1] - 1}"
        )
    named = np.logical_and.accumulate(labels >= 0, axis=1)
    labels = np.where(named, labels, 0)
    right = np.zeros(labels.shape, bool)
    right[np.nonzero(named)[0], labels[named]] = True
    counted = wrap_beside(named[:, :, None] & ~right[:, None, :], rows)
    gaps = 1 - rows.gather(1, wrap_beside(labels, rows)).unsqueeze(2) + rows.unsqueeze(1)
    loss = gaps.masked_fill(~(counted & (gaps > 0)), 0).sum((1, 2)) / rows.shape[1]
    return reduced(loss.reshape(target.shape[:-1]) if how == "none" else loss, how)


@composite
def triplet_margin_loss(
    anchor: Tensor, positive: Tensor, negative: Tensor, margin: float = 1.0, p: float = 2, eps: float = 1e-6,
    swap: bool = False, size_average: Any = None, reduce: Any = None, reduction: str = "mean",
) -> Tensor:  # fmt: skip
    """max(0, d(anchor, positive) - d(anchor, negative) + margin)."""
    _check_triplet(margin)
    how = how_reduced(reduction, size_average, reduce)
    return _by_distances(anchor, positive, negative, margin, p, eps, swap, how)


def _check_triplet(margin: float) -> None:
    if margin <= 0:
        raise ValueError(f"margin must be greater than 0, got {margin}")


def _by_distances(
    anchor: Tensor, positive: Tensor, negative: Tensor, margin: float = 1.0, p: float = 2, eps: float = 1e-6,
    swap: bool = False, reduction: str = "mean", distance: Callable[[Tensor, Tensor], Tensor] | None = None,
) -> Tensor:  # fmt: skip
    if not anchor.ndim == positive.ndim == negative.ndim:
        raise RuntimeError(
            "The anchor, positive, and negative tensors are expected to have the same number of dimensions, but got: "
            f"anchor {anchor.ndim}D, positive {positive.ndim}D, and negative {negative.ndim}D inputs"
        )
    measure = distance if distance is not None else partial(pairwise_distance, p=p, eps=eps)
    near, far = measure(anchor, positive), measure(anchor, negative)
    if swap:
        far = far.minimum(measure(positive, negative))
    return reduced((margin + near - far).clamp_min(0), reduction)


def triplet_margin_with_distance_loss(
    anchor: Tensor, positive: Tensor, negative: Tensor, *, distance_function: Callable[[Tensor, Tensor], Tensor] | None = None,
    margin: float = 1.0, swap: bool = False, reduction: str = "mean",
) -> Tensor:  # fmt: skip
    """`triplet_margin_loss` with a custom distance."""
    _check_triplet(margin)
    return _by_distances(
        anchor, positive, negative, margin, swap=swap, reduction=how_reduced(reduction), distance=distance_function
    )  # fmt: skip


# --- As torch.name, where the reduction is a number -----------------------------------------------


NUMBERED: dict[str, tuple[Callable[..., Tensor], Sequence[str]]] = {}
"""Losses that Torch also offers with a number for the reduction: what computes them, and their arguments there."""


def numbered(
    loss: Callable[..., Tensor], names: Sequence[str], usual: int
) -> Callable[..., Tensor]:
    """A loss with these arguments, where an integer says the reduction: the `usual` one if there is none."""

    def call(*args: Any, **kwargs: Any) -> Tensor:
        given = {"reduction": usual} | dict(zip(names, args, strict=False)) | kwargs
        how = given.pop("reduction")
        return loss(**given, reduction=_NUMBERED.get(how, "none") if isinstance(how, int) else how)

    return call


def with_numbers(
    fn: Callable[..., Tensor], names: Sequence[str], compute: Callable[..., Tensor] | None = None
) -> None:
    """Offer a loss as `torch.name`, where an integer that follows these arguments says the reduction.

    `compute` is used in place of `fn` where `fn` checks more than `torch.name` does.
    """
    NUMBERED[fn.__name__] = compute or fn, names
    call = numbered(compute or fn, names, 0)
    call.__name__, call.__doc__ = fn.__name__, fn.__doc__
    function(call)


for _fn, _names, _compute in [
    (hinge_embedding_loss, "input target margin reduction", None),
    (margin_ranking_loss, "input1 input2 target margin reduction", _ranked),
    (cosine_embedding_loss, "input1 input2 target margin reduction", None),
    (triplet_margin_loss, "anchor positive negative margin p eps swap reduction", _by_distances),
]:
    with_numbers(_fn, _names.split(), _compute)
