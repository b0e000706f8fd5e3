"""Operations on each element by itself: one record each.

`unary` and `binary` turn a NumPy function and its derivatives into a record, a function, a
method, an in-place twin and a docs row. To add an operation is to add one call.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from .. import dtypes
from ..backends.cpu.kinds import KERNEL_TYPES
from ..backends.cpu.maps import MAPS as KERNELS
from ..tensor import Array, Tensor
from .promotion import broadcast_error, meet
from .record import Op, Rule, bind
from .surface import (
    FUNCTIONS,
    alias,
    as_functions,
    check_tensor,
    expose_binary,
    expose_unary,
    function,
    function_and_method,
    in_place,
    into,
    method,
    only_method,
    operator,
    with_out,
)
from .writes import bind_in_place

LARGE = 8_192
"""The size from which on compiled kernels are asked, which then decide for themselves."""


def unary(
    name: str,
    compute: Callable[[Array], Array],
    gradient: Rule,
    doc: str,
    *,
    to_float: bool = False,
    has_twin: bool = True,
) -> Op:
    """Declare an operation on one tensor.

    Args:
        name: as in Torch
        compute: from an array to an array of the same shape
        gradient: of the parameters `g`, `input`, `out`, whichever it needs
        doc: one line
        to_float: whether whole numbers are first turned into floating point
        has_twin: whether there is one that writes into its input
    """
    kernel = KERNELS.get(name)

    def run(input: Array) -> Array:
        if to_float and input.dtype.kind in "biu":
            input = input.astype(dtypes.get_default_dtype().numpy)
        if input.size >= LARGE and kernel is not None and input.dtype in KERNEL_TYPES:
            return kernel(input)
        return compute(input)

    ufunc = _on_all_cores(compute, kernel) if isinstance(compute, np.ufunc) else None
    op = Op(name, ("input",), run, {"input": gradient}, ufunc=ufunc, doc=doc)
    expose_unary(op, has_twin)
    return op


def binary(
    name: str,
    compute: Callable[[Array, Array], Array],
    gradients: tuple[Rule, Rule],
    doc: str,
    *,
    to_float: bool = False,
    symbol: str | None = None,
    has_twin: bool = True,
    numbers: str = "any",
    exact_numbers: bool = False,
) -> Op:
    """Declare an operation on two tensors, or a tensor and a number, broadcast together.

    Args:
        name: as in Torch
        compute: from two arrays of one type to an array of their broadcast shape
        gradients: for each, a function of `g`, `input`, `other`, `out`, whichever it needs
        doc: one line
        to_float: whether whole numbers are first turned into floating point
        symbol: of the Python operator, as in `__add__`
        has_twin: whether there is one that writes into its input
        numbers: which operands may be plain numbers: "any", "one" of the two, "other", "none"
        exact_numbers: whether a number meets two-byte floats before it is rounded to them
    """
    kernel = KERNELS.get(name)

    def run(input: Any, other: Any) -> Array:
        try:
            if type(input) is np.ndarray:
                kind = input.dtype
                if type(other) is np.ndarray:
                    if other.dtype == kind and not (to_float and kind.kind in "biu"):
                        many = input.size >= LARGE or other.size >= LARGE
                        if many and kernel is not None and kind in KERNEL_TYPES:
                            return kernel(input, other)
                        return compute(input, other)
                elif type(other) is float and kind.kind == "f" and kind.itemsize > 2:
                    if input.size >= LARGE and kernel is not None:
                        return kernel(input, other)
                    return compute(input, kind.type(other))
            if exact_numbers:
                return _exactly(compute, input, other, to_float)
            return compute(*meet((input, other), to_float))
        except ValueError:
            raise broadcast_error(name, (input, other)) from None

    rules: dict[str, Rule] = dict(zip(("input", "other"), gradients, strict=True))
    ufunc = _on_all_cores(compute, kernel) if isinstance(compute, np.ufunc) else None
    op = Op(name, ("input", "other"), run, rules, ufunc=ufunc, doc=doc)
    expose_binary(op, has_twin, numbers)
    if symbol is not None:
        operator(symbol, op, has_twin=has_twin)
    return op


def _on_all_cores(ufunc: np.ufunc, kernel: Callable[..., Array] | None) -> Callable[..., Array]:
    """A ufunc whose large arrays are left to a kernel, for writes in place."""
    if kernel is None:
        return ufunc

    def write(*arrays: Any, out: Array) -> Array:
        return (kernel if out.size >= LARGE else ufunc)(*arrays, out=out)

    return write


def _exactly(compute: Callable[..., Array], input: Any, other: Any, to_float: bool) -> Array:
    """Let two-byte floats and a number meet in four bytes, and round once, at the end."""
    a, b = meet((input, other), to_float)
    halves = a.dtype.itemsize == 2 and a.dtype.kind in "fV"
    if not halves or (isinstance(input, np.ndarray) and isinstance(other, np.ndarray)):
        return compute(a, b)
    wide = (np.asarray(v, np.float32) for v in (input, other))
    return np.asarray(compute(*wide)).astype(a.dtype)


def conj(x: Any) -> Any:
    """The conjugate of a complex tensor or number; anything else as it is."""
    if isinstance(x, Tensor):
        return x.conj() if x._array.dtype.kind == "c" else x
    return x.conjugate() if isinstance(x, complex) else x


def flat(g: Any) -> Any:
    """The derivative of a step function: 0 wherever there is one."""
    return g.new_zeros(g._array.shape)


def unknown(name: str, argument: str) -> Rule:
    """A derivative that Torch has not either: asking for it is an error that says so."""

    def rule(g: Any) -> Any:
        raise NotImplementedError(f"derivative for '{argument}' of {name} is not implemented")

    return rule


def kind_name(array: Array) -> str:
    """What Torch calls an array's type in errors: Float, Long, Bool."""
    return dtypes.from_numpy_dtype(array.dtype).type_name.removesuffix("Tensor")


