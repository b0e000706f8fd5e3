"""`make_tensor`: tensors of random numbers for tests."""

from __future__ import annotations

import math
from typing import Any

from .. import dtypes
from ..backends.interface import resolve
from ..ops.complex_numbers import view_as_real
from ..ops.creation import empty
from ..ops.movement import sizes_of
from ..ops.random import randint
from ..tensor import Tensor


def make_tensor(
    *shape: Any,
    dtype: dtypes.dtype,
    device: Any = None,
    low: float | None = None,
    high: float | None = None,
    requires_grad: bool = False,
    noncontiguous: bool = False,
    exclude_zero: bool = False,
    memory_format: Any = None,
) -> Tensor:
    """A tensor of random numbers from `low` to `high`; by default -9 to 9.

    Args:
        shape: sizes, one by one or as a sequence
        dtype: the type of the numbers
        device: where the memory is
        low: the least
        high: an upper bound, which is not reached
        requires_grad: whether operations on it are recorded
        noncontiguous: whether there is a gap after every element
        exclude_zero: whether 0 is replaced by the next number
        memory_format: not looked at
    """
    resolve(device)
    sizes = sizes_of(shape)
    if low is not None and high is not None and low > high:
        raise ValueError(f"`low` must be less than or equal to `high`, but got {low} > {high}")
    if noncontiguous and math.prod(sizes) > 1:
        made = _numbers((*sizes[:-1], 2 * sizes[-1]), dtype, low, high)[..., 1::2]
    else:
        made = _numbers(sizes, dtype, low, high)
    if exclude_zero:
        least = 1 if dtype.kind < dtypes.FLOATING else dtypes.finfo(dtype).tiny
        made[made == 0] = least
    return made.requires_grad_() if requires_grad else made


def _numbers(
    sizes: tuple[int, ...], kind: dtypes.dtype, low: float | None, high: float | None
) -> Tensor:
    if kind is dtypes.bool_:
        low, high = _bounds(low, high, 0, 2, 0, 2)
        return randint(int(low), int(high), sizes, dtype=kind)
    if kind.kind == dtypes.INTEGRAL:
        limits = dtypes.iinfo(kind)
        low, high = _bounds(low, high, limits.min, limits.max, 0 if not kind.is_signed else -9, 10)
        return randint(math.ceil(low), math.ceil(high), sizes, dtype=kind)
    limits = dtypes.finfo(kind)
    low, high = _bounds(low, high, limits.min, limits.max, -9, 9)
    made = empty(sizes, dtype=kind)
    (view_as_real(made) if kind.is_complex else made).uniform_(low, high)
    return made


def _bounds(
    low: Any, high: Any, least: float, most: float, usual_low: float, usual_high: float
) -> tuple[float, float]:
    low = usual_low if low is None else max(low, least)
    high = usual_high if high is None else min(high, most)
    if math.isnan(low) or math.isnan(high):
        raise ValueError(f"`low` and `high` cannot be NaN, but got {low=} and {high=}")
    return low, high
