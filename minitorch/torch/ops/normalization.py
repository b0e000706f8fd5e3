"""Normalization: numbers with mean 0 and variance 1 along some dimensions, then scaled.

Layer, batch, group and instance norm differ only in these dimensions and in where the
weight lies, so they share one formula. With n = (x - mean) r, r = 1 / sqrt(var + eps) and
h = g weight, the gradient of x is P(h) = r (h - mean(h) - n mean(h n)).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .. import dtypes
from ..backends.cpu import norms
from ..tensor import Array, Tensor
from .padding import pad
from .pooling import avg_pool2d, avg_pool3d
from .precision import is_half, require_floats, widened
from .record import Op, bind
from .surface import FUNCTIONS, function

Dims = tuple[int, ...]

# --- Records ---------------------------------------------------------------------------------


def _normalize(
    input: Array, weight: Array | None, bias: Array | None, dims: Dims, eps: float
) -> tuple[Array, Array, Array, Array]:
    """The normalized input, and its mean, r and variance along dimensions."""
    x = widened(input)
    mean = x.mean(axis=dims, keepdims=True)
    out = x - mean
    var = np.square(out).mean(axis=dims, keepdims=True)
    r = 1 / np.sqrt(var + eps)
    out *= r
    if weight is not None:
        out *= weight
    if bias is not None:
        out += bias
    return out.astype(input.dtype, copy=False), mean, r, var


def _normalize_backward(
    grad: Array, input: Array, weight: Array | None, mean: Array, r: Array, dims: Dims, eps: float
) -> tuple[Array, Array, Array]:
    """The gradients of the input, the weight and the bias."""
    g = widened(grad)
    n = (widened(input) - mean) * r
    gn = g * n
    shape = _kept(input.shape, dims) if weight is None else weight.shape
    by_weight, by_bias = _summed(gn, shape), _summed(g, shape)
    if weight is not None:
        g, gn = g * weight, gn * weight
    out = g - g.mean(axis=dims, keepdims=True)
    out -= n * gn.mean(axis=dims, keepdims=True)
    out *= r
    return tuple(x.astype(grad.dtype, copy=False) for x in (out, by_weight, by_bias))  # type: ignore[return-value]


def _kept(shape: Dims, dims: Dims) -> Dims:
    return tuple(1 if d in dims else n for d, n in enumerate(shape))


def _summed(x: Array, shape: Dims) -> Array:
    """The sum that undoes a broadcast from a shape."""
    extra = x.ndim - len(shape)
    ones = tuple(d + extra for d, n in enumerate(shape) if n == 1)
    return x.sum(axis=(*range(extra), *ones)).reshape(shape)


def _layer_norm(
    input: Array, weight: Array | None, bias: Array | None, dims: Dims, eps: float
) -> tuple[Array, ...]:
    return norms.layer_norm(input, input.shape[dims[0] :], weight, bias, eps)


def _layer_norm_backward(
    grad: Array, input: Array, weight: Array | None, mean: Array, r: Array, dims: Dims, eps: float
) -> tuple[Array, ...]:
    return norms.layer_norm_backward(grad, input, input.shape[dims[0] :], mean, r, weight)


def normalization(name: str, forward: Any, backward: Any, outputs: tuple[str, ...]) -> Op:
    """Declare a normalization and its backward, whose derivatives hold for all of them."""

    def gradients(
        g: Any, input: Any, weight: Any, mean: Any, r: Any, dims: Dims, eps: float
    ) -> Any:
        return bind(back, (g, input, weight, mean, r), {"dims": dims, "eps": eps})

    def again(
        g: Any, grad: Any, input: Any, weight: Any, mean: Any, r: Any, dims: Dims, eps: float
    ) -> Any:
        """P is symmetric; its derivative by x is -r (n mean(v P(h)) + mean(h n) P(v) + mean(v n) P(h))."""
        v, by_weight, by_bias = g

        def pulled(x: Any) -> Any:
            return bind(back, (x, input, None, mean, r), {"dims": dims, "eps": eps})[0]

        def along(x: Any) -> Any:
            return x.mean(dims, keepdim=True)

        n = bind(op, (input, None, None), {"dims": dims, "eps": eps})[0]
        live = (input.var(dims, correction=0, keepdim=True) + eps).rsqrt()  # r, as a function of x
        h = grad if weight is None else grad * weight
        first, second = pulled(h), pulled(v)
        by_input = -live * (n * along(v * first) + along(h * n) * second + along(v * n) * first)
        if weight is None:
            return second, by_input, None, None, None
        by_grad = second * weight + by_weight * n + by_bias
        return by_grad, by_input + pulled(by_weight * grad), grad * second, None, None

    back = Op(f"{name}_backward", ("grad", "input", "weight", "mean", "r"), backward, again)
    op = Op(name, ("input", "weight", "bias"), forward, gradients, differentiable=1, outputs=outputs,
            doc="Mean 0 and variance 1 along dimensions, then scaled.")  # fmt: skip
    return op


LAYER_NORM = normalization(
    "native_layer_norm", _layer_norm, _layer_norm_backward, ("out", "mean", "r")
)
BATCH_NORM, GROUP_NORM = (
    normalization(name, _normalize, _normalize_backward, ("out", "mean", "r", "var"))
    for name in ("native_batch_norm", "native_group_norm")
)

# --- Layer norm and its relatives ----------------------------------------------------------------


def layer_norm(
    input: Tensor,
    normalized_shape: Any,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
) -> Tensor:
    """Mean 0 and variance 1 over the last dimensions, then scaled element by element."""
    shape = _last_shape("layer_norm", input, normalized_shape, weight, bias)
    require_floats("LayerNormKernelImpl", input._array)
    dims = tuple(range(input.ndim - len(shape), input.ndim))
    return bind(LAYER_NORM, (input, weight, bias), {"dims": dims, "eps": eps})[0]


def _last_shape(name: str, input: Tensor, normalized_shape: Any, *affine: Tensor | None) -> Dims:
    """The shape to normalize over; RuntimeError unless it is the input's last and the weight's."""
    shape = (normalized_shape,) if isinstance(normalized_shape, int) else tuple(normalized_shape)
    if not shape:
        raise RuntimeError(
            "Expected normalized_shape to be at least 1-dimensional, i.e., containing at least one element, "
            f"but got normalized_shape = {list(shape)}"
        )
    for what, tensor in zip(("weight", "bias"), affine, strict=False):
        if tensor is not None and tensor._array.shape != shape:
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
    """Numbers over the root of their mean square along the last dimensions, then scaled."""
    shape = _last_shape("rms_norm", input, normalized_shape, weight)
    x = input.to(dtypes.float32) if is_half(input._array) else input
    least = dtypes.finfo(x.dtype).eps if eps is None else eps
    dims = tuple(range(input.ndim - len(shape), input.ndim))
    out = (x * (x.square().mean(dims, keepdim=True) + least).rsqrt()).to(input.dtype)
    return out if weight is None else out * weight


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
    """Mean 0 and variance 1 of each channel over the batch, then scaled.

    In training the running mean and variance move towards the batch's; after it they are used.
    """
    if training and eps <= 0:
        raise ValueError(f"batch_norm eps must be positive during training, but got {eps}")
    if eps < 0:
        raise ValueError(f"batch_norm eps must be non-negative, but got {eps}")
    if not input._array.size:
        scaled = input.clone() if weight is None else input * weight
        return scaled if bias is None else scaled + bias
    if training:
        _need_several(input._array.shape)
    _check_channels("batch_norm", input, running_mean, running_var, weight, bias)
    return _batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps)


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
    weight, bias = _on_channels(weight, input.ndim), _on_channels(bias, input.ndim)
    if not training:
        if running_mean is None or running_var is None:
            raise RuntimeError(
                "Expected running_mean and running_var to be defined when training=False"
            )
        return _scaled(
            input,
            weight,
            bias,
            _on_channels(running_mean, input.ndim),
            _on_channels(running_var, input.ndim),
            eps,
        )
    dims = (0, *range(2, input.ndim))
    out, mean, _, var = bind(BATCH_NORM, (input, weight, bias), {"dims": dims, "eps": eps})
    count = input._array.size // max(input._array.shape[1], 1)
    _move(running_mean, mean, 1.0, momentum)
    _move(running_var, var, count / max(count - 1, 1), momentum)
    return out


def _scaled(input: Tensor, weight: Any, bias: Any, mean: Any, var: Any, eps: float) -> Tensor:
    """Normalization with a known mean and variance."""
    scale = (var + eps).rsqrt() if weight is None else (var + eps).rsqrt() * weight
    shift = -mean * scale if bias is None else bias - mean * scale
    x = input.to(dtypes.float32) if is_half(input._array) else input
    return (x * scale + shift).to(input.dtype)


def _move(running: Tensor | None, now: Tensor, factor: float, momentum: float) -> None:
    """Let a running statistic move towards today's, outside the graph."""
    if running is not None:
        target = running.detach()
        today = now.detach().reshape(running._array.shape) * factor
        target.copy_(target * (1 - momentum) + (today * momentum).to(target.dtype))


