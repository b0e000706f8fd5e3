"""Transforms as functions: of Pillow's pictures and of tensors (..., C, H, W)."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from enum import Enum
from functools import lru_cache
from typing import Any

import numpy as np

from ... import torch
from ...torch import Tensor
from ...torch.nn import functional as F
from ..pillow import is_picture, load, picture

Picture = Any
"""A picture of Pillow's, or a tensor."""


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


def _way(interpolation: Any) -> InterpolationMode:
    """A way to interpolate, which may be given by Pillow's number."""
    if isinstance(interpolation, int):
        return InterpolationMode(_BY_NUMBER[interpolation])
    if not isinstance(interpolation, InterpolationMode):
        raise TypeError(
            "Argument interpolation should be a InterpolationMode or a corresponding Pillow "
            "integer constant"
        )
    return interpolation


def _pillow_way(interpolation: Any) -> int:
    """Pillow's number of a way to interpolate."""
    return _BY_NUMBER.index(_way(interpolation).value.removesuffix("-exact"))


# --- What a picture is ----------------------------------------------------------------------------


def get_dimensions(img: Picture) -> list[int]:
    """Channels, height and width."""
    if isinstance(img, Tensor):
        _check_tensor(img)
        return [1 if img.ndim == 2 else img.shape[-3], *img.shape[-2:]]
    if not is_picture(img):
        raise TypeError(f"Unexpected type {type(img)}")
    return [len(img.getbands()), img.size[1], img.size[0]]


def get_image_size(img: Picture) -> list[int]:
    """Width and height."""
    return get_dimensions(img)[:0:-1]


def get_image_num_channels(img: Picture) -> int:
    """How many channels there are."""
    return get_dimensions(img)[0]


def _check_tensor(img: Any) -> None:
    if not isinstance(img, Tensor) or img.ndim < 2:
        raise TypeError("Tensor is not a torch image.")


# --- From and to tensors --------------------------------------------------------------------------


def to_tensor(pic: Any) -> Tensor:
    """A picture, or an array (H, W, C), as a tensor (C, H, W); bytes become fractions of 255."""
    if isinstance(pic, np.ndarray):
        if pic.ndim not in (2, 3):
            raise ValueError(f"pic should be 2/3 dimensional. Got {pic.ndim} dimensions.")
        array = pic
    elif is_picture(pic):
        kinds = {"I": np.int32, "I;16": np.int16, "I;16B": np.int16, "F": np.float32}
        array = np.array(pic, kinds.get(pic.mode, np.uint8))
        array = array * np.uint8(255) if pic.mode == "1" else array
    else:
        raise TypeError(f"pic should be PIL Image or ndarray. Got {type(pic)}")
    array = array[None] if array.ndim == 2 else np.ascontiguousarray(array.transpose(2, 0, 1))
    if array.dtype == np.uint8:
        real = np.float64 if torch.get_default_dtype() is torch.float64 else np.float32
        array = np.true_divide(array, real(255), dtype=real)
    return torch.from_numpy(array)


def pil_to_tensor(pic: Any) -> Tensor:
    """A picture as a tensor (C, H, W) of its own type."""
    if not is_picture(pic):
        raise TypeError(f"pic should be PIL Image. Got {type(pic)}")
    array = np.array(pic)
    array = array[:, :, None] if array.ndim == 2 else array
    return torch.from_numpy(array).permute(2, 0, 1)


def to_pil_image(pic: Any, mode: str | None = None) -> Any:
    """A tensor (C, H, W), or an array (H, W, C), as a picture."""
    if isinstance(pic, Tensor):
        pic = pic.permute(1, 2, 0) if pic.ndim == 3 else pic
        pic = pic.detach().numpy()
    elif not isinstance(pic, np.ndarray):
        raise TypeError(f"pic should be Tensor or ndarray. Got {type(pic)}.")
    array = pic[:, :, None] if pic.ndim == 2 else pic
    if array.ndim != 3:
        raise ValueError(f"pic should be 2/3 dimensional. Got {array.ndim} dimensions.")
    channels = array.shape[2]
    if channels > 4:
        raise ValueError(f"pic should not have > 4 channels. Got {channels} channels.")
    if array.dtype.kind == "f" and mode != "F":
        array = (array * 255).astype(np.uint8)
    found = _mode(array, channels, mode)
    array = array[:, :, 0] if channels == 1 else array
    return picture(np.ascontiguousarray(array), found)


