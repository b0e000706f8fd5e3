"""Boxes: rows of (x1, y1, x2, y2), from the upper left corner to the lower right one."""

from __future__ import annotations

import math

import numpy as np

from ... import torch
from ...torch import Tensor


def box_area(boxes: Tensor) -> Tensor:
    """The areas of boxes."""
    return (boxes[..., 2] - boxes[..., 0]) * (boxes[..., 3] - boxes[..., 1])


def _to_corners(boxes: Tensor, fmt: str) -> Tensor:
    a, b, c, d = boxes.unbind(-1)
    if fmt == "xywh":
        return torch.stack((a, b, a + c, b + d), dim=-1)
    return torch.stack((a - 0.5 * c, b - 0.5 * d, a + 0.5 * c, b + 0.5 * d), dim=-1)


def _from_corners(boxes: Tensor, fmt: str) -> Tensor:
    x1, y1, x2, y2 = boxes.unbind(-1)
    if fmt == "xywh":
        return torch.stack((x1, y1, x2 - x1, y2 - y1), dim=-1)
    return torch.stack(((x1 + x2) / 2, (y1 + y2) / 2, x2 - x1, y2 - y1), dim=-1)


def box_convert(boxes: Tensor, in_fmt: str, out_fmt: str) -> Tensor:
    """Boxes in another form: "xyxy" (corners), "xywh" (corner and size), "cxcywh" (centre and size)."""
    for fmt in (in_fmt, out_fmt):
        if fmt not in ("xyxy", "xywh", "cxcywh"):
            raise ValueError(
                f"Unsupported Bounding Box Conversions for given in_fmt {in_fmt} and out_fmt {out_fmt}"
            )
    if in_fmt == out_fmt:
        return boxes.clone()
    corners = boxes if in_fmt == "xyxy" else _to_corners(boxes, in_fmt)
    return corners if out_fmt == "xyxy" else _from_corners(corners, out_fmt)


def clip_boxes_to_image(boxes: Tensor, size: tuple[int, int]) -> Tensor:
    """Boxes cut off at the edges of a picture of a height and width."""
    height, width = size
    limits = boxes.new_tensor([width, height, width, height])
    return torch.minimum(boxes.clamp(min=0), limits)


def remove_small_boxes(boxes: Tensor, min_size: float) -> Tensor:
    """The places of boxes that are not narrower or lower than a size."""
    wide, high = boxes[:, 2] - boxes[:, 0], boxes[:, 3] - boxes[:, 1]
    return torch.where((wide >= min_size) & (high >= min_size))[0]


def masks_to_boxes(masks: Tensor) -> Tensor:
    """The smallest boxes around the true elements of masks of (count, height, width)."""
    made = masks.new_zeros((masks.shape[0], 4), dtype=torch.float32)
    for row, mask in zip(made, masks, strict=True):
        y, x = torch.where(mask != 0)
        row.copy_(torch.stack((x.min(), y.min(), x.max(), y.max())))
    return made


# --- How far two boxes cover each other ----------------------------------------------------------------


def _floating(boxes: Tensor) -> Tensor:
    return boxes if boxes.is_floating_point() else boxes.to(torch.float32)


def _extent(one: Tensor, two: Tensor, inner: bool) -> Tensor:
    """Width and height of what each pair shares, or of the smallest box around each pair."""
    low, high = (torch.max, torch.min) if inner else (torch.min, torch.max)
    corner = low(one[:, None, :2], two[None, :, :2])
    return (high(one[:, None, 2:], two[None, :, 2:]) - corner).clamp(min=0)


def _overlap(one: Tensor, two: Tensor) -> tuple[Tensor, Tensor]:
    """The shares of the common area in the area of both, and that area."""
    common = _extent(one, two, inner=True).prod(-1)
    union = box_area(one)[:, None] + box_area(two) - common
    return common / union, union


def box_iou(boxes1: Tensor, boxes2: Tensor, fmt: str = "xyxy") -> Tensor:
    """The common area of each pair of boxes divided by the area of both."""
    if fmt != "xyxy":
        boxes1, boxes2 = box_convert(boxes1, fmt, "xyxy"), box_convert(boxes2, fmt, "xyxy")
    return _overlap(_floating(boxes1), _floating(boxes2))[0]


