"""Functions of one number, as the bodies of kernels: exp, log, tanh, erf, gelu, ...

In float32 each is a short chain of additions and products without a branch (a choice
between two numbers is not one), so that a compiler turns a loop over it into vector
instructions. The few primitives reduce their argument to a small range, where a polynomial
is as good as the type; everything else is composed from them. In float64 the primitives
are those of the C library.
"""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np

from .kernels import part

f32 = np.float32
i32 = np.int32

# --- Powers of two --------------------------------------------------------------------------


@part
def _bits(x: Any) -> Any:
    """The bits of a float32, as an int32."""
    return np.float32(x).view(np.int32)


@part
def _from_bits(n: Any) -> Any:
    """The float32 with these bits."""
    return np.int32(n).view(np.float32)


@part
def _power_of_two(k: Any) -> Any:
    """2 to a whole power between -126 and 127: the exponent bits of a float32."""
    return _from_bits((k + i32(127)) << i32(23))


@part
def _nearest(x: Any) -> Any:
    """The whole number nearest to x, as a float and as an int; |x| is below 2^22.

    Added to 1.5 * 2^23, the fraction of x has no bits left.
    """
    shifted = x + f32(12582912.0)
    return shifted - f32(12582912.0), i32(_bits(shifted) - i32(0x4B400000))


# --- Order ---------------------------------------------------------------------------------------
# Whole numbers can be compared in vector registers where floats, for the sake of NaN, cannot.


@part
def _key(x: Any) -> Any:
    """A whole number that is larger where x is; that of NaN is the largest of all."""
    bits = _bits(x)
    key = i32(bits ^ ((bits >> i32(31)) & i32(0x7FFFFFFF)))
    return i32(0x7FFFFFFF) if x != x else key


@part
def _from_key(key: Any) -> Any:
    """The number with this key."""
    return _from_bits(key ^ ((key >> i32(31)) & i32(0x7FFFFFFF)))


@part
def _key_64(x: Any) -> Any:
    """The same for float64."""
    bits = np.float64(x).view(np.int64)
    key = np.int64(bits ^ ((bits >> 63) & 0x7FFFFFFFFFFFFFFF))
    return np.int64(0x7FFFFFFFFFFFFFFF) if x != x else key


@part
def _from_key_64(key: Any) -> Any:
    return np.int64(key ^ ((key >> 63) & 0x7FFFFFFFFFFFFFFF)).view(np.float64)


KEYS = {
    np.float32: (_key, _from_key, np.int32, -0x80000000),
    np.float64: (_key_64, _from_key_64, np.int64, -0x8000000000000000),
}

# --- Exponentials -----------------------------------------------------------------------------


@part
def _exp_minus_one(r: Any) -> Any:
    """exp(r) - 1 for |r| up to log(2) / 2."""
    p = f32(1 / 5040)
    p = p * r + f32(1 / 720)
    p = p * r + f32(1 / 120)
    p = p * r + f32(1 / 24)
    p = p * r + f32(1 / 6)
    p = p * r + f32(1 / 2)
    return p * r * r + r


@part
def _reduce_exp(x: Any) -> Any:
    """k, and exp(r) - 1 for r = x - k log 2: exp(x) is 2^k (1 + that)."""
    k, whole = _nearest(x * f32(1.4426950408889634))
    r = x - k * f32(0.693145751953125)
    return whole, _exp_minus_one(r - k * f32(1.42860677e-6))


@part
def _exp(x: Any) -> Any:
    """e to the power of x. The power of two comes in two halves, so that subnormals are right."""
    x = f32(89.0) if x > f32(89.0) else x
    x = f32(-104.0) if x < f32(-104.0) else x
    whole, p = _reduce_exp(x)
    half = i32(whole >> i32(1))
    return (f32(1) + p) * _power_of_two(half) * _power_of_two(i32(whole - half))


