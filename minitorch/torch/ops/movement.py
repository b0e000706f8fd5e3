"""Looking at the same memory in another way, and copying where there is no other way.

Stride tricks live here and nowhere else: NumPy's views carry shape, strides and offset.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided as strided_view

from .. import dtypes
from ..tensor import Array, Size, Tensor, make_view, offset_in
from .promotion import result_type
from .record import Op, bind
from .surface import (
    FUNCTIONS,
    alias,
    check_tensor,
    function,
    function_and_method,
    method,
    only_method,
    with_out,
)

# --- Arguments ---------------------------------------------------------------------------


def wrap_dim(dim: Any, ndim: int) -> int:
    """A dimension counted from the front; IndexError, as Torch words it, if there is none such."""
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
    """One dimension or several, counted from the front; RuntimeError if one comes twice."""
    given = tuple(dims) if isinstance(dims, (tuple, list)) else (dims,)
    wrapped = tuple(wrap_dim(d, ndim) for d in given)
    for d in wrapped:
        if wrapped.count(d) > 1:
            raise RuntimeError(f"dim {d} appears multiple times in the list of dims")
    return wrapped


def sizes_of(sizes: Sequence[Any]) -> tuple[int, ...]:
    """Sizes given one by one or as one sequence."""
    if len(sizes) == 1 and isinstance(sizes[0], (tuple, list)):
        sizes = sizes[0]
    for s in sizes:
        if not hasattr(s, "__index__"):
            raise TypeError(f"sizes must be ints, not {type(s).__name__}")
    return tuple(s.__index__() for s in sizes)


def _inferred(shape: tuple[int, ...], size: int) -> tuple[int, ...]:
    """A shape with its -1 worked out; RuntimeError where it cannot hold `size` elements."""
    if -1 not in shape:
        known = 1
        for s in shape:
            known *= s
        if known != size or any(s < 0 for s in shape):
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


def element_strides(array: Array) -> tuple[int, ...]:
    """Strides counted in elements, as Torch gives them: 1-sized dimensions as if in use."""
    return tuple(s // array.itemsize for s in array.strides)


# --- Views -----------------------------------------------------------------------------------


def _reshaped(array: Array, shape: tuple[int, ...]) -> Array | None:
    """A view of another shape, or None where that would need a copy."""
    out = array.reshape(shape)
    return out if out.base is not None and (array.size == 0 or np.may_share_memory(out, array)) else None


def _view(input: Array, shape: tuple[int, ...]) -> Array:
    out = _reshaped(input, shape)
    if out is None:
        raise RuntimeError(
            "view size is not compatible with input tensor's size and stride (at least one dimension "
            "spans across two contiguous subspaces). Use .reshape(...) instead."
        )
    return out


def _expand(input: Array, shape: tuple[int, ...]) -> Array:
    extra = len(shape) - input.ndim
    strides = (0,) * extra + tuple(
        0 if n == 1 and shape[extra + d] != 1 else s
        for d, (n, s) in enumerate(zip(input.shape, input.strides, strict=True))
    )
    return strided_view(input, shape, strides)


def _slice(input: Array, dim: int, start: int, stop: int, step: int = 1) -> Array:
    return input[(slice(None),) * dim + (slice(start, stop, step),)]


def _slice_gradient(g: Any, shapes: Any, dim: int, start: int, stop: int, step: int) -> Any:
    return SLICE_BACKWARD(g, shape=shapes[0], dim=dim, start=start, stop=stop, step=step)


def _slice_backward(input: Array, shape: Any, dim: int, start: int, stop: int, step: int) -> Array:
    out = np.zeros(shape, input.dtype)
    _slice(out, dim, start, stop, step)[...] = input
    return out


def _select_backward(input: Array, shape: Any, dim: int, index: int) -> Array:
    out = np.zeros(shape, input.dtype)
    out[(slice(None),) * dim + (index,)] = input
    return out


def _diagonal_backward(input: Array, shape: Any, offset: int, dim1: int, dim2: int) -> Array:
    out = np.zeros(shape, input.dtype)
    _diagonal(out, offset, dim1, dim2)[...] = input
    return out


def _diagonal(input: Array, offset: int, dim1: int, dim2: int) -> Array:
    out = np.diagonal(input, offset, dim1, dim2)
    out.flags.writeable = input.flags.writeable  # NumPy gives it read-only
    return out


VIEW = Op("view", ("input",), _view, {"input": lambda g, shapes: g.reshape(shapes[0])}, view=True)
PERMUTE = Op("permute", ("input",), lambda input, dims: input.transpose(dims),
             {"input": lambda g, dims: PERMUTE(g, dims=tuple(np.argsort(dims)))}, view=True)  # fmt: skip
TRANSPOSE = Op("transpose", ("input",), lambda input, dim0, dim1: input.swapaxes(dim0, dim1),
               {"input": lambda g, dim0, dim1: TRANSPOSE(g, dim0=dim0, dim1=dim1)}, view=True)  # fmt: skip
T = Op("t", ("input",), lambda input: input.T, {"input": lambda g: T(g)}, view=True)
SQUEEZE = Op("squeeze", ("input",), lambda input, dims: input.squeeze(dims),
             {"input": lambda g, shapes: g.reshape(shapes[0])}, view=True)  # fmt: skip
UNSQUEEZE = Op("unsqueeze", ("input",), lambda input, dim: np.expand_dims(input, dim),
               {"input": lambda g, shapes: g.reshape(shapes[0])}, view=True)  # fmt: skip
EXPAND = Op("expand", ("input",), _expand, {"input": lambda g: g}, view=True)  # the fitting sums
SLICE = Op("slice", ("input",), _slice, {"input": _slice_gradient}, view=True)
SLICE_BACKWARD = Op("slice_backward", ("input",), _slice_backward,
                    {"input": lambda g, dim, start, stop, step: SLICE(g, dim=dim, start=start, stop=stop, step=step)})  # fmt: skip
SELECT = Op("select", ("input",), lambda input, dim, index: input[(slice(None),) * dim + (index, ...)],
            {"input": lambda g, shapes, dim, index: SELECT_BACKWARD(g, shape=shapes[0], dim=dim, index=index)},
            view=True)  # fmt: skip
SELECT_BACKWARD = Op("select_backward", ("input",), _select_backward,
                     {"input": lambda g, dim, index: SELECT(g, dim=dim, index=index)})  # fmt: skip
DIAGONAL = Op("diagonal", ("input",), _diagonal,
              {"input": lambda g, shapes, offset, dim1, dim2:
                  DIAGONAL_BACKWARD(g, shape=shapes[0], offset=offset, dim1=dim1, dim2=dim2)}, view=True)  # fmt: skip
DIAGONAL_BACKWARD = Op("diagonal_backward", ("input",), _diagonal_backward,
                       {"input": lambda g, offset, dim1, dim2: DIAGONAL(g, offset=offset, dim1=dim1, dim2=dim2)})  # fmt: skip


def _split(input: Array, sizes: Sequence[int], dim: int) -> tuple[Array, ...]:
    ends = np.cumsum((0, *sizes)).tolist()
    return tuple(_slice(input, dim, a, b) for a, b in zip(ends, ends[1:], strict=False))


SPLIT = Op("split", ("input",), _split, {"input": lambda g, dim: cat(g, dim)}, view=True)
UNBIND = Op("unbind", ("input",), lambda input, dim: tuple(np.moveaxis(input, dim, 0)[:, ...])
            if input.ndim > 1 else tuple(input[i : i + 1].reshape(()) for i in range(len(input))),
            {"input": lambda g, dim: stack(g, dim)}, view=True)  # fmt: skip


# --- Any strides ------------------------------------------------------------------------------


def memory_of(tensor: Tensor) -> tuple[Array, int]:
    """All the memory that a tensor is part of, as one row, and where the tensor begins in it."""
    base = tensor if tensor._base is None else tensor._base
    array = base._array
    spans = [(n - 1) * s for n, s in zip(array.shape, array.strides, strict=True)]
    count = (sum(spans) // array.itemsize + 1) if array.size else 0
    memory = strided_view(array, (count,), (array.itemsize,)) if array.ndim or count else array.reshape(1)
    if memory.dtype != tensor._array.dtype:
        memory = memory.view(tensor._array.dtype)
    return memory, offset_in(tensor._array, array)


def _as_strided(input: Array, size: Any, stride: Any, offset: int, memory: Array) -> Array:
    last = offset + sum((n - 1) * s for n, s in zip(size, stride, strict=True))
    if all(size) and last >= len(memory):
        raise RuntimeError(
            f"setStorage: sizes {list(size)}, strides {list(stride)}, storage offset {offset}, and "
            f"itemsize {input.itemsize} requiring a storage size of {(last + 1) * input.itemsize} "
            f"are out of bounds for storage of size {memory.nbytes}"
        )
    item = input.itemsize
    return strided_view(memory[offset:], tuple(size), tuple(s * item for s in stride))


def _as_strided_gradient(g: Any, size: Any, stride: Any, offset: int, layout: Any) -> Any:
    """Each gradient goes to the place in memory that its element came from."""
    return AS_STRIDED_BACKWARD(g, size=size, stride=stride, offset=offset, layout=layout)


def _places(size: Any, stride: Any, offset: int) -> Array:
    """The place in memory of each element of a geometry."""
    places = np.full(tuple(size), offset, np.int64)
    for d, (n, s) in enumerate(zip(size, stride, strict=True)):
        places += (np.arange(n) * s).reshape((n,) + (1,) * (len(size) - d - 1))
    return places


def _as_strided_backward(input: Array, size: Any, stride: Any, offset: int, layout: Any) -> Array:
    """Sum in memory, then read as the input was laid out; places that it shows twice share."""
    own = _places(*layout)
    places = _places(size, stride, offset)
    length = 1 + max(own.max(initial=-1), places.max(initial=-1))
    memory = np.zeros(length, input.dtype)
    np.add.at(memory, places.reshape(-1), input.reshape(-1))
    shown = np.bincount(own.reshape(-1), minlength=length)[own]
    return memory[own] / np.maximum(shown, 1).astype(input.dtype) if (shown > 1).any() else memory[own]


AS_STRIDED = Op("as_strided", ("input",),
                lambda input, size, stride, offset, memory, layout: _as_strided(input, size, stride, offset, memory),
                {"input": _as_strided_gradient}, view=True)  # fmt: skip
AS_STRIDED_BACKWARD = Op("as_strided_backward", ("input",), _as_strided_backward,
                         {"input": lambda g, size, stride, offset, layout: _restrided(g, size, stride, offset, layout)})  # fmt: skip


def _restrided(g: Any, size: Any, stride: Any, offset: int, layout: Any) -> Any:
    """Read a gradient, laid out as the input was, through the geometry of the view."""
    fresh = g.new_empty_strided(layout[0], layout[1]).copy_(g)
    return fresh.as_strided(size, stride, offset - layout[2])


@function_and_method
def as_strided(input: Tensor, size: Any, stride: Any, storage_offset: int | None = None) -> Tensor:
    """Any view of the memory behind a tensor."""
    if len(size) != len(stride):
        raise RuntimeError(f"mismatch in length of strides and shape: {list(stride)} and {list(size)}")
    if any(s < 0 for s in stride):
        raise RuntimeError(
            f"as_strided: Negative strides are not supported at the moment, got strides: {list(stride)}"
        )
    memory, begin = memory_of(input)
    offset = begin if storage_offset is None else storage_offset
    if offset < 0:
        raise RuntimeError(f"Tensor: invalid storage offset {offset}")
    layout = input._array.shape, element_strides(input._array), begin
    return AS_STRIDED(input, size=tuple(size), stride=tuple(stride), offset=offset, memory=memory, layout=layout)


# --- The functions and methods of views ------------------------------------------------------------


@only_method
def view(self: Tensor, *shape: Any, dtype: Any = None) -> Tensor:
    """The same memory in another shape, or as another type."""
    if dtype is not None or (len(shape) == 1 and isinstance(shape[0], dtypes.dtype)):
        return _view_as_type(self, dtype or shape[0])
    return VIEW(self, shape=_inferred(sizes_of(shape), self._array.size))


def _view_as_type(input: Tensor, kind: dtypes.dtype) -> Tensor:
    array = input._array
    if kind.itemsize != array.itemsize:
        if not array.ndim:
            raise RuntimeError(
                f"self.dim() cannot be 0 to view {input.dtype} as {kind} (different element sizes)"
            )
        if array.strides[-1] != array.itemsize and array.shape[-1] != 1:
            raise RuntimeError(
                f"self.stride(-1) must be 1 to view {input.dtype} as {kind} (different element sizes), "
                f"but got {array.strides[-1] // array.itemsize}"
            )
        if array.shape[-1] * array.itemsize % kind.itemsize:
            raise RuntimeError(
                f"self.size(-1) must be divisible by {kind.itemsize // array.itemsize} to view "
                f"{input.dtype} as {kind} (different element sizes), but got {array.shape[-1]}"
            )
    return make_view(array.view(kind.numpy), input)


@function_and_method
def reshape(input: Tensor, *shape: Any, **named: Any) -> Tensor:
    """The same elements in another shape: a view where memory allows, else a copy."""
    wanted = _inferred(sizes_of(shape or (named["shape"],)), input._array.size)
    if _reshaped(input._array, wanted) is None:
        input = input.contiguous()
    return VIEW(input, shape=wanted)


@only_method
def view_as(self: Tensor, other: Tensor) -> Tensor:
    """The same memory in another tensor's shape."""
    return self.view(other._array.shape)