def _mode(array: Any, channels: int, mode: str | None) -> str:
    """Pillow's mode for an array, the given one if it can be."""
    if channels == 1:
        kinds = {"u1": "L", "i2": "I;16", "i4": "I", "f4": "F"}
        found = kinds.get(array.dtype.str[1:])
        if mode is not None and mode != found:
            raise ValueError(
                f"Incorrect mode ({mode}) supplied for input type {np.dtype}. Should be {found}"
            )
    else:
        allowed = {2: ["LA"], 3: ["RGB", "YCbCr", "HSV"], 4: ["RGBA", "CMYK", "RGBX"]}[channels]
        if mode is not None and mode not in allowed:
            raise ValueError(f"Only modes {allowed} are supported for {channels}D inputs")
        found = mode or (allowed[0] if array.dtype == np.uint8 else None)
    if found is None:
        raise TypeError(f"Input type {array.dtype} is not supported")
    return found


def convert_image_dtype(image: Tensor, dtype: Any = torch.float) -> Tensor:
    """A picture in another type: whole numbers span their type, fractions 0 to 1."""
    if not isinstance(image, Tensor):
        raise TypeError("Input img should be Tensor Image")
    if image.dtype == dtype:
        return image
    if image.is_floating_point():
        if dtype.is_floating_point:
            return image.to(dtype)
        wide = image.dtype is torch.float32 and dtype in (torch.int32, torch.int64)
        if wide or (image.dtype is torch.float64 and dtype is torch.int64):
            raise RuntimeError(
                f"The cast from {image.dtype} to {dtype} cannot be performed safely."
            )
        return image.mul(_largest(dtype) + 1.0 - 1e-3).to(dtype)
    if dtype.is_floating_point:
        return image.to(dtype) / _largest(image.dtype)
    have, want = _largest(image.dtype), _largest(dtype)
    if have > want:
        factor = (have + 1) // (want + 1)
        return torch.div(image, factor, rounding_mode="floor").to(dtype)
    return image.to(dtype) * ((want + 1) // (have + 1))


def _largest(dtype: Any) -> int:
    """The value of white."""
    return 1 if dtype.is_floating_point or dtype is torch.bool else torch.iinfo(dtype).max


def normalize(
    tensor: Tensor, mean: Sequence[float], std: Sequence[float], inplace: bool = False
) -> Tensor:
    """Subtract a mean and divide by a deviation, for each channel."""
    if not isinstance(tensor, Tensor):
        raise TypeError(f"img should be Tensor Image. Got {type(tensor)}")
    if not tensor.is_floating_point():
        raise TypeError(f"Input tensor should be a float tensor. Got {tensor.dtype}.")
    if tensor.ndim < 3:
        raise ValueError(
            "Expected tensor to be a tensor image of size (..., C, H, W). Got tensor.size() = "
            f"{tensor.size()}"
        )
    means = _per_channel(tuple(map(float, mean)), tensor.dtype)
    deviations = _per_channel(tuple(map(float, std)), tensor.dtype)
    if 0.0 in std:
        raise ValueError(
            f"std evaluated to zero after conversion to {tensor.dtype}, leading to division by zero."
        )
    if inplace:
        return tensor.sub_(means).div_(deviations)
    return (tensor - means) / deviations


@lru_cache(64)
def _per_channel(values: tuple[float, ...], dtype: Any) -> Tensor:
    """A number for each channel, to be used with pictures."""
    return torch.as_tensor(values, dtype=dtype).view(-1, 1, 1)


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
    way = _way(interpolation)
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
        return img.resize(target[::-1], _pillow_way(way))
    smooth = way.value in ("bilinear", "bicubic")
    antialias = bool(antialias) and smooth
    images = img.reshape(-1, *get_dimensions(img))
    real = images if images.is_floating_point() else images.to(torch.float32)
    out: Any = F.interpolate(
        real, target, mode=way.value, align_corners=False if smooth else None, antialias=antialias
    )
    if way is InterpolationMode.BICUBIC and img.dtype is torch.uint8:
        out = out.clamp(0, 255)
    return _like(out, img).reshape(*img.shape[:-2], *target)


def _like(out: Tensor, img: Tensor) -> Tensor:
    """Numbers in the type of a picture: rounded where that is whole."""
    return out.to(img.dtype) if img.is_floating_point() else out.round().to(img.dtype)


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
    way = _way(interpolation)
    if not isinstance(img, Tensor):
        middle = None if center is None else tuple(center)
        return img.rotate(angle, _pillow_way(way), expand, middle, fillcolor=_color(fill, img))
    _, height, width = get_dimensions(img)
    offset = [0.0, 0.0]
    if center is not None:
        offset = [1.0 * (c - s * 0.5) for c, s in zip(center, (width, height), strict=True)]
    matrix = _inverse_matrix(offset, -angle, [0.0, 0.0], 1.0, [0.0, 0.0])
    size = _turned_size(matrix, width, height) if expand else (width, height)
    return _sampled(img, matrix, size, way, fill)


def _turned_size(matrix: list[float], width: int, height: int) -> tuple[int, int]:
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
    way = _way(interpolation)
    shear = [shear, 0.0] if isinstance(shear, (int, float)) else list(shear)
    shear = shear * 2 if len(shear) == 1 else shear
    if scale <= 0.0:
        raise ValueError("Argument scale should be positive")
    _, height, width = get_dimensions(img)
    if not isinstance(img, Tensor):
        middle = [width * 0.5, height * 0.5] if center is None else center
        matrix = _inverse_matrix(middle, angle, translate, scale, shear)
        options = {"resample": _pillow_way(way), "fillcolor": _color(fill, img)}
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
    return _like(out, img).reshape(*img.shape[:-2], size[1], size[0])


# --- Color ----------------------------------------------------------------------------------------


def _check_factor(name: str, value: float) -> None:
    if value < 0:
        raise ValueError(f"{name} ({value}) is not non-negative.")


def _blend(one: Tensor, other: Any, share: float) -> Tensor:
    """So much of one picture, the rest of another."""
    most = 1.0 if one.is_floating_point() else _largest(one.dtype)
    return (share * one + (1.0 - share) * other).clamp(0, most).to(one.dtype)


def adjust_brightness(img: Picture, brightness_factor: float) -> Picture:
    """Darker below 1, brighter above."""
    if not isinstance(img, Tensor):
        return load("ImageEnhance").Brightness(img).enhance(brightness_factor)
    _check_factor("brightness_factor", brightness_factor)
    return _blend(img, torch.zeros_like(img), brightness_factor)


def adjust_contrast(img: Picture, contrast_factor: float) -> Picture:
    """Grayer below 1, starker above."""
    if not isinstance(img, Tensor):
        return load("ImageEnhance").Contrast(img).enhance(contrast_factor)
    _check_factor("contrast_factor", contrast_factor)
    gray = rgb_to_grayscale(img) if get_dimensions(img)[0] == 3 else img
    gray = gray if gray.is_floating_point() else gray.to(torch.float32)
    return _blend(img, gray.mean(dim=(-3, -2, -1), keepdim=True), contrast_factor)


def adjust_saturation(img: Picture, saturation_factor: float) -> Picture:
    """Less color below 1, more above."""
    if not isinstance(img, Tensor):
        return load("ImageEnhance").Color(img).enhance(saturation_factor)
    _check_factor("saturation_factor", saturation_factor)
    if get_dimensions(img)[0] == 1:
        return img
    return _blend(img, rgb_to_grayscale(img), saturation_factor)


def adjust_hue(img: Picture, hue_factor: float) -> Picture:
    """Colors turned around the wheel, by at most a half."""
    if not -0.5 <= hue_factor <= 0.5:
        raise ValueError(f"hue_factor ({hue_factor}) is not in [-0.5, 0.5].")
    if not isinstance(img, Tensor):
        if img.mode in ("L", "1", "I", "F"):
            return img
        hue, saturation, value = img.convert("HSV").split()
        turned = np.array(hue, np.uint8) + np.int32(hue_factor * 255).astype(np.uint8)
        return load().merge("HSV", (picture(turned), saturation, value)).convert(img.mode)
    if get_dimensions(img)[0] == 1:
        return img
    real = convert_image_dtype(img, torch.float32)
    hue, saturation, value = _to_hsv(real).unbind(dim=-3)
    out = _from_hsv((hue + hue_factor) % 1.0, saturation, value)
    return convert_image_dtype(out, img.dtype)


def _to_hsv(img: Tensor) -> Tensor:
    """Red, green and blue as hue, saturation and value."""
    red, green, blue = img.unbind(dim=-3)
    high, low = img.amax(dim=-3), img.amin(dim=-3)
    span, flat = high - low, high == low
    one = torch.ones_like(high)
    saturation = span / torch.where(flat, one, high)
    divisor = torch.where(flat, one, span)
    rc, gc, bc = ((high - c) / divisor for c in (red, green, blue))
    of_red = (high == red) * (bc - gc)
    of_green = ((high == green) & (high != red)) * (2.0 + rc - bc)
    of_blue = ((high != green) & (high != red)) * (4.0 + gc - rc)
    hue = torch.fmod((of_red + of_green + of_blue) / 6.0 + 1.0, 1.0)
    return torch.stack((hue, saturation, high), dim=-3)


def _from_hsv(hue: Tensor, saturation: Tensor, value: Tensor) -> Tensor:
    """Hue, saturation and value as red, green and blue."""
    sector = torch.floor(hue * 6.0)
    rest = hue * 6.0 - sector
    p = (value * (1.0 - saturation)).clamp(0.0, 1.0)
    q = (value * (1.0 - saturation * rest)).clamp(0.0, 1.0)
    t = (value * (1.0 - saturation * (1.0 - rest))).clamp(0.0, 1.0)
    which = sector.to(torch.int32) % 6
    channels = []
    for choices in (
        (value, q, p, p, t, value),
        (t, value, value, q, p, p),
        (p, p, t, value, value, q),
    ):
        out = choices[5]
        for k in range(5):
            out = torch.where(which == k, choices[k], out)
        channels.append(out)
    return torch.stack(channels, dim=-3)


def rgb_to_grayscale(img: Picture, num_output_channels: int = 1) -> Picture:
    """The brightness of colors, in one channel or in three."""
    if num_output_channels not in (1, 3):
        raise ValueError("num_output_channels should be either 1 or 3")
    if not isinstance(img, Tensor):
        gray = img.convert("L")
        return gray if num_output_channels == 1 else load().merge("RGB", (gray, gray, gray))
    if img.shape[-3] == 3:
        red, green, blue = img.unbind(dim=-3)
        gray = (0.2989 * red + 0.587 * green + 0.114 * blue).to(img.dtype).unsqueeze(-3)
    else:
        gray = img.clone()
    return gray.expand(*img.shape[:-3], 3, *img.shape[-2:]) if num_output_channels == 3 else gray


def to_grayscale(img: Any, num_output_channels: int = 1) -> Any:
    """A picture of Pillow's without color."""
    if not is_picture(img):
        raise TypeError("Input should be PIL Image")
    return rgb_to_grayscale(img, num_output_channels)


def invert(img: Picture) -> Picture:
    """The negative."""
    if isinstance(img, Tensor):
        return (1.0 if img.is_floating_point() else _largest(img.dtype)) - img
    return load("ImageOps").invert(img)


def erase(img: Tensor, i: int, j: int, h: int, w: int, v: Tensor, inplace: bool = False) -> Tensor:
    """A picture with a rectangle replaced by a value."""
    if not isinstance(img, Tensor):
        raise TypeError(f"img should be Tensor Image. Got {type(img)}")
    img = img if inplace else img.clone()
    img[..., i : i + h, j : j + w] = v
    return img


def gaussian_blur(img: Picture, kernel_size: Any, sigma: Any = None) -> Picture:
    """A picture blurred by a bell."""
    sizes = [kernel_size] * 2 if isinstance(kernel_size, int) else list(kernel_size)
    if sigma is None:
        sigma = [size * 0.15 + 0.35 for size in sizes]
    sigmas = [float(sigma)] * 2 if isinstance(sigma, (int, float)) else list(sigma)
    if not isinstance(img, Tensor):
        return to_pil_image(gaussian_blur(pil_to_tensor(img), sizes, sigmas), mode=img.mode)
    bells = []
    for size, width in zip(sizes, sigmas, strict=True):
        half = (size - 1) * 0.5
        bell = torch.exp(-0.5 * (torch.linspace(-half, half, steps=size) / width) ** 2)
        bells.append(bell / bell.sum())
    channels = img.shape[-3]
    kernel = (bells[1][:, None] * bells[0][None, :]).expand(channels, 1, -1, -1)
    images = img.reshape(-1, *img.shape[-3:])
    real = images if images.is_floating_point() else images.to(torch.float32)
    border = [sizes[0] // 2, sizes[0] // 2, sizes[1] // 2, sizes[1] // 2]
    out = F.conv2d(F.pad(real, border, mode="reflect"), kernel.contiguous(), groups=channels)
    return _like(out, img).reshape(img.shape)