@part
def _exp2(x: Any) -> Any:
    """2 to the power of x."""
    x = f32(129.0) if x > f32(129.0) else x
    x = f32(-151.0) if x < f32(-151.0) else x
    k, whole = _nearest(x)
    half = i32(whole >> i32(1))
    p = _exp_minus_one((x - k) * f32(0.6931471805599453))
    return (f32(1) + p) * _power_of_two(half) * _power_of_two(i32(whole - half))


@part
def _expm1(x: Any) -> Any:
    """exp(x) - 1, also where x is close to 0."""
    x = f32(89.0) if x > f32(89.0) else x
    x = f32(-20.0) if x < f32(-20.0) else x
    whole, p = _reduce_exp(x)
    half_power = _power_of_two(i32(whole - i32(1)))
    y = f32(2) * (p * half_power + (half_power - f32(0.5)))
    return x if x == f32(0) else y


# --- Logarithms ---------------------------------------------------------------------------------


@part
def _log_near_one(f: Any) -> Any:
    """log(1 + f) - f, for 1 + f between sqrt(1/2) and sqrt(2)."""
    p = f32(0.06746601313352585)
    p = p * f + f32(-0.11675640940666199)
    p = p * f + f32(0.11888174712657928)
    p = p * f + f32(-0.12405591458082199)
    p = p * f + f32(0.14219550788402557)
    p = p * f + f32(-0.1666799634695053)
    p = p * f + f32(0.2000211924314499)
    p = p * f + f32(-0.25000008940696716)
    p = p * f + f32(0.3333331346511841)
    return (p * f - f32(0.5)) * (f * f)


@part
def _split(x: Any) -> Any:
    """m between sqrt(1/2) and sqrt(2), and a whole k with x = m 2^k, for positive normal x."""
    bits = _bits(x)
    k = i32((bits - i32(0x3F3504F3)) >> i32(23))
    return _from_bits(bits - (k << i32(23))), f32(k)


@part
def _at_ends(x: Any, y: Any) -> Any:
    """A logarithm y of x, put right where x is 0, negative, infinite or not a number."""
    y = f32(-np.inf) if x == f32(0) else y
    y = x if x == f32(np.inf) else y
    return y if x >= f32(0) else f32(np.nan)


@part
def _log(x: Any) -> Any:
    """The natural logarithm."""
    tiny = x < f32(1.17549435e-38)
    m, k = _split(x * f32(8388608.0) if tiny else x)
    k = k - f32(23) if tiny else k
    f = m - f32(1)
    y = _log_near_one(f) + k * f32(1.42860677e-6)
    return _at_ends(x, (y + f) + k * f32(0.693145751953125))


@part
def _log1p(x: Any) -> Any:
    """log(1 + x), also where x is close to 0: what is lost in rounding 1 + x is added to f."""
    u = f32(1) + x
    lost = x - (u - f32(1)) if u > x else f32(1) - (u - x)
    m, k = _split(u)
    f = (m - f32(1)) + lost * _power_of_two(i32(f32(-126) if k > f32(126) else -k))
    y = _log_near_one(f) + k * f32(1.42860677e-6)
    y = (y + f) + k * f32(0.693145751953125)
    return _at_ends(u, y if x != f32(0) else x)


# --- Bounded functions --------------------------------------------------------------------------


@part
def _tanh(x: Any) -> Any:
    """The hyperbolic tangent: a polynomial near 0, elsewhere 1 - 2 / (exp(2 |x|) + 1)."""
    s = x * x
    p = f32(-0.005704978480935097)
    p = p * s + f32(0.020639078691601753)
    p = p * s + f32(-0.05373971164226532)
    p = p * s + f32(0.13331441581249237)
    p = p * s + f32(-0.3333328068256378)
    near = x if s == f32(0) else x + x * (s * p)
    a = abs(x)
    far = f32(1) - f32(2) / (_exp(a + a) + f32(1))
    return near if a < f32(0.625) else (-far if x < f32(0) else far)


