"""Concatenated, flipped and repeated tensors: new arrangements of the same elements, always copies."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations as choices
from itertools import combinations_with_replacement as choices_with_repeats
from typing import Any

import numpy as np

from .. import dtypes
from ..backends.interface import as_numpy
from ..environment import contiguous_format
from ..fixed import from_sizes
from ..notices import warn_once
from ..tensor import Array, Tensor, wrap, wrap_beside
from .layout import has_channels_last, in_order, laid_out, ordered
from .movement import sizes_of, wrap_dim, wrap_dims
from .parts import SLICE, UNBIND
from .promotion import plain_integer, plain_integers, result_type
from .record import MOVEMENT, Op, bind
from .surface import (
    FUNCTIONS,
    check_tensor,
    function,
    function_and_method,
    into,
    method,
    only_method,
    with_out,
)
from .writes import OVERLAP, check_overlap

# --- One after the other --------------------------------------------------------------------------


def _in_one_type(tensors: tuple[Array, ...]) -> Sequence[Array]:
    if len({t.dtype for t in tensors}) == 1:
        return tensors
    kind = result_type(*tensors).numpy
    return [t.astype(kind, copy=False) for t in tensors]


def _cat_gradient(g: Any, shapes: Any, dim: int) -> list[Any]:
    """The gradient split into the parts of the tensors."""
    pieces, start = [], 0
    for shape in shapes:
        if shape == (0,):
            pieces.append(g.new_zeros(shape))
            continue
        pieces.append(SLICE(g, at=(dim, start, start + shape[dim], 1)))
        start += shape[dim]
    return pieces


def _cat_arrays(*tensors: Array, dim: int) -> Array:
    """Concatenated arrays: contiguous, or channels last if all of them are; empty vectors are ignored."""
    alike = _in_one_type(tensors)
    result = np.concatenate([x for x in alike if x.shape != (0,)] or alike[:1], dim)
    if result.flags.c_contiguous or all(map(has_channels_last, tensors)):
        return result
    return ordered(result)


def _stack(*tensors: Array, dim: int) -> Array:
    place = (slice(None),) * dim + (None, ...)
    return ordered(np.concatenate([t[place] for t in _in_one_type(tensors)], dim))


CAT = Op("cat", ("*tensors",), _cat_arrays,
         {"tensors": _cat_gradient}, doc="Tensors concatenated along a dimension.", kind=MOVEMENT)  # fmt: skip
STACK = Op("stack", ("*tensors",), _stack,
           {"tensors": lambda g, dim: UNBIND(g, dim=dim)}, doc="Tensors stacked along a new dimension.", kind=MOVEMENT)  # fmt: skip


def _sequence(name: str, tensors: Any) -> list[Tensor]:
    """The tensors of a sequence; Torch's error if it is no sequence, or empty."""
    if not isinstance(tensors, (tuple, list)):
        raise TypeError(
            f"{name}(): argument 'tensors' (position 1) must be tuple of Tensors, not {type(tensors).__name__}"
        )
    if not tensors:
        kind = ValueError if name == "torch.cat" else RuntimeError
        text = (
            "stack expects a non-empty TensorList"
            if name == "stack"
            else f"{name}(): expected a non-empty list of Tensors"
        )
        raise kind(text)
    for x in tensors:
        check_tensor(name, x, "tensors")
    return list(tensors)


def _check_joinable(tensors: Sequence[Tensor], dim: int) -> None:
    """RuntimeError unless shapes agree except in one dimension."""
    first = tensors[0]._array.shape
    for i, x in enumerate(tensors):
        shape = x._array.shape
        if shape == first:
            continue
        if len(shape) != len(first):
            raise RuntimeError(
                f"Tensors must have same number of dimensions: got {len(first)} and {len(shape)}"
            )
        for d, (a, b) in enumerate(zip(first, shape, strict=True)):
            if d != dim and a != b:
                raise RuntimeError(
                    f"Sizes of tensors must match except in dimension {dim}. Expected size {a} but got size "
                    f"{b} for tensor number {i} in the list."
                )


@function
def cat(tensors: Sequence[Tensor], dim: int = 0, *, out: Any = None) -> Tensor:
    """Tensors concatenated along an existing dimension."""
    result = _cat(tensors, dim)
    if out is None:
        return result
    for x in tensors:
        if x is out:
            raise RuntimeError(OVERLAP)
        check_overlap(out._array, x._array, same_allowed=False)
    if result.dtype.kind > out.dtype.kind:
        raise TypeError(
            f"torch.cat(): input types can't be cast to the desired output type {out.dtype}"
        )
    return into(out, result, "cat")


