"""Padding with a constant, by reflection, by replication of the edge, or circular."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from .. import dtypes
from ..environment import channels_last
from ..fixed import from_sizes
from ..tensor import Array, Tensor, wrap_beside
from .layout import as_image, has_channels_last
from .promotion import exact_number
from .record import MOVEMENT, Op, bind
from .surface import check_tensor, function

Widths = tuple[tuple[int, int], ...]
"""For each dimension, the padding before and after; negative numbers crop."""


def _constant_pad(input: Array, widths: Widths, value: Any) -> Array:
    shape = tuple(n + a + b for n, (a, b) in zip(input.shape, widths, strict=True))
    out = np.empty(shape, input.dtype, like=input)
    out.fill(value)
    kept = tuple(
        slice(max(-a, 0), n - max(-b, 0)) for n, (a, b) in zip(input.shape, widths, strict=True)
    )
    place = tuple(slice(max(a, 0), n - max(b, 0)) for n, (a, b) in zip(shape, widths, strict=True))
    out[place] = input[kept]
    return out


CONSTANT_PAD = Op(
    "constant_pad_nd", ("input",), as_image(_constant_pad),
    {"input": lambda g, widths: CONSTANT_PAD(g, widths=tuple((-a, -b) for a, b in widths), value=0)},
    doc="A tensor padded with a constant.", kind=MOVEMENT,
)  # fmt: skip


@function
def constant_pad_nd(input: Tensor, pad: Sequence[int], value: Any = 0) -> Tensor:
    """A tensor padded with a constant; the widths begin with the last dimension."""
    if len(pad) % 2:
        raise RuntimeError(f"Length of pad must be even but instead it equals {len(pad)}")
    if len(pad) > 2 * input.ndim:
        raise RuntimeError(
            f"Length of pad should be no more than twice the number of dimensions of the input. Pad length "
            f"is {len(pad)} while the input has {input.ndim} dimensions."
        )
    widths = _widths(pad, input.ndim)
    for d, (n, (a, b)) in enumerate(zip(input._array.shape, widths, strict=True)):
        if n + min(a, 0) + min(b, 0) < 0:
            raise RuntimeError(
                f"The input size {n}, plus negative padding {a} and {b} resulted in a negative output size, "
                f"which is invalid. Check dimension {d} of your input."
            )
    value = exact_number(value if any(map(any, widths)) else 0, input.dtype)
    return bind(CONSTANT_PAD, (input,), {"widths": widths, "value": value})


def _widths(pad: Sequence[int], ndim: int) -> Widths:
    """The widths of all dimensions, in the order of the dimensions."""
    given = [(int(pad[i]), int(pad[i + 1])) for i in range(0, len(pad), 2)]
    return tuple([(0, 0)] * (ndim - len(given)) + given[::-1])


# --- Modes that repeat the tensor's own elements ---------------------------------------------------


@lru_cache(256)
@from_sizes
def _reflected(size: int, before: int, after: int) -> Array:
    places = np.abs(np.arange(-before, size + after))
    return np.where(places >= size, 2 * (size - 1) - places, places)


@lru_cache(256)
@from_sizes
def _replicated(size: int, before: int, after: int) -> Array:
    return np.clip(np.arange(-before, size + after), 0, size - 1)


@lru_cache(256)
@from_sizes
def _circled(size: int, before: int, after: int) -> Array:
    if before > size or after > size:
        raise RuntimeError(
            f"Padding value causes wrapping around more than once: ({before}, {after}) for size {size}"
        )
    if size + before + after < 0:
        raise RuntimeError(
            f"Negative padding value is resulting in an empty dimension: ({before}, {after}) for size {size}"
        )
    kept = np.arange(max(-before, 0), size - max(-after, 0))
    if not len(kept) and max(before, after) > 0:
        raise RuntimeError(
            f"Padding by ({before}, {after}) leaves nothing of a dimension of size {size} to repeat"
        )
    return kept[np.arange(-max(before, 0), len(kept) + max(after, 0)) % max(len(kept), 1)]


_PLACES: dict[str, Callable[[int, int, int], Array]] = {
    "reflect": _reflected,
    "replicate": _replicated,
    "circular": _circled,
}


def pad(input: Tensor, pad: Sequence[int], mode: str = "constant", value: Any = None) -> Tensor:
    """A tensor padded with a constant, by reflection, by replication of its edge, or circular."""
    check_tensor("pad", input)
    if len(pad) % 2:
        raise RuntimeError("Padding length must be divisible by 2")
    if len(pad) > 2 * input.ndim:
        raise RuntimeError(
            "Padding length should be less than or equal to two times the input dimension but got padding length "
            f"{len(pad)} and input of dimension {input.ndim}"
        )
    if mode == "constant":
        return constant_pad_nd(input, pad, 0 if value is None else value)
    if mode not in _PLACES:
        raise NotImplementedError(f"Unrecognised padding mode {mode}")
    if value is not None and value != 0:
        raise RuntimeError(f'Padding mode "{mode}" doesn\'t take in value argument')
    dims = len(pad) // 2
    if dims not in (1, 2, 3) or input.ndim not in (dims + 1, dims + 2):
        raise NotImplementedError(
            f"Padding size {len(pad)} is not supported for {input.ndim}D input tensor.\n"
            "Supported combinations for non-constant padding:\n"
            "  - 2D or 3D input: padding size = 2 (pads last dimension)\n"
            "  - 3D or 4D input: padding size = 4 (pads last 2 dimensions)\n"
            "  - 4D or 5D input: padding size = 6 (pads last 3 dimensions)"
        )
    return _repeat_own(input, _widths(pad, input.ndim), mode, input.ndim == dims + 2)


def _repeat_own(input: Tensor, widths: Widths, mode: str, batched: bool) -> Tensor:
    if mode != "circular" and input.dtype is dtypes.bool_:
        raise NotImplementedError(f"\"{mode}_padding\" not implemented for 'Bool'")
    if mode != "circular" and 0 in input._array.shape[batched:]:
        raise RuntimeError(
            f"Expected input to have non-zero size for non-batch dimensions, but got {list(input.shape)}"
        )
    out = input
    for d, (before, after) in enumerate(widths):
        if before or after:
            size = input._array.shape[d]
            if size + before + after < 1 and mode != "circular":
                raise RuntimeError(
                    f"input (dim {d}: {size}) is too small for padding ({before}, {after})"
                )
            if mode == "reflect" and max(before, after) >= size:
                raise RuntimeError(
                    "Argument #4: Padding size should be less than the corresponding input dimension, "
                    f"but got: padding ({before}, {after}) at dimension {d} of input {list(input.shape)}"
                )
            out = out.index_select(d, wrap_beside(_PLACES[mode](size, before, after), out))
    if out is input:
        return input.clone()
    last = mode != "circular" and has_channels_last(input._array)
    return out.contiguous(memory_format=channels_last) if last else out
