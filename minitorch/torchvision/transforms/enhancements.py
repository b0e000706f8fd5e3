"""Transforms of colors and edges that learned augmentations are made of, as functions."""

from __future__ import annotations

from typing import Any

from ... import torch
from ...torch import Tensor
from ...torch.nn import functional as F
from ..pillow import load
from .colors import _blend, _check_factor, invert
from .pictures import Picture, convert_image_dtype, get_dimensions, largest_of, like


def posterize(img: Picture, bits: int) -> Picture:
    """A picture with so many bits left of each color."""
    if not isinstance(img, Tensor):
        return load("ImageOps").posterize(img, bits)
    if img.dtype != torch.uint8:
        raise TypeError(f"Only torch.uint8 image tensors are supported, but found {img.dtype}")
    return img & (256 - 2 ** (8 - bits))


def solarize(img: Picture, threshold: float) -> Picture:
    """A picture whose bright places, from a threshold on, are negative."""
    if not isinstance(img, Tensor):
        return load("ImageOps").solarize(img, threshold)
    if threshold > _most(img):
        raise TypeError("Threshold should be less than bound of img.")
    return torch.where(img >= threshold, invert(img), img)


def adjust_sharpness(img: Picture, sharpness_factor: float) -> Picture:
    """Blurred below 1, sharper above."""
    if not isinstance(img, Tensor):
        return load("ImageEnhance").Sharpness(img).enhance(sharpness_factor)
    _check_factor("sharpness_factor", sharpness_factor)
    if min(img.shape[-2:]) <= 2:
        return img
    kernel = torch.ones(3, 3)
    kernel[1, 1] = 5.0
    channels = img.shape[-3]
    real = img.reshape(-1, *img.shape[-3:]).to(torch.float32)
    inside = F.conv2d(real, (kernel / kernel.sum()).expand(channels, 1, 3, 3).contiguous(), groups=channels)  # fmt: skip
    blurred = img.clone()
    blurred[..., 1:-1, 1:-1] = like(inside, img).reshape(blurred[..., 1:-1, 1:-1].shape)
    return _blend(img, blurred, sharpness_factor)


def autocontrast(img: Picture) -> Picture:
    """A picture whose channels reach from black to white."""
    if not isinstance(img, Tensor):
        return load("ImageOps").autocontrast(img)
    real = img if img.is_floating_point() else img.to(torch.float32)
    low, high = real.amin(dim=(-2, -1), keepdim=True), real.amax(dim=(-2, -1), keepdim=True)
    scale = _most(img) / (high - low)
    flat = ~torch.isfinite(scale)
    low, scale = low.masked_fill(flat, 0.0), scale.masked_fill(flat, 1.0)
    return ((real - low) * scale).clamp(0, _most(img)).to(img.dtype)


def equalize(img: Picture) -> Picture:
    """A picture in which all degrees of brightness are as frequent, as far as that is possible."""
    if not isinstance(img, Tensor):
        return load("ImageOps").equalize(img)
    if img.dtype != torch.uint8:
        raise TypeError(f"Only torch.uint8 image tensors are supported, but found {img.dtype}")
    channels = img.reshape(-1, *img.shape[-2:])
    return torch.stack([_equalized(channel) for channel in channels]).reshape(img.shape)


def _equalized(channel: Tensor) -> Tensor:
    counts = torch.bincount(channel.reshape(-1), minlength=256)
    there = counts[counts != 0]
    step = there[:-1].sum() // 255
    if step == 0:
        return channel
    table = F.pad((counts.cumsum(0) + step // 2) // step, [1, 0])[:-1].clamp(0, 255)
    return table[channel.to(torch.int64)].to(torch.uint8)


def adjust_gamma(img: Picture, gamma: float, gain: float = 1) -> Picture:
    """A picture whose brightness is raised to a power: darker above 1."""
    _check_factor("gamma", gamma)
    if not isinstance(img, Tensor):
        table = [int((255 + 1 - 1e-3) * gain * pow(c / 255.0, gamma)) for c in range(256)]
        mode = img.mode
        return img.convert("RGB").point(table * 3).convert(mode)
    real = img if img.is_floating_point() else convert_image_dtype(img, torch.float32)
    return convert_image_dtype((gain * real**gamma).clamp(0, 1), img.dtype)


def _most(img: Tensor) -> Any:
    """White."""
    return 1.0 if img.is_floating_point() else largest_of(img.dtype)


def size_of(img: Picture) -> tuple[int, int]:
    """Height and width."""
    _, height, width = get_dimensions(img)
    return height, width
