"""Tensors of modules, exchanged by their names."""

from __future__ import annotations

from typing import Any

from ...tensor import Tensor
from ..modules.module import Module

_MISSING = object()


def swap_tensor(module: Module, name: str, tensor: Any, allow_missing: bool = False) -> Any:
    """Put a tensor in the place of a parameter, a buffer or an attribute, as it is; what was there."""
    if not isinstance(module, Module):
        raise TypeError(f"{module} is not an instance of torch.nn.Module")
    _check_tensor(tensor, f"{tensor}")
    if "." in name:
        raise KeyError('tensor name can\'t contain "."')
    if not name:
        raise KeyError('tensor name can\'t be empty string ""')
    place = next((d for d in (module._parameters, module._buffers) if name in d), None)
    before = getattr(module, name, _MISSING) if place is None else place[name]
    if before is _MISSING and not allow_missing:
        raise AttributeError(f"{module._get_name()} has no attribute `{name}`")
    _check_tensor(before, f"attribute `{name}`: {before}")
    if place is None and tensor is not _MISSING:
        setattr(module, name, tensor)
    elif place is not None and tensor is not _MISSING:
        place[name] = tensor
    elif before is not _MISSING:
        delattr(module, name)
    return before


def _check_tensor(value: Any, shown: str) -> None:
    if value is not _MISSING and value is not None and not isinstance(value, Tensor):
        raise TypeError(f"{shown} is not an instance of torch.Tensor")
