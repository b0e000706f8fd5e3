"""Convolution and pooling: what the library's kernels give for a few numbers, step by step."""

from __future__ import annotations

from typing import Any

import numpy as np

import minitorch

Numbers = Any
"""Nested lists of numbers."""


def _tensor(values: Numbers) -> Any:
    """Numbers as a tensor on the backend of lesson 3."""
    from minitorch.training.layers import constant, fast_backend

    return constant(values, fast_backend())


def convolve(input: Numbers, weight: Numbers) -> dict[str, Any]:
    """What `conv1d` or `conv2d` gives.

    Args:
        input: in channel x length, or in channel x height x width
        weight: out channel x in channel x window
    """
    image = np.asarray(input, float)
    apply: Any = minitorch.conv1d if image.ndim == 2 else minitorch.conv2d
    return {"out": apply(_tensor(image[None]), _tensor(weight)).to_numpy()[0]}


def input_gradient(gradient: Numbers, weight: Numbers) -> dict[str, Any]:
    """The kernel with `reverse`, as the gradient of the input needs it.

    Args:
        gradient: of the output, out channel x place
        weight: out channel x in channel x window
    """
    swapped = np.asarray(weight, float).swapaxes(0, 1)
    result = np.zeros((1, len(swapped), *np.shape(gradient)[1:]))
    return {"out": _run_kernel(result, np.asarray(gradient, float)[None], swapped, True)[0]}


def weight_gradient(input: Numbers, gradient: Numbers, window: list[int]) -> dict[str, Any]:
    """The kernel with the output's gradient as its window, as the gradient of the weight needs it.

    Args:
        input: in channel x place
        gradient: of the output, out channel x place
        window: the size of the weight's window
    """
    images = np.asarray(input, float)[:, None]  # each channel an image of its own
    weights = np.asarray(gradient, float)[:, None]
    result = np.zeros((len(images), len(weights), *window))
    return {"out": _run_kernel(result, images, weights, False).swapaxes(0, 1)}


def _run_kernel(result: Any, input: Any, weight: Any, reverse: bool) -> Any:
    """Fill `result` by the library's own kernel, in one or two dimensions."""
    from minitorch import fast_conv

    kernel: Any = fast_conv.tensor_conv1d if input.ndim == 3 else fast_conv.tensor_conv2d
    out = _tensor(result)
    kernel(*out.tuple(), out.size, *_tensor(input).tuple(), *_tensor(weight).tuple(), reverse)
    return out.to_numpy()


# --- Pooling -----------------------------------------------------------------------------------


def tile_steps(image: Numbers, kernel: list[int]) -> list[dict[str, Any]]:
    """From an image to its tiles by view and permute: shape, strides and storage at each step."""
    (height, width), (kh, kw) = np.shape(image), kernel
    rows, columns = height // kh, width // kw
    start = _tensor(image)
    cut = start.view(rows, kh, columns, kw)
    moved = cut.permute(0, 2, 1, 3)
    laid_out = moved.contiguous()
    joined = laid_out.view(rows, columns, kh * kw)
    return [_describe(t) for t in (start, cut, moved, laid_out, joined)]


def _describe(tensor: Any) -> dict[str, Any]:
    storage, shape, strides = tensor.tuple()
    return {
        "shape": [int(size) for size in shape],
        "strides": [int(stride) for stride in strides],
        "storage": np.asarray(storage)[: int(np.prod(shape))],
    }


def tile(image: Numbers, kernel: list[int]) -> dict[str, Any]:
    """What `tile` gives for an image of one channel."""
    tiles, height, width = minitorch.tile(_tensor([[image]]), _pair(kernel))
    return {"tiles": tiles.to_numpy()[0, 0], "height": height, "width": width}


def pool(image: Numbers, kernel: list[int], kind: str) -> dict[str, Any]:
    """What `avgpool2d` or `maxpool2d` gives for an image of one channel."""
    apply: Any = minitorch.avgpool2d if kind == "average" else minitorch.maxpool2d
    return {"out": apply(_tensor([[image]]), _pair(kernel)).to_numpy()[0, 0]}


def pool_gradient(
    image: Numbers, kernel: list[int], kind: str, gradient: Numbers
) -> dict[str, Any]:
    """The gradient of the image, from that of what `avgpool2d` or `maxpool2d` gave."""
    apply: Any = minitorch.avgpool2d if kind == "average" else minitorch.maxpool2d
    x = _tensor([[image]])
    x.requires_grad_(True)
    apply(x, _pair(kernel)).backward(_tensor([[gradient]]))
    return {"out": x.grad.to_numpy()[0, 0]}


def _pair(kernel: list[int]) -> tuple[int, int]:
    height, width = kernel
    return height, width
