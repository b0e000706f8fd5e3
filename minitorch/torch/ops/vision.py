"""Operations on images: grid sampling, unfold and fold, pixel shuffle."""

from __future__ import annotations

import itertools
import math
import warnings
from typing import Any

import numpy as np

from .. import dtypes
from ..environment import contiguous_format
from ..formulas import conv
from ..interpreters import composite
from ..tensor import Array, Tensor, tracks, wrap, wrap_beside
from .comparison import where
from .interpolation import cubic_weights
from .precision import require_floats
from .promotion import plain_integers
from .ranges import linspace
from .record import MOVEMENT, Op, bind
from .surface import FUNCTIONS, function

# --- Windows as columns ----------------------------------------------------------------------------

UNFOLD = Op(
    "im2col", ("input",), lambda input, window: conv.unfold(input, *window),
    {"input": lambda g, shapes, window: bind(FOLD, (g,), {"size": shapes[0][2:], "window": window})},
    doc="Windows of images as columns.", kind=MOVEMENT,
)  # fmt: skip
FOLD = Op(
    "col2im", ("input",), lambda input, size, window: conv.fold(input, size, *window),
    {"input": lambda g, window: bind(UNFOLD, (g,), {"window": window})},
    doc="Columns summed as overlapping windows of images.",
)  # fmt: skip


def _pair(what: str, value: Any) -> tuple[int, int]:
    """Two integers, from one for both or one for each."""
    if isinstance(value, Tensor):
        value = list(value)
    sizes = plain_integers(value, "unfold", what)
    if not isinstance(value, (tuple, list)):
        return sizes * 2  # type: ignore[return-value]
    if len(sizes) != 2:
        raise RuntimeError(f"It is expected {what} equals to 2, but got size {len(sizes)}")
    return sizes


def _window(kernel_size: Any, dilation: Any, padding: Any, stride: Any) -> tuple[Any, ...]:
    """The parameters of `UNFOLD` and `FOLD`, each a pair."""
    return (
        _pair("kernel_size", kernel_size), _pair("dilation", dilation), _pair("padding", padding),
        _pair("stride", stride),
    )  # fmt: skip


def unfold(
    input: Tensor, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1
) -> Tensor:
    """Windows of images (N, C, H, W) as columns (N, C kernel, windows)."""
    if input.ndim not in (3, 4) or 0 in input.shape[-3:]:
        raise RuntimeError(
            "Expected 3D or 4D (batch mode) tensor with possibly 0 batch size and other non-zero dimensions for input, "
            f"but got: {list(input.shape)}"
        )
    require_floats("im2col_out_cpu", input._array, "bfcV")
    window = _window(kernel_size, dilation, padding, stride)
    out = bind(UNFOLD, (input if input.ndim == 4 else input.unsqueeze(0),), {"window": window})
    return out if input.ndim == 4 else out.squeeze(0)


def fold(
    input: Tensor,
    output_size: Any,
    kernel_size: Any,
    dilation: Any = 1,
    padding: Any = 0,
    stride: Any = 1,
) -> Tensor:
    """Columns (N, C kernel, windows) summed as overlapping windows of images."""
    if input.ndim not in (2, 3) or 0 in input.shape[-2:]:
        raise RuntimeError(
            "Expected 2D or 3D (batch mode) tensor for input with possibly 0 batch size and non-zero dimensions for "
            f"input, but got: {list(input.shape)}"
        )
    require_floats("col2im_out_cpu", input._array, "bfcV")
    window = _window(kernel_size, dilation, padding, stride)
    batched = input if input.ndim == 3 else input.unsqueeze(0)
    out = bind(FOLD, (batched,), {"size": _pair("output_size", output_size), "window": window})
    return out if input.ndim == 3 else out.squeeze(0)


# --- Channels as pixels ----------------------------------------------------------------------------


