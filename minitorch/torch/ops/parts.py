"""Views of a part of a tensor: slices, single indices, diagonals, and all the parts of a split."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .. import dtypes
from ..tensor import Array, Tensor
from .movement import wrap_dim
from .precision import kind_name
from .promotion import plain_integer, plain_integers
from .record import MOVEMENT, Op, bind
from .surface import FUNCTIONS, alias, function_and_method, only_method


def partial_view(
    name: str, look: Callable[[Array, tuple[Any, ...]], Array], node: str = ""
) -> tuple[Op, Op]:
    """Declare a view of a part of a tensor, and its backward: zeros, with the gradient in that part.

    Args:
        name: the view's name
        look: from an array and a tuple of parameters to a view
        node: as in `Op`
    """

    def put(input: Array, shape: tuple[int, ...], at: tuple[Any, ...]) -> Array:
        out = np.zeros(shape, input.dtype, like=input)
        look(out, at)[...] = input
        return out

    view = Op(name, ("input",), look,
              {"input": lambda g, shapes, at: backward(g, shape=shapes[0], at=at)}, view=True, node=node)  # fmt: skip
    backward = Op(
        f"{name}_backward", ("input",), put, {"input": lambda g, at: view(g, at=at)}, kind=MOVEMENT
    )
    return view, backward


def _slice(input: Array, at: tuple[int, int, int, int]) -> Array:
    dim, start, stop, step = at
    return input[(slice(None),) * dim + (slice(start, stop, step),)]


def _select(input: Array, at: tuple[int, int]) -> Array:
    dim, index = at
    return input[(slice(None),) * dim + (index, ...)] if dim else input[index, ...]


def _diagonal(input: Array, at: tuple[int, int, int]) -> Array:
    out = np.diagonal(input, *at)
    if type(out) is np.ndarray:
        out.flags.writeable = input.flags.writeable  # NumPy gives it read-only
    return out


SLICE, SLICE_BACKWARD = partial_view("slice", _slice)
SELECT, SELECT_BACKWARD = partial_view("select", _select)
DIAGONAL, DIAGONAL_BACKWARD = partial_view("diagonal", _diagonal)


def _unbind(input: Array, dim: int) -> tuple[Array, ...]:
    rows = np.moveaxis(input, dim, 0)
    return tuple(rows[i, ...] for i in range(len(rows)))


def _split(input: Array, sizes: Sequence[int], dim: int) -> tuple[Array, ...]:
    before, start, parts = (slice(None),) * dim, 0, []
    for size in sizes:
        parts.append(input[(*before, slice(start, start + size))])
        start += size
    return tuple(parts)


SPLIT = Op(
    "split", ("input",), _split, {"input": lambda g, dim: FUNCTIONS["cat"](g, dim)}, view=True
)
UNBIND = Op(
    "unbind", ("input",), _unbind, {"input": lambda g, dim: FUNCTIONS["stack"](g, dim)}, view=True
)


# --- One part ---------------------------------------------------------------------------------


@function_and_method
def narrow(input: Tensor, dim: int, start: Any, length: int) -> Tensor:
    """The slice of `length` along a dimension that begins at `start`."""
    if not input.ndim:
        raise RuntimeError("narrow() cannot be applied to a 0-dim tensor.")
    d = wrap_dim(dim, input.ndim)
    size = input._array.shape[d]
    if isinstance(start, Tensor) and (start.ndim or start.dtype.kind != dtypes.INTEGRAL):
        raise RuntimeError("start must be an 0-dim integral Tensor.")
    begin = plain_integer(start, "narrow", "start")
    length = plain_integer(length, "narrow", "length")
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
    """The slice at one index of a dimension."""
    if not input.ndim:
        raise IndexError("select() cannot be applied to a 0-dim tensor.")
    d = wrap_dim(dim, input.ndim)
    size, index = input._array.shape[d], plain_integer(index, "select", "index")
    if not -size <= index < size:
        raise IndexError(
            f"select(): index {index} out of range for tensor of size {list(input.shape)} at dimension {d}"
        )
    return SELECT(input, at=(d, index % size))


@function_and_method
def diagonal(input: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Tensor:
    """The diagonal of two dimensions, as the last dimension."""
    a, b = wrap_dim(dim1, input.ndim), wrap_dim(dim2, input.ndim)
    if a == b:
        raise RuntimeError(f"diagonal dimensions cannot be identical {dim1}, {dim2}")
    rows, columns = input._array.shape[a], input._array.shape[b]
    near = max(
        -rows, min(plain_integer(offset, "diagonal", "offset"), columns)
    )  # an offset beyond the end is as empty
    return DIAGONAL(input, at=(near, a, b))


def slice_view(
    input: Tensor, dim: int = 0, start: int | None = None, end: int | None = None, step: int = 1
) -> Tensor:
    """`x[start:end:step]` along a dimension."""
    d = wrap_dim(dim, input.ndim)
    if step <= 0:
        raise RuntimeError("slice step must be positive")
    return SLICE(input, at=(d, *slice(start, end, step).indices(input._array.shape[d])))


# --- All parts --------------------------------------------------------------------------------


@function_and_method
def split(input: Tensor, split_size_or_sections: Any, dim: int = 0) -> tuple[Tensor, ...]:
    """Parts of one size, or of given sizes, along a dimension."""
    if not input.ndim:
        raise RuntimeError("split expects at least a 1-dimensional tensor")
    d = wrap_dim(plain_integer(dim, "split", "dim"), input.ndim)
    size = input._array.shape[d]
    if isinstance(split_size_or_sections, Tensor) and split_size_or_sections.numel() == 1:
        split_size_or_sections = int(split_size_or_sections)
    if isinstance(split_size_or_sections, (tuple, list)):
        sizes = list(plain_integers(split_size_or_sections, "split_with_sizes", "split_sizes"))
        if sum(sizes) != size or any(s < 0 for s in sizes):
            raise RuntimeError(
                f"split_with_sizes expects split_sizes to sum exactly to {size} (input tensor's size at "
                f"dimension {dim}), but got split_sizes={sizes}"
            )
    else:
        each = plain_integer(split_size_or_sections, "split", "split_size")
        if each < 0 or (each == 0 and size):
            raise RuntimeError(
                f"split expects split_size be non-negative, but got split_size={each}"
            )
        sizes = _equal_sizes(size, each) if size else [0]
    return tuple(SPLIT(input, sizes=sizes, dim=d))


def _equal_sizes(size: int, each: int) -> list[int]:
    """The sizes of equal parts, and of a smaller last one."""
    whole, rest = divmod(size, each)
    return [each] * whole + [rest] if rest else [each] * whole


@only_method
def split_with_sizes(self: Tensor, split_sizes: Any, dim: int = 0) -> tuple[Tensor, ...]:
    """Parts of given sizes along a dimension."""
    return self.split(list(split_sizes), dim)


FUNCTIONS["split_with_sizes"] = split_with_sizes
alias("unsafe_split", "split")
alias("unsafe_split_with_sizes", "split_with_sizes")


@function_and_method
def chunk(input: Tensor, chunks: int, dim: int = 0) -> tuple[Tensor, ...]:
    """At most `chunks` parts of equal size along a dimension; the last may be smaller."""
    chunks = plain_integer(chunks, "chunk", "chunks")
    if chunks <= 0:
        raise RuntimeError(f"chunk expects `chunks` to be greater than 0, got: {chunks}")
    shape = input._array.shape
    if not shape:
        raise RuntimeError("chunk expects at least a 1-dimensional tensor")
    d = wrap_dim(dim, len(shape))
    size = shape[d]
    sizes = _equal_sizes(size, -(-size // chunks)) if size else [0] * chunks
    return tuple(bind(SPLIT, (input,), {"sizes": sizes, "dim": d}))


alias("unsafe_chunk", "chunk")


MOST_SECTIONS = 1 << 24
"""More parts than this would take gigabytes: an error."""


@function_and_method
def tensor_split(input: Tensor, indices_or_sections: Any, dim: int = 0) -> tuple[Tensor, ...]:
    """Parts whose sizes differ by at most 1, or that are split at given indices."""
    if not input.ndim:
        raise RuntimeError(
            "tensor_split expected at least a 1-dimensional tensor, but got a tensor with 0 dims"
        )
    d = wrap_dim(dim, input.ndim)
    size = input._array.shape[d]
    if isinstance(indices_or_sections, Tensor):
        if indices_or_sections.dtype is not dtypes.int64:
            raise RuntimeError(
                "tensor_split expected tensor_indices_or_sections to have dtype of long, but got "
                f"{kind_name(indices_or_sections._array)}"
            )
        if indices_or_sections.ndim > 1:
            raise RuntimeError(
                "tensor_split expected tensor_indices_or_sections to be a zero-dimensional or one-dimensional "
                f"tensor, but got a tensor with {indices_or_sections.ndim} dims"
            )
        indices_or_sections = indices_or_sections.tolist()
    if not isinstance(indices_or_sections, (tuple, list)):
        count = plain_integer(indices_or_sections, "tensor_split", "indices_or_sections")
        if count <= 0:
            raise RuntimeError(f"number of sections must be larger than 0, got {count}")
        if count > MOST_SECTIONS:
            raise RuntimeError(f"tensor_split: {count} sections are more than {MOST_SECTIONS}")
        places = [i * (size // count) + min(i, size % count) for i in range(count + 1)]
    else:
        bounded = [slice(None, i).indices(size)[1] for i in indices_or_sections]
        places = [0, *bounded, size]
    return tuple(SLICE(input, at=(d, a, max(a, b), 1)) for a, b in itertools.pairwise(places))


def _dimension_split(name: str, dim_of: Any, least: int, where: str) -> None:
    def call(input: Tensor, indices_or_sections: Any, *rest: int) -> tuple[Tensor, ...]:
        if rest:
            indices_or_sections = (indices_or_sections, *rest)
        if input.ndim < least:
            raise RuntimeError(
                f"torch.{name} requires a tensor with at least {least} dimension"
                f"{'s' if least > 1 else ''}, but got a tensor with {input.ndim} dimensions!"
            )
        count, size = indices_or_sections, input.shape[dim_of(input)]
        if isinstance(count, Tensor) and count.numel() == 1:  # with dimensions, a list of one index
            count = indices_or_sections = [count.item()] if count.ndim else count.item()
        if isinstance(count, int) and (count <= 0 or size % count):
            raise RuntimeError(
                f"torch.{name} attempted to split along dimension {dim_of(input)}, but the size of the "
                f"dimension {size} is not divisible by the split_size {count}!"
            )
        return input.tensor_split(indices_or_sections, dim_of(input))

    call.__name__, call.__doc__ = name, f"`tensor_split` along dimension {where}."
    function_and_method(call)


_dimension_split("hsplit", lambda x: 0 if x.ndim == 1 else 1, 1, "1, or 0 of a vector")
_dimension_split("vsplit", lambda x: 0, 2, "0")
_dimension_split("dsplit", lambda x: 2, 3, "2")


@function_and_method
def unbind(input: Tensor, dim: int = 0) -> tuple[Tensor, ...]:
    """The slices along a dimension, without that dimension."""
    if not input.ndim:
        raise IndexError("Dimension specified as 0 but tensor has no dimensions")
    return tuple(UNBIND(input, dim=wrap_dim(dim, input.ndim)))
