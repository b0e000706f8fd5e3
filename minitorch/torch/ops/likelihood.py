"""Negative log likelihood and cross entropy of classes."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import dtypes
from ..autograd.graph import ShownNode
from ..backends.interface import as_array
from ..formulas import losses
from ..interpreters import composite
from ..tensor import Array, Tensor
from .layout import in_order
from .linear import linear
from .loss import how_reduced, reduced
from .precision import in_single, kind_name, require_floats, widened
from .promotion import plain_integer, plain_number
from .record import Op, bind
from .softmax import SOFTMAX_BACKWARD, log_softmax, softmax
from .surface import check_no_gradient, check_tensor

# --- Classes -------------------------------------------------------------------------------------


def _nll_weights(
    target: Array, weight: Array | None, ignore_index: int, kind: Any
) -> tuple[Array, Array]:
    """Each target's class (0 if ignored), and its weight."""
    kept = target != ignore_index
    classes = np.where(kept, target, 0)
    return classes, kept.astype(kind) if weight is None else np.where(
        kept, weight[classes], kind.type(0)
    )


def _check_bounds(classes: Array, count: int) -> None:
    if classes.size and not (classes.min() >= 0 and classes.max() < count):
        wrong = classes[(classes < 0) | (classes >= count)]
        raise IndexError(f"Target {wrong.reshape(-1)[0]} is out of bounds.")


def _nll(
    input: Array, target: Array, weight: Array | None, reduction: str, ignore_index: int
) -> Array:
    """The weighted negative log likelihood of each target; the classes are dimension 1, or the only one."""
    axis = min(input.ndim - 1, 1)
    classes, weights = _nll_weights(target, weight, ignore_index, input.dtype)
    _check_bounds(classes, input.shape[axis])
    chosen = np.take_along_axis(input, np.expand_dims(classes, axis), axis).squeeze(axis)
    each = np.where(target == ignore_index, input.dtype.type(0), -chosen * weights)
    if reduction == "none":
        return each
    total = each.sum()
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
    shares = np.where(target == ignore_index, grad.dtype.type(0), shares)
    out = np.zeros(shape, grad.dtype, like=grad)
    np.put_along_axis(out, np.expand_dims(classes, axis), np.expand_dims(shares, axis), axis)
    return out


