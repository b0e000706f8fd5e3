"""Every family of kernels in forked processes, after the parent has used threads.

    python -m tests.torch.forks os              a process made by os.fork
    python -m tests.torch.forks multiprocessing a pool of processes
    python -m tests.torch.forks loader          workers of a DataLoader
    python -m tests.torch.forks busy            os.fork while other threads compute, 4 times
    python -m tests.torch.forks threads         no fork: four threads compute at once

Ends with an error if a result differs from the parent's, or a way takes `DEADLINE` seconds.
"""

from __future__ import annotations

import faulthandler
import multiprocessing
import os
import signal
import sys
import threading
import warnings
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Any

import numpy as np

import minitorch
import minitorch.torch as torch
from minitorch import threads

F = torch.nn.functional
DEADLINE = 500

Family = Callable[[], list[Any]]


def with_gradients(fn: Callable[..., Any], *inputs: Any) -> list[Any]:
    """A result and the gradients of its sum."""
    inputs = tuple(x.detach().clone().requires_grad_() for x in inputs)
    result = fn(*inputs)
    return [result, *torch.autograd.grad((result * result).sum(), inputs)]


@cache
def numbers(*shape: int, dtype: Any = torch.float32) -> Any:
    """Some numbers, in every process the same."""
    return torch.randn(*shape, generator=torch.Generator().manual_seed(1), dtype=dtype)


def upper_floor() -> dict[str, Family]:
    """The kernels of `minitorch.torch`, each with inputs that are split among threads."""
    image, weight = numbers(8, 8, 64, 64), numbers(16, 8, 3, 3)
    double = [numbers(4, 8, 48, 48, dtype=torch.float64), numbers(8, 8, 3, 3, dtype=torch.float64)]
    matrix, query = numbers(512, 512), numbers(2, 4, 256, 32)
    index = (numbers(512, 512).abs() * 1000).long() % 512
    return {
        "map": lambda: with_gradients(lambda x: x.tanh() + x.exp(), image),
        "reduction": lambda: with_gradients(lambda x: x.sum(1), matrix),
        "softmax": lambda: with_gradients(lambda x: x.softmax(1), matrix),
        "norm": lambda: with_gradients(lambda x: F.layer_norm(x, (512,)), matrix),
        "product": lambda: with_gradients(lambda x: x @ x, matrix),
        "convolution": lambda: with_gradients(F.conv2d, image, weight),
        "float64 convolution": lambda: with_gradients(F.conv2d, *double),
        "transposed": lambda: with_gradients(F.conv_transpose2d, image, weight[:8]),
        "halving": lambda: with_gradients(lambda x: F.max_pool2d(x, 2), image),
        "maximum": lambda: with_gradients(lambda x: F.max_pool2d(x, 3, 1), image),
        "average": lambda: with_gradients(lambda x: F.avg_pool2d(x, 2), image),
        "attention": lambda: with_gradients(F.scaled_dot_product_attention, query, query, query),
        "recurrent": recurrent,
        "gather": lambda: with_gradients(lambda x: x.gather(1, index), matrix),
        "loss": lambda: with_gradients(lambda x: F.cross_entropy(x, index[0]), matrix),
        "optimizer": optimizer,
        "random": lambda: [torch.randn(300_000, generator=torch.Generator().manual_seed(3))],
        "linear algebra": lambda: [torch.linalg.solve(matrix, matrix[0])],
    }


def recurrent() -> list[Any]:
    """An LSTM and its gradients."""
    torch.manual_seed(0)
    layer = torch.nn.LSTM(64, 128)
    out = layer(numbers(20, 32, 64))[0]
    return [out, *torch.autograd.grad(out.sum(), list(layer.parameters()))]


def optimizer() -> list[Any]:
    """A step of Adam over millions of numbers."""
    parameter = torch.ones(140_000 * 64, requires_grad=True)
    parameter.grad = torch.ones_like(parameter)
    torch.optim.Adam([parameter]).step()
    return [parameter[::100_000]]


