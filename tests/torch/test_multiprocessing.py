"""Tensors between processes: one memory, nothing left over."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import minitorch.torch as torch
import minitorch.torch.multiprocessing as mp

ROOT = Path(__file__).parents[2]


def add_ones(rank: int, tensor: Any) -> None:
    tensor[rank] += 1


def fail(rank: int) -> None:
    if rank == 1:
        raise ValueError("on purpose")


def leave(rank: int) -> None:
    os._exit(3)


def echo(questions: Any, answers: Any) -> None:
    while (tensor := questions.get()) is not None:
        tensor += 1
        answers.put((tensor, tensor.sum()))
        questions.task_done()


def hogwild(model: Any) -> None:
    """Ten steps towards y = 3 x in memory that all workers write."""
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    x = torch.ones(4, 1)
    for _ in range(10):
        optimizer.zero_grad()
        ((model(x) - 3 * x) ** 2).mean().backward()
        optimizer.step()


def shared_descriptors() -> int:
    """How many descriptors of shared memory this process has; other threads open other files."""
    files = [os.path.join("/proc/self/fd", name) for name in os.listdir("/proc/self/fd")]
    return sum("memfd:minitorch" in os.readlink(file) for file in files if os.path.islink(file))


def test_share_memory() -> None:
    x = torch.arange(6.0)
    view = x[2:4]
    assert not x.is_shared()
    assert view.share_memory_() is view
    assert x.is_shared()
    assert view.is_shared()
    x[2] = 9
    assert view.tolist() == [9, 3]
    model = torch.nn.Linear(2, 2)
    before = [p.tolist() for p in model.parameters()]
    model.share_memory()
    assert all(p.is_shared() for p in model.parameters())
    assert [p.tolist() for p in model.parameters()] == before
    assert torch.empty(0).share_memory_().numel() == 0


@pytest.mark.skipif(sys.platform != "linux", reason="fork, /proc")
def test_memory_is_freed() -> None:
    gc.collect()
    before = shared_descriptors()
    kept = torch.zeros(1000).share_memory_()
    for _ in range(50):
        torch.zeros(1000).share_memory_()
    gc.collect()
    assert shared_descriptors() == before + 2  # the file, and its copy that is mapped
    del kept
    gc.collect()
    assert shared_descriptors() == before


@pytest.mark.skipif(sys.platform != "linux", reason="fork, /proc")
def test_queues() -> None:
    """A tensor that went through a queue is written by the other side, in both directions."""
    context = mp.get_context("fork")
    questions, answers = context.JoinableQueue(), context.SimpleQueue()
    worker = context.Process(target=echo, args=(questions, answers))
    worker.start()
    parameter = torch.nn.Parameter(torch.zeros(3)).share_memory_()
    for tensor in (torch.zeros(4)[1:3], torch.ones(2, 3, dtype=torch.bfloat16), parameter.detach()):
        expected = (tensor + 1).tolist()
        questions.put(tensor)
        returned, total = answers.get()
        assert tensor.is_shared()
        assert returned.is_shared()
        assert returned.tolist() == tensor.tolist() == expected
        assert total == tensor.sum()
    questions.put(None)
    worker.join()
    assert worker.exitcode == 0
    assert parameter.tolist() == [1, 1, 1]


def test_what_is_sent() -> None:
    from multiprocessing.reduction import ForkingPickler

    with pytest.raises(RuntimeError, match="non-leaf"):
        ForkingPickler.dumps(torch.ones(2, requires_grad=True) * 2)
    kind, dtype, shape, requires_grad = mp.reductions.reduce_tensor(torch.empty(0, 3))[1]
    assert (kind, dtype, shape, requires_grad) == (torch.Tensor, torch.float32, (0, 3), False)


@pytest.mark.skipif(sys.platform != "linux", reason="fork")
def test_hogwild() -> None:
    torch.manual_seed(0)
    model = torch.nn.Linear(1, 1, bias=False)
    model.share_memory()
    context = mp.get_context("fork")
    workers = [context.Process(target=hogwild, args=(model,)) for _ in range(2)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert abs(model.weight.item() - 3) < 0.3
    assert model.weight.grad is None


@pytest.mark.skipif(sys.platform != "linux", reason="fork")
def test_start_processes() -> None:
    tensor = torch.zeros(3)
    tensor.share_memory_()
    mp.start_processes(add_ones, (tensor,), nprocs=3, start_method="fork")
    assert tensor.tolist() == [1, 1, 1]
    with pytest.raises(mp.ProcessRaisedException, match="on purpose") as failed:
        mp.start_processes(fail, nprocs=2, start_method="fork")
    assert failed.value.error_index == 1
    with pytest.raises(mp.ProcessExitedException, match="exit code 3") as ended:
        mp.start_processes(leave, nprocs=1, start_method="fork")
    assert ended.value.exit_code == 3


def test_spawn(tmp_path: Path) -> None:
    """New interpreters find the memory by a descriptor, under Python's own start method."""
    program = (
        "import torch, torch.multiprocessing as mp\n"
        "from tests.torch.test_multiprocessing import add_ones\n"
        "if __name__ == '__main__':\n"
        "    x = torch.zeros(2)\n"
        "    mp.spawn(add_ones, (x,), nprocs=1)\n"
        "    print(x.tolist(), x.is_shared())\n"
    )
    path = tmp_path / "program.py"
    path.write_text(program)
    done = subprocess.run(
        [sys.executable, "-W", "error", "-m", "minitorch.torch", str(path)],
        capture_output=True, text=True, cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)}, check=False,
    )  # fmt: skip
    assert done.stderr == ""
    assert done.stdout.strip() == "[1.0, 0.0] True"


def test_names() -> None:
    assert mp.get_sharing_strategy() in mp.get_all_sharing_strategies()
    mp.set_sharing_strategy("file_system")
    mp.set_sharing_strategy("file_descriptor")
    for name in (
        "Process",
        "Queue",
        "Pool",
        "Lock",
        "Value",
        "Manager",
        "set_start_method",
        "Event",
    ):
        assert hasattr(mp, name)
