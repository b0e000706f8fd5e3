"""Fusion of batch normalization, in evaluation mode, into the layer before it."""

from __future__ import annotations

import copy
from functools import partial
from typing import Any

from ...tensor import Tensor
from ..parameter import Parameter


def fuse_conv_bn_eval(conv: Any, bn: Any, transpose: bool = False) -> Any:
    """A convolution fused with the batch normalization after it."""
    return _fused(conv, bn, partial(fuse_conv_bn_weights, transpose=transpose))


def fuse_linear_bn_eval(linear: Any, bn: Any) -> Any:
    """A linear layer fused with the batch normalization after it."""
    if bn.num_features not in (linear.out_features, 1):
        raise AssertionError(
            "To fuse, linear.out_features == bn.num_features or bn.num_features == 1, got "
            f"linear.out_features={linear.out_features} and bn.num_features={bn.num_features}"
        )
    return _fused(linear, bn, fuse_linear_bn_weights)


def _fused(layer: Any, bn: Any, fuse: Any) -> Any:
    if layer.training or bn.training:
        raise AssertionError("Fusion only for eval!")
    if bn.running_mean is None or bn.running_var is None:
        raise AssertionError("bn.running_mean and bn.running_var must not be None")
    made = copy.deepcopy(layer)
    statistics = (bn.running_mean, bn.running_var, bn.eps, bn.weight, bn.bias)
    made.weight, made.bias = fuse(made.weight, made.bias, *statistics)
    return made


def fuse_conv_bn_weights(
    conv_w: Tensor,
    conv_b: Tensor | None,
    bn_rm: Tensor,
    bn_rv: Tensor,
    bn_eps: float,
    bn_w: Tensor | None,
    bn_b: Tensor | None,
    transpose: bool = False,
) -> tuple[Parameter, Parameter]:
    """The weight and the bias of a convolution fused with batch normalization."""
    shape = [1] * conv_w.ndim
    shape[1 if transpose else 0] = -1
    scale = (bn_rv + bn_eps).rsqrt()
    weight_scale = scale if bn_w is None else bn_w * scale
    bias = -bn_rm * scale if conv_b is None else (conv_b - bn_rm) * scale
    bias = bias if bn_w is None else bias * bn_w
    bias = bias if bn_b is None else bias + bn_b
    return _parameters(conv_w, conv_b, conv_w * weight_scale.reshape(shape), bias)


def fuse_linear_bn_weights(
    linear_w: Tensor,
    linear_b: Tensor | None,
    bn_rm: Tensor,
    bn_rv: Tensor,
    bn_eps: float,
    bn_w: Tensor,
    bn_b: Tensor,
) -> tuple[Parameter, Parameter]:
    """The weight and the bias of a linear layer fused with batch normalization."""
    scale = bn_w * (bn_rv + bn_eps).rsqrt()
    bias = (-bn_rm if linear_b is None else linear_b - bn_rm) * scale + bn_b
    return _parameters(linear_w, linear_b, linear_w * scale.unsqueeze(-1), bias)


def _parameters(
    old_weight: Tensor, old_bias: Tensor | None, weight: Tensor, bias: Tensor
) -> tuple[Parameter, Parameter]:
    """New values as parameters with the dtypes of the old ones."""
    kind = old_weight.dtype if old_bias is None else old_bias.dtype
    trained = old_bias is not None and old_bias.requires_grad
    return (
        Parameter(weight.to(old_weight.dtype), old_weight.requires_grad),
        Parameter(bias.to(kind), trained),
    )
