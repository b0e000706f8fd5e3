"""Functions of one number each: add, sqrt, sigmoid, gelu, ... and their derivatives.

Each is declared once, as a Python function of numbers. Its other forms are made from that:

* for arrays, by NumPy: the same code, with NumPy's functions in place of the primitives
* for kernels in float32 and float64: the code as it stands, compiled. It has no branches (`where`
  is none), so that loops over it become vector instructions

Those that end in `_backward` take the gradient first, then what Torch's take.
"""
# ruff: noqa: D103

from __future__ import annotations

import math
from types import FunctionType
from typing import Any

import numpy as np

from .primitives import (
    CHEAP,
    COSTLY,
    SCALARS,
    UNKNOWN,
    absolute,
    exp,
    expm1,
    log1p,
    normal_below,
    normal_density,
    scalar,
    tanh,
    where,
)  # fmt: skip

# --- Arithmetic -----------------------------------------------------------------------------------


@scalar(CHEAP, np.add)
def add(x: Any, y: Any) -> Any:
    return x + y


@scalar(CHEAP, np.subtract)
def sub(x: Any, y: Any) -> Any:
    return x - y


@scalar(CHEAP, np.multiply)
def mul(x: Any, y: Any) -> Any:
    return x * y


@scalar(CHEAP, np.true_divide)
def div(x: Any, y: Any) -> Any:
    return x / y


@scalar(CHEAP, np.maximum)
def maximum(x: Any, y: Any) -> Any:
    z = x if x > y else y
    return x if x != x else z


@scalar(CHEAP, np.minimum)
def minimum(x: Any, y: Any) -> Any:
    z = x if x < y else y
    return x if x != x else z


@scalar(CHEAP, np.negative)
def neg(x: Any) -> Any:
    return -x


@scalar(CHEAP, np.square)
def square(x: Any) -> Any:
    return x * x


@scalar(CHEAP, np.sqrt)
def sqrt(x: Any) -> Any:
    return math.sqrt(x)


@scalar()
def rsqrt(x: Any) -> Any:
    return 1.0 / sqrt(x)


@scalar(CHEAP, lambda x: 1 / x)
def reciprocal(x: Any) -> Any:
    return 1.0 / x


@scalar()
def add_scaled(x: Any, y: Any, alpha: Any) -> Any:
    return x + alpha * y


@scalar()
def lerp(start: Any, end: Any, weight: Any) -> Any:
    near, far = start + weight * (end - start), end - (end - start) * (1.0 - weight)
    return where(absolute(weight) < 0.5, near, far)


# --- Activations and their derivatives --------------------------------------------------------------


@scalar(CHEAP, lambda x: np.maximum(x.dtype.type(0), x))
def relu(x: Any) -> Any:
    return where(x < 0.0, 0.0, x)


@scalar(COSTLY)
def threshold_backward(g: Any, x: Any, threshold: Any) -> Any:
    return where(x <= threshold, 0.0, g)


@scalar(CHEAP, np.clip)
def clamp(x: Any, low: Any, high: Any) -> Any:
    x = low if x < low else x
    return high if x > high else x


@scalar(COSTLY)
def leaky_relu(x: Any, slope: Any) -> Any:
    return where(x > 0.0, x, x * slope)


@scalar(COSTLY)
def leaky_relu_backward(g: Any, x: Any, slope: Any) -> Any:
    return where(x > 0.0, g, g * slope)


@scalar(COSTLY)
def elu(x: Any, alpha: Any) -> Any:
    return where(x < 0.0, alpha * expm1(x), x)


@scalar(COSTLY)
def elu_backward(g: Any, x: Any, alpha: Any) -> Any:
    return where(x <= 0.0, g * (alpha * exp(x)), g)


@scalar(COSTLY)
def sigmoid(x: Any) -> Any:
    return 1.0 / (1.0 + exp(-x))


@scalar()
def sigmoid_backward(g: Any, out: Any) -> Any:
    return g * ((1.0 - out) * out)


@scalar()
def tanh_backward(g: Any, out: Any) -> Any:
    return g * (1.0 - out * out)


@scalar(COSTLY)
def log_sigmoid(x: Any) -> Any:
    return minimum(x, 0.0) - log1p(exp(-absolute(x)))


@scalar(COSTLY)
def log_sigmoid_backward(g: Any, x: Any) -> Any:
    return g * sigmoid(-x)


@scalar(COSTLY)
def logistic_loss(x: Any, target: Any) -> Any:
    return (1.0 - target) * x - log_sigmoid(x)


@scalar(COSTLY)
def logistic_loss_backward(g: Any, x: Any, target: Any) -> Any:
    return g * (sigmoid(x) - target)


@scalar(COSTLY)
def softplus(x: Any, beta: Any, threshold: Any) -> Any:
    return where(x * beta > threshold, x, log1p(exp(x * beta)) / beta)


@scalar(COSTLY)
def softplus_backward(g: Any, x: Any, beta: Any, threshold: Any) -> Any:
    return where(x * beta > threshold, g, g * sigmoid(x * beta))


@scalar(COSTLY)
def silu(x: Any) -> Any:
    return x / (1.0 + exp(-x))


@scalar(COSTLY)
def silu_backward(g: Any, x: Any) -> Any:
    s = sigmoid(x)
    return g * s * (1.0 + x * (1.0 - s))


@scalar(COSTLY)
def mish(x: Any) -> Any:
    return x * tanh(log1p(exp(x)))


@scalar(COSTLY)
def mish_backward(g: Any, x: Any) -> Any:
    t = tanh(log1p(exp(x)))
    return g * (t + x * sigmoid(x) * (1.0 - t * t))


@scalar(UNKNOWN)
def gelu(x: Any) -> Any:
    return x * normal_below(x)


@scalar(UNKNOWN)
def gelu_backward(g: Any, x: Any) -> Any:
    return g * (normal_below(x) + x * normal_density(x))


@scalar(COSTLY)
def gelu_tanh(x: Any) -> Any:
    return 0.5 * x * (1.0 + tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)))


@scalar(COSTLY)
def gelu_tanh_backward(g: Any, x: Any) -> Any:
    t = tanh(0.7978845608028654 * (x + 0.044715 * x * x * x))
    slope = 0.7978845608028654 * (1.0 + 3 * 0.044715 * x * x)
    return g * (0.5 * (1.0 + t) + 0.5 * x * (1.0 - t * t) * slope)


# --- The same for arrays ------------------------------------------------------------------------------

NUMPY: dict[str, Any] = dict(globals())
"""The names that the bodies use, as functions of NumPy arrays."""

for _name, _scalar in SCALARS.items():
    _made = FunctionType(_scalar.body.__code__, NUMPY, _name)  # type: ignore[attr-defined]
    NUMPY[_name] = _scalar.numpy or _made