@function
def pixel_shuffle(input: Tensor, upscale_factor: int) -> Tensor:
    """(..., C r², H, W) rearranged to (..., C, H r, W r)."""
    r = upscale_factor
    if input.ndim < 3:
        raise RuntimeError(
            f"pixel_shuffle expects input to have at least 3 dimensions, but got input with {input.ndim} dimension(s)"
        )
    if r <= 0:
        raise RuntimeError(f"pixel_shuffle expects a positive upscale_factor, but got {r}")
    *batch, channels, height, width = input._array.shape
    if channels % (r * r):
        raise RuntimeError(
            f"pixel_shuffle expects its input's 'channel' dimension to be divisible by the square of upscale_factor, but "
            f"input.size(-3)={channels} is not divisible by {r * r}"
        )
    n, kept = len(batch), channels // (r * r)
    split = input.reshape(*batch, kept, r, r, height, width)
    moved = split.permute(*range(n + 1), n + 3, n + 1, n + 4, n + 2)
    copy = moved.clone(memory_format=contiguous_format)
    return copy.view(*batch, kept, height * r, width * r)


@function
def pixel_unshuffle(input: Tensor, downscale_factor: int) -> Tensor:
    """(..., C, H r, W r) rearranged to (..., C r², H, W)."""
    r = downscale_factor
    if input.ndim < 3:
        raise RuntimeError(
            f"pixel_unshuffle expects input to have at least 3 dimensions, but got input with {input.ndim} dimension(s)"
        )
    if r <= 0:
        raise RuntimeError(f"pixel_unshuffle expects a positive downscale_factor, but got {r}")
    *batch, channels, height, width = input._array.shape
    if height % r or width % r:
        raise RuntimeError(
            f"pixel_unshuffle expects height and width to be divisible by downscale_factor, but got {list(input.shape)} and {r}"
        )
    n = len(batch)
    split = input.reshape(*batch, channels, height // r, r, width // r, r)
    moved = split.permute(*range(n + 1), n + 2, n + 4, n + 1, n + 3)
    copy = moved.clone(memory_format=contiguous_format)
    return copy.reshape(*batch, channels * r * r, height // r, width // r)


@function
def channel_shuffle(input: Tensor, groups: int) -> Tensor:
    """The channels of several groups interleaved."""
    if input.ndim < 3:
        raise RuntimeError(
            f"channel_shuffle expects input with > 2 dims, but got input with sizes {list(input.shape)}"
        )
    if groups <= 0:
        raise RuntimeError(
            f"Number of groups to divide channels in must be positive. Value of groups:{groups}"
        )
    batch, channels, *rest = input._array.shape
    if channels % groups:
        raise RuntimeError(
            f"Number of channels must be divisible by groups. Got {channels} channels and {groups} groups."
        )
    return (
        input.reshape(batch, groups, channels // groups, *rest)
        .transpose(1, 2)
        .clone(memory_format=contiguous_format)
        .reshape(input._array.shape)
    )


FUNCTIONS["native_channel_shuffle"] = channel_shuffle


# --- Sampling at points ------------------------------------------------------------------------------

_DEFAULT_CHANGED = (
    "Default grid_sample and affine_grid behavior has changed to align_corners=False since 1.3.0. Please specify "
    "align_corners=True if the old behavior is desired. See the documentation of grid_sample for details."
)


def affine_grid(theta: Tensor, size: Any, align_corners: bool | None = None) -> Tensor:
    """A grid for `grid_sample`: an affine map applied to each pixel's coordinates in [-1, 1]."""
    if align_corners is None:
        warnings.warn(_DEFAULT_CHANGED, stacklevel=2)
    if not theta.dtype.is_floating_point:
        raise ValueError(f"Expected theta to have floating point type, but got {theta.dtype}")
    dims = len(size) - 2
    if dims not in (2, 3):
        raise NotImplementedError(
            f"affine_grid only supports 4D and 5D sizes, for 2D and 3D affine transforms, respectively. Got size {size}."
        )
    if theta.ndim != 3 or tuple(theta.shape[1:]) != (dims, dims + 1):
        raise ValueError(
            f"Expected a batch of {dims}D affine matrices of shape Nx{dims}x{dims + 1} for size {size}. Got {theta.shape}."
        )
    if min(size) <= 0:
        raise ValueError(f"Expected non-zero, positive output size. Got {size}")
    axes = [_centers(n, bool(align_corners), theta.dtype) for n in size[2:]]
    mesh = np.meshgrid(*axes, indexing="ij")[::-1]  # x first
    points = np.stack([*mesh, np.ones_like(mesh[0])], -1).reshape(1, -1, dims + 1)
    return (wrap_beside(points, theta) @ theta.transpose(1, 2)).reshape(
        theta.shape[0], *size[2:], dims
    )


def _centers(count: int, align: bool, kind: dtypes.dtype) -> Array:
    """The coordinates of pixel centers in [-1, 1]."""
    if count <= 1:
        return np.zeros(count, kind.numpy)
    ends = linspace(-1, 1, count, dtype=kind, device="cpu")
    return (ends if align else ends * (count - 1) / count)._array


@composite
def grid_sample(
    input: Tensor,
    grid: Tensor,
    mode: str = "bilinear",
    padding_mode: str = "zeros",
    align_corners: bool | None = None,
) -> Tensor:
    """The image sampled at points of a grid, with coordinates in [-1, 1].

    Args:
        input: (N, C, H, W) or (N, C, D, H, W)
        grid: points (N, ..., 2 or 3), x first
        mode: bilinear, nearest or bicubic
        padding_mode: values outside the image: zeros, border or reflection
        align_corners: whether -1 and 1 are the centers of corner pixels, or their outer edges
    """
    _check_grid(input, grid, mode, padding_mode)
    if align_corners is None:
        warnings.warn(_DEFAULT_CHANGED, stacklevel=2)
    sizes = input._array.shape[2:]
    dims = len(sizes)
    shape = grid._array.shape
    points = grid.reshape(shape[0], -1, dims)
    places = [
        _pixel(points.select(-1, dims - 1 - d), sizes[d], bool(align_corners), dims)
        for d in range(dims)
    ]
    if mode != "bicubic":
        places = [
            _folded_back(p, n, padding_mode, bool(align_corners))
            for p, n in zip(places, sizes, strict=True)
        ]
    taps = [_TAPS[mode](p) for p in places]
    if mode == "bicubic":
        taps = [
            [(_folded_back(at, n, padding_mode, bool(align_corners)), w) for at, w in along]
            for along, n in zip(taps, sizes, strict=True)
        ]
    out = _gathered(input.reshape(*input._array.shape[:2], math.prod(sizes)), sizes, taps)
    return out.reshape(*input._array.shape[:2], *shape[1:-1])


def _gathered(planes: Tensor, sizes: tuple[int, ...], taps: list[list[Any]]) -> Tensor:
    """The weighted sum of all combinations of taps; those outside the image count as 0."""
    total: Any = 0
    for corner in itertools.product(*taps):
        index: Any = 0
        inside: Any = True
        weight: Any = 1.0
        for (at, w), n in zip(corner, sizes, strict=True):
            place = (
                np.nan_to_num(at._array.astype(np.float64), nan=-1.0).clip(-1, n).astype(np.int64)
            )
            inside = inside & (place >= 0) & (place < n)
            index = index * n + place.clip(0, n - 1)
            weight = weight * w
        flat = wrap(index)[:, None, :].expand(planes.shape[0], planes.shape[1], index.shape[-1])
        values = planes.gather(2, flat)
        share = weight if isinstance(weight, Tensor) else planes.new_full(index.shape, weight)
        total = total + values * where(wrap(inside), share, 0).unsqueeze(1)
    return total


def _pixel(x: Tensor, size: int, align: bool, dims: int) -> Tensor:
    """A coordinate in [-1, 1] in pixels, rounded as in PyTorch: derivatives jump at whole pixels."""
    if dims == 3:
        return (x + 1) / 2 * (size - 1) if align else ((x + 1) * size - 1) / 2
    return (x + 1) * ((size - 1) / 2) if align else (x + 1) * (size / 2) - 0.5


def _folded_back(x: Tensor, size: int, padding_mode: str, align: bool) -> Tensor:
    """A coordinate clipped or reflected into the image, if the padding mode says so."""
    if padding_mode == "zeros":
        return x
    if padding_mode == "reflection":
        low, span = (0.0, size - 1) if align else (-0.5, size)
        if span == 0:
            return x * 0
        away = (x - low).abs()
        turns = (away.detach() / span).floor()
        rest = away - turns * span
        x = where(turns % 2 == 0, rest + low, span - rest + low)
    return x.clamp(0, size - 1)


def _nearest_tap(x: Tensor) -> list[Any]:
    """The nearest pixel, with weight 1, so its derivative is 0."""
    return [
        (
            x.detach().round(),
            x.masked_fill(wrap_beside(np.array(True), x), 1.0) if tracks(x) else 1.0,
        )
    ]


def _linear_taps(x: Tensor) -> list[Any]:
    first = x.detach().floor()
    return [(first, first + 1 - x), (first + 1, x - first)]


def _cubic_taps(x: Tensor) -> list[Any]:
    first = x.detach().floor()
    weights = cubic_weights(x - first)
    return [(first + k, w) for k, w in zip(range(-1, 3), weights, strict=True)]


_TAPS = {"nearest": _nearest_tap, "bilinear": _linear_taps, "bicubic": _cubic_taps}


def _check_grid(input: Tensor, grid: Tensor, mode: str, padding_mode: str) -> None:
    if mode not in tuple(_TAPS):
        raise ValueError(
            f"nn.functional.grid_sample(): expected mode to be 'bilinear', 'nearest' or 'bicubic', but got: '{mode}'"
        )
    if padding_mode not in ("zeros", "border", "reflection"):
        raise ValueError(
            f"nn.functional.grid_sample(): expected padding_mode to be 'zeros', 'border', or 'reflection', but got: '{padding_mode}'"
        )
    shapes = f"input of {list(input.shape)} and grid of {list(grid.shape)}"
    if input.dtype is not grid.dtype:
        raise RuntimeError(
            f"grid_sampler(): expected input and grid to have same dtype, but got {input.dtype} and {grid.dtype}"
        )
    if input.ndim not in (4, 5) or grid.ndim != input.ndim:
        raise RuntimeError(
            f"grid_sampler(): expected 4D or 5D input and grid with same number of dimensions, but got {shapes}"
        )
    if input.shape[0] != grid.shape[0] or grid.shape[-1] != input.ndim - 2:
        raise RuntimeError(
            f"grid_sampler(): expected batch sizes to match and grid to have size {input.ndim - 2} in last dimension, but got {shapes}"
        )
    if 0 in input.shape[2:]:
        raise RuntimeError(
            f"grid_sampler(): expected input to have non-empty spatial dimensions, but got {shapes}"
        )
    if mode == "bicubic" and input.ndim == 5:
        raise RuntimeError("grid_sampler(): bicubic interpolation only supports 4D input")
    if input.dtype.kind < dtypes.FLOATING:
        raise NotImplementedError(f'"grid_sampler_2d_cpu" not implemented for {input.dtype}')


def _declare_sampler(name: str, *dims: int) -> None:
    """Declare `torch.grid_sampler(input, grid, mode, padding, align_corners)`, with integers for the modes."""

    def call(
        input: Tensor, grid: Tensor, interpolation_mode: int, padding_mode: int, align_corners: bool
    ) -> Tensor:
        if input.ndim not in dims:
            raise RuntimeError(
                f"grid_sampler(): expected {dims[0]}D input and grid with same number of dimensions, but got "
                f"input with sizes {list(input.shape)} and grid with sizes {list(grid.shape)}"
            )
        modes = ("bilinear", "nearest", "bicubic"), ("zeros", "border", "reflection")
        for i, given in zip((interpolation_mode, padding_mode), modes, strict=True):
            if not 0 <= i < 3:
                raise RuntimeError(f"{name}(): mode {i} is none of {given}")
        return grid_sample(
            input, grid, modes[0][interpolation_mode], modes[1][padding_mode], align_corners
        )

    call.__name__, call.__doc__ = name, "The image sampled at points with coordinates in [-1, 1]."
    function(call)


_declare_sampler("grid_sampler", 4, 5)
_declare_sampler("grid_sampler_2d", 4)
_declare_sampler("grid_sampler_3d", 5)
FUNCTIONS["affine_grid_generator"] = affine_grid
