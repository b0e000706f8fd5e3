"""Views of a whole tensor: reshape, permute, expand.

NumPy's views carry shape, strides and offset. Views of a part are in parts.py, views by
strides in strides.py.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from .. import dtypes
from ..backends.interface import strided
from ..notices import warn_once
from ..tensor import Array, Size, Tensor, make_view
from .copies import CLONE
from .promotion import broadcast_shapes as shape_of
from .promotion import plain_integer, plain_integers
from .record import MOVEMENT, Op, bind
from .surface import (
    alias,
    check_tensor,
    function,
    function_and_method,
    method,
    only_method,
)

# --- Arguments ---------------------------------------------------------------------------


def wrap_dim(dim: Any, ndim: int) -> int:
    """A dimension as a non-negative index; Torch's IndexError if it is out of range."""
    if type(dim) is int and -ndim <= dim < ndim:
        return dim if dim >= 0 else dim + ndim
    limit = ndim or 1
    if not isinstance(dim, int):
        if not hasattr(dim, "__index__"):
            raise TypeError(f"a dimension must be int, not {type(dim).__name__}")
        dim = dim.__index__()
    if not -limit <= dim < limit:
        raise IndexError(
            f"Dimension out of range (expected to be in range of [{-limit}, {limit - 1}], but got {dim})"
        )
    return dim % limit


def wrap_dims(dims: Any, ndim: int) -> tuple[int, ...]:
    """One dimension or several as non-negative indices; RuntimeError if one occurs twice."""
    given = dims if isinstance(dims, (tuple, list)) else (dims,)
    wrapped = tuple([wrap_dim(d, ndim) for d in given])
    for d in wrapped:
        if wrapped.count(d) > 1:
            raise RuntimeError(f"dim {d} appears multiple times in the list of dims")
    return wrapped


def sizes_of(sizes: Sequence[Any]) -> tuple[int, ...]:
    """Sizes that were given as several arguments or as one sequence."""
    if len(sizes) == 1 and isinstance(sizes[0], (tuple, list)):
        sizes = sizes[0]
    for s in sizes:
        if type(s) is not int:
            break
    else:
        return tuple(sizes)
    for s in sizes:
        if not hasattr(s, "__index__") or isinstance(s, bool):
            raise TypeError(f"sizes must be ints, not {type(s).__name__}")
    return tuple(s.__index__() for s in sizes)


