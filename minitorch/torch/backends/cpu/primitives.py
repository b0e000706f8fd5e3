"""What the CPU puts in the place of NumPy's functions of one number: exp, log, tanh, erf, sin, ... of one float32.

Each reduces its argument to a small range, where a polynomial is as good as the type, without a
branch (a choice between two numbers is not one), so that loops over it become vector
instructions. For float64 there are the C library's functions.

Literals are of the type that a function is compiled for; named constants are float64.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from types import FunctionType
from typing import Any, NamedTuple

import numpy as np

from ... import scalars
from .dispatch import Function

f32, i32, f64 = np.float32, np.int32, np.float64

# Sizes of arrays from which on kernels win, by what a function costs NumPy.
CHEAP, COSTLY, UNKNOWN = 131_072, 8_192, 1_024


class Primitive(NamedTuple):
    """What kernels compute where a scalar function says one of NumPy's."""

    body: Function
    start: int  # the size of arrays from which on kernels compute


PRIMITIVES: dict[Function, Primitive] = {}
"""By NumPy's function, or by the scalar function that the CPU has a better form of."""

FLOAT64: dict[Function, Function] = {}
"""For bodies that are for float32 only, what takes their place in float64."""


def primitive(
    of: Function, start: int = CHEAP, float64: Function | None = None
) -> Callable[[Function], Function]:
    """Declare what kernels compute in the place of a function."""

    def declare(body: Function) -> Function:
        PRIMITIVES[of] = Primitive(body, start)
        if float64 is not None:
            FLOAT64[body] = float64
        return body

    return declare


def start_of(scalar: Function) -> int | None:
    """The size of arrays from which on a kernel of a scalar function wins; None where there can be none."""
    if scalar in PRIMITIVES:
        return PRIMITIVES[scalar].start
    if not isinstance(scalar, FunctionType):
        return None
    starts = [None if f in ANGLES else start_of(f) for f in _called(scalar)]
    return None if None in starts else min((n for n in starts if n), default=CHEAP)


def _called(scalar: FunctionType) -> list[Function]:
    """The functions that a scalar function names, by themselves or as NumPy's."""
    names = scalar.__code__.co_names
    named = [scalar.__globals__.get(name) for name in names]
    if np in named:
        named += [getattr(np, name, None) for name in names]
    return [f for f in named if callable(f)]


# --- Arithmetic and choices -------------------------------------------------------------------------


primitive(np.add)(lambda x, y: x + y)
primitive(np.subtract)(lambda x, y: x - y)
primitive(np.multiply)(lambda x, y: x * y)
primitive(np.true_divide)(lambda x, y: x / y)
primitive(np.negative)(lambda x: -x)
primitive(np.square)(lambda x: x * x)
primitive(np.sqrt)(lambda x: math.sqrt(x))
primitive(np.reciprocal)(lambda x: 1.0 / x)
primitive(np.absolute)(lambda x: abs(x))
primitive(np.where, COSTLY)(lambda condition, x, y: x if condition else y)


@primitive(np.maximum)
def maximum(x: Any, y: Any) -> Any:
    """The larger of two, or NaN."""
    z = x if x > y else y
    return x if x != x else z


@primitive(np.minimum)
def minimum(x: Any, y: Any) -> Any:
    """The smaller of two, or NaN."""
    z = x if x < y else y
    return x if x != x else z


# --- Bits of a float32 ----------------------------------------------------------------------


def _bits(x: Any) -> Any:
    """The bits of a float32, as an int32."""
    return f32(x).view(i32)


def _from_bits(n: Any) -> Any:
    """The float32 with these bits."""
    return i32(n).view(f32)


def _power_of_two(k: Any) -> Any:
    """2 to a whole power between -126 and 127: the exponent bits of a float32."""
    return _from_bits((k + i32(127)) << i32(23))


def _scaled(x: Any, k: Any) -> Any:
    """x times 2^k. The power of two comes in two halves, so that subnormals are right."""
    half = i32(k >> i32(1))
    return x * _power_of_two(half) * _power_of_two(i32(k - half))


def _nearest(x: Any) -> Any:
    """The whole number nearest to x, as a float and as an int; |x| is below 2^22.

    Added to 1.5 * 2^23, the fraction of x has no bits left.
    """
    shifted = x + 12582912.0
    return shifted - 12582912.0, i32(_bits(shifted) - i32(0x4B400000))


def _clip(x: Any, low: Any, high: Any) -> Any:
    x = high if x > high else x
    return low if x < low else x


# --- Exponentials -----------------------------------------------------------------------------


def _exp_minus_one(r: Any) -> Any:
    """exp(r) - 1 for |r| up to log(2) / 2."""
    p = ((1 / 5040 * r + 1 / 720) * r + 1 / 120) * r + 1 / 24
    return ((p * r + 1 / 6) * r + 1 / 2) * r * r + r


