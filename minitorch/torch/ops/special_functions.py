"""Functions of `torch.special` that `torch` lacks: one row each, values from SciPy or a recurrence.

`SPECIAL` holds the functions by name. As in Torch, Bessel, Airy and polynomial functions
have no derivative: their results are constants of the graph.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from .. import dtypes
from ..backends.interface import ARRAYS
from ..tensor import Array, Tensor
from .elementwise import not_for
from .pointwise_special import I1, scipy_function
from .precision import kind_name
from .promotion import NUMBERS, broadcast_error, meet
from .record import ELEMENTWISE, Op, Rule
from .surface import check_tensor, into

SPECIAL: dict[str, Callable[..., Tensor]] = {}
"""The functions of `torch.special` that `torch` lacks."""

_ROOT_HALF, _ROOT_TWO_PI = math.sqrt(0.5), math.sqrt(2 * math.pi)


def _refuse_complex(name: str, array: Any) -> None:
    if type(array) in ARRAYS and array.dtype.kind == "c":
        raise NotImplementedError(f"\"{name}\" not implemented for '{kind_name(array)}'")


def _constant(x: Any) -> Any:
    return x.detach() if isinstance(x, Tensor) else x


def unary(name: str, compute: Callable[[Array], Array], gradient: Rule, doc: str) -> Op:
    """Declare `torch.special.name(input, out=None)`."""

    def run(input: Array) -> Array:
        _refuse_complex(name, input)
        (x,) = meet((input,), to_float=True)
        return compute(x)

    op = Op(f"special_{name}", ("input",), run, {"input": gradient}, kind=ELEMENTWISE, doc=doc)

    def call(input: Tensor, *, out: Any = None) -> Tensor:
        check_tensor(f"special_{name}", input)
        result = op(input if gradient is not None else _constant(input))
        return result if out is None else into(out, result, name)

    call.__name__, call.__doc__ = name, doc
    SPECIAL[name] = call
    return op


def binary(name: str, compute: Callable[..., Array], gradients: tuple[Rule, Rule], doc: str) -> Op:
    """Declare `torch.special.name(input, other, out=None)`; one of the two may be a number."""

    def run(input: Any, other: Any) -> Array:
        for x in (input, other):
            _refuse_complex(name, x)
        try:
            return compute(*np.broadcast_arrays(*meet((input, other), to_float=True)))
        except ValueError:
            raise broadcast_error(name, (input, other)) from None

    op = Op(
        f"special_{name}",
        ("input", "other"),
        run,
        {"input": gradients[0], "other": gradients[1]},
        kind=ELEMENTWISE,
        doc=doc,
    )

    def call(input: Any, other: Any, *, out: Any = None) -> Tensor:
        if not isinstance(input, Tensor):
            check_tensor(f"special_{name}", other, "other")
        for x in (input, other):
            if not isinstance(x, (Tensor, *NUMBERS)):
                raise TypeError(
                    f"special_{name}(): argument must be a Tensor or a number, not {type(x).__name__}"
                )
        result = op(input, other) if any(gradients) else op(_constant(input), _constant(other))
        return result if out is None else into(out, result, name)

    call.__name__, call.__doc__ = name, doc
    SPECIAL[name] = call
    return op


# --- With derivatives -----------------------------------------------------------------------


def _entr(x: Array) -> Array:
    safe = np.where(x > 0, x, x.dtype.type(1))
    known = np.where(
        x > 0, -x * np.log(safe), np.where(x == 0, x.dtype.type(0), x.dtype.type(-np.inf))
    )
    return np.where(np.isnan(x), x, known)


def _xlog1py(a: Array, b: Array) -> Array:
    return np.where(np.isnan(b), b, np.where(a == 0, a.dtype.type(0), a * np.log1p(b)))


def _xlog1py_by_factor(g: Any, input: Any, other: Any) -> Any:
    logarithm = (
        other.log1p()
        if isinstance(other, Tensor)
        else math.log1p(other if other <= dtypes.finfo(input.dtype).max else math.inf)
        if other > -1
        else -math.inf
        if other == -1
        else math.nan
    )
    return (g * logarithm).masked_fill((input == 0) & (other <= -1), 0)


def _i1e_gradient(g: Any, input: Any, out: Any) -> Any:
    """i0e(x) - i1e(x) (sgn(x) + 1 / x), and 1/2 at 0."""
    near = input.abs() <= dtypes.finfo(input.dtype).eps
    safe = input.masked_fill(near, 1)
    return g * (I0E(safe) - out * (safe.sgn() + safe.reciprocal())).masked_fill(near, 0.5)


def _zeta(a: Array, b: Array) -> Array:
    """The Hurwitz zeta function; SciPy has no pole at the negative integers."""
    value = scipy_function("zeta")(a, b)
    at_pole = (b <= 0) & (b == np.floor(b)) & (a > 1)
    return np.where(at_pole, value.dtype.type(np.inf), value)


unary("entr", _entr, lambda g, input: g * -(input.log() + 1), "-x log(x).")
ERFCX = unary("erfcx", scipy_function("erfcx"),
              lambda g, input, out: g * (2 * input * out - 2 / math.sqrt(math.pi)), "exp(x²) erfc(x).")  # fmt: skip
I0E = unary("i0e", scipy_function("i0e"), lambda g, input, out: g * (I1E(input) - input.sgn() * out),
            "exp(-|x|) i0(x).")  # fmt: skip
I1E = unary("i1e", scipy_function("i1e"), _i1e_gradient, "exp(-|x|) i1(x).")
unary("ndtri", scipy_function("ndtri"), lambda g, out: g * (out * out / 2).exp() * _ROOT_TWO_PI,
      "The inverse of `ndtr`.")  # fmt: skip
unary("log_ndtr", scipy_function("log_ndtr"),
      lambda g, input, out: g * (out + input * input / 2).neg().exp() / _ROOT_TWO_PI, "The logarithm of `ndtr`.")  # fmt: skip
binary("xlog1py", not_for("xlog1py_cpu", "c", _xlog1py), (_xlog1py_by_factor, lambda g, input, other: g * input / (other + 1)),
       "input log(1 + other), 0 where input is 0.")  # fmt: skip
ZETA = binary("zeta", _zeta, (None, lambda g, input, other: g * -input * ZETA(input + 1, other)),
              "The Hurwitz zeta function: the sum of (k + other)^-input.")  # fmt: skip


def _in_floats(name: str, input: Any) -> Tensor:
    check_tensor(f"special_{name}", input)
    return input if input.dtype.kind >= dtypes.FLOATING else input.to(dtypes.get_default_dtype())


def ndtr(input: Tensor, *, out: Any = None) -> Tensor:
    """The cumulative distribution function of the standard normal distribution."""
    result = ((_in_floats("ndtr", input) * _ROOT_HALF).erf() + 1) * 0.5
    return result if out is None else into(out, result, "ndtr")


def i1(input: Tensor, *, out: Any = None) -> Tensor:
    """The modified Bessel function of order 1."""
    result = I1(_in_floats("i1", input))
    return result if out is None else into(out, result, "i1")


SPECIAL["i1"] = i1
SPECIAL["ndtr"] = ndtr

# --- Bessel functions -------------------------------------------------------------------------


def _airy(x: Array) -> Array:
    """Ai; far from 0, where SciPy gives NaN, its asymptotic value: 0, or a decaying wave."""
    import scipy.special

    result = scipy.special.airy(x)[0]
    far = np.isnan(result) & np.isfinite(x)
    if far.any():
        size = np.abs(x.astype(np.float64))
        wave = np.sin(size**1.5 / 1.5 + np.pi / 4) / (np.sqrt(np.pi) * size**0.25)
        result = np.where(far, np.where(x > 0, 0, wave), result)
    return result.astype(x.dtype, copy=False)


def _spherical_j0(x: Array) -> Array:
    safe = np.where((x == 0) | np.isinf(x), x.dtype.type(1), x)
    return np.where(
        np.isinf(x), x.dtype.type(0), np.where(x == 0, x.dtype.type(1), np.sin(safe) / safe)
    )


for _name, _compute, _doc in [
    ("airy_ai", _airy, "Airy's function Ai."),
    ("bessel_j0", scipy_function("j0"), "The Bessel function of the first kind, order 0."),
    ("bessel_j1", scipy_function("j1"), "The Bessel function of the first kind, order 1."),
    ("bessel_y0", scipy_function("y0"), "The Bessel function of the second kind, order 0."),
    ("bessel_y1", scipy_function("y1"), "The Bessel function of the second kind, order 1."),
    (
        "modified_bessel_i0",
        scipy_function("i0"),
        "The modified Bessel function of the first kind, order 0.",
    ),
    (
        "modified_bessel_i1",
        scipy_function("i1"),
        "The modified Bessel function of the first kind, order 1.",
    ),
    (
        "modified_bessel_k0",
        scipy_function("k0"),
        "The modified Bessel function of the second kind, order 0.",
    ),
    (
        "modified_bessel_k1",
        scipy_function("k1"),
        "The modified Bessel function of the second kind, order 1.",
    ),
    ("scaled_modified_bessel_k0", scipy_function("k0e"), "exp(x) times modified_bessel_k0(x)."),
    ("scaled_modified_bessel_k1", scipy_function("k1e"), "exp(x) times modified_bessel_k1(x)."),
    ("spherical_bessel_j0", _spherical_j0, "sin(x) / x."),
]:
    unary(_name, _compute, None, _doc)

# --- Polynomials --------------------------------------------------------------------------------

Polynomial = Callable[[Array, Array], Array]
Closed = Callable[[Array, Array], tuple[Array, Array]]
"""Where a polynomial has a closed form, and its values there, from x and the degrees."""

LARGEST_DEGREE = 1 << 20
"""The largest degree that is computed by a recurrence."""


def _polynomial(
    first: Callable[[Array], Array],
    step: Callable[[int, Array, Array, Array], Array],
    closed: Closed,
) -> Polynomial:
    """A family of polynomials: p[0] = 1, p[1] = first(x), p[k + 1] = step(k, x, p[k], p[k - 1])."""

    def run(x: Array, n: Array) -> Array:
        degree = np.where(np.abs(n) < 2.0**63, np.trunc(n), n.dtype.type(-1))
        where, values = closed(x, degree)
        known = [
            (where & (degree > 0), values),
            (degree == 1, first(x)),
            (degree == 0, np.ones_like(x)),
        ]
        out = np.select(*zip(*known, strict=True), default=x.dtype.type(0))
        left = (degree > 1) & ~where
        out[left] = follow(x[left], degree[left])
        return out

    def follow(x: Array, degree: Array) -> Array:
        before, now = np.ones_like(x), first(x)
        found, k = now, 1
        while ((degree > k) & ~np.isnan(now)).any():
            if k == LARGEST_DEGREE:
                raise RuntimeError(f"a polynomial of degree {degree.max():.0f} takes too long")
            before, now = now, step(k, x, now, before).astype(x.dtype, copy=False)
            k += 1
            found = np.where(degree >= k, now, found)
        return found

    return run


def _signs(x: Array, degree: Array) -> Array:
    """1 or -1 to the power of a degree."""
    return np.where(degree % 2 == 0, x.dtype.type(1), x)


def _chebyshev(
    first: Callable[[Array], Array],
    angles: Callable[[Array, Array], Array],
    ends: Callable[[Array, Array], Array],
    above: int,
) -> Polynomial:
    """A family of Chebyshev polynomials; in [-1, 1], and above some degree, computed by acos(x)."""

    def closed(x: Array, degree: Array) -> tuple[Array, Array]:
        inside, at_end = (degree > above) & (np.abs(x) < 1), np.abs(x) == 1
        angle = np.arccos(np.where(inside, x, x.dtype.type(0)))
        return inside | at_end, np.where(inside, angles(angle, degree), ends(x, degree))

    return _polynomial(first, lambda k, x, p, q: 2 * x * p - q, closed)


def _hermite(x: Array, degree: Array) -> tuple[Array, Array]:
    """The Hermite polynomials, NaN for degrees at which values overflow."""
    return degree > (128 if x.dtype == np.float32 else 512), np.full_like(x, np.nan)


_HALF = np.float32(0.5)
_CHEBYSHEV: dict[str, tuple[Any, ...]] = {
    "t": (lambda x: x, lambda a, n: np.cos(n * a), _signs, 6, 6, "first"),
    "u": (lambda x: 2 * x, lambda a, n: np.sin((n + 1) * a) / np.sin(a),
          lambda x, n: _signs(x, n) * (n + 1), 8, 6, "second"),
    "v": (lambda x: 2 * x - 1, lambda a, n: np.cos((n + _HALF) * a) / np.cos(a / 2),
          lambda x, n: np.where(x > 0, x, _signs(x, n) * (2 * n + 1)), 8, 6, "third"),
    "w": (lambda x: 2 * x + 1, lambda a, n: np.sin((n + _HALF) * a) / np.sin(a / 2),
          lambda x, n: np.where(x > 0, 2 * n + 1, _signs(x, n)), 8, 4, "fourth"),
}  # fmt: skip
"""For each kind: degree 1, the value from angles, at 1 and -1, and from which degree on: plain, shifted."""
_FAMILIES: dict[str, tuple[Polynomial, str]] = {
    "hermite_polynomial_h": (
        _polynomial(lambda x: 2 * x, lambda k, x, p, q: 2 * x * p - 2 * k * q, _hermite),
        "The physicist's Hermite polynomials."),
    "hermite_polynomial_he": (
        _polynomial(lambda x: x, lambda k, x, p, q: x * p - k * q, _hermite),
        "The probabilist's Hermite polynomials."),
    "laguerre_polynomial_l": (
        _polynomial(lambda x: 1 - x, lambda k, x, p, q: ((2 * k + 1 - x) * p - k * q) / (k + 1),
                    lambda x, n: (x == 0, np.ones_like(x))),
        "Laguerre polynomials."),
    "legendre_polynomial_p": (
        _polynomial(lambda x: x, lambda k, x, p, q: ((2 * k + 1) * x * p - k * q) / (k + 1),
                    lambda x, n: (np.abs(x) == 1, _signs(x, n))),
        "Legendre polynomials."),
}  # fmt: skip
for _kind, (_first, _angles, _ends, _above, _shifted_above, _which) in _CHEBYSHEV.items():
    _doc = f"Chebyshev polynomials of the {_which} kind"
    _shifted = _chebyshev(_first, _angles, _ends, _shifted_above)
    _FAMILIES[f"chebyshev_polynomial_{_kind}"] = (
        _chebyshev(_first, _angles, _ends, _above),
        f"{_doc}.",
    )
    _FAMILIES[f"shifted_chebyshev_polynomial_{_kind}"] = (
        lambda x, n, run=_shifted: run(2 * x - 1, n),
        f"{_doc}, at 2x - 1.",
    )


def _not_in_half(name: str, run: Polynomial) -> Polynomial:
    """Refuse half precision, as in Torch: it is too inaccurate for recurrences."""

    def call(x: Array, n: Array) -> Array:
        if x.dtype.itemsize == 2:
            raise NotImplementedError(f"\"{name}_cpu\" not implemented for '{kind_name(x)}'")
        return run(x, n)

    return call


for _name, (_run, _doc) in _FAMILIES.items():
    binary(_name, _not_in_half(_name, _run), (None, None), _doc)
