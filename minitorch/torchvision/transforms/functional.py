"""Transforms as functions: of Pillow's pictures and of tensors (..., C, H, W)."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from enum import Enum
from typing import Any

import numpy as np

from ... import torch
from ...torch import Tensor
from ...torch.nn import functional as F
from ..pillow import load, picture
from .colors import adjust_brightness as adjust_brightness
from .colors import adjust_contrast as adjust_contrast
from .colors import adjust_hue as adjust_hue
from .colors import adjust_saturation as adjust_saturation
from .colors import erase as erase
from .colors import gaussian_blur as gaussian_blur
from .colors import invert as invert
from .colors import rgb_to_grayscale as rgb_to_grayscale
from .colors import to_grayscale as to_grayscale
from .enhancements import adjust_gamma as adjust_gamma
from .enhancements import adjust_sharpness as adjust_sharpness
from .enhancements import autocontrast as autocontrast
from .enhancements import equalize as equalize
from .enhancements import posterize as posterize
from .enhancements import solarize as solarize
from .pictures import Picture as Picture
from .pictures import convert_image_dtype as convert_image_dtype
from .pictures import get_dimensions as get_dimensions
from .pictures import get_image_num_channels as get_image_num_channels
from .pictures import get_image_size as get_image_size
from .pictures import like
from .pictures import normalize as normalize
from .pictures import pil_to_tensor as pil_to_tensor
from .pictures import to_pil_image as to_pil_image
from .pictures import to_tensor as to_tensor


class InterpolationMode(Enum):
    """How pixels between pixels are computed."""

    NEAREST = "nearest"
    NEAREST_EXACT = "nearest-exact"
    BILINEAR = "bilinear"
    BICUBIC = "bicubic"
    BOX = "box"
    HAMMING = "hamming"
    LANCZOS = "lanczos"


_BY_NUMBER = ["nearest", "lanczos", "bilinear", "bicubic", "box", "hamming"]
"""Pillow's numbers of the ways."""


def _mode_of(interpolation: Any) -> InterpolationMode:
    """A way to interpolate, which may be given by Pillow's number."""
    if isinstance(interpolation, int):
        return InterpolationMode(_BY_NUMBER[interpolation])
    if not isinstance(interpolation, InterpolationMode):
        raise TypeError(
            "Argument interpolation should be a InterpolationMode or a corresponding Pillow "
            "integer constant"
        )
    return interpolation


def _pillow_number(interpolation: Any) -> int:
    """Pillow's number of a way to interpolate."""
    return _BY_NUMBER.index(_mode_of(interpolation).value.removesuffix("-exact"))


# --- Size and place -------------------------------------------------------------------------------


def _resized(height: int, width: int, size: Sequence[int], longest: int | None) -> list[int]:
    """The new height and width; one number is the length of the shorter side."""
    if len(size) == 2:
        return list(size)
    short, long = min(height, width), max(height, width)
    new_short, new_long = size[0], int(size[0] * long / short)
    if longest is not None:
        if longest <= size[0]:
            raise ValueError(
                f"max_size = {longest} must be strictly greater than the requested size for the "
                f"smaller edge size = {size}"
            )
        if new_long > longest:
            new_short, new_long = int(longest * new_short / new_long), longest
    return [new_long, new_short] if width <= height else [new_short, new_long]