@part
def _erf(x: Any) -> Any:
    """The error function: a polynomial up to 1, from there to 4, where it is 1, 1 - exp(another)."""
    s = x * x
    p = f32(7.853857823647559e-05)
    p = p * s + f32(-0.0008010192541405559)
    p = p * s + f32(0.005188327748328447)
    p = p * s + f32(-0.026853810995817184)
    p = p * s + f32(0.1128358542919159)
    p = p * s + f32(-0.3761262595653534)
    p = p * s + f32(0.12837916612625122)
    near = x + x * p
    a = abs(x)
    b = f32(4) if a > f32(4) else a
    q = f32(0.0001855748996604234)
    q = q * b + f32(-0.0029396158643066883)
    q = q * b + f32(0.021805351600050926)
    q = q * b + f32(-0.10303743928670883)
    q = q * b + f32(-0.6382256150245667)
    q = q * b + f32(-1.1270400285720825)
    q = q * b + f32(-0.00035370892146602273)
    far = f32(1) - _exp(q)
    far = -far if x < f32(0) else far
    return near if a < f32(1) else far


# --- The normal distribution ---------------------------------------------------------------------


@part
def _small_exp2(x: Any) -> Any:
    """2 to a power between -126 and 127, to within its last two bits."""
    k, whole = _nearest(x)
    r = x - k
    p = f32(0.00015467364573851228)
    p = p * r + f32(0.0013400432653725147)
    p = p * r + f32(0.009618035517632961)
    p = p * r + f32(0.05550327152013779)
    p = p * r + f32(0.24022650718688965)
    p = p * r + f32(0.6931471824645996)
    return (p * r + f32(1)) * _power_of_two(whole)


@part
def _normal_below(x: Any) -> Any:
    """How much is below x: on the shorter side 2 to a polynomial, and nothing from 5.7 on."""
    a = abs(x)
    p = f32(5.128528641762387e-07)
    p = p * a + f32(-9.560118996887468e-06)
    p = p * a + f32(7.49732498661615e-05)
    p = p * a + f32(-0.0002843461115844548)
    p = p * a + f32(1.4988533621362876e-05)
    p = p * a + f32(0.006931121926754713)
    p = p * a + f32(-0.0524347648024559)
    p = p * a + f32(-0.4592214524745941)
    p = p * a + f32(-1.1511043310165405)
    shorter = f32(0) if a > f32(5.7) else _small_exp2(p * a - f32(1))
    return shorter if x < f32(0) else f32(1) - shorter


@part
def _normal_density(x: Any) -> Any:
    """The density at x."""
    power = x * x * f32(-0.7213475204444817) + f32(-1.3257480647361592)
    return f32(0) if power < f32(-126) else _small_exp2(power)


@part
def _erfc(x: Any) -> Any:
    """1 - erf(x), computed in float64: its values far out are small and would be lost."""
    return f32(math.erfc(np.float64(x)))


# --- Trigonometry ---------------------------------------------------------------------------------


@part
def _quarter_turns(x: Any) -> Any:
    """The quarter of the circle that an angle below 2^20 is in, and what is left of it.

    Half of pi comes in two parts. The first has 33 bits and k has 20, so that their product
    is exact, also on a processor without a fused multiply-and-add.
    """
    wide = np.float64(x)
    shifted = wide * 0.6366197723675814 + 6755399441055744.0
    k = shifted - 6755399441055744.0
    left = (wide - k * 1.5707963267341256) - k * 6.077100506506192e-11
    return i32(np.float64(shifted).view(np.int64)), f32(left)


@part
def _sine_or_cosine(quarter: Any, r: Any) -> Any:
    """The sine of r plus so many quarter turns, for |r| up to an eighth of a turn."""
    s = r * r
    p = f32(-0.00019515282474458218)
    p = p * s + f32(0.00833216030150652)
    p = p * s + f32(-0.16666655242443085)
    sine = r if s == f32(0) else r + r * (s * p)
    q = f32(2.4433154976577498e-05)
    q = q * s + f32(-0.0013887316454201937)
    q = q * s + f32(0.04166664555668831)
    cosine = f32(1) - f32(0.5) * s + s * s * q
    y = sine if quarter & i32(1) == 0 else cosine
    return y if quarter & i32(2) == 0 else -y


