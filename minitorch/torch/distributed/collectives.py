"""Collectives on tensors, with Torch's arguments, checks and errors.

Ranks in arguments are those of the whole program; `group_src` and `group_dst` are those of the
group. With `async_op=True` a collective is started and a `Work` returned; otherwise it is waited for.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from datetime import timedelta
from operator import index
from typing import Any

from ..tensor import Tensor
from . import reductions
from .process_group import ProcessGroup
from .reductions import ReduceOp
from .work import Work
from .world import _resolve, default_group, get_group_rank, not_in_group, own_group

SUM = ReduceOp.SUM
_make_nccl_premul_sum = reductions.PremulSum


# --- Arguments --------------------------------------------------------------------------------


def _check_tensor(value: Any, name: str) -> None:
    if not isinstance(value, Tensor):
        raise TypeError(
            f"Invalid function argument. Expected parameter `{name}` of type torch.Tensor\n"
            f"             but got {type(value)} instead."
        )


def _check_tensors(values: Any, name: str) -> None:
    expected = f"Invalid function argument. Expected parameter `{name}` of type List[torch.Tensor]"
    if not isinstance(values, (list, tuple)):
        raise TypeError(f"{expected}\n             but got {type(values)} instead.")
    if not all(isinstance(value, Tensor) for value in values):
        kinds = [type(value) for value in values]
        raise TypeError(
            f"{expected}\n             but got {type(values)} with elements of type {kinds}."
        )


def _check_same_type(*tensors: Tensor, error: type[Exception] = ValueError) -> None:
    for tensor in tensors[1:]:
        if tensor.dtype is not tensors[0].dtype:
            raise error(
                "Invalid usage of tensors with different dtypes"
                f"Found {tensors[0].dtype} and  {tensor.dtype}"
            )


def _check_sizes(name: str, expected: int, tensors: Sequence[Tensor], like: Tensor) -> None:
    """RuntimeError unless there are so many tensors, each of the shape of another."""
    _check_count(name, expected, tensors)
    for tensor in tensors:
        if tensor.shape != like.shape:
            raise RuntimeError(
                f"{name}: invalid tensor size {tuple(tensor.shape)} (expected {tuple(like.shape)})"
            )


def _check_count(name: str, expected: int, tensors: Sequence[Tensor]) -> None:
    if len(tensors) != expected:
        raise RuntimeError(
            f"{name}: expected {expected} tensors, one for each rank, got {len(tensors)}"
        )


def _rank_in_group(
    group: ProcessGroup, rank: int | None, group_rank: int | None, default: int | None = None
) -> int:
    """A rank in the group, however it was given; RuntimeError where it has no such rank."""
    if group_rank is not None and rank is not None:
        raise ValueError("Can't specify both group_rank and global_rank")
    given = rank if group_rank is None else group_rank
    if given is None:
        if default is None:
            raise ValueError("Must specify global_rank or group_rank")
        return default
    found = index(given)
    if rank is not None and group is not default_group():
        return get_group_rank(group, found)
    if not 0 <= found < group.size():
        raise RuntimeError(f"invalid rank: {found}; the group has ranks 0 to {group.size() - 1}")
    return found


class _Coalescing(threading.local):
    works: list[Work] | None = None  # where collectives that belong together are collected


coalescing = _Coalescing()


def _ended(work: Work, async_op: bool) -> Work | None:
    """A work that the program waits for, or None after it was waited for."""
    if coalescing.works is not None:
        coalescing.works.append(work)
        return work
    if async_op:
        return work
    work.wait()
    return None


# --- Reductions -------------------------------------------------------------------------------


def _premultiplied(op: Any, group: ProcessGroup, tensors: Any) -> tuple[Any, Any]:
    """SUM and tensors times a factor, in the place of a sum with a factor."""
    if not isinstance(op, reductions.PremulSum):
        return op, tensors
    if group.backend == "gloo":
        raise RuntimeError("Cannot use ReduceOp.PREMUL_SUM with Gloo")
    return SUM, [tensor.detach() * op.factor for tensor in tensors]


def all_reduce(tensor: Tensor, op: Any = SUM, group: Any = None, async_op: bool = False) -> Any:
    """Reduce all ranks' tensors; each rank's becomes the result."""
    _check_tensor(tensor, "tensor")
    if (found := own_group(group)) is None:
        return None
    op, (own,) = _premultiplied(op, found, [tensor])
    reductions.check(op, "all_reduce", tensor.dtype)
    if own is not tensor:
        tensor.detach().copy_(own)
    return _ended(found.allreduce(tensor, op, async_op), async_op)


def reduce(
    tensor: Tensor,
    dst: int | None = None,
    op: Any = SUM,
    group: Any = None,
    async_op: bool = False,
    group_dst: int | None = None,
) -> Any:
    """Reduce all ranks' tensors; that of rank `dst` becomes the result."""
    _check_tensor(tensor, "tensor")
    if (found := own_group(group)) is None:
        return None
    root = _rank_in_group(found, dst, group_dst)
    op, (own,) = _premultiplied(op, found, [tensor])
    reductions.check(op, "reduce", tensor.dtype)
    if own is not tensor and found.rank() == root:
        own = tensor.detach().copy_(own)
    return _ended(found.reduce(own, root, op, async_op), async_op)


