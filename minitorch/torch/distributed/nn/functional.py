"""Collectives as operations: what goes forward from rank to rank comes back as a gradient.

Each derivative is a collective, too: the gradient of a sum over ranks is the sum of the ranks' gradients,
that of a broadcast is a reduction, that of gathering is scattering. So all ranks walk back together.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...ops.joining import cat, stack
from ...ops.record import Op, bind
from ...tensor import Array, Tensor, wrap
from .. import collectives
from ..reductions import ReduceOp
from ..world import get_group_rank, get_rank, get_world_size

SUM = ReduceOp.SUM


def _copied(array: Array) -> Tensor:
    return wrap(array.copy())


def _all_reduce(input: Array, op: ReduceOp, group: Any) -> Array:
    out = _copied(input)
    collectives.all_reduce(out, op, group)
    return out._array


def _broadcast(input: Array, src: int, group: Any) -> Array:
    out = _copied(input)
    collectives.broadcast(out, src, group)
    return out._array


def _reduce(input: Array, dst: int, op: ReduceOp, group: Any) -> Array:
    out = _copied(input)
    collectives.reduce(out, dst, op, group)
    return out._array


def _all_gather(input: Array, group: Any) -> Array:
    out = wrap(np.empty((get_world_size(group), *input.shape), input.dtype, like=input))
    collectives.all_gather_into_tensor(out, wrap(input), group)
    return out._array


def _reduce_scatter(input: Array, op: ReduceOp, group: Any) -> Array:
    out = wrap(np.empty(input.shape[1:], input.dtype, like=input))
    collectives.reduce_scatter_tensor(out, wrap(input), op, group)
    return out._array


def _gather(input: Array, dst: int, group: Any) -> Array:
    out = np.zeros((get_world_size(group), *input.shape), input.dtype, like=input)
    parts = _rows(out) if _is_here(dst, group) else None
    collectives.gather(wrap(input), parts, dst, group)
    return out


def _scatter(input: Array, src: int, group: Any) -> Array:
    out = wrap(np.empty(input.shape[1:], input.dtype, like=input))
    parts = _rows(input) if _is_here(src, group) else None
    collectives.scatter(out, parts, src, group)
    return out._array


def _all_to_all(input: Array, received: Any, sent: Any, group: Any) -> Array:
    rows = input.shape[0] if received is None else sum(received)
    out = wrap(np.empty((rows, *input.shape[1:]), input.dtype, like=input))
    collectives.all_to_all_single(out, wrap(input), received, sent, group)
    return out._array


def _rows(array: Array) -> list[Tensor]:
    """The parts of an array along its first dimension."""
    return [wrap(array[i : i + 1].reshape(array.shape[1:])) for i in range(len(array))]


def _is_here(rank: int, group: Any) -> bool:
    return get_group_rank(group, rank) == get_rank(group)


def _reduced_for(g: Any, src: int, group: Any) -> Any:
    """The gradient of a broadcast: all of them, where the tensor came from."""
    total = bind(REDUCE, (g,), {"dst": src, "op": SUM, "group": group})
    return total if _is_here(src, group) else total * 0


def _collective(name: str, compute: Any, gradient: Any) -> Op:
    """A record of a collective. It has one form on all devices: what failed is not tried again on the CPU."""
    return Op(f"distributed.{name}", ("input",), compute, {"input": gradient}, crosses=True)


ALL_REDUCE = _collective(
    "all_reduce", _all_reduce,
    lambda g, op, group: bind(ALL_REDUCE, (g,), {"op": op, "group": group}),
)  # fmt: skip
BROADCAST = _collective("broadcast", _broadcast, _reduced_for)
REDUCE = _collective(
    "reduce", _reduce,
    lambda g, dst, op, group: bind(BROADCAST, (g,), {"src": dst, "group": group}),
)  # fmt: skip
ALL_GATHER = _collective(
    "all_gather", _all_gather,
    lambda g, group: bind(REDUCE_SCATTER, (g,), {"op": SUM, "group": group}),
)  # fmt: skip
REDUCE_SCATTER = _collective(
    "reduce_scatter", _reduce_scatter,
    lambda g, op, group: bind(ALL_GATHER, (g,), {"group": group}),
)  # fmt: skip
GATHER = _collective(
    "gather", _gather, lambda g, dst, group: bind(SCATTER, (g,), {"src": dst, "group": group})
)
SCATTER = _collective(
    "scatter", _scatter, lambda g, src, group: bind(GATHER, (g,), {"dst": src, "group": group})
)
ALL_TO_ALL = _collective(
    "all_to_all", _all_to_all,
    lambda g, received, sent, group:
        bind(ALL_TO_ALL, (g,), {"received": sent, "sent": received, "group": group}),
)  # fmt: skip


# --- Functions --------------------------------------------------------------------------------


def all_reduce(tensor: Tensor, op: ReduceOp = SUM, group: Any = None) -> Tensor:
    """The reduction of all ranks' tensors."""
    return bind(ALL_REDUCE, (tensor,), {"op": op, "group": group})


def broadcast(tensor: Tensor, src: int, group: Any = None) -> Tensor:
    """The tensor of rank `src`."""
    return bind(BROADCAST, (tensor,), {"src": src, "group": group})


def reduce(tensor: Tensor, dst: int, op: ReduceOp = SUM, group: Any = None) -> Tensor:
    """The reduction of all ranks' tensors on rank `dst`; on the others, their own."""
    return bind(REDUCE, (tensor,), {"dst": dst, "op": op, "group": group})


def all_gather(tensor: Tensor, group: Any = None) -> tuple[Tensor, ...]:
    """All ranks' tensors."""
    return tuple(bind(ALL_GATHER, (tensor,), {"group": group}).unbind())


def gather(tensor: Tensor, dst: int = 0, group: Any = None) -> tuple[Tensor, ...]:
    """All ranks' tensors on rank `dst`; zeros on the others."""
    return tuple(bind(GATHER, (tensor,), {"dst": dst, "group": group}).unbind())


def scatter(tensors: Sequence[Tensor], src: int = 0, group: Any = None) -> Tensor:
    """This rank's tensor of a list on rank `src`."""
    return bind(SCATTER, (stack(list(tensors)),), {"src": src, "group": group})


def reduce_scatter(
    output: Tensor, input_list: Sequence[Tensor], op: ReduceOp = SUM, group: Any = None
) -> Tensor:
    """The reduction of this rank's tensors in all ranks' lists."""
    return bind(REDUCE_SCATTER, (stack(list(input_list)),), {"op": op, "group": group})


def all_to_all_single(
    output: Tensor,
    input: Tensor,
    output_split_sizes: Sequence[int] | None = None,
    input_split_sizes: Sequence[int] | None = None,
    group: Any = None,
) -> Tensor:
    """A part of the first dimension to each rank, and one from each."""
    params = {"received": output_split_sizes, "sent": input_split_sizes, "group": group}
    return bind(ALL_TO_ALL, (input,), params)


def all_to_all(
    output_tensor_list: Sequence[Tensor], input_tensor_list: Sequence[Tensor], group: Any = None
) -> tuple[Tensor, ...]:
    """A tensor to each rank, and one from each."""
    received = [t.numel() for t in output_tensor_list]
    sent = [t.numel() for t in input_tensor_list]
    flat = cat([t.reshape(-1) for t in input_tensor_list])
    params = {"received": received, "sent": sent, "group": group}
    parts = bind(ALL_TO_ALL, (flat,), params).split(received)
    return tuple(p.reshape(t.shape) for p, t in zip(parts, output_tensor_list, strict=True))