def resize(
    img: Picture,
    size: Any,
    interpolation: Any = InterpolationMode.BILINEAR,
    max_size: int | None = None,
    antialias: bool | None = True,
) -> Picture:
    """A picture in another size: (height, width), or the length of its shorter side."""
    way = _mode_of(interpolation)
    size = [size] if isinstance(size, int) else list(size)
    if len(size) not in (1, 2):
        raise ValueError(
            "Size must be an int or a 1 or 2 element tuple/list, not a "
            f"{len(size)} element tuple/list"
        )
    if max_size is not None and len(size) != 1:
        raise ValueError(
            "max_size should only be passed if size specifies the length of the smaller edge, i.e. "
            "size should be an int or a sequence of length 1 in torchscript mode."
        )
    _, height, width = get_dimensions(img)
    target = _resized(height, width, size, max_size)
    if [height, width] == target:
        return img
    if not isinstance(img, Tensor):
        if antialias is False:
            warnings.warn(
                "Anti-alias option is always applied for PIL Image input. Argument antialias is "
                "ignored.",
                stacklevel=2,
            )
        return img.resize(target[::-1], _pillow_number(way))
    smooth = way.value in ("bilinear", "bicubic")
    antialias = bool(antialias) and smooth
    images = img.reshape(-1, *get_dimensions(img))
    real = images if images.is_floating_point() else images.to(torch.float32)
    out: Any = F.interpolate(
        real, target, mode=way.value, align_corners=False if smooth else None, antialias=antialias
    )
    if way is InterpolationMode.BICUBIC and img.dtype is torch.uint8:
        out = out.clamp(0, 255)
    return like(out, img).reshape(*img.shape[:-2], *target)


