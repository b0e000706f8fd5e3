"""Sums, products, quotients and remainders; maximum and minimum of two; rounding and signs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .. import dtypes, scalars
from ..backends.interface import ARRAYS
from ..tensor import Array, Tensor
from .comparison import where
from .elementwise import binary, conj, exactly, flat, not_for, unary, unknown
from .layout import following
from .precision import kind_name
from .promotion import (
    NUMBERS,
    broadcast_error,
    exact_number,
    fits_floats,
    plain_integer,
    plain_number,
    result_type,
    rounded_number,
    wide_type,
)
from .record import Op, bind
from .surface import (
    FUNCTIONS,
    alias,
    as_functions,
    check_tensor,
    function,
    function_and_method,
    in_place,
    into,
    method,
    only_method,
    with_out,
)
from .writes import bind_in_place

# --- Arithmetic ---------------------------------------------------------------------------


def _negative(x: Array) -> Array:
    if x.dtype == np.bool_:
        raise RuntimeError(
            "Negation, the `-` operator, on a bool tensor is not supported. If you are trying to "
            "invert a mask, use the `~` or `logical_not()` operator instead."
        )
    return np.negative(x)


_NO_BOOL = (
    "Subtraction, the `-` operator, with a bool tensor is not supported. If you are trying to invert "
    "a mask, use the `~` or `logical_not()` operator instead."
)


def _refuse_bool(input: Any, other: Any) -> None:
    """RuntimeError for booleans, which cannot be subtracted."""
    for value in (input, other):
        if value.dtype.kind == "b" if type(value) in ARRAYS else type(value) is bool:
            raise RuntimeError(_NO_BOOL)


def _whole_division(compute: Callable[..., Array]) -> Callable[..., Array]:
    """A division that raises an error for integers divided by 0, and for booleans."""

    def run(a: Array, b: Array) -> Array:
        if a.dtype.kind == "b":
            raise NotImplementedError("\"div_trunc_cpu\" not implemented for 'Bool'")
        if a.dtype.kind in "iu" and a.size and not np.all(b):
            raise RuntimeError("ZeroDivisionError")
        return compute(a, b)

    return run


def _floor_divide(a: Array, b: Array) -> Array:
    if a.dtype.kind in "iu":
        return np.floor_divide(a, b)
    if type(a) is np.ndarray:
        quotient = np.floor_divide(a, b)
    else:  # CuPy's is one too large where a / b is rounded up to a whole number
        rest = np.fmod(a, b)
        quotient = np.rint((a - rest) / b) - ((rest != 0) & ((rest < 0) != (b < 0)))
    # NumPy and Torch agree except that Torch lets x // 0 be the infinity of x / 0.
    return np.where(b == 0, np.true_divide(a, b), quotient)


def _ordered(name: str, compute: Callable[..., Array]) -> Callable[..., Array]:
    """A computation that refuses complex numbers."""

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


def _divided(divide: Callable[..., Array]) -> Callable[..., Array]:
    """A rounding division of operands after type promotion and broadcasting."""
    compute = _whole_division(divide)

    def run(input: Any, other: Any) -> Array:
        try:
            return exactly(compute, input, other, False)
        except ValueError:
            raise broadcast_error("div", (input, other)) from None

    return run


def _to_winner(g: Any, equal: Any, lost: Any) -> Any:
    """The gradient goes to the chosen operand, and half of it to each where both are equal."""
    return where(equal, g / 2, g).masked_fill(lost, 0)


def _to_larger(g: Any, input: Any, other: Any) -> Any:
    return _to_winner(g, input == other, input < other)


def _to_smaller(g: Any, input: Any, other: Any) -> Any:
    return _to_winner(g, input == other, input > other)


@function_and_method
def positive(input: Tensor) -> Tensor:
    """The tensor itself."""
    if input._array.dtype.kind == "b":
        raise RuntimeError("The `+` operator, on a bool tensor is not supported.")
    return input


# fmt: off
NEG = unary("neg", np.negative, lambda g: -g, "Minus each element.", numpy=_negative)
ADD = binary("add", np.add, (lambda g: g, lambda g: g), "The sum of two tensors.",
             symbol="add")
method("_add_in_place", lambda self, other: bind_in_place(ADD, self, (other,), {}))
SUB = binary("sub", np.subtract, (lambda g: g, lambda g: -g), "The difference.",
             symbol="sub", check=_refuse_bool)
MUL = binary("mul", np.multiply,
             (lambda g, other: g * conj(other), lambda g, input: g * conj(input)),
             "The product of two tensors.", symbol="mul", exact_numbers=True)
DIV = binary("div", np.true_divide,
             (lambda g, other: g / conj(other), lambda g, input, other: -g * conj((input / other) / other)),
             "The quotient of two tensors.", to_float=True, symbol="truediv", exact_numbers=True)
FLOOR_DIVIDE = binary("floor_divide", scalars.floored_divide, (None, None), "The quotient, rounded down.", symbol="floordiv",
                      exact_numbers=True, numpy=not_for("div_floor_cpu", "bc", _whole_division(_floor_divide)))
DIV_TRUNC = Op("div_trunc", ("input", "other"),
               following(_divided(_truncated_divide)),
               {"input": flat, "other": flat}, scalar=scalars.truncated_divide, doc="The quotient, rounded towards 0.")
DIV_FLOOR = Op("div_floor", ("input", "other"),
               following(_divided(_floor_divide)),
               {"input": flat, "other": flat}, scalar=scalars.floored_divide, doc="The quotient, rounded down.")
binary("remainder", np.remainder,
       (lambda g: g, lambda g, input, other: -g * DIV_FLOOR(input, other)),
       "The remainder of a division rounded down.", symbol="mod", numbers="one",
       numpy=not_for("remainder_cpu", "bc", _whole_division(np.remainder)))
binary("fmod", np.fmod,
       (lambda g: g, lambda g, input, other: -g * DIV_TRUNC(input, other)),
       "The remainder of a division rounded towards 0.", numbers="other",
       numpy=not_for("fmod_cpu", "bc", _whole_division(np.fmod)))
binary("maximum", np.maximum, (_to_larger, _to_smaller),
       "The larger of two elements; the gradient is divided evenly if they are equal.", has_twin=False, numbers="none",
       numpy=_ordered("maximum", np.maximum))
binary("minimum", np.minimum, (_to_smaller, _to_larger),
       "The smaller of two elements; the gradient is divided evenly if they are equal.", has_twin=False, numbers="none",
       numpy=_ordered("minimum", np.minimum))
binary("fmax", np.fmax,
       (lambda g, input, other: g.masked_fill(~((input >= other) | other.isnan()), 0),
        lambda g, input, other: g.masked_fill((input >= other) | other.isnan(), 0)),
       "The larger of two elements, ignoring NaN.", has_twin=False, numbers="none",
       numpy=_ordered("fmax", np.fmax))
binary("fmin", np.fmin,
       (lambda g, input, other: g.masked_fill(~((input <= other) | other.isnan()), 0),
        lambda g, input, other: g.masked_fill((input <= other) | other.isnan(), 0)),
       "The smaller of two elements, ignoring NaN.", has_twin=False, numbers="none",
       numpy=_ordered("fmin", np.fmin))
# fmt: on
MUL.keeps_tensors = DIV.keeps_tensors = True
SCALE = Op(
    "scale", ("input",), lambda input, constants: MUL.compute(input, constants[0]),
    {"input": lambda g, constants: scaled(g, constants[0].conjugate())}, scalar=np.multiply,
    doc="Each element times a scalar.",
)  # fmt: skip


def scaled(input: Tensor, factor: Any) -> Tensor:
    """Each element times a scalar."""
    return bind(SCALE, (input,), {"constants": (factor,)})


def _with_alpha(op: Op) -> None:
    """Give `add` and `sub` their `alpha`, which multiplies the second operand."""
    plain, plain_method = FUNCTIONS[op.name], getattr(Tensor, op.name)
    plain_twin = getattr(Tensor, op.name + "_")

    # Old programs write `add(x, alpha, y)`.

    def call(input: Any, other: Any, *rest: Any, alpha: Any = 1, out: Any = None) -> Any:
        if rest:
            alpha, other = other, *rest
        return plain(
            input, other if _is_one(alpha) else _times(op.name, other, alpha, input), out=out
        )

    def call_method(self: Tensor, other: Any, *rest: Any, alpha: Any = 1) -> Any:
        if rest:
            alpha, other = other, *rest
        return plain_method(self, other if _is_one(alpha) else _times(op.name, other, alpha, self))

    def call_twin(self: Tensor, other: Any, *rest: Any, alpha: Any = 1) -> Any:
        if rest:
            alpha, other = other, *rest
        return plain_twin(self, other if _is_one(alpha) else _times(op.name, other, alpha, self))

    call.__name__ = call_method.__name__ = op.name
    call_twin.__name__ = f"{op.name}_"
    call.__doc__ = call_method.__doc__ = op.doc
    call_twin.__doc__ = f"`{op.name}`, in place."
    FUNCTIONS[op.name] = call
    method(op.name, call_method)
    method(op.name + "_", call_twin)


def _is_one(alpha: Any) -> bool:
    """Whether a factor is the integer 1, which fits every dtype."""
    return type(alpha) is int and alpha == 1


def _times(name: str, other: Any, alpha: Any, input: Any) -> Any:
    """`other * alpha`; RuntimeError if `alpha` is of a higher kind (integer, float, complex) than the operands."""
    if isinstance(other, Tensor) and isinstance(input, Tensor) and fits_floats(alpha):
        kind = input.dtype
        if kind is other.dtype and kind.kind >= dtypes.FLOATING:
            return scaled(other, alpha)
    alpha = plain_number(alpha, name, "alpha")
    other = other.item() if isinstance(other, np.generic) else other
    kinds = [dtypes.of_number(v) if not isinstance(v, Tensor) else v.dtype for v in (input, other)]
    if name != "add" and dtypes.bool_ in kinds:
        raise RuntimeError(_NO_BOOL)
    check_kind("alpha", alpha, max(k.kind for k in kinds))
    kind = result_type(input, other)
    alpha = (
        exact_number(alpha, kind)
        if name == "add"
        else _wrapped(-exact_number(_wrapped(-alpha), kind))
    )
    if alpha == 1:
        return other
    if isinstance(other, Tensor):
        return scaled(other.to(kind), alpha)
    if kind.kind < dtypes.FLOATING:
        return _wrapped(other * alpha)
    if kind.is_complex:
        return complex(rounded_number(other, kind)) * complex(rounded_number(alpha, kind))
    return rounded_number(other, kind) * rounded_number(alpha, wide_type(kind))


def _wrapped(number: Any) -> Any:
    """A number; integers wrap around in 64 bits, as in C."""
    return (number + (1 << 63)) % (1 << 64) - (1 << 63) if isinstance(number, int) else number


def check_kind(label: str, number: Any, kind: int) -> None:
    """RuntimeError if a factor is of a higher kind than the result, or a boolean where the result is not."""
    if isinstance(number, bool) and kind != dtypes.BOOL:
        raise RuntimeError(f"Boolean {label} only supported for Boolean results.")
    if dtypes.of_number(number).kind > max(kind, dtypes.INTEGRAL):
        what = "integral" if kind <= dtypes.INTEGRAL else "non-complex"
        found = "floating point" if kind <= dtypes.INTEGRAL else "complex"
        raise RuntimeError(
            f"For {what} input tensors, argument {label} must not be a {found} number."
        )


_with_alpha(ADD)
_with_alpha(SUB)


@function_and_method
def subtract(input: Any, other: Any, alpha: Any = 1, *, out: Any = None) -> Tensor:
    """The difference; the second operand is multiplied by `alpha`."""
    return FUNCTIONS["sub"](input, other, alpha=alpha, out=out)


@only_method
def subtract_(self: Tensor, other: Any, alpha: Any = 1) -> Tensor:
    """`subtract`, in place."""
    return self.sub_(other, alpha=alpha)


@function
def rsub(input: Tensor, other: Any, alpha: Any = 1) -> Tensor:
    """`other - alpha * input`."""
    check_tensor("rsub", input)
    return SUB(other, input if _is_one(alpha) else _times("rsub", input, alpha, other))


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
    """`div`, in place."""
    return bind_in_place(_rounded(rounding_mode), self, (other,), {})


# --- Rounding and signs -----------------------------------------------------------------------


def _rounding(name: str, compute: Callable[[Array], Array]) -> Callable[[Array], Array]:
    """A rounding function that returns integers unchanged."""
    return not_for(name, "cb", lambda x: compute(x) if x.dtype.kind in "fV" else x.copy())


def _sgn(x: Array) -> Array:
    """The sign; for a complex number x / |x|."""
    if x.dtype.kind == "b":
        return x.copy()
    signs = np.sign(x)
    return np.where(np.isnan(x), x.dtype.type(0), signs) if x.dtype.kind in "fV" else signs


def _abs_gradient(g: Any, input: Any) -> Any:
    return (g * input.sgn()).to(input.dtype)


def _sgn_gradient(g: Any, input: Any, out: Any) -> Any:
    """The gradient of `sgn`: 0, except for complex numbers."""
    if not input.dtype.is_complex:
        return flat(g)
    size = input.abs()
    turned = (g - (out * out * conj(g))) / (2 * size)
    return turned.masked_fill(size == 0, 0)


# fmt: off
unary("floor", np.floor, flat, "The largest integer not above each element.", numpy=_rounding("floor_cpu", np.floor))
unary("ceil", np.ceil, flat, "The smallest integer not below each element.", numpy=_rounding("ceil_cpu", np.ceil))
unary("trunc", np.trunc, flat, "Each element, rounded towards 0.", numpy=_rounding("trunc_cpu", np.trunc))
ROUND = unary("round", np.rint, flat, "The nearest whole number, halves to even.", numpy=_rounding("round_cpu", np.rint))
unary("frac", scalars.frac, lambda g: g, "The fractional part.", numpy=not_for("frac_cpu", "biuc", scalars.frac))
unary("abs", np.absolute, _abs_gradient, "The absolute value.", numpy=not_for("abs_cpu", "b", np.absolute))
unary("sign", scalars.sign, flat, "The sign: -1, 0 or 1.", numpy=not_for("sign_cpu", "c", _sgn))
unary("sgn", scalars.sign, _sgn_gradient, "The sign: -1, 0 or 1; for a complex number x / |x|.", numpy=_sgn)
binary("copysign", np.copysign,
       (lambda g, input, out: (g * (out / input)).masked_fill(input == 0, 0), flat),
       "The magnitude of the first with the sign of the second.", to_float=True, numbers="other")
binary("heaviside", scalars.heaviside,
       (unknown("heaviside", "input"), unknown("heaviside", "other")),
       "The Heaviside step function: 0 below 0, `other` at 0, 1 above.", numbers="none", same_types=True,
       numpy=not_for("heaviside_cpu", "c", lambda a, b: np.where(a == 0, b, a > 0).astype(a.dtype)))
# fmt: on


_absolute_in_place = FUNCTIONS["abs_"]


def abs_(self: Tensor) -> Tensor:
    """`abs`, in place."""
    if self.dtype.is_complex:
        raise RuntimeError("In-place abs is not supported for complex tensors.")
    return _absolute_in_place(self)


method("abs_", abs_)
as_functions("abs_")


ROUNDED = Op(
    "round", ("input", "near"), lambda input, near: near.copy(), {"input": flat, "near": None}
)


def round(input: Tensor, *, decimals: int = 0) -> Tensor:
    """The nearest number with `decimals` decimals; halves are rounded to even."""
    if plain_integer(decimals, "round", "decimals") == 0:
        return ROUND(input)
    if input.dtype.kind < dtypes.FLOATING:
        raise NotImplementedError(f"\"round_cpu\" not implemented for '{kind_name(input._array)}'")
    scale = 10.0 ** abs(decimals) if abs(decimals) <= 308 else np.inf
    wide = input.detach().to(wide_type(input.dtype))
    near = (wide * scale).round() / scale if decimals > 0 else (wide / scale).round() * scale
    return ROUNDED(input, near.to(input.dtype))


in_place("round_", round)
FUNCTIONS["round"] = with_out(round)
as_functions("round_")
method("round", round)


# --- Other names, and Python's operators -----------------------------------------------------------

for _new, _old in [
    ("multiply", "mul"), ("divide", "div"), ("true_divide", "div"), ("negative", "neg"),
    ("fix", "trunc"), ("absolute", "abs"),
]:  # fmt: skip
    alias(_new, _old)
for _symbol, _name in (("__neg__", "neg"), ("__pos__", "positive"), ("__abs__", "abs")):
    method(_symbol, getattr(Tensor, _name))
method("__radd__", Tensor.__add__)
method("__rmul__", Tensor.__mul__)


def _divided_by(self: Tensor, other: Any) -> Any:
    """`other / self`, of a number or a tensor."""
    return self.reciprocal() * other if isinstance(other, (Tensor, *NUMBERS)) else NotImplemented


for _name in ("__rdiv__", "__rtruediv__"):  # as Torch computes it, bit for bit
    method(_name, lambda self, other: _divided_by(self, other))
method("__div__", Tensor.__truediv__)
method("__idiv__", lambda self, other: self.div_(other))