def reduce_scatter(
    output: Tensor, input_list: Any, op: Any = SUM, group: Any = None, async_op: bool = False
) -> Any:
    """Reduce lists of tensors, one for each rank, which gets the result of its own."""
    _check_tensor(output, "output")
    _check_tensors(input_list, "input_list")
    _check_same_type(*input_list, output)
    if (found := own_group(group)) is None:
        return None
    op, input_list = _premultiplied(op, found, input_list)
    reductions.check(op, "reduce_scatter", output.dtype)
    _check_sizes("reduce_scatter", found.size(), input_list, output)
    return _ended(found.reduce_scatter(output, input_list, op, async_op), async_op)


def reduce_scatter_tensor(
    output: Tensor, input: Tensor, op: Any = SUM, group: Any = None, async_op: bool = False
) -> Any:
    """Reduce a tensor that has a part for each rank, which gets the result of its own."""
    _check_tensor(output, "output")
    _check_tensor(input, "input")
    _check_same_type(output, input, error=RuntimeError)
    if (found := own_group(group)) is None:
        return None
    op, inputs = _premultiplied(op, found, [input])
    reductions.check(op, "reduce_scatter_tensor", output.dtype)
    if input.numel() != output.numel() * found.size():
        raise RuntimeError(
            "input tensor must be the same size as output size times world size: "
            f"{input.numel()} is not {output.numel()} times {found.size()}"
        )
    work = found.reduce_scatter(output, inputs, op, async_op, "reduce_scatter_tensor")
    return _ended(work, async_op)


def all_reduce_coalesced(
    tensors: Any, op: Any = SUM, group: Any = None, async_op: bool = False
) -> Any:
    """Reduce several tensors, each with those of the other ranks."""
    given = [tensors] if isinstance(tensors, Tensor) else tensors
    _check_tensors(given, "tensors")
    if not_in_group(group):
        return None
    works = [all_reduce(tensor, op, group, async_op=True) for tensor in given]
    return _ended(_together(works, _resolve(group)), async_op)


def _together(works: Sequence[Work], group: ProcessGroup) -> Work:
    """Several works as one: it is over when the last is."""
    joint = Work("several collectives", [], group.watch, group.timeout)
    joint._finish = lambda: [work.wait() for work in works]
    return joint


# --- Moving tensors ---------------------------------------------------------------------------


def broadcast(
    tensor: Tensor,
    src: int | None = None,
    group: Any = None,
    async_op: bool = False,
    group_src: int | None = None,
) -> Any:
    """Copy the tensor of rank `src` into that of every rank."""
    _check_tensor(tensor, "tensor")
    if (found := own_group(group)) is None:
        return None
    root = _rank_in_group(found, src, group_src)
    return _ended(found.broadcast(tensor, root, async_op), async_op)


def all_gather(tensor_list: Any, tensor: Tensor, group: Any = None, async_op: bool = False) -> Any:
    """Gather all ranks' tensors into a list on every rank."""
    _check_tensors(tensor_list, "tensor_list")
    _check_tensor(tensor, "tensor")
    _check_same_type(*tensor_list, tensor)
    if (found := own_group(group)) is None:
        return None
    _check_sizes("all_gather", found.size(), tensor_list, tensor)
    return _ended(found.allgather(tensor_list, tensor, async_op), async_op)


def all_gather_into_tensor(
    output_tensor: Tensor, input_tensor: Tensor, group: Any = None, async_op: bool = False
) -> Any:
    """Gather all ranks' tensors into one tensor on every rank."""
    _check_tensor(input_tensor, "input_tensor")
    _check_tensor(output_tensor, "output_tensor")
    _check_same_type(output_tensor, input_tensor, error=RuntimeError)
    if (found := own_group(group)) is None:
        return None
    if output_tensor.numel() != input_tensor.numel() * found.size():
        raise RuntimeError(
            "output tensor size must be equal to world_size times input tensor size: "
            f"{output_tensor.numel()} is not {found.size()} times {input_tensor.numel()}"
        )
    work = found.allgather([output_tensor], input_tensor, async_op, "all_gather_into_tensor")
    return _ended(work, async_op)


