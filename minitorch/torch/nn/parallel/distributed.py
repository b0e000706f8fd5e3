"""Data parallelism: each rank has the module and a part of the batch; gradients are averaged."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from types import MethodType
from typing import Any

from ... import distributed as dist
from ...autograd.graph import modes
from ...compiler import compile
from ...distributed.algorithms.join import Join, Joinable, JoinHook, _JoinConfig
from ...distributed.flat import copy_from
from ...ops.creation import full
from ...tensor import Tensor
from ..modules.module import Module
from ..modules.sparse import Embedding, EmbeddingBag
from ..parameter import UninitializedParameter
from .buckets import Reducer


class DistributedDataParallel(Module, Joinable):
    """A module replicated on all ranks: each computes a part of the batch, and gradients are averaged.

    Rank 0's parameters and buffers are copied to the others at the start, and its buffers before each
    forward pass. Gradients are averaged over the ranks while backward still computes others.

    Args:
        module: the module; it is the same on every rank
        broadcast_buffers: whether buffers are copied from rank 0 before each forward pass
        process_group: the ranks that take part; by default all
        bucket_cap_mb: how many megabytes of gradients are sent together
        find_unused_parameters: look, after each forward pass, for parameters that it did not use
        gradient_as_bucket_view: whether `grad` is a view of the bucket's memory, which saves a copy
        static_graph: the same parameters are used in every iteration; those that are not are looked for, too
        device_mesh: the ranks that take part, as a mesh of one dimension
    """

    def __init__(
        self,
        module: Module,
        device_ids: Any = None,
        output_device: Any = None,
        dim: int = 0,
        broadcast_buffers: bool | None = None,
        init_sync: bool = True,
        process_group: Any = None,
        bucket_cap_mb: float | None = None,
        find_unused_parameters: bool = False,
        check_reduction: bool = False,
        gradient_as_bucket_view: bool = False,
        static_graph: bool = False,
        *,
        device_mesh: Any = None,
    ) -> None:
        super().__init__()
        self._join_config = _JoinConfig()
        if any(isinstance(p, UninitializedParameter) for p in module.parameters()):
            raise RuntimeError(
                "Modules with uninitialized parameters can't be used with `DistributedDataParallel`. "
                "Run a dummy forward pass to correctly initialize the modules"
            )
        self.module = module
        named = self._trained()
        if not named:
            raise RuntimeError(
                "DistributedDataParallel is not needed when a module doesn't have any parameter that "
                "requires a gradient."
            )
        self.device = next(iter(named.values())).device
        self.device_type = self.device.type
        if self.device_type == "cpu" and (device_ids or output_device is not None):
            raise ValueError(
                "DistributedDataParallel device_ids and output_device arguments only work with single-device/multiple-device "
                f"GPU modules or CPU modules, but got device_ids {device_ids}, output_device {output_device}, and module "
                f"parameters {{{self.device!r}}}."
            )
        if device_ids is not None and len(device_ids) > 1:
            raise ValueError("device_ids can only be None or contain a single element.")
        if process_group is not None and device_mesh is not None:
            raise RuntimeError("Cannot specify both process_group and device_mesh arguments.")
        self._compiled_module: Any = None  # the module that is called
        self.device_mesh = device_mesh
        chosen = process_group if device_mesh is None else device_mesh.get_group(0)
        self.process_group = chosen or dist.group.WORLD
        self.device_ids, self.output_device, self.dim = device_ids, output_device, dim
        self.broadcast_buffers = True if broadcast_buffers is None else broadcast_buffers
        self.find_unused_parameters = find_unused_parameters
        self.static_graph = static_graph
        self.gradient_as_bucket_view = gradient_as_bucket_view
        self.require_backward_grad_sync = self.require_forward_param_sync = True
        self._divide_by_initial_world_size = True
        if init_sync:
            _check_same(list(named.values()), self.process_group)
            copied = self._included([*module.named_parameters(), *module.named_buffers()])
            copy_from(list(copied.values()), self.process_group)
        self.bucket_bytes_cap = int((25 if bucket_cap_mb is None else bucket_cap_mb) * (1 << 20))
        self._make_reducer()

    def _included(self, named: Any) -> dict[str, Any]:
        """Those of some tensors with names that the module does not leave out."""
        ignored = getattr(self.module, "_ddp_params_and_buffers_to_ignore", ())
        return {name: tensor for name, tensor in named if name not in ignored}

    def _trained(self) -> dict[str, Any]:
        """The parameters whose gradients are averaged."""
        every = self._included(self.module.named_parameters())
        return {name: p for name, p in every.items() if p.requires_grad}

    def _make_reducer(self) -> None:
        named = self._trained()
        sparse = [m.weight for m in self.module.modules() if isinstance(m, (Embedding, EmbeddingBag)) and m.sparse]  # fmt: skip
        self.reducer = Reducer(
            list(named.values()), list(named), self.process_group, self.bucket_bytes_cap,
            self.find_unused_parameters or self.static_graph, self.gradient_as_bucket_view,
            [p for p in named.values() if any(p is each for each in sparse)],
        )  # fmt: skip

    def __getstate__(self) -> dict[str, Any]:
        if self.process_group is not dist.group.WORLD:
            raise RuntimeError(
                "DDP Pickling/Unpickling are only supported when using DDP with the default process group. That is, when "
                "you have called init_process_group and have not passed process_group argument to DDP constructor"
            )
        apart = ("process_group", "reducer", "device_mesh")
        return {name: value for name, value in self.__dict__.items() if name not in apart}

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        self.process_group, self.device_mesh = dist.group.WORLD, None
        self._make_reducer()

    def _set_static_graph(self) -> None:
        """The same parameters are used in every iteration, as `static_graph=True` says."""
        self.static_graph = True
        self.reducer.find_unused = True

    @staticmethod
    def _set_params_and_buffers_to_ignore_for_model(module: Any, params_and_buffers_to_ignore: Any) -> None:  # fmt: skip
        """Leave parameters and buffers of a module out, by their names, when it becomes parallel."""
        module._ddp_params_and_buffers_to_ignore = params_and_buffers_to_ignore

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        syncs = modes.grad and self.require_backward_grad_sync
        if syncs:
            self.reducer.check_finished()
        joining = self._join_config.enable and modes.grad
        if joining:
            self._count_ranks()
        if self.require_forward_param_sync and self.broadcast_buffers:
            buffers = list(self.module.buffers())
            if buffers:
                copy_from(buffers, self.process_group, self._last_rank(True) if joining else 0)
        if joining:
            self._anyone_syncs(syncs)
        output = (self._compiled_module or self.module)(*inputs, **kwargs)
        self.reducer.round = None
        if syncs:
            self.require_forward_param_sync = True
            self.reducer.prepare(output)
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

    def compile(self, *args: Any, **kwargs: Any) -> None:
        """Compile calls of the module from now on; the exchange between ranks stays eager."""
        module = self.module
        self._compiled_module = compile(MethodType(type(module).__call__, module), *args, **kwargs)

    def register_comm_hook(self, state: Any, hook: Callable[[Any, Any], Any]) -> None:
        """Average a bucket by `hook(state, bucket)`, which returns a future of the averages."""
        if not callable(hook):
            raise TypeError("Communication hook must be callable.")
        if self.reducer.hook is not None:
            raise RuntimeError(
                "register_comm_hook or register_builtin_comm_hook can only be called once."
            )
        self.reducer.hook = state, hook

    # --- Ranks with fewer inputs ----------------------------------------------------------

    def join(
        self,
        divide_by_initial_world_size: bool = True,
        enable: bool = True,
        throw_on_early_termination: bool = False,
    ) -> Join:
        """A context in which ranks may have different numbers of inputs.

        Args:
            divide_by_initial_world_size: whether averages are over all ranks, also those without inputs
            enable: False does nothing
            throw_on_early_termination: an error on all ranks as soon as one has no more inputs
        """
        return Join(
            [self],
            enable,
            throw_on_early_termination,
            divide_by_initial_world_size=divide_by_initial_world_size,
        )

    def join_hook(self, **kwargs: Any) -> JoinHook:
        """The hook that a rank without inputs runs while others train."""
        return _Shadow(self, kwargs.get("divide_by_initial_world_size", True))

    @property
    def join_device(self) -> Any:
        """The device of the module."""
        return self.reducer.parameters[0].device

    @property
    def join_process_group(self) -> Any:
        return self.process_group

    def _count_ranks(self) -> None:
        """Count the ranks with inputs; averages are over these, or over all."""
        work = Join.notify_join_context(self)
        if work is not None and not self._divide_by_initial_world_size:
            self.reducer.divisor = int(work.result()[0].item())
        elif work is not None:
            work.wait()

    def _last_rank(self, has_inputs: bool) -> int:
        """The last rank that has inputs."""
        rank = dist.get_rank(self.process_group)
        number = full((1,), rank if has_inputs else -1, device=self.join_device)
        dist.all_reduce(number, dist.ReduceOp.MAX, group=self.process_group)
        return int(number.item())

    def _anyone_syncs(self, own: bool) -> bool:
        """Whether the ranks with inputs average the gradients of this iteration."""
        number = full((1,), int(own), device=self.join_device)
        dist.all_reduce(number, group=self.process_group)
        return bool(number.item())


class _Shadow(JoinHook):
    """The join hook: matches the collectives of a DistributedDataParallel."""

    def __init__(self, parallel: DistributedDataParallel, divide_by_all: bool) -> None:
        self.parallel = parallel
        parallel._divide_by_initial_world_size = divide_by_all
        parallel.reducer.divisor = parallel.reducer.size

    def main_hook(self) -> None:
        """One forward and one backward of the others."""
        parallel = self.parallel
        if parallel.require_forward_param_sync and parallel.broadcast_buffers:
            buffers = list(parallel.module.buffers())
            if buffers:
                copy_from(buffers, parallel.process_group, parallel._last_rank(False))
        parallel.require_forward_param_sync = parallel._anyone_syncs(False)
        if parallel.require_forward_param_sync:
            parallel.reducer.take_part()

    def post_hook(self, is_last_joiner: bool) -> None:
        """Broadcast the module of a rank that had inputs to the end."""
        parallel = self.parallel
        last = parallel._last_rank(is_last_joiner)
        both = [*parallel.module.parameters(), *parallel.module.buffers()]
        copy_from(both, parallel.process_group, last)
        parallel.reducer.divisor = parallel.reducer.size
        parallel._divide_by_initial_world_size = True


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
