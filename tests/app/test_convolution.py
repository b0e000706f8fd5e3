"""The page of convolution: its lessons against PyTorch, its sums against the library."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from minitorch.app import kernels
from minitorch.app.drawings import tiles, windows
from minitorch.app.inside import convolution


def forward(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    """A convolution that is as large as its input: zeros to the right and below."""
    pads = [n for size in reversed(w.shape[2:]) for n in (0, size - 1)]
    padded = torch.nn.functional.pad(x[None], pads)
    apply = torch.nn.functional.conv1d if x.ndim == 2 else torch.nn.functional.conv2d
    return apply(padded, w)[0]


@pytest.mark.parametrize("size", [(7,), (5, 4)], ids=["1-D", "2-D"])
def test_all_three_directions(size) -> None:
    rng = np.random.default_rng(0)
    x, w = rng.normal(size=(2, *size)), rng.normal(size=(3, 2, *(3, 2)[: len(size)]))
    g = rng.normal(size=(3, *size))
    tx, tw = torch.tensor(x, requires_grad=True), torch.tensor(w, requires_grad=True)
    out = forward(tx, tw)
    out.backward(torch.tensor(g))
    assert tx.grad is not None
    assert tw.grad is not None
    assert np.allclose(convolution.convolve(x, w)["out"], out.detach().numpy())
    assert np.allclose(convolution.input_gradient(g, w)["out"], tx.grad.numpy())
    window = list(w.shape[2:])
    assert np.allclose(convolution.weight_gradient(x, g, window)["out"], tw.grad.numpy())


def test_the_sums_on_the_page_are_what_the_library_gives() -> None:
    rng = np.random.default_rng(1)
    x, w = rng.normal(size=(2, 4, 5)), rng.normal(size=(1, 2, 2, 3))
    slide = windows.Slide(x, w[0], convolution.convolve(x, w)["out"][0])
    assert not slide.wrong
    g = rng.normal(size=(1, 4, 5))
    back = windows.Slide(g, w[:, 0], convolution.input_gradient(g, w)["out"][0], reverse=True)
    assert not back.wrong
    broken = windows.Slide(g, w[:, 0], back.result, reverse=False)
    assert broken.wrong
    assert windows.draw_frame(slide, 1, (3, 4), 7).width > 300


def test_a_window_spelled_out() -> None:
    slide = windows.Slide(np.array([[[1.0, 2, 3]]]), np.array([[[1.0, 0, -1]]]), np.zeros((1, 3)))
    assert windows.spell(slide, 0, (0, 1)) == "2×1 + 3×0 + 0×(-1) = 2"
    assert [inside for *_, inside in slide.products(0, (0, 1))] == [True, True, False]


def test_pooling_and_its_steps() -> None:
    image = np.random.default_rng(2).normal(size=(4, 6))
    steps = convolution.tile_steps(image, [2, 3])
    expected = image.reshape(2, 2, 2, 3).transpose(0, 2, 1, 3).reshape(2, 2, 6)
    assert np.allclose(np.reshape(steps[-1]["storage"], (2, 2, 6)), expected)
    assert steps[2]["strides"] == [12, 3, 6, 1]
    assert np.allclose(convolution.tile(image, [2, 3])["tiles"], expected)
    assert np.allclose(convolution.pool(image, [2, 3], "average")["out"], expected.mean(2))
    assert np.allclose(convolution.pool(image, [2, 3], "max")["out"], expected.max(2))
    gradient = convolution.pool_gradient(image, [2, 3], "max", [[1, 2], [3, 4]])["out"]
    assert sorted(gradient[gradient != 0]) == [1, 2, 3, 4]
    assert len(tiles.draw_steps(steps, (2, 3))) == 5


def test_numbers_that_a_user_types() -> None:
    assert kernels.read_numbers("1 2; 3 -4", 2, "kernel").tolist() == [[1, 2], [3, -4]]
    for text in ["", "x", "1 2; 3", "1; 2", "1 2 3 4 5 6", "1e9", "nan"]:
        with pytest.raises(kernels.NumbersError):
            kernels.read_numbers(text, 1 if text == "1; 2" else 2, "kernel")