def _reduce_exp(x: Any) -> Any:
    """k, and exp(r) - 1 for r = x - k log 2: exp(x) is 2^k (1 + that)."""
    k, whole = _nearest(x * 1.4426950408889634)
    r = x - k * 0.693145751953125
    return whole, _exp_minus_one(r - k * 1.42860677e-6)


@primitive(np.exp, COSTLY, math.exp)
def exp(x: Any) -> Any:
    """e to the power of x."""
    k, p = _reduce_exp(_clip(x, -104.0, 89.0))
    return _scaled(1.0 + p, k)


def _exp2_64(x: Any) -> Any:
    return 2.0**x


@primitive(np.exp2, COSTLY, _exp2_64)
def exp2(x: Any) -> Any:
    """2 to the power of x."""
    x = _clip(x, -151.0, 129.0)
    k, whole = _nearest(x)
    return _scaled(1.0 + _exp_minus_one((x - k) * 0.6931471805599453), whole)


@primitive(np.expm1, COSTLY, math.expm1)
def expm1(x: Any) -> Any:
    """exp(x) - 1, also where x is close to 0."""
    x = _clip(x, -20.0, 89.0)
    whole, p = _reduce_exp(x)
    half_power = _power_of_two(i32(whole - i32(1)))
    y = 2.0 * (p * half_power + (half_power - 0.5))
    return x if x == 0.0 else y


# --- Logarithms ---------------------------------------------------------------------------------


def _log_near_one(f: Any) -> Any:
    """log(1 + f) - f, for 1 + f between sqrt(1/2) and sqrt(2)."""
    p = (0.06746601313352585 * f - 0.11675640940666199) * f + 0.11888174712657928
    p = ((p * f - 0.12405591458082199) * f + 0.14219550788402557) * f - 0.1666799634695053
    p = ((p * f + 0.2000211924314499) * f - 0.25000008940696716) * f + 0.3333331346511841
    return (p * f - 0.5) * (f * f)


def _split(x: Any) -> Any:
    """m between sqrt(1/2) and sqrt(2), and a whole k with x = m 2^k, for positive normal x."""
    bits = _bits(x)
    k = i32((bits - i32(0x3F3504F3)) >> i32(23))
    return _from_bits(bits - (k << i32(23))), f32(k)


def _join(x: Any, f: Any, k: Any) -> Any:
    """log((1 + f) 2^k), put right where x is 0, negative, infinite or not a number."""
    y = (_log_near_one(f) + k * 1.42860677e-6 + f) + k * 0.693145751953125
    y = f32(-np.inf) if x == 0.0 else y
    y = x if x == f32(np.inf) else y
    return y if x >= 0.0 else f32(np.nan)


@primitive(np.log, COSTLY, math.log)
def log(x: Any) -> Any:
    """The natural logarithm."""
    tiny = x < 1.17549435e-38
    m, k = _split(x * 8388608.0 if tiny else x)
    return _join(x, m - 1.0, k - 23.0 if tiny else k)


@primitive(np.log1p, COSTLY, math.log1p)
def log1p(x: Any) -> Any:
    """log(1 + x), also where x is close to 0: what is lost in rounding 1 + x is added to f."""
    u = 1.0 + x
    lost = x - (u - 1.0) if u > x else 1.0 - (u - x)
    m, k = _split(u)
    f = (m - 1.0) + lost * _power_of_two(i32(-126.0 if k > 126.0 else -k))
    return x if x == 0.0 else _join(u, f, k)


@primitive(np.log2, COSTLY)
def log2(x: Any) -> Any:
    """The logarithm to base 2."""
    return log(x) * 1.4426950408889634


@primitive(np.log10, COSTLY)
def log10(x: Any) -> Any:
    """The logarithm to base 10."""
    return log(x) * 0.4342944819032518


# --- Bounded functions --------------------------------------------------------------------------


@primitive(np.tanh, COSTLY, math.tanh)
def tanh(x: Any) -> Any:
    """The hyperbolic tangent: a polynomial near 0, elsewhere 1 - 2 / (exp(2 |x|) + 1)."""
    s = x * x
    p = (-0.005704978480935097 * s + 0.020639078691601753) * s - 0.05373971164226532
    p = (p * s + 0.13331441581249237) * s - 0.3333328068256378
    near = x if s == 0.0 else x + x * (s * p)
    a = abs(x)
    far = 1.0 - 2.0 / (exp(a + a) + 1.0)
    return near if a < 0.625 else (-far if x < 0.0 else far)


