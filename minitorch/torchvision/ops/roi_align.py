"""Regions of a picture, each brought to one size."""

from __future__ import annotations

import math

from ... import torch
from ...torch import Tensor, nn


def roi_align(
    input: Tensor,
    boxes: Tensor | list[Tensor],
    output_size: int | tuple[int, int],
    spatial_scale: float = 1.0,
    sampling_ratio: int = -1,
    aligned: bool = False,
) -> Tensor:
    """Means of points, interpolated between pixels, of a grid of bins in each box (He and others, 2017).

    Args:
        input: of shape (pictures, channels, height, width)
        boxes: rows of (picture, x1, y1, x2, y2), or one tensor of (x1, y1, x2, y2) for each picture
        output_size: the number of bins, down and across
        spatial_scale: from the coordinates of boxes to pixels of the input
        sampling_ratio: how many points a bin has each way; as many as it has pixels if it is not positive
        aligned: whether pixels have their centres at halves
    """
    rows, columns = (output_size,) * 2 if isinstance(output_size, int) else output_size
    regions = boxes if isinstance(boxes, Tensor) else _numbered(boxes)
    if regions.dim() != 2 or regions.shape[1] != 5:
        raise ValueError("The boxes tensor shape is not correct as Tensor[K, 5]")
    shift = 0.5 if aligned else 0.0
    made = []
    for region in regions:
        x1, y1, x2, y2 = (value * spatial_scale - shift for value in region[1:].unbind())
        width, height = x2 - x1, y2 - y1
        if not aligned:
            width, height = width.clamp(min=1), height.clamp(min=1)
        picture = input[int(region[0])]
        y = _points(y1, height, rows, sampling_ratio)
        x = _points(x1, width, columns, sampling_ratio)
        values = _interpolated(picture, y.reshape(-1), x.reshape(-1))
        values = values.reshape(-1, rows, y.shape[1], columns, x.shape[1])
        made.append(values.mean(dim=(2, 4)))
    return torch.stack(made) if made else input.new_zeros((0, input.shape[1], rows, columns))


def _numbered(boxes: list[Tensor]) -> Tensor:
    """Boxes of several pictures in one tensor, each with the number of its picture."""
    parts = [torch.cat((box.new_full((len(box), 1), i), box), dim=1) for i, box in enumerate(boxes)]
    return torch.cat(parts)


def _points(start: Tensor, length: Tensor, bins: int, ratio: int) -> Tensor:
    """The coordinates of points, of shape (bins, points of a bin)."""
    count = ratio if ratio > 0 else max(math.ceil(float(length) / bins), 0)
    within = (torch.arange(count, device=start.device, dtype=start.dtype) + 0.5) / count
    places = torch.arange(bins, device=start.device, dtype=start.dtype)
    return start + (places[:, None] + within) * (length / bins)


def _interpolated(picture: Tensor, y: Tensor, x: Tensor) -> Tensor:
    """Values between pixels at each pair of coordinates: zeros outside, the edge's up to one pixel away."""
    parts = []
    for places, size in ((y, picture.shape[1]), (x, picture.shape[2])):
        inside = ((places >= -1) & (places <= size)).to(picture.dtype)
        near = places.clamp(min=0)
        low = near.floor().long().clamp(max=size - 1)
        high = (low + 1).clamp(max=size - 1)
        share = torch.where(low >= size - 1, torch.zeros_like(near), near - low).to(picture.dtype)
        parts.append((low, high, share, inside))
    (y1, y2, v, in_y), (x1, x2, u, in_x) = parts
    v, u = v[:, None], u[None]
    upper = picture[:, y1][:, :, x1] * (1 - u) + picture[:, y1][:, :, x2] * u
    lower = picture[:, y2][:, :, x1] * (1 - u) + picture[:, y2][:, :, x2] * u
    return (upper * (1 - v) + lower * v) * in_y[:, None] * in_x[None]


class RoIAlign(nn.Module):
    """`roi_align` as a layer."""

    def __init__(
        self,
        output_size: int | tuple[int, int],
        spatial_scale: float,
        sampling_ratio: int,
        aligned: bool = False,
    ) -> None:
        super().__init__()
        self.output_size, self.spatial_scale = output_size, spatial_scale
        self.sampling_ratio, self.aligned = sampling_ratio, aligned

    def forward(self, input: Tensor, rois: Tensor | list[Tensor]) -> Tensor:
        return roi_align(
            input, rois, self.output_size, self.spatial_scale, self.sampling_ratio, self.aligned
        )

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}(output_size={self.output_size}, spatial_scale={self.spatial_scale}, "
            f"sampling_ratio={self.sampling_ratio}, aligned={self.aligned})"
        )
