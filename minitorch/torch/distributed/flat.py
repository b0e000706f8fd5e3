"""Several tensors as one, so that they travel in one message."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..interpreters import exchange
from ..tensor import Tensor, bump_version, wrap
from .collectives import all_reduce, broadcast
from .world import get_rank


def joined(tensors: Sequence[Tensor]) -> Tensor:
    """A copy of tensors of one type and device, one after the other."""
    return wrap(np.concatenate([t._array.reshape(-1) for t in tensors]))


def spread(values: Tensor, tensors: Sequence[Tensor]) -> None:
    """Copy what `joined` has made back into tensors."""
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


@exchange(0)
def copy_from(tensors: Sequence[Tensor], group: Any, source: int = 0) -> None:
    """Give all ranks the tensors of one, those of one type in one message."""
    by_type: dict[Any, list[Tensor]] = {}
    for tensor in tensors:
        by_type.setdefault(tensor._array.dtype, []).append(tensor)
    for several in by_type.values():
        values = joined(several)
        broadcast(values, group=group, group_src=source)
        if get_rank(group) != source:
            spread(values, several)
