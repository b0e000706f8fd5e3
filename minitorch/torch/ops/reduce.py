"""Many elements to one: sums, extremes, moments, and running versions of them."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import accumulate
from typing import Any

import numpy as np

from .. import dtypes
from ..tensor import Array, Tensor
from .elementwise import add_exponentials, conj, kind_name
from .movement import sizes_of, wrap_dim, wrap_dims
from .record import Op, bind
from .results import found, named
from .scattering import check_out
from .surface import (
    FUNCTIONS,
    check_tensor,
    function_and_method,
    in_place,
    into,
    only_method,
    with_out,
)

# --- Arguments ----------------------------------------------------------------------------------


def _dims(dim: Any, ndim: int) -> tuple[int, ...]:
    """The dimensions to reduce: all of them where none is named."""
    if dim is None or dim == () or dim == []:
        return tuple(range(ndim))
    return wrap_dims(dim, ndim) if ndim else (wrap_dims(dim, ndim), ())[1]


def _kept(shape: tuple[int, ...], dims: tuple[int, ...]) -> tuple[int, ...]:
    """A shape with the reduced dimensions as 1."""
    return tuple(1 if d in dims else s for d, s in enumerate(shape))


def spread(g: Any, shape: tuple[int, ...], dims: tuple[int, ...]) -> Any:
    """What belongs to a reduced tensor, beside each element that went into it."""
    return g.reshape(_kept(shape, dims)).expand(shape)


def _whole(out: Array, shape: tuple[int, ...], dims: tuple[int, ...], keepdim: bool) -> Array:
    return np.asarray(out).reshape(_kept(shape, dims)) if keepdim else out


def _accumulating(array: Array) -> Array:
    """Two-byte floats are added up in four bytes, as Torch does."""
    return array.astype(np.float32) if array.dtype.kind in "fV" and array.itemsize == 2 else array


def _kwargs_dim(dim: Any, axis: Any) -> Any:
    return axis if dim is None else dim


# --- Sums and products ----------------------------------------------------------------------------


def _summing_kind(input: Array, dtype: Any) -> Any:
    if dtype is not None:
        return dtype
    return np.dtype(np.int64) if input.dtype.kind in "biu" else input.dtype


def _sum(input: Array, dim: tuple[int, ...], keepdim: bool, dtype: Any) -> Array:
    kind = _summing_kind(input, dtype)
    wide = _accumulating(input if input.dtype.kind in "biu" or input.dtype == kind else input.astype(kind))
    if wide.dtype != kind and wide.dtype.kind in "biu":
        return wide.sum(axis=dim, keepdims=keepdim, dtype=kind)
    return np.asarray(wide.sum(axis=dim, keepdims=keepdim)).astype(kind, copy=False)


SUM = Op("sum", ("input",), _sum, {"input": lambda g, shapes, dim: spread(g, shapes[0], dim)}, doc="The sum of elements.")
MEAN = Op("mean", ("input",), lambda input, dim, keepdim, dtype: _mean(input, dim, keepdim, dtype),
          {"input": lambda g, shapes, dim: spread(g, shapes[0], dim) / _count(shapes[0], dim)}, doc="The mean of elements.")  # fmt: skip


def _count(shape: tuple[int, ...], dims: tuple[int, ...]) -> int:
    return math.prod(shape[d] for d in dims)


def _mean(input: Array, dim: tuple[int, ...], keepdim: bool, dtype: Any) -> Array:
    kind = dtype or input.dtype
    wide = _accumulating(input if input.dtype == kind else input.astype(kind))
    total = np.asarray(wide.sum(axis=dim, keepdims=keepdim))
    count = _count(input.shape, dim)
    return np.asarray(total / (wide.dtype.type(count) if count else np.nan)).astype(kind, copy=False)


def sum(input: Tensor, dim: Any = None, keepdim: bool = False, *, dtype: Any = None, out: Any = None, axis: Any = None) -> Tensor:
    """The sum of elements: all, or along dimensions."""
    check_tensor("sum", input)
    dims = _dims(_kwargs_dim(dim, axis), input._array.ndim)
    result = bind(SUM, (input,), {"dim": dims, "keepdim": keepdim, "dtype": None if dtype is None else dtypes.given_type(dtype).numpy})
    return result if out is None else into(out, result, "sum")


def mean(input: Tensor, dim: Any = None, keepdim: bool = False, *, dtype: Any = None, out: Any = None, axis: Any = None) -> Tensor:
    """The mean of elements: all, or along dimensions."""
    if dtype is None and input._array.dtype.kind in "biu":
        raise RuntimeError(
            "mean(): could not infer output dtype. Input dtype must be either a floating point or complex "
            f"dtype. Got: {kind_name(input._array)}"
        )
    dims = _dims(_kwargs_dim(dim, axis), input._array.ndim)
    result = bind(MEAN, (input,), {"dim": dims, "keepdim": keepdim, "dtype": None if dtype is None else dtype.numpy})
    return result if out is None else into(out, result, "mean")


function_and_method(sum)
function_and_method(mean)


@function_and_method
@with_out
def nansum(input: Tensor, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Tensor:
    """The sum of elements, NaN counting as 0."""
    if input.dtype.is_complex:
        raise RuntimeError("nansum does not support complex inputs")
    clean = input if input.dtype.kind < dtypes.FLOATING else input.masked_fill(input.isnan(), 0)
    return clean.sum(dim, keepdim, dtype=dtype)


@function_and_method
@with_out
def nanmean(input: Tensor, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Tensor:
    """The mean of elements that are not NaN."""
    if input.dtype.kind < dtypes.FLOATING:
        raise RuntimeError(f"nanmean(): expected input to have floating point or complex dtype but got {kind_name(input._array)}")
    return input.nansum(dim, keepdim, dtype=dtype) / (~input.isnan()).sum(dim, keepdim)


@only_method
def sum_to_size(self: Tensor, *size: Any) -> Tensor:
    """The sum that undoes a broadcast from a shape."""
    shape = sizes_of(size)
    own = self._array.shape
    extra = len(own) - len(shape)
    if extra < 0 or any(s not in (1, o) for s, o in zip(shape, own[extra:], strict=True)):
        raise RuntimeError(f"size {{{list(shape)}}} is not expandable to size {{{list(own)}}}.")
    dims = tuple(d for d in range(len(own)) if d < extra or (shape[d - extra] == 1 and own[d] != 1))
    if not dims and self._array.dtype.kind not in "biu":
        return self
    total = bind(SUM, (self,), {"dim": dims, "keepdim": True, "dtype": None})
    return total.reshape(shape) if extra else total


def _prod(input: Array, dim: tuple[int, ...], keepdim: bool, dtype: Any) -> Array:
    kind = _summing_kind(input, dtype)
    wide = _accumulating(input.astype(kind, copy=False))
    return np.asarray(wide.prod(axis=dim, keepdims=keepdim)).astype(kind, copy=False)


def _prod_gradient(g: Any, input: Any, out: Any, dim: Any) -> Any:
    """The product of the others: by division where no element is 0, else by two running products."""
    shape = input._array.shape
    if not (input._array == 0).any():
        return spread(g, shape, dim) * conj(spread(out, shape, dim) / input)
    rest = [d for d in range(len(shape)) if d not in dim]
    rows = input.permute(*rest, *dim).reshape([shape[d] for d in rest] + [-1])
    one = rows.new_ones((*rows.shape[:-1], 1))
    cat = FUNCTIONS["cat"]
    before = cat([one, rows[..., :-1]], -1).cumprod(-1)
    after = cat([one, rows.flip(-1)[..., :-1]], -1).cumprod(-1).flip(-1)
    others = (before * after).reshape([shape[d] for d in rest] + [shape[d] for d in dim])
    return spread(g, shape, dim) * conj(others.permute(tuple(np.argsort([*rest, *dim]).tolist())))


PROD = Op("prod", ("input",), _prod, {"input": _prod_gradient}, doc="The product of elements.")


@function_and_method
def prod(input: Tensor, dim: Any = None, keepdim: bool = False, *, dtype: Any = None, out: Any = None) -> Tensor:
    """The product of elements: all, or along a dimension."""
    result = PROD(input, dim=_dims(dim, input.ndim), keepdim=keepdim, dtype=None if dtype is None else dtype.numpy)
    return result if out is None else into(out, result, "prod")


# --- Truth -----------------------------------------------------------------------------------------


def _truth(name: str, compute: Callable[..., Array], doc: str) -> None:
    op = Op(name, ("input",), lambda input, dim, keepdim: compute(input.astype(bool), axis=dim, keepdims=keepdim),
            {"input": None}, doc=doc)  # fmt: skip

    def call(input: Tensor, dim: Any = None, keepdim: bool = False, *, out: Any = None) -> Tensor:
        result = op(input.detach(), dim=_dims(dim, input.ndim), keepdim=keepdim)
        if input.dtype is dtypes.uint8:
            result = result.to(dtypes.uint8)
        return result if out is None else into(out, result, name)

    call.__name__, call.__doc__ = name, doc
    function_and_method(call)


_truth("all", np.all, "Whether all elements are true.")
_truth("any", np.any, "Whether an element is true.")


@function_and_method
def count_nonzero(input: Tensor, dim: Any = None) -> Tensor:
    """How many elements are not 0."""
    return (input != 0).sum(dim)


# --- Extremes ----------------------------------------------------------------------------------------


def _need_elements(name: str, input: Tensor, dims: tuple[int, ...]) -> None:
    for d in dims:
        if input._array.shape[d] == 0:
            raise IndexError(f"{name}(): Expected reduction dim {d} to have non-zero size.")


def shared_gradient(g: Any, input: Any, out: Any, dim: Any) -> Any:
    """Equal extremes share the gradient; where the extreme is NaN it is lost."""
    share = (input == spread(out, input._array.shape, dim)).to(g.dtype)
    return share * spread(g, input._array.shape, dim) / spread(share.sum(dim), input._array.shape, dim)


def _overall_gradient(g: Any, input: Any, out: Any, dim: Any) -> Any:
    """Equal extremes share the gradient, and so do NaN."""
    at = input.isnan() if np.isnan(out._array) else input == out
    return at.to(g.dtype) * (g / at.sum())


AMAX = Op("amax", ("input",), lambda input, dim, keepdim: np.max(input, axis=dim, keepdims=keepdim),
          {"input": shared_gradient}, doc="The largest element.")  # fmt: skip
MAX = Op("max", ("input",), AMAX.compute, {"input": _overall_gradient}, doc="The largest of all elements.")
AMIN = Op("amin", ("input",), lambda input, dim, keepdim: np.min(input, axis=dim, keepdims=keepdim),
          {"input": shared_gradient}, doc="The smallest element.")  # fmt: skip
MIN = Op("min", ("input",), AMIN.compute, {"input": _overall_gradient}, doc="The smallest of all elements.")
MAX.node_name, MIN.node_name = "MaxBackward1", "MinBackward1"


def _declare_extreme(name: str, op: Op) -> None:
    def call(input: Tensor, dim: Any = (), keepdim: bool = False, *, out: Any = None) -> Tensor:
        if input.dtype.is_complex:
            raise RuntimeError(f"\"{name}_cpu\" not implemented for '{kind_name(input._array)}'")
        dims = _dims(dim, input.ndim)
        if not input._array.size:
            if dim == () and input.ndim:
                raise RuntimeError(
                    f"{name}(): Expected reduction dim to be specified for input.numel() == 0. Specify the "
                    "reduction dim with the 'dim' argument."
                )
            _need_elements(name, input, dims)
        result = op(input, dim=dims, keepdim=keepdim)
        return result if out is None else into(out, result, name)

    call.__name__, call.__doc__ = name, op.doc
    function_and_method(call)


_declare_extreme("amax", AMAX)
_declare_extreme("amin", AMIN)


def at_places_gradient(g: Any, shapes: Any, outs: Any, dim: int) -> Any:
    """The gradient goes to where the values were found."""
    return g.new_zeros(shapes[0]).scatter(dim, outs[1].detach(), g) if shapes[0] else g


def at_indices_gradient(g: Any, shapes: Any, outs: Any, dim: int, keepdim: bool) -> Any:
    """The same, where the dimension may be gone."""
    if keepdim or not shapes[0]:
        return at_places_gradient(g, shapes, outs, dim)
    places = [o.unsqueeze(dim) for o in outs]
    return at_places_gradient(g.unsqueeze(dim), shapes, places, dim)


def _extreme_along(find: Callable[..., Array]) -> Callable[..., Any]:
    def run(input: Array, dim: int, keepdim: bool) -> tuple[Array, Array]:
        if not input.ndim:
            return input.copy(), np.zeros((), np.int64)
        wide = input.astype(np.float32) if input.dtype.kind == "V" else input
        at = np.expand_dims(find(wide, axis=dim), dim)
        values = np.take_along_axis(input, at, dim)
        return (values, at) if keepdim else (values.squeeze(dim), at.squeeze(dim))

    return run


MAX_DIM = Op("max_dim", ("input",), _extreme_along(np.argmax), {"input": at_indices_gradient}, differentiable=1)
MIN_DIM = Op("min_dim", ("input",), _extreme_along(np.argmin), {"input": at_indices_gradient}, differentiable=1)
MAX_DIM.node_name, MIN_DIM.node_name = "MaxBackward0", "MinBackward0"


def _declare_max(name: str, along: Op, overall: Op, pair: str) -> None:
    def call(input: Tensor, dim: Any = None, keepdim: bool = False, *, out: Any = None, other: Any = None, axis: Any = None) -> Any:
        check_tensor(name, input)
        dim = _kwargs_dim(dim, axis)
        if isinstance(dim, Tensor) or other is not None:
            return FUNCTIONS[pair](input, dim if other is None else other, out=out)
        if input.dtype.is_complex:
            raise RuntimeError(f"{name}(): does not support complex inputs")
        if dim is None:
            if not input._array.size:
                raise RuntimeError(
                    f"{name}(): Expected reduction dim to be specified for input.numel() == 0. Specify the "
                    "reduction dim with the 'dim' argument."
                )
            result = overall(input, dim=tuple(range(input.ndim)), keepdim=False)
        else:
            d = wrap_dim(dim, input.ndim)
            if input.ndim:
                _need_elements(name, input, (d,))
            result = found(name, *along(input, dim=d, keepdim=keepdim))
        return result if out is None else into(out, result, name)

    call.__name__, call.__doc__ = name, f"The {name}imum of all, or along a dimension with its place, or of two tensors."
    function_and_method(call)


_declare_max("max", MAX_DIM, MAX, "maximum")
_declare_max("min", MIN_DIM, MIN, "minimum")


def _declare_arg(name: str, find: Callable[..., Array]) -> None:
    op = Op(name, ("input",), lambda input, dim, keepdim: find(input.reshape(-1) if dim is None else input, axis=dim, keepdims=keepdim),
            {"input": None}, doc=f"Where the {name[3:]}imum is.")  # fmt: skip

    def call(input: Tensor, dim: int | None = None, keepdim: bool = False, *, out: Any = None) -> Tensor:
        if input.dtype in (dtypes.bool_,) or input.dtype.is_complex:
            raise RuntimeError(f"\"{name}_cpu\" not implemented for '{kind_name(input._array)}'")
        d = None if dim is None else wrap_dim(dim, input.ndim)
        if not input._array.size:
            if d is None:
                raise IndexError(f"{name}(): Expected reduction dim to be specified for input.numel() == 0. Specify the reduction dim with the 'dim' argument.")
            _need_elements(name, input, (d,))
        source = input.detach()
        if d is None or not input.ndim:
            result = op(source, dim=None, keepdim=False)
            result = result.reshape((1,) * input.ndim) if keepdim else result
        else:
            result = op(source, dim=d, keepdim=keepdim)
        return result if out is None else into(out, result, name)

    call.__name__, call.__doc__ = name, op.doc
    function_and_method(call)


_declare_arg("argmax", np.argmax)
_declare_arg("argmin", np.argmin)


@function_and_method
def aminmax(
    input: Tensor, *, dim: int | None = None, keepdim: bool = False, out: Any = None
) -> Any:
    """The smallest and the largest element."""
    pair = (dim,) if dim is not None else ()
    result = named("aminmax", "min", "max")(input.amin(pair, keepdim), input.amax(pair, keepdim))
    if out is None:
        return result
    for o, r in zip(out, result, strict=True):
        check_out(o, r)
    return into(out, result, "aminmax")


# --- Moments ------------------------------------------------------------------------------------------


def _var(input: Array, dim: tuple[int, ...], correction: float, keepdim: bool) -> Array:
    wide = _accumulating(input)
    count = _count(input.shape, dim)
    center = np.asarray(wide.sum(axis=dim, keepdims=True)) / wide.dtype.type(count or np.nan)
    away = np.abs(wide - center)
    total = np.asarray((away * away).sum(axis=dim, keepdims=keepdim))
    return (total / total.dtype.type(max(count - correction, 0))).astype(np.abs(input[:0]).dtype if input.ndim else np.abs(input).dtype, copy=False)


def _var_gradient(g: Any, input: Any, dim: Any, correction: Any) -> Any:
    count = _count(input._array.shape, dim)
    away = input - input.mean(dim, True)
    return spread(g, input._array.shape, dim) * away * (2 / max(count - correction, 0) if count - correction > 0 else math.nan)


VAR = Op("var", ("input",), _var, {"input": _var_gradient}, doc="How far elements are from their mean, squared.")


def _moment_arguments(name: str, input: Tensor, dim: Any, unbiased: Any, correction: Any) -> tuple[tuple[int, ...], float]:
    if input.dtype.kind < dtypes.FLOATING:
        raise RuntimeError(f"{name} only support floating point and complex dtypes")
    if isinstance(dim, bool):
        dim, unbiased = None, dim
    if unbiased is not None:
        correction = 1 if unbiased else 0
    return _dims(dim, input.ndim), 1 if correction is None else correction


def var(input: Tensor, dim: Any = None, unbiased: Any = None, keepdim: bool = False, *, correction: Any = None, out: Any = None) -> Tensor:
    """The variance: of all elements, or along dimensions."""
    dims, minus = _moment_arguments("var", input, dim, unbiased, correction)
    result = bind(VAR, (input,), {"dim": dims, "correction": minus, "keepdim": keepdim})
    return result if out is None else into(out, result, "var")


def std(input: Tensor, dim: Any = None, unbiased: Any = None, keepdim: bool = False, *, correction: Any = None, out: Any = None) -> Tensor:
    """The standard deviation: of all elements, or along dimensions."""
    dims, minus = _moment_arguments("std", input, dim, unbiased, correction)
    result = STD(input, dim=dims, correction=minus, keepdim=keepdim)
    return result if out is None else into(out, result, "std")


def _std_gradient(g: Any, input: Any, out: Any, dim: Any, correction: Any) -> Any:
    return _var_gradient((g / (2 * out)).masked_fill(out == 0, 0), input, dim, correction)


STD = Op("std", ("input",), lambda input, dim, correction, keepdim: np.sqrt(_var(input, dim, correction, keepdim)),
         {"input": _std_gradient}, doc="How far elements are from their mean.")  # fmt: skip


def _var_or_std_mean(name: str, first: Any) -> None:
    def call(input: Tensor, dim: Any = None, unbiased: Any = None, keepdim: bool = False, *, correction: Any = None) -> tuple[Tensor, Tensor]:
        dims, minus = _moment_arguments(name, input, dim, unbiased, correction)
        return first(input, dims, keepdim=keepdim, correction=minus), input.mean(dims, keepdim)

    call.__name__, call.__doc__ = f"{name}_mean", f"`{name}` and `mean` together."
    FUNCTIONS[f"{name}_mean"] = call


function_and_method(var)
function_and_method(std)
_var_or_std_mean("var", var)
_var_or_std_mean("std", std)


@function_and_method
def logsumexp(input: Tensor, dim: Any, keepdim: bool = False, *, out: Any = None) -> Tensor:
    """log(sum(exp(x))), without overflow."""
    dims = _dims(dim, input.ndim)
    x = input if input.dtype.kind >= dtypes.FLOATING else input.to(dtypes.get_default_dtype())
    result = LOGSUMEXP(x, dim=dims, keepdim=keepdim)
    return result if out is None else into(out, result, "logsumexp")


def _logsumexp(input: Array, dim: tuple[int, ...], keepdim: bool) -> Array:
    if not input.size:
        return np.log(np.exp(input).sum(axis=dim, keepdims=keepdim))
    top = np.max(input.real if input.dtype.kind == "c" else input, axis=dim, keepdims=True)
    top = np.where(np.isfinite(top), top, top.dtype.type(0))
    total = np.log(_accumulating(np.exp(input - top)).sum(axis=dim, keepdims=True)) + top
    return (total if keepdim else total.squeeze(dim)).astype(input.dtype, copy=False)


LOGSUMEXP = Op("logsumexp", ("input",), _logsumexp,
               {"input": lambda g, input, out, dim: spread(g, input._array.shape, dim) * conj((input - spread(out, input._array.shape, dim)).exp())})  # fmt: skip

# --- Running ---------------------------------------------------------------------------------------------


def _running(compute: Callable[..., Array]) -> Callable[..., Array]:
    def run(input: Array, dim: int, dtype: Any) -> Array:
        kind = _summing_kind(input, dtype)
        wide = _accumulating(input.astype(kind, copy=False))
        return (compute(wide, axis=dim, dtype=wide.dtype) if input.ndim else wide.copy()).astype(kind, copy=False)

    return run


def _cumprod_gradient(g: Any, input: Any, out: Any, dim: Any) -> Any:
    """Each element reaches every later product; by division where no element is 0."""
    if not input.ndim or input._array.shape[dim] <= 1:
        return g
    if not (input._array == 0).any():
        return (g * conj(out)).flip(dim).cumsum(dim).flip(dim) / conj(input)
    size = input._array.shape[dim]
    parts = []
    for i in range(size):
        ahead = input.narrow(dim, 0, i).prod(dim, keepdim=True)
        rest = FUNCTIONS["cat"]([FUNCTIONS["ones_like"](ahead), input.narrow(dim, i + 1, size - i - 1)], dim)
        parts.append((g.narrow(dim, i, size - i) * conj(ahead * rest.cumprod(dim))).sum(dim, keepdim=True))
    return FUNCTIONS["cat"](parts, dim)


CUMSUM = Op("cumsum", ("input",), _running(np.cumsum),
            {"input": lambda g, dim: g.flip(dim).cumsum(dim).flip(dim) if g.ndim else g}, doc="The running sum.")  # fmt: skip
CUMPROD = Op("cumprod", ("input",), _running(np.cumprod), {"input": _cumprod_gradient}, doc="The running product.")


def _declare_running(op: Op) -> None:
    def call(input: Tensor, dim: int, *, dtype: Any = None, out: Any = None) -> Tensor:
        result = op(input, dim=wrap_dim(dim, input.ndim), dtype=None if dtype is None else dtype.numpy)
        return result if out is None else into(out, result, op.name)

    call.__name__, call.__doc__ = op.name, op.doc
    function_and_method(call)
    in_place(f"{op.name}_", call)


_declare_running(CUMSUM)
_declare_running(CUMPROD)


def _running_extreme(better: Callable[..., Array]) -> Callable[..., Any]:
    def run(input: Array, dim: int) -> tuple[Array, Array]:
        if not input.ndim:
            return input.copy(), np.zeros((), np.int64)
        rows = np.moveaxis(input, dim, 0)
        values, indices = np.empty_like(rows), np.empty(rows.shape, np.int64)
        for i in range(len(rows)):
            if i == 0:
                values[0], indices[0] = rows[0], 0
                continue
            new = better(rows[i], values[i - 1])
            if rows.dtype.kind in "fV":
                new = new | np.isnan(rows[i])
            values[i] = np.where(new, rows[i], values[i - 1])
            indices[i] = np.where(new, i, indices[i - 1])
        return np.ascontiguousarray(np.moveaxis(values, 0, dim)), np.ascontiguousarray(np.moveaxis(indices, 0, dim))

    return run


def _running_extreme_gradient(g: Any, outs: Any, dim: int) -> Any:
    if not g.ndim:
        return g
    return g.new_zeros(g.shape).scatter_add(dim, outs[1].detach(), g)


def _declare_running_extreme(name: str, better: Callable[..., Array], doc: str) -> None:
    op = Op(name, ("input",), _running_extreme(better), {"input": _running_extreme_gradient}, differentiable=1, doc=doc)

    def call(input: Tensor, dim: int, *, out: Any = None) -> Any:
        result = found(name, *op(input, dim=wrap_dim(dim, input.ndim)))
        return result if out is None else into(out, result, name)

    call.__name__, call.__doc__ = name, doc
    function_and_method(call)


_declare_running_extreme("cummax", np.greater_equal, "The largest element so far, and where it is.")
_declare_running_extreme("cummin", np.less_equal, "The smallest element so far, and where it is.")


def _logcumsumexp(input: Array, dim: int) -> Array:
    if not input.ndim:
        return input.copy()
    if input.dtype.kind == "c":
        rows = accumulate(np.moveaxis(input, dim, 0), add_exponentials)
        return np.moveaxis(np.stack(list(rows)), 0, dim)
    wide = _accumulating(input)
    return np.logaddexp.accumulate(wide, axis=dim).astype(input.dtype, copy=False)


def _logcumsumexp_gradient(g: Any, input: Any, out: Any, dim: int) -> Any:
    """exp(input) times the sum of later g / exp(out), by logarithms, so that nothing overflows."""
    if not input.ndim:
        return g

    def weighed(log_g: Any) -> Any:
        return ((log_g - out).flip(dim).logcumsumexp(dim).flip(dim) + input).exp()

    if g.dtype.is_complex:
        return conj(weighed(conj(g).log()))
    nothing = g.new_full((), dtypes.finfo(g.dtype).min)
    positive, negative = (FUNCTIONS["where"](x > 0, x.log(), nothing) for x in (g, -g))
    return weighed(positive) - weighed(negative)


LOGCUMSUMEXP = Op("logcumsumexp", ("input",), _logcumsumexp, {"input": _logcumsumexp_gradient})


@function_and_method
def logcumsumexp(input: Tensor, dim: int, *, out: Any = None) -> Tensor:
    """The running log(sum(exp(x)))."""
    x = input if input.dtype.kind >= dtypes.FLOATING else input.to(dtypes.get_default_dtype())
    result = LOGCUMSUMEXP(x, dim=wrap_dim(dim, input.ndim))
    return result if out is None else into(out, result, "logcumsumexp")


@function_and_method
@with_out
def diff(input: Tensor, n: int = 1, dim: int = -1, prepend: Any = None, append: Any = None) -> Tensor:
    """Differences of neighbours, n times over."""
    if not input.ndim:
        raise RuntimeError("diff expects input to be at least one-dimensional")
    if n < 0:
        raise RuntimeError(f"order must be non-negative but got {n}")
    parts = [p for p in (prepend, input, append) if p is not None]
    x = FUNCTIONS["cat"](parts, dim) if len(parts) > 1 else input
    size = x.size(dim)
    for _ in range(min(n, size)):
        high, low = x.narrow(dim, 1, x.size(dim) - 1), x.narrow(dim, 0, x.size(dim) - 1)
        x = high ^ low if x.dtype is dtypes.bool_ else high - low
    return x if n else x.clone()


