"""Questions about elements, logic and bits: what they answer has no derivative."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..tensor import Array, Tensor
from .elementwise import binary, not_for, unary
from .promotion import broadcast_shapes, meet, result_type
from .record import Op, bind
from .surface import alias, check_tensor, function, function_and_method, method, operator

for _name, _compute, _doc in [
    ("eq", np.equal, "Whether two elements are equal."),
    ("ne", np.not_equal, "Whether two elements differ."),
    ("lt", np.less, "Whether the first is smaller."),
    ("le", np.less_equal, "Whether the first is smaller or equal."),
    ("gt", np.greater, "Whether the first is larger."),
    ("ge", np.greater_equal, "Whether the first is larger or equal."),
]:
    _op = binary(_name, _compute, (None, None), _doc)
    _op.ufunc = None  # the answer is boolean; written into numbers it is 0 or 1
    operator(_name, _op, reflected=False, has_twin=False)
for _new, _old in [
    ("less", "lt"), ("less_equal", "le"), ("greater", "gt"), ("greater_equal", "ge"), ("not_equal", "ne"),
]:  # fmt: skip
    alias(_new, _old)
method("__hash__", lambda self: id(self))


def _of_truth(compute: Callable[..., Array]) -> Callable[..., Array]:
    return lambda *arrays: compute(*arrays)


binary("logical_and", _of_truth(np.logical_and), (None, None), "Whether both are true.")
binary("logical_or", _of_truth(np.logical_or), (None, None), "Whether one is true, or both.")
binary("logical_xor", _of_truth(np.logical_xor), (None, None), "Whether exactly one is true.")
unary("logical_not", _of_truth(np.logical_not), None, "Whether it is false.")
unary("isnan", np.isnan, None, "Whether it is not a number.", has_twin=False)
unary("isinf", np.isinf, None, "Whether it is infinite.", has_twin=False)
unary("isfinite", np.isfinite, None, "Whether it is a finite number.", has_twin=False)
unary("isposinf", not_for("isposinf", "c", lambda x: np.isinf(x) & (x > 0)), None,
      "Whether it is infinite and positive.", has_twin=False)  # fmt: skip
unary("isneginf", not_for("isneginf", "c", lambda x: np.isinf(x) & (x < 0)), None,
      "Whether it is infinite and negative.", has_twin=False)  # fmt: skip
unary("isreal", lambda x: np.isreal(x) | np.zeros(x.shape, bool), None,
      "Whether its imaginary part is 0.", has_twin=False)  # fmt: skip
unary("signbit", lambda x: np.signbit(x) if x.dtype.kind in "fV" else x < 0, None,
      "Whether the sign bit is set.", has_twin=False)  # fmt: skip

for _name, _compute, _symbol, _doc in [
    ("bitwise_and", np.bitwise_and, "and", "Bits that both have."),
    ("bitwise_or", np.bitwise_or, "or", "Bits that either has."),
    ("bitwise_xor", np.bitwise_xor, "xor", "Bits that one has and the other has not."),
    ("bitwise_left_shift", np.left_shift, "lshift", "Bits moved up."),
    ("bitwise_right_shift", np.right_shift, "rshift", "Bits moved down."),
]:
    binary(_name, not_for(f"{_name}_cpu", "fcV", _compute), (None, None), _doc, symbol=_symbol)
unary("bitwise_not", not_for("bitwise_not_cpu", "fcV", np.invert), None, "All bits turned.")
method("__invert__", lambda self: self.bitwise_not())


# --- Choosing ------------------------------------------------------------------------------------


def _where(condition: Array, input: Any, other: Any) -> Array:
    broadcast_shapes("where", *(np.shape(v) for v in (condition, input, other)))
    return np.where(condition, *meet((input, other)))


WHERE = Op(
    "where", ("condition", "input", "other"), _where,
    {
        "condition": None,
        "input": lambda g, condition: WHERE(condition, g, 0),
        "other": lambda g, condition: WHERE(condition, 0, g),
    },
    doc="`input` where the condition holds, else `other`.",
)  # fmt: skip


@function
def where(condition: Tensor, input: Any = None, other: Any = None, *, out: Tensor | None = None) -> Any:
    """`input` where the condition holds, else `other`; with the condition alone, where that is."""
    check_tensor("where", condition, "condition")
    if input is None and other is None:
        return condition.nonzero(as_tuple=True)
    if condition._array.dtype.kind not in "bu" or condition._array.dtype == np.uint16:
        raise RuntimeError(
            f"where expected condition to be a boolean tensor, but got a tensor with dtype {condition.dtype}"
        )
    result = bind(WHERE, (condition, input, other), {})
    return result if out is None else out.copy_(result)


method("where", lambda self, condition, other: where(condition, self, other))


@function_and_method
def isclose(
    input: Tensor, other: Tensor, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False
) -> Tensor:
    """Whether two elements differ by at most `atol + rtol * abs(other)`."""
    if input.dtype is not other.dtype:
        raise RuntimeError(f"{input.dtype} did not match {other.dtype}")
    if rtol < 0 or atol < 0:
        raise RuntimeError("rtol and atol must be greater than or equal to zero")
    same = input == other
    if equal_nan and input.dtype.kind >= 2:
        same = same | (input.isnan() & other.isnan())
    if rtol == 0 and atol == 0:
        return same
    near = (input - other).abs() <= atol + (rtol * other).abs()
    return same | (near & (input - other).isfinite())


@function_and_method
def allclose(
    input: Tensor, other: Tensor, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False
) -> bool:
    """Whether all elements are close, as `isclose` says."""
    return bool(isclose(input, other, rtol, atol, equal_nan).all())


@function_and_method
def equal(input: Tensor, other: Tensor) -> bool:
    """Whether two tensors have the same shape and the same elements."""
    return input._array.shape == other._array.shape and bool(
        np.array_equal(*(v for v in meet((input._array, other._array))))
    )


@function
def is_tensor(obj: Any) -> bool:
    """Whether it is a tensor."""
    return isinstance(obj, Tensor)


@function
def is_nonzero(input: Tensor) -> bool:
    """Whether a tensor's only element is not 0."""
    return bool(input)


method("is_nonzero", is_nonzero)
function(result_type)
