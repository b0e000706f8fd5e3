"""`fully_shard(module)`: its parameters are sharded over the ranks, and whole only while it computes.

Call it for the parts of a model first (each block of a GPT), then for the model: what a part has is gathered with that part
alone, so that a rank never has all of the model in memory.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import wraps
from typing import Any

from ...autograd.graph import modes
from ...nn.modules.container import ModuleDict, ModuleList
from ...nn.modules.module import Module
from ...nn.parallel.buckets import tensors_in
from ...tensor import Tensor
from ..tensor.dtensor import mesh_of
from .parameters import ParameterGroup, Places, ShardedParameter


@dataclass(frozen=True)
class MixedPrecisionPolicy:
    """The types of computation.

    Attributes:
        param_dtype: of whole parameters and inputs; None: as they are
        reduce_dtype: in which gradients are averaged; None: as they come
        output_dtype: of outputs; None: as they come
        cast_forward_inputs: whether inputs are cast to param_dtype
    """

    param_dtype: Any = None
    reduce_dtype: Any = None
    output_dtype: Any = None
    cast_forward_inputs: bool = True


@dataclass
class OffloadPolicy:
    """Where sharded parameters are between computations: on their device."""


@dataclass
class CPUOffloadPolicy(OffloadPolicy):
    """In main memory, which is where those of the CPU are."""

    pin_memory: bool = True


class UnshardHandle:
    """What `unshard` gives: the parameters are gathered when it returns."""

    def wait(self) -> None:
        """Wait until they are."""


class FSDPModule:
    """What `fully_shard` adds to a module's class."""

    _sharded: ParameterGroup
    _reshard_after_forward: bool

    def unshard(self, async_op: bool = False) -> UnshardHandle | None:
        """Gather the whole parameters."""
        self._sharded.gather()
        return UnshardHandle() if async_op else None

    def reshard(self) -> None:
        """Give the memory of the whole parameters back."""
        self._sharded.release()

    def set_requires_gradient_sync(self, requires_gradient_sync: bool, *, recurse: bool = True) -> None:  # fmt: skip
        """Whether backward averages gradients over the ranks; without, each rank accumulates its own."""
        for each in self._sharded_modules(recurse):
            each._sharded.syncs = requires_gradient_sync

    def set_reshard_after_forward(self, reshard_after_forward: bool, recurse: bool = True) -> None:
        """Whether whole parameters are given back between forward and backward."""
        for each in self._sharded_modules(recurse):
            each._reshard_after_forward = reshard_after_forward

    def set_gradient_divide_factor(self, factor: float) -> None:
        """What the sum of the ranks' gradients is divided by, in the place of their number."""
        self._sharded.divisor = factor

    def _unneeded(self, *args: Any, **kwargs: Any) -> None:
        """Accepted without effect: it changes when ranks exchange parameters, or how long these are kept, but no number."""

    set_modules_to_forward_prefetch = set_modules_to_backward_prefetch = _unneeded
    set_requires_all_reduce = set_is_last_backward = set_reshard_after_backward = _unneeded
    set_unshard_in_backward = set_post_optim_event = _unneeded

    def _sharded_modules(self, recurse: bool) -> Iterator[FSDPModule]:
        modules: Any = self.modules() if recurse else [self]  # type: ignore[attr-defined]
        return (each for each in modules if isinstance(each, FSDPModule))


def fully_shard(
    module: Any,
    *,
    mesh: Any = None,
    reshard_after_forward: bool | int | None = None,
    shard_placement_fn: Any = None,
    mp_policy: MixedPrecisionPolicy | None = None,
    offload_policy: Any = None,
    ignored_params: set[Tensor] | None = None,
) -> Any:
    """Shard a module's parameters over the ranks, but for those of parts that are sharded already. Returns the module.

    Args:
        module: the same on every rank, or a list of modules
        mesh: the ranks, a mesh of one dimension or a group; by default all
        reshard_after_forward: False keeps whole parameters in memory between forward and backward
        mp_policy: the types of computation
        offload_policy: where parameters are meanwhile: CPUOffloadPolicy() only for those of the CPU
        ignored_params: parameters that stay whole
    """
    if isinstance(module, (list, tuple)):
        for each in module:
            fully_shard(each, mesh=mesh, reshard_after_forward=reshard_after_forward, shard_placement_fn=shard_placement_fn,
                        mp_policy=mp_policy, offload_policy=offload_policy, ignored_params=ignored_params)  # fmt: skip
        return module
    if isinstance(module, (ModuleList, ModuleDict)):
        raise ValueError(
            f"fully_shard does not support containers that do not implement forward: {module}"
        )
    on_gpu = any(p.is_cuda for p in module.parameters())
    if shard_placement_fn is not None or (isinstance(offload_policy, CPUOffloadPolicy) and on_gpu):
        raise NotImplementedError(
            "fully_shard: parameters are sharded by rows and stay on their device; leave out "
            "shard_placement_fn and offload_policy"
        )
    if isinstance(module, FSDPModule):
        raise ValueError("fully_shard was called for this module already")
    ranks = mesh_of(mesh)
    if ranks.ndim > 1:
        raise NotImplementedError(
            "fully_shard: a mesh of several dimensions; name one, as mesh['dp']"
        )
    ignored = {id(p) for p in ignored_params or ()}
    cls = type(module)
    module.__class__ = type(f"FSDP{cls.__name__}", (FSDPModule, cls), {})
    reshard = reshard_after_forward is None or bool(reshard_after_forward)
    shard_parameters(module, ranks, mp_policy or MixedPrecisionPolicy(), reshard, ignored)
    return module


