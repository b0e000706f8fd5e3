"""`FullyShardedDataParallel(module)`: `fully_shard` in its first form, a module around the module.

Parameters are sharded one by one, by rows, as `use_orig_params=True` has them: there is no flat parameter.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from ...nn.modules.module import Module
from ...nn.utils.clip_grad import clip_grad_norm_
from ...tensor import Tensor
from ..checkpoint.state_dict import (
    StateDictOptions,
    as_own,
    get_optimizer_state_dict,
    own_part,
    plain_name,
)
from ..flat import copy_from
from ..tensor.dtensor import DTensor, mesh_of
from ..world import get_rank
from ..wrapping import ModuleWrapper
from .api import (
    KEEPS_WHOLE,
    CPUOffload,
    FullOptimStateDictConfig,
    FullStateDictConfig,
    LocalOptimStateDictConfig,
    LocalStateDictConfig,
    MixedPrecision,
    OptimStateDictConfig,
    ShardedOptimStateDictConfig,
    ShardedStateDictConfig,
    ShardingStrategy,
    StateDictConfig,
    StateDictSettings,
    StateDictType,
)
from .api import BackwardPrefetch as BackwardPrefetch
from .fully_shard import FSDPModule, MixedPrecisionPolicy, shard_parameters
from .wrap import wrap_parts

_CONFIGS: dict[StateDictType, tuple[type[StateDictConfig], type[OptimStateDictConfig]]] = {
    StateDictType.FULL_STATE_DICT: (FullStateDictConfig, FullOptimStateDictConfig),
    StateDictType.LOCAL_STATE_DICT: (LocalStateDictConfig, LocalOptimStateDictConfig),
    StateDictType.SHARDED_STATE_DICT: (ShardedStateDictConfig, ShardedOptimStateDictConfig),
}


class FullyShardedDataParallel(FSDPModule, ModuleWrapper):
    """A module whose parameters, gradients and optimizer's state are sharded over the ranks.

    Parameters are whole only while the module computes. An optimizer is made after the module is wrapped.

    Args:
        module: the same on every rank; parts that are wrapped already are gathered by themselves
        process_group: the ranks; by default all
        sharding_strategy: whether parameters stay whole between forward and backward
        cpu_offload: parameters in main memory are all that there is: True only for modules that are there
        auto_wrap_policy: which parts are wrapped first, with the same options (`fsdp.wrap`)
        mixed_precision: the types of computation
        ignored_modules: parts whose parameters stay whole
        param_init_fn: gives a part of the module that has no memory yet (`device="meta"`) its parameters
        device_id: where the module is moved to
        sync_module_states: begin with the parameters and buffers of the first rank
        ignored_states: parameters that stay whole, or modules
        device_mesh: the ranks, as a mesh of one dimension
        backward_prefetch, forward_prefetch, limit_all_gathers, use_orig_params: change no number; taken as they come
    """

    inner_name = "_fsdp_wrapped_module"
    plain_names = False

    def __init__(
        self,
        module: Module,
        process_group: Any = None,
        sharding_strategy: ShardingStrategy | None = None,
        cpu_offload: CPUOffload | None = None,
        auto_wrap_policy: Any = None,
        backward_prefetch: Any = None,
        mixed_precision: MixedPrecision | None = None,
        ignored_modules: Any = None,
        param_init_fn: Any = None,
        device_id: Any = None,
        sync_module_states: bool = False,
        forward_prefetch: bool = False,
        limit_all_gathers: bool = True,
        use_orig_params: bool = False,
        ignored_states: Any = None,
        device_mesh: Any = None,
    ) -> None:
        options = {k: v for k, v in locals().items() if k not in ("self", "module", "auto_wrap_policy", "__class__")}  # fmt: skip
        super().__init__(module)
        ignored = _ignored_parameters(ignored_modules, ignored_states)
        if auto_wrap_policy is not None:
            make = lambda part, **own: type(self)(part, **{**options, **own})  # noqa: E731
            wrap_parts(module, auto_wrap_policy, make, ignored)
        ranks = mesh_of(device_mesh if device_mesh is not None else process_group)
        _give_memory(module, param_init_fn)
        if device_id is not None:
            module.to(device_id)
        whole = [t for t in (*module.parameters(), *module.buffers()) if not isinstance(t, DTensor)]
        if cpu_offload is not None and cpu_offload.offload_params and any(t.is_cuda for t in whole):
            raise NotImplementedError("FullyShardedDataParallel: parameters stay on their device; leave out CPUOffload(True)")  # fmt: skip
        if sync_module_states:
            copy_from([t for t in whole if id(t) not in ignored], ranks.get_group(0))
        self.sharding_strategy = sharding_strategy or ShardingStrategy.FULL_SHARD
        self.mixed_precision = mixed_precision or MixedPrecision()
        self.process_group = ranks.get_group(0)
        self._settings = _settings(StateDictType.FULL_STATE_DICT, None, None)
        reshard = self.sharding_strategy not in KEEPS_WHOLE
        shard_parameters(self, ranks, self._policy(outermost=True), reshard, ignored)
        for part in self.fsdp_modules(module):
            part._sharded.policy = part._policy(outermost=False)
        if self.mixed_precision.buffer_dtype is not None:
            for buffer in module.buffers():
                if buffer.is_floating_point():
                    buffer.data = buffer.data.to(self.mixed_precision.buffer_dtype)
        self.register_state_dict_post_hook(_as_configured)
        self.register_load_state_dict_pre_hook(_as_rows)

    def _policy(self, outermost: bool) -> MixedPrecisionPolicy:
        kinds = self.mixed_precision
        cast = kinds.cast_root_forward_inputs if outermost else kinds.cast_forward_inputs
        reduced = kinds.reduce_dtype or kinds.param_dtype
        return MixedPrecisionPolicy(kinds.param_dtype, reduced, None, cast)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        return self._fsdp_wrapped_module(*args, **kwargs)

    @property
    def module(self) -> Module:
        """The module that was wrapped."""
        return self._fsdp_wrapped_module

    def check_is_root(self) -> bool:
        """Whether a forward pass may begin here: always, since each part gathers its own parameters."""
        return True

    @contextmanager
    def no_sync(self) -> Iterator[None]:
        """While it is open, backward averages nothing: each rank accumulates its own gradients."""
        self.set_requires_gradient_sync(False)
        try:
            yield
        finally:
            self.set_requires_gradient_sync(True)

    def clip_grad_norm_(self, max_norm: float, norm_type: float = 2.0) -> Tensor:
        """Scale the gradients of all ranks down to a norm; the norm that they had."""
        norm = clip_grad_norm_(self.parameters(), max_norm, norm_type)
        return norm.full_tensor() if isinstance(norm, DTensor) else norm

    # --- Of all wrapped parts of a model --------------------------------------------------

    @staticmethod
    def fsdp_modules(module: Module, root_only: bool = False) -> list[FullyShardedDataParallel]:
        """The wrapped parts of a module, itself first; with root_only, those within no other."""
        found = [m for m in module.modules() if isinstance(m, FullyShardedDataParallel)]
        if not root_only:
            return found
        inner = {id(part) for each in found for part in each.module.modules()}
        return [each for each in found if id(each) not in inner]

    @staticmethod
    @contextmanager
    def summon_full_params(
        module: Module, recurse: bool = True, writeback: bool = True,
        rank0_only: bool = False, offload_to_cpu: bool = False, with_grads: bool = False,
    ) -> Iterator[None]:  # fmt: skip
        """While it is open, parameters are whole and have the module's own names; with writeback, what is written into them stays."""
        if rank0_only and writeback:
            raise NotImplementedError("writeback=True and rank0_only=True is not supported")
        if with_grads:
            raise NotImplementedError("summon_full_params: gradients stay sharded; `p.grad.full_tensor()` gathers one")  # fmt: skip
        parts = FullyShardedDataParallel.fsdp_modules(module)[: None if recurse else 1]
        for part in parts:
            part.unshard()
            part.plain_names = True
        try:
            yield
        finally:
            for part in parts:
                if writeback:
                    part._sharded.write_back()
                part.reshard()
                part.plain_names = False

    # --- States ---------------------------------------------------------------------------

    @staticmethod
    def set_state_dict_type(
        module: Module,
        state_dict_type: StateDictType,
        state_dict_config: StateDictConfig | None = None,
        optim_state_dict_config: OptimStateDictConfig | None = None,
    ) -> StateDictSettings:
        """Choose what states of a module and of its optimizers have from now on; the choice before."""
        before = FullyShardedDataParallel.get_state_dict_type(module)
        chosen = _settings(state_dict_type, state_dict_config, optim_state_dict_config)
        for part in FullyShardedDataParallel.fsdp_modules(module):
            part._settings = chosen
        return before

    @staticmethod
    def get_state_dict_type(module: Module) -> StateDictSettings:
        """What states of a module and of its optimizers have."""
        parts = FullyShardedDataParallel.fsdp_modules(module)
        return parts[0]._settings if parts else _settings(StateDictType.FULL_STATE_DICT, None, None)

    @staticmethod
    @contextmanager
    def state_dict_type(
        module: Module,
        state_dict_type: StateDictType,
        state_dict_config: StateDictConfig | None = None,
        optim_state_dict_config: OptimStateDictConfig | None = None,
    ) -> Iterator[None]:
        """While it is open, states have what is chosen here."""
        choose = FullyShardedDataParallel.set_state_dict_type
        before = choose(module, state_dict_type, state_dict_config, optim_state_dict_config)
        with ExitStack() as end:
            end.callback(choose, module, before.state_dict_type, before.state_dict_config, before.optim_state_dict_config)  # fmt: skip
            yield

    @staticmethod
    def optim_state_dict(model: Module, optim: Any, optim_state_dict: Any = None, group: Any = None) -> dict[str, Any]:  # fmt: skip
        """An optimizer's state by the names of the model's parameters. All ranks call this."""
        settings = FullyShardedDataParallel.get_state_dict_type(model)
        config = settings.optim_state_dict_config
        full = settings.state_dict_type is StateDictType.FULL_STATE_DICT
        state = get_optimizer_state_dict(
            model, optim, options=StateDictOptions(full_state_dict=full)
        )
        return {} if _is_left_out(config, group) else state

    @staticmethod
    def full_optim_state_dict(
        model: Module, optim: Any, optim_input: Any = None, rank0_only: bool = True, group: Any = None
    ) -> dict[str, Any]:  # fmt: skip
        """An optimizer's state of whole tensors, by default on the first rank alone. All ranks call this."""
        config = FullOptimStateDictConfig(rank0_only=rank0_only)
        with FullyShardedDataParallel.state_dict_type(
            model, StateDictType.FULL_STATE_DICT, None, config
        ):
            return FullyShardedDataParallel.optim_state_dict(model, optim, group=group)

    @staticmethod
    def optim_state_dict_to_load(
        model: Module, optim: Any, optim_state_dict: dict[str, Any], is_named_optimizer: bool = False,
        load_directly: bool = False, group: Any = None,
    ) -> dict[str, Any]:  # fmt: skip
        """What `optim_state_dict` gave as this rank's `optim.load_state_dict` takes it."""
        names = {id(p): plain_name(name) for name, p in model.named_parameters()}
        state, groups, saved = {}, [], optim_state_dict["state"]
        of_name = {n: g for g in optim_state_dict["param_groups"] for n in g["params"]}
        for parameters in (g["params"] for g in optim.param_groups):
            first = sum(len(g["params"]) for g in groups)
            options = {k: v for k, v in of_name[names[id(parameters[0])]].items() if k != "params"}
            groups.append({**options, "params": list(range(first, first + len(parameters)))})
            for i, parameter in enumerate(parameters, first):
                kept = saved.get(names[id(parameter)])
                if kept is not None:
                    state[i] = {key: own_part(value, parameter) for key, value in kept.items()}
        made = {"state": state, "param_groups": groups}
        if load_directly:
            optim.load_state_dict(made)
        return made


