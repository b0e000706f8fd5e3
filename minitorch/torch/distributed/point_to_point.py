"""Messages between two ranks, with Torch's arguments, checks and errors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..tensor import Tensor
from .collectives import _check_tensor, _rank_in_group
from .world import _resolve, not_in_group, own_group


def _check_other(group: Any, rank: int | None, group_rank: int | None, kind: str) -> None:
    """ValueError if a rank that is given is this one: it would wait for itself."""
    if (rank, group_rank) == (None, None) or not_in_group(group):
        return
    found = _resolve(group)
    if _rank_in_group(found, rank, group_rank) == found.rank():
        raise ValueError(
            f"Invalid {kind} rank: {kind} rank should not be the same as the rank of the current process."
        )


def isend(
    tensor: Tensor,
    dst: int | None = None,
    group: Any = None,
    tag: int = 0,
    group_dst: int | None = None,
) -> Any:
    """Start to send a tensor to a rank, which may be this one."""
    _check_tensor(tensor, "tensor")
    if (found := own_group(group)) is None:
        return None
    peer = _rank_in_group(found, dst, group_dst)
    return found.send(tensor, peer, tag, True)


def irecv(
    tensor: Tensor,
    src: int | None = None,
    group: Any = None,
    tag: int = 0,
    group_src: int | None = None,
) -> Any:
    """Start to receive a tensor from a rank, which may be this one; None: from any."""
    _check_tensor(tensor, "tensor")
    if (found := own_group(group)) is None:
        return None
    anyone = src is None and group_src is None
    peer = None if anyone else _rank_in_group(found, src, group_src)
    return found.recv(tensor, peer, tag, True)


def send(
    tensor: Tensor,
    dst: int | None = None,
    group: Any = None,
    tag: int = 0,
    group_dst: int | None = None,
) -> None:
    """Send a tensor to a rank."""
    _check_other(group, dst, group_dst, "destination")
    work = isend(tensor, dst, group, tag, group_dst)
    if work is not None:
        work.wait()


def recv(
    tensor: Tensor,
    src: int | None = None,
    group: Any = None,
    tag: int = 0,
    group_src: int | None = None,
) -> int:
    """Receive a tensor from a rank (None: from any), and return which rank it came from."""
    _check_other(group, src, group_src, "source")
    work = irecv(tensor, src, group, tag, group_src)
    if work is None:
        return -1
    work.wait()
    return _resolve(group).ranks[work.source_rank()]


class P2POp:
    """A call of `isend` or `irecv` for `batch_isend_irecv`."""

    def __init__(
        self,
        op: Callable[..., Any],
        tensor: Tensor,
        peer: int | None = None,
        group: Any = None,
        tag: int = 0,
        group_peer: int | None = None,
    ) -> None:
        if op not in (isend, irecv):
            raise ValueError(
                "Invalid ``op``. Expected ``op`` to be of type ``torch.distributed.isend`` or "
                "``torch.distributed.irecv``."
            )
        _check_tensor(tensor, "tensor")
        self.op, self.tensor, self.group, self.tag = op, tensor, group, tag
        self.group_peer = _rank_in_group(_resolve(group), peer, group_peer)
        self.peer = _resolve(group).ranks[self.group_peer]

    def __repr__(self) -> str:
        found = _resolve(self.group)
        ends = (found.rank(), self.group_peer)
        source, target = ends if self.op is isend else ends[::-1]
        return (
            f"P2POp({self.op.__name__} pg={found.group_name}, group_src={source}, group_dst={target}, "
            f" {self.tensor.shape}, {self.tensor.dtype})"
        )


def batch_isend_irecv(p2p_op_list: Any) -> list[Any]:
    """Start several sends and receives."""
    if not isinstance(p2p_op_list, list) or not all(isinstance(op, P2POp) for op in p2p_op_list):
        raise ValueError(
            "Invalid ``p2p_op_list``. Each op is expected to to be of type ``torch.distributed.P2POp``."
        )
    if any(op.group is not p2p_op_list[0].group for op in p2p_op_list):
        raise ValueError("All ops need to use the same group.")
    if not p2p_op_list:
        return []
    with _resolve(p2p_op_list[0].group).batched():
        return [op.op(op.tensor, op.peer, op.group, op.tag) for op in p2p_op_list]
