"""Maximum and minimum, over all elements or along dimensions, and their indices."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy import array, ndarray

from .. import dtypes
from ..formulas import reductions
from ..tensor import Array, Tensor
from .layout import ordered
from .movement import wrap_dim
from .precision import kind_name, widened
from .record import REDUCTION, Op, bind
from .reduce import Dims, dims_of, spread
from .results import found, named
from .scattering import check_out
from .surface import FUNCTIONS, check_tensor, function_and_method, into

# --- Derivatives --------------------------------------------------------------------------------


def shared_gradient(g: Any, input: Any, out: Any, dim: Dims) -> Any:
    """The gradient is divided evenly among equal extremes; NaN gets none."""
    shape = input._array.shape
    share = (input == spread(out, shape, dim)).to(g.dtype)
    return share * spread(g / share.sum(dim).reshape(g._array.shape), shape, dim)


def overall_gradient(g: Any, input: Any, out: Any) -> Any:
    """The gradient is divided evenly among equal extremes, or among NaN."""
    at = input.isnan() if np.isnan(out._array) else input == out
    return at.to(g.dtype) * (g / at.sum())


def at_places_gradient(g: Any, shapes: Any, outs: Any, dim: int) -> Any:
    """The gradient is scattered to the indices of the values."""
    return g.new_zeros(shapes[0]).scatter(dim, outs[1].detach(), g) if shapes[0] else g


def at_indices_gradient(g: Any, shapes: Any, outs: Any, dim: int, keepdim: bool) -> Any:
    """The same, where the dimension may have been reduced away."""
    if keepdim or not shapes[0]:
        return at_places_gradient(g, shapes, outs, dim)
    places = outs[1].detach().unsqueeze(dim)
    return g.new_zeros(shapes[0]).scatter(dim, places, g.unsqueeze(dim))


# --- Values ---------------------------------------------------------------------------------------


def _amax(input: Array, dim: Dims, keepdim: bool = False) -> Array:
    return ordered(reductions.amax(input, dim, keepdim))


def _amin(input: Array, dim: Dims, keepdim: bool = False) -> Array:
    return ordered(reductions.amin(input, dim, keepdim))


AMAX = Op(
    "amax",
    ("input",),
    _amax,
    {"input": shared_gradient},
    doc="The largest elements.",
    kind=REDUCTION,
)
AMIN = Op(
    "amin",
    ("input",),
    _amin,
    {"input": shared_gradient},
    doc="The smallest elements.",
    kind=REDUCTION,
)


def _of_all(find: Callable[[Array], Any], reduction: Callable[..., Array]) -> Callable[..., Array]:
    """The extreme of all elements; for few by argmax or argmin, which takes a third of the time."""

    def run(input: Array, dim: Dims) -> Array:
        if type(input) is ndarray and input.size < FEW and input.dtype.char in "fdlib?":
            return array(input.ravel()[find(input)])
        return ordered(reduction(input, dim))

    return run


FEW = 1_024
"""Below this many elements, the call costs more than the computation."""

MAX = Op("max", ("input",), _of_all(ndarray.argmax, reductions.amax), {"input": overall_gradient}, node="MaxBackward1",
         doc="The largest of all elements.", kind=REDUCTION)  # fmt: skip
MIN = Op("min", ("input",), _of_all(ndarray.argmin, reductions.amin), {"input": overall_gradient}, node="MinBackward1",
         doc="The smallest of all elements.", kind=REDUCTION)  # fmt: skip


def _check_elements(
    name: str, input: Tensor, dims: Dims | None, error: type[Exception] = IndexError
) -> None:
    """An error if there are no elements."""
    shape = input._array.shape
    if dims is None and 0 in shape:
        raise error(
            f"{name}(): Expected reduction dim to be specified for input.numel() == 0. Specify the "
            "reduction dim with the 'dim' argument."
        )
    for d in dims or ():
        if shape[d] == 0:
            raise IndexError(f"{name}(): Expected reduction dim {d} to have non-zero size.")


def _refuse(name: str, input: Tensor, kinds: str) -> None:
    if not isinstance(input, Tensor):
        check_tensor(name, input)
    if input._array.dtype.kind in kinds:
        raise NotImplementedError(f"\"{name}_cpu\" not implemented for '{kind_name(input._array)}'")


def _declare_extreme(op: Op) -> None:
    name = op.name

    def call(
        input: Tensor, dim: Any = (), keepdim: bool = False, *, out: Any = None,
        axis: Any = (), keepdims: bool = False,
    ) -> Tensor:  # fmt: skip
        if not isinstance(input, Tensor) or input._array.dtype.kind == "c":
            _refuse(name, input, "c")
        dim = axis if dim == () else dim
        dims = dims_of(dim, input._array.ndim)
        if not input._array.size:
            _check_elements(name, input, None if dim == () else dims, RuntimeError)
        result = bind(op, (input,), {"dim": dims, "keepdim": keepdim or keepdims})
        return result if out is None else into(out, result, name)

    call.__name__, call.__doc__ = name, op.doc
    function_and_method(call)


_declare_extreme(AMAX)
_declare_extreme(AMIN)


@function_and_method
def aminmax(
    input: Tensor, *, dim: int | None = None, keepdim: bool = False, out: Any = None
) -> Any:
    """The smallest and the largest element."""
    dims = (dim,) if dim is not None else ()
    result = named("aminmax", "min", "max")(input.amin(dims, keepdim), input.amax(dims, keepdim))
    if out is None:
        return result
    for o, r in zip(out, result, strict=False):
        check_out(o, r)
    return into(out, result, "aminmax")


# --- Values and places ----------------------------------------------------------------------------


def _along(fold: Callable[..., Array], find: Callable[..., Array]) -> Callable[..., Any]:
    """The extreme along a dimension, and its index."""

    def run(input: Array, dim: int, keepdim: bool) -> tuple[Array, Array]:
        if not input.ndim:
            return input.copy(), np.zeros((), np.int64)
        at = find(widened(input), dim, keepdim)
        return fold(input, (dim,), keepdim), ordered(at)

    return run


MAX_DIM = Op(
    "max_dim", ("input",), _along(_amax, reductions.argmax), {"input": at_indices_gradient},
    differentiable=1, node="MaxBackward0", kind=REDUCTION,
)  # fmt: skip
MIN_DIM = Op(
    "min_dim", ("input",), _along(_amin, reductions.argmin), {"input": at_indices_gradient},
    differentiable=1, node="MinBackward0", kind=REDUCTION,
)  # fmt: skip


def _of_nothing(name: str, kind: dtypes.dtype) -> Any:
    """The maximum of no elements, the lowest value of the dtype, written only to `out=`; `min` likewise."""
    if kind is dtypes.bool_:
        return name == "min"
    if kind.is_floating_point:
        return -math.inf if name == "max" else math.inf
    return dtypes.iinfo(kind).min if name == "max" else dtypes.iinfo(kind).max


def _declare_max(name: str, along: Op, overall: Op, pair: str) -> None:
    """Declare `x.max()`, `x.max(dim)` with indices, `x.max(other)`."""

    def call(
        input: Tensor, dim: Any = None, keepdim: bool = False, *, out: Any = None, other: Any = None,
        axis: Any = None, keepdims: bool = False,
    ) -> Any:  # fmt: skip
        if not isinstance(input, Tensor) or input._array.dtype.kind == "c":
            _refuse(name, input, "c")
        dim = axis if dim is None else dim
        if isinstance(dim, Tensor) or other is not None:
            return FUNCTIONS[pair](input, dim if other is None else other, out=out)
        if dim is None:
            if not input._array.size and out is None:
                _check_elements(name, input, None, RuntimeError)
            given = input if input._array.size else input.new_tensor(_of_nothing(name, input.dtype))
            result = bind(overall, (given,), {"dim": dims_of(None, given._array.ndim)})
        else:
            d = wrap_dim(dim, input._array.ndim)
            _check_elements(name, input, (d,) if input._array.ndim else ())
            result = found(name, *bind(along, (input,), {"dim": d, "keepdim": keepdim or keepdims}))
        return result if out is None else into(out, result, name, casts=dim is None)

    call.__name__ = name
    call.__doc__ = f"The {name}imum of all elements, or along a dimension with its index, or of two tensors elementwise."
    function_and_method(call)


_declare_max("max", MAX_DIM, MAX, "maximum")
_declare_max("min", MIN_DIM, MIN, "minimum")


def _declare_place(name: str, find: Callable[..., Array]) -> None:
    def place(input: Array, dim: int | None, keepdim: bool) -> Array:
        if dim is not None and input.ndim:
            return ordered(find(widened(input), dim, keepdim))
        at = find(widened(input).reshape(-1), 0, False)
        return at.reshape((1,) * input.ndim) if keepdim else at

    op = Op(
        name,
        ("input",),
        place,
        {"input": None},
        kind=REDUCTION,
        doc=f"The index of the {name[3:]}imum, over all elements or along a dimension.",
    )

    def call(
        input: Tensor, dim: int | None = None, keepdim: bool = False, *, out: Any = None,
        axis: int | None = None, keepdims: bool = False,
    ) -> Tensor:  # fmt: skip
        _refuse(name, input, "bc")
        dim = axis if dim is None else dim
        d = None if dim is None else wrap_dim(dim, input._array.ndim)
        _check_elements(name, input, None if d is None else (d,) if input._array.ndim else ())
        result = bind(op, (input,), {"dim": d, "keepdim": keepdim or keepdims})
        return result if out is None else into(out, result, name)

    call.__name__, call.__doc__ = name, op.doc
    function_and_method(call)


_declare_place("argmax", reductions.argmax)
_declare_place("argmin", reductions.argmin)
