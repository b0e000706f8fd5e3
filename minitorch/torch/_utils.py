"""Torch's names for what rebuilds tensors from files, and for lists of tensors as one."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

from .accelerator import current_accelerator
from .nn.utils.convert_parameters import parameters_to_vector
from .serialization.rebuild import rebuild_parameter as _rebuild_parameter
from .serialization.rebuild import rebuild_parameter_with_state as _rebuild_parameter_with_state
from .serialization.rebuild import rebuild_sparse_tensor as _rebuild_sparse_tensor
from .serialization.rebuild import rebuild_tensor as _rebuild_tensor
from .serialization.rebuild import rebuild_tensor_v2 as _rebuild_tensor_v2
from .serialization.rebuild import rebuild_tensor_v3 as _rebuild_tensor_v3
from .tensor import Tensor
from .utils.data._utils.worker import ExceptionWrapper


def _flatten_dense_tensors(tensors: Sequence[Tensor]) -> Tensor:
    """The elements of all tensors in one row."""
    return parameters_to_vector(tensors)


def _unflatten_dense_tensors(flat: Tensor, tensors: Sequence[Tensor]) -> tuple[Tensor, ...]:
    """Views of one row, in the shapes of given tensors."""
    parts = flat.split([tensor.numel() for tensor in tensors])
    return tuple(part.view_as(tensor) for part, tensor in zip(parts, tensors, strict=True))


def _get_available_device_type() -> str | None:
    """The kind of device that this machine has beside its CPU."""
    found = current_accelerator(check_available=True)
    return None if found is None else found.type


def _get_device_module(device_type: str) -> Any:
    """The module of a kind of device, such as `torch.cuda`."""
    module = getattr(sys.modules[__package__ or ""], device_type, None)
    if module is None:
        raise RuntimeError(
            f"Device '{device_type}' does not have a corresponding module registered as 'torch.{device_type}'."
        )
    return module


__all__ = [
    "ExceptionWrapper", "_flatten_dense_tensors", "_get_available_device_type", "_get_device_module", "_rebuild_parameter", "_rebuild_parameter_with_state", "_rebuild_sparse_tensor",
    "_rebuild_tensor", "_rebuild_tensor_v2", "_rebuild_tensor_v3", "_unflatten_dense_tensors",
]  # fmt: skip
