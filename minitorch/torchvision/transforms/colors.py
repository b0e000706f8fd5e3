"""Transforms of colors, as functions."""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import torch
from ...torch import Tensor
from ...torch.nn import functional as F
from ..pillow import is_picture, load, picture
from .pictures import (
    Picture,
    convert_image_dtype,
    get_dimensions,
    largest_of,
    like,
    pil_to_tensor,
    to_pil_image,
)


def _check_factor(name: str, value: float) -> None:
    if value < 0:
        raise ValueError(f"{name} ({value}) is not non-negative.")


def _blend(one: Tensor, other: Any, share: float) -> Tensor:
    """So much of one picture, the rest of another."""
    most, share = 1.0 if one.is_floating_point() else largest_of(one.dtype), float(share)
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
        return (1.0 if img.is_floating_point() else largest_of(img.dtype)) - img
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
    return like(out, img).reshape(img.shape)