def not_for(name: str, kinds: str, compute: Callable[..., Array]) -> Callable[..., Array]:
    """Refuse arrays of some NumPy kinds as Torch does."""

    def run(*arrays: Array) -> Array:
        if arrays[0].dtype.kind in kinds:
            raise NotImplementedError(f"\"{name}\" not implemented for '{kind_name(arrays[0])}'")
        return compute(*arrays)

    return run


# --- Arithmetic ---------------------------------------------------------------------------


def _negative(x: Array) -> Array:
    if x.dtype == np.bool_:
        raise RuntimeError(
            "Negation, the `-` operator, on a bool tensor is not supported. If you are trying to "
            "invert a mask, use the `~` or `logical_not()` operator instead."
        )
    return np.negative(x)


def _refusing_bool(compute: Callable[..., Array]) -> Callable[..., Array]:
    """Truth values cannot be subtracted, whatever they would become."""

    def run(input: Any, other: Any) -> Array:
        for value in (input, other):
            if value.dtype.kind == "b" if isinstance(value, np.ndarray) else value is True:
                raise RuntimeError(
                    "Subtraction, the `-` operator, with a bool tensor is not supported. If you are "
                    "trying to invert a mask, use the `~` or `logical_not()` operator instead."
                )
        return compute(input, other)

    return run


def _whole_division(compute: Callable[..., Array]) -> Callable[..., Array]:
    """Whole numbers cannot be divided by 0; floating point ones can."""

    def run(a: Array, b: Array) -> Array:
        if a.dtype.kind in "iu" and not np.all(b):
            raise RuntimeError("ZeroDivisionError")
        return compute(a, b)

    return run


def _floor_divide(a: Array, b: Array) -> Array:
    if a.dtype.kind in "iu":
        return np.floor_divide(a, b)
    # NumPy and Torch agree except that Torch lets x // 0 be the infinity of x / 0.
    return np.where(b == 0, np.true_divide(a, b), np.floor_divide(a, b))


def _ordered(name: str, compute: Callable[..., Array]) -> Callable[..., Array]:
    """Complex numbers have no order."""

    def run(a: Array, b: Array) -> Array:
        if a.dtype.kind == "c":
            raise RuntimeError(f"{name} does not support complex inputs.")
        return compute(a, b)

    return run


def _truncated_divide(a: Array, b: Array) -> Array:
    if a.dtype.kind == "u":
        return np.floor_divide(a, b)
    if a.dtype.kind == "i":
        quotient = np.floor_divide(a, b)
        return quotient + ((quotient < 0) & (quotient * b != a))
    return np.trunc(np.true_divide(a, b))


