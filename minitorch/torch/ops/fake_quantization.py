"""Fake quantization: numbers rounded as a quantized tensor would store them, in their own dtype.

A number x is stored as the integer round(x / scale) + zero_point, clamped to quant_min and quant_max. The gradient
passes unchanged where x is in that range, and is 0 elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .. import dtypes
from ..tensor import Array, Tensor
from .comparison import where
from .movement import wrap_dim
from .precision import in_single, kind_name
from .promotion import exact_number
from .record import Op, bind
from .surface import check_no_gradient, check_tensor, function


@in_single
def _rounded(
    input: Array, scale: Any, zero_point: Any, *, quant_min: int, quant_max: int
) -> tuple[Array, Array]:
    """The rounded numbers, and a mask of those in the range."""
    scale, whole = np.asarray(scale, np.float32), np.asarray(zero_point).dtype.kind != "f"
    zero_point = np.asarray(zero_point, np.float32)
    held = input * (np.float32(1) / scale)
    held = np.rint(held) + zero_point if whole else np.rint(held + zero_point)
    within = np.fmin(np.fmax(held, quant_min), quant_max)
    rounded = (within - zero_point).astype(np.float32, copy=False) * scale
    return rounded.astype(input.dtype, copy=False), (held >= quant_min) & (held <= quant_max)


def _rounded_by_tensors(
    input: Array, scale: Array, zero_point: Array, *, quant_min: int, quant_max: int
) -> tuple[Array, Array]:
    scale = exact_number(scale.item(), dtypes.float32)
    zero_point = exact_number(zero_point.item(), dtypes.int32)
    return _rounded(input, scale, zero_point, quant_min=quant_min, quant_max=quant_max)


def _declare(name: str, node: str, compute: Callable[..., Any] = _rounded) -> Op:
    return Op(
        name, ("input", "scale", "zero_point"), compute,
        {"input": lambda g, mask: where(mask, g, 0), "scale": None, "zero_point": None},
        differentiable=1, outputs=("output", "mask"), node=f"FakeQuantize{node}Backward0",
        doc="Fake-quantized numbers, and a mask of those in the range.",
    )  # fmt: skip


_BY_NUMBERS = _declare("fake_quantize_per_tensor_affine_cachemask", "PerTensorAffineCachemask")
_BY_TENSORS = _declare("_fake_quantize_per_tensor_affine_cachemask_tensor_qparams",
                       "PerTensorAffineCachemaskTensorQparams", _rounded_by_tensors)  # fmt: skip
_BY_CHANNELS = _declare("fake_quantize_per_channel_affine_cachemask", "PerChannelAffineCachemask")


def _check_inputs(op: Op, *inputs: Any, quant_min: int, quant_max: int) -> None:
    input, scale, zero_point = inputs
    check_no_gradient(op.name, scale=scale, zero_point=zero_point)
    if quant_min > quant_max:
        raise RuntimeError("`quant_min` should be less than or equal to `quant_max`.")
    if not input.dtype.is_floating_point:
        raise NotImplementedError(
            f"\"fake_quantize_tensor_cachemask_kernel_type_handling\" not implemented for '{kind_name(input._array)}'"
        )
    for x in (scale, zero_point) if op is _BY_TENSORS else ():
        if x._array.size != 1:
            raise RuntimeError(
                f"a Tensor with {x._array.size} elements cannot be converted to Scalar"
            )


def _check_zero_point(inside: Any) -> None:
    if not inside:
        raise RuntimeError("`zero_point` must be between `quant_min` and `quant_max`.")


@function
def fake_quantize_per_tensor_affine(
    input: Tensor, scale: Any, zero_point: Any, quant_min: int, quant_max: int
) -> Tensor:
    """Numbers quantized with one scale and zero point, and dequantized."""
    check_tensor("fake_quantize_per_tensor_affine", input)
    by_tensors = isinstance(scale, Tensor) and isinstance(zero_point, Tensor)
    if not by_tensors:
        _check_zero_point(quant_min <= zero_point <= quant_max or quant_min > quant_max)
    limits = {"quant_min": quant_min, "quant_max": quant_max}
    op = _BY_TENSORS if by_tensors else _BY_NUMBERS
    _check_inputs(op, input, scale, zero_point, **limits)
    return bind(op, (input, scale, zero_point), limits)[0]


@function
def fake_quantize_per_channel_affine(
    input: Tensor, scale: Tensor, zero_point: Tensor, axis: int, quant_min: int, quant_max: int
) -> Tensor:
    """`fake_quantize_per_tensor_affine` with a scale and zero point for each index along `axis`."""
    name = "fake_quantize_per_channel_affine"
    for label, x in (("input", input), ("scale", scale), ("zero_point", zero_point)):
        check_tensor(name, x, label)
    if scale.dtype not in (dtypes.float32, dtypes.bfloat16):
        raise RuntimeError(f"Scale must be Float or BFloat16, found {kind_name(scale._array)}")
    if zero_point.dtype not in (dtypes.int32, dtypes.float32, dtypes.float16):
        raise RuntimeError(
            f"Zero-point must be Int32, Float or Half, found {kind_name(zero_point._array)}"
        )
    if scale.ndim != 1 or zero_point.ndim != 1:
        raise RuntimeError("scale and zero point need to be 1-D tensors")
    if len(scale) != len(zero_point):
        raise RuntimeError("scale and zero-point need to have the same dimensions")
    if len(scale) != input.shape[wrap_dim(axis, input.ndim)]:
        raise RuntimeError(
            "dimensions of scale and zero-point are not consistent with input tensor"
        )
    limits = {"quant_min": quant_min, "quant_max": quant_max}
    _check_inputs(_BY_CHANNELS, input, scale, zero_point, **limits)
    if not zero_point.dtype.is_floating_point:
        _check_zero_point(((zero_point >= quant_min) & (zero_point <= quant_max)).all())
    if axis < 0:
        raise RuntimeError("`axis` must be between 0 and number of dimensions of input")
    shape = [-1 if d == axis else 1 for d in range(input.ndim)]
    return bind(_BY_CHANNELS, (input, scale.reshape(shape), zero_point.reshape(shape)), limits)[0]