def generalized_box_iou(boxes1: Tensor, boxes2: Tensor) -> Tensor:
    """As `box_iou`, less the share of the smallest box around both that neither covers."""
    one, two = _floating(boxes1), _floating(boxes2)
    overlap, union = _overlap(one, two)
    around = _extent(one, two, inner=False).prod(-1)
    return overlap - (around - union) / around


def _centre_distance(one: Tensor, two: Tensor, eps: float) -> Tensor:
    """The squared distance of centres, divided by the squared diagonal of the box around both."""
    diagonal = (_extent(one, two, inner=False) ** 2).sum(-1) + eps
    centres = [(boxes[:, :2] + boxes[:, 2:]) / 2 for boxes in (one, two)]
    return ((centres[0][:, None] - centres[1][None]) ** 2).sum(-1) / diagonal


def distance_box_iou(boxes1: Tensor, boxes2: Tensor, eps: float = 1e-7) -> Tensor:
    """As `box_iou`, less how far the centres are apart."""
    one, two = _floating(boxes1), _floating(boxes2)
    return _overlap(one, two)[0] - _centre_distance(one, two, eps)


def complete_box_iou(boxes1: Tensor, boxes2: Tensor, eps: float = 1e-7) -> Tensor:
    """As `distance_box_iou`, less how much the proportions differ."""
    one, two = _floating(boxes1), _floating(boxes2)
    overlap = _overlap(one, two)[0]
    angles = [torch.atan((b[:, 2] - b[:, 0]) / (b[:, 3] - b[:, 1])) for b in (one, two)]
    differ = 4 / math.pi**2 * (angles[0][:, None] - angles[1][None]) ** 2
    with torch.no_grad():
        weight = differ / (1 - overlap + differ + eps)
    return overlap - _centre_distance(one, two, eps) - weight * differ


# --- One box for each thing ------------------------------------------------------------------------------


def nms(boxes: Tensor, scores: Tensor, iou_threshold: float) -> Tensor:
    """The places of boxes that no better box covers by more than a threshold, best first.

    Args:
        boxes: of shape (count, 4)
        scores: how good each is
        iou_threshold: a box is dropped if a better one that stays has a larger `box_iou` with it
    """
    if boxes.dim() != 2 or boxes.shape[1] != 4:
        raise RuntimeError(f"boxes should be a 2d tensor of shape (N, 4), got {tuple(boxes.shape)}")
    if scores.dim() != 1 or len(scores) != len(boxes):
        raise RuntimeError(
            "boxes and scores should have same number of elements in dimension 0, got "
            f"{len(boxes)} and {tuple(scores.shape)}"
        )
    corners = boxes.detach().cpu().double().numpy()
    waiting = scores.detach().argsort(descending=True, stable=True).cpu().numpy()
    areas = (corners[:, 2] - corners[:, 0]) * (corners[:, 3] - corners[:, 1])
    kept = []
    while len(waiting):
        best, waiting = waiting[0], waiting[1:]
        kept.append(int(best))
        low = np.maximum(corners[best, :2], corners[waiting, :2])
        high = np.minimum(corners[best, 2:], corners[waiting, 2:])
        common = np.prod(np.maximum(high - low, 0), axis=1)
        union = areas[best] + areas[waiting] - common
        waiting = waiting[common <= iou_threshold * union]
    return torch.as_tensor(kept, dtype=torch.int64, device=boxes.device)


def batched_nms(boxes: Tensor, scores: Tensor, idxs: Tensor, iou_threshold: float) -> Tensor:
    """As `nms`, where only boxes of one class cover each other.

    Args:
        boxes: of shape (count, 4)
        scores: how good each is
        idxs: the class of each
        iou_threshold: as in `nms`
    """
    if boxes.numel() == 0:
        return torch.empty((0,), dtype=torch.int64, device=boxes.device)
    kept = []
    for cls in torch.unique(idxs):
        places = torch.where(idxs == cls)[0]
        kept.append(places[nms(boxes[places], scores[places], iou_threshold)])
    found = torch.cat(kept)
    return found[scores[found].argsort(descending=True, stable=True)]