def _to_winner(g: Any, equal: Any, lost: Any) -> Any:
    """All of a gradient to what was chosen, half of it where the two were equal."""
    where = FUNCTIONS["where"]
    return where(equal, g / 2, g).masked_fill(lost, 0)


def _to_larger(g: Any, input: Any, other: Any) -> Any:
    return _to_winner(g, input == other, input < other)


def _to_smaller(g: Any, input: Any, other: Any) -> Any:
    return _to_winner(g, input == other, input > other)


NEG = unary("neg", _negative, lambda g: -g, "Minus each element.")
unary(
    "positive",
    not_for("positive", "b", np.positive),
    lambda g: g,
    "Each element itself.",
    has_twin=False,
)
ADD = binary("add", np.add, (lambda g: g, lambda g: g), "The sum of two tensors.",
             symbol="add", exact_numbers=True)  # fmt: skip
SUB = binary("sub", np.subtract, (lambda g: g, lambda g: -g), "The difference.",
             symbol="sub", exact_numbers=True)  # fmt: skip
SUB.compute = _refusing_bool(SUB.compute)
MUL = binary("mul", np.multiply,
             (lambda g, other: g * conj(other), lambda g, input: g * conj(input)),
             "The product of two tensors.", symbol="mul", exact_numbers=True)  # fmt: skip
DIV = binary("div", np.true_divide,
             (lambda g, other: g / conj(other), lambda g, input, other: -g * conj((input / other) / other)),
             "The quotient of two tensors.", to_float=True, symbol="truediv", exact_numbers=True)  # fmt: skip
FLOOR_DIVIDE = binary("floor_divide", not_for("div_floor_cpu", "b", _whole_division(_floor_divide)), (None, None),
                      "The quotient, rounded down.", symbol="floordiv", exact_numbers=True)  # fmt: skip
DIV_TRUNC = Op("div_trunc", ("input", "other"),
               lambda input, other: _exactly(_whole_division(_truncated_divide), input, other, False),
               {"input": flat, "other": flat}, doc="The quotient, rounded towards 0.")  # fmt: skip
DIV_FLOOR = Op("div_floor", ("input", "other"),
               lambda input, other: _exactly(_whole_division(_floor_divide), input, other, False),
               {"input": flat, "other": flat}, doc="The quotient, rounded down.")  # fmt: skip
binary("remainder", not_for("remainder_cpu", "b", _whole_division(np.remainder)),
       (lambda g: g, lambda g, input, other: -g * DIV_FLOOR(input, other)),
       "What is left of a division that rounds down.", symbol="mod", numbers="one")  # fmt: skip
binary("fmod", not_for("fmod_cpu", "b", _whole_division(np.fmod)),
       (lambda g: g, lambda g, input, other: -g * DIV_TRUNC(input, other)),
       "What is left of a division that rounds towards 0.", numbers="other")  # fmt: skip
binary("maximum", _ordered("maximum", np.maximum), (_to_larger, _to_smaller),
       "The larger of two elements; equal ones share the gradient.", has_twin=False, numbers="none")  # fmt: skip
binary("minimum", _ordered("minimum", np.minimum), (_to_smaller, _to_larger),
       "The smaller of two elements; equal ones share the gradient.", has_twin=False, numbers="none")  # fmt: skip
binary("fmax", _ordered("fmax", np.fmax),
       (lambda g, input, other: g.masked_fill(~((input >= other) | other.isnan()), 0),
        lambda g, input, other: g.masked_fill((input >= other) | other.isnan(), 0)),
       "The larger of two elements, passing over NaN.", has_twin=False, numbers="none")  # fmt: skip
binary("fmin", _ordered("fmin", np.fmin),
       (lambda g, input, other: g.masked_fill(~((input <= other) | other.isnan()), 0),
        lambda g, input, other: g.masked_fill((input <= other) | other.isnan(), 0)),
       "The smaller of two elements, passing over NaN.", has_twin=False, numbers="none")  # fmt: skip