@only_method
def reshape_as(self: Tensor, other: Tensor) -> Tensor:
    """The same elements in another tensor's shape."""
    return self.reshape(other._array.shape)


@function_and_method
def permute(input: Tensor, *dims: Any, **named: Any) -> Tensor:
    """The dimensions in another order."""
    given = sizes_of(dims or (named["dims"],))
    if len(given) != input._array.ndim:
        raise RuntimeError(
            "permute(sparse_coo): number of dimensions in the tensor input does not match the length "
            f"of the desired ordering of dimensions i.e. input.dim() = {input.ndim} is not equal to "
            f"len(dims) = {len(given)}"
        )
    order = tuple(wrap_dim(d, input.ndim) for d in given)
    if len(set(order)) != len(order):
        raise RuntimeError("permute(): duplicate dims are not allowed.")
    return PERMUTE(input, dims=order)


@function_and_method
def transpose(input: Tensor, dim0: int, dim1: int) -> Tensor:
    """Two dimensions swapped."""
    a, b = wrap_dim(dim0, input._array.ndim), wrap_dim(dim1, input._array.ndim)
    return TRANSPOSE(input, dim0=a, dim1=b) if input._array.ndim else input.view(())


for _new in ("swapaxes", "swapdims"):
    alias(_new, "transpose")