def ground_floor() -> dict[str, Family]:
    """The kernels of `minitorch.FastOps`."""
    backend = minitorch.TensorBackend(minitorch.FastOps)
    values = np.random.default_rng(1).random((300, 300)).tolist()
    matrix = minitorch.tensor(values, backend=backend)
    image, weight = matrix.view(5, 2, 90, 100), minitorch.tensor([[[[1.0] * 3] * 3] * 2], backend)
    return {
        "ground map": lambda: [(matrix * 2.0 + matrix.sigmoid()).to_numpy()],
        "ground reduction": lambda: [matrix.sum(0).to_numpy()],
        "ground product": lambda: [(matrix @ matrix).to_numpy()],
        "ground convolution": lambda: [minitorch.conv2d(image, weight).to_numpy()],
        "ground pooling": lambda: [minitorch.maxpool2d(image, (2, 2)).to_numpy()],
    }


@cache
def families() -> dict[str, Family]:
    """All of them, by name."""
    return {**upper_floor(), **ground_floor()}


def results(name: str) -> list[Any]:
    """What a family computes, as arrays."""
    found = families()[name]()
    return [x.detach().numpy() if isinstance(x, torch.Tensor) else x for x in found]


EXPECTED: dict[str, list[Any]] = {}


def check(name: str) -> str:
    """Compare a family's results with the parent's."""
    for ours, theirs in zip(results(name), EXPECTED[name], strict=True):
        scale = np.abs(theirs).max() + 1e-30
        np.testing.assert_allclose(ours / scale, theirs / scale, atol=2e-5, err_msg=name)
    return name


class Checks(torch.utils.data.Dataset):
    """A data set whose samples are computed by the kernels."""

    def __len__(self) -> int:
        """How many families there are."""
        return len(families())

    def __getitem__(self, i: int) -> str:
        """Compute in the worker."""
        assert torch.get_num_threads() == 1
        return check([*families()][i])


def fork(names: Iterable[str], last: bool = False) -> None:
    """Check families in a forked process, and in one forked by that; RuntimeError if it fails."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # Python 3.12: threads and forks
        child = os.fork()
    if child == 0:
        signal.alarm(DEADLINE // 2)
        try:
            assert torch.get_num_threads() == 1
            torch.set_num_threads(4)
            for name in names:
                check(name)
            assert torch.get_num_threads() == 1
            if not last:
                fork(names, last=True)
            os._exit(0)
        finally:
            sys.excepthook(*sys.exc_info())  # type: ignore[arg-type]
            os._exit(1)
    status = os.waitpid(child, 0)[1]
    if status:
        raise RuntimeError(f"the forked process ended with {status}")


def with_os() -> None:
    """A process made by os.fork, and one made by that."""
    fork(families())


def with_multiprocessing() -> None:
    """A pool of processes."""
    with multiprocessing.get_context("fork").Pool(2) as pool:
        assert sorted(pool.map(check, families())) == sorted(families())


def with_loader() -> None:
    """Workers of a DataLoader."""
    loader = torch.utils.data.DataLoader(
        Checks(), batch_size=None, num_workers=2, multiprocessing_context="fork"
    )
    assert [*loader] == [*families()]


BUSY = ["map", "halving", "convolution", "product", "random", "ground map"]


def with_busy_threads() -> None:
    """Forks while other threads run kernels, draw random numbers and compile."""
    done = threading.Event()

    def work(names: list[str]) -> None:
        while not done.is_set():
            for name in names:
                check(name)
                torch.randn(100_000)

    def compile_again() -> None:
        while not done.is_set():
            minitorch.jit.compile_part(lambda x: x + 1)(1.0)

    with ThreadPoolExecutor(3) as pool:
        jobs = [pool.submit(work, BUSY[i::2]) for i in (0, 1)]
        jobs.append(pool.submit(compile_again))
        try:
            for _ in range(4):
                fork(BUSY, last=True)
        finally:
            done.set()
        for job in jobs:
            job.result()


def with_threads() -> None:
    """Four threads compute at once, on both floors."""
    with ThreadPoolExecutor(4) as pool:
        assert [*pool.map(check, BUSY * 4)] == BUSY * 4


WAYS = {
    "os": with_os,
    "multiprocessing": with_multiprocessing,
    "loader": with_loader,
    "busy": with_busy_threads,
    "threads": with_threads,
}


if __name__ == "__main__":
    if threads.get_num_threads() < 2:
        sys.exit("this needs two threads")
    ways = sys.argv[1:] or [*WAYS]
    for family in BUSY if {*ways} <= {"busy", "threads"} else families():
        EXPECTED[family] = results(family)
    for way in ways:
        faulthandler.dump_traceback_later(DEADLINE, exit=True)
        WAYS[way]()
        faulthandler.cancel_dump_traceback_later()
        print(way, "passed")
