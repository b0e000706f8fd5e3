"""What PyTorch's tutorials and recipes use, beyond layers and training: hooks of saved tensors, own operations, drawings."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch as real

import minitorch.torch as library
from minitorch.torchvision import utils

ours: Any = library
LIBRARIES = pytest.mark.parametrize("lib", [ours, real], ids=["ours", "torch"])


@LIBRARIES
def test_hooks_of_saved_tensors_can_be_refused(lib: Any) -> None:
    hooks = lib.autograd.graph.saved_tensors_hooks
    refused = lib.autograd.graph.disable_saved_tensors_hooks("not here")
    with refused, pytest.raises(RuntimeError, match="not here"), hooks(lambda t: t, lambda t: t):
        pass
    with hooks(lambda t: t, lambda t: t):
        pass


@LIBRARIES
def test_one_saved_tensor_gets_hooks(lib: Any) -> None:
    x = lib.tensor([2.0, 3.0], requires_grad=True)
    y, z = x * x, x.exp()
    y.grad_fn._raw_saved_self.register_hooks(lambda t: t * 4, lambda t: t)
    z.grad_fn._raw_saved_result.register_hooks(lambda t: t.detach() * 0, lambda t: t)
    with pytest.raises(RuntimeError):
        y.grad_fn._raw_saved_self.register_hooks(lambda t: t, lambda t: t)
    (y + z).sum().backward()
    assert x.grad.tolist() == [10.0, 15.0]


@LIBRARIES
def test_conversion_may_make_new_parameters(lib: Any) -> None:
    layer = lib.nn.Linear(2, 2)
    before = layer.weight
    layer.weight.grad = lib.ones(2, 2)
    assert layer.double().weight is before
    lib.__future__.set_overwrite_module_params_on_conversion(True)
    try:
        assert layer.float().weight is not before
        assert before.dtype is lib.float64
        assert layer.weight.grad.dtype is lib.float32
    finally:
        lib.__future__.set_overwrite_module_params_on_conversion(False)
    before = layer.weight
    lib.__future__.set_swap_module_params_on_conversion(True)
    try:
        assert layer.double().weight is before
        assert before.dtype is lib.float64
    finally:
        lib.__future__.set_swap_module_params_on_conversion(False)


@LIBRARIES
def test_own_operations_see_defaults_and_are_checked(lib: Any) -> None:
    def scaled(x, by=3.0):
        return x * by

    scaled.__annotations__ = {"x": lib.Tensor, "by": float, "return": lib.Tensor}
    op = lib.library.custom_op("tutorial_names::scaled", scaled, mutates_args=())
    op.register_fake(lambda x, by=3.0: lib.empty_like(x))
    op.register_autograd(
        lambda ctx, g: (g * ctx.by, None),
        setup_context=lambda ctx, inputs, output: setattr(ctx, "by", inputs[1]),
    )
    x = lib.ones(2, requires_grad=True)
    op(x).sum().backward()
    assert x.grad.tolist() == [3.0, 3.0]
    found = lib.library.opcheck(
        op, (lib.ones(2, requires_grad=True), 2.0), test_utils="test_schema"
    )
    assert found == {"test_schema": "SUCCESS"}


@LIBRARIES
@pytest.mark.parametrize(
    ("name", "wrong", "test"),
    [
        ("writes", lambda x: x.add_(1).clone(), "test_schema"),
        ("shape", lambda x: x.flatten().clone(), "test_faketensor"),
    ],
)
def test_own_operations_that_do_something_else_are_found(
    lib: Any, name: str, wrong: Any, test: str
) -> None:
    def fn(x):
        return wrong(x)

    fn.__annotations__ = {"x": lib.Tensor, "return": lib.Tensor}
    op = lib.library.custom_op(f"tutorial_names::{name}", fn, mutates_args=())
    op.register_fake(lambda x: lib.empty_like(x))
    found = lib.library.opcheck(op, (lib.ones(2, 2),), test_utils=test, raise_exception=False)
    assert isinstance(found[test], Exception)


def test_grids_at_whole_pixels_have_pytorchs_derivatives() -> None:
    """At the identity each point lies on a pixel, to rounding, and the rounding decides which slope is taken."""
    found = []
    for lib in (ours, real):
        image = lib.from_numpy(np.random.default_rng(0).standard_normal((1, 1, 28, 28), np.float32))
        theta = lib.tensor([[[1.0, 0, 0], [0, 1, 0]]], requires_grad=True)
        for aligned in (False, True):
            grid = lib.nn.functional.affine_grid(theta, [1, 1, 28, 28], align_corners=aligned)
            lib.nn.functional.grid_sample(
                image, grid, align_corners=aligned
            ).square().sum().backward()
        found.append(theta.grad.numpy())
    np.testing.assert_allclose(*found, rtol=1e-5, atol=1e-2)


def test_boxes_masks_and_points_are_drawn() -> None:
    """The numbers are torchvision's."""
    picture = ours.full((3, 12, 12), 100, dtype=ours.uint8)
    boxes = ours.tensor([[1.0, 1, 6, 6], [4, 5, 10, 11]])
    drawn = utils.draw_bounding_boxes(picture, boxes, colors=["blue", (255, 255, 0)])
    assert drawn[:, 1, 1].tolist() == [0, 0, 255]
    assert drawn[:, 5, 4].tolist() == [255, 255, 0]
    assert drawn[:, 3, 3].tolist() == [100] * 3
    filled = utils.draw_bounding_boxes(picture / 255, boxes, colors="red", fill=True, width=2)
    assert filled[0, 3, 3] > filled[1, 3, 3]
    masks = ours.zeros(2, 12, 12, dtype=ours.bool)
    masks[0, :6] = masks[1, 4:] = True
    covered = utils.draw_segmentation_masks(picture, masks, alpha=0.5, colors=["#ff0000", "lime"])
    assert covered[:, [0, 5, 11], 0].tolist() == [[177, 50, 50], [50, 50, 177], [50, 50, 50]]
    points = utils.draw_keypoints(picture, ours.tensor([[[2, 2], [8, 8]]]), [(0, 1)], "red", 1)
    assert points[:, 5, 5].tolist() == [255] * 3
    with pytest.raises(ValueError, match="mismatch"):
        utils.draw_bounding_boxes(picture, boxes, ["one"])
    with pytest.raises(ValueError, match="dtype bool"):
        utils.draw_segmentation_masks(picture, masks.int())