def _scaled(op: Op) -> None:
    """Give `add` and `sub` their `alpha`, which multiplies the second operand."""
    plain, plain_method = FUNCTIONS[op.name], getattr(Tensor, op.name)
    plain_twin = getattr(Tensor, op.name + "_")

    def call(input: Any, other: Any, *, alpha: Any = 1, out: Any = None) -> Any:
        return plain(input, other if alpha == 1 else _times(op.name, other, alpha, input), out=out)

    def call_method(self: Tensor, other: Any, *, alpha: Any = 1) -> Any:
        return plain_method(self, other if alpha == 1 else _times(op.name, other, alpha, self))

    def call_twin(self: Tensor, other: Any, *, alpha: Any = 1) -> Any:
        return plain_twin(self, other if alpha == 1 else _times(op.name, other, alpha, self))

    call.__name__ = call_method.__name__ = op.name
    call_twin.__name__ = f"{op.name}_"
    call.__doc__ = call_method.__doc__ = op.doc
    call_twin.__doc__ = f"`{op.name}`, written into the tensor itself."
    FUNCTIONS[op.name] = call
    method(op.name, call_method)
    method(op.name + "_", call_twin)


def _times(name: str, other: Any, alpha: Any, input: Any) -> Any:
    """`other * alpha`; RuntimeError if `alpha` is of a higher kind than what it scales."""
    kinds = [dtypes.of_number(v) if not isinstance(v, Tensor) else v.dtype for v in (input, other)]
    highest = max(k.kind for k in kinds)
    if isinstance(alpha, bool) and highest != dtypes.BOOL:
        raise RuntimeError("Boolean alpha only supported for Boolean results.")
    if dtypes.of_number(alpha).kind > max(highest, dtypes.INTEGRAL):
        what = "integral" if highest <= dtypes.INTEGRAL else "non-complex"
        number = "floating point" if highest <= dtypes.INTEGRAL else "complex"
        raise RuntimeError(
            f"{name}: For {what} input tensors, argument alpha must not be a {number} number."
        )
    return other * alpha


_scaled(ADD)
_scaled(SUB)


@function
def rsub(input: Tensor, other: Any, *, alpha: Any = 1) -> Tensor:
    """`other - alpha * input`."""
    check_tensor("rsub", input)
    return SUB(other, input if alpha == 1 else _times("rsub", input, alpha, other))


def _rounded(rounding_mode: str | None) -> Op:
    if rounding_mode not in _DIVISIONS:
        raise RuntimeError(
            "div expected rounding_mode to be one of None, 'trunc', or 'floor' "
            f"but found '{rounding_mode}'"
        )
    return _DIVISIONS[rounding_mode]


_DIVISIONS = {None: DIV, "trunc": DIV_TRUNC, "floor": DIV_FLOOR}


@function_and_method
def div(input: Any, other: Any, *, rounding_mode: str | None = None, out: Any = None) -> Tensor:
    """The quotient of two tensors; `rounding_mode` is None, "trunc" or "floor"."""
    result = bind(_rounded(rounding_mode), (input, other), {})
    return result if out is None else into(out, result, "div")


@only_method
def div_(self: Tensor, other: Any, *, rounding_mode: str | None = None) -> Tensor:
    """`div`, written into the tensor itself."""
    return bind_in_place(_rounded(rounding_mode), self, (other,), {})


# --- Powers and logarithms ----------------------------------------------------------------

LN2, LN10 = math.log(2), math.log(10)


_SIMPLE_POWERS: dict[float, Callable[[Array], Array]] = {
    -2.0: lambda x: np.reciprocal(x * x),
    -1.0: np.reciprocal,
    -0.5: lambda x: np.reciprocal(np.sqrt(x)),
    0.5: np.sqrt,
    2.0: np.square,
    3.0: lambda x: x * x * x,
}


def _power(a: Array, b: Array) -> Array:
    if a.dtype.kind == "f":
        simple = _SIMPLE_POWERS.get(b.item()) if b.ndim == 0 else None
        return np.power(a, b) if simple is None else simple(a)
    if a.dtype == np.bool_:
        return a | ~b
    if a.dtype.kind == "i" and np.any(b < 0):
        return _power_below_one(a, b)
    return np.power(a, b)


def _power_below_one(a: Array, b: Array) -> Array:
    """Whole numbers to powers that may be negative: fractions become 0."""
    fraction = np.where(np.abs(a) == 1, a ** (np.abs(b) % 2), 0)
    return np.where(b < 0, fraction, np.power(a, np.maximum(b, 0))).astype(a.dtype)