def _ignored_parameters(modules: Any, states: Any) -> set[int]:
    """The identities of parameters that stay whole."""
    given = [*(modules or ()), *(states or ())]
    parameters = [
        p for each in given for p in (each.parameters() if isinstance(each, Module) else [each])
    ]
    return {id(p) for p in parameters}


def _give_memory(module: Module, init: Any) -> None:
    """Let parts without memory have their parameters."""
    for part in module.modules():
        if any(
            p is not None and p.is_meta
            for p in (*part._parameters.values(), *part._buffers.values())
        ):
            if init is not None:
                init(part)
            else:
                part.to_empty(device="cpu", recurse=False)
                part.reset_parameters()


def _settings(kind: StateDictType, config: Any, of_optimizer: Any) -> StateDictSettings:
    model, optimizer = _CONFIGS[kind]
    chosen = StateDictSettings(kind, config or model(), of_optimizer or optimizer())
    if (
        type(chosen.state_dict_config) is not model
        or type(chosen.optim_state_dict_config) is not optimizer
    ):
        raise RuntimeError(f"{kind} is configured by {model.__name__} and {optimizer.__name__}")
    return chosen


def _is_left_out(config: Any, group: Any) -> bool:
    """Whether only the first rank gets a state, and this is another."""
    return getattr(config, "rank0_only", False) and get_rank(group) != 0


def _as_configured(module: Any, state: dict[str, Any], prefix: str, *_: Any) -> None:
    """Whole tensors in a state, or sharded ones, or this rank's parts."""
    kind, config = module._settings.state_dict_type, module._settings.state_dict_config
    for name in [n for n in state if n.startswith(prefix)]:
        value = state[name]
        if isinstance(value, DTensor) and kind is StateDictType.FULL_STATE_DICT:
            value = value.full_tensor()
        elif isinstance(value, DTensor) and kind is StateDictType.LOCAL_STATE_DICT:
            value = value.to_local()
        state[name] = value.cpu() if config.offload_to_cpu and isinstance(value, Tensor) else value
        if _is_left_out(config, module.process_group):
            del state[name]


def _as_rows(module: Any, state: dict[str, Any], prefix: str, *_: Any) -> None:
    """This rank's rows of whole tensors that are loaded."""
    for name, own in Module.named_parameters(module, remove_duplicate=False):
        value = state.get(prefix + name)
        if isinstance(own, DTensor) and isinstance(value, Tensor) and value.shape == own.shape:
            state[prefix + name] = as_own(value, own)
