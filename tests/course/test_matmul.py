"""Lesson 3: products of matrices, on both CPU backends."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import minitorch
from minitorch import IndexingError, grad_check, tensor

from .strategies import (
    assert_close,
    assert_like_numpy,
    backend,
    random_order,
    random_tensor,
    shapes,
    small_ints,
)

pytestmark = pytest.mark.task3_2

both = pytest.mark.parametrize("backend_name", ["simple", "fast"])


def product(a: Any, b: Any) -> Any:
    return a @ b


@both
def test_of_two_matrices(backend_name: str) -> None:
    a = tensor([[1, 2, 3], [4, 5, 6]], backend=backend(backend_name))
    b = tensor([[1, 0], [0, 10], [100, 1000]], backend=backend(backend_name))
    assert (a @ b).to_numpy().tolist() == [[301, 3020], [604, 6050]]
    assert (b @ a).shape == (3, 3)


@both
@given(st.data())
def test_like_numpy(backend_name: str, data: st.DataObject) -> None:
    """Batches that broadcast, every order of storage, gradients of both inputs."""
    n, k, m = (data.draw(st.integers(1, 5)) for _ in range(3))
    batch = data.draw(shapes(0, 2))
    batches = []
    for _ in range(2):
        kept = batch[data.draw(st.integers(0, len(batch))) :]
        batches.append(tuple(1 if data.draw(st.booleans()) else size for size in kept))
    a_shape, b_shape = (*batches[0], n, k), (*batches[1], k, m)
    a = random_tensor(a_shape, backend_name, data.draw(st.permutations(range(len(a_shape)))))
    b = random_tensor(b_shape, backend_name, data.draw(st.permutations(range(len(b_shape)))))
    assert_like_numpy(product, product, a, b)


@both
def test_of_batches(backend_name: str) -> None:
    for a_shape, b_shape in (
        ((2, 3, 4), (2, 4, 5)),
        ((1, 3, 4), (2, 4, 5)),
        ((2, 3, 4), (1, 4, 5)),
        ((2, 3, 4), (4, 5)),
        ((3, 4), (2, 4, 5)),
        ((2, 1, 3, 4), (1, 3, 4, 2)),
        ((2, 3, 3, 4), (3, 4, 2)),
        ((2, 3, 2, 4), (2, 1, 4, 2)),
    ):
        for _ in range(2):
            a = random_tensor(a_shape, backend_name, random_order(len(a_shape)))
            b = random_tensor(b_shape, backend_name, random_order(len(b_shape)))
            assert_like_numpy(product, product, a, b)


@both
@given(small_ints, small_ints, small_ints, small_ints)
def test_is_a_zip_and_a_reduce(backend_name: str, d: int, n: int, k: int, m: int) -> None:
    a, b = random_tensor((d, n, k), backend_name), random_tensor((1, k, m), backend_name)
    slow = (a.view(d, n, k, 1) * b.view(1, 1, k, m)).sum(2).view(d, n, m)
    assert_close((a @ b).to_numpy(), slow.to_numpy())


@both
def test_grad_check(backend_name: str) -> None:
    a, b = random_tensor((2, 3, 4), backend_name), random_tensor((1, 4, 2), backend_name)
    grad_check(product, a, b)


@both
def test_by_a_transpose(backend_name: str) -> None:
    a = random_tensor((4, 3), backend_name)
    x = a.to_numpy()
    assert_close((a.permute(1, 0) @ a).to_numpy(), x.T @ x, atol=1e-13)
    assert_close((a @ a.permute(1, 0)).to_numpy(), x @ x.T, atol=1e-13)


@both
@pytest.mark.parametrize(
    ("a_shape", "b_shape"),
    [((2, 3), (2, 3)), ((3,), (3, 2)), ((2, 3), (3,)), ((2, 2, 3), (3, 3, 2))],
)
def test_shapes_that_do_not_fit(backend_name: str, a_shape: Any, b_shape: Any) -> None:
    with pytest.raises(IndexingError):
        product(random_tensor(a_shape, backend_name), random_tensor(b_shape, backend_name))


@both
def test_constants_get_no_gradient(backend_name: str) -> None:
    a, b = random_tensor((2, 3), backend_name), random_tensor((3, 2), backend_name)
    b.requires_grad_(False)
    (a @ b).sum().backward()
    assert a.grad is not None
    assert b.grad is None


# --- The compiled one alone ------------------------------------------------------------


@pytest.mark.parametrize(
    ("n", "k", "m"),
    [
        *(
            (1, 1, 1),
            (1, 70, 1),
            (31, 32, 33),
            (33, 5, 64),
            (4, 129, 7),
            (65, 66, 67),
            (3, 2, 1500),
        ),
        *((4, 512, 48), (256, 3, 6), (257, 514, 49), (258, 5, 50), (259, 1025, 95)),
    ],
)
def test_round_the_edges_of_tiles(n: int, k: int, m: int) -> None:
    for orders in (((0, 1), (0, 1)), ((1, 0), (0, 1)), ((0, 1), (1, 0)), ((1, 0), (1, 0))):
        a = random_tensor((n, k), "fast", orders[0])
        b = random_tensor((k, m), "fast", orders[1])
        assert_close((a @ b).to_numpy(), a.to_numpy() @ b.to_numpy(), rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize(
    ("a_shape", "b_shape"),
    [
        ((130, 140), (140, 150)),
        ((6, 65, 70), (6, 70, 75)),
        ((1, 65, 70), (6, 70, 75)),
        ((2, 3, 40, 50), (3, 50, 60)),
        ((3, 4000), (4000, 40)),
        ((1500, 20), (20, 20)),
    ],
    ids=str,
)
def test_large_ones_run_in_parallel(a_shape: Any, b_shape: Any) -> None:
    for turned in (False, True):
        a = random_tensor(a_shape, "fast", random_order(len(a_shape)) if turned else None)
        b = random_tensor(b_shape, "fast", random_order(len(b_shape)) if turned else None)
        work = (a @ b).size * a.shape[-1]
        assert work >= minitorch.fast_ops.PARALLEL_PRODUCTS
        assert_like_numpy(product, product, a, b, rtol=1e-10, atol=1e-10)


def test_one_thread_and_two_agree() -> None:
    import numba

    a, b = random_tensor((3, 90, 80), "fast"), random_tensor((80, 70), "fast", (1, 0))
    results = []
    most = numba.get_num_threads()
    try:
        for threads in (1, 2, 2):
            numba.set_num_threads(threads)
            results.append((a @ b).to_numpy())
    finally:
        numba.set_num_threads(most)
    for again in results[1:]:
        assert_close(again, results[0], rtol=1e-13)


def test_kernel_as_the_guide_calls_it() -> None:
    """Three dimensions each, a stack of one matrix used for all."""
    a, b = random_tensor((2, 3, 4), "fast", (2, 0, 1)), random_tensor((1, 4, 5), "fast", (0, 2, 1))
    out = minitorch.zeros((2, 3, 5), backend=backend("fast"))
    minitorch.fast_ops._tensor_matrix_multiply(*out.tuple(), *a.tuple(), *b.tuple())
    assert_close(out.to_numpy(), a.to_numpy() @ b.to_numpy(), atol=1e-13)


def test_every_rung_of_the_ladder() -> None:
    a, b = random_tensor((3, 9, 7), "fast", (1, 0, 2)), random_tensor((1, 7, 6), "fast", (2, 0, 1))
    expected = a.to_numpy() @ b.to_numpy()
    for rung in minitorch.fast_ops.MATMUL_LADDER.values():
        for x, y, product in (
            (a, b, expected),
            (_turned(b), _turned(a), expected.transpose(0, 2, 1)),
        ):
            out = minitorch.zeros(product.shape, backend=backend("fast"))
            rung(*out.tuple(), *x.tuple(), *y.tuple())
            assert_close(out.to_numpy(), product, atol=1e-13)


def _turned(t: Any) -> Any:
    return t.permute(0, 2, 1)


def test_empty_inner_dimension() -> None:
    a = minitorch.zeros((2, 0), backend=backend("fast"))
    b = minitorch.zeros((0, 3), backend=backend("fast"))
    assert np.array_equal((a @ b).to_numpy(), np.zeros((2, 3)))
