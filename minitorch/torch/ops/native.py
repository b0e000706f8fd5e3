"""Torch's native functions, which also return what backward needs (statistics, masks)."""

from __future__ import annotations

from typing import Any

from .. import dtypes
from ..tensor import Tensor
from .convolution import (
    conv1d,
    conv2d,
    conv3d,
    conv_transpose1d,
    conv_transpose2d,
    conv_transpose3d,
)
from .creation import empty_like, ones_like
from .dropout import dropout
from .linalg.norms import legacy_norm
from .normalization import (
    BATCH_NORM,
    LAYER_NORM,
    batch_norm,
    check_types,
    group_norm,
    last_shape,
)
from .precision import require_floats
from .record import bind
from .softmax import LOG_SOFTMAX_BACKWARD, SOFTMAX_BACKWARD
from .surface import FUNCTIONS, as_functions, check_no_gradient, function, into
from .writes import check_castable

Found = tuple[Tensor, Tensor, Tensor]

# --- Norms --------------------------------------------------------------------------------------


def _kind_of_statistics(input: Tensor, *parameters: Any) -> Any:
    """The dtype of the statistics: the parameters', which may be wider than the input's."""
    return next((p.dtype for p in parameters if p is not None), input.dtype)


@function
def native_layer_norm(
    input: Tensor, normalized_shape: Any, weight: Any, bias: Any, eps: float
) -> Found:
    """Layer norm, the means, and the reciprocal standard deviations."""
    shape = last_shape("native_layer_norm", input, normalized_shape, weight, bias)
    check_types(input, weight, bias)
    require_floats("LayerNormKernelImpl", input._array)
    out, mean, r = bind(LAYER_NORM, (input, weight, bias), {"by": shape, "eps": eps})
    outer = input._array.shape[: input.ndim - len(shape)] + (1,) * len(shape)
    kind = _kind_of_statistics(input, weight, bias)
    return out, mean.detach().reshape(outer).to(kind), r.detach().reshape(outer).to(kind)


