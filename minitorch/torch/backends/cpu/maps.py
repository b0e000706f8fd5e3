"""Elementwise functions of arrays.

Each is declared once: by its NumPy formula, which defines it and computes small arrays and
unusual types, and by the name of the scalar function that computes large ones on all
cores. `define` joins the two. All take arrays of one type (and plain numbers) that broadcast
together, and `out=`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from .kinds import KERNEL_TYPES, kernels_from

Array = Any
Map = Callable[..., Array]

# Sizes from which on the kernels win, by what the formula costs NumPy.
CHEAP = kernels_from(131_072)
COSTLY = kernels_from(8_192)
UNKNOWN = kernels_from(1_024)

MAPS: dict[str, Map] = {}
"""All of them, by name."""


def define(name: str, formula: Map, start: int) -> Map:
    """The function that applies a formula to small arrays and a kernel to large ones.

    Args:
        name: of the scalar function
        formula: the same of whole arrays, in NumPy
        start: the size from which on the kernel is faster
    """

    def apply(*operands: Any, out: Array | None = None) -> Array:
        for x in operands:
            if isinstance(x, np.ndarray) and (x.size >= start or x.itemsize == 2):
                return large_or_half(operands, x.size >= start, out)
        result = formula(*operands)
        return result if out is None else _put(result, out)

    def large_or_half(operands: tuple[Any, ...], large: bool, out: Array | None) -> Array:
        kind = _common_type(operands)
        if large and kind in KERNEL_TYPES and (out is None or out.dtype == kind):
            return _loops().elementwise(name, operands, out)
        if kind is not None and kind.itemsize == 2 and kind.kind in "fV":
            return _rounded(apply, operands, kind, out)
        result = formula(*operands)
        return result if out is None else _put(result, out)

    apply.__name__ = name
    apply.__doc__ = f"{name} of each element (see scalars.py)."
    MAPS[name] = apply
    return apply


@cache
def _loops() -> Any:
    """What needs Numba, when it is needed."""
    from . import loops

    return loops


def _common_type(operands: tuple[Any, ...]) -> Any:
    """The type of all arrays among the operands, or None."""
    kinds = {x.dtype for x in operands if isinstance(x, np.ndarray)}
    return kinds.pop() if len(kinds) == 1 else None


def _rounded(apply: Map, operands: tuple[Any, ...], kind: Any, out: Array | None) -> Array:
    """Half precision: computed in float32 and rounded once."""
    wide = [x.astype(np.float32) if isinstance(x, np.ndarray) else x for x in operands]
    result = apply(*wide).astype(kind)
    return result if out is None else _put(result, out)


def _put(result: Array, out: Array) -> Array:
    out[...] = result
    return out


# --- Arithmetic -----------------------------------------------------------------------------------

add = define("add", np.add, CHEAP)
sub = define("sub", np.subtract, CHEAP)
mul = define("mul", np.multiply, CHEAP)
div = define("div", np.true_divide, CHEAP)
maximum = define("maximum", np.maximum, CHEAP)
minimum = define("minimum", np.minimum, CHEAP)
neg = define("neg", np.negative, CHEAP)
absolute = define("absolute", np.abs, CHEAP)
square = define("square", np.square, CHEAP)
sqrt = define("sqrt", np.sqrt, CHEAP)
rsqrt = define("rsqrt", lambda x: 1 / np.sqrt(x), CHEAP)
reciprocal = define("reciprocal", lambda x: 1 / x, CHEAP)
add_scaled = define("add_scaled", lambda x, y, alpha: x + alpha * y, CHEAP)
lerp = define(
    "lerp",
    lambda start, end, weight: np.where(
        np.abs(weight) < 0.5, start + weight * (end - start), end - (end - start) * (1 - weight)
    ),
    CHEAP,
)

# --- Exponentials, logarithms, trigonometry -------------------------------------------------------


def _erf(x: Array) -> Array:
    """The error function, one element at a time: NumPy has none."""
    return np.asarray(np.frompyfunc(math.erf, 1, 1)(x)).astype(x.dtype)


def _erfc(x: Array) -> Array:
    return np.asarray(np.frompyfunc(math.erfc, 1, 1)(x)).astype(x.dtype)


exp = define("exp", np.exp, COSTLY)
exp2 = define("exp2", np.exp2, COSTLY)
expm1 = define("expm1", np.expm1, COSTLY)
log = define("log", np.log, COSTLY)
log2 = define("log2", np.log2, COSTLY)
log10 = define("log10", np.log10, COSTLY)
log1p = define("log1p", np.log1p, COSTLY)
tanh = define("tanh", np.tanh, COSTLY)
erf = define("erf", _erf, UNKNOWN)
erfc = define("erfc", _erfc, UNKNOWN)
_sin_of_angle = define("sin", np.sin, COSTLY)
_cos_of_angle = define("cos", np.cos, COSTLY)
LARGEST_ANGLE = 2.0**20


def sin(x: Array, out: Array | None = None) -> Array:
    """The sine."""
    return (_sin_of_angle if _are_angles(x) else np.sin)(x, out=out)


def cos(x: Array, out: Array | None = None) -> Array:
    """The cosine."""
    return (_cos_of_angle if _are_angles(x) else np.cos)(x, out=out)


def _are_angles(x: Array) -> bool:
    """Whether no element is larger than what the kernels can bring into the circle."""
    return x.size < COSTLY or x.dtype != np.float32 or bool(np.max(np.abs(x)) < LARGEST_ANGLE)


# --- Activations and their derivatives ------------------------------------------------------------


def _sigmoid(x: Array) -> Array:
    return 1 / (1 + np.exp(-x))


def _softplus(x: Array, beta: float, threshold: float) -> Array:
    return np.where(x * beta > threshold, x, np.log1p(np.exp(x * beta)) / beta)


def _softplus_backward(g: Array, x: Array, beta: float, threshold: float) -> Array:
    return np.where(x * beta > threshold, g, g * _sigmoid(x * beta))


def _silu_backward(g: Array, x: Array) -> Array:
    s = _sigmoid(x)
    return g * s * (1 + x * (1 - s))


def _mish(x: Array) -> Array:
    return x * np.tanh(np.log1p(np.exp(x)))


def _mish_backward(g: Array, x: Array) -> Array:
    t = np.tanh(np.log1p(np.exp(x)))
    return g * (t + x * _sigmoid(x) * (1 - t * t))


def _gelu(x: Array) -> Array:
    return x * 0.5 * (1 + _erf(x * math.sqrt(0.5)))


def _gelu_backward(g: Array, x: Array) -> Array:
    density = np.exp(x * x * -0.5) * (1 / math.sqrt(2 * math.pi))
    return g * (0.5 * (1 + _erf(x * math.sqrt(0.5))) + x * density)


def _gelu_tanh(x: Array) -> Array:
    return 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x * x * x)))


def _gelu_tanh_backward(g: Array, x: Array) -> Array:
    t = np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x * x * x))
    slope = math.sqrt(2 / math.pi) * (1 + 3 * 0.044715 * x * x)
    return g * (0.5 * (1 + t) + 0.5 * x * (1 - t * t) * slope)


relu = define("relu", lambda x: np.maximum(x.dtype.type(0), x), CHEAP)
threshold_backward = define(
    "threshold_backward", lambda g, x, threshold: np.where(x <= threshold, 0, g), COSTLY
)
clamp = define("clamp", np.clip, CHEAP)
leaky_relu = define("leaky_relu", lambda x, slope: np.where(x > 0, x, x * slope), COSTLY)
leaky_relu_backward = define(
    "leaky_relu_backward", lambda g, x, slope: np.where(x > 0, g, g * slope), COSTLY
)
elu = define("elu", lambda x, alpha: np.where(x < 0, alpha * np.expm1(x), x), COSTLY)
elu_backward = define(
    "elu_backward", lambda g, x, alpha: np.where(x <= 0, g * (alpha * np.exp(x)), g), COSTLY
)
sigmoid = define("sigmoid", _sigmoid, COSTLY)
sigmoid_backward = define("sigmoid_backward", lambda g, out: g * ((1 - out) * out), CHEAP)
tanh_backward = define("tanh_backward", lambda g, out: g * (1 - out * out), CHEAP)
log_sigmoid = define(
    "log_sigmoid", lambda x: np.minimum(x, 0) - np.log1p(np.exp(-np.abs(x))), COSTLY
)
log_sigmoid_backward = define("log_sigmoid_backward", lambda g, x: g * _sigmoid(-x), COSTLY)
softplus = define("softplus", _softplus, COSTLY)
softplus_backward = define("softplus_backward", _softplus_backward, COSTLY)
silu = define("silu", lambda x: x * _sigmoid(x), COSTLY)
silu_backward = define("silu_backward", _silu_backward, COSTLY)
mish = define("mish", _mish, COSTLY)
mish_backward = define("mish_backward", _mish_backward, COSTLY)
_gelu_erf = define("gelu", _gelu, UNKNOWN)
_gelu_erf_backward = define("gelu_backward", _gelu_backward, UNKNOWN)
gelu_tanh = define("gelu_tanh", _gelu_tanh, COSTLY)
gelu_tanh_backward = define("gelu_tanh_backward", _gelu_tanh_backward, COSTLY)


def gelu(x: Array, approximate: str = "none", out: Array | None = None) -> Array:
    """x times the normal distribution function at x, exactly or by tanh."""
    return (gelu_tanh if approximate == "tanh" else _gelu_erf)(x, out=out)


def gelu_backward(g: Array, x: Array, approximate: str = "none") -> Array:
    """The gradient g taken through `gelu` at x."""
    return (gelu_tanh_backward if approximate == "tanh" else _gelu_erf_backward)(g, x)
