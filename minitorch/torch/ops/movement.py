"""Looking at the same memory in another way, and copying where there is no other way.

Stride tricks live here and nowhere else: NumPy's views carry shape, strides and offset.
"""

from __future__ import annotations

import itertools
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided as strided_view

from .. import dtypes
from ..tensor import Array, Size, Tensor, make_view, offset_in, wrap
from .record import Op, bind
from .surface import (
    FUNCTIONS,
    alias,
    check_tensor,
    function,
    function_and_method,
    into,
    method,
    only_method,
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
        if type(s) is not int:
            break
    else:
        return tuple(sizes)
    for s in sizes:
        if not hasattr(s, "__index__"):
            raise TypeError(f"sizes must be ints, not {type(s).__name__}")
    return tuple(s.__index__() for s in sizes)


def _inferred(shape: tuple[int, ...], size: int) -> tuple[int, ...]:
    """A shape with its -1 worked out; RuntimeError where it cannot hold `size` elements."""
    if -1 not in shape:
        known = 1
        for s in shape:
            known *= s if s >= 0 else -size - 1
        if known != size:
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


def strided(array: Array, shape: tuple[int, ...], strides: tuple[int, ...]) -> Array:
    """A view of an array's memory, from where it begins, in any shape and strides."""
    if array.flags.c_contiguous and array.size and array.dtype.kind != "V":
        return np.ndarray(shape, array.dtype, array, 0, strides)  # much cheaper than the other
    return strided_view(array, shape, strides)


def _reshaped(array: Array, shape: tuple[int, ...]) -> Array | None:
    """A view of another shape, or None where that would need a copy."""
    out = array.reshape(shape)
    if array.flags.c_contiguous or not array.size or np.may_share_memory(out, array):
        return out
    return None


def _view(input: Array, shape: tuple[int, ...]) -> Array:
    out = _reshaped(input, shape)
    if out is None:
        raise RuntimeError(
            "view size is not compatible with input tensor's size and stride (at least one dimension "
            "spans across two contiguous subspaces). Use .reshape(...) instead."
        )
    return out


def expanded(input: Array, shape: tuple[int, ...]) -> Array:
    """Dimensions of size 1 repeated without copying, and new ones before them."""
    extra = len(shape) - input.ndim
    strides = [0] * extra
    for have, want, stride in zip(input.shape, shape[extra:], input.strides, strict=True):
        strides.append(0 if have == 1 and want != 1 else stride)
    return strided(input, shape, tuple(strides))


def _unbind(input: Array, dim: int) -> tuple[Array, ...]:
    rows = np.moveaxis(input, dim, 0)
    return tuple(rows[i, ...] for i in range(len(rows)))


def _split(input: Array, sizes: Sequence[int], dim: int) -> tuple[Array, ...]:
    ends = itertools.accumulate((0, *sizes))
    return tuple(_slice(input, (dim, a, b, 1)) for a, b in itertools.pairwise(ends))


def _inverse(order: tuple[int, ...]) -> tuple[int, ...]:
    """The order that undoes a permutation."""
    return tuple(sorted(range(len(order)), key=order.__getitem__))


def _as_before(g: Any, shapes: Any) -> Any:
    return g.reshape(shapes[0])


VIEW = Op("view", ("input",), _view, {"input": _as_before}, view=True)
SQUEEZE = Op(
    "squeeze", ("input",), lambda input, dims: input.squeeze(dims), {"input": _as_before}, view=True
)
UNSQUEEZE = Op("unsqueeze", ("input",), lambda input, dim: input[(slice(None),) * dim + (None, ...)],
               {"input": _as_before}, view=True)  # fmt: skip
EXPAND = Op("expand", ("input",), expanded, {"input": lambda g: g}, view=True)  # the graph sums
PERMUTE = Op("permute", ("input",), lambda input, dims: input.transpose(dims),
             {"input": lambda g, dims: PERMUTE(g, dims=_inverse(dims))}, view=True)  # fmt: skip
TRANSPOSE = Op("transpose", ("input",), lambda input, dim0, dim1: input.swapaxes(dim0, dim1),
               {"input": lambda g, dim0, dim1: TRANSPOSE(g, dim0=dim0, dim1=dim1)}, view=True)  # fmt: skip
T = Op("t", ("input",), lambda input: input.T, {"input": lambda g: T(g)}, view=True)
SPLIT = Op(
    "split", ("input",), _split, {"input": lambda g, dim: FUNCTIONS["cat"](g, dim)}, view=True
)
UNBIND = Op(
    "unbind", ("input",), _unbind, {"input": lambda g, dim: FUNCTIONS["stack"](g, dim)}, view=True
)


# --- Views of a part --------------------------------------------------------------------------


def part(name: str, look: Callable[[Array, tuple[Any, ...]], Array]) -> tuple[Op, Op]:
    """Declare a view of a part, and its backward: zeros, with the gradient where the view looks.

    Args:
        name: of the view
        look: from an array, and a tuple that says where, to a view
    """

    def put(input: Array, shape: tuple[int, ...], at: tuple[Any, ...]) -> Array:
        out = np.zeros(shape, input.dtype)
        look(out, at)[...] = input
        return out

    view = Op(name, ("input",), look,
              {"input": lambda g, shapes, at: backward(g, shape=shapes[0], at=at)}, view=True)  # fmt: skip
    backward = Op(f"{name}_backward", ("input",), put, {"input": lambda g, at: view(g, at=at)})
    return view, backward


def _slice(input: Array, at: tuple[int, int, int, int]) -> Array:
    dim, start, stop, step = at
    return input[(slice(None),) * dim + (slice(start, stop, step),)]


def _select(input: Array, at: tuple[int, int]) -> Array:
    dim, index = at
    return input[(slice(None),) * dim + (index, ...)]


def _diagonal(input: Array, at: tuple[int, int, int]) -> Array:
    out = np.diagonal(input, *at)
    out.flags.writeable = input.flags.writeable  # NumPy gives it read-only
    return out


SLICE, SLICE_BACKWARD = part("slice", _slice)
SELECT, SELECT_BACKWARD = part("select", _select)
DIAGONAL, DIAGONAL_BACKWARD = part("diagonal", _diagonal)

# --- Any strides ------------------------------------------------------------------------------


def memory_of(tensor: Tensor) -> tuple[Array, int]:
    """All the memory that a tensor is part of, as one row, and where the tensor begins in it."""
    base = tensor if tensor._base is None else tensor._base
    array = base._array
    if array.flags.c_contiguous:
        memory = array.reshape(-1)
    else:
        spans = [(n - 1) * s for n, s in zip(array.shape, array.strides, strict=True)]
        count = (sum(spans) // array.itemsize + 1) if array.size else 0
        memory = strided_view(array, (count,), (array.itemsize,))
    if memory.dtype != tensor._array.dtype:
        memory = memory.view(tensor._array.dtype)
    return memory, offset_in(tensor._array, array)


def _as_strided(
    input: Array, size: Any, stride: Any, offset: int, memory: Array, layout: Any
) -> Array:
    last = offset + sum((n - 1) * s for n, s in zip(size, stride, strict=True))
    if all(size) and last >= len(memory):
        raise RuntimeError(
            f"setStorage: sizes {list(size)}, strides {list(stride)}, storage offset {offset}, and "
            f"itemsize {input.itemsize} requiring a storage size of {(last + 1) * input.itemsize} "
            f"are out of bounds for storage of size {memory.nbytes}"
        )
    item = input.itemsize
    return strided(memory[offset:], tuple(size), tuple(s * item for s in stride))


Geometry = tuple[Sequence[int], Sequence[int], int]
"""Where in memory the elements of a tensor are: size, strides, offset."""


def _places(geometry: Geometry) -> Array:
    """The place in memory of each element."""
    size, stride, offset = geometry
    places = np.full(tuple(size), offset, np.int64)
    for d, (n, s) in enumerate(zip(size, stride, strict=True)):
        places += (np.arange(n) * s).reshape((n,) + (1,) * (len(size) - d - 1))
    return places


def _restride(input: Array, source: Geometry, target: Geometry) -> Array:
    """Add elements at their places in memory, then read it at other places."""
    at, to = _places(source), _places(target)
    memory = np.zeros(1 + max(at.max(initial=-1), to.max(initial=-1)), input.dtype)
    np.add.at(memory, at.reshape(-1), input.reshape(-1))
    return memory[to]


RESTRIDE = Op("restride", ("input",), _restride,
              {"input": lambda g, source, target: RESTRIDE(g, source=target, target=source)})  # fmt: skip


def _as_strided_gradient(g: Any, size: Any, stride: Any, offset: int, layout: Geometry) -> Any:
    """Each gradient goes to the place its element came from; elements at one place share it."""
    gradient = RESTRIDE(g, source=(size, stride, offset), target=layout)
    own = _places(layout)
    shown = np.bincount(own.reshape(-1))[own] if own.size else own
    return gradient / wrap(shown.astype(g._array.dtype)) if (shown > 1).any() else gradient


AS_STRIDED = Op("as_strided", ("input",), _as_strided, {"input": _as_strided_gradient}, view=True)


@function_and_method
def as_strided(input: Tensor, size: Any, stride: Any, storage_offset: int | None = None) -> Tensor:
    """Any view of the memory behind a tensor."""
    if len(size) != len(stride):
        raise RuntimeError(
            f"mismatch in length of strides and shape: {list(stride)} and {list(size)}"
        )
    if any(s < 0 for s in stride):
        raise RuntimeError(
            f"as_strided: Negative strides are not supported at the moment, got strides: {list(stride)}"
        )
    memory, begin = memory_of(input)
    offset = begin if storage_offset is None else storage_offset
    if offset < 0:
        raise RuntimeError(f"Tensor: invalid storage offset {offset}")
    layout = input._array.shape, element_strides(input._array), begin
    return AS_STRIDED(
        input, size=tuple(size), stride=tuple(stride), offset=offset, memory=memory, layout=layout
    )


# --- The functions and methods of views ------------------------------------------------------------


@only_method
def view(self: Tensor, *shape: Any, dtype: Any = None) -> Tensor:
    """The same memory in another shape, or as another type."""
    if dtype is not None or (len(shape) == 1 and isinstance(shape[0], dtypes.dtype)):
        return _view_as_type(self, dtype or shape[0])
    return bind(VIEW, (self,), {"shape": _inferred(sizes_of(shape), self._array.size)})


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
    array = input._array
    wanted = _inferred(sizes_of(shape or (named["shape"],)), array.size)
    if not array.flags.c_contiguous and _reshaped(array, wanted) is None:
        input = CLONE(input, order="C")
    return bind(VIEW, (input,), {"shape": wanted})


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
def squeeze(input: Tensor, dim: Any = None, *, axis: Any = None) -> Tensor:
    """Without dimensions of size 1: all of them, or those named."""
    dim = axis if dim is None else dim
    shape = input._array.shape
    named = range(len(shape)) if dim is None else wrap_dims(dim, len(shape)) if shape else ()
    if dim is not None and not shape:
        wrap_dims(dim, 0)
    return SQUEEZE(input, dims=tuple(d for d in named if shape[d] == 1))


@function_and_method
def unsqueeze(input: Tensor, dim: Any = None, *, axis: Any = None) -> Tensor:
    """With a dimension of size 1 more."""
    dim = axis if dim is None else dim
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

    return Size(
        shape_of("broadcast_shapes", *((s,) if isinstance(s, int) else tuple(s) for s in shapes))
    )


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
    if isinstance(start, Tensor) and (start.ndim or start.dtype.kind != dtypes.INTEGRAL):
        raise RuntimeError("start must be an 0-dim integral Tensor.")
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
    return SLICE(input, at=(d, begin, begin + length, 1))


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
    return SELECT(input, at=(d, int(index) % size))


@function_and_method
def diagonal(input: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Tensor:
    """The diagonal of two dimensions, as the last one."""
    a, b = wrap_dim(dim1, input.ndim), wrap_dim(dim2, input.ndim)
    if a == b:
        raise RuntimeError(f"diagonal dimensions cannot be identical {dim1}, {dim2}")
    return DIAGONAL(input, at=(offset, a, b))


def slice_view(
    input: Tensor, dim: int = 0, start: int | None = None, end: int | None = None, step: int = 1
) -> Tensor:
    """`x[start:end:step]` along a dimension."""
    d = wrap_dim(dim, input.ndim)
    if step <= 0:
        raise RuntimeError("slice step must be positive")
    return SLICE(input, at=(d, *slice(start, end, step).indices(input._array.shape[d])))


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
        each = operator.index(split_size_or_sections)
        if each < 0 or (each == 0 and size):
            raise RuntimeError(
                f"split expects split_size be non-negative, but got split_size={each}"
            )
        sizes = [min(each, size - start) for start in range(0, size, each)] if size else [0]
    return tuple(SPLIT(input, sizes=sizes, dim=d))


@only_method
def split_with_sizes(self: Tensor, split_sizes: Any, dim: int = 0) -> tuple[Tensor, ...]:
    """Parts of sizes given, along a dimension."""
    return self.split(list(split_sizes), dim)


FUNCTIONS["split_with_sizes"] = split_with_sizes
alias("unsafe_split", "split")
alias("unsafe_split_with_sizes", "split_with_sizes")


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


alias("unsafe_chunk", "chunk")


@function_and_method
def tensor_split(input: Tensor, indices_or_sections: Any, dim: int = 0) -> tuple[Tensor, ...]:
    """Parts that differ by at most 1, or that begin at given places."""
    if not input.ndim:
        raise RuntimeError(
            "tensor_split expected at least a 1-dimensional tensor, but got a tensor with 0 dims"
        )
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
    return tuple(SLICE(input, at=(d, a, max(a, b), 1)) for a, b in itertools.pairwise(places))


def _dimension_split(name: str, dim_of: Any, least: int) -> None:
    def call(input: Tensor, indices_or_sections: Any) -> tuple[Tensor, ...]:
        if input.ndim < least:
            raise RuntimeError(
                f"torch.{name} requires a tensor with at least {least} dimension"
                f"{'s' if least > 1 else ''}, but got a tensor with {input.ndim} dimensions!"
            )
        count, size = indices_or_sections, input.shape[dim_of(input)]
        if isinstance(count, int) and (count <= 0 or size % count):
            raise RuntimeError(
                f"torch.{name} attempted to split along dimension {dim_of(input)}, but the size of the "
                f"dimension {size} is not divisible by the split_size {count}!"
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


method(
    "T",
    property(
        lambda self: PERMUTE(self, dims=tuple(range(self.ndim))[::-1]),
        doc="All dimensions reversed.",
    ),
)


def _matrix_transpose(self: Tensor) -> Tensor:
    if self.ndim < 2:
        raise RuntimeError(
            f"tensor.mT is only supported on matrices or batches of matrices. Got {self.ndim}-D tensor."
        )
    return TRANSPOSE(self, dim0=self.ndim - 2, dim1=self.ndim - 1)


method("mT", property(_matrix_transpose, doc="The last two dimensions swapped."))


# --- Copies of memory -------------------------------------------------------------------------


def _channels_last(array: Array) -> Array:
    """A copy in which the second dimension lies innermost."""
    return np.moveaxis(np.array(np.moveaxis(array, 1, -1), order="C"), -1, 1)


def _copy(input: Array, order: Any = "K") -> Array:
    return _channels_last(input) if order == "channels_last" else np.array(input, order=order)


CLONE = Op("clone", ("input",), _copy, {"input": lambda g: g}, doc="A copy in memory of its own.")


def order_of_memory(array: Array, memory_format: Any) -> str:
    """How a copy lies in memory: "K" as the original does, "C" in order, or "channels_last"."""
    wanted = str(memory_format)
    if "channels_last" in wanted:
        need = 5 if wanted.endswith("3d") else 4
        if array.ndim != need:
            raise RuntimeError(
                f"required rank {need} tensor to use {wanted} format, got {array.ndim} dimensions"
            )
        return "channels_last"
    return "C" if wanted.endswith("contiguous_format") or 0 in array.strides else "K"


def same_layout(array: Array, like: Array, memory_format: Any = None) -> Array:
    """A fresh array, laid out in memory as another is if that one has no gaps, or as asked for."""
    if memory_format is None and (like.flags.c_contiguous or like.ndim < 2):
        return array
    order = order_of_memory(like, memory_format)
    if order == "channels_last":
        return _channels_last(array)
    axes = sorted(range(like.ndim), key=lambda d: -like.strides[d])
    if order == "C" or not like.transpose(axes).flags.c_contiguous:
        return array
    return np.ascontiguousarray(array.transpose(axes)).transpose(np.argsort(axes))


@function_and_method
def clone(input: Tensor, *, memory_format: Any = None) -> Tensor:
    """A copy in memory of its own."""
    check_tensor("clone", input)
    return CLONE(input, order=order_of_memory(input._array, memory_format))


@only_method
def contiguous(self: Tensor, memory_format: Any = None) -> Tensor:
    """The tensor itself if its elements lie in order, else a copy where they do."""
    if memory_format is not None and order_of_memory(self._array, memory_format) == "channels_last":
        if self.is_contiguous(memory_format=memory_format):
            return self
        return CLONE(self, order="channels_last")
    return self if self._array.flags.c_contiguous else CLONE(self, order="C")


def _copied(name: str, view: Any) -> None:
    """`torch.name_copy`: what `name` shows, in memory of its own."""

    def call(*args: Any, out: Any = None, **kwargs: Any) -> Any:
        shown = view(*args, **kwargs)
        result = tuple(x.clone() for x in shown) if isinstance(shown, tuple) else shown.clone()
        return result if out is None else into(out, result, call.__name__)

    call.__name__, call.__doc__ = f"{name}_copy", f"A copy of what `{name}` shows."
    function(call)


for _name in (
    "as_strided", "detach", "diagonal", "expand", "narrow", "permute", "select", "split", "split_with_sizes",
    "squeeze", "t", "transpose", "unbind", "unfold", "unsqueeze", "view",
):  # fmt: skip
    _copied(_name, getattr(Tensor, _name))
_copied("alias", lambda input: input)
_copied("slice", slice_view)
method("narrow_copy", FUNCTIONS["narrow_copy"])
