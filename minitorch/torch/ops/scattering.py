"""Reading and writing elements at indices along one dimension: gather and scatter."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from .. import dtypes
from ..backends.interface import ARRAYS, formula_of
from ..formulas import indexing as kernels
from ..formulas.arrays import view_as
from ..tensor import Array, Tensor
from .comparison import where
from .creation import full_like, ones_like, zeros_like
from .layout import in_order
from .movement import wrap_dim
from .parts import SLICE_BACKWARD
from .precision import require_floats
from .promotion import exact_number
from .record import MOVEMENT, Op, bind
from .surface import check_tensor, function_and_method, into, only_method
from .writes import bind_in_place, check_overlap

Key = tuple[Array, ...]

# --- Places ---------------------------------------------------------------------------------------


def check_index(name: str, index: Any) -> Tensor:
    """The index; RuntimeError unless it is of an integer dtype. An empty one of any dtype is cast."""
    check_tensor(name, index, "index")
    if index.dtype in (dtypes.int64, dtypes.int32):
        return index
    if index._array.size:
        raise RuntimeError(f"{name}(): Expected dtype int32/int64 for index")
    return index.to(dtypes.int64)


def check_bounds(
    name: str, index: Array, size: int, dim: int, error: type[Exception] = RuntimeError
) -> None:
    """An error if an index is out of range, before anything is read or written."""
    if not kernels.all_within(index, size):
        bad = low if (low := index.min()) < 0 else index.max()
        raise error(f"{name}: index {bad} is out of bounds for dimension {dim} with size {size}")


def size_of(array: Array, dim: int) -> int:
    """The size of a dimension; a zero-dimensional tensor counts as a vector of one."""
    return array.shape[dim] if array.ndim else 1


def _grid(index: Array, dim: int) -> Key:
    """An index along one dimension as one index per dimension."""
    ndim = index.ndim
    return tuple(
        index if d == dim else np.arange(n, like=index).reshape((n,) + (1,) * (ndim - d - 1))
        for d, n in enumerate(index.shape)
    )


def _in_memory(array: Array, index: Array, dim: int) -> tuple[Array, Any]:
    """An array, flattened if it is contiguous, and the places in it of indices along a dimension."""
    if type(array) is np.ndarray and array.flags.c_contiguous:
        return array.reshape(-1), kernels.flat_places(index, array.shape, dim)
    return array, _grid(index, dim)


def combine(ufunc: np.ufunc, target: Array, at: Any, values: Any) -> None:
    """Combine values into a target by a ufunc; an index that occurs twice gets both."""
    put = kernels.add_at if ufunc is np.add else ufunc.at
    if type(at) is not tuple or not target.flags.c_contiguous:
        put(target, at, values)
        return
    # In contiguous memory, NumPy is several times as fast.
    if type(values) not in ARRAYS:
        values = np.asarray(values, target.dtype, like=target)
    places = np.ravel_multi_index(at, target.shape)
    row = view_as(target, -1), places.reshape(-1), np.broadcast_to(values, places.shape).reshape(-1)
    own = formula_of(target, "combine")
    if own is None or not own(ufunc.__name__, *row):
        put(*row)


def on_copy(write: Callable[..., None]) -> Callable[..., Array]:
    """A copy after an in-place write."""

    def compute(input: Array, *others: Any, **params: Any) -> Array:
        out = input.copy()
        write(out, *others, **params)
        return out

    return compute


# --- gather and scatter ---------------------------------------------------------------------------


def _gather(input: Array, index: Array, dim: int) -> Array:
    if index.size >= kernels.LARGE and input.ndim:
        return kernels.gather(input, dim, index)  # which checks the bounds
    check_bounds("gather", index, size_of(input, dim), dim)
    if not index.size:
        return np.empty(index.shape, input.dtype, like=input)
    if not input.ndim:
        return np.broadcast_to(input, index.shape).copy()
    if not index.ndim:
        return input.reshape(-1)[index]
    memory, at = _in_memory(input, index, dim)
    return memory[at]


def _put_back(input: Array, index: Array, shape: tuple[int, ...], dim: int) -> Array:
    """The gradient of `gather`: gradients added at their indices."""
    return _scattered(
        np.broadcast_to(np.zeros((), input.dtype, like=input), shape), index, input, dim, np.add
    )


GATHER = Op("gather", ("input", "index"), in_order(_gather), {
    "input": lambda g, shapes, index, dim: GATHER_BACKWARD(g, index, shape=shapes[0], dim=dim),
    "index": None,
}, doc="The elements at indices along a dimension.", kind=MOVEMENT)  # fmt: skip
GATHER_BACKWARD = Op("gather_backward", ("input", "index"), _put_back, {
    "input": lambda g, index, dim: GATHER(g, index, dim=dim), "index": None,
})  # fmt: skip


def _part_of(src: Any, index: Array) -> Any:
    """The part of a source with the index's shape."""
    if type(src) not in ARRAYS:
        return src
    return src.reshape(src.shape or (1,))[tuple(slice(0, s) for s in index.shape)]


