"""Collectives on Python objects: pickled, as bytes in tensors. Only ranks of one program do this."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np

from ..tensor import Tensor, wrap
from .collectives import (
    _rank_in_group,
    all_gather,
    broadcast,
    gather,
    scatter,
)
from .point_to_point import recv, send
from .world import _resolve, not_in_group, own_group


def _packed(value: Any) -> Tensor:
    return wrap(np.frombuffer(pickle.dumps(value), np.uint8).copy())


def _unpacked(tensor: Tensor, length: int) -> Any:
    return pickle.loads(tensor._array[:length].tobytes())


def _number(value: int) -> Tensor:
    return wrap(np.array([value], np.int64))


def _lengths(length: int, group: Any) -> list[int]:
    """The lengths of all ranks' objects."""
    found = [_number(0) for _ in range(_resolve(group).size())]
    all_gather(found, _number(length), group)
    return [int(n) for n in found]


def _padded(tensor: Tensor, length: int) -> Tensor:
    return wrap(np.pad(tensor._array, (0, length - tensor._array.size)))


def _empty(length: int) -> Tensor:
    return wrap(np.empty(length, np.uint8))


def all_gather_object(object_list: list[Any], obj: Any, group: Any = None) -> None:
    """Gather all ranks' objects into a list on every rank."""
    if not_in_group(group):
        return
    packed = _packed(obj)
    lengths = _lengths(packed.numel(), group)
    if len(object_list) < len(lengths):
        raise IndexError(
            f"all_gather_object: expected a list of {len(lengths)} objects, got {len(object_list)}"
        )
    parts = [_empty(max(lengths)) for _ in lengths]
    all_gather(parts, _padded(packed, max(lengths)), group)
    for i, (part, length) in enumerate(zip(parts, lengths, strict=True)):
        object_list[i] = _unpacked(part, length)


def gather_object(
    obj: Any,
    object_gather_list: list[Any] | None = None,
    dst: int | None = None,
    group: Any = None,
    group_dst: int | None = None,
) -> None:
    """Gather all ranks' objects into a list on rank `dst`."""
    if (found := own_group(group)) is None:
        return
    root = _rank_in_group(found, dst, group_dst, 0)
    here = found.rank() == root
    if here and not object_gather_list:
        raise ValueError("Argument ``gather_list`` must be specified on destination rank.")
    if not here and object_gather_list:
        raise ValueError("Argument ``gather_list`` must NOT be specified on non-destination ranks.")
    packed = _packed(obj)
    lengths = _lengths(packed.numel(), group)
    parts = [_empty(max(lengths)) for _ in lengths] if here else None
    gather(_padded(packed, max(lengths)), parts, group=group, group_dst=root)
    if object_gather_list is not None and parts is not None:
        for i, (part, length) in enumerate(zip(parts, lengths, strict=True)):
            object_gather_list[i] = _unpacked(part, length)


def broadcast_object_list(
    object_list: list[Any],
    src: int | None = None,
    group: Any = None,
    device: Any = None,
    group_src: int | None = None,
) -> None:
    """Copy the objects in a list on rank `src` into that of every rank."""
    if (found := own_group(group)) is None:
        return
    root = _rank_in_group(found, src, group_src, 0)
    here = found.rank() == root
    packed = _packed(list(object_list)) if here else _empty(0)
    length = _number(packed.numel())
    broadcast(length, group=group, group_src=root)
    data = packed if here else _empty(int(length))
    broadcast(data, group=group, group_src=root)
    if not here:
        received = _unpacked(data, int(length))
        if len(received) != len(object_list):
            raise ValueError(
                f"broadcast_object_list: rank {found.ranks[root]} has {len(received)} objects, this "
                f"rank a list of {len(object_list)}"
            )
        object_list[:] = received


def scatter_object_list(
    scatter_object_output_list: list[Any],
    scatter_object_input_list: list[Any] | None = None,
    src: int | None = None,
    group: Any = None,
    group_src: int | None = None,
) -> None:
    """Give each rank its object of a list on rank `src`, as the first of a list of its own."""
    if not_in_group(group):
        return
    if not isinstance(scatter_object_output_list, list) or not scatter_object_output_list:
        raise ValueError(
            "Expected argument scatter_object_output_list to be a list of size at least 1."
        )
    found = _resolve(group)
    root = _rank_in_group(found, src, group_src, 0)
    here = found.rank() == root
    if here and scatter_object_input_list is None:
        raise ValueError("source rank must provide non-None scatter_object_input_list")
    packed = [_packed(value) for value in scatter_object_input_list or []] if here else []
    longest = _number(max((p.numel() for p in packed), default=0))
    broadcast(longest, group=group, group_src=root)
    data, length = _empty(int(longest)), _number(0)
    padded = [_padded(p, int(longest)) for p in packed] if here else None
    scatter(data, padded, group=group, group_src=root)
    scatter(length, [_number(p.numel()) for p in packed] or None, group=group, group_src=root)
    scatter_object_output_list[0] = _unpacked(data, int(length))


def send_object_list(
    object_list: list[Any],
    dst: int | None = None,
    group: Any = None,
    device: Any = None,
    group_dst: int | None = None,
    use_batch: bool = False,
) -> None:
    """Send the objects in a list to a rank."""
    if not_in_group(group):
        return
    packed = _packed(list(object_list))
    send(_number(packed.numel()), dst, group, group_dst=group_dst)
    send(packed, dst, group, group_dst=group_dst)


def recv_object_list(
    object_list: list[Any],
    src: int | None = None,
    group: Any = None,
    device: Any = None,
    group_src: int | None = None,
    use_batch: bool = False,
) -> int:
    """Receive objects into a list from a rank (None: from any), and return which rank it was."""
    if not_in_group(group):
        return -1
    length = _number(0)
    sender = recv(length, src, group, group_src=group_src)
    data = _empty(int(length))
    recv(data, sender, group)
    received = _unpacked(data, int(length))
    if len(received) != len(object_list):
        raise ValueError(
            f"recv_object_list: rank {sender} sent {len(received)} objects for a list of {len(object_list)}"
        )
    object_list[:] = received
    return sender