@function_and_method
def t(input: Tensor) -> Tensor:
    """A matrix transposed; a vector as it is."""
    if input._array.ndim > 2:
        raise RuntimeError(f"t() expects a tensor with <= 2 dimensions, but self is {input.ndim}D")
    return T(input)


@function_and_method
def movedim(input: Tensor, source: Any, destination: Any) -> Tensor:
    """Dimensions moved to other places."""
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
def squeeze(input: Tensor, dim: Any = None) -> Tensor:
    """Without dimensions of size 1: all of them, or those named."""
    shape = input._array.shape
    named = range(len(shape)) if dim is None else wrap_dims(dim, len(shape)) if shape else ()
    if dim is not None and not shape:
        wrap_dims(dim, 0)
    return SQUEEZE(input, dims=tuple(d for d in named if shape[d] == 1))


@function_and_method
def unsqueeze(input: Tensor, dim: int) -> Tensor:
    """With a dimension of size 1 more."""
    return UNSQUEEZE(input, dim=wrap_dim(dim, input._array.ndim + 1))


@only_method
def expand(self: Tensor, *sizes: Any, **named: Any) -> Tensor:
    """Dimensions of size 1 repeated without copying; -1 leaves a size as it is."""
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
        shape.append(have if size == -1 else size)
    return EXPAND(self, shape=tuple(shape))