def _on_channels(x: Tensor | None, ndim: int) -> Any:
    """A vector of channels in a shape that broadcasts with an input."""
    return None if x is None else x.reshape((1, -1) + (1,) * (ndim - 2))


def _need_several(shape: Dims) -> None:
    if shape[0] * math.prod(shape[2:]) == 1:
        raise ValueError(
            f"Expected more than 1 value per channel when training, got input size {list(shape)}"
        )


def _check_channels(name: str, input: Tensor, *vectors: Tensor | None) -> None:
    require_floats(f"{name}", input._array)
    if input.ndim < 2:
        raise RuntimeError(
            f"{name}: expected at least 2 dimensions, but got input of size {list(input.shape)}"
        )
    for what, x in zip(("running_mean", "running_var", "weight", "bias"), vectors, strict=True):
        if x is not None and x._array.size != input._array.shape[1]:
            raise RuntimeError(
                f"{what} should contain {input.shape[1]} elements not {x.numel()}: {name} of {list(input.shape)}"
            )


def _torch_batch_norm(
    input: Tensor, weight: Any, bias: Any, running_mean: Any, running_var: Any, training: bool, momentum: float,
    eps: float, cudnn_enabled: bool = True,
) -> Tensor:  # fmt: skip
    """`nn.functional.batch_norm` with its arguments in another order."""
    return batch_norm(input, running_mean, running_var, weight, bias, training, momentum, eps)


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
    """Mean 0 and variance 1 of each channel of each sample, then scaled."""
    if use_input_stats and math.prod(input._array.shape[2:]) == 1:
        raise ValueError(
            f"Expected more than 1 spatial element when training, got input size {list(input.shape)}"
        )
    _check_channels("instance_norm", input, running_mean, running_var, weight, bias)
    if not use_input_stats:
        return _batch_norm(input, weight, bias, running_mean, running_var, False, momentum, eps)
    weight, bias = _on_channels(weight, input.ndim), _on_channels(bias, input.ndim)
    dims = tuple(range(2, input.ndim))
    out, mean, _, var = bind(BATCH_NORM, (input, weight, bias), {"dims": dims, "eps": eps})
    count = math.prod(input._array.shape[2:])
    _move(running_mean, mean.mean(0), 1.0, momentum)
    _move(running_var, var.mean(0), count / max(count - 1, 1), momentum)
    return out


