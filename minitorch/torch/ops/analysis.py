"""Powers, logarithms, trigonometry, and the logistic function."""

from __future__ import annotations

import cmath
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from .. import dtypes, scalars
from ..backends.interface import ARRAYS, cpu_map
from ..tensor import Array, Tensor
from .comparison import where
from .elementwise import LARGE, binary, conj, flat, not_for, unary
from .precision import in_single
from .promotion import exact_number, fits_floats
from .record import Op, Rule, Scalar
from .surface import alias


def floating(
    name: str,
    scalar: Scalar,
    gradient: Rule,
    doc: str,
    numpy: Callable[[Array], Array] | None = None,
) -> Op:
    """Declare an elementwise function that casts integers to floating point."""
    return unary(name, scalar, gradient, doc, numpy=numpy, to_float=True)


# --- Powers ---------------------------------------------------------------------------------------

_SIMPLE_POWERS: dict[float, Callable[[Array], Array]] = {
    -2.0: lambda x: np.reciprocal(x * x),
    -1.0: np.reciprocal,
    -0.5: lambda x: np.reciprocal(np.sqrt(x)),
    0.5: np.sqrt,
    2.0: np.square,
    3.0: lambda x: x * x * x,
}


def _power(a: Array, b: Array) -> Array:
    if a.dtype.kind in "fV":
        power = float(b) if b.ndim == 0 else math.nan
        if a.dtype == np.float16 and abs(power) == 0.5:  # only here is it no root
            return np.power(a, b)
        simple = _SIMPLE_POWERS.get(power)
        return np.power(a, b) if simple is None else simple(a)
    if a.dtype.kind == "b":
        return a | ~b
    if a.dtype.kind == "i" and np.any(b < 0):
        return _power_below_one(a, b)
    return np.power(a, b)


def _power_below_one(a: Array, b: Array) -> Array:
    """Integers to integer powers, which may be negative: fractions are rounded to 0."""
    fraction = np.where(np.abs(a) == 1, a ** (np.abs(b) % 2), 0)
    return np.where(b < 0, fraction, np.power(a, np.maximum(b, 0))).astype(a.dtype)


def _kind_of(x: Any) -> str:
    """The NumPy kind of an array or number."""
    return (x.dtype if type(x) in ARRAYS else np.result_type(x)).kind


def _special_power(input: Any, other: Any) -> Array | None:
    """The power, where the exponent cast to the input's dtype would no longer be odd.

    RuntimeError for integers to a negative number, and for booleans to a tensor.
    """
    if fits_floats(other) and (other >= 0 or type(other) is float):
        return None
    if type(other) in ARRAYS and other.dtype.kind == "b" == _kind_of(input):
        raise NotImplementedError("\"pow\" not implemented for 'Bool'")
    if isinstance(other, int) and other < 0 and input.dtype.kind in "biu":
        raise RuntimeError("Integers to negative integer powers are not allowed.")
    number = isinstance(other, (int, float))
    if number and not fits_floats(other) and input.dtype.kind in "iufV":
        given = dtypes.from_numpy_dtype(input.dtype)
        kind = dtypes.result_of(given, None, dtypes.of_number(other))
        wide = kind.itemsize > 2 and kind.is_floating_point
        exact_number(other, dtypes.float64 if wide else kind)
    if number and abs(other) > 2**24 and other % 2 == 1 and input.dtype == np.float32:
        return np.power(input.astype(np.float64), float(other)).astype(input.dtype)
    return None


def _power_by_base(g: Any, input: Any, other: Any) -> Any:
    if not isinstance(other, Tensor):
        return g.mul(0) if other == 0 else g * conj(other * input.pow(other - 1))
    return where(other == 0, 0, g * conj(other * input.pow(other - 1)))


def _power_by_exponent(g: Any, input: Any, other: Any, out: Any) -> Any:
    """out log(input); nothing where 0 is raised to a power of 0 or above."""
    log = input.to(out.dtype).log() if isinstance(input, Tensor) else _log_of_number(input, out)
    nothing = (input == 0) & (other.real >= 0)
    return g * conj(where(nothing, 0, out * log))


