"""Functions of one number: sigmoid, gelu, ... and their derivatives, as every device computes them.

A scalar function is a NumPy ufunc (`np.exp`), or a Python function that is made of ufuncs, `where`,
arithmetic, comparisons and other scalar functions, without a branch. So it is also a formula of arrays, of
NumPy's or of any class that answers NumPy's functions, and a compiler can turn it into a kernel: what a
device has a better form of (an exponential of float32, say), it puts in the place of the ufunc.

Records of elementwise operations name theirs (`Op.scalar`). It takes the elements of the inputs in
their order, all of the type that is computed in, then the constants. Those that end in `_backward`
take the gradient first, then what Torch's take.
"""
# ruff: noqa: D103

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy import (
    absolute,
    copysign,
    exp,
    expm1,
    floor_divide,
    isnan,
    log,
    log1p,
    maximum,
    minimum,
    reciprocal,
    sqrt,
    tanh,
    trunc,
    where,
)

# --- Functions that NumPy does not have ---------------------------------------------------------------


def _each(function: Callable[[float], float]) -> Callable[[Any], Any]:
    """A function of the C library, of arrays one element at a time."""
    of_each = np.frompyfunc(function, 1, 1)

    def apply(x: Any) -> Any:
        if isinstance(x, (np.ndarray, np.generic)):
            return np.asarray(of_each(x)).astype(x.dtype)
        return of_each(x) if hasattr(x, "__array_ufunc__") else function(x)

    return apply


erf = _each(math.erf)
erfc = _each(math.erfc)

C_LIBRARY: dict[Callable[..., Any], Callable[..., Any]] = {erf: math.erf, erfc: math.erfc}
"""Scalar functions that have no body here: what the C library calls them."""


def normal_below(x: Any) -> Any:
    """The share of a normal distribution that lies below x."""
    return 0.5 * (1.0 + erf(x * 0.7071067811865476))


def normal_density(x: Any) -> Any:
    """The density of a normal distribution."""
    return exp(x * x * -0.5) * 0.3989422804014327


# --- Arithmetic -----------------------------------------------------------------------------------


def rsqrt(x: Any) -> Any:
    return reciprocal(sqrt(x))


def addcmul(x: Any, y: Any, z: Any, value: Any) -> Any:
    return x + value * y * z


def addcdiv(x: Any, y: Any, z: Any, value: Any) -> Any:
    return x + value * y / z


def xlogy(x: Any, y: Any) -> Any:
    return where(isnan(y), y, where(x == 0.0, 0.0, x * log(y)))


def frac(x: Any) -> Any:
    return x - trunc(x)


def sign(x: Any) -> Any:
    return where(x > 0.0, 1.0, where(x < 0.0, -1.0, 0.0))


def heaviside(x: Any, at_zero: Any) -> Any:
    return where(x == 0.0, at_zero, where(x > 0.0, 1.0, 0.0))


def truncated_divide(x: Any, y: Any) -> Any:
    return trunc(x / y)


def floored_divide(x: Any, y: Any) -> Any:
    """NumPy's, but that x // 0 is the infinity of x / 0."""
    return where(y == 0.0, x / y, floor_divide(x, y))


def clamp(x: Any, low: Any, high: Any) -> Any:
    """x between two bounds; None is no bound."""
    x = x if low is None else maximum(x, low)
    return x if high is None else minimum(x, high)


def lerp(start: Any, end: Any, weight: Any) -> Any:
    near, far = start + weight * (end - start), end - (end - start) * (1.0 - weight)
    return where(absolute(weight) < 0.5, near, far)


# --- Activations and their derivatives --------------------------------------------------------------


def relu(x: Any) -> Any:
    return maximum(x, 0.0)


def threshold(x: Any, threshold: Any, value: Any) -> Any:
    return where(x <= threshold, value, x)


def threshold_backward(g: Any, x: Any, threshold: Any, value: Any) -> Any:
    return where(x <= threshold, 0.0, g)


def hardtanh_backward(g: Any, x: Any, low: Any, high: Any) -> Any:
    return where((x <= low) | (x >= high), 0.0, g)