def _refusing_fractions(compute: Callable[..., Array]) -> Callable[..., Array]:
    """A negative number cannot be the power of whole numbers, whatever they are."""

    def run(input: Any, other: Any) -> Array:
        if isinstance(other, int) and other < 0 and input.dtype.kind in "biu":
            raise RuntimeError("Integers to negative integer powers are not allowed.")
        return compute(input, other)

    return run


def _power_by_base(g: Any, input: Any, other: Any) -> Any:
    if not isinstance(other, Tensor):
        return g.mul(0) if other == 0 else g * conj(other * input.pow(other - 1))
    return (g * conj(other * input.pow(other - 1))).masked_fill(other == 0, 0)


def _power_by_exponent(g: Any, input: Any, other: Any, out: Any) -> Any:
    """out log(input); nothing where 0 is raised to a power of 0 or above."""
    base = input if isinstance(input, Tensor) else out.new_tensor(input)
    nothing = (base == 0) & (other.real >= 0)
    return (g * conj(out * base.log())).masked_fill(nothing, 0)


def add_exponentials(a: Array, b: Array) -> Array:
    """log(exp(a) + exp(b)), without overflow."""
    if a.dtype.kind != "c":
        return np.logaddexp(a, b)
    first = a.real >= b.real
    high, low = np.where(first, a, b), np.where(first, b, a)
    return high + np.log1p(np.exp(low - high))


POW = binary("pow", not_for("pow", "b", _power), (_power_by_base, _power_by_exponent), "Each element to a power.",
             symbol="pow", numbers="one")  # fmt: skip
POW.compute = _refusing_fractions(POW.compute)
unary("exp", np.exp, lambda g, out: g * conj(out), "e to the power of each element.", to_float=True)
unary("exp2", np.exp2, lambda g, out: g * conj(out) * LN2, "2 to the power of each.", to_float=True)
unary(
    "expm1",
    np.expm1,
    lambda g, out: g * (conj(out) + 1),
    "exp(x) - 1, exact near 0.",
    to_float=True,
)
unary("log", np.log, lambda g, input: g / conj(input), "Natural logarithm.", to_float=True)
unary(
    "log2", np.log2, lambda g, input: g / (conj(input) * LN2), "Logarithm to base 2.", to_float=True
)
unary(
    "log10",
    np.log10,
    lambda g, input: g / (conj(input) * LN10),
    "Logarithm to base 10.",
    to_float=True,
)
unary(
    "log1p",
    np.log1p,
    lambda g, input: g / (conj(input) + 1),
    "log(1 + x), exact near 0.",
    to_float=True,
)
unary("sqrt", np.sqrt, lambda g, out: g / (2 * conj(out)), "Square root.", to_float=True)
unary("rsqrt", lambda x: np.reciprocal(np.sqrt(x)), lambda g, out: -0.5 * g * conj(out.pow(3)),
      "1 / sqrt(x).", to_float=True)  # fmt: skip
unary("reciprocal", np.reciprocal, lambda g, out: -g * conj(out * out), "1 / x.", to_float=True)
unary(
    "square",
    lambda x: np.square(x.astype(np.int64) if x.dtype.kind == "b" else x),
    lambda g, input: g * conj(2 * input),
    "x times x.",
)
binary("logaddexp", not_for("logaddexp_cpu", "biu", add_exponentials),
       (lambda g, input, other: g / conj(1 + (other - input).exp()),
        lambda g, input, other: g / conj(1 + (input - other).exp())),
       "log(exp(a) + exp(b)), without overflow.", has_twin=False, numbers="none")  # fmt: skip
binary("logaddexp2", not_for("logaddexp2_cpu", "biuc", np.logaddexp2),
       (lambda g, input, other: g / (1 + (other - input).exp2()),
        lambda g, input, other: g / (1 + (input - other).exp2())),
       "log2(2^a + 2^b), without overflow.", has_twin=False, numbers="none")  # fmt: skip


def _by_result(g: Any, out: Any, fused: Op, slope: Callable[[Any], Any]) -> Any:
    """A gradient times a slope that the result tells: at once, or of complex numbers in steps."""
    return g * conj(slope(out)) if out._array.dtype.kind == "c" else fused(g, out)