@part
def _sin(x: Any) -> Any:
    """The sine of an angle below 2^20."""
    quarter, r = _quarter_turns(x)
    return _sine_or_cosine(quarter, r)


@part
def _cos(x: Any) -> Any:
    """The cosine of an angle below 2^20."""
    quarter, r = _quarter_turns(x)
    return _sine_or_cosine(quarter + i32(1), r)


# --- The C library's, for float64 -------------------------------------------------------------------


@part
def _exp_64(x: Any) -> Any:
    return math.exp(x)


@part
def _exp2_64(x: Any) -> Any:
    return 2.0**x


@part
def _expm1_64(x: Any) -> Any:
    return math.expm1(x)


@part
def _log_64(x: Any) -> Any:
    return math.log(x)


@part
def _log1p_64(x: Any) -> Any:
    return math.log1p(x)


@part
def _tanh_64(x: Any) -> Any:
    return math.tanh(x)


@part
def _erf_64(x: Any) -> Any:
    return math.erf(x)


@part
def _erfc_64(x: Any) -> Any:
    return math.erfc(x)


@part
def _normal_below_64(x: Any) -> Any:
    return 0.5 * (1.0 + math.erf(x * 0.7071067811865476))


@part
def _normal_density_64(x: Any) -> Any:
    return math.exp(x * x * -0.5) * 0.3989422804014327


@part
def _sin_64(x: Any) -> Any:
    return math.sin(x)


@part
def _cos_64(x: Any) -> Any:
    return math.cos(x)


PRIMITIVES = {
    np.float32: {
        "exp": _exp, "exp2": _exp2, "expm1": _expm1, "log": _log, "log1p": _log1p, "tanh": _tanh,
        "erf": _erf, "erfc": _erfc, "normal_below": _normal_below,
        "normal_density": _normal_density, "sin": _sin, "cos": _cos,
    },
    np.float64: {
        "exp": _exp_64, "exp2": _exp2_64, "expm1": _expm1_64, "log": _log_64, "log1p": _log1p_64,
        "tanh": _tanh_64, "erf": _erf_64, "erfc": _erfc_64, "normal_below": _normal_below_64,
        "normal_density": _normal_density_64, "sin": _sin_64, "cos": _cos_64,
    },
}  # fmt: skip

# --- What is composed from them ---------------------------------------------------------------------