@function
def native_group_norm(
    input: Tensor, weight: Any, bias: Any, N: int, C: int, HxW: int, group: int, eps: float  # noqa: N803
) -> Found:  # fmt: skip
    """Group norm, the means, and the reciprocal standard deviations."""
    if N < 0:
        raise RuntimeError(f"Trying to create tensor with negative dimension {N}: [{N}, {group}]")
    out = group_norm(input.reshape(N, C, HxW), group, weight, bias, eps)
    rows = input.reshape(N, group, C // group * HxW)
    r = (rows.var(-1, correction=0) + eps).rsqrt()
    kind = _kind_of_statistics(input, weight, bias)
    return out.reshape(input.shape), rows.mean(-1).to(kind), r.to(kind)


@function
def native_batch_norm(
    input: Tensor, weight: Any, bias: Any, running_mean: Any, running_var: Any, training: bool, momentum: float,
    eps: float, *, out: Any = None,
) -> Found:  # fmt: skip
    """Batch norm, the means, and the reciprocal standard deviations; in evaluation these are empty."""
    if out is not None:
        found = native_batch_norm(
            input, weight, bias, running_mean, running_var, training, momentum, eps
        )
        return into(out, found, "native_batch_norm")
    if training and not input._array.size:
        raise RuntimeError(f"input tensor must have at least one element, got {list(input.shape)}")
    check_no_gradient("native_batch_norm", running_mean=running_mean, running_var=running_var)
    check_types(input, weight, bias, running_mean, running_var)
    normed = batch_norm(input, running_mean, running_var, weight, bias, training, momentum, eps)
    kind = _kind_of_statistics(input, weight, bias, running_mean, running_var)
    if training:
        mean, r = bind(BATCH_NORM, (input, None, None), {"by": None, "eps": eps})[1:3]
        return normed, mean.detach().to(kind), r.detach().to(kind)
    return normed, input.new_empty(0, dtype=kind), input.new_empty(0, dtype=kind)


def _native_batch_norm_legit(input: Tensor, weight: Any, bias: Any, *args: Any) -> Found:
    """`native_batch_norm`, with running statistics or without."""
    running = (None, None) if isinstance(args[0], bool) else args[:2]
    return native_batch_norm(input, weight, bias, *running, *args[-3:])


FUNCTIONS["_native_batch_norm_legit"] = _native_batch_norm_legit

# --- Dropout and products -----------------------------------------------------------------------


@function
def native_dropout(input: Tensor, p: float, train: bool | None) -> tuple[Tensor, Tensor]:
    """Dropout, and the mask of kept elements."""
    if not input._array.size:
        return input.view_as(input), empty_like(input)
    if train is not False and input.dtype.kind < dtypes.FLOATING:
        check_castable(dtypes.get_default_dtype(), input.dtype)
    if train is False or p == 0:
        return input.clone(), ones_like(input, dtype=dtypes.bool_)
    if not 0 <= p <= 1:
        raise RuntimeError(f"bernoulli_ expects p to be in [0, 1], but got p={1 - p}")
    kept = dropout(ones_like(input, dtype=input.dtype.to_real()), p) > 0
    return input * kept * (1 / (1 - p) if p < 1 else 0), kept


@function
def native_dropout_backward(grad_output: Tensor, mask: Tensor, scale: float) -> Tensor:
    """The gradient of dropout's input."""
    return grad_output * mask * scale


_CONVOLUTIONS = {
    False: {3: conv1d, 4: conv2d, 5: conv3d},
    True: {3: conv_transpose1d, 4: conv_transpose2d, 5: conv_transpose3d},
}


@function
def convolution(
    input: Tensor, weight: Tensor, bias: Any, stride: Any, padding: Any, dilation: Any, transposed: bool,
    output_padding: Any, groups: int,
) -> Tensor:  # fmt: skip
    """The convolution of one to three dimensions, or the transposed one."""
    if weight.ndim not in _CONVOLUTIONS[transposed]:
        raise RuntimeError(
            f"weight should have at least three dimensions, got {list(weight.shape)}"
        )
    convolve = _CONVOLUTIONS[transposed][weight.ndim]
    if transposed:
        return convolve(input, weight, bias, stride, padding, output_padding, groups, dilation)
    return convolve(input, weight, bias, stride, padding, dilation, groups)


def _softmax_backward_data(
    grad_output: Tensor, output: Tensor, dim: int, input_dtype: Any
) -> Tensor:
    """The gradient of softmax's input."""
    found = bind(SOFTMAX_BACKWARD, (grad_output, output), {"dim": dim % max(output.ndim, 1)})
    return found.to(input_dtype)


def _log_softmax_backward_data(
    grad_output: Tensor, output: Tensor, dim: int, input_dtype: Any
) -> Tensor:
    """The gradient of log-softmax's input."""
    found = bind(LOG_SOFTMAX_BACKWARD, (grad_output, output), {"dim": dim % max(output.ndim, 1)})
    return found.to(input_dtype)


FUNCTIONS["_softmax_backward_data"] = _softmax_backward_data
FUNCTIONS["_log_softmax_backward_data"] = _log_softmax_backward_data

# --- Methods as functions ------------------------------------------------------------------------

as_functions("addmv_", "detach", "detach_")

# --- Norms of matrices; samplers ------------------------------------------------------------------


@function
def frobenius_norm(
    input: Tensor, dim: Any = (), keepdim: bool = False, *, out: Any = None
) -> Tensor:
    """The Frobenius norm of matrices."""
    if isinstance(dim, (tuple, list)) and len(dim) > 2:
        raise RuntimeError(f"Expected at most 2 dimensions, but got {len(dim)} dimensions instead.")
    return legacy_norm(input, "fro", None if dim == () or dim == [] else dim, keepdim, out=out)


@function
def nuclear_norm(
    input: Tensor, dim: Any = None, keepdim: bool = False, *, out: Any = None
) -> Tensor:
    """The nuclear norm of matrices: the sum of their singular values."""
    if isinstance(dim, bool):
        dim, keepdim = None, dim
    return legacy_norm(input, "nuc", (-2, -1) if dim is None else dim, keepdim, out=out)
