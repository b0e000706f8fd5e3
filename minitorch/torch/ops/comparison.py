"""Comparisons, logic and bitwise operations: their results have no derivative."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import numpy as np

from .. import dtypes
from ..backends.interface import ARRAYS
from ..tensor import Array, Tensor
from .elementwise import binary, flat, not_for, unary
from .layout import laid_out
from .promotion import (
    broadcast_error,
    broadcast_shapes,
    exact_number,
    fits_floats,
    meet,
    result_type,
    wide_type,
)
from .record import Op, bind
from .surface import (
    alias,
    check_tensor,
    expose_binary,
    function,
    function_and_method,
    into,
    method,
    only_method,
    operator,
)


def _comparison(name: str, compute: np.ufunc, doc: str, ordered: bool = True) -> None:
    """`torch.lt(a, b)`, `a.lt(b)`, `a < b`."""
    op = binary(
        name,
        compute,
        (flat, flat),  # for in-place versions, which write 0 or 1 into numbers
        doc,
        numpy=not_for(name, "c", compute) if ordered else None,
        numbers="other",
        boolean=True,
    )
    operator(name, op, reflected=False, has_twin=False)


_comparison("eq", np.equal, "Whether elements are equal.", ordered=False)
_comparison("ne", np.not_equal, "Whether elements differ.", ordered=False)
_comparison("lt", np.less, "Whether input < other, elementwise.")
_comparison("le", np.less_equal, "Whether input <= other, elementwise.")
_comparison("gt", np.greater, "Whether input > other, elementwise.")
_comparison("ge", np.greater_equal, "Whether input >= other, elementwise.")
for _new, _old in [
    ("less", "lt"), ("less_equal", "le"), ("greater", "gt"), ("greater_equal", "ge"), ("not_equal", "ne"),
]:  # fmt: skip
    alias(_new, _old)
method("__hash__", object.__hash__)


def _logical(name: str, compute: np.ufunc, doc: str) -> None:
    """Declare a logical operation: elements of any dtype are True unless they are 0."""
    op = Op(
        name, ("input", "other"), lambda input, other: _broadcast(name, compute, input, other),
        {"input": flat, "other": flat}, scalar=compute, doc=doc,
    )  # fmt: skip
    expose_binary(op, numbers="none")
    write = getattr(Tensor, f"{name}_")
    method(f"{name}_", wraps(write)(lambda self, other: write(self, other.detach())))


def _broadcast(name: str, compute: np.ufunc, input: Array, other: Array) -> Array:
    broadcast_shapes(name, input.shape, other.shape)
    a, b = meet((input, other))  # a number may be rounded to 0 in its dtype
    return laid_out(compute(a.astype(bool), b.astype(bool)), (input, other))


_logical("logical_and", np.logical_and, "Logical and.")
_logical("logical_or", np.logical_or, "Logical or.")
_logical("logical_xor", np.logical_xor, "Logical exclusive or.")
unary("logical_not", np.logical_not, flat, "Logical not.", numpy=lambda x: np.logical_not(x))
unary("isnan", np.isnan, None, "Whether each element is NaN.", has_twin=False)
unary("isinf", np.isinf, None, "Whether each element is infinite.", has_twin=False)
unary("isfinite", np.isfinite, None, "Whether each element is finite.", has_twin=False)


def _signed_infinity(name: str, positive: bool) -> Callable[[Array], Array]:
    def run(x: Array) -> Array:
        if x.dtype.kind == "c":
            raise RuntimeError(f"{name} does not support complex inputs.")
        return np.isinf(x) & ((x > 0) if positive else (x < 0))

    return run


unary("isposinf", lambda x: x == np.inf, None, "Whether each element is +inf.", has_twin=False,
      numpy=_signed_infinity("isposinf", True))  # fmt: skip
unary("isneginf", lambda x: x == -np.inf, None, "Whether each element is -inf.", has_twin=False,
      numpy=_signed_infinity("isneginf", False))  # fmt: skip
unary(
    "isreal",
    None,
    None,
    "Whether each element is real: its imaginary part is 0.",
    has_twin=False,
    numpy=lambda x: x.imag == 0,
)


def _signbit(x: Array) -> Array:
    if x.dtype.kind == "c":
        raise RuntimeError("signbit is not implemented for complex tensors.")
    return np.signbit(x) if x.dtype.kind in "fV" else x < 0


unary("signbit", np.signbit, None, "Whether the sign bit is set.", has_twin=False, numpy=_signbit)

for _name, _compute, _symbol, _doc in [
    ("bitwise_and", np.bitwise_and, "and", "Bitwise and."),
    ("bitwise_or", np.bitwise_or, "or", "Bitwise or."),
    ("bitwise_xor", np.bitwise_xor, "xor", "Bitwise exclusive or."),
]:
    binary(
        _name,
        _compute,
        (None, None),
        _doc,
        numpy=not_for(f"{_name}_cpu", "fcV", _compute),
        symbol=_symbol,
        numbers="one",
    )
for _name, _compute, _symbol, _doc in [
    ("bitwise_left_shift", np.left_shift, "lshift", "Bits shifted to the left."),
    ("bitwise_right_shift", np.right_shift, "rshift", "Bits shifted to the right."),
]:
    binary(
        _name,
        _compute,
        (None, None),
        _doc,
        numpy=not_for(f"{_symbol}_cpu", "bfcV", _compute),
        symbol=_symbol,
        numbers="one",
    )
unary(
    "bitwise_not",
    np.invert,
    None,
    "Bitwise not.",
    numpy=not_for("bitwise_not_cpu", "fcV", np.invert),
)


@only_method
def __invert__(self: Tensor) -> Tensor:  # noqa: N807
    if self._array.dtype.kind not in "biu":
        raise TypeError(
            "~ (operator.invert) is only implemented on integer and Boolean-type tensors, "
            f"not on {self.dtype}"
        )
    return self.bitwise_not()


# --- Choosing ------------------------------------------------------------------------------------


def _where(condition: Array, input: Any, other: Any) -> Array:
    for number in (input, other):
        if type(number) not in ARRAYS and not fits_floats(number):
            kind = result_type(input, other)
            exact_number(number, kind if wide_type(kind) is kind else dtypes.float64)
    try:
        result = np.where(condition, *meet((input, other)))
        return laid_out(result, (condition, input, other))
    except ValueError:
        raise broadcast_error("where", (condition, input, other)) from None


WHERE = Op(
    "where", ("condition", "input", "other"), _where,
    {
        "condition": None,
        "input": lambda g, condition: WHERE(condition, g, 0),
        "other": lambda g, condition: WHERE(condition, 0, g),
    },
    scalar=np.where,
    doc="`input` where the condition holds, else `other`.",
)  # fmt: skip


@function
def where(
    condition: Tensor, input: Any = None, other: Any = None, *, out: Tensor | None = None
) -> Any:
    """`input` where the condition holds, else `other`; with the condition alone, the indices where it holds."""
    check_tensor("where", condition, "condition")
    if input is None and other is None:
        return condition.nonzero(as_tuple=True)
    if condition._array.dtype.char not in "?B":  # truth values, or bytes
        raise RuntimeError(
            f"where expected condition to be a boolean tensor, but got a tensor with dtype {condition.dtype}"
        )
    result = bind(WHERE, (condition, input, other), {})
    return result if out is None else into(out, result, "where")


def _where_method(self: Tensor, condition: Tensor, other: Any) -> Tensor:
    """The tensor where a condition holds, else `other`."""
    return where(condition, self, other)


method("where", _where_method)


@function_and_method
def isclose(
    input: Tensor, other: Tensor, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False
) -> Tensor:
    """Whether elements differ by at most `atol + rtol * abs(other)`."""
    check_tensor("isclose", input)
    check_tensor("isclose", other, "other")
    if input.dtype is not other.dtype:
        raise RuntimeError(f"{input.dtype} did not match {other.dtype}")
    if not (rtol >= 0 and atol >= 0):  # NaN too
        raise RuntimeError("rtol and atol must be greater than or equal to zero")
    same = input.eq(other)
    if equal_nan and input.dtype.kind >= dtypes.FLOATING:
        same = same | (input.isnan() & other.isnan())
    if rtol == 0 and atol == 0:
        return same
    if input.dtype.kind < dtypes.FLOATING:
        kind = dtypes.get_default_dtype()
        input, other = input.to(kind), other.to(kind)
    apart = input - other
    return same | ((apart.abs() <= atol + (rtol * other).abs()) & apart.isfinite())


@function_and_method
def allclose(
    input: Tensor, other: Tensor, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False
) -> bool:
    """Whether all elements are close, as `isclose` says."""
    return bool(isclose(input, other, rtol, atol, equal_nan).all())


@function_and_method
def equal(input: Tensor, other: Tensor) -> bool:
    """Whether two tensors have the same shape and the same elements."""
    check_tensor("equal", other, "other")
    return input._array.shape == other._array.shape and bool(
        np.array_equal(*(v for v in meet((input._array, other._array))))
    )


@function
def is_tensor(obj: Any) -> bool:
    """Whether an object is a tensor."""
    return isinstance(obj, Tensor)


@function
def is_nonzero(input: Tensor) -> bool:
    """Whether a tensor's only element is not 0."""
    return bool(input)


method("is_nonzero", is_nonzero)
function(result_type)
