"""Normalization to mean 0 and variance 1 over some dimensions, then scaling.

Layer, batch, group and RMS norm differ in the dimensions that they average over and in the
shape of the weight; their derivatives are the same. With n = (x - mean) r, r = 1 / sqrt(var + eps)
and h = g weight, the gradient of x is P(h) = r (h - mean(h) - n mean(h n)).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from .. import dtypes
from ..formulas import norms
from ..interpreters import update
from ..tensor import Array, Tensor, bump_version
from .layout import as_image
from .padding import pad
from .pooling import avg_pool2d, avg_pool3d
from .precision import is_half, require_floats
from .record import Op, bind
from .surface import FUNCTIONS, check_no_gradient, function
from .writes import check_writable

Shape = tuple[int, ...]

# --- Records ---------------------------------------------------------------------------------


def normalization(
    name: str,
    forward: Callable[..., Any],
    backward: Callable[..., Any],
    along: Callable[[Any, Any], Any],
    spread: Callable[[Any, Any], Any],
    centred: bool = True,
) -> Op:
    """Declare a normalization and its backward.

    Args:
        name: as in Torch
        forward: from input, weight, bias, `by` (which elements are normalized together) and eps to the
            result, the means, r, and perhaps more
        backward: from g, input, weight, means, r and `by` to the gradients of the first three
        along: from a tensor and `by` to means that broadcast with it
        spread: from a weight and the input to a view of the weight that broadcasts with the input
        centred: whether means are subtracted
    """

    def gradients(g: Any, input: Any, weight: Any, mean: Any, r: Any, by: Any, eps: float) -> Any:
        return bind(back, (g, input, weight, mean, r), {"by": by, "eps": eps})

    def again(
        g: Any, grad: Any, input: Any, weight: Any, mean: Any, r: Any, by: Any, eps: float
    ) -> Any:
        """P is symmetric; its derivative by x is -r (n mean(v P(h)) + mean(h n) P(v) + mean(v n) P(h))."""
        v, by_weight, by_bias = g

        def pulled(x: Any) -> Any:
            return bind(back, (x, input, None, mean, r), {"by": by, "eps": eps})[0]

        n = bind(op, (input, None, None), {"by": by, "eps": eps})[0]
        moved = input - along(input, by) if centred else input
        live = (along(moved.square(), by) + eps).rsqrt()  # r, as a function of x
        h = grad if weight is None else grad * spread(weight, input)
        first, second = pulled(h), pulled(v)
        terms = n * along(v * first, by) + along(h * n, by) * second + along(v * n, by) * first
        if weight is None:
            return second, -live * terms, None, None, None
        factor, shift = spread(by_weight, input), spread(by_bias, input)
        by_grad = second * spread(weight, input) + factor * n + shift
        own = (grad * second).sum_to_size(spread(weight, input).shape).reshape(weight.shape)
        return by_grad, pulled(factor * grad) - live * terms, own, None, None

    back = Op(
        f"{name}_backward", ("grad", "input", "weight", "mean", "r"),
        lambda grad, input, weight, mean, r, by, eps: backward(grad, input, weight, mean, r, by), again,
    )  # fmt: skip
    op = Op(
        name, ("input", "weight", "bias"), forward, gradients, differentiable=1, outputs=("out", "mean", "r"),
        doc="The input normalized to mean 0 and variance 1 over dimensions, then scaled.",
    )  # fmt: skip
    return op


def _over_last(x: Any, by: Shape) -> Any:
    return x.mean(tuple(range(-len(by), 0)), keepdim=True)


def _over_channel(x: Any, by: None) -> Any:
    return x.mean((0, *range(2, x.ndim)), keepdim=True)


def _over_group(x: Any, by: int) -> Any:
    samples, channels, *rest = x._array.shape
    means = x.reshape(samples, by, -1).mean(2).repeat_interleave(channels // by, 1)
    return means.reshape(samples, channels, *(1 for _ in rest))


def _as_it_is(weight: Any, input: Any) -> Any:
    return weight


def _on_channels(weight: Any, input: Any) -> Any:
    """A vector with an element per channel, in a shape that broadcasts with an input (N, C, ...)."""
    return weight.reshape((1, -1) + (1,) * (input.ndim - 2)) if input.ndim > 1 else weight


def _batch_norm_forward(
    input: Array, weight: Any, bias: Any, by: None, eps: float
) -> tuple[Array, ...]:
    """Also returns the variance, which updates the running one."""
    return norms.batch_norm(input, weight, bias, eps)


LAYER_NORM = normalization(
    "native_layer_norm",
    lambda input, weight, bias, by, eps: norms.layer_norm(input, by, weight, bias, eps),
    lambda g, input, weight, mean, r, by: norms.layer_norm_backward(g, input, by, mean, r, weight),
    _over_last, _as_it_is,
)  # fmt: skip
RMS_NORM = normalization(
    "rms_norm",
    lambda input, weight, bias, by, eps: _without_mean(*norms.rms_norm(input, by, weight, eps)),
    lambda g, input, weight, mean, r, by: _without_bias(*norms.rms_norm_backward(g, input, by, r, weight)),
    _over_last, _as_it_is, centred=False,
)  # fmt: skip
BATCH_NORM = normalization(
    "native_batch_norm", as_image(_batch_norm_forward),
    lambda g, input, weight, mean, r, by: norms.batch_norm_backward(g, input, mean, r, weight),
    _over_channel, _on_channels,
)  # fmt: skip
GROUP_NORM = normalization(
    "native_group_norm",
    lambda input, weight, bias, by, eps: norms.group_norm(input, by, weight, bias, eps),
    lambda g, input, weight, mean, r, by: norms.group_norm_backward(g, input, by, mean, r, weight),
    _over_group, _on_channels,
)  # fmt: skip


def _without_mean(out: Array, r: Array) -> tuple[Array, Array, Array]:
    return out, np.zeros((), r.dtype, like=r), r


def _without_bias(by_input: Array, by_weight: Array) -> tuple[Array, Array, Array]:
    return by_input, by_weight, np.zeros_like(by_weight)


def _scale(var: Any, weight: Any, eps: float) -> Any:
    return (var + eps).rsqrt() if weight is None else (var + eps).rsqrt() * weight


BATCH_NORM_EVAL = Op(
    "batch_norm_eval", ("input", "mean", "var", "weight", "bias"),
    as_image(lambda input, mean, var, weight, bias, eps: norms.batch_norm_eval(input, mean, var, weight, bias, eps)),
    {
        "input": lambda g, input, var, weight, eps: g * _on_channels(_scale(var, weight, eps), g),
        "mean": None,
        "var": None,
        "weight": lambda g, input, mean, var, eps:
            _per_channel(g * (input - _on_channels(mean, g))) * (var + eps).rsqrt(),
        "bias": lambda g: _per_channel(g),
    },
    node=BATCH_NORM.node_name, doc="Normalization by a known mean and variance.",
)  # fmt: skip


def _per_channel(x: Any) -> Any:
    return x.sum((0, *range(2, x.ndim)))


# --- Layer norm and its relatives ----------------------------------------------------------------


def layer_norm(
    input: Tensor,
    normalized_shape: Any,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
) -> Tensor:
    """The input normalized over the last dimensions, then scaled elementwise."""
    shape = last_shape("layer_norm", input, normalized_shape, weight, bias)
    require_floats("LayerNormKernelImpl", input._array)
    check_types(input, weight, bias)
    return bind(LAYER_NORM, (input, weight, bias), {"by": shape, "eps": eps})[0]


def last_shape(name: str, input: Tensor, normalized_shape: Any, *affine: Tensor | None) -> Shape:
    """The normalized shape; RuntimeError unless it matches the input's last dimensions and the weight."""
    shape = (normalized_shape,) if isinstance(normalized_shape, int) else tuple(normalized_shape)
    if not shape:
        raise RuntimeError(
            "Expected normalized_shape to be at least 1-dimensional, i.e., containing at least one element, "
            f"but got normalized_shape = {list(shape)}"
        )
    for tensor in affine:
        if tensor is not None and tensor._array.shape != shape:
            what = "weight" if tensor is affine[0] else "bias"
            raise RuntimeError(
                f"Expected {what} to be of same shape as normalized_shape, but got {what} of shape "
                f"{list(tensor.shape)} and normalized_shape = {list(shape)}"
            )
    if input._array.shape[-len(shape) :] != shape:
        raise RuntimeError(
            f"Given normalized_shape={list(shape)}, expected input with shape [*, {', '.join(map(str, shape))}], "
            f"but got input of size{list(input.shape)}"
        )
    return shape