@only_method
def expand_as(self: Tensor, other: Tensor) -> Tensor:
    """Expanded to another tensor's shape."""
    return self.expand(other._array.shape)


@function
def broadcast_to(input: Tensor, shape: Any) -> Tensor:
    """Expanded to a shape."""
    return input.expand(tuple(shape))


method("broadcast_to", lambda self, shape: self.expand(tuple(shape)))


@function
def broadcast_tensors(*tensors: Any) -> tuple[Tensor, ...]:
    """Tensors expanded to the shape that they broadcast to."""
    from .promotion import broadcast_shapes as shape_of

    given = tensors[0] if len(tensors) == 1 and isinstance(tensors[0], (tuple, list)) else tensors
    shape = shape_of("broadcast_tensors", *(t._array.shape for t in given))
    return tuple(t.expand(shape) for t in given)


@function
def broadcast_shapes(*shapes: Any) -> Size:
    """The shape that shapes broadcast to."""
    from .promotion import broadcast_shapes as shape_of

    return Size(shape_of("broadcast_shapes", *((s,) if isinstance(s, int) else tuple(s) for s in shapes)))


@function_and_method
def flatten(input: Tensor, start_dim: int = 0, end_dim: int = -1) -> Tensor:
    """Some neighbouring dimensions as one."""
    shape = input._array.shape
    first, last = wrap_dim(start_dim, len(shape)), wrap_dim(end_dim, len(shape))
    if first > last:
        raise RuntimeError("flatten() has invalid args: start_dim cannot come after end_dim")
    if not shape:
        return input.reshape(1)
    if first == last:
        return input
    merged = 1
    for s in shape[first : last + 1]:
        merged *= s
    return input.reshape(*shape[:first], merged, *shape[last + 1 :])


@function_and_method
def unflatten(input: Tensor, dim: int, sizes: Any) -> Tensor:
    """One dimension as several."""
    d = wrap_dim(dim, input.ndim)
    shape = input._array.shape
    sizes = tuple(sizes)
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
    """All elements in one row."""
    return input.contiguous().view(-1)


