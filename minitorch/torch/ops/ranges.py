"""Ranges, triangular and diagonal matrices, and Vandermonde matrices."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from .. import dtypes
from ..dtypes import dtype as dtype_type
from ..fixed import fresh_from_sizes, from_sizes
from ..tensor import Array, Tensor
from .creation import new_tensor_of, ones_like
from .joining import cat
from .layout import in_order
from .movement import wrap_dim
from .parts import DIAGONAL_BACKWARD
from .promotion import exact_number, plain_integer, rounded_number
from .record import Op
from .surface import (
    FUNCTIONS,
    check_given_type,
    function,
    function_and_method,
    in_place,
    into,
    place_of,
)

# --- Counted ------------------------------------------------------------------------------------


def _number(name: str, value: Any) -> Any:
    """A plain number, from one or a tensor."""
    if not isinstance(value, Tensor):
        return value.item() if isinstance(value, np.generic) else value
    if value.ndim:
        raise RuntimeError(
            f"{name} only supports 0-dimensional start and end tensors, but got one with {value.ndim} dimension(s)."
        )
    return value.item()


def _real_number(name: str, value: Any) -> Any:
    """A plain real number, from one or a tensor."""
    number = _number(name, value)
    if isinstance(number, complex):
        raise RuntimeError(f"{name}: value cannot be converted to type double without overflow")
    return number


def _given_bounds(bounds: tuple[Any, ...], named: dict[str, Any]) -> tuple[Any, Any, Any]:
    """Start, end and step of `arange`, from positional and keyword arguments."""
    names = ("end",) if len(bounds) == 1 and named["end"] is None else ("start", "end", "step")
    given = dict(zip(names, bounds, strict=False))
    known = {"start": 0, "step": 1} | {k: v for k, v in named.items() if v is not None} | given
    if "end" not in known:
        raise TypeError("arange() received an invalid combination of arguments - `end` is missing")
    start, end, step = (_real_number("arange", known[k]) for k in ("start", "end", "step"))
    for v in (start, end, step):
        if isinstance(v, int):
            _as_int64(v)
    if step == 0 or step != step:
        raise RuntimeError("step must be nonzero")
    if not (math.isfinite(start) and math.isfinite(end)):
        raise RuntimeError(f"unsupported range: {start} -> {end}")
    if (end - start) * step < 0:
        raise RuntimeError("upper bound and lower bound inconsistent with step sign")
    return start, end, step


def _as_int64(number: float) -> int:
    """The integer part of a number; RuntimeError if it does not fit into 64 bits."""
    if not -(2**63) <= number < 2**63:
        raise RuntimeError("value cannot be converted to type int64_t without overflow")
    return int(number)


def _check_countable(name: str, kind: dtype_type) -> None:
    """NotImplementedError for dtypes that cannot be counted in."""
    if kind.is_complex or kind is dtypes.bool_:
        raise NotImplementedError(
            f"\"{name}_cpu\" not implemented for '{kind.type_name.removesuffix('Tensor')}'"
        )


def _counted(start: Any, end: Any, step: Any, kind: dtype_type) -> Array:
    """Integers are counted in int64; their count is computed in int64 only if the dtype is int64, too."""
    _check_countable("arange", kind)
    first, last, width = start, end, step
    if kind.kind == dtypes.INTEGRAL:
        first, last, width = (_as_int64(v) for v in (start, end, step))
    if kind is dtypes.int64 and width == 0:
        raise ValueError("step must be nonzero")
    length = (float(end) - float(start)) / float(step)
    if not length < 2**59:
        raise RuntimeError("invalid size, possible overflow?")
    count = math.ceil(length)
    if kind is dtypes.int64:
        return np.arange(first, last, width)
    if kind.kind == dtypes.INTEGRAL:
        return _steps(first, count, width, kind)
    return _steps(float(start), count, float(step), kind)


@fresh_from_sizes
def _steps(start: Any, count: int, step: Any, kind: dtype_type) -> Array:
    return (start + np.arange(count) * step).astype(kind.numpy)


def _filled(out: Any, made: Tensor, name: str) -> Tensor:
    """Write numbers into `out`, which keeps its shape if it has as many elements."""
    if isinstance(out, Tensor) and out._array.size == made._array.size:
        made = made.reshape(out.shape)
    return into(out, made, name)


@function
def arange(
    *bounds: Any, start: Any = None, end: Any = None, step: Any = None, out: Any = None, dtype: Any = None,
    layout: Any = None, device: Any = None, requires_grad: bool = False, pin_memory: bool = False,
) -> Tensor:  # fmt: skip
    """The numbers from `start` up to, but excluding, `end`, in steps."""
    if len(bounds) == 1 and type(bounds[0]) is int and bounds[0] >= 0 and start is end is step:
        a, b, s = 0, bounds[0], 1
    else:
        a, b, s = _given_bounds(bounds, {"start": start, "end": end, "step": step})
    check_given_type(dtype, out)
    if dtype is None:
        whole = all(isinstance(v, int) for v in (a, b, s))
        dtype = (
            out.dtype if out is not None else dtypes.int64 if whole else dtypes.get_default_dtype()
        )
    made = new_tensor_of(_counted(a, b, s, dtype), place_of(out, device), requires_grad)
    return made if out is None else _filled(out, made, "arange")


def inclusive_range(
    start: Any = 0, end: Any = None, step: Any = 1, *, out: Any = None, dtype: Any = None, device: Any = None,
    requires_grad: bool = False, layout: Any = None,
) -> Tensor:  # fmt: skip
    """The numbers from `start` to `end`, both included, in steps (deprecated)."""
    if end is None:
        start, end = 0, start
    start, end, step = (_real_number("range", v) for v in (start, end, step))
    if not (math.isfinite(start) and math.isfinite(end)):
        raise RuntimeError(f"unsupported range: {start} -> {end}")
    kind = dtype or (dtypes.get_default_dtype() if out is None else out.dtype)
    _check_countable("range", kind)
    if (end - start) * step < 0:
        raise RuntimeError("upper bound and lower bound inconsistent with step sign")
    if kind.kind >= dtypes.FLOATING:
        start, end, step = float(start), float(end), float(step)
    elif step == step:
        start, end, step = (_as_int64(v) for v in (start, end, step))
    if not step or step != step:
        raise RuntimeError("step must be nonzero")
    whole = isinstance(step, int)
    last = (end - start) // step if whole else math.floor((end - start) / step + 1) - 1
    if last >= 2**59:
        raise RuntimeError(f"Storage size calculation overflowed with sizes=[{last + 1}]")
    with np.errstate(invalid="ignore"):  # an infinite step times 0 is NaN
        numbers = _steps(start, last + 1, step, kind)
    made = new_tensor_of(numbers, place_of(out, device), requires_grad)
    return made if out is None else _filled(out, made, "range")


FUNCTIONS["range"] = inclusive_range


def _check_steps(name: str, steps: Any) -> None:
    if not hasattr(steps, "__index__"):
        raise TypeError(f"{name}(): argument 'steps' must be int, not {type(steps).__name__}")
    if steps < 0:
        raise RuntimeError("number of steps must be non-negative")
    if steps >= 2**63:
        raise ValueError(f"{name}(): argument 'steps' is too large: {steps}")


def _spaced_kind(name: str, a: Any, b: Any, steps: int, dtype: Any, out: Any) -> dtype_type:
    check_given_type(dtype, out)
    if dtype is not None or out is not None:
        kind = dtype or out.dtype
        if any(isinstance(v, complex) for v in (a, b)) and not kind.is_complex:
            raise RuntimeError(f"torch.{name}(): complex ends can't be safely cast to {kind}")
        if kind is dtypes.bool_ and steps > 1:
            raise NotImplementedError(f"\"{name}_cpu\" not implemented for 'Bool'")
        return kind
    if any(isinstance(v, complex) for v in (a, b)):
        return dtypes.default_complex()
    return dtypes.get_default_dtype()


@from_sizes
def _spaced(a: Any, b: Any, steps: int, kind: dtype_type) -> Array:
    """Evenly spaced numbers, computed from the nearer end in the precision of the result, as in Torch."""
    if steps == 0:
        return np.empty(0, kind.numpy)
    whole = kind.kind == dtypes.INTEGRAL
    if steps == 1:
        first = a if kind.itemsize == 2 and not whole else exact_number(a, kind)
        with np.errstate(over="ignore"):
            return np.full(1, first).astype(kind.numpy)
    a, b = exact_number(a, kind), exact_number(b, kind)
    work = np.float64 if whole else np.float32 if kind.itemsize == 2 else kind.numpy.type
    with np.errstate(invalid="ignore"):  # infinity - infinity
        step = (work(b) - work(a)) / work(max(steps - 1, 1))
        count = np.arange(steps)
        up = work(a) + count.astype(work) * step
        down = work(b) - count[::-1].astype(work) * step
        return np.where(count < steps // 2, up, down).astype(kind.numpy)


@function
def linspace(
    start: Any, end: Any, steps: int, *, out: Any = None, dtype: Any = None, layout: Any = None,
    device: Any = None, requires_grad: bool = False, pin_memory: bool = False,
) -> Tensor:  # fmt: skip
    """`steps` evenly spaced numbers from `start` to `end`, inclusive."""
    _check_steps("linspace", steps)
    a, b = _number("linspace", start), _number("linspace", end)
    numbers = _spaced(a, b, steps, _spaced_kind("linspace", a, b, steps, dtype, out))
    made = new_tensor_of(np.array(numbers), place_of(out, device), requires_grad)
    return made if out is None else _filled(out, made, "linspace")


@function
def logspace(
    start: Any, end: Any, steps: int, base: float = 10.0, *, out: Any = None, dtype: Any = None,
    layout: Any = None, device: Any = None, requires_grad: bool = False, pin_memory: bool = False,
) -> Tensor:  # fmt: skip
    """Powers of `base` whose exponents are evenly spaced."""
    _check_steps("logspace", steps)
    a, b = _number("logspace", start), _number("logspace", end)
    kind = _spaced_kind("logspace", a, b, steps, dtype, out)
    if kind.kind == dtypes.INTEGRAL:
        a, b = ([exact_number(v, kind) for v in (a, b)[:steps]] + [0, 0])[:2]
    exponents = _spaced(a, b, steps, kind if kind.kind >= dtypes.FLOATING else dtypes.float64)
    values = _powers(base, exponents, kind)
    made = new_tensor_of(values, place_of(out, device), requires_grad)
    return made if out is None else _filled(out, made, "logspace")


@fresh_from_sizes
def _powers(base: float, exponents: Array, kind: dtype_type) -> Array:
    with np.errstate(all="ignore"):
        powers = exponents.astype(np.result_type(exponents, np.float64))
        if kind.is_complex:
            powers = np.exp(powers * np.log(np.complex128(rounded_number(base, kind))))
        else:
            powers = np.power(base, powers)
        return powers.astype(kind.numpy)


# --- Triangles and diagonals ---------------------------------------------------------------------


@function
def eye(
    n: int, m: int | None = None, *, out: Any = None, dtype: Any = None, layout: Any = None,
    device: Any = None, requires_grad: bool = False, pin_memory: bool = False,
) -> Tensor:  # fmt: skip
    """A matrix with ones on its diagonal."""
    for label, value in (("n", n), ("m", m)):
        if value is not None and value < 0:
            raise RuntimeError(f"{label} must be greater or equal to 0, got {value}")
    check_given_type(dtype, out)
    kind = dtype or (dtypes.get_default_dtype() if out is None else out.dtype)
    made = new_tensor_of(np.eye(n, m, dtype=kind.numpy), place_of(out, device), requires_grad)
    return made if out is None else into(out, made, "eye")


def _triangle(name: str, keep: Callable[..., Array], doc: str) -> Callable[..., Tensor]:
    """Declare `torch.tril(x)` and `x.tril_()`; return `torch.tril_indices(2, 3)`, the indices that are kept."""
    op = Op(name, ("input",), in_order(lambda input, diagonal: keep(input, diagonal)),
            {"input": lambda g, diagonal: op(g, diagonal=diagonal)}, doc=doc)  # fmt: skip

    def call(input: Tensor, diagonal: int = 0, *, out: Any = None) -> Tensor:
        if input.ndim < 2:
            raise RuntimeError(f"{name}: input tensor must have at least 2 dimensions")
        far = max(input._array.shape[-2:])  # beyond the last diagonal
        diagonal = max(-far, min(plain_integer(diagonal, name, "diagonal"), far))
        result = op(input, diagonal=diagonal)
        return result if out is None else into(out, result, name)

    def indices(
        row: int, col: int, offset: int = 0, *, dtype: Any = dtypes.int64, device: Any = None,
        layout: Any = None, pin_memory: bool = False,
    ) -> Tensor:  # fmt: skip
        if row < 0 or col < 0:
            raise RuntimeError(
                f"{'row' if row < 0 else 'col'} must be non-negative, got {min(row, col)}"
            )
        kind = dtype or dtypes.int64
        if kind not in (dtypes.int64, dtypes.int32):
            raise NotImplementedError(
                f"\"{name}_indices\" not implemented for '{kind.type_name.removesuffix('Tensor')}'"
            )
        row, col = (plain_integer(n, f"{name}_indices", "row and col") for n in (row, col))
        if not col:
            row = 0  # without columns there may be any number of rows
        if name == "triu":  # rows further down keep nothing
            row = min(row, max(col - offset, 0))
        width = col if name == "triu" else max(min(col, row + offset), 0)  # the columns to search
        offset = max(-row, min(offset, width))
        return new_tensor_of(_kept(keep, row, width, offset, kind), device)

    call.__name__, call.__doc__ = name, doc
    indices.__name__ = f"{name}_indices"
    indices.__doc__ = f"The row and column indices of the elements that `{name}` keeps."
    function_and_method(call)
    in_place(f"{name}_", call)
    return function(indices)


@fresh_from_sizes
def _kept(keep: Any, row: int, width: int, offset: int, kind: dtype_type) -> Array:
    found = np.nonzero(keep(np.ones((row, width), bool), offset))
    return np.stack(found).astype(kind.numpy)


tril_indices = _triangle("tril", np.tril, "The lower triangle of matrices; 0 elsewhere.")
triu_indices = _triangle("triu", np.triu, "The upper triangle of matrices; 0 elsewhere.")


@function_and_method
def diag(input: Tensor, diagonal: int = 0, *, out: Any = None) -> Tensor:
    """A matrix with a vector on its diagonal, or the diagonal of a matrix."""
    if input.ndim not in (1, 2):
        raise RuntimeError(f"diag(): Supports 1D or 2D tensors. Got {input.ndim}D")
    result = input.diag_embed(diagonal) if input.ndim == 1 else input.diagonal(diagonal).clone()
    return result if out is None else into(out, result, "diag")


@function_and_method
def diag_embed(input: Tensor, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Tensor:
    """Matrices with the last dimension on their diagonals, in two new dimensions."""
    ndim = input.ndim + 1
    a, b = wrap_dim(dim1, ndim), wrap_dim(dim2, ndim)
    if a == b:
        raise RuntimeError(f"diagonal dimensions cannot be identical {dim1}, {dim2}")
    if a > b:
        a, b, offset = b, a, -offset
    size = input.shape[-1] + abs(offset)
    if size > 2**62:
        raise RuntimeError(f"Storage size calculation overflowed with sizes={[size, size]}")
    shape = list(input._array.shape[:-1])
    shape.insert(a, size)
    shape.insert(b, size)
    return DIAGONAL_BACKWARD(input, shape=tuple(shape), at=(offset, a, b))


@function_and_method
def diagflat(input: Tensor, offset: int = 0) -> Tensor:
    """A matrix with all elements on its diagonal."""
    return input.reshape(-1).diag_embed(offset)


@function
def vander(x: Tensor, N: int | None = None, increasing: bool = False) -> Tensor:
    """The Vandermonde matrix: powers of a vector, as columns."""
    if x.ndim != 1:
        raise RuntimeError("x must be a one-dimensional tensor.")
    count = len(x) if N is None else plain_integer(N, "vander", "N")
    if count < 0:
        raise RuntimeError("N must be non-negative.")
    if count < 2:
        x = x.detach()  # only the column of ones
    x = x.to(dtypes.promote_types(x.dtype, dtypes.int64)).unsqueeze(-1)
    factors = [ones_like(x), x.expand(-1, max(count - 1, 0))]
    powers = cat(factors, 1).narrow(1, 0, count).cumprod(1)
    return powers if increasing else powers.flip(1)
