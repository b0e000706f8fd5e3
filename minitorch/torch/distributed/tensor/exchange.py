"""From one placement to another, as records with derivatives: gather, take a part, reduce.

A gradient lies on the ranks as its tensor does. So the derivative of gathering is taking a part, and that of
reducing terms is to hand the gradient, which all ranks have, to each.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...ops.record import Op, bind
from ...tensor import Array, Tensor, wrap
from .. import collectives
from ..memory import new_memory
from ..reductions import ReduceOp
from ..world import get_rank, get_world_size
from .placements import Partial, Placement, Shard, part_of

_REDUCTIONS = {
    "sum": ReduceOp.SUM, "avg": ReduceOp.AVG, "product": ReduceOp.PRODUCT, "min": ReduceOp.MIN, "max": ReduceOp.MAX
}  # fmt: skip


def gather_rows(rows: Array, length: int, group: Any) -> Array:
    """All ranks' rows of an array that has `length` of them."""
    ranks, row = get_world_size(group), rows.shape[1:]
    size = int(np.prod(row, dtype=np.int64))
    each = -(-length // ranks) * size
    mine = np.ascontiguousarray(rows).reshape(-1)
    if mine.size < each:  # all ranks give equally much
        mine = np.concatenate([mine, np.zeros_like(mine, shape=(each - mine.size,))])
    gathered = wrap(new_memory(ranks * each, rows.dtype, rows))
    collectives.all_gather_into_tensor(gathered, wrap(mine), group)
    return gathered._array[: length * size].reshape(length, *row)


def _gather(input: Array, dim: int, length: int, group: Any) -> Array:
    return np.moveaxis(gather_rows(np.moveaxis(input, dim, 0), length, group), 0, dim)


def _part(input: Array, dim: int, group: Any) -> Array:
    first, last = part_of(get_rank(group), get_world_size(group), input.shape[dim])
    return np.moveaxis(np.moveaxis(input, dim, 0)[first:last], 0, dim).copy()


def _reduce(input: Array, how: str, group: Any) -> Array:
    out = wrap(input.copy())
    collectives.all_reduce(out, _REDUCTIONS[how], group)
    return out._array


def _record(name: str, compute: Any, gradient: Any) -> Op:
    return Op(f"distributed.tensor.{name}", ("input",), compute, {"input": gradient}, crosses=True)


GATHER = _record(
    "gather", _gather, lambda g, dim, group: bind(PART, (g,), {"dim": dim, "group": group})
)
PART = _record(
    "part", _part,
    lambda g, dim, group, shapes: bind(GATHER, (g,), {"dim": dim, "length": shapes[0][dim], "group": group}),
)  # fmt: skip
REDUCE = _record("reduce", _reduce, lambda g: g)
REDUCE_GRADIENT = _record(
    "reduce_gradient", lambda input, group: input.copy(),
    lambda g, group: bind(REDUCE, (g,), {"how": "sum", "group": group}),
)  # fmt: skip
"""The same tensor, whose gradient is the sum of the ranks': of a whole tensor that each rank uses for another part."""
ALIAS = _record("alias", lambda input: input, lambda g: g)


def lengths(shape: tuple[int, ...], mesh: Any, placements: Any) -> list[int | None]:
    """For each dimension of a mesh along which a tensor is in parts: how long it was before, here."""
    here, found = list(shape), []
    for axis, placement in enumerate(placements):
        found.append(None)
        if isinstance(placement, Shard):
            found[-1] = here[placement.dim]
            first, last = part_of(mesh.get_local_rank(axis), mesh.size(axis), here[placement.dim])
            here[placement.dim] = last - first
    return found


def to_whole(local: Tensor, shape: tuple[int, ...], mesh: Any, placements: Any) -> Tensor:
    """The whole tensor from this rank's."""
    before = lengths(shape, mesh, placements)
    for axis in reversed(range(mesh.ndim)):
        placement, group = placements[axis], mesh.get_group(axis)
        if isinstance(placement, Shard):
            params = {"dim": placement.dim, "length": before[axis], "group": group}
            local = bind(GATHER, (local,), params)
        elif isinstance(placement, Partial):
            local = bind(REDUCE, (local,), {"how": placement.reduce_op, "group": group})
    return local


def from_whole(whole: Tensor, mesh: Any, placements: tuple[Placement, ...]) -> Tensor:
    """This rank's tensor of a whole one."""
    for axis, placement in enumerate(placements):
        if isinstance(placement, Shard):
            params = {"dim": placement.dim, "group": mesh.get_group(axis)}
            whole = bind(PART, (whole,), params)
        elif isinstance(placement, Partial) and placement.reduce_op != "sum":
            raise NotImplementedError(f"no tensor is placed as {placement} from a whole one")
        elif isinstance(placement, Partial) and mesh.get_local_rank(axis):
            whole = whole * 0  # one rank's term is the whole
    return whole
