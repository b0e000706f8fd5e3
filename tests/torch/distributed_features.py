"""Ranks with fewer inputs, hooks of gradients, meshes and spread tensors: the same calls with PyTorch and with `minitorch.torch`."""

from __future__ import annotations

import importlib
from typing import Any


def numbers(tensor: Any) -> Any:
    """A tensor's elements."""
    return tensor.detach().tolist()


def run(lib: Any, rank: int, size: int) -> dict[str, Any]:
    """What a rank gets."""
    return {
        "joined": joined(lib, rank), "hooks": hooks(lib, rank), "half": hooks(lib, rank, True), "mesh": mesh(lib, rank, size), "spread": spread(lib, rank, size)
    }  # fmt: skip


def module(lib: Any, name: str) -> Any:
    """A module of `torch.distributed`."""
    return importlib.import_module(f"{lib.__name__}.distributed.{name}")


def joined(lib: Any, rank: int) -> Any:
    """Gradients and parameters where each rank has one input more than the one before."""
    join = module(lib, "algorithms.join").Join
    zero = module(lib, "optim").ZeroRedundancyOptimizer
    lib.manual_seed(0)
    layers = lib.nn.Sequential(lib.nn.Linear(3, 2), lib.nn.BatchNorm1d(2))
    model = lib.nn.parallel.DistributedDataParallel(layers.double())
    optimizer = zero(model.parameters(), lib.optim.SGD, lr=0.1)
    inputs = [
        lib.ones(2, 3).double() * lib.tensor([[1.0], [2.0]]) * (rank + i) for i in range(2 + rank)
    ]
    with join([model, optimizer]):
        for x in inputs:
            model(x).square().sum().backward()
            optimizer.step()
            optimizer.zero_grad()
    found = [numbers(t) for t in model.state_dict().values()]
    plain = lib.nn.parallel.DistributedDataParallel(
        lib.nn.Linear(3, 2).double(), gradient_as_bucket_view=True
    )
    with plain.join(divide_by_initial_world_size=False):
        for x in inputs:
            plain.zero_grad()
            plain(x).sum().backward()
    if rank == 2:  # the others' are those of their last inputs
        found += [numbers(p.grad) for p in plain.parameters()]
    try:
        with join([plain], throw_on_early_termination=True):
            for x in inputs:
                plain(x).sum().backward()
    except RuntimeError as error:
        found.append(str(error))
    return found


def hooks(lib: Any, rank: int, half: bool = False) -> Any:
    """Gradients that were exchanged by hooks."""
    default = module(lib, "algorithms.ddp_comm_hooks.default_hooks")
    power = module(lib, "algorithms.ddp_comm_hooks.powerSGD_hook")
    state = power.PowerSGDState(None, 2, start_powerSGD_iter=2, min_compression_rate=0.5)
    exact = [(None, default.allreduce_hook), (state, power.powerSGD_hook)]
    rounded = [
        (None, default.fp16_compress_hook),
        (None, default.fp16_compress_wrapper(default.allreduce_hook)),
    ]
    found = []
    for given, hook in rounded if half else exact:
        lib.manual_seed(0)
        model = lib.nn.parallel.DistributedDataParallel(lib.nn.Linear(8, 6).double())
        model.register_comm_hook(given, hook)
        order: list[str] = []
        for name, p in model.named_parameters():
            p.register_post_accumulate_grad_hook(
                lambda _, name=name, order=order: order.append(name)
            )
        for i in range(4):
            model.zero_grad()
            x = lib.arange(16.0, dtype=lib.float64).reshape(2, 8) / 8 - rank + i
            model(x).tanh().sum().backward()
        found.append([order[:2], *(numbers(p.grad) for p in model.parameters())])
    return found


def mesh(lib: Any, rank: int, size: int) -> Any:
    """What a mesh says of itself."""
    made = lib.distributed.init_device_mesh("cpu", (1, size), mesh_dim_names=("dp", "tp"))
    group = made.get_group("tp")
    return [
        made.ndim, made.size(), tuple(made.shape), made.get_coordinate(), made.get_local_rank("tp"), made["tp"].size(),
        lib.distributed.get_process_group_ranks(group), numbers(made.mesh), made["tp"].mesh_dim_names,
    ]  # fmt: skip


def spread(lib: Any, rank: int, size: int) -> Any:
    """Spread tensors: their parts, arithmetic, gradients, and a block in columns and rows."""
    tensor = module(lib, "tensor")
    parallel = module(lib, "tensor.parallel")
    line = lib.distributed.init_device_mesh("cpu", (size,))
    whole = lib.arange(28.0).reshape(7, 4)
    rows = tensor.distribute_tensor(whole, line, [tensor.Shard(0)])
    columns = rows.redistribute(line, [tensor.Shard(1)])
    found: list[Any] = [
        tuple(rows.shape),
        rows.numel(),
        rows.size(0),
        len(rows),
        str(columns.placements),
    ]
    found += [numbers(rows.to_local()), numbers(columns.to_local()), numbers(columns.full_tensor())]
    local = tensor.DTensor.from_local(lib.ones(2, 2) * rank, line, [tensor.Shard(0)])
    found += [tuple(local.shape), numbers(((local + 1) * local).full_tensor())]
    found += [rows.sum().full_tensor().item(), numbers((rows @ columns.t()).full_tensor())]
    leaf = tensor.distribute_tensor(whole / 10, line, [tensor.Shard(0)]).requires_grad_()
    (leaf * 2).exp().mean().backward()
    found += [
        numbers(leaf.grad.full_tensor()),
        tuple(leaf.grad.shape),
        leaf.grad.placements == leaf.placements,
    ]
    lib.manual_seed(0)
    block = lib.nn.Sequential(lib.nn.Linear(4, 6), lib.nn.ReLU(), lib.nn.Linear(6, 4))
    plan = {"0": parallel.ColwiseParallel(), "2": parallel.RowwiseParallel()}
    parallel.parallelize_module(block, line, plan)
    optimizer = lib.optim.AdamW(block.parameters(), lr=0.1)
    for _ in range(2):
        optimizer.zero_grad()
        loss = block(whole / 10).square().mean()
        loss.backward()
        optimizer.step()
        found.append(loss.item())
    return [*found, *(numbers(p.full_tensor()) for p in block.parameters())]
