"""Cumulative sums, products and extremes along a dimension, and differences of neighbours."""

from __future__ import annotations

from collections.abc import Callable
from itertools import accumulate
from typing import Any

import numpy as np

from .. import dtypes
from ..autograd.graph import modes
from ..formulas import reductions
from ..tensor import Array, Tensor
from .analysis import add_exponentials
from .comparison import where
from .creation import ones_like
from .elementwise import conj
from .joining import cat
from .layout import in_order
from .movement import wrap_dim
from .precision import in_single, require_floats, widened
from .record import Op, bind
from .reduce import summed_type, summing_kind
from .results import found
from .surface import (
    FUNCTIONS,
    check_given_type,
    check_tensor,
    function_and_method,
    in_place,
    into,
    with_out,
)


def from_the_end(name: str, g: Any, dim: int) -> Any:
    """A cumulative operation along a dimension, from the end."""
    return FUNCTIONS[name](g.flip(dim), dim).flip(dim)


# --- Sums and products --------------------------------------------------------------------------------


def _cumprod(input: Array, dim: int) -> Array:
    """The cumulative product; float32 is accumulated in float64, as in Torch."""
    wide = {"f": np.float64, "F": np.complex128}.get(input.dtype.char, input.dtype)
    return input.cumprod(axis=dim, dtype=wide).astype(input.dtype, copy=False)


def _running(compute: Callable[..., Array]) -> Callable[..., Array]:
    def accumulate(input: Array, dim: int) -> Array:
        return compute(input, dim) if input.ndim else input.copy()

    rounded = in_single(accumulate)

    def run(input: Array, dim: int, dtype: Any) -> Array:
        return rounded(input.astype(summing_kind(input, dtype), copy=False), dim=dim)

    return run


def _cumprod_gradient(g: Any, input: Any, out: Any, dim: int) -> Any:
    """The gradient of `cumprod`: by division if no element is 0."""
    if not input.ndim or input._array.shape[dim] <= 1:
        return g
    input = input.to(out.dtype)
    if not (input._array == 0).any():
        return from_the_end("cumsum", g * conj(out), dim) / conj(input)
    if not modes.grad:
        return _around_zeros(g, input, out, dim)
    size = input._array.shape[dim]
    parts = []
    for i in range(size):
        before = input.narrow(dim, 0, i).prod(dim, keepdim=True)
        after = cat([ones_like(before), input.narrow(dim, i + 1, size - i - 1)], dim)
        reached = g.narrow(dim, i, size - i) * conj(before * after.cumprod(dim))
        parts.append(reached.sum(dim, keepdim=True))
    return cat(parts, dim)


def _around_zeros(g: Any, input: Any, out: Any, dim: int) -> Any:
    """The gradient of `cumprod` with zeros: of the products after the first zero, only that zero has a derivative.

    Before the first zero it is the quotient; at it, the product before it times the cumulative
    products up to the second zero.
    """
    zeros = (input == 0).cumsum(dim)
    quotient = from_the_end("cumsum", (g * conj(out)).masked_fill(zeros != 0, 0), dim) / conj(input)
    first = (zeros == 1) & (input == 0)
    between = conj(input).masked_fill((zeros != 1) | first, 1).cumprod(dim)
    reached = (between * g.masked_fill(zeros != 1, 0)).sum(dim, keepdim=True)
    at = first.int().argmax(dim, keepdim=True)
    before = conj(out).gather(dim, (at - 1).clamp_min(0)).masked_fill(at == 0, 1)
    return where(zeros == 0, quotient, where(first, reached * before, 0))


def _cumsum_gradient(g: Any, dim: int) -> Any:
    trivial = not g.ndim or g._array.size <= 1 or g._array.shape[dim] == 1
    return g if trivial else from_the_end("cumsum", g, dim)


CUMSUM = Op(
    "cumsum",
    ("input",),
    in_order(_running(reductions.cumsum)),
    {"input": _cumsum_gradient},
    doc="The cumulative sum along a dimension.",
)
CUMPROD = Op("cumprod", ("input",), in_order(_running(_cumprod)), {"input": _cumprod_gradient},
             doc="The cumulative product along a dimension.")  # fmt: skip


def _declare_running(op: Op) -> None:
    name = op.name

    def call(input: Tensor, dim: int, *, dtype: Any = None, out: Any = None) -> Tensor:
        check_tensor(name, input)
        check_given_type(dtype, out)
        dtype = out.dtype if dtype is None and isinstance(out, Tensor) else dtype
        adds = input._array.size and input._array.ndim
        if dtype is None:
            kind = None
        elif adds:
            kind = summed_type(f"{name}_out_cpu", dtype)
        else:
            kind = dtypes.given_type(dtype).numpy
        d = wrap_dim(dim, input._array.ndim)
        if kind == np.bool_:
            if adds:
                raise NotImplementedError(f"\"{name}_out_cpu\" not implemented for 'Bool'")
            result = input.to(dtypes.bool_, copy=True)
        else:
            result = bind(op, (input,), {"dim": d, "dtype": kind})
        return result if out is None else into(out, result, name, input)

    call.__name__, call.__doc__ = name, op.doc
    function_and_method(call)

    def in_own_type(input: Tensor, dim: int, *, dtype: Any = None) -> Tensor:
        if dtype is not None and dtypes.given_type(dtype) is not input.dtype:
            raise RuntimeError(
                f"Bad in-place call: input tensor dtype {input.dtype} and output tensor dtype {dtype} should match"
            )
        return call(input, dim, dtype=dtype or input.dtype)

    in_place(f"{name}_", in_own_type)