def _scatter_into(target: Array, index: Array, src: Any, dim: int, combining: Any = None) -> None:
    """Write values at indices along a dimension, or combine them by a ufunc."""
    if not index.size:
        return
    if _by_kernel(target, index, combining):
        _KERNELS[combining](target, dim, index, _part_of(src, index), in_place=True)
        return
    size = size_of(target, dim)
    target, index = target.reshape(target.shape or (1,)), index.reshape(index.shape or (1,))
    values = _part_of(src, index)
    check_bounds("scatter", index, size, dim)
    memory, at = _in_memory(target, index, dim)
    if combining is None:
        memory[at] = values
    else:
        combine(combining, memory, at, values)


_KERNELS = {None: kernels.scatter, np.add: kernels.scatter_add}
"""The kernel that writes, or adds, many values; it checks the bounds."""


def _by_kernel(target: Array, index: Array, combining: Any) -> bool:
    large = index.size >= kernels.LARGE and target.ndim
    return bool(large) and combining in _KERNELS and target.dtype.char in "fd"


def _scattered(input: Array, index: Array, src: Any, dim: int, combining: Any = None) -> Array:
    """A copy after `_scatter_into`."""
    if _by_kernel(input, index, combining):
        return _KERNELS[combining](input, dim, index, _part_of(src, index))
    out = input.copy()
    _scatter_into(out, index, src, dim, combining)
    return out


def _to_source(g: Any, index: Any, dim: int, shapes: Any) -> Any:
    """The gradient of the used part of a source, and 0 for the rest."""
    return _grown(g.gather(dim, index), shapes[2])


def _grown(g: Any, shape: Any) -> Any:
    if not shape:  # a number, or a tensor without dimensions
        return g.sum()
    for d, (have, want) in enumerate(zip(g._array.shape, shape, strict=True)):
        if have != want:
            full = (*g._array.shape[:d], want, *g._array.shape[d + 1 :])
            g = SLICE_BACKWARD(g, shape=full, at=(d, 0, have, 1))
    return g


SCATTER = Op("scatter", ("input", "index", "src"), _scattered, {
    "input": lambda g, index, dim: g.scatter(dim, index, 0), "index": None, "src": _to_source,
}, write=_scatter_into, doc="Values written at indices along a dimension.")  # fmt: skip
SCATTER_ADD = Op("scatter_add", ("input", "index", "src"), partial(_scattered, combining=np.add), {
    "input": lambda g: g, "index": None, "src": _to_source,
}, write=partial(_scatter_into, combining=np.add), doc="Values added at indices along a dimension.")  # fmt: skip