def _log_of_number(number: Any, out: Tensor) -> Any:
    """The logarithm of a number, which may be beyond the range of the result's dtype."""
    if out.dtype.is_complex:
        return cmath.log(number) if number else -math.inf
    return math.log(number) if number > 0 else math.nan if number else -math.inf


def _acosh_gradient(g: Any, input: Any) -> Any:
    """1 / sqrt(x^2 - 1); of complex numbers on the branch of the function itself."""
    if input.dtype.is_complex:
        return g * conj((input - 1).rsqrt() * (input + 1).rsqrt())
    return g * (input * input - 1).rsqrt()


def _square(x: Array) -> Array:
    return np.square(x.astype(np.int64) if x.dtype.kind == "b" else x)


# fmt: off
POW = binary("pow", np.power, (_power_by_base, _power_by_exponent), "Each element to a power.", symbol="pow",
             numbers="one", check=_special_power, numpy=_power)
SQUARE = unary("square", np.square, lambda g, input: g * conj(2 * input), "x times x.", numpy=_square)
floating("sqrt", np.sqrt, lambda g, out: g / (2 * conj(out)), "Square root.")
floating("rsqrt", scalars.rsqrt, lambda g, out: -0.5 * g * conj(out.pow(3)), "1 / sqrt(x).")
floating("reciprocal", np.reciprocal, lambda g, out: -g * conj(out * out), "1 / x.")
# fmt: on

# --- Exponentials and logarithms ------------------------------------------------------------------

LN2, LN10 = math.log(2), math.log(10)


def add_exponentials(a: Array, b: Array) -> Array:
    """log(exp(a) + exp(b)), without overflow."""
    if a.dtype.kind != "c":
        return np.logaddexp(a, b)
    first = a.real >= b.real
    high, low = np.where(first, a, b), np.where(first, b, a)
    return high + np.log1p(np.exp(low - high))


# fmt: off
floating("exp", np.exp, lambda g, out: g * conj(out), "e to the power of each element.")
floating("exp2", np.exp2, lambda g, out: g * conj(out) * LN2, "2 to the power of each element.")
floating("expm1", np.expm1, lambda g, out: g * (conj(out) + 1), "exp(x) - 1, accurate near 0.")
floating("log", np.log, lambda g, input: g / conj(input), "Natural logarithm.")
floating("log2", np.log2, lambda g, input: g / (conj(input) * LN2), "Logarithm to base 2.")
floating("log10", np.log10, lambda g, input: g / (conj(input) * LN10), "Logarithm to base 10.")
floating("log1p", np.log1p, lambda g, input: g / (conj(input) + 1), "log(1 + x), accurate near 0.")
binary("logaddexp", np.logaddexp,
       (lambda g, input, other: g / conj(1 + (other - input).exp()),
        lambda g, input, other: g / conj(1 + (input - other).exp())),
       "log(exp(a) + exp(b)), without overflow.", has_twin=False, numbers="none",
       numpy=not_for("logaddexp_cpu", "biu", add_exponentials))
binary("logaddexp2", np.logaddexp2,
       (lambda g, input, other: g / (1 + (other - input).exp2()),
        lambda g, input, other: g / (1 + (input - other).exp2())),
       "log2(2^a + 2^b), without overflow.", has_twin=False, numbers="none",
       numpy=not_for("logaddexp2_cpu", "biuc", np.logaddexp2))
# fmt: on

# --- Functions whose result tells their slope -------------------------------------------------------


