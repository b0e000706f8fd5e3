"""Lesson 3: how our kernels share work among threads and blocks, beyond what the tasks ask."""

from __future__ import annotations

import numpy as np
import pytest

from minitorch import cuda_ops, operators
from minitorch.cuda_device import launch_arguments

from .strategies import assert_close
from .test_cuda_ops import BIG, CudaBackend, numbers, on_cuda


@pytest.mark.task3_3
def test_a_thread_does_several_elements_where_there_are_few_blocks() -> None:
    size = cuda_ops.MAX_BLOCKS * cuda_ops.THREADS + 3
    a = on_cuda(np.arange(size))
    assert_close(CudaBackend.neg_map(a).to_numpy(), -np.arange(size))
    assert_close((a * 2 + a).to_numpy(), 3.0 * np.arange(size))
    columns = on_cuda(numbers(size // 2, 2), (1, 0))
    assert_close(CudaBackend.neg_map(columns).to_numpy(), -columns.to_numpy())


@pytest.mark.task3_3
@pytest.mark.parametrize(
    ("shape", "dim"), [((2500 * BIG,), 0), ((2, 700 * BIG), 1), ((400 * BIG, 3), 0)]
)
def test_long_reductions_are_split(shape: tuple[int, ...], dim: int) -> None:
    a = on_cuda(numbers(*shape))
    _, parts = cuda_ops._reduce_plan(a._tensor, dim)
    assert parts > 1
    assert_close(a.sum(dim).to_numpy(), a.to_numpy().sum(dim, keepdims=True))


@pytest.mark.task3_3
@pytest.mark.parametrize("block", [4, 16])
def test_reduce_kernel_with_any_block(block: int) -> None:
    a, out = on_cuda(numbers(5, 23)), on_cuda(np.full((5, 1), np.nan))
    kernel = cuda_ops.tensor_reduce(operators.add, block)
    for lanes in (1, 2, block):
        threads = (lanes, block // lanes)
        blocks = -(-5 // threads[1])
        arguments = *launch_arguments(out._tensor), 5
        kernel[blocks, threads](*arguments, *launch_arguments(a._tensor), 1, 0.0)
        assert_close(out.to_numpy(), a.to_numpy().sum(1, keepdims=True))
