"""Every collective, and DDP, with NCCL on GPUs: `python -m tests.torch.nccl_check [BACKEND]`.

Each rank knows what all ranks give, so it knows what it must get. Started so, without `mpiexec` or a launcher, this process is the only
rank, on one GPU; it needs mpi4py with any MPI library, and no `ssh`. More ranks are started with `minitorch run --nproc RANKS tests/torch/nccl_check.py`, a GPU each; `MINITORCH_CUDA=simulated`
simulates them, and NCCL over MPI.
"""

from __future__ import annotations

import functools
import os
import sys
from typing import Any

import numpy as np

import minitorch.torch as torch
import minitorch.torch.distributed as dist
from minitorch.torch.device import device

TYPES = "bool uint8 int8 int16 int32 int64 float16 bfloat16 float32 float64 complex64 complex128".split()
OPS: dict[str, Any] = {
    "SUM": torch.add, "AVG": torch.add, "PRODUCT": torch.mul, "MIN": torch.minimum, "MAX": torch.maximum,
    "BAND": torch.bitwise_and, "BOR": torch.bitwise_or, "BXOR": torch.bitwise_xor,
}  # fmt: skip
OF_BOOLS = {"SUM": torch.logical_or, "PRODUCT": torch.logical_and}


class Check:
    """The calls of one rank, and what they must give."""

    def __init__(self) -> None:
        self.rank, self.size = dist.get_rank(), dist.get_world_size()
        self.device = device("cuda", torch.cuda.current_device())
        self.random = np.random.default_rng(7)  # the same on every rank
        self.count = 0

    def all_ranks(self, name: str, shape: tuple[int, ...]) -> list[Any]:
        """What each rank gives: small whole numbers, whose sums and products are exact."""
        drawn = self.random.integers(0, 3, (self.size, *shape))
        dtype = getattr(torch, name)
        made = [torch.from_numpy(np.asarray(d)).to(dtype) for d in drawn]
        return [m * (1 + 2j) for m in made] if dtype.is_complex else made

    def own(self, everyone: list[Any]) -> Any:
        """This rank's, on its GPU; a matrix is not contiguous there."""
        mine = everyone[self.rank].to(self.device)
        if mine.ndim == 2:
            wide = torch.zeros(
                mine.shape[0], 2 * mine.shape[1], dtype=mine.dtype, device=self.device
            )
            wide[:, ::2] = mine
            return wide[:, ::2]
        return mine

    def equal(self, what: str, got: Any, expected: Any) -> None:
        """Count a comparison; AssertionError where it fails."""
        assert got.device == self.device, (what, got.device)
        assert got.dtype == expected.dtype, (what, got.dtype, expected.dtype)
        tolerance = torch.finfo(got.dtype).eps if "AVG" in what else 0.0
        error = (got.cpu() - expected).abs() if tolerance else got.cpu() != expected
        assert (error <= tolerance * expected.abs() if tolerance else ~error).all(), (what, got, expected)  # fmt: skip
        self.count += 1

    def reductions(self) -> None:
        """all_reduce, reduce, reduce_scatter and reduce_scatter_tensor: types, operations, shapes."""
        for name in TYPES:
            for op in OPS:
                if not _is_defined(op, getattr(torch, name)):
                    continue
                self._reductions(name, op)

    def _reductions(self, name: str, op: str) -> None:
        how, about = getattr(dist.ReduceOp, op), f"{name} {op}"
        for shape in ((), (5,), (3, 4), (0,), (1000,)):
            everyone = self.all_ranks(name, shape)
            mine = self.own(everyone)
            dist.all_reduce(mine, how)
            self.equal(f"all_reduce {about} {shape}", mine, self.reduced(op, everyone))
        everyone = self.all_ranks(name, (3, 4))
        mine, root = self.own(everyone), self.size - 1
        dist.reduce(mine, root, how)
        if self.rank == root:
            self.equal(f"reduce {about}", mine, self.reduced(op, everyone))
        everyone = self.all_ranks(name, (self.size, 6))
        out, mine = torch.zeros_like(everyone[0][0], device=self.device), everyone[self.rank].to(self.device)  # fmt: skip
        dist.reduce_scatter(out, list(mine), how)
        self.equal(f"reduce_scatter {about}", out, self.reduced(op, everyone)[self.rank])
        out.zero_()
        dist.reduce_scatter_tensor(out, mine, how)
        self.equal(f"reduce_scatter_tensor {about}", out, self.reduced(op, everyone)[self.rank])

    def reduced(self, op: str, everyone: list[Any]) -> Any:
        """The reduction, on the CPU."""
        combine = OPS[op]
        if everyone[0].dtype is torch.bool:
            combine = OF_BOOLS.get(op, combine)
        total = functools.reduce(combine, everyone)
        return total / self.size if op == "AVG" else total

    def movements(self) -> None:
        """What moves tensors, of every type."""
        for name in TYPES:
            self._movements(name)

    def _movements(self, name: str) -> None:
        size, root = self.size, self.size - 1
        here = self.rank == root
        everyone = self.all_ranks(name, (3, 2))

        def room(count: int, *shape: int) -> list[Any]:
            dtype = getattr(torch, name)
            return [torch.zeros(shape, dtype=dtype, device=self.device) for _ in range(count)]

        mine = self.own(everyone)
        dist.broadcast(mine, root)
        self.equal(f"broadcast {name}", mine, everyone[root])
        outs = room(size, 3, 2)
        dist.all_gather(outs, self.own(everyone))
        for out, theirs in zip(outs, everyone, strict=True):
            self.equal(f"all_gather {name}", out, theirs)
        (out,) = room(1, 3 * size, 2)
        dist.all_gather_into_tensor(out, self.own(everyone))
        self.equal(f"all_gather_into_tensor {name}", out, torch.cat(everyone))
        outs = room(size, 3, 2) if here else None
        dist.gather(self.own(everyone), outs, root)
        for got, theirs in zip(outs or [], everyone, strict=False):
            self.equal(f"gather {name}", got, theirs)
        parts = self.all_ranks(name, (size, 4))
        (out,) = room(1, 4)
        dist.scatter(out, [p.to(self.device) for p in parts[root]] if here else None, root)
        self.equal(f"scatter {name}", out, parts[root][self.rank])
        (out,) = room(1, size, 4)
        dist.all_to_all_single(out, self.own(parts))
        self.equal(f"all_to_all_single {name}", out, torch.stack([p[self.rank] for p in parts]))
        outs = room(size, 4)
        dist.all_to_all(outs, [row.to(self.device) for row in parts[self.rank]])
        for got, theirs in zip(outs, parts, strict=True):
            self.equal(f"all_to_all {name}", got, theirs[self.rank])
        if size > 1:
            self._messages(name, everyone)

    def _messages(self, name: str, everyone: list[Any]) -> None:
        after, before = (self.rank + 1) % self.size, (self.rank - 1) % self.size
        out = torch.zeros_like(everyone[0], device=self.device)
        ops = [dist.P2POp(dist.isend, self.own(everyone), after), dist.P2POp(dist.irecv, out, before)]  # fmt: skip
        for work in dist.batch_isend_irecv(ops):
            work.wait()
        self.equal(f"batch_isend_irecv {name}", out, everyone[before])
        if self.rank < 2:
            out.zero_()
            if self.rank == 0:
                dist.send(self.own(everyone), 1)
            else:
                assert dist.recv(out, 0) == 0
                self.equal(f"send {name}", out, everyone[0])

    def others(self) -> None:
        """Asynchronous calls, objects, groups, barriers, tensors of the CPU."""
        everyone = [self.all_ranks("float32", (4096,)) for _ in range(8)]
        mine = [self.own(e) for e in everyone]
        for work in [dist.all_reduce(m, async_op=True) for m in mine]:
            work.wait()
        for got, e in zip(mine, everyone, strict=True):
            self.equal("asynchronous", got, self.reduced("SUM", e))
        told: list[Any] = [None] * self.size
        dist.all_gather_object(told, {"rank": self.rank})
        assert told == [{"rank": rank} for rank in range(self.size)]
        group = dist.new_group([0])
        if self.rank == 0:
            one = torch.ones(3, device=self.device)
            dist.all_reduce(one, group=group)
            self.equal("group", one, torch.ones(3))
        on_cpu = torch.ones(2)
        dist.all_reduce(on_cpu)
        assert on_cpu.tolist() == [self.size] * 2
        dist.barrier()
        self.count += 3

    def training(self) -> None:
        """DDP on GPUs: the losses of one process with the whole batch."""
        alone = self._losses(parallel=False)
        together = self._losses(parallel=True)
        for mine, whole in zip(together, alone, strict=True):
            assert abs(mine - whole) <= 2e-5 * abs(whole), (together, alone)
        self.count += len(alone)

    def _losses(self, parallel: bool) -> list[float]:
        torch.manual_seed(0)
        nn = torch.nn
        model: Any = nn.Sequential(
            nn.Conv2d(1, 8, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(72, 64), nn.Tanh(), nn.Linear(64, 4)
        ).to(self.device)  # fmt: skip
        data, labels = torch.randn(24, 1, 8, 8), torch.randint(0, 4, (24,))
        if parallel:
            ids = [self.device.index]
            model = nn.parallel.DistributedDataParallel(model, device_ids=ids, bucket_cap_mb=0.01)
        optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
        rows = 24 // self.size
        part = slice(self.rank * rows, (self.rank + 1) * rows) if parallel else slice(None)
        x, y = data[part].to(self.device), labels[part].to(self.device)
        losses = []
        for _ in range(10):
            loss = nn.functional.cross_entropy(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            told = loss.detach().clone()
            if parallel:
                dist.all_reduce(told, dist.ReduceOp.AVG)
            losses.append(told.item())
        return losses


def _is_defined(op: str, dtype: Any) -> bool:
    """Whether a reduction is defined for a type."""
    if dtype.is_complex:
        return op in ("SUM", "AVG")
    if dtype.is_floating_point:
        return not op.startswith("B")
    return op != "AVG"


def main() -> None:
    """Run all checks as one rank."""
    backend = sys.argv[1] if len(sys.argv) > 1 else "nccl"
    torch.cuda.set_device(int(os.environ.get("LOCAL_RANK", "0")) % torch.cuda.device_count())
    if "RANK" in os.environ:
        dist.init_process_group(backend)
    else:
        dist.init_process_group(backend, rank=0, world_size=1, store=dist.HashStore())
    check = Check()
    for part in (check.reductions, check.movements, check.others, check.training):
        part()
    if check.rank == 0:
        gpu = torch.cuda.get_device_name()
        print(
            f"{dist.get_backend()} on {check.size} ranks ({gpu}): {check.count} comparisons, all equal"
        )
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