def _by_result(
    scalar: Scalar, slope: Callable[[Any], Any], slope_gradient: Callable[[Any], Any]
) -> Rule:
    """Declare g times a slope that is a function of the result; large arrays use a kernel.

    Args:
        scalar: of the gradient and the result
        slope: the derivative, from the result
        slope_gradient: the derivative of the slope
    """
    large = cpu_map(scalar, scalar)

    def compute(grad: Array, result: Array) -> Array:
        return large(grad, result) if large and grad.size >= LARGE else scalar(grad, result)

    fused = Op(scalar.__name__, ("grad", "result"), compute, {
        "grad": lambda g, result: fused(g, result),
        "result": lambda g, grad, result: g * grad * slope_gradient(result),
    }, scalar=scalar)  # fmt: skip

    def rule(g: Any, out: Any) -> Any:
        return g * conj(slope(out)) if out._array.dtype.kind == "c" else fused(g, out)

    return rule


# fmt: off
floating("tanh", np.tanh, _by_result(scalars.tanh_backward, lambda y: 1 - y * y, lambda y: -2 * y), "Hyperbolic tangent.")
floating("sigmoid", scalars.sigmoid, _by_result(scalars.sigmoid_backward, lambda y: (1 - y) * y, lambda y: 1 - 2 * y),
         "1 / (1 + exp(-x)).")
# fmt: on

# --- Trigonometry -----------------------------------------------------------------------------------

DEGREE = math.pi / 180
RADIAN = 1 / DEGREE


def _to_radians(x: Any) -> Any:
    return x * DEGREE


def _to_degrees(x: Any) -> Any:
    return x * RADIAN


def _inverse_square(a: Any, b: Any) -> Any:
    """1 / (a a + b b), and 0 where both are 0."""
    square = a * a + b * b
    return square.reciprocal().masked_fill(square == 0, 0)


# fmt: off
floating("sin", np.sin, lambda g, input: g * conj(input.cos()), "Sine.")
floating("cos", np.cos, lambda g, input: -g * conj(input.sin()), "Cosine.")
floating("tan", np.tan, lambda g, out: g * conj(1 + out * out), "Tangent.")
floating("asin", np.arcsin, lambda g, input: g * conj((1 - input * input).rsqrt()), "Arc sine.")
floating("acos", np.arccos, lambda g, input: -g * conj((1 - input * input).rsqrt()), "Arc cosine.")
floating("atan", np.arctan, lambda g, input: g / conj(1 + input * input), "Arc tangent.")
floating("sinh", np.sinh, lambda g, input: g * conj(input.cosh()), "Hyperbolic sine.")
floating("cosh", np.cosh, lambda g, input: g * conj(input.sinh()), "Hyperbolic cosine.")
floating("asinh", np.arcsinh, lambda g, input: g * conj((input * input + 1).rsqrt()), "Inverse hyperbolic sine.")
floating("acosh", np.arccosh, _acosh_gradient, "Inverse hyperbolic cosine.")
floating("atanh", np.arctanh, lambda g, input: g / conj(1 - input * input), "Inverse hyperbolic tangent.")
floating("deg2rad", _to_radians, lambda g: g * DEGREE, "Degrees as radians.", not_for("deg2rad", "c", in_single(_to_radians)))
floating("rad2deg", _to_degrees, lambda g: g / DEGREE, "Radians as degrees.", not_for("rad2deg", "c", in_single(_to_degrees)))
binary("atan2", np.arctan2,
       (lambda g, input, other: g * other * _inverse_square(input, other),
        lambda g, input, other: g * -input * _inverse_square(input, other)),
       "The angle of the point (other, input).", to_float=True, numbers="none")
binary("hypot", np.hypot,
       (lambda g, input, out: g * input / out, lambda g, other, out: g * other / out),
       "The length of the vector (input, other).", numbers="none",
       numpy=not_for("hypot_cpu", "biuc", np.hypot))
binary("nextafter", np.nextafter, (lambda g, input, other: g.masked_fill(input == other, 0), flat),
       "The next representable number towards the second.", numbers="none", numpy=not_for("nextafter_cpu", "biuc", np.nextafter))
for _new, _old in [
    ("arcsin", "asin"), ("arccos", "acos"), ("arctan", "atan"), ("arcsinh", "asinh"), ("arccosh", "acosh"),
    ("arctanh", "atanh"), ("arctan2", "atan2"),
]:
    alias(_new, _old)
# fmt: on
