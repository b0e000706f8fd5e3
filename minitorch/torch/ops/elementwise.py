"""Operations on each element by itself: one record each.

`unary` and `binary` turn a scalar function and its derivatives into a record, a function, a
method, an in-place twin, a kernel and a docs row. To add an operation is to add one call.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .. import dtypes
from ..backends.interface import ARRAYS, accelerated, as_array, cpu_map
from ..tensor import Array, Tensor
from .layout import laid_out
from .precision import in_single, kind_name
from .promotion import broadcast_error, meet
from .record import ELEMENTWISE, Op, Rule, Scalar
from .surface import (
    expose_binary,
    expose_unary,
    operator,
)

LARGE = 8_192
"""From this size on, compiled kernels are tried, which may decline."""


def unary(
    name: str,
    scalar: Scalar | None,
    gradient: Rule,
    doc: str,
    *,
    numpy: Callable[[Array], Array] | None = None,
    to_float: bool = False,
    has_twin: bool = True,
) -> Op:
    """Declare an operation on one tensor.

    Args:
        name: as in Torch
        scalar: a function of one number, as in `scalars.py`; None where there is none
        gradient: a function of any of `g`, `input`, `out`
        doc: one line
        numpy: the same from an array to an array, where the scalar function is not right for all types
        to_float: whether integers are first cast to floating point
        has_twin: whether there is an in-place version
    """
    compute, kernel = _forms(name, scalar, numpy)

    def run(input: Array) -> Array:
        given = input
        if to_float and input.dtype.kind in "biu":
            input = input.astype(dtypes.get_default_dtype().numpy)
        if (
            input.size >= LARGE
            and kernel is not None
            and input.dtype.char in "fd"
            and type(input) is np.ndarray
        ):
            result = kernel(input)
        else:
            result = compute(input)
        return result if given.flags.c_contiguous else laid_out(result, (given,))

    ufunc = _on_all_cores(compute, kernel) if isinstance(compute, np.ufunc) else None
    op = Op(
        name,
        ("input",),
        run,
        {"input": gradient},
        kind=ELEMENTWISE,
        scalar=scalar,
        ufunc=ufunc,
        doc=doc,
    )
    expose_unary(op, has_twin)
    return op


def binary(
    name: str,
    scalar: Scalar | None,
    gradients: tuple[Rule, Rule],
    doc: str,
    *,
    numpy: Callable[[Array, Array], Array] | None = None,
    to_float: bool = False,
    symbol: str | None = None,
    has_twin: bool = True,
    numbers: str = "any",
    exact_numbers: bool = False,
    same_types: bool = False,
    boolean: bool = False,
    check: Callable[[Any, Any], Array | None] | None = None,
) -> Op:
    """Declare an operation on two tensors, or a tensor and a number, broadcast together.

    Args:
        name: as in Torch
        scalar: a function of two numbers, as in `scalars.py`; None where there is none
        gradients: for each operand, a function of any of `g`, `input`, `other`, `out`
        doc: one line
        numpy: the same from two arrays of one type to an array of their broadcast shape, where the
            scalar function is not right for all types
        to_float: whether integers are first cast to floating point
        symbol: of the Python operator, as in `__add__`
        has_twin: whether there is an in-place version
        numbers: which operands may be plain numbers: "any", "one" of the two, "other", "none"
        exact_numbers: whether a number beside half precision is computed with in float32
        same_types: whether tensors of different dtypes are refused
        boolean: whether the result is boolean
        check: called with the operands first; raises an error, or returns a result that replaces the computation
    """
    compute, kernel = _forms(name, scalar, numpy)
    kernel = None if boolean else kernel

    def apart(input: Any, other: Any) -> Array:
        if same_types and input.dtype != getattr(other, "dtype", None):
            raise RuntimeError(f"{name} is not yet implemented for tensors with different dtypes.")
        if exact_numbers:
            return exactly(compute, input, other, to_float)
        return compute(*meet((input, other), to_float))

    run = _of_two(name, compute, kernel, apart, to_float)
    rules: dict[str, Rule] = dict(zip(("input", "other"), gradients, strict=True))
    ufunc = None
    if isinstance(compute, np.ufunc) and not boolean:
        ufunc = _on_all_cores(compute, kernel)
    op = Op(
        name, ("input", "other"), _checked(check, run), rules,
        kind=ELEMENTWISE, scalar=scalar, ufunc=ufunc, check=check, doc=doc,
    )  # fmt: skip
    expose_binary(op, has_twin, numbers)
    if symbol is not None:
        operator(symbol, op, has_twin=has_twin)
    return op


def _of_two(
    name: str,
    compute: Callable[[Any, Any], Array],
    kernel: Callable[[Any, Any], Array] | None,
    apart: Callable[[Any, Any], Array],
    to_float: bool,
) -> Callable[[Any, Any], Array]:
    """A computation on two operands, with a fast path for arrays of one dtype, or an array and a number.

    Args:
        name: for errors
        compute: for two arrays of one type
        kernel: the same for large ones, if there is one
        apart: for all other operands (type promotion)
        to_float: whether integers are cast to floating point
    """

    def run(input: Any, other: Any) -> Array:
        try:
            if type(input) is np.ndarray:
                kind = input.dtype
                if type(other) is np.ndarray:
                    same = other.dtype is kind or other.dtype == kind
                    if same and not (to_float and kind.kind in "biu"):
                        if (
                            kernel is not None
                            and (input.size >= LARGE or other.size >= LARGE)
                            and kind.char in "fd"
                        ):
                            result = kernel(input, other)
                        else:
                            result = compute(input, other)
                        if input.flags.c_contiguous and other.flags.c_contiguous:
                            return result
                        return laid_out(result, (input, other))
                elif type(other) in (float, int) and kind.kind == "f" and kind.itemsize > 2:
                    if input.size >= LARGE and kernel is not None:
                        result = kernel(input, float(other))
                    else:
                        result = compute(input, kind.type(other))
                    return result if input.flags.c_contiguous else laid_out(result, (input,))
            return laid_out(apart(input, other), (input, other))
        except ValueError:
            raise broadcast_error(name, (input, other)) from None

    return run


def on_arrays(scalar: Scalar) -> Callable[..., Array]:
    """A scalar function applied to arrays that broadcast, of any size and floating point dtype."""
    return cpu_map(scalar, scalar) or in_single(scalar)


def _forms(
    name: str, scalar: Scalar | None, numpy: Callable[..., Array] | None
) -> tuple[Callable[..., Array], Callable[..., Array] | None]:
    """The formula for arrays, and the CPU kernel for large ones, if there is one."""
    formula = numpy or scalar
    if formula is None:
        raise ValueError(f"{name}: neither a function of numbers nor one of arrays")
    if numpy is None and not isinstance(formula, np.ufunc):
        quick = accelerated(formula)
        formula = in_single(formula) if quick is formula else quick
    return formula, None if scalar is None else cpu_map(scalar, formula)


def _checked(
    check: Callable[[Any, Any], Array | None] | None, run: Callable[[Any, Any], Array]
) -> Callable[[Any, Any], Array]:
    """A computation after a check of its operands, which may return the result itself."""
    if check is None:
        return run

    def checked(input: Any, other: Any) -> Array:
        answer = check(input, other)
        return run(input, other) if answer is None else answer

    return checked


def _on_all_cores(ufunc: np.ufunc, kernel: Callable[..., Array] | None) -> Callable[..., Array]:
    """A ufunc for in-place writes, which leaves large arrays to a kernel."""
    if kernel is None:
        return ufunc

    def write(*arrays: Any, out: Array) -> Array:
        return (kernel if out.size >= LARGE else ufunc)(*arrays, out=out)

    return write


def exactly(compute: Callable[..., Array], input: Any, other: Any, to_float: bool) -> Array:
    """Compute with half precision and a number in float32, and round once, at the end."""
    a, b = meet((input, other), to_float)
    halves = a.dtype.itemsize == 2 and a.dtype.kind in "fV"
    if not halves or (type(input) in ARRAYS and type(other) in ARRAYS):
        return compute(a, b)
    wide = (v.astype(np.float32) if type(v) in ARRAYS else np.float32(v) for v in (input, other))
    return as_array(compute(*wide)).astype(a.dtype)


def conj(x: Any) -> Any:
    """The conjugate of a complex tensor or number; anything else as it is."""
    if isinstance(x, Tensor):
        return x.conj() if x._array.dtype.kind == "c" else x
    return x.conjugate() if isinstance(x, complex) else x


def flat(g: Any) -> Any:
    """The gradient of a step function: zeros."""
    return g.new_zeros(g._array.shape)


def unknown(name: str, argument: str) -> Rule:
    """A derivative that Torch lacks, too: asking for it is an error that says so."""

    def rule(g: Any) -> Any:
        raise NotImplementedError(f"derivative for '{argument}' of {name} is not implemented")

    return rule


def not_for(name: str, kinds: str, compute: Callable[..., Array]) -> Callable[..., Array]:
    """Refuse arrays of some NumPy kinds as Torch does."""

    def run(*arrays: Array) -> Array:
        if arrays[0].dtype.kind in kinds:
            raise NotImplementedError(f"\"{name}\" not implemented for '{kind_name(arrays[0])}'")
        return compute(*arrays)

    return run