def shard_parameters(module: Any, mesh: Any, policy: MixedPrecisionPolicy, reshard: bool, ignored: set[int]) -> None:  # fmt: skip
    """Shard the parameters of an `FSDPModule` over a mesh of one dimension, and let them be whole while it computes."""
    sharded = [
        ShardedParameter(name, parameter, places, mesh)
        for name, parameter, places in _parameters(module)
        if id(parameter) not in ignored
    ]
    module._sharded = ParameterGroup(sharded, mesh.get_group(0), policy)
    module._reshard_after_forward = reshard
    module.register_forward_pre_hook(_before, prepend=True, with_kwargs=True)
    module.register_forward_hook(_after)


def _parameters(module: Module) -> Iterator[tuple[str, Any, Places]]:
    """Names, parameters and where they are, of all parts that are not sharded already."""
    found: dict[int, tuple[str, Any, Places]] = {}
    stack: list[tuple[str, Any]] = [("", module)]
    while stack:
        prefix, part = stack.pop(0)
        for name, parameter in part._parameters.items():
            if parameter is None:
                continue
            if not parameter.ndim:
                raise ValueError(
                    "fully_shard doesn't support scalar parameters. Change "
                    f"{prefix}{name} to a 1D tensor with numel equal to 1."
                )
            entry = found.setdefault(id(parameter), (f"{prefix}{name}", parameter, []))
            entry[2].append((part, name))
        children = [(f"{prefix}{n}.", c) for n, c in part._modules.items() if c is not None]
        stack.extend((p, c) for p, c in children if not isinstance(c, FSDPModule))
    yield from found.values()


def _before(module: Any, args: Any, kwargs: Any) -> tuple[Any, Any]:
    """Gather the parameters before a module computes."""
    sharded = module._sharded
    sharded.gather()
    kind = sharded.policy.param_dtype
    if kind is None or not sharded.policy.cast_forward_inputs:
        return args, kwargs
    return _cast(args, kind), _cast(kwargs, kind)


def _after(module: Any, args: Any, output: Any) -> Any:
    """Give the parameters back, and let them come again before backward."""
    sharded = module._sharded
    if sharded.policy.output_dtype is not None:
        output = _cast(output, sharded.policy.output_dtype)
    differentiated = [t for t in tensors_in(output) if t.requires_grad]
    if differentiated and modes.grad:
        for tensor in differentiated:
            tensor.register_hook(sharded.begin_backward)
    if module._reshard_after_forward or not differentiated:
        sharded.release()
    else:
        sharded.hide()
    return output


def register_fsdp_forward_method(module: Any, method_name: str) -> None:
    """Let a method of a sharded module compute with whole parameters, as `forward` does."""
    if not isinstance(module, FSDPModule):
        return
    method = getattr(module, method_name)

    @wraps(method)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        args, kwargs = _before(module, args, kwargs)
        return _after(module, args, method(*args, **kwargs))

    setattr(module, method_name, wrapped)


def _cast(value: Any, kind: Any) -> Any:
    """Floating point tensors as another type, also those in lists and dictionaries."""
    if isinstance(value, Tensor):
        return value.to(kind) if value.is_floating_point() else value
    if isinstance(value, dict):
        return {key: _cast(part, kind) for key, part in value.items()}
    if type(value) in (list, tuple):
        return type(value)(_cast(part, kind) for part in value)
    return value
