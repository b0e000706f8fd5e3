"""Several tensors as one, so that they travel in one message."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..interpreters import exchange
from ..ops.creation import zeros_like
from ..ops.joining import cat
from ..ops.sparsity import sparse_coo_tensor
from ..tensor import Tensor, bump_version, wrap
from .collectives import all_reduce, broadcast
from .objects import all_gather_object
from .world import get_rank, get_world_size


def flatten(tensors: Sequence[Tensor]) -> Tensor:
    """A copy of tensors of one type and device, one after the other."""
    return wrap(np.concatenate([t._array.reshape(-1) for t in tensors]))


def unflatten(values: Tensor, tensors: Sequence[Tensor]) -> None:
    """Copy what `flatten` has made back into tensors."""
    start = 0
    for tensor in tensors:
        size = tensor._array.size
        part = values._array[start : start + size]
        tensor._array[...] = part.reshape(tensor._array.shape)
        bump_version(tensor)
        start += size


def used_by_any_rank(used: Sequence[bool], group: Any) -> list[bool]:
    """Of each of some things, whether a rank has used it."""
    counts = wrap(np.array(used, np.int32))
    all_reduce(counts, group=group)
    return [bool(count) for count in counts._array]


def sum_of_sparse(tensor: Tensor | None, like: Tensor, group: Any) -> Tensor:
    """The sum of all ranks' sparse tensors, of the shape of another; None: a rank has none."""
    own = zeros_like(like).to_sparse(1) if tensor is None else tensor.detach().coalesce()
    every: list[Any] = [None] * get_world_size(group)
    all_gather_object(every, (own.indices(), own.values()), group)
    indices, values = (cat(parts, dim) for parts, dim in zip(zip(*every, strict=True), (1, 0), strict=True))  # fmt: skip
    return sparse_coo_tensor(indices, values, like.shape).coalesce()


@exchange(0)
def copy_from(tensors: Sequence[Tensor], group: Any, source: int = 0) -> None:
    """Give all ranks the tensors of one, those of one type in one message."""
    by_type: dict[Any, list[Tensor]] = {}
    for tensor in tensors:
        by_type.setdefault(tensor._array.dtype, []).append(tensor)
    for several in by_type.values():
        values = flatten(several)
        broadcast(values, group=group, group_src=source)
        if get_rank(group) != source:
            unflatten(values, several)