def _cat(tensors: Sequence[Tensor], dim: int) -> Tensor:
    given = _sequence("torch.cat", tensors)
    # Torch accepts an empty vector beside tensors of any shape.
    there = [x for x in given if x._array.shape != (0,)]
    if not there:
        return bind(CAT, given, {"dim": 0})
    ndim = there[0]._array.ndim
    if not ndim:
        raise RuntimeError("zero-dimensional tensor (at position 0) cannot be concatenated")
    d = wrap_dim(dim, ndim)
    _check_joinable(there, d)
    return bind(CAT, given, {"dim": d})


FUNCTIONS["concat"] = FUNCTIONS["concatenate"] = cat


@function
@with_out
def stack(tensors: Sequence[Tensor], dim: int = 0) -> Tensor:
    """Tensors of one shape stacked along a new dimension."""
    given = _sequence("stack", tensors)
    shape = given[0]._array.shape
    for i, x in enumerate(given):
        if x._array.shape != shape:
            raise RuntimeError(
                f"stack expects each tensor to be equal size, but got {list(shape)} at entry 0 and "
                f"{list(x.shape)} at entry {i}"
            )
    return bind(STACK, given, {"dim": wrap_dim(dim, len(shape) + 1)})


def _raised(x: Tensor, ndim: int) -> Tensor:
    """A tensor with at least `ndim` dimensions; the third is added last."""
    check_tensor(f"atleast_{ndim}d", x, "tensors")
    if ndim == 3 and x.ndim == 2:
        return x.unsqueeze(-1)
    if ndim == 3 and x.ndim == 1:
        return x[None, :, None]
    return x.reshape((1,) * (ndim - x.ndim) + x._array.shape) if x.ndim < ndim else x


def _at_least(ndim: int) -> None:
    def call(*tensors: Any) -> Any:
        if len(tensors) == 1 and isinstance(tensors[0], Tensor):
            return _raised(tensors[0], ndim)
        given = (
            tensors[0] if len(tensors) == 1 and isinstance(tensors[0], (tuple, list)) else tensors
        )
        return tuple(_raised(x, ndim) for x in given)

    call.__name__, call.__doc__ = f"atleast_{ndim}d", f"Tensors with at least {ndim} dimensions."
    function(call)


for _n in (1, 2, 3):
    _at_least(_n)


@function
@with_out
def hstack(tensors: Sequence[Tensor]) -> Tensor:
    """Tensors concatenated horizontally: vectors along the first dimension, others along the second."""
    given = [_raised(x, 1) for x in _sequence("hstack", tensors)]
    return cat(given, 0 if given[0].ndim == 1 else 1)


@function
@with_out
def vstack(tensors: Sequence[Tensor]) -> Tensor:
    """Tensors concatenated vertically, as rows."""
    return cat([_raised(x, 2) for x in _sequence("vstack", tensors)], 0)


@function
@with_out
def dstack(tensors: Sequence[Tensor]) -> Tensor:
    """Tensors concatenated in depth, along the third dimension."""
    return cat([_raised(x, 3) for x in _sequence("dstack", tensors)], 2)


@function
@with_out
def column_stack(tensors: Sequence[Tensor]) -> Tensor:
    """Tensors concatenated horizontally, vectors as columns."""
    given = _sequence("column_stack", tensors)
    return cat([x.reshape(-1, 1) if x.ndim <= 1 else x for x in given], 1)


FUNCTIONS["row_stack"] = vstack

# --- Grids and blocks ------------------------------------------------------------------------------


@function
def block_diag(*tensors: Tensor) -> Tensor:
    """Matrices along the diagonal of a larger one, 0 elsewhere."""
    for i, x in enumerate(tensors):
        check_tensor("block_diag", x, f"tensors[{i}]")
        if x.ndim > 2:
            raise RuntimeError(
                f"torch.block_diag: Input tensors must have 2 or fewer dimensions. Input {i} has {x.ndim} dimensions"
            )
    if not tensors:
        return wrap(np.empty((1, 0), dtypes.get_default_dtype().numpy))
    blocks = [_raised(x, 2) for x in tensors]
    kind = result_type(*tensors)
    width, before, rows = sum(x.shape[1] for x in blocks), 0, []
    for x in blocks:
        high, wide = x._array.shape
        left, right = (x.new_zeros((high, n), dtype=kind) for n in (before, width - before - wide))
        rows.append(cat([left, x.to(kind), right], 1))
        before += wide
    return cat(rows, 0)


