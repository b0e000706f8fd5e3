"""Boxes and layers of torchvision, against plain Python."""

from __future__ import annotations

import math
import random
from typing import Any

import pytest

import minitorch.torch as torch
from minitorch.torchvision import ops

Box = tuple[float, float, float, float]


def some_boxes(count: int, seed: int = 0) -> list[Box]:
    draw = random.Random(seed).uniform
    corners = [(draw(0, 20), draw(0, 20)) for _ in range(count)]
    return [(x, y, x + draw(1, 15), y + draw(1, 15)) for x, y in corners]


def area(b: Box) -> float:
    return max(b[2] - b[0], 0) * max(b[3] - b[1], 0)


def iou(a: Box, b: Box) -> tuple[float, float]:
    common = area((max(a[0], b[0]), max(a[1], b[1]), min(a[2], b[2]), min(a[3], b[3])))
    union = area(a) + area(b) - common
    return common / union, union


def around(a: Box, b: Box) -> Box:
    return min(a[0], b[0]), min(a[1], b[1]), max(a[2], b[2]), max(a[3], b[3])


def distance(a: Box, b: Box) -> float:
    c = around(a, b)
    dx, dy = (a[0] + a[2] - b[0] - b[2]) / 2, (a[1] + a[3] - b[1] - b[3]) / 2
    return (dx**2 + dy**2) / ((c[2] - c[0]) ** 2 + (c[3] - c[1]) ** 2)


def generalized(a: Box, b: Box) -> float:
    share, union = iou(a, b)
    whole = area(around(a, b))
    return share - (whole - union) / whole


def complete(a: Box, b: Box) -> float:
    angle = [math.atan((x[2] - x[0]) / (x[3] - x[1])) for x in (a, b)]
    v = 4 / math.pi**2 * (angle[0] - angle[1]) ** 2
    share = iou(a, b)[0]
    return share - distance(a, b) - v * v / (1 - share + v + 1e-7)


@pytest.mark.parametrize(
    ("name", "plain"),
    [
        ("box_iou", lambda a, b: iou(a, b)[0]),
        ("generalized_box_iou", generalized),
        ("distance_box_iou", lambda a, b: iou(a, b)[0] - distance(a, b)),
        ("complete_box_iou", complete),
    ],
)
def test_pairs_of_boxes(name: str, plain: Any) -> None:
    one, two = some_boxes(7), some_boxes(5, seed=1)
    got = getattr(ops, name)(torch.as_tensor(one).double(), torch.as_tensor(two).double())
    expected = torch.as_tensor([[plain(a, b) for b in two] for a in one]).double()
    torch.testing.assert_close(got, expected, rtol=1e-6, atol=1e-7)


def plain_nms(boxes: list[Box], scores: list[float], threshold: float) -> list[int]:
    kept: list[int] = []
    for i in sorted(range(len(boxes)), key=lambda i: -scores[i]):
        if all(iou(boxes[i], boxes[k])[0] <= threshold for k in kept):
            kept.append(i)
    return kept


@pytest.mark.parametrize("threshold", [0.0, 0.2, 0.5, 1.0])
def test_nms(threshold: float) -> None:
    boxes = some_boxes(60)
    scores = [random.Random(5).random() + i % 7 for i in range(60)]
    scores = [s + i * 1e-3 for i, s in enumerate(scores)]
    given = torch.as_tensor(boxes).double(), torch.as_tensor(scores)
    assert ops.nms(*given, threshold).tolist() == plain_nms(boxes, scores, threshold)
    classes = torch.arange(60) % 3
    separate = [
        i * 3 + c for c in range(3) for i in plain_nms(boxes[c::3], scores[c::3], threshold)
    ]
    assert ops.batched_nms(*given, classes, threshold).tolist() == sorted(
        separate, key=lambda i: -scores[i]
    )


def test_nms_of_nothing_and_of_wrong_shapes() -> None:
    assert ops.nms(torch.zeros(0, 4), torch.zeros(0), 0.5).tolist() == []
    for boxes, scores in ((torch.zeros(2, 3), torch.zeros(2)), (torch.zeros(2, 4), torch.zeros(3))):
        with pytest.raises(RuntimeError):
            ops.nms(boxes, scores, 0.5)


@pytest.mark.parametrize("fmt", ["xywh", "cxcywh", "xyxy"])
def test_forms_of_boxes(fmt: str) -> None:
    boxes = torch.as_tensor(some_boxes(4))
    there = ops.box_convert(boxes, "xyxy", fmt)
    torch.testing.assert_close(ops.box_convert(there, fmt, "xyxy"), boxes)
    x1, y1, x2, y2 = boxes[0].tolist()
    expected = {"xywh": [x1, y1], "cxcywh": [(x1 + x2) / 2, (y1 + y2) / 2], "xyxy": [x1, y1]}[fmt]
    assert there[0, :2].tolist() == pytest.approx(expected)
    with pytest.raises(ValueError, match="Unsupported"):
        ops.box_convert(boxes, fmt, "other")


