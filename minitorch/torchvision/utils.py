"""Pictures side by side, and in files."""

from __future__ import annotations

from typing import Any

from .. import torch
from ..torch import Tensor
from .drawing import draw_bounding_boxes as draw_bounding_boxes
from .drawing import draw_keypoints as draw_keypoints
from .drawing import draw_segmentation_masks as draw_segmentation_masks
from .pillow import picture


@torch.no_grad()
def make_grid(
    tensor: Any,
    nrow: int = 8,
    padding: int = 2,
    normalize: bool = False,
    value_range: tuple[float, float] | None = None,
    scale_each: bool = False,
    pad_value: float = 0.0,
) -> Tensor:
    """Many pictures as one.

    Args:
        tensor: a batch (B, C, H, W), or a list of pictures of one size
        nrow: how many stand in a row
        padding: how many pixels are between them
        normalize: whether to stretch the values to 0..1
        value_range: what is stretched; by default from the smallest to the largest value
        scale_each: whether to stretch each picture by itself
        pad_value: what is between pictures
    """
    images = _batch(tensor)
    if normalize:
        images = images.clone()
        if value_range is not None and not isinstance(value_range, tuple):
            raise TypeError(
                "value_range has to be a tuple (min, max) if specified. min and max are numbers"
            )
        for part in images if scale_each else [images]:
            _stretch(part, value_range)
    count, channels, height, width = images.shape
    if count == 1:
        return images.squeeze(0)
    columns = min(nrow, count)
    rows = -(-count // columns)
    height, width = height + padding, width + padding
    grid = images.new_full(
        (channels, height * rows + padding, width * columns + padding), pad_value
    )
    for k, image in enumerate(images):
        top, left = k // columns * height + padding, k % columns * width + padding
        grid[:, top : top + height - padding, left : left + width - padding] = image
    return grid


def _batch(tensor: Any) -> Tensor:
    """Pictures as a batch (B, C, H, W) with at least three channels."""
    if isinstance(tensor, list):
        wrong = [type(t) for t in tensor if not isinstance(t, Tensor)]
        if wrong:
            raise TypeError(f"tensor or list of tensors expected, got a list containing {wrong[0]}")
        tensor = torch.stack(tensor, dim=0)
    if not isinstance(tensor, Tensor):
        raise TypeError(f"tensor or list of tensors expected, got {type(tensor)}")
    if tensor.ndim == 2:
        tensor = tensor.unsqueeze(0)
    if tensor.ndim == 3:
        tensor = tensor.unsqueeze(0)
    return torch.cat((tensor, tensor, tensor), 1) if tensor.shape[1] == 1 else tensor


def _stretch(image: Tensor, value_range: tuple[float, float] | None) -> None:
    low, high = value_range or (float(image.min()), float(image.max()))
    image.clamp_(min=low, max=high).sub_(low).div_(max(high - low, 1e-5))


@torch.no_grad()
def save_image(tensor: Any, fp: Any, format: str | None = None, **kwargs: Any) -> None:
    """Write pictures, as `make_grid` arranges them, into a file."""
    grid = make_grid(tensor, **kwargs)
    pixels = grid.mul(255).add_(0.5).clamp_(0, 255).permute(1, 2, 0).to(torch.uint8).numpy()
    picture(pixels.copy()).save(fp, format=format)
