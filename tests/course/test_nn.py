"""Lesson 4: pooling, maximum, softmax, dropout, on both CPU backends."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from math import prod
from typing import Any

import numpy as np
import pytest

import minitorch
from minitorch import Tensor, grad_check, tensor

from .strategies import (
    any_number,
    assert_close,
    assert_like_numpy,
    backend,
    for_all,
    growing_shapes,
    random_order,
    random_tensor,
    sampled,
    some_tensors,
)

both = pytest.mark.parametrize("backend_name", ["simple", "fast"])


def distinct(shape: Sequence[int], backend_name: str) -> Tensor:
    """A tensor without equal elements, in which every maximum is the only one."""
    size = prod(shape)
    numbers = iter(random.sample(range(size), size))
    return sampled(lambda: next(numbers) / 4 - size / 8, shape, backend_name)


def some_distinct(backend_name: str) -> Iterator[tuple[Tensor]]:
    for shape in growing_shapes():
        yield (distinct(shape, backend_name),)


def some_images(backend_name: str) -> Iterator[tuple[Tensor, tuple[int, int]]]:
    """batch x channel x height x width, and a kernel that divides the image."""
    for batch, channel, rows, columns in growing_shapes(4, 4):
        kh, kw = random.randint(1, 3), random.randint(1, 3)
        yield distinct((batch, channel, rows * kh, columns * kw), backend_name), (kh, kw)


# --- Task 4.3: pooling -------------------------------------------------------------------


@pytest.mark.task4_3
@both
def test_tile(backend_name: str) -> None:
    def check(t: Tensor, kernel: tuple[int, int]) -> None:
        kh, kw = kernel
        tiles, height, width = minitorch.tile(t, kernel)
        assert (height, width) == (t.shape[2] // kh, t.shape[3] // kw)
        assert tiles.shape == (*t.shape[:2], height, width, kh * kw)
        expected = np.sort(windows(t.to_numpy(), kernel))
        assert_close(np.sort(tiles.to_numpy()), expected)

    for_all(check, some_images(backend_name))


@pytest.mark.task4_3
def test_tile_of_a_picture() -> None:
    t = tensor(np.arange(8.0).reshape(1, 1, 2, 4).tolist())
    tiles, height, width = minitorch.tile(t, (2, 2))
    assert (height, width) == (1, 2)
    assert sorted(tiles.to_numpy()[0, 0, 0, 0]) == [0, 1, 4, 5]
    assert sorted(tiles.to_numpy()[0, 0, 0, 1]) == [2, 3, 6, 7]


def windows(x: Any, kernel: tuple[int, int]) -> Any:
    """batch x channel x rows x columns x what one window covers."""
    (b, c, h, w), (kh, kw) = x.shape, kernel
    cut = x.reshape(b, c, h // kh, kh, w // kw, kw).swapaxes(3, 4)
    return cut.reshape(b, c, h // kh, w // kw, kh * kw)


def avgpool_in_numpy(x: Any, kernel: tuple[int, int]) -> Any:
    return windows(x, kernel).mean(4)


@pytest.mark.task4_3
@both
def test_avgpool_like_numpy(backend_name: str) -> None:
    check = partial(assert_like_numpy, minitorch.avgpool2d, avgpool_in_numpy)
    for_all(check, some_images(backend_name))


@pytest.mark.task4_3
@both
def test_avgpool_by_hand(backend_name: str) -> None:
    t = random_tensor((1, 1, 4, 6), backend_name)
    x = t.to_numpy()
    out = minitorch.avgpool2d(t, (2, 3))
    assert out.shape == (1, 1, 2, 2)
    assert_close(out[0, 0, 0, 1], x[0, 0, :2, 3:].mean())
    assert_close(out[0, 0, 1, 0], x[0, 0, 2:, :3].mean())
    grad_check(lambda t: minitorch.avgpool2d(t, (2, 3)), t)


def with_a_dimension(examples: Iterable[tuple[Tensor]]) -> Iterator[tuple[Tensor, int]]:
    """The same, each with one of its dimensions."""
    for (t,) in examples:
        yield t, random.randrange(t.dims)


# --- Task 4.4: maximum ---------------------------------------------------------------------


@pytest.mark.task4_4
@both
def test_max_like_numpy(backend_name: str) -> None:
    check = partial(assert_like_numpy, minitorch.max, lambda a, d: a.max(d, keepdims=True))
    for_all(check, with_a_dimension(some_distinct(backend_name)))


@pytest.mark.task4_4
@both
def test_max_of_negative_numbers(backend_name: str) -> None:
    t = tensor([[-5.0, -3.0], [-2.0, -9.0]], backend=backend(backend_name))
    assert minitorch.max(t, 0).to_numpy().tolist() == [[-2.0, -3.0]]
    assert minitorch.max(t, 1).to_numpy().tolist() == [[-3.0], [-2.0]]


@pytest.mark.task4_4
@both
def test_max_gradient_goes_to_the_maximum(backend_name: str) -> None:
    t = tensor([[1.0, 7.0, 3.0], [4.0, 2.0, 6.0]], backend=backend(backend_name))
    minitorch.max(t, 1).backward(tensor([[10.0], [100.0]], backend=backend(backend_name)))
    assert t.grad is not None
    assert t.grad.to_numpy().tolist() == [[0, 10, 0], [0, 0, 100]]


@pytest.mark.task4_4
@both
def test_max_gradient_is_not_multiplied_by_ties(backend_name: str) -> None:
    t = tensor([2.0, 5.0, 5.0, 5.0], backend=backend(backend_name))
    minitorch.max(t, 0).backward(tensor([3.0], backend=backend(backend_name)))
    assert t.grad is not None
    assert t.grad.to_numpy().sum() == 3.0
    assert t.grad[0] == 0.0


@pytest.mark.task4_4
@both
def test_max_grad_check(backend_name: str) -> None:
    check = partial(grad_check, lambda a: minitorch.max(a, a.dims - 1))
    for_all(check, some_distinct(backend_name))


@pytest.mark.task4_4
@both
def test_argmax_is_one_hot(backend_name: str) -> None:
    def check(t: Tensor) -> None:
        for dim in range(t.dims):
            got, array = minitorch.argmax(t, dim).to_numpy(), t.to_numpy()
            assert ((got == 0) | (got == 1)).all()
            assert (got.sum(dim) == 1).all()
            assert (got.argmax(dim) == array.argmax(dim)).all()

    for_all(check, some_tensors(lambda: float(random.randint(-2, 2)), backend_name))


# --- Task 4.4: softmax ------------------------------------------------------------------------


def log_softmax_in_numpy(a: Any, dim: int) -> Any:
    shifted = a - a.real.max(dim, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(dim, keepdims=True))


SOFTMAXES: dict[str, tuple[Callable[..., Tensor], Callable[..., Any], float]] = {
    "softmax": (minitorch.softmax, lambda a, d: np.exp(log_softmax_in_numpy(a, d)), 1e-9),
    # The course's log adds EPS: a solution that calls it plainly is off by that much.
    "logsoftmax": (minitorch.logsoftmax, log_softmax_in_numpy, 3e-6),
}


@pytest.mark.task4_4
@both
@pytest.mark.parametrize("name", SOFTMAXES)
def test_softmax_like_numpy(name: str, backend_name: str) -> None:
    ours, theirs, atol = SOFTMAXES[name]
    check = partial(assert_like_numpy, ours, theirs, rtol=1e-9, atol=atol)
    scores = some_tensors(lambda: random.uniform(-20, 20), backend_name)
    for_all(check, with_a_dimension(scores))


@pytest.mark.task4_4
@both
@pytest.mark.parametrize("name", SOFTMAXES)
def test_softmax_is_stable(name: str, backend_name: str) -> None:
    ours, theirs, atol = SOFTMAXES[name]
    for values in ([1000.0, 1000.0, -1000.0], [-1000.0, -1001.0, -999.0], [1000.0, 998.0, 0.0]):
        t = tensor([values], backend=backend(backend_name))
        assert_like_numpy(ours, theirs, t, 1, rtol=1e-9, atol=atol)


@pytest.mark.task4_4
@both
def test_softmax_sums_to_one(backend_name: str) -> None:
    def check(t: Tensor) -> None:
        for dim in range(t.dims):
            got = minitorch.softmax(t, dim)
            assert got.shape == t.shape
            total = got.sum(dim).to_numpy()
            assert_close(total, np.ones(total.shape))
            assert (got.to_numpy() >= 0).all()
            log = minitorch.logsoftmax(t, dim).to_numpy()
            assert_close(np.exp(log), got.to_numpy(), rtol=3e-6)

    for_all(check, some_tensors(any_number, backend_name))


@pytest.mark.task4_4
@both
def test_softmax_grad_check(backend_name: str) -> None:
    t = random_tensor((2, 3, 4), backend_name, (2, 0, 1))
    for dim in range(3):
        grad_check(lambda a, d=dim: minitorch.softmax(a, d), t)
        grad_check(lambda a, d=dim: minitorch.logsoftmax(a, d), t)


# --- Task 4.4: max pooling ----------------------------------------------------------------------


def maxpool_in_numpy(x: Any, kernel: tuple[int, int]) -> Any:
    return windows(x, kernel).max(4)


@pytest.mark.task4_4
@both
def test_maxpool_like_numpy(backend_name: str) -> None:
    check = partial(assert_like_numpy, minitorch.maxpool2d, maxpool_in_numpy)
    for_all(check, some_images(backend_name))


@pytest.mark.task4_4
def test_maxpool_by_hand() -> None:
    t = random_tensor((2, 2, 4, 6), order=random_order(4))
    x = t.to_numpy()
    out = minitorch.maxpool2d(t, (2, 3))
    assert out.shape == (2, 2, 2, 2)
    assert out[1, 0, 1, 0] == x[1, 0, 2:, :3].max()


# --- Task 4.4: dropout ---------------------------------------------------------------------------


@pytest.mark.task4_4
@both
def test_dropout_at_the_ends(backend_name: str) -> None:
    def check(t: Tensor) -> None:
        assert_close(minitorch.dropout(t, 0.0).to_numpy(), t.to_numpy())
        assert_close(minitorch.dropout(t, 1.0).to_numpy(), np.zeros(t.shape))
        assert_close(minitorch.dropout(t, 1.0, ignore=True).to_numpy(), t.to_numpy())
        assert_close(minitorch.dropout(t, 0.5, ignore=True).to_numpy(), t.to_numpy())

    for_all(check, some_tensors(any_number, backend_name))


@pytest.mark.task4_4
@both
@pytest.mark.parametrize("rate", [0.1, 0.5, 0.9])
def test_dropout_drops_about_as_many(backend_name: str, rate: float) -> None:
    """Each element on its own; of 2,000, the share is off by 0.05 once in 100,000 runs."""
    t = random_tensor((40, 50), backend_name, low=1.0, high=2.0)
    got = minitorch.dropout(t, rate).to_numpy()
    kept = got != 0
    assert abs(kept.mean() - (1 - rate)) < 0.05
    assert_close(got[kept], t.to_numpy()[kept])  # not scaled up
    assert len(np.unique(kept, axis=0)) > 1
    assert len(np.unique(kept, axis=1)) > 1


@pytest.mark.task4_4
def test_dropout_differs_from_call_to_call_and_follows_the_seed() -> None:
    t = random_tensor((10, 10), low=1.0, high=2.0)
    random.seed(5)
    first, second = minitorch.dropout(t, 0.5), minitorch.dropout(t, 0.5)
    random.seed(5)
    again = minitorch.dropout(t, 0.5)
    assert (first.to_numpy() != second.to_numpy()).any()
    assert (first.to_numpy() == again.to_numpy()).all()


@pytest.mark.task4_4
@both
def test_dropout_gradient_follows_the_mask(backend_name: str) -> None:
    t = random_tensor((6, 7), backend_name, low=1.0, high=2.0)
    out = minitorch.dropout(t, 0.5)
    grad = random_tensor((6, 7), backend_name)
    out.backward(grad)
    assert t.grad is not None
    assert_close(t.grad.to_numpy(), grad.to_numpy() * (out.to_numpy() != 0))


@pytest.mark.task4_4
def test_dropout_keeps_the_shape() -> None:
    for shape in growing_shapes():
        assert minitorch.dropout(random_tensor(shape), 0.5).shape == shape
