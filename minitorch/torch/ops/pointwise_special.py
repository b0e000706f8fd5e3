"""Elementwise special functions: gamma, error and Bessel functions, common divisors, powers of 2.

Their values come from SciPy, which is loaded when the first of them is called.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from .. import dtypes, scalars
from ..backends.interface import as_array
from ..tensor import Array, Tensor
from .elementwise import binary, conj, not_for, unary, unknown
from .precision import in_single, kind_name, require_floats
from .promotion import broadcast_shapes, plain_integer, result_type
from .record import Op
from .results import named
from .surface import (
    FUNCTIONS,
    as_functions,
    check_tensor,
    function_and_method,
    in_place,
    into,
    method,
    with_out,
)


def scipy_function(name: str) -> Callable[..., Array]:
    """A SciPy function on arrays of one dtype, which is also the result's."""

    def run(*arrays: Array) -> Array:
        import scipy.special

        kind = arrays[0].dtype
        if kind.kind == "c":
            raise NotImplementedError(f"\"{name}\" not implemented for '{kind_name(arrays[0])}'")
        wide = [x.astype(np.float32) if kind.itemsize == 2 else x for x in arrays]
        return as_array(getattr(scipy.special, name)(*wide)).astype(kind, copy=False)

    return run


# --- Error and Bessel functions -------------------------------------------------------------------

_SLOPE = 2 / math.sqrt(math.pi)

unary("erf", scalars.erf, lambda g, input: g * (input * input).neg().exp() * _SLOPE,
      "The error function.", numpy=scipy_function("erf"), to_float=True)  # fmt: skip
unary("erfc", scalars.erfc, lambda g, input: g * (input * input).neg().exp() * -_SLOPE,
      "1 - erf(x).", numpy=scipy_function("erfc"), to_float=True)  # fmt: skip
unary("erfinv", None, lambda g, out: g * (out * out).exp() / _SLOPE,
      "The inverse of the error function.", numpy=scipy_function("erfinv"), to_float=True)  # fmt: skip
unary("i0", None, lambda g, input: g * I1(input),
      "The modified Bessel function of order 0.", numpy=scipy_function("i0"), to_float=True)  # fmt: skip


def _i1_gradient(g: Any, input: Any, out: Any) -> Any:
    """i0(x) - i1(x) / x, and 1/2 at 0."""
    zero = input == 0
    safe = input.masked_fill(zero, 1)
    return g * (input.i0() - out / safe).masked_fill(zero, 0.5)


I1 = Op("i1", ("input",), scipy_function("i1"), {"input": _i1_gradient},
        doc="The modified Bessel function of order 1.")  # fmt: skip

# --- Gamma functions --------------------------------------------------------------------------------

_gammaln = scipy_function("gammaln")
unary("lgamma", None, lambda g, input: g * input.digamma(), "The logarithm of the gamma function.",
      numpy=lambda x: _gammaln(np.where(x == -math.inf, -x, x)), to_float=True)  # fmt: skip
unary("digamma", None, lambda g, input: g * polygamma(1, input),
      "The derivative of lgamma.", numpy=scipy_function("psi"), to_float=True)  # fmt: skip


def _trigamma(x: Array) -> Array:
    """The trigamma function: reflected to above 1/2, by recurrence to above 6, then the asymptotic series."""
    low = x < 0.5
    reflected = np.square(np.pi / np.sin(np.pi * x))
    x = np.where(low, 1 - x, x)
    total = np.zeros_like(x)
    for _ in range(6):
        total += 1 / (x * x)
        x = x + 1
    s = 1 / (x * x)
    total += (1 + 1 / (2 * x) + s * (1 / 6 - s * (1 / 30 - s * (1 / 42)))) / x
    return np.where(low, reflected - total, total)


def _polygamma(input: Array, n: int) -> Array:
    """(-1)^(n+1) n! zeta(n+1, x)."""
    if n == 1:
        return _trigamma(input)
    order = np.asarray(n + 1, input.dtype)
    factorial = math.factorial(n) if n < 171 else math.inf  # the largest below 2**1024 is 170!
    return scipy_function("zeta")(order, input) * ((-1) ** (n + 1) * factorial)


POLYGAMMA = Op("polygamma", ("input",), in_single(_polygamma),
               {"input": lambda g, input, n: g * polygamma(n + 1, input)},
               doc="The n-th derivative of digamma.")  # fmt: skip