@function
def meshgrid(*tensors: Any, indexing: str | None = None) -> tuple[Tensor, ...]:
    """Coordinates of a grid, one tensor for each axis."""
    given = tensors[0] if len(tensors) == 1 and isinstance(tensors[0], (tuple, list)) else tensors
    for x in given:
        check_tensor("meshgrid", x, "tensors")
    if indexing is None:
        warn_once(
            "torch.meshgrid: in an upcoming release, it will be required to pass the indexing argument."
        )
    elif not isinstance(indexing, str):
        raise TypeError(
            f"meshgrid(): argument 'indexing' must be str, not {type(indexing).__name__}"
        )
    if indexing not in (None, "ij", "xy"):
        raise RuntimeError(
            f'torch.meshgrid: indexing must be one of "xy" or "ij", but received: {indexing}'
        )
    if not given:
        raise ValueError("meshgrid expects a non-empty TensorList")
    for x in given:
        if x.ndim > 1:
            raise RuntimeError(
                f"torch.meshgrid: Expected 0D or 1D tensor in the tensor list but got: {list(x.shape)}"
            )
        if x.dtype is not given[0].dtype:
            raise RuntimeError("torch.meshgrid expects all tensors to have the same dtype")
    order = list(range(len(given)))
    if indexing == "xy":
        order[:2] = order[1::-1]
    shape = [given[i].numel() for i in order]
    return tuple(
        x.reshape([-1 if k == i else 1 for k in order]).expand(shape) for i, x in enumerate(given)
    )


@function
def cartesian_prod(*tensors: Tensor) -> Tensor:
    """The Cartesian product of vectors, one combination per row."""
    for x in tensors:
        check_tensor("cartesian_prod", x, "tensors")
        if x.ndim != 1:
            raise RuntimeError(f"Expect a 1D vector, but got shape {list(x.shape)}")
    if len(tensors) == 1:
        return tensors[0]
    return stack([x.reshape(-1) for x in meshgrid(*tensors, indexing="ij")], 1)


@function
def combinations(input: Tensor, r: int = 2, with_replacement: bool = False) -> Tensor:
    """All combinations of r elements of a vector, one per row."""
    if input.ndim != 1:
        raise RuntimeError(f"Expect a 1D vector, but got shape {list(input.shape)}")
    if r < 0:
        raise RuntimeError(f"Expect a non-negative number, but got {r}")
    if r == 0:
        return input.new_empty(0)
    r = plain_integer(r, "combinations", "r")
    columns = _chosen(len(input), r, with_replacement)
    return stack([input.index_select(0, wrap_beside(column, input)) for column in columns], 1)


@from_sizes
def _chosen(count: int, r: int, with_replacement: bool) -> tuple[Array, ...]:
    """For each place in a combination, the indices there."""
    ways = choices_with_repeats if with_replacement else choices
    return tuple(np.array(list(ways(range(count), r)), np.int64).reshape(-1, r).T.copy())


# --- Turned and repeated -----------------------------------------------------------------------------


def _copies_added(g: Any, shapes: Any, times: tuple[int, ...]) -> Any:
    """The gradient of `repeat`: the sum over all copies."""
    own = (1,) * (len(times) - len(shapes[0])) + shapes[0]
    apart = g.reshape([v for pair in zip(times, own, strict=True) for v in pair])
    return apart.sum(tuple(range(0, apart.ndim, 2))).reshape(shapes[0]) if times else g


FLIP = Op("flip", ("input",), lambda input, dims: laid_out(np.flip(input, dims).copy(), (input,)),
          {"input": lambda g, dims: FLIP(g, dims=dims)}, doc="Elements in reverse order along dimensions.", kind=MOVEMENT)  # fmt: skip
REPEAT = Op("repeat", ("input",), in_order(lambda input, times: np.tile(input, times)),
            {"input": _copies_added}, doc="The whole tensor repeated along each dimension.", kind=MOVEMENT)  # fmt: skip
ROLL = Op("roll", ("input",), in_order(lambda input, shifts, dims: np.roll(input, shifts, dims)),
          {"input": lambda g, shifts, dims: ROLL(g, shifts=tuple(-s for s in shifts), dims=dims)}, kind=MOVEMENT)  # fmt: skip


@function_and_method
def flip(input: Tensor, *dims: Any, **named: Any) -> Tensor:
    """Elements in reverse order along dimensions."""
    given = wrap_dims(sizes_of(dims or (named["dims"],)), input.ndim)
    return FLIP(input, dims=given if input.ndim else ())


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
    """Rotated by k times 90 degrees in the plane of two dimensions."""
    if input.ndim < 2:
        raise RuntimeError(f"expected total dims >= 2, but got total dims = {input.ndim}")
    if len(dims) != 2:
        raise RuntimeError(f"expected total rotation dims == 2, but got dims = {len(dims)}")
    if dims[0] == dims[1] or abs(dims[0] - dims[1]) == input.ndim:
        raise RuntimeError(
            f"expected rotation dims to be different, but got dim0 = {dims[0]} and dim1 = {dims[1]}"
        )
    a, b = (wrap_dim(d, input.ndim) for d in dims)
    if k % 2:
        return input.flip(b if k % 4 == 1 else a).transpose(a, b)
    return input.flip(a, b) if k % 4 else input.clone(memory_format=contiguous_format)