def _inferred(shape: tuple[int, ...], size: int) -> tuple[int, ...]:
    """A shape with its -1 inferred; RuntimeError if it does not have `size` elements."""
    if -1 not in shape:
        if math.prod(shape) != size or (shape and min(shape) < 0):
            raise RuntimeError(f"shape '{list(shape)}' is invalid for input of size {size}")
        return shape
    if shape.count(-1) > 1:
        raise RuntimeError("only one dimension can be inferred")
    known = -1
    for s in shape:
        known *= s
    if known == 0 and size == 0:
        raise RuntimeError(
            f"cannot reshape tensor of 0 elements into shape {list(shape)} because the unspecified "
            "dimension size -1 can be any value and is ambiguous"
        )
    if known <= 0 or size % known:
        raise RuntimeError(f"shape '{list(shape)}' is invalid for input of size {size}")
    return tuple(size // known if s == -1 else s for s in shape)


# --- Views -----------------------------------------------------------------------------------


def _reshaped(array: Array, shape: tuple[int, ...]) -> Array | None:
    """A view of another shape, or None if that would need a copy."""
    out = array.reshape(shape)
    return out if _shares_memory(out, array) else None


def _shares_memory(out: Array, array: Array) -> bool:
    """Whether the result of a reshape is a view of the array."""
    return out.base is array or (out.base is not None and out.base is array.base)


def _view(input: Array, shape: tuple[int, ...]) -> Array:
    """A view of another shape; Torch's RuntimeError if that would need a copy."""
    if len(shape) == 1 and isinstance(shape[0], (tuple, list)):
        shape = tuple(shape[0])
    try:
        out = input.reshape(shape)
    except (TypeError, ValueError):
        out = None
    if out is None or out.shape != shape:
        out = input.reshape(_inferred(sizes_of(shape), input.size))
    base = out.base
    if base is not input and (base is None or base is not input.base):  # a copy
        raise RuntimeError(
            "view size is not compatible with input tensor's size and stride (at least one dimension "
            "spans across two contiguous subspaces). Use .reshape(...) instead."
        )
    return out


def expanded(input: Array, shape: tuple[int, ...]) -> Array:
    """Dimensions of size 1 expanded with stride 0, and new ones before them."""
    extra = len(shape) - input.ndim
    strides = [0] * extra
    for have, want, stride in zip(input.shape, shape[extra:], input.strides, strict=True):
        strides.append(0 if have == 1 and want != 1 else stride)
    return strided(input, shape, tuple(strides))


def _inverse(order: tuple[int, ...]) -> tuple[int, ...]:
    """The inverse of a permutation."""
    return tuple(sorted(range(len(order)), key=order.__getitem__))


def _as_before(g: Any, shapes: Any) -> Any:
    if g._array.flags.c_contiguous:
        return bind(VIEW, (g,), {"shape": shapes[0]})
    return g.reshape(shapes[0])


VIEW = Op("view", ("input",), _view, {"input": _as_before}, view=True)
UNSAFE_VIEW = Op(
    "_unsafe_view", ("input",), _view, {"input": _as_before}, kind=MOVEMENT
)  # of a fresh copy
SQUEEZE = Op(
    "squeeze", ("input",), lambda input, dims: input.squeeze(dims), {"input": _as_before}, view=True
)
UNSQUEEZE = Op("unsqueeze", ("input",), lambda input, dim: input[(slice(None),) * dim + (None, ...)],
               {"input": _as_before}, view=True)  # fmt: skip
EXPAND = Op("expand", ("input",), expanded, {"input": lambda g: g}, view=True)  # backward sums
PERMUTE = Op("permute", ("input",), lambda input, dims: input.transpose(dims),
             {"input": lambda g, dims: PERMUTE(g, dims=_inverse(dims))}, view=True)  # fmt: skip
TRANSPOSE = Op("transpose", ("input",), lambda input, dim0, dim1: input.swapaxes(dim0, dim1),
               {"input": lambda g, dim0, dim1: TRANSPOSE(g, dim0=dim0, dim1=dim1)}, view=True)  # fmt: skip
T = Op("t", ("input",), lambda input: input.T, {"input": lambda g: T(g)}, view=True)


# --- Functions and methods ------------------------------------------------------------------------


@only_method
def view(self: Tensor, *shape: Any, dtype: Any = None) -> Tensor:
    """The same memory with another shape or dtype."""
    if dtype is not None or (len(shape) == 1 and isinstance(shape[0], dtypes.dtype)):
        return _view_as_type(self, dtype or shape[0])
    shape = shape[0] if len(shape) == 1 and type(shape[0]) is tuple else shape
    return bind(VIEW, (self,), {"shape": shape})


def _view_as_type(input: Tensor, kind: dtypes.dtype) -> Tensor:
    array = input._array
    if kind.itemsize != array.itemsize:
        if not array.ndim:
            raise RuntimeError(
                f"self.dim() cannot be 0 to view {input.dtype} as {kind} (different element sizes)"
            )
        if (stride := input.stride(-1)) != 1:
            raise RuntimeError(
                f"self.stride(-1) must be 1 to view {input.dtype} as {kind} (different element sizes), "
                f"but got {stride}"
            )
        ratio = kind.itemsize // array.itemsize
        for d, stride in enumerate(input.stride()[:-1] if ratio > 1 else ()):
            if stride % ratio:
                raise RuntimeError(
                    f"self.stride({d}) must be divisible by {ratio} to view {input.dtype} as {kind} "
                    f"(different element sizes), but got {stride}"
                )
        if array.shape[-1] * array.itemsize % kind.itemsize:
            raise RuntimeError(
                f"self.size(-1) must be divisible by {kind.itemsize // array.itemsize} to view "
                f"{input.dtype} as {kind} (different element sizes), but got {array.shape[-1]}"
            )
    return make_view(array.view(kind.numpy), input.detach())  # bits have no derivative


@function_and_method
def reshape(input: Tensor, *shape: Any, **named: Any) -> Tensor:
    """The same elements in another shape: a view if possible, else a copy."""
    array, wanted = input._array, shape or (named["shape"],)
    wanted = wanted[0] if len(wanted) == 1 and type(wanted[0]) is tuple else wanted
    if not array.flags.c_contiguous:
        wanted = _inferred(sizes_of(wanted), array.size)
        if _reshaped(array, wanted) is None:
            return bind(UNSAFE_VIEW, (CLONE(input, order="C"),), {"shape": wanted})
    return bind(VIEW, (input,), {"shape": wanted})


@only_method
def view_as(self: Tensor, other: Tensor) -> Tensor:
    """The same memory with another tensor's shape."""
    return self.view(other._array.shape)


@only_method
def reshape_as(self: Tensor, other: Tensor) -> Tensor:
    """The same elements in another tensor's shape."""
    return self.reshape(other._array.shape)


@function_and_method
def permute(input: Tensor, *dims: Any, **named: Any) -> Tensor:
    """The dimensions permuted."""
    given = sizes_of(dims or (named["dims"],))
    return bind(PERMUTE, (input,), {"dims": _order(given, input._array.ndim)})


@lru_cache(maxsize=256)
def _order(given: tuple[int, ...], ndim: int) -> tuple[int, ...]:
    """A permutation with non-negative dimensions; an error if it is none."""
    if len(given) != ndim:
        raise RuntimeError(
            "permute(sparse_coo): number of dimensions in the tensor input does not match the length "
            f"of the desired ordering of dimensions i.e. input.dim() = {ndim} is not equal to "
            f"len(dims) = {len(given)}"
        )
    order = tuple([wrap_dim(d, ndim) for d in given])
    if len(set(order)) != ndim:
        raise RuntimeError("permute(): duplicate dims are not allowed.")
    return order


@function_and_method
def transpose(input: Tensor, dim0: int, dim1: int) -> Tensor:
    """Two dimensions transposed."""
    ndim = input._array.ndim
    a, b = wrap_dim(dim0, ndim), wrap_dim(dim1, ndim)
    return bind(TRANSPOSE, (input,), {"dim0": a, "dim1": b}) if ndim else input.view(())


for _new in ("swapaxes", "swapdims"):
    alias(_new, "transpose")


@function_and_method
def t(input: Tensor) -> Tensor:
    """A matrix transposed; a vector itself."""
    if input._array.ndim > 2:
        raise RuntimeError(f"t() expects a tensor with <= 2 dimensions, but self is {input.ndim}D")
    return T(input)


@function_and_method
def movedim(input: Tensor, source: Any, destination: Any) -> Tensor:
    """Dimensions moved to other positions."""
    src, dst = (
        tuple(wrap_dim(d, input.ndim) for d in (v if isinstance(v, (tuple, list)) else (v,)))
        for v in (source, destination)
    )
    if len(src) != len(dst):
        raise RuntimeError(
            f"movedim: Invalid source or destination dims: source ({list(src)} dims) should contain "
            f"the same number of dims as destination ({list(dst)} dims)"
        )
    for name, dims in (("source", src), ("destination", dst)):
        if len(set(dims)) != len(dims):
            raise RuntimeError(f"movedim: repeated dim in `{name}` ({list(dims)})")
    order = [d for d in range(input.ndim) if d not in src]
    for place, d in sorted(zip(dst, src, strict=True)):
        order.insert(place, d)
    return PERMUTE(input, dims=tuple(order)) if input.ndim else input.view(())


alias("moveaxis", "movedim")


@function_and_method
def squeeze(input: Tensor, dim: Any = None, *more: int, axis: Any = None) -> Tensor:
    """Dimensions of size 1 removed: all of them, or those in `dim`."""
    dim = (dim, *more) if more else axis if dim is None else dim
    shape = input._array.shape
    named = range(len(shape)) if dim is None else wrap_dims(dim, len(shape))
    dims = tuple([d for d in named if shape[d] == 1]) if shape else ()
    return bind(SQUEEZE, (input,), {"dims": dims})


@function_and_method
def unsqueeze(input: Tensor, dim: Any = None, *, axis: Any = None) -> Tensor:
    """A dimension of size 1 inserted."""
    dim = axis if dim is None else dim
    return bind(UNSQUEEZE, (input,), {"dim": wrap_dim(dim, input._array.ndim + 1)})


@only_method
def expand(self: Tensor, *sizes: Any, **named: Any) -> Tensor:
    """Dimensions of size 1 expanded, without copying; -1 keeps a size."""
    wanted = sizes_of(sizes or (named["size"],))
    own = self._array.shape
    extra = len(wanted) - len(own)
    if extra < 0:
        raise RuntimeError(
            f"expand(torch.{self.dtype.type_name}{{{list(own)}}}, size={list(wanted)}): the number of "
            f"sizes provided ({len(wanted)}) must be greater or equal to the number of dimensions in "
            f"the tensor ({len(own)})"
        )
    shape = []
    for d, size in enumerate(wanted):
        have = own[d - extra] if d >= extra else None
        if size == -1 and have is None:
            raise RuntimeError(
                f"The expanded size of the tensor ({size}) isn't allowed in a leading, non-existing dimension {d}"
            )
        if size != -1 and have not in (None, 1, size):
            raise RuntimeError(
                f"The expanded size of the tensor ({size}) must match the existing size ({have}) at "
                f"non-singleton dimension {d}.  Target sizes: {list(wanted)}.  Tensor sizes: {list(own)}"
            )
        if size < -1:
            raise RuntimeError(f"expand: a size must not be negative, got {list(wanted)}")
        shape.append(have if size == -1 else size)
    return bind(EXPAND, (self,), {"shape": tuple(shape)})


@only_method
def expand_as(self: Tensor, other: Tensor) -> Tensor:
    """Expanded to another tensor's shape."""
    return self.expand(other._array.shape)


@function
def broadcast_to(input: Tensor, size: Any) -> Tensor:
    """Expanded to a shape."""
    return input.expand(size)


method("broadcast_to", lambda self, *size, **named: self.expand(*size, **named))


@function
def broadcast_tensors(*tensors: Any) -> tuple[Tensor, ...]:
    """Tensors expanded to the shape that they broadcast to."""
    for t in tensors:
        check_tensor("broadcast_tensors", t, "tensors")
    shape = shape_of("broadcast_tensors", *(t._array.shape for t in tensors)) if tensors else ()
    return tuple([t if t._array.shape == shape else t.expand(shape) for t in tensors])


@function
def broadcast_shapes(*shapes: Any) -> Size:
    """The shape that shapes broadcast to; None is skipped."""
    shapes = tuple(s for s in shapes if s is not None)
    for s in shapes:
        if not isinstance(s, (int, tuple, list)) or (
            not isinstance(s, int) and not all(isinstance(n, int) for n in s)
        ):
            raise RuntimeError(
                f"Input shapes should be of type ints, a tuple of ints, or a list of ints, got {s}"
            )
    if any(n < 0 for s in shapes for n in ((s,) if isinstance(s, int) else s)):
        raise ValueError("Attempting to broadcast a dimension with negative length!")
    sizes = [(int(s),) if isinstance(s, int) else tuple(map(int, s)) for s in shapes]
    return Size(shape_of("broadcast_shapes", *sizes))


@function_and_method
def flatten(input: Tensor, start_dim: int = 0, end_dim: int = -1) -> Tensor:
    """The dimensions from `start_dim` to `end_dim` flattened to one."""
    shape = input._array.shape
    first, last = wrap_dim(start_dim, len(shape)), wrap_dim(end_dim, len(shape))
    if first > last:
        raise RuntimeError("flatten() has invalid args: start_dim cannot come after end_dim")
    if not shape:
        return input.reshape(1)
    if first == last:
        return input
    merged = math.prod(shape[first : last + 1])
    return reshape(input, *shape[:first], merged, *shape[last + 1 :])


@function_and_method
def unflatten(input: Tensor, dim: int, sizes: Any) -> Tensor:
    """One dimension unflattened to several."""
    if not input.ndim:
        raise RuntimeError("unflatten: a tensor without dimensions cannot be unflattened")
    d = wrap_dim(plain_integer(dim, "unflatten", "dim"), input.ndim)
    shape = input._array.shape
    if sizes and not isinstance(sizes, (tuple, list)):
        raise TypeError(f"unflatten(): argument 'sizes' must be tuple of ints, not {sizes}")
    sizes = plain_integers(sizes, "unflatten", "sizes") if sizes else ()
    if not sizes:
        raise RuntimeError("unflatten: sizes must be non-empty")
    try:
        inner = _inferred(sizes, shape[d])
    except RuntimeError:
        raise RuntimeError(
            f"unflatten: Provided sizes {list(sizes)} don't multiply up to the size of dim {d} "
            f"({shape[d]}) in the input tensor"
        ) from None
    return input.view(*shape[:d], *inner, *shape[d + 1 :])


@function_and_method
def ravel(input: Tensor) -> Tensor:
    """All elements as a vector."""
    return input.contiguous().view(-1)


def _transpose(self: Tensor) -> Tensor:
    if self.ndim != 2:
        warn_once(_NO_MATRIX if self.ndim else _NO_DIMENSIONS)
    return PERMUTE(self, dims=tuple(range(self.ndim))[::-1])


_NO_MATRIX = (
    "The use of `x.T` on tensors of dimension other than 2 to reverse their shape is deprecated and it will throw an "
    "error in a future release. Consider `x.mT` to transpose batches of matrices or "
    "`x.permute(*torch.arange(x.ndim - 1, -1, -1))` to reverse the dimensions of a tensor."
)
_NO_DIMENSIONS = (
    "Tensor.T is deprecated on 0-D tensors. This function is the identity in these cases."
)
method("T", property(_transpose, doc="All dimensions reversed."))


def _matrix_transpose(self: Tensor) -> Tensor:
    if not self.ndim:
        return self
    if self.ndim < 2:
        raise RuntimeError(
            f"tensor.mT is only supported on matrices or batches of matrices. Got {self.ndim}-D tensor."
        )
    return TRANSPOSE(self, dim0=self.ndim - 2, dim1=self.ndim - 1)


method("mT", property(_matrix_transpose, doc="The last two dimensions transposed."))