def polygamma(n: int, input: Tensor) -> Tensor:
    """The n-th derivative of digamma."""
    if plain_integer(n, "polygamma", "n") < 0:
        raise RuntimeError("polygamma(n, x) does not support negative n.")
    require_floats("polygamma", input._array, "biufV")
    return input.digamma() if n == 0 else POLYGAMMA(_as_float(input), n=n)


def _polygamma_method(self: Tensor, n: int) -> Tensor:
    """The n-th derivative of digamma."""
    return polygamma(n, self)


FUNCTIONS["polygamma"] = with_out(polygamma)
method("polygamma", _polygamma_method)
in_place("polygamma_", _polygamma_method)


def _as_float(input: Tensor) -> Tensor:
    return input if input.dtype.kind >= dtypes.FLOATING else input.to(dtypes.get_default_dtype())


def mvlgamma(input: Tensor, p: int) -> Tensor:
    """The logarithm of the multivariate gamma function of dimension p."""
    if input.dtype is dtypes.bool_:
        raise RuntimeError("The input tensor may not be a boolean tensor.")
    if p < 1:
        raise RuntimeError("p has to be greater than or equal to 1")
    if p * input._array.size > 2**33:
        raise RuntimeError(f"mvlgamma: p = {p} takes more memory than there is")
    x = _as_float(input)
    halves = x.new_tensor([-i / 2 for i in range(p)])
    return (x.unsqueeze(-1) + halves).lgamma().sum(-1) + p * (p - 1) / 4 * math.log(math.pi)


method("mvlgamma", mvlgamma)
in_place("mvlgamma_", mvlgamma)
FUNCTIONS["mvlgamma"] = with_out(mvlgamma)


def _igamma_slope(input: Any, other: Any) -> Any:
    """The derivative with respect to the second argument: x^(a-1) e^-x / gamma(a)."""
    return ((input - 1) * other.log() - other - input.lgamma()).exp()


binary("igamma", None,
       (unknown("igamma", "input"), lambda g, input, other: g * _igamma_slope(input, other)),
       "The regularized lower incomplete gamma function.", numbers="none",
       numpy=not_for("igamma", "biuc", scipy_function("gammainc")))  # fmt: skip


def _upper_gamma(a: Array, x: Array) -> Array:
    """1 minus the lower function where that is small: SciPy's upper one is inaccurate there."""
    upper = scipy_function("gammaincc")(a, x)
    return np.where(upper > 0.1, 1 - scipy_function("gammainc")(a, x), upper)


binary("igammac", None,
       (unknown("igammac", "input"), lambda g, input, other: -g * _igamma_slope(input, other)),
       "The regularized upper incomplete gamma function.", numbers="none",
       numpy=not_for("igammac", "biuc", in_single(_upper_gamma)))  # fmt: skip

# --- Logarithms and waves ----------------------------------------------------------------------------


def _xlogy_by_factor(g: Any, input: Any, other: Any) -> Any:
    """log(other), and 0 where 0 log 0 was taken as 0."""
    return g.xlogy(other).masked_fill((input == 0) & (other <= 0), 0)


binary("xlogy", scalars.xlogy, (_xlogy_by_factor, lambda g, input, other: g * input / other),
       "input log(other), 0 where input is 0.", to_float=True, numbers="one",
       numpy=not_for("xlogy_cpu", "c", in_single(scalars.xlogy)))  # fmt: skip
as_functions("xlogy_")


def _sinc_gradient(g: Any, input: Any) -> Any:
    """(pi x cos(pi x) - sin(pi x)) / (pi x²), and 0 where the square is 0."""
    zero = input * input * math.pi == 0
    safe = input.masked_fill(zero, 1)
    angle = safe * math.pi
    slope = (angle * angle.cos() - angle.sin()) / (angle * safe)
    return (g * conj(slope)).masked_fill(zero, 0)


def _sinc(x: Array) -> Array:
    angle = np.pi * np.where(x == 0, x.dtype.type(1e-20), x)
    return np.sin(angle) / angle


unary("sinc", None, _sinc_gradient, "sin(pi x) / (pi x).", numpy=in_single(_sinc), to_float=True)

# --- Divisors and powers -----------------------------------------------------------------------------

