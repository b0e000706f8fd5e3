"""Boolean masks, and the indices of nonzero elements."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import dtypes
from ..tensor import Array, Tensor
from .indexing import INDEX_PUT
from .precision import kind_name
from .promotion import NUMBERS, broadcast_shapes, exact_number, fits_floats
from .record import Op, bind
from .scattering import check_out
from .surface import check_tensor, function_and_method, in_place, into, only_method
from .writes import bind_in_place

# --- Filling --------------------------------------------------------------------------------------


def _fill_into(target: Array, mask: Array, value: Any) -> None:
    if mask.shape != target.shape:
        shape = broadcast_shapes("masked_fill_", target.shape, mask.shape)
        if shape != target.shape:
            raise RuntimeError(
                f"masked_fill_: output with shape {list(target.shape)} doesn't match the broadcast shape {list(shape)}"
            )
    _copy_where(target, mask, value)


def _masked_fill(input: Array, mask: Array, value: Any) -> Array:
    out = input
    if mask.shape != input.shape:
        shape = broadcast_shapes("masked_fill", input.shape, mask.shape)
        out = np.broadcast_to(input, shape) if shape != input.shape else input
    out = out.copy(order="C")
    _copy_where(out, mask, value)
    return out


def _copy_where(target: Array, mask: Array, value: Any) -> None:
    if type(target) is np.ndarray:
        np.copyto(target, np.asarray(value), where=mask, casting="unsafe")
    else:
        target[np.broadcast_to(mask, target.shape)] = value


MASKED_FILL = Op("masked_fill", ("input", "mask", "value"), _masked_fill, {
    "input": lambda g, mask: MASKED_FILL(g, mask, 0),
    "mask": None,
    "value": lambda g, mask: MASKED_FILL(g, ~mask, 0).sum(),
}, write=_fill_into, overlapping=True, scalar=lambda input, mask, value: np.where(mask, value, input),
   doc="A copy with a number where a mask is True.")  # fmt: skip


def _check_mask(name: str, mask: Any) -> None:
    check_tensor(name, mask, "mask")
    if mask._array.dtype != np.bool_:
        raise RuntimeError(
            f"{name} only supports boolean masks, but got mask with dtype {mask.dtype}"
        )


def _check_fill(input: Tensor, value: Any) -> None:
    """An error unless a value is a single number that the input's dtype can represent."""
    if input._array.dtype.kind == "f" and fits_floats(value):
        return
    if isinstance(value, Tensor):
        if value.ndim:
            raise RuntimeError(
                f"masked_fill_ only supports a 0-dimensional value tensor, but got tensor with {value.ndim} dimension(s)."
            )
        if value.dtype is input.dtype:
            return
        value = value.item()
    elif not isinstance(value, NUMBERS):
        raise TypeError(
            f"masked_fill(): argument 'value' must be Number, not {type(value).__name__}"
        )
    exact_number(value, input.dtype)


@function_and_method
def masked_fill(input: Tensor, mask: Tensor, value: Any) -> Tensor:
    """A copy with a number where a mask is True."""
    _check_mask("masked_fill", mask)
    _check_fill(input, value)
    return bind(MASKED_FILL, (input, mask, value), {})


@only_method
def masked_fill_(self: Tensor, mask: Tensor, value: Any) -> Tensor:
    """Write a number where a mask is True."""
    _check_mask("masked_fill_", mask)
    _check_fill(self, value)
    return bind_in_place(MASKED_FILL, self, (mask, value), {})


@function_and_method
def masked_scatter(input: Tensor, mask: Tensor, source: Tensor) -> Tensor:
    """A copy with a source's elements, in order, where a mask is True."""
    _check_mask("masked_scatter", mask)
    if source.dtype is not input.dtype:
        raise RuntimeError(
            "masked_scatter: expected self and source to have same dtypes but got "
            f"{kind_name(input._array)} and {kind_name(source._array)}"
        )
    shape = broadcast_shapes("masked_scatter", input._array.shape, mask._array.shape)
    where = mask.expand(shape)
    count = int(where._array.sum())
    if count > source.numel():
        raise RuntimeError(
            f"masked_scatter: mask selects {count} elements but source has {source.numel()}"
        )
    used = source.reshape(-1)[:count]
    return bind(
        INDEX_PUT, (input.expand(shape), used), {"key": (where._array,), "accumulate": False}
    )


in_place("masked_scatter_", masked_scatter)


# --- Finding --------------------------------------------------------------------------------------


@function_and_method
def masked_select(input: Tensor, mask: Tensor, *, out: Any = None) -> Tensor:
    """The elements where a mask is True, as a vector."""
    _check_mask("masked_select", mask)
    shape = broadcast_shapes("masked_select", input._array.shape, mask._array.shape)
    result = input.expand(shape)[mask.expand(shape)].reshape(-1)
    check_out(out, result, input, mask)
    return result if out is None else into(out, result, "masked_select")


def _nonzero(input: Array) -> Array:
    found = np.nonzero(input.reshape(input.shape or (1,)))
    if not input.ndim:
        return np.zeros((len(found[0]), 0), np.int64, like=input)
    return np.stack(found).T.astype(np.int64, copy=False)


NONZERO = Op("nonzero", ("input",), _nonzero, {"input": None})


@function_and_method
def nonzero(input: Tensor, *, as_tuple: bool = False, out: Any = None) -> Any:
    """The indices of nonzero elements: one per row, or as a tensor for each dimension."""
    check_tensor("nonzero", input)
    if as_tuple:
        if out is not None:
            raise RuntimeError("nonzero does not support the out kwarg when as_tuple is True")
        return NONZERO(input if input.ndim else input.unsqueeze(0)).unbind(1)
    result = NONZERO(input)
    if out is None:
        return result
    if out.dtype is not result.dtype:
        raise RuntimeError(
            f"nonzero: Expected out tensor to have scalar type Long but got {out.dtype}"
        )
    return into(out, result, "nonzero")


@function_and_method
def nonzero_static(input: Tensor, *, size: int, fill_value: int = -1, out: Any = None) -> Tensor:
    """The indices of the first `size` nonzero elements, one per row, padded with `fill_value`."""
    if size < 0:
        raise RuntimeError("nonzero_static: 'size' must be an non-negative integer")
    if out is not None and out.dtype is not dtypes.int64:
        raise RuntimeError(f"nonzero_static: Expected out tensor of torch.int64, got {out.dtype}")
    rows = nonzero(input)[:size]
    full = rows.new_full((size, input.ndim), fill_value)
    full[: rows.shape[0]] = rows
    return full if out is None else into(out, full, "nonzero_static")


@function_and_method
def argwhere(input: Tensor) -> Tensor:
    """The indices of nonzero elements, one per row."""
    return nonzero(input)