def _torch_instance_norm(
    input: Tensor, weight: Any, bias: Any, running_mean: Any, running_var: Any, use_input_stats: bool,
    momentum: float, eps: float, cudnn_enabled: bool = True,
) -> Tensor:  # fmt: skip
    """`nn.functional.instance_norm` with its arguments in another order."""
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
    """Mean 0 and variance 1 of each group of channels of each sample, then scaled."""
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
    _need_several((shape[0] * shape[1] // num_groups, num_groups, *shape[2:]))
    for what, x in (("weight", weight), ("bias", bias)):
        if x is not None and x._array.shape != (shape[1],):
            raise RuntimeError(
                f"Expected {what} to be a vector of size equal to the number of channels in input, but got {what} "
                f"of shape {list(x.shape)} and input of shape {list(shape)}"
            )
    require_floats("GroupNormKernelImpl", input._array)
    grouped = (shape[0], num_groups, shape[1] // num_groups, *shape[2:])
    spread = grouped[1:3] + (1,) * (len(shape) - 2)
    weight, bias = (None if x is None else x.reshape(spread) for x in (weight, bias))
    dims = tuple(range(2, len(grouped)))
    out = bind(GROUP_NORM, (input.reshape(grouped), weight, bias), {"dims": dims, "eps": eps})[0]
    return out.view(shape)


def local_response_norm(
    input: Tensor, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0
) -> Tensor:
    """Each element over a power of the mean square of its neighbours in other channels."""
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
    lambda input, num_groups, weight=None, bias=None, eps=1e-5, cudnn_enabled=True: group_norm(
        input, num_groups, weight, bias, eps
    )
)
