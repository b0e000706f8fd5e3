"""Tensors that are spread over ranks: each has some rows of them.

A `DTensor` computes as this rank's part: optimizers step on it as on any tensor. `full_tensor` gathers all parts.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..nn.parameter import Parameter
from ..ops.joining import stack
from ..ops.linalg.norms import vector_norm
from ..overriding import disabled
from ..size import Size
from ..tensor import Tensor, counter_of, wrap
from . import collectives
from .memory import new_memory
from .reduce_op import ReduceOp
from .world import get_rank, get_world_size


class Shard:
    """Says that each rank has a part along a dimension."""

    def __init__(self, dim: int = 0) -> None:
        self.dim = dim

    def __repr__(self) -> str:
        return f"Shard(dim={self.dim})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Shard) and other.dim == self.dim

    def __hash__(self) -> int:
        return hash(("Shard", self.dim))

    def is_shard(self, dim: int | None = None) -> bool:
        """Whether ranks have parts, of a dimension."""
        return dim is None or dim == self.dim


class Replicate:
    """Says that each rank has the whole."""

    def __repr__(self) -> str:
        return "Replicate()"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Replicate)

    def __hash__(self) -> int:
        return hash("Replicate")

    def is_shard(self, dim: int | None = None) -> bool:
        """No rank has a part."""
        return False


def rows_of(rank: int, ranks: int, rows: int) -> tuple[int, int]:
    """The rows of a tensor that a rank has: as `torch.chunk` divides them, the last ranks may have fewer or none."""
    each = -(-rows // ranks)
    return min(rank * each, rows), min((rank + 1) * each, rows)


class DTensor(Tensor):
    """This rank's rows of a tensor that is spread over a group.

    Attributes:
        whole_shape: the shape of the whole tensor; `shape` is that of this rank's part
        group: the ranks that have it
    """

    __torch_function__ = disabled
    whole_shape: Size
    group: Any

    @property
    def placements(self) -> tuple[Shard]:
        """How it is spread: by rows."""
        return (Shard(0),)

    @property
    def first_row(self) -> int:
        """Where this rank's rows begin."""
        return rows_of(get_rank(self.group), get_world_size(self.group), self.whole_shape[0])[0]

    def to_local(self) -> Tensor:
        """This rank's part, as a plain tensor over the same memory."""
        local = wrap(self._array)
        local._counter = counter_of(self)
        return local

    def detach(self) -> DTensor:
        """This rank's part over the same memory, outside the graph; it is still known as a part."""
        made = as_shard(self._array, self.whole_shape, self.group)
        made._counter = counter_of(self)
        return made

    def full_tensor(self) -> Tensor:
        """The whole tensor, gathered from all ranks. All of them call this."""
        return gather_rows(self._array, self.whole_shape, self.group)


class ShardedParameter(DTensor, Parameter):
    """A parameter that is spread over a group."""

    __torch_function__ = disabled


def shard(tensor: Tensor, group: Any, kind: type[Any] = DTensor) -> Any:
    """This rank's rows of a tensor that all ranks have, in memory of their own."""
    first, last = rows_of(get_rank(group), get_world_size(group), tensor.shape[0])
    return as_shard(tensor._array[first:last].copy(), tensor.shape, group, kind)


def as_shard(rows: Any, whole_shape: Sequence[int], group: Any, kind: type[Any] = DTensor) -> Any:
    """An array as this rank's rows of a tensor."""
    made = object.__new__(kind)
    made._array = rows
    made.whole_shape, made.group = Size(whole_shape), group
    return made


def gather_rows(rows: Any, whole_shape: Sequence[int], group: Any) -> Tensor:
    """A whole tensor from all ranks' rows of it."""
    ranks = get_world_size(group)
    each = -(-whole_shape[0] // ranks) * int(np.prod(whole_shape[1:], dtype=np.int64))
    mine = rows.reshape(-1)
    if mine.size < each:  # all ranks give equally much
        mine = np.concatenate([mine, np.zeros_like(mine, shape=(each - mine.size,))])
    gathered = wrap(new_memory(ranks * each, rows.dtype, rows))
    collectives.all_gather_into_tensor(gathered, wrap(mine), group)
    count = int(np.prod(whole_shape, dtype=np.int64))
    return wrap(gathered._array[:count].reshape(tuple(whole_shape)))


def norm_over_ranks(norms: dict[Any, Tensor], order: float) -> Tensor:
    """The norm of all from the norms of each group's parts; the key None stands for tensors that are whole here."""
    totals = []
    for group, norm in norms.items():
        if group is None:
            totals.append(norm)
            continue
        if order == float("inf"):
            total = norm.clone()
            collectives.all_reduce(total, ReduceOp.MAX, group)
            totals.append(total)
        else:
            total = norm**order
            collectives.all_reduce(total, ReduceOp.SUM, group)
            totals.append(total ** (1 / order))
    return vector_norm(stack(totals), order)