def _sides(padding: Any) -> tuple[int, int, int, int]:
    """Left, top, right and bottom, from one, two or four numbers."""
    given = [padding] if isinstance(padding, int) else list(padding)
    if len(given) not in (1, 2, 4):
        raise ValueError(
            f"Padding must be an int or a 1, 2, or 4 element tuple, not a {len(given)} element tuple"
        )
    left, top, right, bottom = given * (4 // len(given))
    return left, top, right, bottom


def pad(img: Picture, padding: Any, fill: Any = 0, padding_mode: str = "constant") -> Picture:
    """A picture with a border: of one color, or of its own pixels."""
    if padding_mode not in ("constant", "edge", "reflect", "symmetric"):
        raise ValueError("Padding mode should be either constant, edge, reflect or symmetric")
    left, top, right, bottom = _sides(padding)
    if isinstance(img, Tensor):
        return _padded(img, (left, right, top, bottom), fill, padding_mode)
    if padding_mode == "constant":
        return load("ImageOps").expand(img, (left, top, right, bottom), fill=_color(fill, img))
    array = np.asarray(img)
    borders = [(top, bottom), (left, right), (0, 0)][: array.ndim]
    return picture(np.pad(array, borders, mode=padding_mode))  # type: ignore[call-overload]


def _padded(img: Tensor, sides: tuple[int, int, int, int], fill: Any, mode: str) -> Tensor:
    left, right, top, bottom = sides
    if mode == "symmetric" or not img.is_floating_point():
        borders = [(0, 0)] * (img.ndim - 2) + [(top, bottom), (left, right)]
        options = {"constant_values": fill or 0} if mode == "constant" else {}
        return torch.from_numpy(np.pad(img.numpy(), borders, mode=mode, **options))  # type: ignore[call-overload]
    mode = {"edge": "replicate"}.get(mode, mode)
    options = {"value": float(fill or 0)} if mode == "constant" else {}
    return F.pad(img, list(sides), mode=mode, **options)


def _color(fill: Any, img: Any) -> Any:
    """A color as Pillow takes it for a picture."""
    channels = len(img.getbands())
    fill = 0 if fill is None else fill
    if isinstance(fill, (int, float)):
        fill = [fill] * channels
    fill = list(fill) * channels if len(fill) == 1 else list(fill)
    if len(fill) != channels:
        raise ValueError(
            "The number of elements in 'fill' does not match the number of channels of the image "
            f"({len(fill)} != {channels})"
        )
    color = tuple(fill if img.mode == "F" else map(int, fill))
    return color[0] if channels == 1 else color


def crop(img: Picture, top: int, left: int, height: int, width: int) -> Picture:
    """Part of a picture; what is outside of it is black."""
    if not isinstance(img, Tensor):
        return img.crop((left, top, left + width, top + height))
    bottom, right = top + height, left + width
    _, rows, columns = get_dimensions(img)
    part = img[..., max(top, 0) : max(bottom, 0), max(left, 0) : max(right, 0)]
    if top < 0 or left < 0 or bottom > rows or right > columns:
        sides = [
            max(min(right, 0) - left, 0), max(-top, 0) if bottom >= 0 else height,
            max(right - max(columns, left), 0), max(bottom - max(rows, top), 0),
        ]  # fmt: skip
        return pad(part, sides)
    return part


def center_crop(img: Picture, output_size: Any) -> Picture:
    """The middle of a picture; with a black border where it is too small."""
    size = [output_size] if isinstance(output_size, int) else list(output_size)
    height, width = size * 2 if len(size) == 1 else size
    _, rows, columns = get_dimensions(img)
    if width > columns or height > rows:
        wide, high = max(width - columns, 0), max(height - rows, 0)
        img = pad(img, [wide // 2, high // 2, (wide + 1) // 2, (high + 1) // 2])
        _, rows, columns = get_dimensions(img)
        if (height, width) == (rows, columns):
            return img
    top, left = round((rows - height) / 2.0), round((columns - width) / 2.0)
    return crop(img, top, left, height, width)


def resized_crop(
    img: Picture,
    top: int,
    left: int,
    height: int,
    width: int,
    size: Any,
    interpolation: Any = InterpolationMode.BILINEAR,
    antialias: bool | None = True,
) -> Picture:
    """Part of a picture, in another size."""
    return resize(crop(img, top, left, height, width), size, interpolation, antialias=antialias)


def five_crop(img: Picture, size: Any) -> tuple[Picture, ...]:
    """The four corners and the middle."""
    size = [size] if isinstance(size, int) else list(size)
    height, width = size * 2 if len(size) == 1 else size
    _, rows, columns = get_dimensions(img)
    if width > columns or height > rows:
        raise ValueError(f"Requested crop size {size} is bigger than input size {(rows, columns)}")
    corners = [(t, l) for t in (0, rows - height) for l in (0, columns - width)]  # noqa: E741
    return (
        *(crop(img, top, left, height, width) for top, left in corners),
        center_crop(img, [height, width]),
    )


def ten_crop(img: Picture, size: Any, vertical_flip: bool = False) -> tuple[Picture, ...]:
    """The four corners and the middle, also mirrored."""
    mirrored = vflip(img) if vertical_flip else hflip(img)
    return five_crop(img, size) + five_crop(mirrored, size)


def hflip(img: Picture) -> Picture:
    """Left and right exchanged."""
    return img.flip(-1) if isinstance(img, Tensor) else img.transpose(0)


def vflip(img: Picture) -> Picture:
    """Top and bottom exchanged."""
    return img.flip(-2) if isinstance(img, Tensor) else img.transpose(1)


def _inverse_matrix(
    center: Sequence[float],
    angle: float,
    translate: Sequence[float],
    scale: float,
    shear: Sequence[float],
) -> list[float]:
    """Where in the old picture a point of the new one comes from, as six numbers.

    The new picture is scaled, sheared and turned around a center, then moved.
    """
    turn, (sx, sy) = math.radians(angle), map(math.radians, shear)
    (cx, cy), (tx, ty) = center, translate
    a = math.cos(turn - sy) / math.cos(sy)
    b = -math.cos(turn - sy) * math.tan(sx) / math.cos(sy) - math.sin(turn)
    c = math.sin(turn - sy) / math.cos(sy)
    d = -math.sin(turn - sy) * math.tan(sx) / math.cos(sy) + math.cos(turn)
    m = [v / scale for v in (d, -b, 0.0, -c, a, 0.0)]
    m[2] += m[0] * (-cx - tx) + m[1] * (-cy - ty) + cx
    m[5] += m[3] * (-cx - tx) + m[4] * (-cy - ty) + cy
    return m


def rotate(
    img: Picture,
    angle: float,
    interpolation: Any = InterpolationMode.NEAREST,
    expand: bool = False,
    center: Sequence[int] | None = None,
    fill: Any = None,
) -> Picture:
    """A picture turned to the left by so many degrees."""
    way = _mode_of(interpolation)
    if not isinstance(img, Tensor):
        middle = None if center is None else tuple(center)
        return img.rotate(angle, _pillow_number(way), expand, middle, fillcolor=_color(fill, img))
    _, height, width = get_dimensions(img)
    offset = [0.0, 0.0]
    if center is not None:
        offset = [1.0 * (c - s * 0.5) for c, s in zip(center, (width, height), strict=True)]
    matrix = _inverse_matrix(offset, -angle, [0.0, 0.0], 1.0, [0.0, 0.0])
    size = _rotated_size(matrix, width, height) if expand else (width, height)
    return _sampled(img, matrix, size, way, fill)


def _rotated_size(matrix: list[float], width: int, height: int) -> tuple[int, int]:
    """The width and height that hold a whole picture after it was turned."""
    corners = np.array([[x * width / 2, y * height / 2, 1.0] for x in (-1, 1) for y in (-1, 1)])
    places = corners @ np.array(matrix).reshape(2, 3).T
    half = np.array([width / 2, height / 2])
    low, high = (places + half).min(0), (places + half).max(0)
    low, high = np.trunc(low / 1e-4) * 1e-4, np.trunc(high / 1e-4) * 1e-4
    size = np.ceil(high) - np.floor(low)
    return int(size[0]), int(size[1])


def affine(
    img: Picture,
    angle: float,
    translate: Sequence[float],
    scale: float,
    shear: Any,
    interpolation: Any = InterpolationMode.NEAREST,
    fill: Any = None,
    center: Sequence[int] | None = None,
) -> Picture:
    """A picture turned to the right, moved, scaled and sheared."""
    way = _mode_of(interpolation)
    shear = [shear, 0.0] if isinstance(shear, (int, float)) else list(shear)
    shear = shear * 2 if len(shear) == 1 else shear
    if scale <= 0.0:
        raise ValueError("Argument scale should be positive")
    _, height, width = get_dimensions(img)
    if not isinstance(img, Tensor):
        middle = [width * 0.5, height * 0.5] if center is None else center
        matrix = _inverse_matrix(middle, angle, translate, scale, shear)
        options = {"resample": _pillow_number(way), "fillcolor": _color(fill, img)}
        return img.transform(img.size, load().AFFINE, matrix, **options)
    offset = [0.0, 0.0]
    if center is not None:
        offset = [1.0 * (c - s * 0.5) for c, s in zip(center, (width, height), strict=True)]
    matrix = _inverse_matrix(offset, angle, [1.0 * t for t in translate], scale, shear)
    return _sampled(img, matrix, (width, height), way, fill)


def _sampled(
    img: Tensor, matrix: list[float], size: tuple[int, int], way: InterpolationMode, fill: Any
) -> Tensor:
    """A tensor picture whose pixels come from where a matrix says."""
    images = img.reshape(-1, *get_dimensions(img))
    real = images if images.is_floating_point() else images.to(torch.float32)
    height, width = images.shape[-2:]
    theta = torch.as_tensor(matrix, dtype=real.dtype).reshape(2, 3)
    xs = torch.linspace(-size[0] * 0.5 + 0.5, size[0] * 0.5 - 0.5, steps=size[0])
    ys = torch.linspace(-size[1] * 0.5 + 0.5, size[1] * 0.5 - 0.5, steps=size[1])
    grid = torch.ones(size[1], size[0], 3, dtype=real.dtype)
    grid[..., 0], grid[..., 1] = xs, ys.unsqueeze(-1)
    scaled = theta.T / torch.as_tensor([0.5 * width, 0.5 * height], dtype=real.dtype)
    places = (grid.reshape(-1, 3) @ scaled).reshape(1, size[1], size[0], 2)
    places = places.expand(len(real), -1, -1, -1)
    if fill is not None:
        real = torch.cat([real, torch.ones_like(real[:, :1])], dim=1)
    out: Any = F.grid_sample(
        real, places, mode=way.value, padding_mode="zeros", align_corners=False
    )
    if fill is not None:
        inside = out[:, -1:].expand_as(out[:, :-1])
        colors = fill if isinstance(fill, (tuple, list)) else [float(fill)]
        color = torch.as_tensor(colors, dtype=out.dtype).view(1, -1, 1, 1).expand_as(inside)
        out = out[:, :-1]
        nearest = way is InterpolationMode.NEAREST
        out = (
            torch.where(inside < 0.5, color, out)
            if nearest
            else out * inside + (1.0 - inside) * color
        )
    return like(out, img).reshape(*img.shape[:-2], size[1], size[0])
