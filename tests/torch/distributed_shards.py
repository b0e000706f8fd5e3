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


def _error(call: Any) -> str:
    try:
        return f"no error: {call()}"
    except RuntimeError as error:
        return str(error)


def run(lib: Any, rank: int, size: int) -> dict[str, Any]:
    """All of it, on all ranks."""
    return {"zero": zero(lib, rank, size, True), "plain": zero(lib, rank, size, False)}
