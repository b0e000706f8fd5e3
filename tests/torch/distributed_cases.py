"""Collectives with random tensors, in three processes: `python -m tests.torch.distributed_cases LIBRARY FILE`.

The same program runs with PyTorch (gloo) and with `minitorch.torch`, and writes what every rank got.
"""

from __future__ import annotations

import importlib
import multiprocessing
import pickle
import random
import sys
from datetime import timedelta
from typing import Any

from . import distributed_features, distributed_random, distributed_shards

TYPES = "bool uint8 int8 int32 int64 float16 bfloat16 float32 float64 complex64 complex128".split()
OPS = "SUM AVG PRODUCT MIN MAX BAND BOR BXOR".split()
RANKS = 3


def values(tensor: Any) -> Any:
    """A tensor's elements in Python's own types."""
    return str(tensor.dtype).split(".")[-1], tensor.tolist()


class Cases:
    """Random calls, the same ones on every rank, of data that differs by rank."""

    def __init__(self, lib: Any, rank: int, size: int, group: Any, fractions: bool) -> None:
        self.lib, self.dist, self.rank, self.size, self.group = (
            lib,
            lib.distributed,
            rank,
            size,
            group,
        )
        self.fractions = fractions  # sums of two numbers are the same in any order
        self.draw = random.Random(size)

    def tensor(self, name: str, shape: tuple[int, ...], strided: bool = False) -> Any:
        """A random tensor, different on each rank; strided: a transposed view."""
        count = 1
        for n in shape:
            count *= n
        everyone = [[self.draw.randint(0, 3) for _ in range(count)] for _ in range(self.size)]
        numbers: list[float] = list(everyone[self.rank])
        if self.fractions and name.startswith(("float", "bfloat")):
            numbers = [n / 7 for n in numbers]
        made = self.lib.tensor(numbers, dtype=getattr(self.lib, name))
        if name.startswith("complex"):
            made = made * (1 + 2j)
        return made.reshape(shape[::-1]).t() if strided and len(shape) == 2 else made.reshape(shape)

    def shape(self) -> tuple[int, ...]:
        return self.draw.choice([(), (1,), (5,), (3, 4), (2, 3, 2), (0,), (600,)])

    def reductions(self, name: str, op: str) -> Any:
        dist, group, how = self.dist, self.group, getattr(self.dist.ReduceOp, op)
        x = self.tensor(name, self.shape())
        y = self.tensor(name, (2, 3))
        out, parts = y.clone(), [self.tensor(name, (2, 3)) for _ in range(self.size)]
        z = self.tensor(name, (4,))
        dist.all_reduce(x, how, group=group)
        dist.reduce(z, 1, how, group=group)
        got = [x, *([z] if self.rank == 1 else [])]
        if op != "AVG" or not name.startswith("complex"):
            dist.reduce_scatter(out, parts, how, group=group)
            got.append(out)
        return [values(t) for t in got]

    def movements(self, name: str) -> Any:
        """What each movement of tensors gives: gloo has not all of them for all types."""
        lib, dist, group, size = self.lib, self.dist, self.group, self.size
        root = self.draw.randrange(size)
        here, kind = self.rank == root, getattr(lib, name)
        a, b = self.tensor(name, self.shape()), self.tensor(name, (3, 2))
        equal, uneven = (
            self.tensor(name, (2 * size, 2)),
            self.tensor(name, (size * (size + 1) // 2,)),
        )
        given = [self.tensor(name, (2, 2)) for _ in range(size)]
        parts = self.tensor(name, (2 * size,))

        def zeros(*shape: int) -> Any:
            return lib.zeros(shape, dtype=kind)

        def call(fn: Any, outputs: Any, *args: Any, **options: Any) -> Any:
            fn(*args, **options, group=group)
            return [values(t) for t in (outputs if isinstance(outputs, list) else [outputs])]

        every, joined = [zeros(3, 2) for _ in range(size)], zeros(size * 3, 2)
        gathered = [zeros(3, 2) for _ in range(size)] if here else None
        mine, swapped, taken, part = (
            zeros(2, 2),
            zeros(2 * size, 2),
            zeros(size * (self.rank + 1)),
            zeros(2),
        )
        sizes = [self.rank + 1] * size, list(range(1, size + 1))
        return [
            outcome(call, dist.broadcast, a, a, root),
            outcome(call, dist.all_gather, every, every, b),
            outcome(call, dist.all_gather_into_tensor, joined, joined, b),
            outcome(call, dist.gather, gathered or [], b, gathered, dst=root),
            outcome(call, dist.scatter, mine, mine, given if here else None, src=root),
            outcome(call, dist.all_to_all_single, swapped, swapped, equal),
            outcome(call, dist.all_to_all_single, taken, taken, uneven, *sizes),
            outcome(call, dist.reduce_scatter_tensor, part, part, parts),
        ]  # fmt: skip

    def messages(self, name: str) -> Any:
        dist, group, size = self.dist, self.group, self.size
        after, before = (self.rank + 1) % size, (self.rank - 1) % size
        x, y = self.tensor(name, (4, 3)), self.tensor(name, (4, 3))
        work = dist.isend(x, after, group=group, tag=3)
        received = dist.irecv(y, before, group=group, tag=3)
        work.wait()
        received.wait()
        z = self.lib.zeros_like(x)
        ops = [dist.P2POp(dist.isend, x, after, group), dist.P2POp(dist.irecv, z, before, group)]
        for each in dist.batch_isend_irecv(ops):
            each.wait()
        w, source = self.lib.zeros_like(x), None
        if self.rank == 0:
            source = dist.recv(w, group=group)
        elif self.rank == 1:
            dist.send(x, 0, group=group)
        return [values(t) for t in (y, z, w)], source

    def objects(self) -> Any:
        dist, group, size = self.dist, self.group, self.size
        every: list[Any] = [None] * size
        dist.all_gather_object(
            every, {"rank": self.rank, "long": "x" * self.rank * 50}, group=group
        )
        told = [self.rank, "a", None] if self.rank == 1 else [None] * 3
        dist.broadcast_object_list(told, 1, group=group)
        gathered: Any = [None] * size if self.rank == 0 else None
        dist.gather_object((self.rank,), gathered, 0, group=group)
        mine: list[Any] = [None]
        parts = [{i: "y" * i} for i in range(size)] if self.rank == 0 else None
        dist.scatter_object_list(mine, parts, 0, group=group)
        sent: list[Any] = [None, None]
        if self.rank == 0:
            dist.send_object_list([1, "two"], 1, group=group)
        elif self.rank == 1:
            dist.recv_object_list(sent, 0, group=group)
        return every, told, gathered, mine, sent

    def asynchronous(self) -> Any:
        tensors = [self.tensor("float32", (50,)) for _ in range(6)]
        works = [self.dist.all_reduce(t, group=self.group, async_op=True) for t in tensors]
        for work in reversed(works):
            work.wait()
        return all(w.is_completed() for w in works), [values(t) for t in tensors]

    def all(self) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for name in TYPES:
            for op in OPS:
                found[f"{name} {op}"] = outcome(self.reductions, name, op)
            found[f"{name} moved"] = self.movements(name)
            found[f"{name} sent"] = self.messages(name)
        found["objects"], found["asynchronous"] = self.objects(), self.asynchronous()
        return found


def outcome(fn: Any, *args: Any, **options: Any) -> Any:
    """What a call gives, or the error that it raises."""
    try:
        return fn(*args, **options)
    except (RuntimeError, ValueError, TypeError, AssertionError) as error:
        return f"{type(error).__name__}: {str(error).splitlines()[0]}"


def wrong_calls(lib: Any, rank: int) -> dict[str, Any]:
    """Errors that are raised before anything is sent."""
    dist, x = lib.distributed, lib.ones(3)
    calls: dict[str, Any] = {
        "no tensor": lambda: dist.all_reduce([1.0]),
        "no list": lambda: dist.all_gather(x, x),
        "not tensors": lambda: dist.all_gather([1, 2, 3], x),
        "types": lambda: dist.all_gather([x.double()] * 3, x),
        "no root": lambda: dist.broadcast(x),
        "two roots": lambda: dist.broadcast(x, 0, group_src=0),
        "to itself": lambda: dist.send(x, rank),
        "again": lambda: dist.init_process_group("gloo"),
        "no operation": lambda: dist.P2POp(dist.send, x, 0),
        "no operations": lambda: dist.batch_isend_irecv([1]),
        "sum of splits": lambda: dist.all_to_all_single(lib.ones(3), lib.ones(3), [1, 1, 1], [1, 1, 2]),
        "no such rank": lambda: dist.new_group([0, 9]),
        "a rank twice": lambda: dist.new_group([0, 0]),
        "groups of none": lambda: dist.new_subgroups(0),
        "a rank in two groups": lambda: dist.new_subgroups_by_enumeration([[0, 1], [1, 2]]),
    }  # fmt: skip
    classes: dict[str, Any] = {
        "number as operation": lambda: dist.all_reduce(x, 5),
        "factor with gloo": lambda: dist.all_reduce(x, dist._make_nccl_premul_sum(2.0)),
        "no such root": lambda: dist.broadcast(x, 7),
        "negative root": lambda: dist.reduce(x, -1),
        "root of no group": lambda: dist.broadcast(x, group_src=9),
        "text as root": lambda: dist.reduce(x, "0"),
        "too few": lambda: dist.all_gather([x], x),
        "other sizes": lambda: dist.all_gather([lib.ones(4)] * 3, x),
        "other shapes": lambda: dist.all_gather([lib.ones(4, 1)] * 3, lib.ones(2, 2)),
        "size of the whole": lambda: dist.all_gather_into_tensor(lib.ones(5), x),
        "type of the whole": lambda: dist.all_gather_into_tensor(lib.ones(9).int(), x),
        "too few terms": lambda: dist.reduce_scatter(x, [x]),
        "size of the terms": lambda: dist.reduce_scatter_tensor(lib.ones(3), lib.ones(5)),
        "too few for all": lambda: dist.all_to_all([x], [x]),
        "fraction as rank": lambda: dist.isend(x, 1.5),
        "operation with nobody": lambda: dist.P2POp(dist.isend, x),
        "no backend": lambda: dist.new_group(backend="zzz"),
        "seconds as timeout": lambda: dist.new_group([0, 1], timeout=5),
        "no split": lambda: dist.split_group(split_ranks=[]),
    }  # fmt: skip
    alone = [dist.new_group([each]) for each in range(RANKS)]
    not_here = alone[(rank + 1) % RANKS]
    classes |= {
        "receive outside": lambda: dist.irecv(x, 0, group=not_here),
        "destroy what others have": lambda: dist.destroy_process_group(not_here),
        "root outside": lambda: dist.broadcast(x, (rank + 1) % RANKS, group=alone[rank]),
    }  # fmt: skip
    found = {name: outcome(call) for name, call in calls.items()}
    for name, call in classes.items():
        found[name] = str(outcome(call)).partition(":")[0]
    some = dist.P2POp(dist.isend, x, (rank + 1) % RANKS)
    kinds = dist.ReduceOp.SUM, dist.reduce_op.MAX, dist.ReduceOp.PREMUL_SUM
    return {**found, "shown": [repr(kinds), repr(some).partition(" group")[2]]}


def others(lib: Any, rank: int) -> Any:
    """Groups, and views that are not contiguous."""
    dist = lib.distributed
    pair = dist.new_group([2, 0])
    whole = lib.arange(24.0).reshape(4, 6) + rank
    if lib.__name__ != "torch":  # gloo refuses these
        dist.all_reduce(whole[:, 1::2])
        dist.broadcast(whole.t()[2], 1)
    else:
        middle, row = whole[:, 1::2].clone(), whole.t()[2].clone()
        dist.all_reduce(middle)
        whole[:, 1::2] = middle
        dist.broadcast(row, 1)
        whole.t()[2] = row
    asked = [dist.get_rank(pair), dist.get_world_size(pair)]
    if rank != 1:
        asked += [dist.get_process_group_ranks(pair), dist.get_group_rank(pair, 2)]
        x = lib.ones(2) * rank
        dist.broadcast(x, 2, group=pair)
        asked.append(values(x))
    return values(whole), asked, dist.get_backend(), dist.get_world_size(), dist.is_initialized()


def training(lib: Any, rank: int, group: Any) -> Any:
    """Losses and parameters of small networks, trained by two ranks on half of each batch."""
    nn = lib.nn
    lib.manual_seed(rank)  # rank 0's parameters are the ones that count
    plain = nn.Sequential(nn.Linear(6, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Linear(16, 3))
    made = nn.parallel.DistributedDataParallel(plain, process_group=group, bucket_cap_mb=0.0002)
    optimizer = lib.optim.SGD(made.parameters(), lr=0.1, momentum=0.9)
    lib.manual_seed(5)
    data, labels = lib.randn(64, 6), lib.randint(0, 3, (64,))
    losses = []
    for step in range(8):
        mine = slice(8 * step + 4 * rank, 8 * step + 4 * rank + 4)
        if step % 3 == 1:  # two batches for one step
            with made.no_sync():
                nn.functional.cross_entropy(made(data[mine]), labels[mine]).backward()
        loss = nn.functional.cross_entropy(made(data[mine]), labels[mine])
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        losses.append(loss.item())
    names = list(made.state_dict())
    return (
        losses,
        names,
        [values(p) for p in made.state_dict().values()],
        partly_used(lib, rank, group),
    )


def flowing(lib: Any, rank: int) -> Any:
    """Gradients through collectives: a product of numbers that differ by rank with what each gives."""
    f, size = importlib.import_module(f"{lib.__name__}.distributed.nn.functional"), RANKS
    world = lib.distributed.group.WORLD

    def gradient(fn: Any, *shape: int) -> Any:
        x = (lib.arange(6.0).reshape(2, 3) + rank).requires_grad_()
        out = fn(x)
        outs = out if isinstance(out, (tuple, list)) else [out]
        total = sum(((i + 2.0) * (rank + 1) * o * o).sum() for i, o in enumerate(outs))
        (found,) = lib.autograd.grad(total, x)
        return [values(o.detach()) for o in outs], values(found)

    def parts(x: Any) -> list[Any]:
        return [x * (i + 1) for i in range(size)]

    return [
        gradient(lambda x: f.all_reduce(x, group=world)),
        gradient(lambda x: f.broadcast(x, 1, group=world)),
        gradient(lambda x: f.all_gather(x, group=world)),
        gradient(lambda x: f.gather(x, 1, group=world)),
        gradient(lambda x: f.scatter(parts(x), 2, group=world)),
        gradient(lambda x: f.reduce_scatter(lib.zeros(2, 3), parts(x), group=world)),
        gradient(lambda x: f.all_to_all_single(lib.zeros(3, 2), x.t().contiguous(), group=world)),
    ]


def partly_used(lib: Any, rank: int, group: Any) -> Any:
    """Gradients where ranks use different parameters, and one is used by none."""
    nn = lib.nn

    class Choice(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layers = nn.ModuleList([nn.Linear(3, 3) for _ in range(3)])

        def forward(self, x: Any) -> Any:
            return {"out": self.layers[rank](x)}

    lib.manual_seed(1)
    made = nn.parallel.DistributedDataParallel(
        Choice(), process_group=group, find_unused_parameters=True
    )
    for _ in range(2):
        made(lib.ones(2, 3) * (rank + 1))["out"].sum().backward()
    return [None if p.grad is None else values(p.grad) for p in made.parameters()]


def normalized(lib: Any, rank: int) -> Any:
    """A batch normalized over all ranks, its gradients, and the running statistics."""
    lib.manual_seed(7)
    whole = lib.randn(6, 4, 3, dtype=lib.float64)
    layer = lib.nn.SyncBatchNorm.convert_sync_batchnorm(lib.nn.BatchNorm1d(4)).double()
    x = whole[rank if rank < 2 else 2 :][: 1 if rank < 2 else 4].clone().requires_grad_()
    out = layer(x)
    (out * out * whole[:1]).sum().backward()
    layer.weight.grad.mul_(1)
    lib.distributed.all_reduce(layer.weight.grad)
    return [
        values(t)
        for t in (out.detach(), x.grad, layer.weight.grad, layer.running_mean, layer.running_var)
    ]


def stores(lib: Any, path: str) -> Any:
    """What the stores say, one after the other."""
    dist = lib.distributed
    kinds = [dist.HashStore(), dist.FileStore(path, 1), dist.TCPStore("127.0.0.1", 0, 1, True)]
    kinds.append(dist.PrefixStore("p", kinds[0]))
    said = []
    for store in kinds:
        store.set("a", "1")
        store.set_timeout(timedelta(seconds=0.05))
        found = [store.get("a"), store.add("n", 5), store.add("n", 2), store.get("n")]
        found += [
            store.compare_set("a", "1", "2"),
            store.compare_set("a", "1", "3"),
            store.check(["a"]),
        ]
        found += [store.check(["a", "b"]), store.delete_key("n") if found else None]
        store.set("raw", b"\x00\xff")
        store.append("raw", b"\xfe")
        found += [store.get("raw"), store.compare_set("raw", b"\x00\xff\xfe", b"\xfd")]
        found += [outcome(store.set, "number", 5).split(":")[0], store.clone().get("a")]
        found += sorted(key for key in store.list_keys() if "/" not in key)
        found.append(outcome(store.get, "never").split(":")[0])
        said.append(found)
    return said


def run(rank: int, name: str, address: str, path: str) -> None:
    """One rank: the whole group's calls, then those of a group of two."""
    lib = importlib.import_module(name)
    importlib.import_module(f"{name}.distributed")
    lib.set_num_threads(1)
    dist = lib.distributed
    dist.init_process_group(
        "gloo", init_method=address, rank=rank, world_size=RANKS, timeout=timedelta(seconds=60)
    )
    found = {"three": Cases(lib, rank, RANKS, None, False).all(), "others": others(lib, rank)}
    pair = dist.new_group([0, 1])
    if rank < 2:
        found["two"] = Cases(lib, rank, 2, pair, True).all()
        found["training"] = training(lib, rank, pair)
    found["flowing"] = flowing(lib, rank)
    if lib.__name__ != "torch":  # whose SyncBatchNorm is for GPUs
        found["normalized"] = normalized(lib, rank)
    found["shards"] = distributed_shards.run(lib, rank, RANKS, f"{path}.checkpoint")
    found["features"] = distributed_features.run(lib, rank, RANKS)
    found["random"] = distributed_random.cases(lib, rank, RANKS, 60)
    found["wrong"] = wrong_calls(lib, rank)
    if rank == 0:
        found["stores"] = stores(lib, f"{path}.store")
    dist.barrier()
    with open(f"{path}.{rank}", "wb") as file:
        pickle.dump(found, file)
    dist.destroy_process_group()


if __name__ == "__main__":
    if sys.argv[1] == "torch":  # whose own spawn would have to be imported here as well
        context = multiprocessing.get_context("spawn")
        ranks = [context.Process(target=run, args=(rank, *sys.argv[1:4])) for rank in range(RANKS)]
        for process in ranks:
            process.start()
        for process in ranks:
            process.join()
        sys.exit(max(abs(process.exitcode or 0) for process in ranks))
    processes = importlib.import_module(f"{sys.argv[1]}.multiprocessing")
    processes.spawn(run, tuple(sys.argv[1:4]), RANKS)