def _check_shapes(name: str, input: Tensor, index: Tensor, dim: int, src: Any = None) -> None:
    """RuntimeError unless the index is no larger than the input (except along `dim`) and the source."""
    if isinstance(src, Tensor) and src.dtype is not input.dtype:
        raise RuntimeError(f"{name}(): Expected self.dtype to be equal to src.dtype")
    at, own = index._array.shape, input._array.shape
    if not index._array.size:
        return
    for label, x in (("self", input), ("src", src)):
        if isinstance(x, Tensor) and (x._array.ndim or 1) != (len(at) or 1):
            raise RuntimeError(
                f"Index tensor must have the same number of dimensions as {label} tensor "
                f"[{name}: index {[*at]}, self {[*own]}]"
            )
    for d, (count, size) in enumerate(zip(at, own, strict=False)):
        if d != dim and count > size:
            raise RuntimeError(
                f"Size does not match at dimension {d} expected index {[*at]} to be no larger than "
                f"self {[*own]} apart from dimension {dim} [{name}]"
            )
    given = (src._array.shape or (1,)) if isinstance(src, Tensor) else ()
    for count, size in zip(at, given, strict=False):
        if count > size:
            raise RuntimeError(
                f"Expected index to be no larger than self apart from dimension {dim} and no larger than "
                f"src {[*src.shape]} [{name}: index {[*at]}, self {[*own]}]"
            )


def check_out(out: Any, result: Tensor, *inputs: Tensor) -> None:
    """RuntimeError unless `out` has the result's dtype and does not overlap the inputs."""
    if isinstance(out, Tensor):
        if out.dtype is not result.dtype:
            raise RuntimeError(
                f"Expected out tensor to have dtype {result.dtype.c_name}, but got {out.dtype.c_name} instead"
            )
        for x in inputs:
            check_overlap(out._array, x._array, same_allowed=False)


@function_and_method
def gather(
    input: Tensor, dim: int, index: Tensor, *, sparse_grad: bool = False, out: Any = None
) -> Tensor:
    """The elements at indices along a dimension."""
    index = check_index("gather", index)
    d = wrap_dim(dim, input.ndim)
    _check_shapes("gather", input, index, d)
    result = bind(GATHER, (input, index), {"dim": d})
    check_out(out, result, input, index)
    return result if out is None else into(out, result, "gather")


_COMBINING = {"add": "sum", "multiply": "prod"}
"""`scatter`'s names for the reductions of `scatter_reduce`."""


def _scatter_call(
    input: Tensor, dim: int, index: Tensor, src: Any, value: Any, reduce: str | None
) -> Any:
    """The record, the other inputs, and the parameters of a call of `scatter`."""
    source = value if src is None else src
    index = check_index("scatter", index)
    d = wrap_dim(dim, input.ndim)
    _check_shapes("scatter", input, index, d, source)
    if not isinstance(source, Tensor):
        source = exact_number(source, input.dtype)
    if reduce is None:
        return SCATTER, (index, source), {"dim": d}
    if reduce not in _COMBINING:
        raise RuntimeError("reduce argument must be either add or multiply.")
    if not isinstance(source, Tensor):
        source = input.new_full((), source).expand(index.shape)
    return (
        SCATTER_REDUCE,
        (index, source),
        {"dim": d, "reduce": _COMBINING[reduce], "include_self": True},
    )


def _scatter_add_call(input: Tensor, dim: int, index: Tensor, src: Tensor) -> Any:
    index = check_index("scatter_add", index)
    check_tensor("scatter_add", src, "src")
    d = wrap_dim(dim, input.ndim)
    _check_shapes("scatter_add", input, index, d, src)
    return SCATTER_ADD, (index, src), {"dim": d}


@function_and_method
def scatter(
    input: Tensor, dim: int, index: Tensor, src: Any = None, *, value: Any = None, reduce: str | None = None,
    out: Any = None,
) -> Tensor:  # fmt: skip
    """A copy with values written at indices along a dimension."""
    op, others, params = _scatter_call(input, dim, index, src, value, reduce)
    result = bind(op, (input, *others), params)
    return result if out is None else into(out, result, "scatter")


