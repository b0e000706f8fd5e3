"""Resized images: `interpolate` and its old names.

Every mode is a linear map along each dimension: an output is a weighted sum of some inputs.
A `Taps` table holds indices and weights; the record applies the tables of all dimensions, the
last one first, and its derivative applies their transposes.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from .. import dtypes
from ..fixed import from_sizes
from ..interpreters import composite
from ..tensor import Array, Tensor
from .layout import as_image
from .pooling import adaptive_avg_pool1d, adaptive_avg_pool2d, adaptive_avg_pool3d
from .precision import in_single, require_floats
from .record import Op, bind


class Taps(NamedTuple):
    """Along one dimension: output i is the sum over k of weights[i, k] * input[places[i, k]]."""

    size: int  # of the input
    places: Array
    weights: Array | None  # None: all are 1, and there is one for each output


# --- Records -----------------------------------------------------------------------------------


def _apply(x: Array, taps: Taps, axis: int) -> Array:
    if taps.weights is None:
        return x.take(np.asarray(taps.places[:, 0], like=x), axis=axis)
    out: Any = 0
    for k in range(taps.places.shape[1]):
        places = np.asarray(taps.places[:, k], like=x)
        out = out + x.take(places, axis=axis) * _along(taps.weights[:, k], axis, x)
    return out


def _apply_back(g: Array, taps: Taps, axis: int) -> Array:
    """The gradients of outputs added to their inputs; indices never decrease, so equal ones are neighbours."""
    shape = (*g.shape[:axis], taps.size, *g.shape[axis + 1 :])
    out = np.zeros(shape, g.dtype)
    for k in range(taps.places.shape[1]):
        part = g if taps.weights is None else g * _along(taps.weights[:, k], axis, g)
        distinct, starts = np.unique(taps.places[:, k], return_index=True)
        out[(slice(None),) * axis + (distinct,)] += np.add.reduceat(part, starts, axis=axis)
    return out


def _along(weights: Array, axis: int, like: Array) -> Array:
    own = np.asarray(weights.astype(like.dtype), like=like)
    return own.reshape(-1, *(1,) * (like.ndim - axis - 1))


def _apply_to_bytes(x: Array, taps: Taps, axis: int) -> Array:
    """The same for uint8, with weights of 16 bits; rounded and clipped."""
    if taps.weights is None:
        return x.take(taps.places[:, 0], axis=axis)
    weights = _merged(taps)
    bits = min(math.floor(math.log2((2**15 - 0.5) / weights.max())), 22)
    whole = np.trunc(weights * 2.0**bits + np.copysign(0.5, weights)).astype(np.int64)
    total = _apply(x.astype(np.int64), taps._replace(weights=whole), axis)
    return np.clip((total + (1 << (bits - 1))) >> bits, 0, 255).astype(np.uint8)


def _merged(taps: Taps) -> Array:
    """The weights, with those of equal indices (at the image's border) added up."""
    weights = np.array(taps.weights)
    for k in range(1, weights.shape[1]):
        again = taps.places[:, k] == taps.places[:, k - 1]
        weights[again, k] += weights[again, k - 1]
        weights[again, k - 1] = 0
    return weights


def _resample(input: Array, tables: tuple[Taps, ...]) -> Array:
    along = _apply_to_bytes if input.dtype == np.uint8 else _apply
    for axis in range(input.ndim - 1, 1, -1):
        input = along(input, tables[axis - 2], axis)
    return input


def _resample_back(grad: Array, tables: tuple[Taps, ...]) -> Array:
    for axis in range(2, grad.ndim):
        grad = _apply_back(grad, tables[axis - 2], axis)
    return grad


RESAMPLE = Op(
    "upsample", ("input",), as_image(in_single(_resample)),
    {"input": lambda g, tables: bind(RESAMPLE_BACKWARD, (g,), {"tables": tables})},
    doc="Weighted sums of inputs, by a table for each dimension.",
)  # fmt: skip
RESAMPLE_BACKWARD = Op(
    "upsample_backward", ("grad",), in_single(_resample_back),
    {"grad": lambda g, tables: bind(RESAMPLE, (g,), {"tables": tables})},
)  # fmt: skip


# --- Tables --------------------------------------------------------------------------------------


def _step(size: int, out: int, scale: float | None, align: bool, real: Any) -> Any:
    """The distance of neighbouring outputs, in input pixels."""
    if align:
        return real(size - 1) / real(out - 1) if out > 1 else real(0)
    return real(1.0 / scale) if scale else real(size) / real(out)


def _positions(size: int, out: int, scale: float | None, align: bool, real: Any) -> Array:
    """The input coordinate of each output; `align`: pixels are points, else squares."""
    step, i = _step(size, out, scale, align, real), np.arange(out, dtype=real)
    return i * step if align else step * (i + real(0.5)) - real(0.5)


def _nearest(
    size: int, out: int, scale: float | None, align: bool, real: Any, offset: float = 0.0
) -> Taps:
    step = _step(size, out, scale, False, np.float32)
    places = np.floor((np.arange(out, dtype=np.float32) + np.float32(offset)) * step).astype(
        np.int64
    )
    return Taps(size, np.minimum(places, size - 1)[:, None], None)


def _nearest_exact(size: int, out: int, scale: float | None, align: bool, real: Any) -> Taps:
    return _nearest(size, out, scale, align, real, 0.5)


def _linear(size: int, out: int, scale: float | None, align: bool, real: Any) -> Taps:
    at = np.maximum(_positions(size, out, scale, align, real), 0)
    first = np.minimum(at.astype(np.int64), size - 1)
    part = np.clip(at - first, 0, 1)
    places = np.stack([first, np.minimum(first + 1, size - 1)], 1)
    return Taps(size, places, np.stack([1 - part, part], 1).astype(real))


def _cubic(size: int, out: int, scale: float | None, align: bool, real: Any) -> Taps:
    at = _positions(size, out, scale, align, real)
    first = np.floor(at)
    part = np.clip(at - first, 0, 1)
    places = first.astype(np.int64)[:, None] + np.arange(-1, 3)
    return Taps(size, np.clip(places, 0, size - 1), np.stack(cubic_weights(part), 1).astype(real))


def cubic_weights(t: Any, a: float = -0.75) -> list[Any]:
    """Weights of cubic interpolation for four neighbours, of a point at t between the middle two."""

    def near(x: Any) -> Any:
        return ((a + 2) * x - (a + 3)) * x * x + 1

    def far(x: Any) -> Any:
        return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a

    return [far(t + 1), near(t), near(1 - t), far(2 - t)]


# Filters for `antialias`, which average over the pixels that an output covers, and their radius.


def _triangle(x: Array) -> Array:
    return np.maximum(1 - np.abs(x), 0)


def _smooth_cubic(x: Array, a: float = -0.5) -> Array:
    x = np.abs(x)
    near, far = ((a + 2) * x - (a + 3)) * x * x + 1, (((x - 5) * x + 8) * x - 4) * a
    return np.where(x < 1, near, np.where(x < 2, far, 0))


def _lanczos(x: Array) -> Array:
    return np.where(np.abs(x) < 3, np.sinc(x) * np.sinc(x / 3), 0)


def _averaging(shape: Callable[[Array], Array], reach: float) -> Callable[..., Taps]:
    def table(size: int, out: int, scale: float | None, align: bool, real: Any) -> Taps:
        step = float(_step(size, out, scale, align, real))
        stretch = max(step, 1.0)
        center = step * (np.arange(out) + 0.5)
        first = np.maximum((center - reach * stretch + 0.5).astype(np.int64), 0)
        last = np.minimum((center + reach * stretch + 0.5).astype(np.int64), size)
        places = first[:, None] + np.arange(int((last - first).max()))
        weights = shape((places - center[:, None] + 0.5) / stretch)
        weights = np.where(places < last[:, None], weights, 0)
        weights /= weights.sum(1, keepdims=True)
        return Taps(size, np.minimum(places, size - 1), weights.astype(real))

    return table


_TABLES: dict[tuple[str, bool], Callable[..., Taps]] = {
    ("nearest", False): _nearest,
    ("nearest-exact", False): _nearest_exact,
    ("linear", False): _linear,
    ("bilinear", False): _linear,
    ("trilinear", False): _linear,
    ("bicubic", False): _cubic,
    ("bilinear", True): _averaging(_triangle, 1.0),
    ("bicubic", True): _averaging(_smooth_cubic, 2.0),
    ("lanczos", True): _averaging(_lanczos, 3.0),
}


@lru_cache(maxsize=256)
@from_sizes
def _table(
    mode: str, antialias: bool, size: int, out: int, scale: float | None, align: bool, real: Any
) -> Taps:
    return _TABLES[mode, antialias](size, out, scale, align, real)


# --- Functions -----------------------------------------------------------------------------------

_DIMENSIONS = {
    "nearest": (1, 2, 3), "nearest-exact": (1, 2, 3), "area": (1, 2, 3), "linear": (1,), "bilinear": (2,),
    "bicubic": (2,), "lanczos": (2,), "trilinear": (3,),
}  # fmt: skip


@composite
def interpolate(
    input: Tensor,
    size: Any = None,
    scale_factor: Any = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
    recompute_scale_factor: bool | None = None,
    antialias: bool = False,
) -> Tensor:
    """The input resized.

    Args:
        input: (N, C, ...), with one, two or three spatial dimensions
        size: of the result
        scale_factor: a multiple of the input's size instead
        mode: nearest, nearest-exact, linear, bilinear, bicubic, trilinear, area or lanczos
        align_corners: whether the centers of corner pixels are aligned, or the borders of the images
        recompute_scale_factor: whether the scale is computed from the sizes rather than the factor
        antialias: whether shrinking averages over all pixels that an output covers
    """
    _check_mode(input, mode, align_corners, antialias)
    dims = input.ndim - 2
    sizes, scales = _target(
        input, size, scale_factor, dims, bool(recompute_scale_factor), mode == "area"
    )
    _check_dimensions(input, mode)
    if mode == "area":
        return (adaptive_avg_pool1d, adaptive_avg_pool2d, adaptive_avg_pool3d)[dims - 1](
            input, sizes
        )
    if min(sizes, default=1) <= 0 or 0 in input._array.shape[1:]:
        raise RuntimeError(
            f"Input and output sizes should be greater than 0, but got input {list(input.shape)} and output {list(sizes)}"
        )
    if math.prod((*input._array.shape[:2], *sizes)) >= 2**59:
        raise RuntimeError(f"Storage size calculation overflowed with sizes={sizes}")
    if input._array.dtype != np.uint8 or (dims != 2 and not mode.startswith("nearest")):
        require_floats(f"upsample_{mode}", input._array)
    real = np.float64 if input._array.dtype in (np.float64, np.uint8) else np.float32
    tables = tuple(
        _table(mode, bool(antialias), n, out, s, bool(align_corners), real)
        for n, out, s in zip(input._array.shape[2:], sizes, scales, strict=True)
    )
    return bind(RESAMPLE, (input,), {"tables": tables})


def _check_mode(input: Tensor, mode: str, align_corners: bool | None, antialias: bool) -> None:
    if mode in ("nearest", "area", "nearest-exact") and align_corners is not None:
        raise ValueError(
            "align_corners option can only be set with the interpolating modes: linear | bilinear | bicubic | trilinear"
        )
    if antialias and not (mode in ("bilinear", "bicubic", "lanczos") and input.ndim == 4):
        raise ValueError(
            "Anti-alias option is restricted to bilinear, bicubic, and lanczos modes and requires a 4-D tensor as input"
        )
    if mode == "lanczos" and (align_corners or not antialias):
        raise ValueError(
            "Lanczos mode requires antialias=True and does not support align_corners=True"
        )
    if not (align_corners is None or isinstance(align_corners, bool)):
        raise TypeError(
            f"upsample_{mode}(): argument 'align_corners' must be bool, not {type(align_corners).__name__}"
        )


def _check_dimensions(input: Tensor, mode: str) -> None:
    if input.ndim - 2 not in _DIMENSIONS.get(mode, ()):
        raise NotImplementedError(
            f"Input Error: Only 3D, 4D and 5D input Tensors supported (got {input.ndim}D) for the modes: nearest | linear | "
            f"bilinear | bicubic | trilinear | lanczos | area | nearest-exact (got {mode})"
        )


def _target(
    input: Tensor, size: Any, scale: Any, dims: int, recompute: bool, area: bool
) -> tuple[list[int], list[float | None]]:
    """The sizes of the output, and the scale factors."""
    if size is not None and scale is not None:
        raise ValueError("only one of size or scale_factor should be defined")
    if size is not None and recompute:
        raise ValueError("recompute_scale_factor is not meaningful with an explicit size.")
    if size is None and scale is None:
        raise ValueError("either size or scale_factor should be defined")
    given = size if scale is None else scale
    values: list[Any] = list(given) if isinstance(given, (tuple, list)) else [given] * dims
    if len(values) != dims:
        raise ValueError(
            "Input and output must have the same number of spatial dimensions, but got input with spatial dimensions of "
            f"{list(input.shape[2:])} and {'output size' if scale is None else 'scale_factor'} of {given}."
        )
    if scale is None:
        return [_whole(v) for v in values], [None] * dims
    factors = [_factor(s, recompute or area) for s in values]
    wanted = [float(n) * s for n, s in zip(input._array.shape[2:], factors, strict=True)]
    if recompute or area:
        return [math.floor(n) for n in wanted], [None] * dims
    if not all(abs(n) < 2**63 for n in wanted):
        raise RuntimeError("value cannot be converted to type int64_t without overflow")
    return [math.floor(n) for n in wanted], [*factors]


def _factor(value: Any, multiplied: bool) -> float:
    """A scale factor; a tensor is accepted only if sizes are recomputed from it."""
    if isinstance(value, (int, float, np.number)) or (multiplied and isinstance(value, Tensor)):
        return float(value)
    raise TypeError(f"expected scale_factor to be float, but got {type(value).__name__}")


def _whole(value: Any) -> int:
    if isinstance(value, Tensor) and value.dtype is dtypes.bool_:
        raise RuntimeError("expected size to be an integer, but got a tensor of torch.bool")
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise TypeError(
            f"expected size to be one of int or Tuple[int], but got {type(value).__name__}"
        )
    return value.__index__()


def upsample(
    input: Tensor,
    size: Any = None,
    scale_factor: Any = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
) -> Tensor:
    """`interpolate` under its old name."""
    return interpolate(input, size, scale_factor, mode, align_corners)


def upsample_nearest(input: Tensor, size: Any = None, scale_factor: Any = None) -> Tensor:
    """`interpolate` to the nearest pixel."""
    return interpolate(input, size, scale_factor, mode="nearest")


def upsample_bilinear(input: Tensor, size: Any = None, scale_factor: Any = None) -> Tensor:
    """`interpolate` between four pixels, corners aligned."""
    return interpolate(input, size, scale_factor, mode="bilinear", align_corners=True)