def hardsigmoid(x: Any) -> Any:
    return clamp(x + 3.0, 0.0, 6.0) / 6.0


def hardsigmoid_backward(g: Any, x: Any) -> Any:
    """With Torch's own sixth, which is a float32 in every type."""
    return where((x > -3.0) & (x < 3.0), g * 0.1666666716337204, 0.0)


def hardswish(x: Any) -> Any:
    return x * clamp(x + 3.0, 0.0, 6.0) / 6.0


def hardswish_backward(g: Any, x: Any) -> Any:
    return where(x <= -3.0, 0.0, where(x < 3.0, g * (x / 3.0 + 0.5), g))


def hardshrink(x: Any, bound: Any) -> Any:
    return where((x >= -bound) & (x <= bound), 0.0, x)


def hardshrink_backward(g: Any, x: Any, bound: Any) -> Any:
    return where((x >= -bound) & (x <= bound), 0.0, g)


def softshrink(x: Any, bound: Any) -> Any:
    return where(absolute(x) <= bound, 0.0, x - copysign(bound, x))


def softshrink_backward(g: Any, x: Any, bound: Any) -> Any:
    return where(absolute(x) <= bound, 0.0, g)


def prelu(x: Any, weight: Any) -> Any:
    return where(x > 0.0, x, weight * x)


def leaky_relu(x: Any, slope: Any) -> Any:
    return where(x > 0.0, x, x * slope)


def leaky_relu_backward(g: Any, x: Any, slope: Any) -> Any:
    return where(x > 0.0, g, g * slope)


def elu(x: Any, alpha: Any, scale: Any, steepness: Any) -> Any:
    return where(x < 0.0, alpha * scale * expm1(x * steepness), x * scale)


def elu_backward(g: Any, x: Any, alpha: Any, scale: Any, steepness: Any) -> Any:
    low = alpha * scale * steepness * exp(x * steepness)
    return where(x <= 0.0, g * low, g * scale)


def sigmoid(x: Any) -> Any:
    return 1.0 / (1.0 + exp(-x))


def sigmoid_backward(g: Any, out: Any) -> Any:
    return g * ((1.0 - out) * out)


def tanh_backward(g: Any, out: Any) -> Any:
    return g * (1.0 - out * out)


def log_sigmoid(x: Any) -> Any:
    return minimum(x, 0.0) - log1p(exp(-absolute(x)))


def log_sigmoid_backward(g: Any, x: Any) -> Any:
    return g * sigmoid(-x)


def logistic_loss(x: Any, target: Any) -> Any:
    return (1.0 - target) * x - log_sigmoid(x)


def logistic_loss_backward(g: Any, x: Any, target: Any) -> Any:
    return g * (sigmoid(x) - target)


def softplus(x: Any, beta: Any, threshold: Any) -> Any:
    return where(x * beta > threshold, x, log1p(exp(x * beta)) / beta)


def softplus_backward(g: Any, x: Any, beta: Any, threshold: Any) -> Any:
    return where(x * beta > threshold, g, g * sigmoid(x * beta))


def silu(x: Any) -> Any:
    return x / (1.0 + exp(-x))


def silu_backward(g: Any, x: Any) -> Any:
    s = sigmoid(x)
    return g * s * (1.0 + x * (1.0 - s))


def mish(x: Any) -> Any:
    return x * tanh(log1p(exp(x)))


def mish_backward(g: Any, x: Any) -> Any:
    t = tanh(log1p(exp(x)))
    return g * (t + x * sigmoid(x) * (1.0 - t * t))


def gelu(x: Any) -> Any:
    return x * normal_below(x)


def gelu_backward(g: Any, x: Any) -> Any:
    return g * (normal_below(x) + x * normal_density(x))


def gelu_tanh(x: Any) -> Any:
    return 0.5 * x * (1.0 + tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)))


def gelu_tanh_backward(g: Any, x: Any) -> Any:
    t = tanh(0.7978845608028654 * (x + 0.044715 * x * x * x))
    slope = 0.7978845608028654 * (1.0 + 3 * 0.044715 * x * x)
    return g * (0.5 * (1.0 + t) + 0.5 * x * (1.0 - t * t) * slope)