@cache
def functions(real: Any) -> dict[str, Any]:
    """All scalar functions by name, for float32 or float64 numbers.

    Those that end in `_backward` take the gradient first, then what Torch's take.
    """
    table = dict(PRIMITIVES[real])
    exp, expm1, log, log1p = table["exp"], table["expm1"], table["log"], table["log1p"]
    tanh = table["tanh"]
    normal_below, normal_density = table["normal_below"], table["normal_density"]

    def body(fn: Any) -> Any:
        table[fn.__name__] = part(fn)
        return table[fn.__name__]

    # Arithmetic

    @body
    def add(x: Any, y: Any) -> Any:
        return x + y

    @body
    def sub(x: Any, y: Any) -> Any:
        return x - y

    @body
    def mul(x: Any, y: Any) -> Any:
        return x * y

    @body
    def div(x: Any, y: Any) -> Any:
        return x / y

    @body
    def maximum(x: Any, y: Any) -> Any:
        z = x if x > y else y
        return x if x != x else z

    @body
    def minimum(x: Any, y: Any) -> Any:
        z = x if x < y else y
        return x if x != x else z

    @body
    def neg(x: Any) -> Any:
        return -x

    @body
    def absolute(x: Any) -> Any:
        return abs(x)

    @body
    def square(x: Any) -> Any:
        return x * x

    @body
    def sqrt(x: Any) -> Any:
        return real(math.sqrt(x))

    @body
    def rsqrt(x: Any) -> Any:
        return real(1) / real(math.sqrt(x))

    @body
    def reciprocal(x: Any) -> Any:
        return real(1) / x

    @body
    def add_scaled(x: Any, y: Any, alpha: Any) -> Any:
        return x + alpha * y

    @body
    def lerp(start: Any, end: Any, weight: Any) -> Any:
        near, far = start + weight * (end - start), end - (end - start) * (real(1) - weight)
        return near if abs(weight) < real(0.5) else far

    # Logarithms and powers to other bases

    @body
    def log2(x: Any) -> Any:
        return log(x) * real(1.4426950408889634)

    @body
    def log10(x: Any) -> Any:
        return log(x) * real(0.4342944819032518)

    # Activations

    @body
    def relu(x: Any) -> Any:
        return real(0) if x < real(0) else x

    @body
    def threshold_backward(g: Any, x: Any, threshold: Any) -> Any:
        return real(0) if x <= threshold else g

    @body
    def clamp(x: Any, low: Any, high: Any) -> Any:
        x = low if x < low else x
        return high if x > high else x

    @body
    def leaky_relu(x: Any, slope: Any) -> Any:
        return x if x > real(0) else x * slope

    @body
    def leaky_relu_backward(g: Any, x: Any, slope: Any) -> Any:
        return g if x > real(0) else g * slope

    @body
    def elu(x: Any, alpha: Any) -> Any:
        low = alpha * expm1(x)
        return low if x < real(0) else x

    @body
    def elu_backward(g: Any, x: Any, alpha: Any) -> Any:
        low = g * (alpha * exp(x))
        return low if x <= real(0) else g

    @body
    def sigmoid(x: Any) -> Any:
        return real(1) / (real(1) + exp(-x))

    @body
    def sigmoid_backward(g: Any, out: Any) -> Any:
        return g * ((real(1) - out) * out)

    @body
    def tanh_backward(g: Any, out: Any) -> Any:
        return g * (real(1) - out * out)

    @body
    def log_sigmoid(x: Any) -> Any:
        low = real(0) if x > real(0) else x
        return low - log1p(exp(-abs(x)))

    @body
    def log_sigmoid_backward(g: Any, x: Any) -> Any:
        return g * (real(1) - real(1) / (real(1) + exp(-x)))

    @body
    def softplus(x: Any, beta: Any, threshold: Any) -> Any:
        low = log1p(exp(x * beta)) / beta
        return x if x * beta > threshold else low

    @body
    def softplus_backward(g: Any, x: Any, beta: Any, threshold: Any) -> Any:
        low = g / (real(1) + exp(-(x * beta)))
        return g if x * beta > threshold else low

    @body
    def silu(x: Any) -> Any:
        return x / (real(1) + exp(-x))

    @body
    def silu_backward(g: Any, x: Any) -> Any:
        s = real(1) / (real(1) + exp(-x))
        return g * s * (real(1) + x * (real(1) - s))

    @body
    def mish(x: Any) -> Any:
        return x * tanh(log1p(exp(x)))

    @body
    def mish_backward(g: Any, x: Any) -> Any:
        s = real(1) / (real(1) + exp(-x))
        t = tanh(log1p(exp(x)))
        return g * (t + x * s * (real(1) - t * t))

    @body
    def gelu(x: Any) -> Any:
        return x * normal_below(x)

    @body
    def gelu_backward(g: Any, x: Any) -> Any:
        return g * (normal_below(x) + x * normal_density(x))

    @body
    def gelu_tanh(x: Any) -> Any:
        inner = real(0.7978845608028654) * (x + real(0.044715) * x * x * x)
        return real(0.5) * x * (real(1) + tanh(inner))

    @body
    def gelu_tanh_backward(g: Any, x: Any) -> Any:
        inner = real(0.7978845608028654) * (x + real(0.044715) * x * x * x)
        slope = real(0.7978845608028654) * (real(1) + real(3 * 0.044715) * x * x)
        t = tanh(inner)
        return g * (real(0.5) * (real(1) + t) + real(0.5) * x * (real(1) - t * t) * slope)

    return table
