"""Reductions: sums, means, products, any and all, variances, logsumexp."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from .. import dtypes
from ..backends.interface import as_array, reduce
from ..formulas import reductions
from ..formulas import softmax as cpu_softmax
from ..tensor import Array, Tensor
from .comparison import where
from .elementwise import conj
from .joining import cat
from .layout import in_order, ordered
from .movement import expanded, sizes_of, wrap_dims
from .precision import kind_name
from .record import MOVEMENT, REDUCTION, Op, bind
from .surface import (
    FUNCTIONS,
    check_given_type,
    check_tensor,
    function_and_method,
    into,
    only_method,
    with_out,
)

Dims = tuple[int, ...]

_ALL = [tuple(range(ndim)) for ndim in range(65)]
"""All dimensions, by their number; NumPy has at most 64."""

# --- Arguments ----------------------------------------------------------------------------------


def dims_of(dim: Any, ndim: int) -> Dims:
    """The dimensions to reduce: all of them if none is given."""
    if dim is None:
        return _ALL[ndim]
    if type(dim) is int and -ndim <= dim < ndim:
        return (dim % ndim,)
    if not ndim:
        wrap_dims(dim, ndim)  # Torch accepts dimension 0 here, and there is none to reduce
        return ()
    return wrap_dims(dim, ndim) if not isinstance(dim, (tuple, list)) or dim else tuple(range(ndim))


def _kept(shape: Dims, dims: Dims) -> Dims:
    """A shape with the reduced dimensions as 1."""
    return tuple([1 if d in dims else s for d, s in enumerate(shape)])


def _spread(input: Array, shape: Dims, dims: Dims) -> Array:
    return expanded(input.reshape(_kept(shape, dims)) if input.ndim else input, shape)


def _gathered(g: Any, dims: Dims, shapes: Any) -> Any:
    return bind(SUM, (g,), {"dim": dims, "keepdim": False, "dtype": None}).reshape(shapes[0])


SPREAD = Op("spread", ("input",), _spread, {"input": _gathered}, kind=MOVEMENT)


def spread(g: Any, shape: Dims, dims: Dims) -> Any:
    """A reduced tensor broadcast to the shape before the reduction."""
    return bind(SPREAD, (g,), {"shape": shape, "dims": dims})


def _count(shape: Dims, dims: Dims) -> int:
    return math.prod([shape[d] for d in dims])


# --- Sums and products ----------------------------------------------------------------------------

FEW = 4096
"""Up to this many elements, choosing the best method costs more than it saves."""


def summing_kind(input: Array, dtype: Any) -> Any:
    """The dtype of a sum: as given, else int64 for integers, others unchanged."""
    if dtype is not None:
        return dtype
    return np.dtype(np.int64) if input.dtype.kind in "biu" else input.dtype


def summed_type(name: str, dtype: Any) -> Any:
    """The dtype given for a sum or product; NotImplementedError where Torch does not support it."""
    kind = dtypes.given_type(dtype)
    if kind in (dtypes.uint16, dtypes.uint32, dtypes.uint64):
        label = kind.type_name.removesuffix("Tensor")
        raise NotImplementedError(f"\"{name}\" not implemented for '{label}'")
    return kind.numpy


def _folding(small: np.ufunc, formula: Callable[..., Array]) -> Callable[..., Array]:
    """A sum or product: by a ufunc for integers and for few elements, else by a formula."""
    reduce: Any = small.reduce

    def compute(input: Array, dim: Dims, keepdim: bool, dtype: Any) -> Array:
        if dtype is None and input.size < FEW and input.dtype.char in "fd":
            if len(dim) == input.ndim and not keepdim and type(input) is np.ndarray:
                # `out` makes an array rather than a NumPy scalar.
                return reduce(input, dim, None, np.empty((), input.dtype))
            result = reduce(input, dim, None, None, keepdim)
            return result if input.ndim < 3 else ordered(result)
        kind = summing_kind(input, dtype)
        if input.dtype != kind and not (input.dtype.kind in "biu" and kind.kind in "biu"):
            input = input.astype(kind)
        if kind.kind in "biu":
            return ordered(reduce(input, axis=dim, keepdims=keepdim, dtype=kind))
        return ordered(formula(input, dim, keepdim))

    return compute


_sum = _folding(np.add, reductions.sum)


def _mean(input: Array, dim: Dims, keepdim: bool, dtype: Any) -> Array:
    wide = input if dtype is None or input.dtype == dtype else input.astype(dtype)
    if wide.size < FEW and wide.size and wide.dtype.char in "fd" and type(wide) is np.ndarray:
        total = _sum(wide, dim, keepdim, None)
        if not total.ndim:  # dividing Python numbers is faster, and rounds in the same way
            return np.array(total.item() / wide.size, wide.dtype)
        return total / wide.dtype.type(wide.size // total.size)
    return ordered(reductions.mean(wide, dim, keepdim))


def _prod_gradient(g: Any, input: Any, out: Any, dim: Dims) -> Any:
    """The product of the other elements: by division if none is 0, else by cumulative products."""
    shape = input._array.shape
    if not shape:
        return g
    if (input._array == 0).any():
        others = _product_of_others(input, shape, dim)
    else:
        others = spread(out, shape, dim) / input
    return spread(g, shape, dim) * conj(others)


def _product_of_others(input: Any, shape: Dims, dim: Dims) -> Any:
    """The product of the elements before each one times the product of those after it."""
    rest = tuple(d for d in range(len(shape)) if d not in dim)
    order = rest + dim
    sizes = [shape[d] for d in order]
    rows = input.permute(order).reshape([*sizes[: len(rest)], -1])
    one = rows.new_ones((*rows.shape[:-1], 1))
    before = cat([one, rows[..., :-1]], -1).cumprod(-1)
    after = cat([one, rows.flip(-1)[..., :-1]], -1).cumprod(-1).flip(-1)
    return (before * after).reshape(sizes).permute(tuple(np.argsort(order).tolist()))


SUM = Op("sum", ("input",), _sum, {"input": lambda g, shapes, dim: spread(g, shapes[0], dim)},
         doc="The sum of all elements, or along dimensions.", kind=REDUCTION)  # fmt: skip
MEAN = Op("mean", ("input",), _mean,
          {"input": lambda g, shapes, dim: spread(g, shapes[0], dim) / _count(shapes[0], dim)},
          doc="The mean of all elements, or along dimensions.", kind=REDUCTION)  # fmt: skip
PROD = Op("prod", ("input",), _folding(np.multiply, reductions.prod), {"input": _prod_gradient},
          doc="The product of all elements, or along a dimension.", kind=REDUCTION)  # fmt: skip


def _declare_sum(op: Op, takes_whole: bool = True) -> None:
    """Declare `torch.sum(x)`, `x.sum(dim, keepdim=True, dtype=...)`."""
    name = op.name

    def call(
        input: Tensor, dim: Any = None, keepdim: bool = False, *, dtype: Any = None, out: Any = None,
        axis: Any = None, keepdims: bool = False,
    ) -> Tensor:  # fmt: skip
        check_tensor(name, input)
        array, kind = input._array, None
        if out is not None:
            check_given_type(dtype, out)
            if dtype is None and takes_whole and isinstance(out, Tensor):
                dtype = out.dtype
        if dtype is not None:
            kind = summed_type(f"{name}_cpu", dtype)
        if kind is not None and array.dtype.kind == "c" != kind.kind:
            input = input.to(dtype)
            array = input._array
        if not takes_whole and (array.dtype if kind is None else kind).kind in "biu":
            raise RuntimeError(
                f"{name}(): could not infer output dtype. Input dtype must be either a floating point "
                f"or complex dtype. Got: {kind_name(array)}"
            )
        dims = dims_of(axis if dim is None else dim, array.ndim)
        result = bind(op, (input,), {"dim": dims, "keepdim": keepdim or keepdims, "dtype": kind})
        return result if out is None else into(out, result, name, input)

    call.__name__, call.__doc__ = name, op.doc
    function_and_method(call)


_declare_sum(SUM)
_declare_sum(MEAN, takes_whole=False)
_declare_sum(PROD)


@only_method
def sum_to_size(self: Tensor, *size: Any) -> Tensor:
    """The sum over the dimensions along which `size` broadcasts to the tensor's shape."""
    shape = sizes_of(size)
    own = self._array.shape
    extra = len(own) - len(shape)
    if extra < 0 or any(s not in (1, o) for s, o in zip(shape, own[extra:], strict=True)):
        raise RuntimeError(f"size {{{list(shape)}}} is not expandable to size {{{list(own)}}}.")
    dims = tuple(d for d in range(len(own)) if d < extra or (shape[d - extra] == 1 and own[d] != 1))
    if shape == own and own:
        return self
    total = bind(SUM, (self,), {"dim": dims, "keepdim": True, "dtype": None})
    return total.reshape(shape) if extra else total


