"""Random collectives, here and in PyTorch's gloo: `python -m tests.torch.distributed_random [CASES] [RANKS ...]`.

A case is a collective, a type, an operation, a shape, a layout in memory, a root and a group, all drawn from its number; every
rank's result is compared. gloo takes contiguous tensors only, so there views are copied and written back.
"""

from __future__ import annotations

import importlib
import multiprocessing
import pickle
import random
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path
from typing import Any

from .distributed_found import free_port, same

TYPES = "bool uint8 int8 int32 int64 float16 bfloat16 float32 float64 complex64 complex128".split()
OPS = "SUM AVG PRODUCT MIN MAX BAND BOR BXOR".split()
LAYOUTS = "contiguous transposed strided offset".split()
REDUCTIONS = "all_reduce reduce reduce_scatter reduce_scatter_tensor all_reduce_coalesced".split()
MOVEMENTS = "broadcast all_gather all_gather_into_tensor gather scatter all_to_all_single uneven ring batch".split()  # fmt: skip
SHAPES = [(), (1,), (7,), (3, 4), (2, 3, 2), (0,), (600,), (1, 5, 1, 2)]


class Case:
    """One call, the same on every rank, of data that differs by rank."""

    def __init__(self, lib: Any, rank: int, group: Any, ranks: list[int], number: int) -> None:
        self.lib, self.dist, self.group, self.ranks = lib, lib.distributed, group, ranks
        self.size, self.rank = len(ranks), ranks.index(rank)
        self.draw = random.Random(number)
        self.call = self.draw.choice(REDUCTIONS + MOVEMENTS)
        self.kind = self.draw.choice(TYPES)
        self.op = self.draw.choice(OPS)
        self.layout = self.draw.choice(LAYOUTS)
        self.root = self.draw.randrange(self.size)
        self.shape = self.draw.choice(SHAPES)
        self.asynchronous = self.draw.random() < 0.4

    def __str__(self) -> str:
        return f"{self.call} {self.kind} {self.op} {self.layout} {self.shape} ranks {self.ranks} root {self.root}"

    def tensor(self, shape: tuple[int, ...] | None = None) -> Any:
        """A tensor, different on each rank, that lies in memory as the case wants."""
        wanted = self.shape if shape is None else shape
        count = 1
        for n in wanted:
            count *= n
        everyone = [[self.draw.randint(0, 3) for _ in range(count)] for _ in self.ranks]
        numbers: list[float] = list(everyone[self.rank])
        if self.size == 2 and "float" in self.kind:  # sums of two numbers are the same in any order
            numbers = [n / 7 for n in numbers]
        made = self.lib.tensor(numbers, dtype=getattr(self.lib, self.kind)).reshape(wanted)
        return self.laid_out(made * (1 + 2j) if self.kind.startswith("complex") else made)

    def laid_out(self, tensor: Any) -> Any:
        """A copy in the memory layout of the case."""
        if self.layout == "contiguous" or not tensor.ndim:
            return tensor.clone()
        if self.layout == "transposed":
            return tensor.transpose(0, -1).contiguous().transpose(0, -1)
        rows = 2 * tensor.shape[0] + 1
        room = self.lib.zeros(rows, *tensor.shape[1:], dtype=tensor.dtype)
        view = room[1::2] if self.layout == "strided" else room[1 : 1 + tensor.shape[0]]
        view.copy_(tensor)
        return view

    def zeros(self, *shape: int) -> Any:
        """Room for a result."""
        return self.laid_out(self.lib.zeros(shape, dtype=getattr(self.lib, self.kind)))

    def do(self, name: str, written: list[Any], *args: Any, **options: Any) -> list[Any]:
        """Call a collective, and return what it has written."""
        if self.lib.__name__ != "torch":
            work = getattr(self.dist, name)(*args, group=self.group, async_op=self.asynchronous, **options)  # fmt: skip
        else:
            copies: dict[int, Any] = {}
            args, written = self._contiguous(args, copies), self._contiguous(written, copies)
            work = getattr(self.dist, name)(*args, group=self.group, async_op=self.asynchronous, **options)  # fmt: skip
        if self.asynchronous and work is not None:
            work.wait()
        return written

    def _contiguous(self, value: Any, copies: dict[int, Any]) -> Any:
        if isinstance(value, (list, tuple)):
            return type(value)(self._contiguous(part, copies) for part in value)
        if hasattr(value, "contiguous"):
            return copies.setdefault(id(value), value.contiguous())
        return value

    def run(self) -> Any:
        """The result in Python's own types, or the error."""
        try:
            given = self.reduction() if self.call in REDUCTIONS else self.movement()
        except (RuntimeError, ValueError, TypeError, AssertionError) as error:
            return f"{type(error).__name__}: {str(error).splitlines()[0]}"
        return [(str(t.dtype).split(".")[-1], tuple(t.shape), t.tolist()) for t in given]

    def reduction(self) -> list[Any]:
        """What a reduction writes."""
        how, root = getattr(self.dist.ReduceOp, self.op), self.ranks[self.root]
        if self.call == "all_reduce":
            x = self.tensor()
            return self.do("all_reduce", [x], x, how)
        if self.call == "all_reduce_coalesced":
            several = [self.tensor() for _ in range(3)]
            return [self.do("all_reduce", [x], x, how)[0] for x in several]
        if self.call == "reduce":
            x = self.tensor()
            return self.do("reduce", [x], x, root, how)[: self.rank == self.root]
        if self.call == "reduce_scatter":
            out, parts = self.zeros(2, 3), [self.tensor((2, 3)) for _ in self.ranks]
            return self.do("reduce_scatter", [out], out, parts, how)
        out, given = self.zeros(2, 3), self.tensor((2 * self.size, 3))
        return self.do("reduce_scatter_tensor", [out], out, given, how)

    def movement(self) -> list[Any]:
        """What a movement of tensors writes."""
        root, here, size = self.ranks[self.root], self.rank == self.root, self.size
        if self.call == "broadcast":
            x = self.tensor()
            return self.do("broadcast", [x], x, root)
        if self.call in ("ring", "batch"):
            return self.messages()
        if self.call == "all_gather":
            outs = [self.zeros(*self.shape) for _ in self.ranks]
            return self.do("all_gather", outs, outs, self.tensor())
        if self.call == "gather":
            outs = [self.zeros(*self.shape) for _ in self.ranks]
            return self.do("gather", outs if here else [], self.tensor(), outs if here else None, dst=root)  # fmt: skip
        if self.call == "scatter":
            parts, out = [self.tensor() for _ in self.ranks], self.zeros(*self.shape)
            return self.do("scatter", [out], out, parts if here else None, src=root)
        if self.call == "all_gather_into_tensor":
            out = self.zeros(3 * size, 2)
            return self.do("all_gather_into_tensor", [out], out, self.tensor((3, 2)))
        if self.call == "all_to_all_single":
            out = self.zeros(2 * size, 2)
            return self.do("all_to_all_single", [out], out, self.tensor((2 * size, 2)))
        sizes = [[self.draw.randint(0, 3) for _ in self.ranks] for _ in self.ranks]
        sent, taken = sizes[self.rank], [sizes[r][self.rank] for r in range(size)]
        longest = max(sum(s) for s in sizes)
        given, out = self.tensor((longest, 2))[: sum(sent)], self.zeros(sum(taken), 2)
        return self.do("all_to_all_single", [out], out, given, taken, sent)

    def messages(self) -> list[Any]:
        """What goes around in a ring."""
        dist, x, y = self.dist, self.tensor((4, 3)), self.zeros(4, 3)
        after, before = self.ranks[(self.rank + 1) % self.size], self.ranks[self.rank - 1]
        if self.lib.__name__ == "torch":
            x, y = x.contiguous(), y.contiguous()
        if self.call == "batch":
            ops = [dist.P2POp(dist.isend, x, after, self.group), dist.P2POp(dist.irecv, y, before, self.group)]  # fmt: skip
            works = dist.batch_isend_irecv(ops)
        else:
            tag = self.draw.randrange(9)
            works = [dist.isend(x, after, self.group, tag), dist.irecv(y, before, self.group, tag)]
        for work in works:
            work.wait()
        return [y]


