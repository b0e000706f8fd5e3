"""Training whose state is shared out among the ranks, the same program for PyTorch (gloo) and `minitorch.torch`."""

from __future__ import annotations

import importlib
from typing import Any


def values(tensor: Any) -> Any:
    """A tensor's elements in Python's own types."""
    return str(tensor.dtype).split(".")[-1], tensor.tolist()


def plain(value: Any) -> Any:
    """A state in Python's own types."""
    if isinstance(value, dict):
        return {key: plain(part) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(part) for part in value]
    return values(value) if hasattr(value, "tolist") else value


def network(lib: Any) -> Any:
    """A small network, the same on every rank."""
    lib.manual_seed(3)
    nn = lib.nn
    inner = [layer for _ in range(3) for layer in (nn.Linear(12, 12), nn.Tanh())]
    return nn.Sequential(nn.Linear(6, 12), nn.Tanh(), *inner, nn.Linear(12, 3))


def batches(lib: Any, rank: int, size: int, steps: int) -> list[tuple[Any, Any]]:
    """This rank's part of each of some batches of twelve."""
    lib.manual_seed(11)
    inputs, labels = lib.randn(12 * steps, 6), lib.randint(0, 3, (12 * steps,))
    rows = 12 // size
    starts = [12 * step + rows * rank for step in range(steps)]
    return [(inputs[i : i + rows], labels[i : i + rows]) for i in starts]


def groups_of(model: Any) -> list[dict[str, Any]]:
    """Weights and biases, with options of their own."""
    weights = [p for p in model.parameters() if p.ndim > 1]
    biases = [p for p in model.parameters() if p.ndim == 1]
    return [{"params": weights, "weight_decay": 0.1}, {"params": biases, "lr": 0.02}]


def elements(optimizer: Any) -> int:
    """How many numbers an optimizer remembers, but for counts of steps."""
    return sum(t.numel() for state in optimizer.state.values() for t in state.values() if t.ndim)