@function
def rms_norm(
    input: Tensor, normalized_shape: Any, weight: Tensor | None = None, eps: float | None = None
) -> Tensor:
    """The input divided by its root mean square over the last dimensions, then scaled."""
    shape = last_shape("rms_norm", input, normalized_shape, weight)
    require_floats("rms_norm", input._array, "fcV")
    kind = dtypes.float32 if is_half(input._array) else input.dtype
    least = dtypes.finfo(kind).eps if eps is None else eps
    if input.dtype.is_complex:
        mean = input.square().mean(tuple(range(-len(shape), 0)), keepdim=True)
        out = input * (mean + least).rsqrt()
        return out if weight is None else (out * weight).to(input.dtype)
    weight = weight.real if weight is not None and weight.dtype.is_complex else weight
    return bind(RMS_NORM, (input, weight, None), {"by": shape, "eps": least})[0]


# --- Batch norm ----------------------------------------------------------------------------------


def batch_norm(
    input: Tensor,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    """Each channel normalized over the batch, then scaled.

    In training the running mean and variance are updated by the batch's; in evaluation they are used.
    """
    if training and eps <= 0:
        raise ValueError(f"batch_norm eps must be positive during training, but got {eps}")
    if eps < 0:
        raise ValueError(f"batch_norm eps must be non-negative, but got {eps}")
    if training:
        _need_several(input._array.shape)
    return _torch_batch_norm(
        input, weight, bias, running_mean, running_var, training, momentum, eps
    )


def check_types(input: Tensor, *parameters: Any) -> None:
    """RuntimeError unless all have the input's dtype, or float32 beside a half-precision input."""
    kind = input._array.dtype
    for p in parameters:
        if p is not None and p._array.dtype is not kind:
            break
    else:
        return
    others = [p.dtype for p in parameters if p is not None and p._array.dtype is not kind]
    kinds = {p.dtype for p in parameters if p is not None}
    if len(kinds) > 1 or not (
        others[0] is input.dtype or (kind.itemsize == 2 and others[0] is dtypes.float32)
    ):
        raise RuntimeError(
            f"mixed dtype (CPU): parameters of {' and '.join(map(str, others))} beside an input of {input.dtype}"
        )


def _of_nothing(input: Tensor, weight: Any, bias: Any) -> Tensor:
    """The result for an empty input: empty, with gradients for weight and bias."""

    def one(x: Tensor) -> Tensor:
        return x[0] if x._array.shape != (0,) else _on_channels(x, input)

    out = input.clone() if weight is None else input * one(weight)
    return out if bias is None else out + one(bias)


def _batch_norm(
    input: Tensor,
    weight: Any,
    bias: Any,
    running_mean: Any,
    running_var: Any,
    training: bool,
    momentum: Any,
    eps: float,
) -> Tensor:
    if not training:
        if running_mean is None or running_var is None:
            raise RuntimeError(
                "Expected running_mean and running_var to be defined when training=False"
            )
        known = (input, running_mean, running_var, weight, bias)
        return bind(BATCH_NORM_EVAL, known, {"eps": eps})
    _both_or_neither(running_mean, running_var)
    out, mean, _, var = bind(BATCH_NORM, (input, weight, bias), {"by": None, "eps": eps})
    count = input._array.size // input._array.shape[1]
    if running_mean is not None:
        unbiased = count / max(count - 1, 1)
        update_running(running_mean, running_var, mean, var, unbiased, momentum)
    return out


def _both_or_neither(running_mean: Any, running_var: Any) -> None:
    if (running_mean is None) != (running_var is None):
        raise ValueError("running_mean and running_var must either both be None or neither be None")


@update(0, 1)
def update_running(
    running_mean: Tensor, running_var: Tensor, mean: Tensor, var: Tensor, unbiased: float, momentum: float
) -> None:  # fmt: skip
    """Update running statistics by a batch's; `unbiased` is the factor that makes its variance so."""
    means, variances = running_mean._array, running_var._array
    norms.move_running(means, variances, mean._array, var._array, unbiased, momentum)
    bump_version(running_mean)
    bump_version(running_var)


def _need_several(shape: Shape) -> None:
    if not shape:
        raise IndexError("batch_norm: expected at least 2 dimensions, but got input of size []")
    if shape[0] * math.prod(shape[2:]) == 1:
        raise ValueError(
            f"Expected more than 1 value per channel when training, got input size torch.Size({list(shape)})"
        )


def _check_channels(name: str, input: Tensor, *vectors: Tensor | None) -> None:
    array = input._array
    require_floats(name, array)
    check_types(input, *vectors)
    if array.ndim < 2:
        raise RuntimeError(
            f"{name}: expected at least 2 dimensions, but got input of size {list(input.shape)}"
        )
    channels = array.shape[1]
    for x in vectors:
        if x is not None and x._array.shape != (channels,):
            break
    else:
        return
    for what, x in zip(("running_mean", "running_var", "weight", "bias"), vectors, strict=True):
        if x is not None and what.startswith("running") and x.ndim != 1:
            raise RuntimeError(f"{name}: expected {what} of 1 dimension, but got {list(x.shape)}")
        if x is not None and x._array.size != channels:
            raise RuntimeError(
                f"{what} should contain {input.shape[1]} elements not {x.numel()}: {name} of {list(input.shape)}"
            )


def _torch_batch_norm(
    input: Tensor, weight: Any, bias: Any, running_mean: Any, running_var: Any, training: bool, momentum: float,
    eps: float, cudnn_enabled: bool = True,
) -> Tensor:  # fmt: skip
    """`nn.functional.batch_norm` with arguments in another order, and without checks of `eps` and the batch."""
    if not input._array.size:
        return _of_nothing(input, weight, bias)
    check_no_gradient("native_batch_norm", running_mean=running_mean, running_var=running_var)
    _check_channels("batch_norm", input, running_mean, running_var, weight, bias)
    return _batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps)