def cases(lib: Any, rank: int, size: int, count: int) -> dict[str, Any]:
    """The results of one rank: most calls are of all ranks, some of a group of two."""
    pair = [0, size - 1]
    group = lib.distributed.new_group(pair)
    found = {}
    for number in range(count):
        few = number % 5 == 4
        if few and rank not in pair:
            continue
        ranks = pair if few else list(range(size))
        case = Case(lib, rank, group if few else None, ranks, 1000 * size + number)
        found[f"{number}: {case}"] = case.run()
    return found


def run(rank: int, name: str, address: str, path: str, size: int, count: int) -> None:
    """One rank of a program that calls all cases."""
    lib = importlib.import_module(name)
    importlib.import_module(f"{name}.distributed")
    lib.set_num_threads(1)
    lib.distributed.init_process_group(
        "gloo", init_method=address, rank=rank, world_size=size, timeout=timedelta(seconds=120)
    )
    Path(f"{path}.{rank}").write_bytes(pickle.dumps(cases(lib, rank, size, count)))
    lib.distributed.barrier()
    lib.distributed.destroy_process_group()


def results(name: str, address: str, path: str, size: int, count: int) -> list[dict[str, Any]]:
    """What each rank of a library got."""
    context = multiprocessing.get_context("spawn")
    ranks = [context.Process(target=run, args=(r, name, address, path, size, count)) for r in range(size)]  # fmt: skip
    for process in ranks:
        process.start()
    for process in ranks:
        process.join()
    if any(process.exitcode for process in ranks):
        raise RuntimeError(f"{name}: exit codes {[process.exitcode for process in ranks]}")
    return [pickle.loads(Path(f"{path}.{rank}").read_bytes()) for rank in range(size)]