@only_method
def scatter_(
    self: Tensor,
    dim: int,
    index: Tensor,
    src: Any = None,
    *,
    value: Any = None,
    reduce: str | None = None,
) -> Tensor:
    """Write values at indices along a dimension."""
    op, others, params = _scatter_call(self, dim, index, src, value, reduce)
    return bind_in_place(op, self, others, params)


@function_and_method
def scatter_add(input: Tensor, dim: int, index: Tensor, src: Tensor, *, out: Any = None) -> Tensor:
    """A copy with values added at indices along a dimension."""
    op, others, params = _scatter_add_call(input, dim, index, src)
    result = bind(op, (input, *others), params)
    return result if out is None else into(out, result, "scatter_add")


@only_method
def scatter_add_(self: Tensor, dim: int, index: Tensor, src: Tensor) -> Tensor:
    """Add values at indices along a dimension."""
    op, others, params = _scatter_add_call(self, dim, index, src)
    return bind_in_place(op, self, others, params)


# --- Reducing while scattering ------------------------------------------------------------------------

_REDUCTIONS = {
    "sum": np.add,
    "mean": np.add,
    "prod": np.multiply,
    "amax": np.maximum,
    "amin": np.minimum,
}


def _neutral(reduce: str, kind: np.dtype) -> Any:
    """The neutral element of a reduction."""
    if reduce in ("sum", "mean"):
        return 0
    if reduce == "prod":
        return 1
    if kind.kind == "b":
        return reduce == "amin"
    if kind.kind in "fV":
        return -np.inf if reduce == "amax" else np.inf
    return np.iinfo(kind).min if reduce == "amax" else np.iinfo(kind).max


