"""Reductions of segments: runs of consecutive elements of given lengths."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from .. import dtypes
from ..tensor import Tensor
from .joining import cat, stack
from .movement import wrap_dim
from .precision import kind_name, require_floats
from .promotion import exact_number
from .surface import FUNCTIONS, check_no_gradient, check_tensor, function

_OF_NOTHING = {"sum": 0.0, "prod": 1.0, "mean": float("nan"), "amax": -float("inf"), "amin": float("inf")}  # fmt: skip
_FOLDED = {"sum": "sum", "prod": "prod", "mean": "mean", "max": "amax", "min": "amin"}
_FOLDED |= {"amax": "amax", "amin": "amin"}


@function
def segment_reduce(
    data: Tensor, reduce: str, *, lengths: Any = None, indices: Any = None, offsets: Any = None, axis: int = 0,
    unsafe: bool = False, initial: Any = None,
) -> Tensor:  # fmt: skip
    """The sum, mean, product or extreme of each segment along a dimension.

    Args:
        data: what to reduce
        reduce: sum, mean, prod, max or min
        lengths: of the segments, for each index of the dimensions before `axis`
        indices: not supported, as in Torch
        offsets: the starts of segments, and the end of the last one, in place of lengths
        axis: the dimension
        unsafe: whether to skip the check that lengths add up to the size
        initial: the initial value of each reduction
    """
    check_tensor("segment_reduce", data, "data")
    if reduce not in _FOLDED:
        raise RuntimeError(f"segment_reduce: unknown reduction {reduce!r}")
    if indices is not None:
        raise RuntimeError("segment_reduce(): indices based reduction is not supported yet.")
    if lengths is None and offsets is None:
        raise RuntimeError("segment_reduce(): Either lengths or offsets must be defined.")
    check_no_gradient("segment_reduce", lengths=lengths, offsets=offsets)
    require_floats("_segment_reduce_cpu", data._array)
    d = wrap_dim(axis, data.ndim)
    label, rows = ("lengths", lengths) if offsets is None else ("offsets", offsets)
    assert rows is not None
    if rows.dtype not in (dtypes.int32, dtypes.int64):
        kernel = f"_segment_reduce_{label}_cpu_kernel1"
        raise NotImplementedError(f"\"{kernel}\" not implemented for '{kind_name(rows._array)}'")
    if rows is offsets and rows.shape[-1:] == (0,):
        raise RuntimeError(
            f"Trying to create tensor with negative dimension -1: {list(rows.shape)}"
        )
    if rows.ndim > data.ndim:
        raise RuntimeError(
            f"segment_reduce(): Expected data.dim() >= {label}.dim(), got {data.ndim} and {rows.ndim}"
        )
    if rows.ndim != d + 1:
        raise RuntimeError(
            f"segment_reduce(): Expected axis to be the last dimension of {label} but got {d}."
        )
    if rows is lengths and not rows.numel() and not unsafe:
        raise RuntimeError(f"segment_reduce(): Expected lengths, got none: {list(rows.shape)}")
    ends = offsets._array if offsets is not None else _ends(lengths._array)  # type: ignore[union-attr]
    if not unsafe and offsets is None and (ends[..., -1] != data.shape[d]).any():
        raise RuntimeError(
            f"segment_reduce(): Expected all rows of lengths along axis to sum to data.size({d}) "
            f"when !unsafe: {list(data.shape)}"
        )
    initial = initial if initial is None else exact_number(initial, data.dtype)
    return _runs(data, reduce, ends, d, initial)


def _ends(lengths: Any) -> Any:
    """The starts of segments, and the end of the last one."""
    first = np.zeros((*lengths.shape[:-1], 1), lengths.dtype, like=lengths)
    return np.concatenate([first, np.cumsum(lengths, -1)], -1)


def _runs(data: Tensor, reduce: str, ends: Any, d: int, initial: Any) -> Tensor:
    """The reduced segments; several rows of ends belong to the indices of the first dimension."""
    if ends.ndim > 1:
        parts = data.unbind(0)
        return stack(
            [_runs(x, reduce, e, d - 1, initial) for x, e in zip(parts, ends, strict=True)]
        )
    runs = [data.narrow(d, a, b - a) for a, b in pairwise(ends.tolist())]
    if not runs:
        return data.narrow(d, 0, 0)
    return stack([_folded(run, reduce, d, initial) for run in runs], d)


def _folded(run: Tensor, reduce: str, d: int, initial: Any) -> Tensor:
    """One segment reduced; an empty one gives the initial value."""
    size = run._array.shape[d]
    if not size:
        return run.sum(d) + (_OF_NOTHING[_FOLDED[reduce]] if initial is None else initial)
    if initial is None:
        return getattr(run, _FOLDED[reduce])(d)
    start = run.narrow(d, 0, 1) * 0 + initial
    if reduce == "mean":
        return (run.sum(d) + initial) / size
    return getattr(cat([start.detach(), run], d), _FOLDED[reduce])(d)


def _segment_reduce(data: Tensor, reduce: str, **options: Any) -> Tensor:
    """`segment_reduce`, under the name of its kernel."""
    return segment_reduce(data, reduce, **options)


FUNCTIONS["_segment_reduce"] = _segment_reduce