def differences(theirs: list[Any], ours: list[Any]) -> tuple[list[str], int]:
    """Cases that differ, and how many gloo has not for their type."""
    wrong, unknown = [], 0
    for rank, (expected, got) in enumerate(zip(theirs, ours, strict=True)):
        for name, result in expected.items():
            tolerance = 1e-6 if "complex" in name and "AVG" in name else 0.0  # divided as pairs
            unknown += isinstance(result, str) and result.endswith("Invalid scalar type")
            here = got.get(name)
            if isinstance(result, str) and isinstance(here, str):
                result, here = result.split(":")[0], here.split(":")[0]  # the class of the error
            if not same(result, here, tolerance):
                wrong.append(f"rank {rank}: {name}\n  gloo {result}\n  here {here}")
    return wrong, unknown


def main() -> int:
    """Compare, and tell."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 500
    failed = 0
    for size in map(int, sys.argv[2:] or ("2", "3", "4")):
        with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor() as pool:
            tcp = f"tcp://127.0.0.1:{free_port()}"
            theirs = pool.submit(results, "torch", tcp, f"{folder}/t", size, count)
            ours = pool.submit(results, "minitorch.torch", f"file://{folder}/meet", f"{folder}/m", size, count)  # fmt: skip
            wrong, unknown = differences(theirs.result(), ours.result())
        compared = sum(map(len, theirs.result()))
        print(f"{size} ranks, {count} cases, {compared} results of ranks: {len(wrong)} differ; for {unknown} gloo has no such type")  # fmt: skip
        for text in wrong[:10]:
            print(text)
        failed += len(wrong)
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
