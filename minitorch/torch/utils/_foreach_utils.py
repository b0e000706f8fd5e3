"""Lists of tensors put in order for functions that take tensors of one device and type at a time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..tensor import Tensor


def _group_tensors_by_device_and_dtype(
    tensorlistlist: Sequence[Sequence[Any]], with_indices: bool = False
) -> dict[tuple[Any, Any], tuple[list[list[Any]], list[int]]]:
    """Lists of equal length cut by the device and type of the first list's tensors, with the places they had."""
    groups: dict[tuple[Any, Any], tuple[list[list[Any]], list[int]]] = {}
    for i, first in enumerate(tensorlistlist[0]):
        key = first.device, first.dtype
        lists, indices = groups.setdefault(key, ([[] for _ in tensorlistlist], []))
        for group, each in zip(lists, tensorlistlist, strict=True):
            if each:
                group.append(each[i])
        if with_indices:
            indices.append(i)
    return groups


def _get_foreach_kernels_supported_devices() -> list[str]:
    """The devices on which optimizers take lists of tensors at once by themselves."""
    return ["cuda", "xpu", "mtia", "privateuseone"]


def _get_fused_kernels_supported_devices() -> list[str]:
    """The devices on which one kernel makes a step."""
    return ["mps", "cuda", "xpu", "hpu", "cpu", "mtia", "privateuseone"]


def _device_has_foreach_support(device: Any) -> bool:
    """Whether functions of lists run on a device."""
    return device.type in [*_get_foreach_kernels_supported_devices(), "cpu"]


def _has_foreach_support(tensors: Sequence[Any], device: Any) -> bool:
    """Whether functions of lists take these tensors: subclasses have ways of their own."""
    return _device_has_foreach_support(device) and all(
        each is None or type(each) is Tensor for each in tensors
    )
