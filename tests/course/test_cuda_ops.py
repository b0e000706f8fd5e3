"""Lesson 3: the GPU backend, on a GPU or in Numba's simulator.

The plain-Python backend says what is right. Shapes are small, because the simulator runs
a Python thread per CUDA thread; its blocks are as small, so every kernel still takes
several blocks and several steps.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import minitorch
from minitorch import (
    IndexingError,
    SimpleBackend,
    SimpleOps,
    Tensor,
    TensorData,
    cuda_device,
    cuda_matmul,
    cuda_ops,
    operators,
)
from minitorch.cuda_device import launch_arguments

from .strategies import Array, assert_close, permuted_data, random_order

task3_3 = pytest.mark.task3_3
task3_4 = pytest.mark.task3_4

CudaBackend = minitorch.TensorBackend(minitorch.CudaOps)
BIG = 1 if cuda_device.SIMULATED else 1000
"""Shapes grow by this on a real GPU, whose blocks are larger."""

ONE = ["neg", "id", "sigmoid", "relu", "log", "exp", "inv"]
TWO = ["mul", "add", "lt", "eq", "max", "is_close", "log_back", "inv_back", "relu_back"]


def numbers(*shape: int) -> Array:
    return np.random.default_rng(7).uniform(0.1, 2.0, shape)


def on_cuda(array: Any, order: Sequence[int] | None = None) -> Tensor:
    """A leaf on the GPU; with `order`, not contiguous: dimension order[0] moves slowest."""
    array = np.asarray(array, dtype=np.float64)
    order = range(array.ndim) if order is None else order
    storage = np.ascontiguousarray(array.transpose(order)).ravel()
    made = Tensor(permuted_data(storage, array.shape, order), backend=CudaBackend)
    made.requires_grad_(True)
    return made


def on_cpu(t: Tensor) -> Tensor:
    return Tensor.make(t.to_numpy().ravel(), t.shape, backend=SimpleBackend)


def assert_on_device(t: Tensor) -> None:
    assert cuda_device.is_on_device(t._tensor._storage)


# --- Task 3.3: the device -----------------------------------------------------------


@task3_3
def test_tensors_move_to_the_device_and_back() -> None:
    t = minitorch.tensor([[1, 2], [3, 4]], backend=CudaBackend)
    assert_on_device(t)
    storage = t._tensor._storage
    t._tensor.to_cuda_()
    assert t._tensor._storage is storage
    t[0, 1] = 7.0
    assert t[0, 1] == 7.0
    assert t.to_numpy().tolist() == [[1, 7], [3, 4]]
    t._type_(SimpleBackend)
    assert isinstance(t._tensor._storage, np.ndarray)
    assert (t + 1).to_numpy().tolist() == [[2, 8], [4, 5]]


@task3_3
def test_shapes_are_copied_to_the_device_once() -> None:
    assert cuda_device.ints((2, 3)) is cuda_device.ints((2, 3))
    assert cuda_device.ints((2, 3)).copy_to_host().tolist() == [2, 3]
    assert cuda_device.ints((2, 3)).dtype == np.int32


@task3_3
def test_a_tensor_on_the_cpu_is_refused() -> None:
    a, b = on_cuda([1.0, 2.0]), minitorch.tensor([1.0, 2.0])
    with pytest.raises(RuntimeError, match=r"shape \(2,\) is not on the GPU.*CudaOps"):
        CudaBackend.add_zip(a, b)
    with pytest.raises(RuntimeError, match="not on the GPU"):
        CudaBackend.id_map(a, b)
    with pytest.raises(RuntimeError, match="not on the GPU"):
        minitorch.sum_practice(b)
    with pytest.raises(RuntimeError, match="on the CPU and on the GPU"):
        _ = a + b


# --- Task 3.3: map and zip ------------------------------------------------------------


@task3_3
@pytest.mark.parametrize("name", ONE)
@pytest.mark.parametrize("order", [None, (1, 0)], ids=["contiguous", "transposed"])
def test_map(name: str, order: Any) -> None:
    fn = getattr(operators, name)
    a = on_cuda(numbers(3, 7) - (0.0 if name in ("log", "inv") else 1.0), order)
    out = minitorch.CudaOps.map(fn)(a)
    assert_on_device(out)
    assert out._tensor.is_contiguous()
    assert_close(out.to_numpy(), SimpleOps.map(fn)(on_cpu(a)).to_numpy())


@task3_3
@pytest.mark.parametrize("name", TWO)
@pytest.mark.parametrize("order", [None, (1, 0)], ids=["contiguous", "transposed"])
def test_zip(name: str, order: Any) -> None:
    fn = getattr(operators, name)
    left, right = numbers(3, 7) - 1.0, numbers(3, 7)[::-1] - 0.995
    right[0] = left[0]
    a, b = on_cuda(left, order), on_cuda(right)
    out = minitorch.CudaOps.zip(fn)(a, b)
    assert_on_device(out)
    assert_close(out.to_numpy(), SimpleOps.zip(fn)(on_cpu(a), on_cpu(b)).to_numpy())


@task3_3
@pytest.mark.parametrize(
    ("left", "right"),
    [
        ((1,), (2, 3)),
        ((2, 3), ()),
        ((), ()),
        ((3,), (2, 3)),
        ((2, 1), (1, 3)),
        ((4, 1, 2), (3, 1)),
        ((1, 1, 5), (5,)),
        ((2, 1, 2, 1, 2), (3, 1, 2, 1)),
    ],
)
def test_zip_broadcasts(left: tuple[int, ...], right: tuple[int, ...]) -> None:
    for order in (None, "random"):
        a = on_cuda(numbers(*left), order and random_order(len(left)))
        b = on_cuda(numbers(*right), order and random_order(len(right)))
        out = CudaBackend.add_zip(a, b)
        assert_close(out.to_numpy(), a.to_numpy() + b.to_numpy())


@task3_3
def test_map_into_out() -> None:
    a = on_cuda([1.0, 2.0, 3.0])
    out = on_cuda(np.zeros((2, 3)))
    assert CudaBackend.neg_map(a, out) is out
    assert out.to_numpy().tolist() == [[-1, -2, -3], [-1, -2, -3]]
    transposed = on_cuda(np.zeros((2, 3)), (1, 0))
    CudaBackend.neg_map(a, transposed)
    assert transposed.to_numpy().tolist() == [[-1, -2, -3], [-1, -2, -3]]
    CudaBackend.neg_map(on_cuda([5.0]), out)
    assert out.to_numpy().tolist() == [[-5] * 3] * 2
    with pytest.raises(IndexingError, match=r"\(2, 3\) does not broadcast into \(3,\)"):
        CudaBackend.neg_map(out, a)


@task3_3
@pytest.mark.filterwarnings("ignore:divide by zero")
def test_values_outside_the_domain_follow_ieee() -> None:
    assert CudaBackend.inv_map(on_cuda([0.0, 2.0])).to_numpy().tolist() == [np.inf, 0.5]
    big = CudaBackend.sigmoid_map(on_cuda([-1000.0, 1000.0, np.nan])).to_numpy()
    assert big[:2].tolist() == [0.0, 1.0]
    assert np.isnan(big[2])


@task3_3
def test_more_elements_than_threads() -> None:
    size = 43 if cuda_device.SIMULATED else 4096 * 256 + 3
    a = on_cuda(np.arange(size))
    assert_close(CudaBackend.neg_map(a).to_numpy(), -np.arange(size))
    assert_close((a * 2 + a).to_numpy(), 3.0 * np.arange(size))
    columns = on_cuda(numbers(size // 2, 2), (1, 0))
    assert_close(CudaBackend.neg_map(columns).to_numpy(), -columns.to_numpy())


@task3_3
def test_shapes_that_do_not_fit() -> None:
    a, b = on_cuda(numbers(2, 3)), on_cuda(numbers(2, 2))
    with pytest.raises(IndexingError):
        _ = a + b
    for dim in (2, -3):
        with pytest.raises(IndexingError, match=r"does not exist in shape \(2, 3\)"):
            a.sum(dim)
    with pytest.raises(IndexingError, match="matmul"):
        _ = a @ b


@task3_3
@pytest.mark.parametrize("shape", [(0,), (2, 0), (0, 3, 2)])
def test_nothing_to_compute(shape: tuple[int, ...]) -> None:
    a = on_cuda(np.zeros(shape))
    assert (-a).shape == shape
    assert (a + a).shape == shape
    assert (a + 1.0).to_numpy().shape == shape
    for dim in range(len(shape)):
        assert_close(a.sum(dim).to_numpy(), np.zeros(shape).sum(dim, keepdims=True))
    assert a.sum().item() == 0.0


# --- Task 3.3: reduce -----------------------------------------------------------------


@task3_3
@pytest.mark.parametrize("size", [1, 2, 31, 32, 33, 64, 100])
def test_sum_practice(size: int) -> None:
    array = numbers(size)
    out = minitorch.sum_practice(on_cuda(array))
    assert isinstance(out, TensorData)
    assert out.shape == (max(2, -(-size // 32)),)
    assert_close(out._storage[0] + out._storage[1], array[:64].sum())
    expected = [array[i : i + 32].sum() for i in range(0, size, 32)]
    assert_close(out.to_numpy(), [*expected, 0.0][: len(out._storage)])


@task3_3
def test_sum_practice_takes_a_row() -> None:
    with pytest.raises(IndexingError, match=r"sum_practice: .* shape \(2, 2\)"):
        minitorch.sum_practice(on_cuda(numbers(2, 2)))


@task3_3
@pytest.mark.parametrize("shape", [(5,), (3, 4), (2, 9, 3), (1, 4, 1, 2), (40,), (3, 37), (37, 3)])
def test_reduce(shape: tuple[int, ...]) -> None:
    a = on_cuda(numbers(*shape))
    for dim, order in itertools.product(range(len(shape)), (None, "random")):
        a = on_cuda(numbers(*shape), order and random_order(len(shape)))
        out = CudaBackend.add_reduce(a, dim)
        assert_on_device(out)
        assert_close(out.to_numpy(), a.to_numpy().sum(dim, keepdims=True))
        assert CudaBackend.add_reduce(a, dim - len(shape)).shape == out.shape
    assert_close(CudaBackend.mul_reduce(a, -1).to_numpy(), a.to_numpy().prod(-1, keepdims=True))
    negative = on_cuda(-a.to_numpy())
    largest = CudaBackend.max_reduce(negative, 0).to_numpy()
    assert_close(largest, negative.to_numpy().max(0, keepdims=True))


@task3_3
@pytest.mark.parametrize(
    ("shape", "dim"), [((300 * BIG,), 0), ((2, 70 * BIG), 1), ((70 * BIG, 3), 0)]
)
def test_long_reductions(shape: tuple[int, ...], dim: int) -> None:
    """More elements than a block has threads, and more blocks than that for what is left."""
    a = on_cuda(numbers(*shape))
    assert_close(a.sum(dim).to_numpy(), a.to_numpy().sum(dim, keepdims=True))


@task3_3
def test_reduce_of_nothing_is_the_start() -> None:
    a = on_cuda(np.zeros((2, 0)))
    assert CudaBackend.add_reduce(a, 1).to_numpy().tolist() == [[0.0], [0.0]]
    assert CudaBackend.mul_reduce(a, 1).to_numpy().tolist() == [[1.0], [1.0]]
    assert CudaBackend.max_reduce(a, 1).to_numpy().tolist() == [[-np.inf], [-np.inf]]


@task3_3
def test_gradients() -> None:
    def f(a: Tensor, b: Tensor) -> Tensor:
        return ((a * b).sigmoid() + (a / b).exp().relu() - b.log()).sum(1) * a.permute(1, 0).sum(0)

    minitorch.grad_check(f, on_cuda(numbers(3, 3), (1, 0)), on_cuda(numbers(1, 3)))


# --- Task 3.4: matrix multiplication ------------------------------------------------------


@task3_4
@pytest.mark.parametrize("size", [1, 2, 5, 16, 32])
def test_mm_practice(size: int) -> None:
    a, b = numbers(size, size), numbers(size, size)[::-1]
    out = minitorch.mm_practice(on_cuda(a), on_cuda(b))
    assert isinstance(out, TensorData)
    assert_close(out.to_numpy(), a @ b)


@task3_4
@pytest.mark.parametrize("shapes", [((33, 33), (33, 33)), ((2, 3), (2, 3)), ((4,), (4,))])
def test_mm_practice_takes_small_squares(shapes: Any) -> None:
    left, right = shapes
    with pytest.raises(IndexingError, match=r"mm_practice: .* up to 32, got"):
        minitorch.mm_practice(on_cuda(numbers(*left)), on_cuda(numbers(*right)))


RUNGS = {
    "naive": cuda_matmul.naive(),
    "naive 3": cuda_matmul.naive(3),
    "tiled": cuda_matmul.tiled(),
    "tiled 4": cuda_matmul.tiled(4),
    "register-tiled": cuda_matmul.register_tiled(),
    "register-tiled 1, 3": cuda_matmul.register_tiled(1, 3),
    "register-tiled 2, 4": cuda_matmul.register_tiled(2, 4, None),
}

PRODUCTS = [
    ((1, 1), (1, 1)),
    ((2, 3), (3, 4)),
    ((9, 7), (7, 10)),
    ((3, 5), (5, 1)),
    ((2, 0), (0, 3)),
    ((2, 2, 3), (2, 3, 2)),
    ((3, 2), (2, 2, 2)),
    ((2, 1, 3, 2), (3, 2, 2)),
    ((2, 1, 1, 2, 1), (1, 2, 2, 1, 3)),
]


@task3_4
@pytest.mark.parametrize("rung", list(RUNGS))
@pytest.mark.parametrize(("left", "right"), PRODUCTS)
def test_every_rung_of_the_ladder(rung: str, left: Any, right: Any) -> None:
    for order in (None, "random"):
        a = on_cuda(numbers(*left), order and random_order(len(left)))
        b = on_cuda(numbers(*right), order and random_order(len(right)))
        expected = a.to_numpy() @ b.to_numpy()
        out = on_cuda(np.full(expected.shape, np.nan), order and random_order(expected.ndim))
        RUNGS[rung].launch(out._tensor, a._tensor, b._tensor)
        assert_close(out.to_numpy(), expected)


@task3_4
@pytest.mark.parametrize(("left", "right"), PRODUCTS)
def test_matmul(left: Any, right: Any) -> None:
    a, b = on_cuda(numbers(*left)), on_cuda(numbers(*right))
    out = a @ b
    assert_on_device(out)
    assert_close(out.to_numpy(), a.to_numpy() @ b.to_numpy())


@task3_4
def test_matmul_of_large_and_of_small_products() -> None:
    """Both kernels that `matrix_multiply` chooses from."""
    height, width = cuda_matmul.register_tiled().tile
    for rows in (3, height * cuda_ops.MATMUL_BLOCKS):
        a, b = on_cuda(numbers(rows, 3)), on_cuda(numbers(3, width))
        assert_close((a @ b).to_numpy(), a.to_numpy() @ b.to_numpy())


@task3_4
def test_course_kernel() -> None:
    """`_tensor_matrix_multiply` is a kernel with the course's arguments."""
    a, b, out = on_cuda(numbers(3, 4)), on_cuda(numbers(4, 2)), on_cuda(np.zeros((3, 2)))
    tile = cuda_matmul.TILE
    blocks = -(-3 // tile) * -(-2 // tile)
    cuda_device.jit(cuda_ops._tensor_matrix_multiply)[blocks, (tile, tile)](
        *launch_arguments(out._tensor),
        out.size,
        *launch_arguments(a._tensor),
        *launch_arguments(b._tensor),
    )
    assert_close(out.to_numpy(), a.to_numpy() @ b.to_numpy())


@task3_4
def test_out_of_bounds_is_never_touched() -> None:
    """Neighbours of a matrix inside a larger storage keep their values, and NaN is not read."""
    inside, rows, columns = 1.0, 5, 3
    stored = np.full((rows + 2, columns + 2), np.nan)
    stored[:rows, :columns] = inside
    storage, strides = cuda_device.to_device(stored.ravel()), cuda_device.ints((columns + 2, 1))
    shape = cuda_device.ints((rows, columns))
    for rung in RUNGS.values():
        out = cuda_device.to_device(np.full(stored.size, -1.0))
        b = cuda_device.to_device(np.ones(columns * columns))
        blocks = rung.blocks((rows, columns))
        cuda_device.jit(rung.kernel)[blocks, rung.threads](
            *(out, shape, strides, rows * columns),
            *(storage, shape, strides),
            *(b, cuda_device.ints((columns, columns)), cuda_device.ints((columns, 1))),
        )
        got = out.copy_to_host().reshape(stored.shape)
        assert (got[:rows, :columns] == columns).all()
        assert (got[rows:] == -1.0).all()
        assert (got[:, columns:] == -1.0).all()


@task3_4
def test_matmul_errors() -> None:
    with pytest.raises(ValueError, match="depth 3 must be a multiple of 2"):
        cuda_matmul.register_tiled(2, 3)
    with pytest.raises(IndexingError, match=r"matmul: .*\(2, 3\).*\(2, 3\)"):
        _ = on_cuda(numbers(2, 3)) @ on_cuda(numbers(2, 3))
    with pytest.raises(IndexingError, match="two dimensions or more"):
        _ = on_cuda(numbers(3)) @ on_cuda(numbers(3, 2))


@task3_4
def test_matmul_gradients() -> None:
    def f(a: Tensor, b: Tensor) -> Tensor:
        return a @ b

    minitorch.grad_check(f, on_cuda(numbers(2, 3, 2)), on_cuda(numbers(2, 3), (1, 0)))


@task3_4
def test_results_stay_on_the_device(monkeypatch: pytest.MonkeyPatch) -> None:
    a, b = on_cuda(numbers(3, 4)), on_cuda(numbers(4, 2))
    minitorch.MatMul.apply(a, b).sum(0)  # the shapes are on the device now

    def refuse(storage: Any) -> Any:
        if cuda_device.is_on_device(storage):
            return storage
        raise AssertionError("host memory was copied to the device")

    monkeypatch.setattr(cuda_device, "to_device", refuse)
    out = (a @ b).relu().sum(0)
    assert_on_device(out)


@task3_4
def test_training_step_matches_the_cpu() -> None:
    def gradients(backend: minitorch.TensorBackend) -> list[Array]:
        x = minitorch.tensor(numbers(6, 2), backend=backend, requires_grad=False)
        w = minitorch.tensor(numbers(2, 3) - 1, backend=backend)
        b = minitorch.tensor(numbers(3) - 1, backend=backend)
        loss = ((x @ w + b).relu().sum(1).sigmoid() + 0.1).log().mean()
        loss.backward()
        assert w.grad is not None
        assert b.grad is not None
        return [loss.to_numpy(), w.grad.to_numpy(), b.grad.to_numpy()]

    for got, expected in zip(gradients(CudaBackend), gradients(SimpleBackend), strict=True):
        assert_close(got, expected, rtol=1e-10, atol=1e-12)
