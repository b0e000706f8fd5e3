"""Lesson 4: convolution in one and two dimensions, on both CPU backends."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import minitorch
from minitorch import Tensor, grad_check, tensor

from .strategies import (
    assert_close,
    assert_like_numpy,
    backend,
    conv_in_numpy,
    random_order,
    random_tensor,
)

both = pytest.mark.parametrize("backend_name", ["simple", "fast"])


def drawn(data: st.DataObject, shape: Sequence[int], backend_name: str) -> Tensor:
    return random_tensor(shape, backend_name, data.draw(st.permutations(range(len(shape)))))


# --- Task 4.1: one dimension -----------------------------------------------------------


@pytest.mark.task4_1
@both
def test_conv1d_of_the_guide(backend_name: str) -> None:
    x = tensor([[[1, 2, 3, 4, 5, 6]]], backend=backend(backend_name))
    w = tensor([[[5, 2, 3]]], backend=backend(backend_name))
    out = minitorch.conv1d(x, w)
    assert out.to_numpy().tolist() == [[[18, 28, 38, 48, 37, 30]]]
    d = [1.0, 10.0, 100.0, 1000.0, 10000.0, 100000.0]
    out.backward(tensor([[d]], backend=backend(backend_name)))
    assert x.grad is not None
    assert w.grad is not None
    # The guide: grad_input[2] = weight[0] d[2] + weight[1] d[1] + weight[2] d[0]
    assert x.grad[0, 0, 2] == 5 * 100 + 2 * 10 + 3 * 1
    assert x.grad[0, 0, 0] == 5
    values = np.array([1, 2, 3, 4, 5, 6, 0, 0])
    assert w.grad.to_numpy().tolist() == [[[float(values[k : k + 6] @ d) for k in range(3)]]]


@pytest.mark.task4_1
@both
def test_conv1d_of_two_channels(backend_name: str) -> None:
    x = tensor([[[1, 2, 3], [10, 20, 30]]], backend=backend(backend_name))
    w = tensor([[[1, 0], [0, 1]], [[0, 1], [2, 0]]], backend=backend(backend_name))
    out = minitorch.conv1d(x, w)
    assert out.to_numpy().tolist() == [[[1 + 20, 2 + 30, 3], [2 + 20, 3 + 40, 0 + 60]]]


@pytest.mark.task4_1
@both
@given(st.data())
def test_conv1d_like_numpy(backend_name: str, data: st.DataObject) -> None:
    """Values and both gradients, with storage in every order."""
    batch, channels, out_channels = (data.draw(st.integers(1, 3)) for _ in range(3))
    width, kernel = data.draw(st.integers(1, 6)), data.draw(st.integers(1, 5))
    x = drawn(data, (batch, channels, width), backend_name)
    w = drawn(data, (out_channels, channels, kernel), backend_name)
    assert_like_numpy(minitorch.conv1d, conv_in_numpy, x, w)


@pytest.mark.task4_1
@both
def test_conv1d_kernel_longer_than_the_input(backend_name: str) -> None:
    x, w = random_tensor((2, 2, 3), backend_name), random_tensor((3, 2, 7), backend_name)
    assert_like_numpy(minitorch.conv1d, conv_in_numpy, x, w)


@pytest.mark.task4_1
@both
def test_conv1d_grad_check(backend_name: str) -> None:
    grad_check(
        minitorch.conv1d,
        random_tensor((2, 3, 5), backend_name),
        random_tensor((2, 3, 2), backend_name),
    )


@pytest.mark.task4_1
def test_conv1d_large() -> None:
    x = random_tensor((4, 8, 500), "fast", random_order(3))
    w = random_tensor((16, 8, 5), "fast", random_order(3))
    assert_like_numpy(minitorch.conv1d, conv_in_numpy, x, w, rtol=1e-10, atol=1e-10)


@pytest.mark.task4_1
@pytest.mark.parametrize("reverse", [False, True])
def test_conv1d_kernel_as_the_guide_calls_it(reverse: bool) -> None:
    x, w = random_tensor((2, 3, 6), order=(2, 0, 1)), random_tensor((4, 3, 3), order=(1, 2, 0))
    out = minitorch.zeros((2, 4, 6))
    minitorch.fast_conv._tensor_conv1d(*out.tuple(), out.size, *x.tuple(), *w.tuple(), reverse)
    a, k = x.to_numpy(), w.to_numpy()
    expected = np.zeros(out.shape)
    for t in range(6):
        for j in range(3):
            source = t - j if reverse else t + j
            if 0 <= source < 6:
                expected[:, :, t] += a[:, :, source] @ k[:, :, j].T
    assert_close(out.to_numpy(), expected, atol=1e-13)


@pytest.mark.task4_1
def test_conv1d_constant_weight_gets_no_gradient() -> None:
    x, w = random_tensor((1, 1, 4)), random_tensor((1, 1, 2))
    w.requires_grad_(False)
    minitorch.conv1d(x, w).sum().backward()
    assert x.grad is not None
    assert w.grad is None


@pytest.mark.task4_1
def test_conv1d_one_thread_and_two_agree() -> None:
    import numba

    x, w = random_tensor((6, 5, 300), "fast"), random_tensor((7, 5, 4), "fast")
    most = numba.get_num_threads()
    results = []
    try:
        for threads in (1, 2, 2):
            numba.set_num_threads(threads)
            results.append(minitorch.conv1d(x, w).to_numpy())
    finally:
        numba.set_num_threads(most)
    for again in results[1:]:
        assert_close(again, results[0], rtol=1e-13)


# --- Task 4.2: two dimensions ------------------------------------------------------------


@pytest.mark.task4_0
def test_import() -> None:
    assert minitorch.conv1d == minitorch.Conv1dFun.apply
    assert minitorch.conv2d == minitorch.Conv2dFun.apply
    assert minitorch.fast_conv.conv2d == minitorch.conv2d
    assert callable(minitorch.nn.tile)
    assert callable(minitorch.maxpool2d)


@pytest.mark.task4_2
@both
def test_conv2d_by_hand(backend_name: str) -> None:
    x = tensor([[[[1, 2, 3], [4, 5, 6], [7, 8, 9]]]], backend=backend(backend_name))
    w = tensor([[[[1, 10], [100, 1000]]]], backend=backend(backend_name))
    expected = [
        [1 + 20 + 400 + 5000, 2 + 30 + 500 + 6000, 3 + 600],
        [4 + 50 + 700 + 8000, 5 + 60 + 800 + 9000, 6 + 900],
        [7 + 80, 8 + 90, 9],
    ]
    assert minitorch.conv2d(x, w).to_numpy().tolist() == [[expected]]


@pytest.mark.task4_2
@both
@given(st.data())
def test_conv2d_like_numpy(backend_name: str, data: st.DataObject) -> None:
    """Values and both gradients, kernels that are no squares, storage in every order."""
    batch, channels, out_channels = (data.draw(st.integers(1, 2)) for _ in range(3))
    height, width, kh, kw = (data.draw(st.integers(1, 4)) for _ in range(4))
    x = drawn(data, (batch, channels, height, width), backend_name)
    w = drawn(data, (out_channels, channels, kh, kw), backend_name)
    assert_like_numpy(minitorch.conv2d, conv_in_numpy, x, w)


@pytest.mark.task4_2
@both
@pytest.mark.parametrize(
    ("shape", "weight"),
    [
        ((2, 1, 6, 6), (3, 1, 3, 3)),
        ((2, 3, 5, 7), (4, 3, 2, 4)),
        ((1, 2, 3, 8), (2, 2, 5, 1)),
        ((3, 2, 4, 2), (1, 2, 1, 5)),
    ],
    ids=str,
)
def test_conv2d_of_odd_shapes(backend_name: str, shape: Any, weight: Any) -> None:
    x = random_tensor(shape, backend_name, random_order(4))
    w = random_tensor(weight, backend_name, random_order(4))
    assert_like_numpy(minitorch.conv2d, conv_in_numpy, x, w)


@pytest.mark.task4_2
@both
def test_conv2d_grad_check(backend_name: str) -> None:
    grad_check(
        minitorch.conv2d,
        random_tensor((2, 2, 3, 4), backend_name),
        random_tensor((2, 2, 2, 3), backend_name),
    )


@pytest.mark.task4_2
def test_conv2d_large() -> None:
    x = random_tensor((8, 4, 28, 28), "fast", random_order(4))
    w = random_tensor((8, 4, 3, 3), "fast", random_order(4))
    assert_like_numpy(minitorch.conv2d, conv_in_numpy, x, w, rtol=1e-10, atol=1e-9)


@pytest.mark.task4_2
@pytest.mark.parametrize("reverse", [False, True])
def test_conv2d_kernel_as_the_guide_calls_it(reverse: bool) -> None:
    x = random_tensor((2, 3, 4, 5), order=(3, 0, 2, 1))
    w = random_tensor((2, 3, 2, 3), order=(1, 3, 0, 2))
    out = minitorch.zeros((2, 2, 4, 5))
    minitorch.fast_conv._tensor_conv2d(*out.tuple(), out.size, *x.tuple(), *w.tuple(), reverse)
    a, k = x.to_numpy(), w.to_numpy()
    expected = np.zeros(out.shape)
    sign = -1 if reverse else 1
    for r, c, i, j in np.ndindex(4, 5, 2, 3):
        row, column = r + sign * i, c + sign * j
        if 0 <= row < 4 and 0 <= column < 5:
            expected[:, :, r, c] += a[:, :, row, column] @ k[:, :, i, j].T
    assert_close(out.to_numpy(), expected, atol=1e-13)


@pytest.mark.task4_2
def test_conv2d_one_thread_and_two_agree() -> None:
    import numba

    x, w = random_tensor((6, 5, 20, 20), "fast"), random_tensor((7, 5, 3, 3), "fast")
    most = numba.get_num_threads()
    results = []
    try:
        for threads in (1, 2, 2):
            numba.set_num_threads(threads)
            results.append(minitorch.conv2d(x, w).to_numpy())
    finally:
        numba.set_num_threads(most)
    for again in results[1:]:
        assert_close(again, results[0], rtol=1e-13)
