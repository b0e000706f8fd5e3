"""Ranks with fewer inputs, hooks of gradients, meshes, copies and parts of models: the same calls with PyTorch and with `minitorch.torch`."""

from __future__ import annotations

import copy
import importlib
import io
from typing import Any


def numbers(tensor: Any) -> Any:
    """A tensor's elements."""
    return tensor.detach().tolist()


def run(lib: Any, rank: int, size: int) -> dict[str, Any]:
    """What a rank gets."""
    return {
        "joined": joined(lib, rank), "hooks": hooks(lib, rank), "half": hooks(lib, rank, True), "mesh": mesh(lib, rank, size), "spread": spread(lib, rank, size),
        "replicas": replicas(lib, rank), "parts": parts(lib, rank),
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


def replicas(lib: Any, rank: int) -> Any:
    """Gradients of parallel models that were copied, saved, or have sparse, unused and ignored parameters."""
    nn, parallel = lib.nn, lib.nn.parallel.DistributedDataParallel
    lib.manual_seed(0)
    inputs = lib.arange(6.0).reshape(2, 3) + rank

    def gradients(model: Any, *given: Any) -> list[Any]:
        model(*given).square().mean().backward()
        found = [p.grad for p in model.parameters()]
        return [None if g is None else numbers(g.to_dense() if g.is_sparse else g) for g in found]

    def plain() -> Any:
        return nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2))

    made, file = parallel(plain()), io.BytesIO()
    lib.save(made, file)
    file.seek(0)
    found: list[Any] = [gradients(copy.deepcopy(made), inputs)]
    found.append(gradients(lib.load(file, weights_only=False), inputs))
    ignoring = plain()
    parallel._set_params_and_buffers_to_ignore_for_model(ignoring, ["0.weight"])
    found.append(gradients(parallel(ignoring), inputs))
    static = parallel(nn.ModuleList([plain(), plain()]))
    static._set_static_graph()
    static.module.forward = static.module[0].forward
    found.append(gradients(static, inputs))
    table = parallel(nn.Sequential(nn.Embedding(5, 3, sparse=True), nn.Linear(3, 2)))
    for step in range(2):  # the second adds to the first
        found.append(gradients(table, lib.tensor([[rank, 2], [3, step]])))
    found.append(table.module[0].weight.grad.is_sparse)
    wrong = [
        lambda: parallel(plain(), device_ids=[0]), lambda: parallel(nn.LazyLinear(3)), lambda: parallel(plain().requires_grad_(False)),
        lambda: [made.register_comm_hook(None, default_hook(lib)) for _ in range(2)],
    ]  # fmt: skip
    return found, [name_of_error(call) for call in wrong], str(made.device), made.bucket_bytes_cap


def default_hook(lib: Any) -> Any:
    """The hook that averages a bucket as it is."""
    return module(lib, "algorithms.ddp_comm_hooks.default_hooks").allreduce_hook


def name_of_error(call: Any) -> str:
    """The class of what a call raises."""
    try:
        call()
    except Exception as error:
        return type(error).__name__
    return ""


def parts(lib: Any, rank: int) -> Any:
    """Sharded models that were made without memory, or do not use all of their parameters."""
    fsdp, nn = module(lib, "fsdp"), lib.nn
    with lib.device("meta"):
        model = nn.Sequential(nn.Linear(5, 4), nn.Tanh(), nn.Linear(4, 7))
    fsdp.fully_shard(model[0], offload_policy=fsdp.OffloadPolicy())
    fsdp.fully_shard(model)
    model.to_empty(device="cpu")
    for i, p in enumerate(model.parameters()):
        nn.init.constant_(p, 0.1 * i - 0.2)
    optimizer = lib.optim.AdamW(model.parameters(), lr=0.1)
    x, found = lib.arange(10.0).reshape(2, 5) / 10 + rank, []
    for _ in range(2):
        model(x).square().mean().backward()
        norm = nn.utils.clip_grad_norm_(model.parameters(), 0.5)
        optimizer.step()
        optimizer.zero_grad()
        found.append(norm.full_tensor().item())
    whole = {n: nn.Parameter(p + 1) for n, p in model.state_dict().items()}
    model.load_state_dict(whole, assign=True)
    found += [numbers(p.full_tensor()) for p in model.parameters()]
    found.append(numbers(model(x)))
    lib.manual_seed(0)

    class Several(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layers = nn.ModuleList([nn.Linear(5, 3), nn.Linear(5, 3), nn.Linear(3, 2)])

        def forward(self, x: Any) -> Any:
            return self.layers[2](self.layers[0](x))

    several = Several()
    layers = several.layers
    fsdp.fully_shard([layers[0], layers[1]])
    fsdp.fully_shard(several)
    several.set_requires_all_reduce(True)
    several.set_modules_to_forward_prefetch([layers[0]])
    for factor in (None, lib.distributed.get_world_size()):
        if factor and lib.__name__ != "torch":  # gloo cannot; the number of ranks changes nothing
            layers[0].set_gradient_divide_factor(factor)
        several(x).square().mean().backward()
        found.append([None if p.grad is None else numbers(p.grad.full_tensor()) for p in several.parameters()])  # fmt: skip
    handle = several.unshard(async_op=True)
    handle.wait()
    found.append(name_of_error(lambda: fsdp.fully_shard(nn.ModuleList([nn.Linear(2, 2)]))))
    found.append(tuple(layers[2].weight.shape))
    several.reshard()
    return [*found, [tuple(p.to_local().shape) for p in several.parameters()]]