# --- Trigonometry ---------------------------------------------------------------------------

unary("sin", np.sin, lambda g, input: g * conj(input.cos()), "Sine.", to_float=True)
unary("cos", np.cos, lambda g, input: -g * conj(input.sin()), "Cosine.", to_float=True)
unary("tan", np.tan, lambda g, out: g * conj(1 + out * out), "Tangent.", to_float=True)
unary(
    "asin",
    np.arcsin,
    lambda g, input: g * conj((1 - input * input).rsqrt()),
    "Arc sine.",
    to_float=True,
)
unary(
    "acos",
    np.arccos,
    lambda g, input: -g * conj((1 - input * input).rsqrt()),
    "Arc cosine.",
    to_float=True,
)
unary(
    "atan", np.arctan, lambda g, input: g / conj(1 + input * input), "Arc tangent.", to_float=True
)
unary("sinh", np.sinh, lambda g, input: g * conj(input.cosh()), "Hyperbolic sine.", to_float=True)
unary("cosh", np.cosh, lambda g, input: g * conj(input.sinh()), "Hyperbolic cosine.", to_float=True)
TANH_BACKWARD = Op("tanh_backward", ("grad", "result"), lambda grad, result: KERNELS["tanh_backward"](grad, result)
                   if grad.size >= LARGE else grad * (1 - result * result), {
    "grad": lambda g, result: TANH_BACKWARD(g, result),
    "result": lambda g, grad, result: -2 * g * grad * result,
})  # fmt: skip
unary("tanh", np.tanh, lambda g, out: _by_result(g, out, TANH_BACKWARD, lambda y: 1 - y * y),
      "Hyperbolic tangent.", to_float=True)  # fmt: skip
unary("asinh", np.arcsinh, lambda g, input: g * conj((input * input + 1).rsqrt()),
      "Inverse hyperbolic sine.", to_float=True)  # fmt: skip
unary("acosh", np.arccosh, lambda g, input: g * conj((input * input - 1).rsqrt()),
      "Inverse hyperbolic cosine.", to_float=True)  # fmt: skip
unary("atanh", np.arctanh, lambda g, input: g / conj(1 - input * input),
      "Inverse hyperbolic tangent.", to_float=True)  # fmt: skip
unary("deg2rad", lambda x: x * x.dtype.type(math.pi / 180), lambda g: g * (math.pi / 180),
      "Degrees as radians.", to_float=True)  # fmt: skip
unary("rad2deg", lambda x: x * x.dtype.type(180 / math.pi), lambda g: g * (180 / math.pi),
      "Radians as degrees.", to_float=True)  # fmt: skip
binary("atan2", np.arctan2,
       (lambda g, input, other: g * other * _inverse_square(input, other),
        lambda g, input, other: g * -input * _inverse_square(input, other)),
       "The angle of the point (other, input).", to_float=True, numbers="none")  # fmt: skip
binary("hypot", not_for("hypot_cpu", "biuc", np.hypot), (lambda g, input, out: g * input / out, lambda g, other, out: g * other / out),
       "The length of the vector (input, other).", numbers="none")  # fmt: skip
binary("nextafter", np.nextafter, (lambda g, input, other: g.masked_fill(input == other, 0), flat),
       "The next number towards the second.", numbers="none")  # fmt: skip


def _inverse_square(a: Any, b: Any) -> Any:
    """1 / (a a + b b), and 0 where both are 0."""
    square = a * a + b * b
    return square.reciprocal().masked_fill(square == 0, 0)


# --- Rounding and signs -----------------------------------------------------------------------


def _rounding(name: str, compute: Callable[[Array], Array]) -> Callable[[Array], Array]:
    """Rounding leaves whole numbers alone."""
    return not_for(name, "cb", lambda x: compute(x) if x.dtype.kind in "fV" else x.copy())


def _sgn(x: Array) -> Array:
    """The sign; of a complex number its direction."""
    if x.dtype.kind == "b":
        return x.copy()
    signs = np.sign(x)
    return np.where(np.isnan(x), x.dtype.type(0), signs) if x.dtype.kind in "fV" else signs


def _abs_gradient(g: Any, input: Any) -> Any:
    return (g * input.sgn()).to(input.dtype)