@primitive(scalars.erf, UNKNOWN, math.erf)
def erf(x: Any) -> Any:
    """The error function: a polynomial up to 1, from there to 4, where it is 1, 1 - exp(another)."""
    s, a = x * x, abs(x)
    p = (7.853857823647559e-05 * s - 0.0008010192541405559) * s + 0.005188327748328447
    p = ((p * s - 0.026853810995817184) * s + 0.1128358542919159) * s - 0.3761262595653534
    near = x + x * (p * s + 0.12837916612625122)
    b = 4.0 if a > 4.0 else a
    q = (0.0001855748996604234 * b - 0.0029396158643066883) * b + 0.021805351600050926
    q = ((q * b - 0.10303743928670883) * b - 0.6382256150245667) * b - 1.1270400285720825
    far = 1.0 - exp(q * b - 0.00035370892146602273)
    far = -far if x < 0.0 else far
    return near if a < 1.0 else far


@primitive(scalars.erfc, UNKNOWN, math.erfc)
def erfc(x: Any) -> Any:
    """1 - erf(x), computed in float64: its values far out are small and would be lost."""
    return f32(math.erfc(f64(x)))


# --- The normal distribution ---------------------------------------------------------------------


def _small_exp2(x: Any) -> Any:
    """2 to a power between -126 and 127, to within its last two bits."""
    k, whole = _nearest(x)
    r = x - k
    p = (0.00015467364573851228 * r + 0.0013400432653725147) * r + 0.009618035517632961
    p = ((p * r + 0.05550327152013779) * r + 0.24022650718688965) * r + 0.6931471824645996
    return (p * r + 1.0) * _power_of_two(whole)


def _normal_below_64(x: Any) -> Any:
    return 0.5 * (1.0 + math.erf(x * 0.7071067811865476))


@primitive(scalars.normal_below, UNKNOWN, _normal_below_64)
def normal_below(x: Any) -> Any:
    """The distribution function: on the shorter side 2 to a polynomial, and nothing from 5.7 on."""
    a = abs(x)
    p = (5.128528641762387e-07 * a - 9.560118996887468e-06) * a + 7.49732498661615e-05
    p = ((p * a - 0.0002843461115844548) * a + 1.4988533621362876e-05) * a + 0.006931121926754713
    p = ((p * a - 0.0524347648024559) * a - 0.4592214524745941) * a - 1.1511043310165405
    shorter = 0.0 if a > 5.7 else _small_exp2(p * a - 1.0)
    return shorter if x < 0.0 else 1.0 - shorter


def _normal_density_64(x: Any) -> Any:
    return math.exp(x * x * -0.5) * 0.3989422804014327


@primitive(scalars.normal_density, COSTLY, _normal_density_64)
def normal_density(x: Any) -> Any:
    """The density."""
    power = x * x * -0.7213475204444817 - 1.3257480647361592
    return 0.0 if power < -126.0 else _small_exp2(power)


# --- Trigonometry ---------------------------------------------------------------------------------

LARGEST_ANGLE = 2.0**20
"""Up to which sin and cos are right in float32."""

ANGLES = (np.sin, np.cos)
"""What kernels compute only after a look at the arguments."""

TWO_OVER_PI, WHOLE = 0.6366197723675814, 6755399441055744.0
HALF_PI, HALF_PI_REST = 1.5707963267341256, 6.077100506506192e-11
"""Half of pi in two parts: the first has 33 bits, so that its product with an angle's quarter is exact."""


def _quarter_turns(x: Any) -> Any:
    """The quarter of the circle that an angle is in, and what is left of it."""
    wide = f64(x)
    shifted = wide * TWO_OVER_PI + WHOLE
    k = shifted - WHOLE
    return i32(f64(shifted).view(np.int64)), f32((wide - k * HALF_PI) - k * HALF_PI_REST)


def _sine_or_cosine(quarter: Any, r: Any) -> Any:
    """The sine of r plus so many quarter turns, for |r| up to an eighth of a turn."""
    s = r * r
    p = (-0.00019515282474458218 * s + 0.00833216030150652) * s - 0.16666655242443085
    sine = r if s == 0.0 else r + r * (s * p)
    q = (2.4433154976577498e-05 * s - 0.0013887316454201937) * s + 0.04166664555668831
    cosine = 1.0 - 0.5 * s + s * s * q
    y = sine if quarter & i32(1) == 0 else cosine
    return y if quarter & i32(2) == 0 else -y


@primitive(np.sin, COSTLY, math.sin)
def sin(x: Any) -> Any:
    """The sine of an angle below LARGEST_ANGLE."""
    quarter, r = _quarter_turns(x)
    return _sine_or_cosine(quarter, r)


@primitive(np.cos, COSTLY, math.cos)
def cos(x: Any) -> Any:
    """The cosine of an angle below LARGEST_ANGLE."""
    quarter, r = _quarter_turns(x)
    return _sine_or_cosine(quarter + i32(1), r)
