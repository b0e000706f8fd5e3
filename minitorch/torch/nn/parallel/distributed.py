"""Data parallelism: each rank has the module and a part of the batch; gradients are averaged."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from ... import distributed as dist
from ...autograd.graph import modes
from ...distributed.flat import joined, spread, tensors_in
from ...tensor import Tensor
from ..modules.module import Module
from .buckets import Reducer


class DistributedDataParallel(Module):
    """A module whose ranks each compute a part of the batch, with the gradients of the whole.

    Rank 0's parameters and buffers are copied to the others at the start, and its buffers before each
    forward pass. In backward, gradients are averaged over the ranks, while others are still computed.

    Args:
        module: the module; it is the same on every rank
        broadcast_buffers: whether buffers are copied from rank 0 before each forward pass
        process_group: the ranks that take part; by default all
        bucket_cap_mb: how many megabytes of gradients are sent together
        find_unused_parameters: look, after each forward pass, for parameters that it did not use
    """

    def __init__(
        self,
        module: Module,
        device_ids: Any = None,
        output_device: Any = None,
        dim: int = 0,
        broadcast_buffers: bool = True,
        init_sync: bool = True,
        process_group: Any = None,
        bucket_cap_mb: float | None = None,
        find_unused_parameters: bool = False,
        check_reduction: bool = False,
        gradient_as_bucket_view: bool = False,
        static_graph: bool = False,
    ) -> None:
        super().__init__()
        named = [(n, p) for n, p in module.named_parameters() if p.requires_grad]
        if not named:
            raise RuntimeError(
                "DistributedDataParallel is not needed when a module doesn't have any parameters that "
                "require a gradient."
            )
        if device_ids is not None and len(device_ids) > 1:
            raise ValueError("device_ids can only be None or contain a single element.")
        self.module = module
        self.process_group = process_group or dist.group.WORLD
        self.device_ids, self.output_device, self.dim = device_ids, output_device, dim
        self.broadcast_buffers = broadcast_buffers
        self.find_unused_parameters = find_unused_parameters
        self.static_graph = static_graph
        self.require_backward_grad_sync = self.require_forward_param_sync = True
        names, parameters = [n for n, _ in named], [p for _, p in named]
        if init_sync:
            _check_same(parameters, self.process_group)
            self._copy_from_first([*module.parameters(), *module.buffers()])
        limit = int((25 if bucket_cap_mb is None else bucket_cap_mb) * (1 << 20))
        unused = find_unused_parameters or static_graph
        self.reducer = Reducer(parameters, names, self.process_group, limit, unused)

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        syncs = modes.grad and self.require_backward_grad_sync
        if syncs:
            self.reducer.check_finished()
        if self.require_forward_param_sync and self.broadcast_buffers:
            self._copy_from_first(list(self.module.buffers()))
        output = self.module(*inputs, **kwargs)
        self.reducer.active = False
        if syncs:
            self.require_forward_param_sync = True
            self.reducer.prepare(list(tensors_in(output)) if self.reducer.find_unused else [])
        elif modes.grad:
            self.require_forward_param_sync = False
        return output

    @contextmanager
    def no_sync(self) -> Iterator[None]:
        """Accumulate gradients on each rank alone; the next backward outside averages them."""
        before = self.require_backward_grad_sync
        self.require_backward_grad_sync = False
        try:
            yield
        finally:
            self.require_backward_grad_sync = before

    def register_comm_hook(self, state: Any, hook: Callable[[Any, Any], Any]) -> None:
        """Average a bucket by `hook(state, bucket)`, which returns a future of the averages."""
        if not callable(hook):
            raise TypeError("Communication hook must be callable.")
        self.reducer.hook = state, hook

    def _copy_from_first(self, tensors: Sequence[Tensor]) -> None:
        """Give all ranks the tensors of the first, those of one type in one message."""
        by_type: dict[Any, list[Tensor]] = {}
        for tensor in tensors:
            by_type.setdefault(tensor._array.dtype, []).append(tensor)
        for several in by_type.values():
            values = joined(several)
            dist.broadcast(values, group=self.process_group, group_src=0)
            if dist.get_rank(self.process_group) != 0:
                spread(values, several)


def _check_same(parameters: Sequence[Tensor], group: Any) -> None:
    """RuntimeError unless all ranks have parameters of the same shapes."""
    shapes = [list(p.shape) for p in parameters]
    others: list[Any] = [None] * dist.get_world_size(group)
    dist.all_gather_object(others, shapes, group)
    here = dist.get_rank(group)
    for rank, theirs in enumerate(others):
        if len(theirs) != len(shapes):
            raise RuntimeError(
                f"DDP expects same model across all ranks, but Rank {here} has {len(shapes)} params, "
                f"while rank {rank} has inconsistent {len(theirs)} params."
            )
        for i, (mine, other) in enumerate(zip(shapes, theirs, strict=True)):
            if mine != other:
                raise RuntimeError(
                    f"[{here}]: params[{i}] in this process with sizes {mine} appears not to match "
                    f"sizes of the same param in process {rank}: {other}."
                )