def _sgn_gradient(g: Any, input: Any, out: Any) -> Any:
    """Flat, but for the directions of complex numbers."""
    if not input.dtype.is_complex:
        return flat(g)
    size = input.abs()
    turned = (g - (out * out * conj(g))) / (2 * size)
    return turned.masked_fill(size == 0, 0)


unary("floor", _rounding("floor_cpu", np.floor), flat, "The next whole number below.")
unary("ceil", _rounding("ceil_cpu", np.ceil), flat, "The next whole number above.")
unary("trunc", _rounding("trunc_cpu", np.trunc), flat, "The next whole number towards 0.")
ROUND = unary(
    "round", _rounding("round_cpu", np.rint), flat, "The nearest whole number, halves to even."
)
unary(
    "frac",
    not_for("frac_cpu", "biuc", lambda x: x - np.trunc(x)),
    lambda g: g,
    "What follows the point.",
)
unary("abs", not_for("abs_cpu", "b", np.abs), _abs_gradient, "The absolute value.")
unary("sign", not_for("sign_cpu", "c", _sgn), flat, "-1, 0 or 1.")
unary("sgn", _sgn, _sgn_gradient, "-1, 0 or 1; of a complex number its direction.")
binary("copysign", np.copysign,
       (lambda g, input, out: (g * (out / input)).masked_fill(input == 0, 0), flat),
       "The first's size with the second's sign.", to_float=True, numbers="other")  # fmt: skip
binary("heaviside", not_for("heaviside_cpu", "c", lambda a, b: np.where(a == 0, b, a > 0).astype(a.dtype)),
       (unknown("heaviside", "input"), unknown("heaviside", "other")),
       "0 below 0, the second at 0, 1 above.", numbers="none")  # fmt: skip


def round(input: Tensor, *, decimals: int = 0) -> Tensor:
    """The nearest number with so many decimals, halves to even."""
    if decimals == 0:
        return ROUND(input)
    if input.dtype.kind < dtypes.FLOATING:
        raise RuntimeError(f"\"round_cpu\" not implemented for '{kind_name(input._array)}'")
    scale = 10.0 ** abs(decimals)
    return (input * scale).round() / scale if decimals > 0 else (input / scale).round() * scale


in_place("round_", round)
FUNCTIONS["round"] = with_out(round)
as_functions("round_")
method("round", round)

# --- Squashing ---------------------------------------------------------------------------------


def _sigmoid(x: Array) -> Array:
    """1 / (1 + exp(-x)), computed from the side where exp is small."""
    if x.dtype.kind == "c":
        return 1 / (1 + np.exp(-x))
    e = np.exp(-np.abs(x))
    return (np.where(x >= 0, x.dtype.type(1), e) / (1 + e)).astype(x.dtype, copy=False)


SIGMOID_BACKWARD = Op("sigmoid_backward", ("grad", "result"), lambda grad, result: KERNELS["sigmoid_backward"](grad, result)
                      if grad.size >= LARGE else grad * (1 - result) * result, {
    "grad": lambda g, result: SIGMOID_BACKWARD(g, result),
    "result": lambda g, grad, result: g * grad * (1 - 2 * result),
})  # fmt: skip
unary("sigmoid", _sigmoid, lambda g, out: _by_result(g, out, SIGMOID_BACKWARD, lambda y: (1 - y) * y),
      "1 / (1 + exp(-x)).", to_float=True)  # fmt: skip

for _new, _old in [
    ("subtract", "sub"), ("multiply", "mul"), ("divide", "div"), ("true_divide", "div"),
    ("arcsin", "asin"), ("arccos", "acos"), ("arctan", "atan"), ("arcsinh", "asinh"),
    ("arccosh", "acosh"), ("arctanh", "atanh"), ("arctan2", "atan2"), ("negative", "neg"),
    ("fix", "trunc"), ("absolute", "abs"),
]:  # fmt: skip
    alias(_new, _old)
method("__neg__", lambda self: bind(NEG, (self,), {}))
method("__pos__", lambda self: self.positive())
method("__abs__", lambda self: self.abs())
for _name in ("__rdiv__", "__rtruediv__"):  # as Torch computes it, to the last digit
    method(_name, lambda self, other: self.reciprocal() * other)
method("__div__", Tensor.__truediv__)
method("__idiv__", lambda self, other: self.div_(other))