# --- Instance and group norm -----------------------------------------------------------------------


def instance_norm(
    input: Tensor,
    running_mean: Tensor | None = None,
    running_var: Tensor | None = None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    use_input_stats: bool = True,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    """Each channel of each sample normalized, then scaled."""
    if use_input_stats and math.prod(input._array.shape[2:]) == 1:
        raise ValueError(
            f"Expected more than 1 spatial element when training, got input size {list(input.shape)}"
        )
    for x in (weight, bias):
        if x is not None and x.ndim > 1:
            raise RuntimeError(
                f"instance_norm: expected a weight or bias of 1 dimension, but got {list(x.shape)}"
            )
    unread = not input._array.size and input._array.shape[0]
    scales = (None, None) if unread else (weight, bias)
    _check_channels("instance_norm", input, running_mean, running_var, *scales)
    if not input._array.size:
        return _of_nothing(input, weight, bias)
    check_no_gradient("native_batch_norm", running_mean=running_mean, running_var=running_var)
    if not use_input_stats:
        return _batch_norm(input, weight, bias, running_mean, running_var, False, momentum, eps)
    _both_or_neither(running_mean, running_var)
    if running_mean is not None and running_var is not None:
        dims = tuple(range(2, input.ndim))
        wide = input.detach()
        wide = wide.float() if is_half(wide._array) else wide
        var, mean = (moment.mean(0) for moment in FUNCTIONS["var_mean"](wide, dims))
        for moved in (running_mean, running_var):
            check_writable(moved, False)
        update_running(running_mean, running_var, mean, var, 1.0, momentum)
    return bind(GROUP_NORM, (input, weight, bias), {"by": input._array.shape[1], "eps": eps})[0]


def _torch_instance_norm(
    input: Tensor, weight: Any, bias: Any, running_mean: Any, running_var: Any, use_input_stats: bool,
    momentum: float, eps: float, cudnn_enabled: bool = True,
) -> Tensor:  # fmt: skip
    """`nn.functional.instance_norm` with arguments in another order."""
    return instance_norm(
        input, running_mean, running_var, weight, bias, use_input_stats, momentum, eps
    )


def group_norm(
    input: Tensor,
    num_groups: int,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
) -> Tensor:
    """Each group of channels of each sample normalized, then scaled."""
    shape = input._array.shape
    if len(shape) >= 2 and num_groups > 0 and not shape[1] % num_groups:
        _need_several((shape[0] * shape[1] // num_groups, num_groups, *shape[2:]))
    return _group_norm(input, num_groups, weight, bias, eps)


def _group_norm(
    input: Tensor, num_groups: int, weight: Tensor | None, bias: Tensor | None, eps: float
) -> Tensor:
    """Group norm without the check for groups of one element, as `torch.group_norm`."""
    shape = input._array.shape
    if len(shape) < 2:
        raise RuntimeError(
            f"Expected at least 2 dimensions for input tensor but received {len(shape)}"
        )
    if num_groups <= 0 or shape[1] % num_groups:
        raise RuntimeError(
            f"Expected number of channels in input to be divisible by num_groups, but got input of shape "
            f"{list(shape)} and num_groups={num_groups}"
        )
    for what, x in (("weight", weight), ("bias", bias)):
        if x is not None and x._array.shape != (shape[1],):
            raise RuntimeError(
                f"Expected {what} to be a vector of size equal to the number of channels in input, but got {what} "
                f"of shape {list(x.shape)} and input of shape {list(shape)}"
            )
    require_floats("GroupNormKernelImpl", input._array)
    check_types(input, weight, bias)
    if not input._array.size:
        return _of_nothing(input, weight, bias)
    return bind(GROUP_NORM, (input, weight, bias), {"by": num_groups, "eps": eps})[0]


def local_response_norm(
    input: Tensor, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0
) -> Tensor:
    """Each element divided by (k + alpha times the mean square over neighbouring channels)^beta."""
    if input.ndim < 3:
        raise ValueError(
            f"Expected 3D or higher dimensionality input (got {input.ndim} dimensions)"
        )
    if not input._array.size:
        return input
    squares, before, after = input * input, size // 2, (size - 1) // 2
    if input.ndim == 3:
        padded = pad(squares.unsqueeze(1), (0, 0, before, after))
        mean = avg_pool2d(padded, (size, 1), stride=1).squeeze(1)
    else:
        planes = squares.view(input.shape[0], 1, input.shape[1], input.shape[2], -1)
        padded = pad(planes, (0, 0, 0, 0, before, after))
        mean = avg_pool3d(padded, (size, 1, 1), stride=1).squeeze(1).view(input.shape)
    return input / (mean * alpha + k).pow(beta)


FUNCTIONS["batch_norm"] = _torch_batch_norm
FUNCTIONS["instance_norm"] = _torch_instance_norm
FUNCTIONS["layer_norm"] = (
    lambda input, normalized_shape, weight=None, bias=None, eps=1e-5, cudnn_enable=True: layer_norm(
        input, normalized_shape, weight, bias, eps
    )
)
FUNCTIONS["group_norm"] = (
    lambda input, num_groups, weight=None, bias=None, eps=1e-5, cudnn_enabled=True: _group_norm(
        input, num_groups, weight, bias, eps
    )
)