def _reduce_into(
    target: Array, index: Array, src: Array, dim: int, reduce: str, include_self: bool
) -> None:
    if not include_self:
        _scatter_into(target, index, _neutral(reduce, target.dtype), dim)
    _scatter_into(target, index, src, dim, _REDUCTIONS[reduce])
    if reduce == "mean":
        count = np.zeros(target.shape, np.int64, like=target)
        count += int(include_self)
        _scatter_into(count, index, 1, dim, np.add)
        count = np.maximum(count, 1)
        if target.dtype.kind in "iu":
            target[...] = (target // count).astype(target.dtype)
        else:
            np.divide(target, count.astype(target.dtype), out=target)


def _counts(start: Any, dim: int, index: Any, ones: Any) -> Any:
    """The number of values reduced into each element, at least 1."""
    counts = start.scatter_add(dim, index, ones)
    return counts.masked_fill(counts == 0, 1)


def _reduced_gradients(
    g: Any, input: Any, index: Any, src: Any, out: Any, dim: int, reduce: str, include_self: bool
) -> tuple[Any, Any]:
    """Gradients of the input and of the part of the source that was used."""
    if reduce == "sum":
        mine, theirs = g, g.gather(dim, index)
    elif reduce == "mean":
        start = full_like(g, 1 if include_self else 0)
        share = g / _counts(start, dim, index, ones_like(src))
        mine, theirs = share, share.gather(dim, index)
    elif reduce == "prod":
        mine, theirs = _product_gradients(g, input, index, src, out, dim, include_self)
    else:  # divided evenly among equal extremes
        at_self, at_src = (input == out).to(g.dtype), (src == out.gather(dim, index)).to(g.dtype)
        start = at_self if include_self else zeros_like(at_self)
        share = g / _counts(start, dim, index, at_src)
        share = share.masked_fill(out.isnan(), np.nan)
        mine, theirs = at_self * share, at_src * share.gather(dim, index)
    return mine if include_self else mine.scatter(dim, index, 0), theirs


def _product_gradients(
    g: Any, input: Any, index: Any, src: Any, out: Any, dim: int, include_self: bool
) -> tuple[Any, Any]:
    """The product of the other factors: by division, with a special case for a single zero factor."""
    start = input if include_self else input.scatter(dim, index, 1)
    whole = start.masked_fill(start == 0, 1)
    mine = g * _scattered_product(whole, index, src, dim) / whole
    zero = src == 0
    zeros = zeros_like(g).scatter_add(dim, index, zero.to(g.dtype)).gather(dim, index)
    alone = zero & (zeros == 1)
    others = _scattered_product(start, index, src.masked_fill(alone, 1), dim)
    divided = (g * out).gather(dim, index) / src.masked_fill(zero, 1)
    return mine, where(alone, (g * others).gather(dim, index), divided)


def _scattered_product(input: Any, index: Any, src: Any, dim: int) -> Any:
    return SCATTER_REDUCE(input, index, src, dim=dim, reduce="prod", include_self=True)


def _reduced_by_input(
    g: Any, input: Any, index: Any, src: Any, out: Any, dim: int, reduce: str, include_self: bool
) -> Any:
    return _reduced_gradients(
        g, input, index, _cropped(src, index), out, dim, reduce, include_self
    )[0]


def _reduced_by_source(
    g: Any, input: Any, index: Any, src: Any, out: Any, dim: int, reduce: str, include_self: bool
) -> Any:
    theirs = _reduced_gradients(
        g, input, index, _cropped(src, index), out, dim, reduce, include_self
    )[1]
    return _grown(theirs, src._array.shape)


def _cropped(src: Any, index: Any) -> Any:
    """The part of a source with the index's shape."""
    if src._array.shape == index._array.shape:
        return src
    return src[tuple(slice(0, s) for s in index._array.shape)]


SCATTER_REDUCE = Op("scatter_reduce", ("input", "index", "src"), on_copy(_reduce_into), {
    "input": _reduced_by_input, "index": None, "src": _reduced_by_source,
}, write=_reduce_into, doc="Values reduced into elements at indices along a dimension.")  # fmt: skip


def _reduce_call(
    input: Tensor, dim: int, index: Tensor, src: Tensor, reduce: str, include_self: bool
) -> Any:
    index = check_index("scatter_reduce", index)
    if input.dtype is dtypes.bool_ and reduce == "mean":
        raise NotImplementedError(
            "\"scatter_gather_tensor_cpu_reduce_mean\" not implemented for 'Bool'"
        )
    if reduce not in _REDUCTIONS:
        raise RuntimeError(
            f"reduce argument must be either sum, prod, mean, amax or amin, got {reduce}."
        )
    if reduce in ("amax", "amin"):
        require_floats(f"scatter_gather_tensor_cpu_reduce_{reduce}", input._array, "biufV")
    d = wrap_dim(dim, input.ndim)
    _check_shapes("scatter_reduce", input, index, d, src)
    return (index, src), {"dim": d, "reduce": reduce, "include_self": include_self}


@function_and_method
def scatter_reduce(
    input: Tensor,
    dim: int,
    index: Tensor,
    src: Tensor,
    reduce: str,
    *,
    include_self: bool = True,
    out: Any = None,
) -> Tensor:
    """A copy with values reduced into elements at indices along a dimension."""
    others, params = _reduce_call(input, dim, index, src, reduce, include_self)
    result = bind(SCATTER_REDUCE, (input, *others), params)
    return result if out is None else into(out, result, "scatter_reduce")


@only_method
def scatter_reduce_(
    self: Tensor, dim: int, index: Tensor, src: Tensor, reduce: str, *, include_self: bool = True
) -> Tensor:
    """Reduce values into elements at indices along a dimension."""
    others, params = _reduce_call(self, dim, index, src, reduce, include_self)
    return bind_in_place(SCATTER_REDUCE, self, others, params)