@function_and_method
def roll(input: Tensor, shifts: Any, dims: Any = None) -> Tensor:
    """Elements shifted along dimensions; those shifted beyond the end reappear at the start."""
    moves = plain_integers(shifts, "roll", "shifts")
    along = () if dims is None else plain_integers(dims, "roll", "dims")
    if not along and len(moves) == 1:
        return ROLL(input.reshape(-1), shifts=moves, dims=(0,)).view(input._array.shape)
    if not moves:
        raise RuntimeError("`shifts` required")
    if len(moves) != len(along):
        raise RuntimeError(
            f"shifts and dimensions must align. shifts: {len(moves)}, dims:{len(along)}"
        )
    if not input._array.size:
        return input.clone()
    return ROLL(input, shifts=moves, dims=tuple(wrap_dim(d, input.ndim) for d in along))


@only_method
def repeat(self: Tensor, *sizes: Any, **named: Any) -> Tensor:
    """The whole tensor repeated a number of times along each dimension."""
    times = sizes_of(sizes or (named["repeats"],))
    if len(times) < self.ndim:
        raise RuntimeError(
            "Number of dimensions of repeat dims can not be smaller than number of dimensions of tensor"
        )
    if any(n >= 2**63 for n in times):
        raise TypeError(f"repeat(): argument 'repeats' is too large: {list(times)}")
    shape = (1,) * (len(times) - self.ndim) + self._array.shape
    if any(n * size < 0 for n, size in zip(times, shape, strict=True)):
        raise RuntimeError(f"Trying to create tensor with negative dimension: {list(times)}")
    return REPEAT(self, times=tuple(max(n, 0) for n in times))


@function_and_method
def tile(input: Tensor, *dims: Any, **named: Any) -> Tensor:
    """`repeat`, with missing repetitions taken as 1."""
    times = sizes_of(dims or (named["dims"],))
    return input.repeat((1,) * (input.ndim - len(times)) + times)


def _check_counts(counts: Array, size: int, dim: int) -> None:
    if counts.dtype not in (np.int64, np.int32):
        raise RuntimeError("repeats has to be Long or Int tensor")
    if counts.ndim > 1:
        raise RuntimeError("repeat_interleave only accept 1D vector as repeat")
    if counts.size not in (1, size):
        raise RuntimeError(
            "repeats must have the same size as input along dim, but got repeats.size(0) = "
            f"{counts.size} and input.size({dim}) = {size}"
        )
    if (counts < 0).any():
        raise RuntimeError("repeats can not be negative")


def _repeated(counts: Array, size: int, dim: int) -> Array:
    """The indices along a dimension, each as often as it is repeated."""
    _check_counts(counts, size, dim)
    return np.repeat(np.arange(size), np.broadcast_to(counts.reshape(-1), (size,)))


def _check_total(count: int, output_size: int | None) -> None:
    if output_size is not None and count != output_size:
        raise RuntimeError(
            f"repeat_interleave: Invalid output_size, expected {count} but got {output_size}"
        )


def repeat_interleave(
    input: Any, repeats: Any = None, dim: int | None = None, *, output_size: int | None = None
) -> Tensor:
    """Each element along a dimension repeated; `repeats` is one number for all or one for each."""
    if repeats is None:
        counts = as_numpy(input._array)
        _check_counts(counts, len(input), 0)
        places = np.repeat(np.arange(len(input), dtype=counts.dtype), counts)
        _check_total(len(places), output_size)
        return wrap_beside(places, input)
    if dim is not None and not input.ndim:
        raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions")
    if dim is None:
        input, dim = input.reshape(-1), 0
    d = wrap_dim(dim, input.ndim)
    size = input._array.shape[d] if input.ndim else 1
    if isinstance(repeats, Tensor):
        places = _repeated(as_numpy(repeats._array), size, d)
    else:
        counts = plain_integers(repeats, "repeat_interleave", "repeats")
        places = from_sizes(_repeated)(np.array(counts), size, d)
    _check_total(len(places), output_size)
    return input.reshape(input.shape or (1,)).index_select(d, wrap_beside(places, input))


FUNCTIONS["repeat_interleave"] = repeat_interleave
method("repeat_interleave", repeat_interleave)
