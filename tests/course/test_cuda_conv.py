"""Lesson 4: convolution on the GPU, or in Numba's simulator, against NumPy and by definition."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import minitorch
from minitorch import IndexingError, Tensor, cuda_conv, cuda_device
from minitorch.cuda_device import launch_arguments

from .strategies import Array, assert_close, assert_like_numpy, conv_in_numpy, random_order
from .test_cuda_ops import assert_on_device, numbers, on_cuda

pytestmark = pytest.mark.task4_4

SHAPES = [
    ((1, 1, 6), (1, 1, 4)),
    ((2, 2, 6), (3, 2, 2)),
    ((2, 3, 4), (2, 3, 1)),
    ((1, 2, 3), (2, 2, 5)),
    ((1, 1, 4, 4), (1, 1, 2, 2)),
    ((2, 2, 3, 5), (3, 2, 2, 3)),
    ((1, 3, 3, 2), (1, 3, 1, 1)),
    ((2, 1, 2, 3), (2, 1, 3, 4)),
]


def ours(input: Tensor, weight: Tensor) -> Tensor:
    return (cuda_conv.conv1d if input.dims == 3 else cuda_conv.conv2d)(input, weight)


def by_definition(input: Array, weight: Array, window: tuple[int, ...], reverse: bool) -> Array:
    out = np.zeros((input.shape[0], weight.shape[0], *window))
    for place in np.ndindex(*window):
        for k in np.ndindex(*weight.shape[2:]):
            at = tuple(i - j if reverse else i + j for i, j in zip(place, k, strict=True))
            if all(0 <= i < size for i, size in zip(at, input.shape[2:], strict=True)):
                out[(..., *place)] += input[(..., *at)] @ weight[(..., *k)].T
    return out


@pytest.mark.parametrize(("input", "weight"), SHAPES)
@pytest.mark.parametrize("permuted", [False, True], ids=["contiguous", "permuted"])
def test_like_numpy(input: Any, weight: Any, permuted: bool) -> None:
    x = on_cuda(numbers(*input), random_order(len(input)) if permuted else None)
    w = on_cuda(numbers(*weight), random_order(len(weight)) if permuted else None)
    assert_on_device(ours(x, w))
    assert_like_numpy(ours, conv_in_numpy, x, w)


@pytest.mark.parametrize(("input", "weight"), [SHAPES[1], SHAPES[5]])
@pytest.mark.parametrize("reverse", [False, True])
def test_kernel(input: Any, weight: Any, reverse: bool) -> None:
    """Windows smaller and larger than the input, any number of threads to an output."""
    kernel = cuda_conv._tensor_conv1d if len(input) == 3 else cuda_conv._tensor_conv2d
    x, w = on_cuda(numbers(*input)), on_cuda(numbers(*weight))
    for grow, lanes in itertools.product((-1, 2), (1, 4)):
        window = tuple(size + grow for size in input[2:])
        expected = by_definition(x.to_numpy(), w.to_numpy(), window, reverse)
        out = on_cuda(np.full(expected.shape, np.nan), random_order(expected.ndim))
        threads = (lanes, cuda_conv.THREADS // lanes)
        cuda_device.jit(kernel)[-(-out.size // threads[1]), threads](
            *launch_arguments(out._tensor),
            out.size,
            *launch_arguments(x._tensor),
            *launch_arguments(w._tensor),
            reverse,
        )
        assert_close(out.to_numpy(), expected)


def test_like_the_fast_backend() -> None:
    fast = minitorch.TensorBackend(minitorch.FastOps)
    x, w = numbers(2, 2, 3, 4), numbers(3, 2, 2, 2)
    expected = minitorch.conv2d(
        minitorch.tensor(x, backend=fast), minitorch.tensor(w, backend=fast)
    )
    assert_close(ours(on_cuda(x), on_cuda(w)).to_numpy(), expected.to_numpy())


@pytest.mark.parametrize(
    ("input", "weight"), [((1, 2, 4), (2, 2, 3)), ((1, 1, 2, 3), (2, 1, 2, 2))]
)
def test_gradients(input: Any, weight: Any) -> None:
    minitorch.grad_check(ours, on_cuda(numbers(*input)), on_cuda(numbers(*weight)))


@pytest.mark.parametrize(
    ("input", "weight"),
    [
        ((0, 2, 4), (3, 2, 2)),
        ((2, 2, 0), (3, 2, 2)),
        ((2, 0, 3), (2, 0, 2)),
        ((1, 1, 3), (0, 1, 2)),
    ],
)
def test_nothing_to_compute(input: Any, weight: Any) -> None:
    x, w = on_cuda(np.zeros(input)), on_cuda(np.zeros(weight))
    out = ours(x, w)
    assert_close(out.to_numpy(), np.zeros((input[0], weight[0], input[2])))
    out.backward(out.zeros())
    assert x.grad is not None
    assert w.grad is not None
    assert (x.grad.shape, w.grad.shape) == (input, weight)


@pytest.mark.parametrize(
    ("conv", "input", "weight", "message"),
    [
        ("conv1d", (2, 3, 4), (1, 2, 2), r"conv1d: .*\(2, 3, 4\).* 3 channels.*\(1, 2, 2\)"),
        ("conv1d", (3, 4), (1, 3, 2), r"conv1d: .*\(3, 4\)"),
        ("conv1d", (2, 3, 4), (3, 2), r"conv1d: .*\(3, 2\)"),
        ("conv2d", (2, 3, 4), (1, 3, 2, 2), r"conv2d: .*\(2, 3, 4\)"),
        ("conv2d", (1, 2, 4, 4), (1, 3, 2, 2), r"conv2d: .* 2 channels.*\(1, 3, 2, 2\)"),
    ],
)
def test_shapes_that_do_not_fit(conv: str, input: Any, weight: Any, message: str) -> None:
    with pytest.raises(IndexingError, match=message):
        getattr(cuda_conv, conv)(on_cuda(numbers(*input)), on_cuda(numbers(*weight)))


def test_tensors_on_the_cpu_are_refused() -> None:
    x, w = minitorch.tensor(numbers(1, 1, 3)), minitorch.tensor(numbers(1, 1, 2))
    with pytest.raises(RuntimeError, match=r"shape \(1, 1, 3\) is not on the GPU"):
        cuda_conv.conv1d(x, w)