WALKS: dict[str, Any] = {
    "mse_loss": lambda F, x, w, b, y: F.mse_loss(x, y),
    "smooth_l1_loss": lambda F, x, w, b, y: F.smooth_l1_loss(x.exp(), y, reduction="sum"),
    "huber_loss": lambda F, x, w, b, y: F.huber_loss(x, y, reduction="none"),
    "binary_cross_entropy": lambda F, x, w, b, y: F.binary_cross_entropy(x.sigmoid(), y),
    "with_logits": lambda F, x, w, b, y: F.binary_cross_entropy_with_logits(x, y),
    "cross_entropy": lambda F, x, w, b, y: F.cross_entropy(x * 2, y[0].long()),
    "linear": lambda F, x, w, b, y: F.linear(x, w, b),
    "linear of more dimensions": lambda F, x, w, b, y: F.linear(x.view(1, 2, 2).sin(), w, b),
    "linear without bias": lambda F, x, w, b, y: F.linear(x, w),
    "linear without bias of more dimensions": lambda F, x, w, b, y: F.linear(x.view(1, 2, 2), w),
    "linear of a frozen weight": lambda F, x, w, b, y: F.linear(x, w.detach(), b),
    "two layers": lambda F, x, w, b, y: F.mse_loss(F.linear(F.linear(x, w, b).relu(), w, b), y),
}


@pytest.mark.parametrize("name", WALKS)
def test_walks_through_next_functions(name: str) -> None:
    """The names and the order of nodes are PyTorch's, also where one of ours does what two of its nodes do."""
    found: list[list[str]] = [[], []]
    for lib, names in zip((ours, real), found, strict=True):
        x, w, b = (lib.ones(*s, requires_grad=True) for s in ((2, 2), (2, 2), (2,)))
        out = WALKS[name](lib.nn.functional, x, w, b, lib.full((2, 2), 0.5))
        waiting = [out.grad_fn]
        while waiting:
            node = waiting.pop()
            names.append("None" if node is None else node.name() + type(node).__name__)
            waiting += [] if node is None else [n for n, _ in reversed(node.next_functions)]
        out.sum().backward()
        assert x.grad is not None
    assert found[0] == found[1]