def zero(lib: Any, rank: int, size: int, shared: bool) -> dict[str, Any]:
    """Losses, parameters and state of a training, with a state that each rank has, or a part of it."""
    optim = importlib.import_module(f"{lib.__name__}.distributed.optim")
    model = network(lib)
    made = lib.nn.parallel.DistributedDataParallel(model)

    def optimizer_of(kind: Any, **options: Any) -> Any:
        if shared:
            return optim.ZeroRedundancyOptimizer(groups_of(model), kind, lr=0.01, **options)
        return kind(groups_of(model), lr=0.01, **options)

    optimizer = optimizer_of(lib.optim.AdamW)
    schedule = lib.optim.lr_scheduler.StepLR(optimizer, 2, 0.5)
    early: Any = None
    losses = []
    for step, (inputs, labels) in enumerate(batches(lib, rank, size, 6)):
        loss = lib.nn.functional.cross_entropy(made(inputs), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
        losses.append(loss.item())
        if step == 3:  # go on with another optimizer that was given the state of this one
            if shared:
                early = _error(optimizer.state_dict)
                optimizer.consolidate_state_dict(to=1)
            told = [optimizer.state_dict() if rank == 1 else None]
            lib.distributed.broadcast_object_list(told, 1)
            optimizer = optimizer_of(lib.optim.AdamW)
            optimizer.load_state_dict(told[0])
            schedule = lib.optim.lr_scheduler.StepLR(optimizer, 1, 0.9)
    own = elements(optimizer.optim if shared else optimizer)
    if shared:
        optimizer.consolidate_state_dict()
    state = plain(optimizer.state_dict()) if rank == 0 else None
    return {
        "losses": losses,
        "parameters": plain(list(model.parameters())),
        "state": state,
        "elements": own,
        "early": early,
    }


def spread(lib: Any, rank: int, size: int, folder: str) -> dict[str, Any]:
    """A network whose parameters are spread: losses, norms, memory, states, and a checkpoint that is loaded again."""
    fsdp = importlib.import_module(f"{lib.__name__}.distributed.fsdp")
    checkpoint = importlib.import_module(f"{lib.__name__}.distributed.checkpoint")
    states = importlib.import_module(f"{lib.__name__}.distributed.checkpoint.state_dict")

    def make() -> tuple[Any, Any]:
        model = network(lib)
        for layer in model:
            if len(list(layer.parameters())) and layer is not model[0]:
                fsdp.fully_shard(layer)
        fsdp.fully_shard(model)
        return model, lib.optim.AdamW(model.parameters(), lr=0.02)

    def train(model: Any, optimizer: Any, some: Any) -> list[Any]:
        found = []
        for inputs, labels in some:
            loss = lib.nn.functional.cross_entropy(model(inputs), labels)
            optimizer.zero_grad()
            loss.backward()
            norm = lib.nn.utils.clip_grad_norm_(model.parameters(), 0.5)
            norm = norm.full_tensor() if hasattr(norm, "full_tensor") else norm
            optimizer.step()
            found.append((loss.item(), norm.item()))
        return found

    given = batches(lib, rank, size, 6)
    model, optimizer = make()
    losses = train(model, optimizer, given[:3])
    own = sum(p.to_local().numel() for p in model.parameters())
    remembered = sum(
        _local(t).numel() for s in optimizer.state.values() for t in s.values() if t.ndim
    )
    of_model, of_optimizer = states.get_state_dict(model, optimizer)
    checkpoint.save({"model": of_model, "optim": of_optimizer, "step": 3}, checkpoint_id=folder)
    losses += train(model, optimizer, given[3:])
    other, another = make()
    with lib.no_grad():
        for p in other.parameters():
            p.mul_(0)
    of_model, of_optimizer = states.get_state_dict(other, another)
    state = {"model": of_model, "optim": of_optimizer, "step": 0}
    checkpoint.load(state, checkpoint_id=folder)
    saved = [values(_whole(state["model"][name])) for name in state["model"]]
    states.set_state_dict(other, another, model_state_dict=state["model"], optim_state_dict=state["optim"])  # fmt: skip
    again = train(other, another, given[3:])
    full = states.StateDictOptions(full_state_dict=True, cpu_offload=True)
    whole = states.get_state_dict(other, another, options=full)
    return {
        "losses": losses,
        "again": again,
        "elements": (own, remembered),
        "step": state["step"],
        "saved": saved,
        "whole": plain(dict(whole[0])),
        "optimizer": plain(whole[1].get("state", {})),
        "name": type(model).__name__,
    }


def wrapped(lib: Any, rank: int, size: int) -> dict[str, Any]:
    """A network with its parts in modules that spread parameters, and the same steps of one process.

    (PyTorch's are for GPUs: on the CPU they mix up states of optimizers, and sometimes fail. `distributed_programs` compares with them.)
    """
    fsdp = importlib.import_module(f"{lib.__name__}.distributed.fsdp")
    policies = importlib.import_module(f"{lib.__name__}.distributed.fsdp.wrap")
    wrapper, cross_entropy = fsdp.FullyShardedDataParallel, lib.nn.functional.cross_entropy
    policy = policies.ModuleWrapPolicy({lib.nn.Linear})
    made = wrapper(network(lib), auto_wrap_policy=policy, device_id=lib.device("cpu"))
    optimizer = lib.optim.AdamW(made.parameters(), lr=0.02)

    def train(model: Any, optimizer: Any, some: Any) -> list[float]:
        norms = []
        for inputs, labels in some:
            optimizer.zero_grad()
            with model.no_sync():
                cross_entropy(model(inputs[:1]), labels[:1]).backward()
            cross_entropy(model(inputs[1:]), labels[1:]).backward()
            norms.append(model.clip_grad_norm_(0.5).item())
            optimizer.step()
        return norms

    given = batches(lib, rank, size, 4)
    norms = train(made, optimizer, given[:2])
    state, of_optimizer = made.state_dict(), wrapper.optim_state_dict(made, optimizer)
    other = wrapper(lib.nn.Sequential(*network(lib)), auto_wrap_policy=policy)
    other.load_state_dict(state)
    another = lib.optim.AdamW(other.parameters(), lr=0.02)
    another.load_state_dict(wrapper.optim_state_dict_to_load(other, another, of_optimizer))

    alone = network(lib)
    plain_optimizer = lib.optim.AdamW(alone.parameters(), lr=0.02)
    expected = []
    for parts in list(zip(*(batches(lib, r, size, 4) for r in range(size)), strict=True))[:2]:
        plain_optimizer.zero_grad()
        for inputs, labels in parts:
            first = cross_entropy(alone(inputs[:1]), labels[:1])
            ((first + cross_entropy(alone(inputs[1:]), labels[1:])) / size).backward()
        expected.append(lib.nn.utils.clip_grad_norm_(alone.parameters(), 0.5).item())
        plain_optimizer.step()

    lib.manual_seed(rank)
    drawn = wrapper(lib.nn.Linear(3, 2), sync_module_states=True)
    with wrapper.summon_full_params(drawn):
        drawn.weight.data.mul_(2)
    lib.manual_seed(0)
    return {
        "names": [n for n, _ in made.named_parameters()][:2], "remembered": list(of_optimizer["state"])[:2],
        "parts": [len(wrapper.fsdp_modules(made, root_only=only)) for only in (False, True)],
        "trained": (norms, plain(dict(state))), "expected": (expected, plain(dict(alone.state_dict()))),
        "again": (train(made, optimizer, given[2:]), train(other, another, given[2:])),
        "drawn": (plain(drawn.state_dict()["weight"]), plain(lib.nn.Linear(3, 2).weight * 2)),
    }  # fmt: skip


def other_ranks(lib: Any, rank: int, folder: str) -> dict[str, Any]:
    """What three ranks saved loaded by one, and what one saved loaded by three; memory after a forward pass."""
    fsdp = importlib.import_module(f"{lib.__name__}.distributed.fsdp")
    checkpoint = importlib.import_module(f"{lib.__name__}.distributed.checkpoint")
    saved = {"model": network(lib).state_dict()}
    for value in saved["model"].values():
        value.zero_()
    checkpoint.load(saved, checkpoint_id=folder, no_dist=True)
    if rank == 0:
        checkpoint.save(saved, checkpoint_id=f"{folder}.alone", no_dist=True)
    lib.distributed.barrier()
    model = fsdp.fully_shard(network(lib))
    state = {"model": model.state_dict()}
    checkpoint.load(state, checkpoint_id=f"{folder}.alone")
    parts = {name: plain(p.full_tensor()) for name, p in model.named_parameters()}
    model(lib.ones(2, 6)).sum()
    gathered = [p.whole._array.strides for p in model._sharded.parameters]
    return {
        "alone": plain(dict(saved["model"])),
        "spread": parts,
        "gathered": any(any(strides) for strides in gathered),
    }


def _whole(tensor: Any) -> Any:
    return tensor.full_tensor() if hasattr(tensor, "full_tensor") else tensor


def _local(tensor: Any) -> Any:
    return tensor.to_local() if hasattr(tensor, "to_local") else tensor


def whole(lib: Any) -> dict[str, Any]:
    """The same training by one process with whole batches."""
    model = network(lib)
    optimizer = lib.optim.AdamW(model.parameters(), lr=0.02)
    losses = []
    for inputs, labels in batches(lib, 0, 1, 6):
        loss = lib.nn.functional.cross_entropy(model(inputs), labels)
        optimizer.zero_grad()
        loss.backward()
        norm = lib.nn.utils.clip_grad_norm_(model.parameters(), 0.5)
        optimizer.step()
        losses.append((loss.item(), norm.item()))
    return {"losses": losses, "state": plain(dict(model.state_dict()))}


def _error(call: Any) -> str:
    try:
        return f"no error: {call()}"
    except RuntimeError as error:
        return str(error)


def run(lib: Any, rank: int, size: int, folder: str) -> dict[str, Any]:
    """All of it, on all ranks."""
    found = {
        "zero": zero(lib, rank, size, True),
        "plain": zero(lib, rank, size, False),
        "spread": spread(lib, rank, size, folder),
        "whole": whole(lib),
    }
    if lib.__name__ != "torch":
        found["other ranks"] = other_ranks(lib, rank, folder)
        found["wrapped"] = wrapped(lib, rank, size)
    return found