NLL = Op(
    "nll_loss", ("input", "target", "weight"), in_order(in_single(_nll)),
    {
        "input": lambda g, target, weight, shapes, reduction, ignore_index: bind(
            NLL_BACKWARD, (g, target, weight), {"shape": shapes[0], "reduction": reduction, "ignore_index": ignore_index}
        ),
        "target": None,
        "weight": None,
    },
    doc="The negative log likelihood of each target.",
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


@composite
def nll_loss(
    input: Tensor, target: Tensor, weight: Tensor | None = None, size_average: Any = None, ignore_index: int = -100,
    reduce: Any = None, reduction: str = "mean",
) -> Tensor:  # fmt: skip
    """The negative log likelihood of each target class, from log probabilities."""
    how = how_reduced(reduction, size_average, reduce)
    _check_classes(input, target, weight)
    require_floats("nll_loss_out_frame", input._array)
    if input._array.ndim == 1 and target._array.ndim == 1:
        target = target.reshape(())
    ignored = plain_integer(ignore_index, "nll_loss", "ignore_index")
    return bind(NLL, (input, target, weight), {"reduction": how, "ignore_index": ignored})


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
    if weight is None:
        return
    check_no_gradient("nll_loss_forward", weight=weight)
    if weight.dtype is not input.dtype:
        raise RuntimeError(
            f"expected scalar type {kind_name(input._array)} but found {kind_name(weight._array)}"
        )
    if weight._array.shape != (classes,):
        raise RuntimeError(
            f"weight tensor should be defined either for all {classes} classes or no classes but got weight tensor of "
            f"shape: {list(weight.shape)}"
        )


def _cross_entropy(
    input: Array,
    target: Array,
    weight: Array | None,
    reduction: str,
    ignore_index: int,
    smoothing: float,
) -> tuple[Array, Array, Array]:
    """The loss of rows of logits, what backward needs of each row, and the divisor of the losses."""
    each, sums = losses.cross_entropy(input, target, weight, ignore_index, smoothing)
    if reduction == "none":
        return each, sums, np.ones((), sums.dtype)
    total = np.add.reduce(widened(each))
    if reduction == "sum":
        count = np.ones((), sums.dtype)
    elif weight is None:
        count = as_array((target != ignore_index).sum()).astype(sums.dtype)
    else:
        count = as_array(_nll_weights(target, weight, ignore_index, sums.dtype)[1].sum())
    return as_array(total / count).astype(input.dtype, copy=False), sums, count


def _cross_entropy_backward(
    grad: Array, input: Array, target: Array, weight: Array | None, sums: Array, count: Array,
    ignore_index: int, smoothing: float,
) -> Array:  # fmt: skip
    rows = as_array(widened(grad) / count)
    if rows.shape != target.shape:
        rows = np.broadcast_to(rows, target.shape)
    return losses.cross_entropy_backward(rows, input, sums, target, weight, ignore_index, smoothing)


def _aims(target: Tensor, weight: Any, like: Any, ignore_index: int, smoothing: float) -> Any:
    """The weight of each class in each row's loss: the gradient is aims.sum() softmax - aims."""
    kept = target.ne(ignore_index).to(like.dtype).unsqueeze(1)
    classes = target.masked_fill(target.eq(ignore_index), 0).unsqueeze(1)
    aims = like.new_zeros(like.shape).scatter(1, classes, 1 - smoothing) + smoothing / like.shape[1]
    return aims * kept if weight is None else aims * kept * weight


def _again(
    g: Any,
    grad: Any,
    input: Any,
    target: Any,
    weight: Any,
    count: Any,
    ignore_index: int,
    smoothing: float,
) -> Any:
    """The derivatives of the backward (double backward)."""
    p, aims = softmax(input, 1), _aims(target, weight, input, ignore_index, smoothing)
    total = aims.sum(1, keepdim=True)
    rows = (g * (total * p - aims)).sum(1) / count
    share = (grad / count).reshape(-1, 1)
    by_input = share * total * bind(SOFTMAX_BACKWARD, (g, p), {"dim": 1})
    return rows if grad.ndim else rows.sum(), by_input, None, None, None, None


def _shown_as(node: Any) -> Any:
    """The node that programs see: in Torch, a log-softmax comes first."""
    return NLL.node_name, [(ShownNode("LogSoftmaxBackward0", node.edges[:1]), 0)]


CROSS_ENTROPY = Op(
    "cross_entropy_loss", ("input", "target", "weight"), _cross_entropy,
    {
        "input": lambda g, input, target, weight, sums, count, ignore_index, smoothing: bind(
            CROSS_ENTROPY_BACKWARD, (g, input, target, weight, sums, count),
            {"ignore_index": ignore_index, "smoothing": smoothing},
        ),
        "target": None,
        "weight": None,
    },
    differentiable=1, outputs=("out", "sums", "count"), node=NLL.node_name, shown_as=_shown_as,
    doc="The negative log-softmax at each target.",
)  # fmt: skip
CROSS_ENTROPY_BACKWARD = Op(
    "cross_entropy_loss_backward", ("grad", "input", "target", "weight", "sums", "count"),
    _cross_entropy_backward, _again,
)  # fmt: skip


@composite
def cross_entropy(
    input: Tensor, target: Tensor, weight: Tensor | None = None, size_average: Any = None, ignore_index: int = -100,
    reduce: Any = None, reduction: str = "mean", label_smoothing: float = 0.0,
) -> Tensor:  # fmt: skip
    """The negative log-softmax at each target: class indices, or probabilities of classes.

    Args:
        input: logits, the classes in dimension 1 (or 0 of a single sample)
        target: class indices, or probabilities in the shape of the input
        weight: one number for each class
        size_average: old form of `reduction`
        ignore_index: a target that is ignored
        reduce: old form of `reduction`
        reduction: "none", "mean" or "sum"
        label_smoothing: how much of each target is spread evenly over all classes
    """
    how = how_reduced(reduction, size_average, reduce)
    ignore_index = plain_integer(ignore_index, "cross_entropy_loss", "ignore_index")
    label_smoothing = plain_number(label_smoothing, "cross_entropy_loss", "label_smoothing")
    if not 0 <= label_smoothing <= 1:
        raise RuntimeError(f"label_smoothing must be between 0.0 and 1.0. Got: {label_smoothing}")
    if input._array.ndim == 2 and target._array.ndim == 1:
        _check_classes(input, target, weight)
        require_floats("log_softmax_lastdim_kernel_impl", input._array)
        params = {"reduction": how, "ignore_index": ignore_index, "smoothing": label_smoothing}
        return bind(CROSS_ENTROPY, (input, target, weight), params)[0]
    axis = min(input.ndim - 1, 1)
    logs = log_softmax(input, axis, dtype=input.dtype)
    if target._array.shape == input._array.shape:
        if ignore_index >= 0 and target.dtype.is_floating_point:
            raise RuntimeError("ignore_index is not supported for floating point target")
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
    """Cross entropy with class probabilities as targets."""
    if not target.dtype.is_floating_point:
        raise RuntimeError(
            f"Expected floating point type for target with class probabilities, got {kind_name(target._array)}"
        )
    classes = max(logs.shape[axis], 1)
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
    """The cross entropy with the uniform distribution."""
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
    check_tensor("linear_cross_entropy", target, "target")
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