binary(
    "gcd",
    np.gcd,
    (None, None),
    "The greatest common divisor.",
    numpy=not_for("gcd_cpu", "bfcV", np.gcd),
    numbers="none",
)


def _lcm(a: Array, b: Array) -> Array:
    """The least common multiple; without its sign if it overflows, for 32 bits and more."""
    divisor = np.gcd(a, b)
    wide = np.result_type(a, np.int32)
    product = (a // np.where(divisor == 0, 1, divisor)).astype(wide) * b
    return np.abs(product).astype(a.dtype, copy=False)


binary(
    "lcm",
    None,
    (None, None),
    "The least common multiple.",
    numpy=not_for("lcm_cpu", "bfcV", _lcm),
    numbers="none",
)
as_functions("gcd_", "lcm_")


TIMES_POWER = Op(
    "ldexp",
    ("input", "power", "other"),
    in_single(lambda input, power, other: input * power),
    {
        "input": lambda g, other: ldexp(g, other),
        "power": None,
        "other": lambda g, out: g * out * math.log(2),
    },
)
LDEXP = Op(
    "ldexp",
    ("input", "other"),
    lambda input, other: np.ldexp(input, np.clip(other, -(2**15), 2**15).astype(np.int32)),
    {"input": lambda g, other: LDEXP(g, other), "other": None},
)


def ldexp(input: Tensor, other: Tensor) -> Tensor:
    """`input` times 2 to the power of `other`; a whole power of 2 may itself overflow."""
    check_tensor("ldexp", input)
    check_tensor("ldexp", other, "other")
    if input.dtype.is_floating_point and other.dtype is dtypes.bool_:
        raise NotImplementedError("\"ldexp_cpu_exp\" not implemented for 'Bool'")
    broadcast_shapes("ldexp", input._array.shape, other._array.shape)
    if other.dtype.kind != dtypes.INTEGRAL or not input.dtype.is_floating_point:
        if input.dtype.is_complex and other.dtype.kind < dtypes.FLOATING:
            other = other.to(input.dtype.to_real())
        if input.dtype.kind == other.dtype.kind == dtypes.FLOATING:
            kind = result_type(input, other)
            power = (2.0 ** other.detach()).to(kind)
            return TIMES_POWER(input.to(kind), power, other.to(kind))
        return input * 2.0**other
    return LDEXP(input, other)


FUNCTIONS["ldexp"] = with_out(ldexp)
method("ldexp", ldexp)
in_place("ldexp_", ldexp)
as_functions("ldexp_")

FREXP = Op("frexp", ("input",), lambda input: np.frexp(input),
           {"input": lambda g, outs: g / outs[1].detach().exp2()}, differentiable=1)  # fmt: skip


@function_and_method
def frexp(input: Tensor, *, out: Any = None) -> Any:
    """The mantissa, in [0.5, 1), and the exponent of 2."""
    if not input.dtype.is_floating_point:
        raise RuntimeError("torch.frexp() only supports floating-point dtypes")
    result = named("frexp", "mantissa", "exponent")(*FREXP(input))
    return result if out is None else into(out, result, "frexp")


def _widest(*values: Any) -> dtypes.dtype:
    """Double precision, of complex numbers if one of these is complex."""
    is_complex = any(
        v.dtype.is_complex if isinstance(v, Tensor) else isinstance(v, complex) for v in values
    )
    return dtypes.complex128 if is_complex else dtypes.float64


def float_power(input: Any, exponent: Any) -> Tensor:
    """Each element to a power, in double precision."""
    if not any(isinstance(v, Tensor) for v in (input, exponent)):
        raise TypeError(
            "float_power() received an invalid combination of arguments - got two numbers"
        )
    wide = _widest(input, exponent)
    base, power = (v.to(wide) if isinstance(v, Tensor) else v for v in (input, exponent))
    return base**power


FUNCTIONS["float_power"] = with_out(float_power)
method("float_power", float_power)


def float_power_(self: Tensor, exponent: Any) -> Tensor:
    """`float_power`, written into a tensor of double precision."""
    wide = _widest(self, exponent)
    if self.dtype != wide:
        raise RuntimeError(
            f"the base given to float_power_ has dtype {self.dtype} but the operation's result requires dtype {wide}"
        )
    return self.pow_(exponent.to(wide) if isinstance(exponent, Tensor) else exponent)


method("float_power_", float_power_)