_declare_running(CUMSUM)
_declare_running(CUMPROD)

# --- Extremes -----------------------------------------------------------------------------------------


def _running_extreme(larger: np.ufunc) -> Callable[..., Any]:
    def run(input: Array, dim: int) -> tuple[Array, Array]:
        if not input.ndim:
            return input.copy(), np.zeros((), np.int64, like=input)
        wide = widened(input)
        values = larger.accumulate(wide, axis=dim)
        new = wide == values
        if wide.dtype.kind == "f":
            new |= np.isnan(wide)
        steps = np.arange(wide.shape[dim], like=wide).reshape([-1] + [1] * (wide.ndim - dim - 1))
        indices = np.maximum.accumulate(np.where(new, steps, 0), axis=dim)
        return values.astype(input.dtype, copy=False), indices

    return run


def _running_extreme_gradient(g: Any, outs: Any, dim: int) -> Any:
    return g.new_zeros(g.shape).scatter_add(dim, outs[1].detach(), g) if g.ndim else g


def _declare_running_extreme(name: str, larger: np.ufunc, doc: str) -> None:
    op = Op(name, ("input",), in_order(_running_extreme(larger)), {"input": _running_extreme_gradient},
            differentiable=1, doc=doc)  # fmt: skip

    def call(input: Tensor, dim: int, *, out: Any = None) -> Any:
        check_tensor(name, input)
        if input.dtype.is_complex and input.ndim and input._array.size:
            raise NotImplementedError(f'"{name}_helper_cpu" not implemented for complex numbers')
        result = found(name, *op(input, dim=wrap_dim(dim, input.ndim)))
        return result if out is None else into(out, result, name)

    call.__name__, call.__doc__ = name, doc
    function_and_method(call)


_declare_running_extreme("cummax", np.maximum, "The cumulative maximum, and its indices.")
_declare_running_extreme("cummin", np.minimum, "The cumulative minimum, and its indices.")

# --- Logarithms of sums of powers -----------------------------------------------------------------------


@in_single
def _logcumsumexp(input: Array, dim: int) -> Array:
    if not input.ndim:
        return input.copy()
    if input.dtype.kind == "c":
        rows = accumulate(np.moveaxis(input, dim, 0), add_exponentials)
        return np.moveaxis(np.stack(list(rows)), 0, dim) if input.size else input.copy()
    return np.logaddexp.accumulate(input, axis=dim)


def _logcumsumexp_gradient(g: Any, input: Any, out: Any, dim: int) -> Any:
    """exp(input) times the sum of later g / exp(out), by logarithms, so that nothing overflows."""
    if not input.ndim:
        return g

    def weighed(log_g: Any) -> Any:
        return (from_the_end("logcumsumexp", log_g - out, dim) + input).exp()

    if g.dtype.is_complex:
        return conj(weighed(conj(g).log()))
    nothing = g.new_full((), dtypes.finfo(g.dtype).min)
    positive, negative = (where(x > 0, x.log(), nothing) for x in (g, -g))
    return weighed(positive) - weighed(negative)


LOGCUMSUMEXP = Op(
    "logcumsumexp", ("input",), in_order(_logcumsumexp), {"input": _logcumsumexp_gradient}
)


@function_and_method
def logcumsumexp(input: Tensor, dim: int, *, out: Any = None) -> Tensor:
    """The cumulative log(sum(exp(x))) along a dimension."""
    check_tensor("logcumsumexp", input)
    dim = wrap_dim(dim, input.ndim)
    require_floats("logcumsumexp_out_cpu", input._array, "fcV")
    result = LOGCUMSUMEXP(input, dim=dim)
    return result if out is None else into(out, result, "logcumsumexp")


# --- Differences ----------------------------------------------------------------------------------------


@function_and_method
@with_out
def diff(
    input: Tensor, n: int = 1, dim: int = -1, prepend: Any = None, append: Any = None
) -> Tensor:
    """The n-th differences of neighbours along a dimension."""
    if not input.ndim:
        raise RuntimeError("diff expects input to be at least one-dimensional")
    if n < 0:
        raise RuntimeError(f"order must be non-negative but got {n}")
    parts = [p for p in (prepend, input, append) if p is not None]
    if any(p.ndim != input.ndim for p in parts):
        raise RuntimeError("diff expects prepend or append to be the same dimension as input")
    d = wrap_dim(dim, input.ndim) if n or len(parts) > 1 else 0
    for p in parts:
        if any(
            a != b and k != d for k, (a, b) in enumerate(zip(p.shape, input.shape, strict=True))
        ):
            raise RuntimeError(
                "diff expects the shape of tensor to prepend or append to match that of input except along the "
                f"differencing dimension; input {list(input.shape)}, but got {list(p.shape)}"
            )
    if n == 0:
        return input.clone()
    x = cat(parts, dim) if len(parts) > 1 else input
    for _ in range(min(n, x.size(dim))):
        later, earlier = (x.narrow(dim, start, x.size(dim) - 1) for start in (1, 0))
        x = later ^ earlier if x.dtype is dtypes.bool_ else later - earlier
    return x