@function_and_method
def narrow(input: Tensor, dim: int, start: Any, length: int) -> Tensor:
    """`length` places of a dimension from `start`."""
    if not input.ndim:
        raise RuntimeError("narrow() cannot be applied to a 0-dim tensor.")
    d = wrap_dim(dim, input.ndim)
    size = input._array.shape[d]
    begin = int(start)
    if length < 0:
        raise RuntimeError("narrow(): length must be non-negative.")
    if not -size <= begin <= size:
        raise IndexError(
            f"start out of range (expected to be in range of [{-size}, {size}], but got {begin})"
        )
    begin += size if begin < 0 else 0
    if begin + length > size:
        raise RuntimeError(f"start ({begin}) + length ({length}) exceeds dimension size ({size}).")
    return SLICE(input, dim=d, start=begin, stop=begin + length, step=1)


@function_and_method
def select(input: Tensor, dim: int, index: int) -> Tensor:
    """One place of a dimension."""
    if not input.ndim:
        raise IndexError("select() cannot be applied to a 0-dim tensor.")
    d = wrap_dim(dim, input.ndim)
    size = input._array.shape[d]
    if not -size <= index < size:
        raise IndexError(
            f"select(): index {index} out of range for tensor of size {list(input.shape)} at dimension {d}"
        )
    return SELECT(input, dim=d, index=int(index) % size)


