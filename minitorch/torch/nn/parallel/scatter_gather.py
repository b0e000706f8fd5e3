"""Scatter arguments to devices, and gather results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ...device import device
from ...ops.joining import cat, stack
from ...tensor import Tensor


def scatter(inputs: Any, target_gpus: Sequence[Any], dim: int = 0) -> Any:
    """The parts of an argument for each device: tensors, also in containers, are split along a dimension.

    Values other than tensors are passed to every device.
    """
    if isinstance(inputs, Tensor):
        parts = inputs.chunk(len(target_gpus), dim)
        return tuple(
            part.to(device(target)) for part, target in zip(parts, target_gpus, strict=False)
        )
    if isinstance(inputs, Mapping) and inputs:
        pairs = zip(*(scatter(item, target_gpus, dim) for item in inputs.items()), strict=False)
        return [type(inputs)(each) for each in pairs]  # type: ignore[call-arg]
    if isinstance(inputs, (tuple, list)) and inputs:
        parts = zip(*(scatter(each, target_gpus, dim) for each in inputs), strict=False)
        return [_like(inputs, part) for part in parts]
    return [inputs for _ in target_gpus]


def scatter_kwargs(
    inputs: tuple[Any, ...], kwargs: dict[str, Any] | None, target_gpus: Sequence[Any], dim: int = 0
) -> tuple[tuple[Any, ...], tuple[dict[str, Any], ...]]:
    """Positional and keyword arguments, scattered to one call for each device."""
    by_place = scatter(inputs, target_gpus, dim) if inputs else []
    by_name = scatter(kwargs, target_gpus, dim) if kwargs else []
    calls = max(len(by_place), len(by_name))
    by_place += [() for _ in range(calls - len(by_place))]
    by_name += [{} for _ in range(calls - len(by_name))]
    return tuple(by_place), tuple(by_name)


def gather(outputs: Any, target_device: Any, dim: int = 0) -> Any:
    """The results of all devices on one device: tensors are concatenated along a dimension."""
    first = outputs[0]
    if isinstance(first, Tensor):
        moved = [each.to(device(target_device)) for each in outputs]
        return stack(moved) if first.ndim == 0 else cat(moved, dim)
    if first is None:
        return None
    if isinstance(first, Mapping):
        if any(len(each) != len(first) for each in outputs):
            raise ValueError("All dicts must have the same number of keys")
        found = {key: gather([each[key] for each in outputs], target_device, dim) for key in first}
        return type(first)(found)  # type: ignore[call-arg]
    return _like(first, [gather(each, target_device, dim) for each in zip(*outputs, strict=True)])


def _like(container: Any, values: Any) -> Any:
    """Values in a container of the same kind."""
    return type(container)(*values) if hasattr(container, "_fields") else type(container)(values)