def gather(
    tensor: Tensor,
    gather_list: Any = None,
    dst: int | None = None,
    group: Any = None,
    async_op: bool = False,
    group_dst: int | None = None,
) -> Any:
    """Gather all ranks' tensors into a list on rank `dst`."""
    rooted = _list_at_root("gather", tensor, gather_list, group, (dst, group_dst), "destination")
    if rooted is None:
        return None
    found, root, own = rooted
    return _ended(found.gather(own, tensor, root, async_op), async_op)


def scatter(
    tensor: Tensor,
    scatter_list: Any = None,
    src: int | None = None,
    group: Any = None,
    async_op: bool = False,
    group_src: int | None = None,
) -> Any:
    """Give each rank its tensor of a list on rank `src`."""
    rooted = _list_at_root("scatter", tensor, scatter_list, group, (src, group_src), "source")
    if rooted is None:
        return None
    found, root, own = rooted
    return _ended(found.scatter(tensor, own, root, async_op), async_op)


def _list_at_root(
    name: str,
    tensor: Any,
    tensors: Any,
    group: Any,
    roots: tuple[int | None, int | None],
    where: str,
) -> tuple[Any, int, Any] | None:
    """The group, the rank in it that has a list of all ranks' tensors, and that list, there; None outside the group.

    Args:
        name: of the collective
        tensor: this rank's
        tensors: the list that was given
        group: the group that was given
        roots: the rank of all, or in the group, that was given
        where: what that rank is called
    """
    _check_tensor(tensor, "tensor")
    if tensors:
        _check_tensors(tensors, f"{name}_list")
        _check_same_type(*tensors, tensor)
    if (found := own_group(group)) is None:
        return None
    root = _rank_in_group(found, *roots, 0)
    here = found.rank() == root
    if here and not tensors:
        raise ValueError(f"Argument ``{name}_list`` must be specified on {where} rank.")
    if not here and tensors:
        raise ValueError(f"Argument ``{name}_list`` must NOT be specified on non-{where} ranks.")
    if here:
        _check_sizes(name, found.size(), tensors, tensor)
    return found, root, tensors if here else None


def all_to_all(
    output_tensor_list: Any, input_tensor_list: Any, group: Any = None, async_op: bool = False
) -> Any:
    """Send a tensor to each rank, and get one from each."""
    _check_tensors(output_tensor_list, "output_tensor_list")
    _check_tensors(input_tensor_list, "input_tensor_list")
    _check_same_type(*input_tensor_list, *output_tensor_list)
    if (found := own_group(group)) is None:
        return None
    for tensors in (output_tensor_list, input_tensor_list):
        _check_count("all_to_all", found.size(), tensors)
    return _ended(found.alltoall(output_tensor_list, input_tensor_list, async_op), async_op)


def all_to_all_single(
    output: Tensor,
    input: Tensor,
    output_split_sizes: Sequence[int] | None = None,
    input_split_sizes: Sequence[int] | None = None,
    group: Any = None,
    async_op: bool = False,
) -> Any:
    """Send a part of the first dimension to each rank, and get one from each."""
    _check_tensor(output, "output")
    _check_tensor(input, "input")
    _check_same_type(output, input)
    if (found := own_group(group)) is None:
        return None
    received = _parts(output, output_split_sizes, found.size())
    sent = _parts(input, input_split_sizes, found.size())
    return _ended(found.alltoall(received, sent, async_op, "all_to_all_single"), async_op)


def _parts(tensor: Tensor, sizes: Sequence[int] | None, count: int) -> list[Tensor]:
    """A tensor in parts along its first dimension, one for each rank: views of it."""
    length = tensor.shape[0] if tensor.ndim else 1
    if not sizes:
        if length % count != 0:
            raise RuntimeError("Tensor's dim 0 does not divide equally across group size")
        sizes = [length // count] * count
    if len(sizes) != count:
        raise RuntimeError("Number of tensor splits not equal to group size")
    if sum(sizes) != length:
        raise RuntimeError("Split sizes doesn't match total dim 0 size")
    return list(tensor.detach().split(list(sizes)))


# --- Waiting for all --------------------------------------------------------------------------


def barrier(
    group: Any = None,
    async_op: bool = False,
    device_ids: Any = None,
    timeout: timedelta | None = None,
) -> Any:
    """Wait until all ranks are here."""
    if (found := own_group(group)) is None:
        return None
    work = found.barrier(async_op)
    if async_op:
        return work
    work.wait(timeout)
    return None


def monitored_barrier(
    group: Any = None, timeout: timedelta | None = None, wait_all_ranks: bool = False
) -> None:
    """Wait until all ranks are here; the error of a timeout names those that are not."""
    barrier(group, timeout=timeout or default_group().timeout)