def test_small_things() -> None:
    boxes = torch.as_tensor([[-1.0, 2.0, 30.0, 5.0], [0.0, 0.0, 0.5, 9.0]])
    assert ops.clip_boxes_to_image(boxes, (4, 20)).tolist() == [[0, 2, 20, 4], [0, 0, 0.5, 4]]
    assert ops.remove_small_boxes(boxes, 1.0).tolist() == [0]
    masks = torch.zeros(1, 4, 5)
    masks[0, 1:3, 2:5] = 1
    assert ops.masks_to_boxes(masks).tolist() == [[2, 1, 4, 2]]


def plain_roi_align(
    picture: list[list[float]], box: Box, bins: int, scale: float, ratio: int, aligned: bool
) -> list[list[float]]:
    """One channel, point by point."""
    height, width = len(picture), len(picture[0])

    def value(y: float, x: float) -> float:
        if not (-1 <= y <= height and -1 <= x <= width):
            return 0.0
        y, x = max(y, 0.0), max(x, 0.0)
        y1, x1 = min(int(y), height - 1), min(int(x), width - 1)
        y2, x2 = min(y1 + 1, height - 1), min(x1 + 1, width - 1)
        v, u = (y - y1 if y1 < height - 1 else 0.0), (x - x1 if x1 < width - 1 else 0.0)
        upper = picture[y1][x1] * (1 - u) + picture[y1][x2] * u
        return upper * (1 - v) + (picture[y2][x1] * (1 - u) + picture[y2][x2] * u) * v

    shift = 0.5 if aligned else 0.0
    x1, y1, x2, y2 = (c * scale - shift for c in box)
    w, h = (x2 - x1, y2 - y1) if aligned else (max(x2 - x1, 1.0), max(y2 - y1, 1.0))
    ny = ratio if ratio > 0 else math.ceil(h / bins)
    nx = ratio if ratio > 0 else math.ceil(w / bins)
    return [
        [
            sum(
                value(y1 + (r + (i + 0.5) / ny) * h / bins, x1 + (c + (j + 0.5) / nx) * w / bins)
                for i in range(ny)
                for j in range(nx)
            )
            / (ny * nx)
            for c in range(bins)
        ]
        for r in range(bins)
    ]


@pytest.mark.parametrize("aligned", [True, False])
@pytest.mark.parametrize("ratio", [-1, 2])
def test_roi_align(aligned: bool, ratio: int) -> None:
    torch.manual_seed(0)
    picture = torch.randn(2, 3, 8, 9, dtype=torch.float64, requires_grad=True)
    boxes = [
        torch.as_tensor(some_boxes(3)).double() - 2,
        torch.as_tensor(some_boxes(2, seed=3)).double(),
    ]
    got = ops.roi_align(picture, boxes, 3, 0.5, ratio, aligned)
    expected = [
        [plain_roi_align(picture[i, c].tolist(), box, 3, 0.5, ratio, aligned) for c in range(3)]
        for i in range(2)
        for box in boxes[i].tolist()
    ]
    torch.testing.assert_close(got, torch.as_tensor(expected).double())
    got.sum().backward()
    assert picture.grad is not None
    layer = ops.RoIAlign(3, 0.5, ratio, aligned)
    torch.testing.assert_close(layer(picture, boxes), got)


def test_focal_loss_of_a_sure_example_is_small() -> None:
    x, y = torch.as_tensor([0.3, -2.0]), torch.as_tensor([1.0, 0.0])
    expected = []
    for logit, target in zip(x.tolist(), y.tolist(), strict=True):
        p = 1 / (1 + math.exp(-logit))
        right, weight = (p, 0.25) if target else (1 - p, 0.75)
        expected.append(-weight * (1 - right) ** 2 * math.log(right))
    assert ops.sigmoid_focal_loss(x, y).tolist() == pytest.approx(expected, rel=1e-5)
    assert ops.sigmoid_focal_loss(x, y, reduction="sum").item() == pytest.approx(
        sum(expected), rel=1e-5
    )
    with pytest.raises(ValueError, match="alpha"):
        ops.sigmoid_focal_loss(x, y, alpha=2)


def test_layers() -> None:
    torch.manual_seed(0)
    x = torch.randn(2, 4, 6, 6)
    norm = torch.nn.BatchNorm2d(4).eval()
    norm.load_state_dict(
        {**norm.state_dict(), "running_mean": torch.randn(4), "running_var": torch.rand(4) + 0.5}
    )
    frozen = ops.FrozenBatchNorm2d(4)
    frozen.load_state_dict(norm.state_dict())
    torch.testing.assert_close(frozen(x), norm(x))
    assert ops.Conv2dNormActivation(4, 8, 5, dilation=2)(x).shape == (2, 8, 6, 6)
    squeezed = ops.SqueezeExcitation(4, 2)
    factors = squeezed(x) / x
    torch.testing.assert_close(
        factors, factors.mean((2, 3), keepdim=True).expand_as(factors), rtol=1e-4, atol=1e-5
    )
    assert ops.MLP(4, [5, 3])(torch.ones(2, 4)).shape == (2, 3)
    rows = ops.stochastic_depth(torch.ones(400, 3), 0.25, "row")
    assert rows.unique().tolist() == pytest.approx([0.0, 4 / 3])
    assert 0.65 < float((rows[:, 0] > 0).float().mean()) < 0.85
    assert ops.stochastic_depth(x, 0.5, "batch", training=False) is x
