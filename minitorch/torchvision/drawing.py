"""What was found in a picture, drawn on it: boxes, masks, points."""

from __future__ import annotations

import warnings
from typing import Any

from .. import torch
from ..torch import Tensor
from .transforms.functional import pil_to_tensor, to_pil_image

Color = str | tuple[int, int, int]
Colors = Color | list[Color] | None


def _check_picture(image: Any) -> None:
    if not isinstance(image, Tensor):
        raise TypeError(f"The image must be a tensor, got {type(image)}")
    if image.dtype is not torch.uint8 and not image.is_floating_point():
        raise ValueError(f"The image dtype must be uint8 or float, got {image.dtype}")
    if image.dim() != 3:
        raise ValueError("Pass individual images, not batches")


def _palette(colors: Colors, count: int) -> list[tuple[int, int, int]]:
    """A color for each object; without any given, some that are far apart."""
    from PIL import ImageColor

    if colors is None:
        steps = (2**25 - 1, 2**15 - 1, 2**21 - 1)
        return [(i * steps[0] % 255, i * steps[1] % 255, i * steps[2] % 255) for i in range(count)]
    if isinstance(colors, list):
        if len(colors) < count:
            raise ValueError(
                "Number of colors must be equal or larger than the number of objects, but got "
                f"{len(colors)} < {count}."
            )
        given = colors
    elif not isinstance(colors, (tuple, str)):
        raise ValueError(
            f"colors must be a tuple or a string, or a list thereof, but got {colors}."
        )
    elif isinstance(colors, tuple) and len(colors) != 3:
        raise ValueError(f"If passed as tuple, colors should be an RGB triplet, but got {colors}.")
    else:
        given = [colors] * count
    return [ImageColor.getrgb(c) if isinstance(c, str) else c for c in given]  # type: ignore[misc]


def _canvas(image: Tensor) -> Any:
    """A picture to draw on, in bytes and three colors."""
    if image.size(0) == 1:
        image = image.tile((3, 1, 1))
    if image.is_floating_point():
        image = (image * (256 - 1e-3)).to(torch.uint8)
    return to_pil_image(image)


def _drawn(canvas: Any, like: Tensor) -> Tensor:
    """What was drawn, with the values of the picture: bytes, or 0..1."""
    out = pil_to_tensor(canvas)
    return out.to(like.dtype) / 255 if like.is_floating_point() else out


@torch.no_grad()
def draw_bounding_boxes(
    image: Tensor,
    boxes: Tensor,
    labels: list[str] | None = None,
    colors: Colors = None,
    fill: bool | None = False,
    width: int = 1,
    font: str | None = None,
    font_size: int | None = None,
    label_colors: Colors = None,
    label_background_colors: Colors = None,
    fill_labels: bool = False,
) -> Tensor:
    """A picture (C, H, W) with boxes (N, 4: left, top, right, bottom), and what is written in them.

    `colors` are of all, or of each; with `fill` their inside is tinted. `font` is a file of a TrueType font. Labels
    have the colors of their boxes, or are black with `fill_labels`, which puts a color behind them.
    """
    from PIL import ImageDraw, ImageFont

    _check_picture(image)
    if image.size(0) not in (1, 3):
        raise ValueError("Only grayscale and RGB images are supported")
    if (boxes[:, 0] > boxes[:, 2]).any() or (boxes[:, 1] > boxes[:, 3]).any():
        raise ValueError(
            "Boxes need to be in (xmin, ymin, xmax, ymax) format. Use torchvision.ops.box_convert to convert them"
        )
    count = len(boxes)
    if count == 0:
        warnings.warn("boxes doesn't contain any box. No box was drawn", stacklevel=2)
        return image
    if labels is not None and len(labels) != count:
        raise ValueError(
            f"Number of boxes ({count}) and labels ({len(labels)}) mismatch. Please specify labels for each box."
        )
    outlines = _palette(colors, count)
    inks = _palette(label_colors or "black", count) if label_colors or fill_labels else outlines
    papers = _palette(label_background_colors, count) if label_background_colors else outlines
    letters = ImageFont.truetype(font, font_size or 10) if font else ImageFont.load_default()
    canvas = _canvas(image)
    draw = ImageDraw.Draw(canvas, "RGBA" if fill else None)
    for i, box in enumerate(boxes.to(torch.int64).tolist()):
        tint = (*outlines[i], 100) if fill else None
        draw.rectangle(box, width=width, outline=outlines[i], fill=tint)
        if labels is None:
            continue
        place = (box[0] + width + 1, box[1] + width + 1)
        if fill_labels:
            left, top, right, bottom = draw.textbbox(place, labels[i], font=letters)
            draw.rectangle((left - 1, top - 1, right + 1, bottom + 1), fill=papers[i])
        draw.text(place, labels[i], fill=inks[i], font=letters)
    return _drawn(canvas, image)


@torch.no_grad()
def draw_segmentation_masks(
    image: Tensor, masks: Tensor, alpha: float = 0.8, colors: Colors = None
) -> Tensor:
    """A picture (3, H, W) with masks (N, H, W) over it, covered by a share of `alpha`; dark where they overlap."""
    _check_picture(image)
    if image.size(0) != 3:
        raise ValueError("Pass an RGB image. Other Image formats are not supported")
    masks = masks[None] if masks.ndim == 2 else masks
    if masks.ndim != 3:
        raise ValueError("masks must be of shape (H, W) or (batch_size, H, W)")
    if masks.dtype is not torch.bool:
        raise ValueError(f"The masks must be of dtype bool. Got {masks.dtype}")
    if masks.shape[-2:] != image.shape[-2:]:
        raise ValueError("The image and the masks must have the same height and width")
    if len(masks) == 0:
        warnings.warn("masks doesn't contain any mask. No mask was drawn", stacklevel=2)
        return image
    painted = image.clone()
    largest = 255 if image.is_floating_point() else 1
    for mask, color in zip(masks, _palette(colors, len(masks)), strict=False):
        values = image.new_tensor([v / largest for v in color])
        painted[:, mask] = values[:, None]
    painted[:, masks.sum(0) > 1] = 0
    return (image * (1 - alpha) + painted * alpha).to(image.dtype)


@torch.no_grad()
def draw_keypoints(
    image: Tensor,
    keypoints: Tensor,
    connectivity: list[tuple[int, int]] | None = None,
    colors: Color | None = None,
    radius: int = 2,
    width: int = 3,
    visibility: Tensor | None = None,
) -> Tensor:
    """A picture (3, H, W) with points (N, K, 2), those that are visible (N, K), and lines between pairs of each K."""
    from PIL import ImageDraw

    _check_picture(image)
    if image.size(0) != 3:
        raise ValueError("Pass an RGB image. Other Image formats are not supported")
    if keypoints.ndim != 3:
        raise ValueError("keypoints must be of shape (num_instances, K, 2)")
    seen = (
        torch.ones(keypoints.shape[:-1])
        if visibility is None
        else visibility.reshape(keypoints.shape[:-1])
    ).bool()
    canvas = _canvas(image)
    draw = ImageDraw.Draw(canvas)
    for points, shown in zip(keypoints.to(torch.int64).tolist(), seen.tolist(), strict=True):
        for (x, y), visible in zip(points, shown, strict=True):
            if visible:
                around = (x - radius, y - radius, x + radius, y + radius)
                draw.ellipse(around, fill=colors, outline=None, width=0)
        for start, end in connectivity or ():
            if shown[start] and shown[end]:
                draw.line((*points[start], *points[end]), width=width)
    return _drawn(canvas, image)