@function_and_method
@with_out
def nansum(input: Tensor, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Tensor:
    """The sum of elements, with NaN as 0."""
    if input.dtype.is_complex:
        raise RuntimeError("nansum does not support complex inputs")
    whole = input.dtype.kind < dtypes.FLOATING
    if not whole and dtype is not None and dtypes.given_type(dtype).is_complex:
        raise NotImplementedError('"nansum_cpu" not implemented for complex types')
    there = input if whole else input.masked_fill(input.isnan(), 0)
    return there.sum(dim, keepdim, dtype=dtype)


@function_and_method
@with_out
def nanmean(input: Tensor, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Tensor:
    """The mean of elements that are not NaN."""
    if input.dtype.kind < dtypes.FLOATING:
        raise RuntimeError(
            "nanmean(): expected input to have floating point or complex dtype but got "
            f"{kind_name(input._array)}"
        )
    if dtype is not None and dtypes.given_type(dtype).kind < dtypes.FLOATING:
        raise RuntimeError(
            "nanmean(): could not infer output dtype. Optional dtype must be either a floating point or complex "
            f"dtype. Got: {dtypes.given_type(dtype).type_name.removesuffix('Tensor')}"
        )
    return input.nansum(dim, keepdim, dtype=dtype) / (~input.isnan()).sum(dim, keepdim)


# --- Truth -----------------------------------------------------------------------------------------


def _declare_truth(name: str, compute: np.ufunc, doc: str) -> None:
    def answer(input: Array, dim: Dims, keepdim: bool) -> Array:
        kind = np.uint8 if input.dtype == np.uint8 else bool
        truth = reduce(compute, input.astype(bool, copy=False), dim, keepdim)
        return ordered(as_array(truth)).astype(kind, copy=False)

    op = Op(name, ("input",), answer, {"input": None}, kind=REDUCTION, doc=doc)

    def call(
        input: Tensor, dim: Any = None, keepdim: bool = False, *, out: Any = None,
        axis: Any = None, keepdims: bool = False,
    ) -> Tensor:  # fmt: skip
        check_tensor(name, input)
        dim = axis if dim is None else dim
        none = isinstance(dim, (tuple, list)) and not dim  # no dimension is reduced
        dims = () if none else dims_of(dim, input._array.ndim)
        result = bind(op, (input,), {"dim": dims, "keepdim": keepdim or keepdims})
        if out is None:
            return result
        if isinstance(out, Tensor) and out.dtype not in (dtypes.bool_, dtypes.uint8):
            found = kind_name(out._array)
            raise RuntimeError(f"{name} only supports bool tensor for result, got: {found}")
        return into(out, result.to(out.dtype), name)

    call.__name__, call.__doc__ = name, doc
    function_and_method(call)


_declare_truth("all", np.logical_and, "Whether all elements, or all along dimensions, are True.")
_declare_truth("any", np.logical_or, "Whether any element, or any along dimensions, is True.")


# --- Hashes ----------------------------------------------------------------------------------------


def _hash(input: Array, dim: Dims, keepdim: bool) -> Array:
    """The exclusive or of the elements' bits, each extended to 64."""
    wide = (
        np.float64
        if input.dtype.kind in "fV"
        else input.dtype
        if input.dtype == np.uint64
        else np.int64
    )
    bits = input.astype(wide).view(np.uint64)
    return ordered(as_array(np.bitwise_xor.reduce(bits, axis=dim, keepdims=keepdim)))


HASH = Op("hash_tensor", ("input",), _hash, {"input": None})


@function_and_method
@with_out
def hash_tensor(input: Tensor, dim: Any = (), *, keepdim: bool = False, mode: int = 0) -> Tensor:
    """A hash of the elements, independent of their order: the exclusive or of their bits."""
    check_tensor("hash_tensor", input)
    if mode != 0:
        raise RuntimeError(f"Unknown hash_tensor mode: {mode}")
    if input.dtype.is_complex:
        raise NotImplementedError(
            f"\"xor_sum_cpu\" not implemented for '{kind_name(input._array)}'"
        )
    dims = dims_of(dim, input._array.ndim)
    if not input._array.size:
        if dim == () or dim == []:
            raise RuntimeError(
                "hash_tensor: Expected reduction dim to be specified for input.numel() == 0. Specify the "
                "reduction dim with the 'dim' argument."
            )
        for d in dims:
            if not input._array.shape[d]:
                raise IndexError(f"hash_tensor: Expected reduction dim {d} to have non-zero size.")
    return HASH(input, dim=dims, keepdim=keepdim)


@function_and_method
def count_nonzero(input: Tensor, dim: Any = None) -> Tensor:
    """The number of nonzero elements."""
    return input.ne(0).sum(dim)


# --- Moments ------------------------------------------------------------------------------------------


def _var(input: Array, dim: Dims, correction: float, keepdim: bool) -> Array:
    less = math.inf if correction != correction else correction  # which leaves as little
    return ordered(reductions.var(input, dim, less, keepdim))


def _reach_infinity(squares: Array) -> bool:
    """Whether a variance is not finite."""
    if type(squares) is np.ndarray and squares.size == 1:
        return not squares.item() < math.inf
    return bool(np.isinf(squares).any())


def _std(input: Array, dim: Dims, correction: float, keepdim: bool) -> Array:
    squares = _var(input, dim, correction, keepdim)
    if input.dtype.itemsize < 8 and _reach_infinity(squares):
        squares = _var(input.astype(np.float64), dim, correction, keepdim)  # of a larger range
        return np.sqrt(squares).astype(input.dtype)
    return np.sqrt(squares)


def _var_gradient(g: Any, input: Any, dim: Dims, correction: float) -> Any:
    freedom = _count(input._array.shape, dim) - correction
    if not input.ndim and freedom <= 0:
        return g * where(input == input, math.nan, math.inf)
    away = input - input.mean(dim, True)
    scale = 2 / freedom if freedom else math.inf
    return spread(g * scale, input._array.shape, dim) * away


def _std_gradient(g: Any, input: Any, out: Any, dim: Dims, correction: float) -> Any:
    return _var_gradient((g / (2 * out)).masked_fill(out == 0, 0), input, dim, correction)


VAR = Op(
    "var",
    ("input",),
    _var,
    {"input": _var_gradient},
    doc="The variance of all elements, or along dimensions.",
    kind=REDUCTION,
)
STD = Op(
    "std",
    ("input",),
    _std,
    {"input": _std_gradient},
    doc="The standard deviation of all elements, or along dimensions.",
    kind=REDUCTION,
)


def _moment_arguments(
    name: str, input: Tensor, dim: Any, unbiased: Any, correction: Any
) -> tuple[Dims, float]:
    """The dimensions, and the correction."""
    check_tensor(name, input)
    array = input._array
    if array.dtype.kind in "biu":
        raise RuntimeError(f"{name} only support floating point and complex dtypes")
    if isinstance(dim, bool):
        dim, unbiased = None, dim
    if unbiased is not None:
        correction = 1 if unbiased else 0
    if isinstance(correction, complex):
        raise RuntimeError(f"{name}: value cannot be converted to type double without overflow")
    dims, less = dims_of(dim, array.ndim), 1 if correction is None else correction
    _check_freedom(name, array.shape, dims, less)
    return dims, less


def _check_freedom(name: str, shape: tuple[int, ...], dims: Dims, correction: float) -> None:
    """Warn if the degrees of freedom are not positive."""
    count = _count(shape, dims) if math.prod(shape) else 0
    if count <= correction:
        warnings.warn(
            f"{name}(): degrees of freedom is <= 0. Correction should be strictly less than the reduction factor "
            "(input numel divided by output numel).",
            stacklevel=5,
        )


def _declare_moment(op: Op) -> None:
    """Declare `x.var(dim)`, `x.var(unbiased=False)`, and with the mean, `torch.var_mean(x)`."""
    name = op.name

    def call(
        input: Tensor, dim: Any = None, unbiased: Any = None, keepdim: bool = False, *,
        correction: Any = None, out: Any = None, axis: Any = None, keepdims: bool = False,
    ) -> Tensor:  # fmt: skip
        dims, less = _moment_arguments(
            name, input, axis if dim is None else dim, unbiased, correction
        )
        result = bind(
            op, (input,), {"dim": dims, "correction": less, "keepdim": keepdim or keepdims}
        )
        return result if out is None else into(out, result, name)

    def with_mean(
        input: Tensor,
        dim: Any = None,
        unbiased: Any = None,
        keepdim: bool = False,
        *,
        correction: Any = None,
        axis: Any = None,
        keepdims: bool = False,
    ) -> tuple[Tensor, Tensor]:
        dims, less = _moment_arguments(
            f"{name}_mean", input, axis if dim is None else dim, unbiased, correction
        )
        keepdim = keepdim or keepdims
        return op(input, dim=dims, correction=less, keepdim=keepdim), input.mean(dims, keepdim)

    call.__name__, call.__doc__ = name, op.doc
    function_and_method(call)
    with_mean.__name__, with_mean.__doc__ = f"{name}_mean", f"`{name}` and `mean`."
    FUNCTIONS[f"{name}_mean"] = with_mean


_declare_moment(VAR)
_declare_moment(STD)

# --- The logarithm of a sum of powers -------------------------------------------------------------------


def _logsumexp(input: Array, dim: Dims, keepdim: bool) -> Array:
    if input.size and input.dtype.kind != "c":
        return cpu_softmax.logsumexp(input, dim, keepdim)
    if not input.size:
        return np.log(np.add.reduce(np.exp(input), axis=dim, keepdims=keepdim))
    top = np.max(input.real, axis=dim, keepdims=True)
    top = np.where(np.isfinite(top), top, top.dtype.type(0))
    total = np.log(np.add.reduce(np.exp(input - top), axis=dim, keepdims=True)) + top
    return total if keepdim else total.squeeze(dim)


def _logsumexp_gradient(g: Any, input: Any, out: Any, dim: Dims) -> Any:
    shape = input._array.shape
    return spread(g, shape, dim) * conj((input - spread(out, shape, dim)).exp())


LOGSUMEXP = Op(
    "logsumexp", ("input",), in_order(_logsumexp), {"input": _logsumexp_gradient}, kind=REDUCTION
)


@function_and_method
def logsumexp(input: Tensor, dim: Any, keepdim: bool = False, *, out: Any = None) -> Tensor:
    """log(sum(exp(x))) along dimensions, without overflow."""
    check_tensor("logsumexp", input)
    x = input if input.dtype.kind >= dtypes.FLOATING else input.to(dtypes.get_default_dtype())
    result = LOGSUMEXP(x, dim=dims_of(dim, input.ndim), keepdim=keepdim)
    return result if out is None else into(out, result, "logsumexp")