@function_and_method
def diagonal(input: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Tensor:
    """The diagonal of two dimensions, as the last one."""
    a, b = wrap_dim(dim1, input.ndim), wrap_dim(dim2, input.ndim)
    if a == b:
        raise RuntimeError(f"diagonal dimensions cannot be identical {dim1}, {dim2}")
    return DIAGONAL(input, offset=offset, dim1=a, dim2=b)


@function_and_method
def split(input: Tensor, split_size_or_sections: Any, dim: int = 0) -> tuple[Tensor, ...]:
    """Parts of one size, or of sizes given, along a dimension."""
    if not input.ndim:
        raise RuntimeError("split expects at least a 1-dimensional tensor")
    d = wrap_dim(dim, input.ndim)
    size = input._array.shape[d]
    if isinstance(split_size_or_sections, (tuple, list)):
        sizes = [int(s) for s in split_size_or_sections]
        if sum(sizes) != size or any(s < 0 for s in sizes):
            raise RuntimeError(
                f"split_with_sizes expects split_sizes to sum exactly to {size} (input tensor's size at "
                f"dimension {dim}), but got split_sizes={sizes}"
            )
    else:
        each = int(split_size_or_sections)
        if each < 0 or (each == 0 and size):
            raise RuntimeError(f"split expects split_size be non-negative, but got split_size={each}")
        sizes = [min(each, size - start) for start in range(0, size, each)] if size else [0]
    return tuple(SPLIT(input, sizes=sizes, dim=d))


@only_method
def split_with_sizes(self: Tensor, split_sizes: Any, dim: int = 0) -> tuple[Tensor, ...]:
    """Parts of sizes given, along a dimension."""
    return self.split(list(split_sizes), dim)


FUNCTIONS["split_with_sizes"] = split_with_sizes


@function_and_method
def chunk(input: Tensor, chunks: int, dim: int = 0) -> tuple[Tensor, ...]:
    """So many parts, the last perhaps smaller, along a dimension."""
    if chunks <= 0:
        raise RuntimeError(f"chunk expects `chunks` to be greater than 0, got: {chunks}")
    if not input.ndim:
        raise RuntimeError("chunk expects at least a 1-dimensional tensor")
    d = wrap_dim(dim, input.ndim)
    size = input._array.shape[d]
    if size == 0:
        return tuple(SPLIT(input, sizes=[0] * chunks, dim=d))
    return input.split(-(-size // chunks), d)


@function_and_method
def tensor_split(input: Tensor, indices_or_sections: Any, dim: int = 0) -> tuple[Tensor, ...]:
    """Parts that differ by at most 1, or that begin at given places."""
    if not input.ndim:
        raise RuntimeError("tensor_split expected at least a 1-dimensional tensor, but got a tensor with 0 dims")
    d = wrap_dim(dim, input.ndim)
    size = input._array.shape[d]
    if isinstance(indices_or_sections, Tensor):
        indices_or_sections = indices_or_sections.tolist()
    if isinstance(indices_or_sections, int):
        count = indices_or_sections
        if count <= 0:
            raise RuntimeError(f"number of sections must be larger than 0, got {count}")
        places = [i * (size // count) + min(i, size % count) for i in range(count + 1)]
    else:
        bounded = [slice(None, i).indices(size)[1] for i in indices_or_sections]
        places = [0, *bounded, size]
    return tuple(
        SLICE(input, dim=d, start=a, stop=max(a, b), step=1)
        for a, b in zip(places, places[1:], strict=False)
    )


def _dimension_split(name: str, dim_of: Any, least: int) -> None:
    def call(input: Tensor, indices_or_sections: Any) -> tuple[Tensor, ...]:
        if input.ndim < least:
            raise RuntimeError(
                f"torch.{name} requires a tensor with at least {least} dimension"
                f"{'s' if least > 1 else ''}, but got a tensor with {input.ndim} dimensions!"
            )
        if isinstance(indices_or_sections, int) and input.shape[dim_of(input)] % indices_or_sections:
            raise RuntimeError(
                f"torch.{name} attempted to split along dimension {dim_of(input)}, but the size of the "
                f"dimension {input.shape[dim_of(input)]} is not divisible by the split_size "
                f"{indices_or_sections}!"
            )
        return input.tensor_split(indices_or_sections, dim_of(input))

    call.__name__, call.__doc__ = name, "`tensor_split` along the dimension that its name says."
    function_and_method(call)


_dimension_split("hsplit", lambda x: 0 if x.ndim == 1 else 1, 1)
_dimension_split("vsplit", lambda x: 0, 2)
_dimension_split("dsplit", lambda x: 2, 3)


@function_and_method
def unbind(input: Tensor, dim: int = 0) -> tuple[Tensor, ...]:
    """The places of a dimension, each by itself."""
    if not input.ndim:
        raise IndexError("Dimension specified as 0 but tensor has no dimensions")
    return tuple(UNBIND(input, dim=wrap_dim(dim, input.ndim)))


@only_method
def unfold(self: Tensor, dimension: int, size: int, step: int) -> Tensor:
    """All windows of a size along a dimension, `step` apart, as a new last dimension."""
    d = wrap_dim(dimension, self.ndim)
    array = self._array
    have = array.shape[d] if array.ndim else 1
    if size > have:
        raise RuntimeError(f"maximum size for tensor at dimension {d} is {have} but size is {size}")
    if step <= 0 or size < 0:
        raise RuntimeError(f"step is {step} but must be > 0")
    strides = list(element_strides(array)) or [1]
    shape = list(array.shape) or [1]
    shape[d] = (have - size) // step + 1
    shape, strides = [*shape, size], [*strides, strides[d]]
    strides[d] *= step
    return self.as_strided(shape[0 if array.ndim else 1 :], strides[0 if array.ndim else 1 :])


method("T", property(lambda self: PERMUTE(self, dims=tuple(range(self.ndim))[::-1]), doc="All dimensions reversed."))


def _matrix_transpose(self: Tensor) -> Tensor:
    if self.ndim < 2:
        raise RuntimeError(
            f"tensor.mT is only supported on matrices or batches of matrices. Got {self.ndim}-D tensor."
        )
    return TRANSPOSE(self, dim0=self.ndim - 2, dim1=self.ndim - 1)


method("mT", property(_matrix_transpose, doc="The last two dimensions swapped."))


# --- Copies ---------------------------------------------------------------------------------------


def _compact(array: Array) -> Array:
    """A copy in row-major order."""
    return np.array(array, order="C")


CLONE = Op("clone", ("input",), lambda input, order="K": np.array(input, order=order), {"input": lambda g: g})


@function_and_method
def clone(input: Tensor, *, memory_format: Any = None) -> Tensor:
    """A copy in memory of its own."""
    check_tensor("clone", input)
    return CLONE(input, order="C" if 0 in input._array.strides or str(memory_format).endswith("contiguous_format") else "K")


@only_method
def contiguous(self: Tensor, memory_format: Any = None) -> Tensor:
    """The tensor itself if its elements lie in order, else a copy where they do."""
    return self if self._array.flags.c_contiguous else CLONE(self, order="C")


def _joined(tensors: tuple[Array, ...], join: Any, dim: int) -> Array:
    kind = result_type(*tensors).numpy
    return join([t if t.dtype == kind else t.astype(kind) for t in tensors], dim)


def _cat(*tensors: Array, dim: int) -> Array:
    return _joined(tensors, lambda parts, d: np.concatenate(parts, d), dim)


def _cat_gradient(g: Any, shapes: Any, dim: int) -> list[Any]:
    pieces, start = [], 0
    for shape in shapes:
        pieces.append(SLICE(g, dim=dim, start=start, stop=start + shape[dim], step=1))
        start += shape[dim]
    return pieces


CAT = Op("cat", ("*tensors",), _cat, {"tensors": _cat_gradient})
STACK = Op("stack", ("*tensors",), lambda *tensors, dim: _joined(tensors, lambda parts, d: np.stack(parts, d), dim),
           {"tensors": lambda g, dim: UNBIND(g, dim=dim)})  # fmt: skip


@function
@with_out
def cat(tensors: Sequence[Tensor], dim: int = 0) -> Tensor:
    """Tensors one after the other along a dimension that they have."""
    given = _sequence("cat", tensors)
    # Torch lets an empty vector stand beside tensors of any shape.
    real = [t for t in given if t._array.shape != (0,)] or [given[0]]
    ndim = real[0].ndim
    if not ndim:
        raise RuntimeError("zero-dimensional tensor (at position 0) cannot be concatenated")
    d = wrap_dim(dim, ndim)
    for i, x in enumerate(real):
        if x.ndim != ndim:
            raise RuntimeError(f"Tensors must have same number of dimensions: got {ndim} and {x.ndim}")
        for k, (a, b) in enumerate(zip(real[0].shape, x.shape, strict=True)):
            if k != d and a != b:
                raise RuntimeError(
                    f"Sizes of tensors must match except in dimension {d}. Expected size {a} but got "
                    f"size {b} for tensor number {i} in the list."
                )
    kind = result_type(*given)
    return bind(CAT, [x if x.dtype is kind else x.to(kind) for x in real], {"dim": d})


FUNCTIONS["concat"] = FUNCTIONS["concatenate"] = cat


def _sequence(name: str, tensors: Any) -> list[Tensor]:
    if isinstance(tensors, Tensor) or not isinstance(tensors, (tuple, list)):
        raise TypeError(
            f"{name}(): argument 'tensors' (position 1) must be tuple of Tensors, not {type(tensors).__name__}"
        )
    if not tensors:
        raise RuntimeError(
            "stack expects a non-empty TensorList" if name == "stack" else "torch.cat(): expected a non-empty list of Tensors"
        )
    for x in tensors:
        check_tensor(name, x, "tensors")
    return list(tensors)


@function
@with_out
def stack(tensors: Sequence[Tensor], dim: int = 0) -> Tensor:
    """Tensors of one shape along a new dimension."""
    given = _sequence("stack", tensors)
    for i, x in enumerate(given):
        if x._array.shape != given[0]._array.shape:
            raise RuntimeError(
                f"stack expects each tensor to be equal size, but got {list(given[0].shape)} at entry 0 "
                f"and {list(x.shape)} at entry {i}"
            )
    return bind(STACK, given, {"dim": wrap_dim(dim, given[0].ndim + 1)})


def _at_least(ndim: int) -> None:
    def one(x: Tensor) -> Tensor:
        if ndim == 3 and x.ndim == 2:
            return x.unsqueeze(-1)
        if ndim == 3 and x.ndim == 1:
            return x[None, :, None]
        while x.ndim < ndim:
            x = x.unsqueeze(0)
        return x

    def call(*tensors: Any) -> Any:
        if len(tensors) == 1 and isinstance(tensors[0], Tensor):
            return one(tensors[0])
        return tuple(one(x) for x in (tensors[0] if len(tensors) == 1 else tensors))

    call.__name__, call.__doc__ = f"atleast_{ndim}d", f"Tensors with at least {ndim} dimensions."
    function(call)


for _n in (1, 2, 3):
    _at_least(_n)


@function
@with_out
def hstack(tensors: Sequence[Tensor]) -> Tensor:
    """Side by side: vectors along the first dimension, others along the second."""
    given = FUNCTIONS["atleast_1d"](*_sequence("hstack", tensors))
    given = given if isinstance(given, tuple) else (given,)
    return cat(given, 0 if given[0].ndim == 1 else 1)


@function
@with_out
def vstack(tensors: Sequence[Tensor]) -> Tensor:
    """One above the other, as rows."""
    given = FUNCTIONS["atleast_2d"](*_sequence("vstack", tensors))
    return cat(given if isinstance(given, tuple) else (given,), 0)


@function
@with_out
def dstack(tensors: Sequence[Tensor]) -> Tensor:
    """One behind the other, along the third dimension."""
    given = FUNCTIONS["atleast_3d"](*_sequence("dstack", tensors))
    return cat(given if isinstance(given, tuple) else (given,), 2)


@function
@with_out
def column_stack(tensors: Sequence[Tensor]) -> Tensor:
    """Side by side, vectors as columns."""
    given = [x.reshape(-1, 1) if x.ndim <= 1 else x for x in _sequence("column_stack", tensors)]
    return cat(given, 1)


FUNCTIONS["row_stack"] = vstack

FLIP = Op("flip", ("input",), lambda input, dims: np.flip(input, dims).copy(), {"input": lambda g, dims: FLIP(g, dims=dims)})
ROLL = Op("roll", ("input",), lambda input, shifts, dims: np.roll(input, shifts, dims),
          {"input": lambda g, shifts, dims: ROLL(g, shifts=tuple(-s for s in shifts), dims=dims)})  # fmt: skip


@function_and_method
def flip(input: Tensor, *dims: Any, **named: Any) -> Tensor:
    """Some dimensions in reverse order."""
    return FLIP(input, dims=wrap_dims(sizes_of(dims or (named["dims"],)), input.ndim))


@function_and_method
def fliplr(input: Tensor) -> Tensor:
    """Columns in reverse order."""
    if input.ndim < 2:
        raise RuntimeError(f"Input must be >= 2-d. but got {input.ndim}")
    return input.flip(1)


@function_and_method
def flipud(input: Tensor) -> Tensor:
    """Rows in reverse order."""
    if input.ndim < 1:
        raise RuntimeError(f"Input must be >= 1-d. but got {input.ndim}")
    return input.flip(0)


@function_and_method
def rot90(input: Tensor, k: int = 1, dims: Any = (0, 1)) -> Tensor:
    """Turned by k quarter turns in the plane of two dimensions."""
    if input.ndim < 2:
        raise RuntimeError(f"expected total dims >= 2, but got total dims = {input.ndim}")
    if len(dims) != 2:
        raise RuntimeError(f"expected total rotation dims == 2, but got dims = {len(dims)}")
    a, b = wrap_dims(tuple(dims), input.ndim)
    turned = {
        0: lambda: input.clone(),
        1: lambda: input.flip(b).transpose(a, b),
        2: lambda: input.flip(a, b),
        3: lambda: input.flip(a).transpose(a, b),
    }
    return turned[k % 4]().clone()


@function_and_method
def roll(input: Tensor, shifts: Any, dims: Any = None) -> Tensor:
    """Elements moved along dimensions, those that fall off coming in at the other end."""
    moves = (shifts,) if isinstance(shifts, int) else tuple(shifts)
    if dims is None or dims == ():
        return ROLL(input.reshape(-1), shifts=moves, dims=(0,)).view(input._array.shape)
    along = (dims,) if isinstance(dims, int) else tuple(dims)
    if len(moves) != len(along):
        raise RuntimeError(f"shifts and dimensions must align. shifts: {len(moves)}, dims:{len(along)}")
    return ROLL(input, shifts=moves, dims=tuple(wrap_dim(d, input.ndim) for d in along))


@only_method
def repeat(self: Tensor, *sizes: Any, **named: Any) -> Tensor:
    """Copies of the whole tensor side by side, so many along each dimension."""
    times = sizes_of(sizes or (named["repeats"],))
    if len(times) < self.ndim:
        raise RuntimeError(
            "Number of dimensions of repeat dims can not be smaller than number of dimensions of tensor"
        )
    if any(n < 0 for n in times):
        raise RuntimeError(f"Trying to create tensor with negative dimension: {list(times)}")
    own = (1,) * (len(times) - self.ndim) + self._array.shape
    spread = self.reshape([v for s in own for v in (1, s)]).expand([v for n, s in zip(times, own, strict=True) for v in (n, s)])
    return spread.clone(memory_format="contiguous_format").view([n * s for n, s in zip(times, own, strict=True)])


@function_and_method
def tile(input: Tensor, *dims: Any, **named: Any) -> Tensor:
    """`repeat`, with missing dimensions taken as 1."""
    times = sizes_of(dims or (named["dims"],))
    return input.repeat((1,) * (input.ndim - len(times)) + times)


@function_and_method
def repeat_interleave(input: Any, repeats: Any = None, dim: int | None = None, *, output_size: int | None = None) -> Tensor:
    """Each place of a dimension repeated, so often or as a tensor says for each."""
    if repeats is None:
        counts = input
        return counts.new_tensor(np.repeat(np.arange(len(counts._array)), counts._array))
    if dim is None:
        input, dim = input.reshape(-1), 0
    d = wrap_dim(dim, input.ndim)
    size = input._array.shape[d] if input.ndim else 1
    counts = repeats._array if isinstance(repeats, Tensor) else np.asarray(repeats)
    if counts.dtype.kind not in "iu":
        raise RuntimeError("repeats has to be Long or Int tensor")
    if counts.ndim > 1:
        raise RuntimeError("repeat_interleave only accept 1D vector as repeat")
    if counts.size not in (1, size):
        raise RuntimeError(
            f"repeats must have the same size as input along dim, but got repeats.size(0) = {counts.size} "
            f"and input.size({d}) = {size}"
        )
    if (counts < 0).any():
        raise RuntimeError("repeats can not be negative")
    at = np.repeat(np.arange(size), counts if counts.size != 1 else int(counts.reshape(-1)[0]))
    return input.index_select(d, input.new_tensor(at, dtype=dtypes.int64))
