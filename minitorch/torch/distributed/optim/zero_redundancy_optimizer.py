"""An optimizer's state shared out among the ranks (ZeRO, stage 1).

With data parallelism every rank has all gradients, so any rank can take the step of any parameter. Each takes
the steps of its own part, keeps the optimizer's state of that part alone, and sends the new values to the others.
"""

from __future__ import annotations

from copy import deepcopy
from typing import Any

from ...optim.optimizer import Closure, Group, Optimizer, ParamsT, _fitted
from ...tensor import Tensor
from ...utils._pytree import tree_map_only
from .. import collectives
from ..algorithms.join import Join, Joinable, JoinHook, _JoinConfig
from ..flat import flatten, unflatten
from ..objects import gather_object
from ..world import get_global_rank, get_rank, get_world_size, group


class ZeroRedundancyOptimizer(Optimizer, Joinable):
    """An optimizer that keeps the state of a part of the parameters on each rank.

    Args:
        params: the parameters, the same on every rank
        optimizer_class: what takes the steps, e.g. `torch.optim.AdamW`
        process_group: the ranks that share the state; by default all
        defaults: options for `optimizer_class`

    Attributes:
        optim: the optimizer of this rank's part
    """

    def __init__(
        self,
        params: ParamsT,
        optimizer_class: type[Optimizer],
        process_group: Any = None,
        parameters_as_bucket_view: bool = False,
        overlap_with_ddp: bool = False,
        **defaults: Any,
    ) -> None:
        if overlap_with_ddp:
            raise NotImplementedError(
                "overlap_with_ddp: the step comes after backward, not within it; leave it out"
            )
        self.process_group = group.WORLD if process_group is None else process_group
        self.world_size, self.rank = get_world_size(process_group), get_rank(process_group)
        self._optimizer_class, self._options = optimizer_class, defaults
        self._join_config = _JoinConfig()
        self._owner: dict[int, int] = {}  # parameters' identities, and whose they are
        self._load = [0] * self.world_size  # elements that each rank has
        self._consolidated: dict[int, Any] | None = None
        self.optim: Any = None
        super().__init__(params, dict(defaults))
        self.optim = self._local_optimizer()
        for whole, own in zip(self.param_groups, self.optim.param_groups, strict=True):
            _copy_options(own, whole)

    def _local_optimizer(self) -> Optimizer:
        groups = [{**g, "params": self._own(g)} for g in self.param_groups]
        return self._optimizer_class(groups, **self._options)

    def _own(self, param_group: Group) -> list[Tensor]:
        return [p for p in param_group["params"] if self._owner[id(p)] == self.rank]

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Optimize some more parameters: each goes to the rank that has least, large ones first."""
        super().add_param_group(param_group)
        added = self.param_groups[-1]
        for parameter in sorted(added["params"], key=lambda p: p.numel(), reverse=True):
            rank = self._load.index(min(self._load))
            self._owner[id(parameter)] = rank
            self._load[rank] += parameter.numel()
        if self.optim is not None:
            self.optim.add_param_group({**added, "params": self._own(added)})
            _copy_options(self.optim.param_groups[-1], added)

    # --- Steps ------------------------------------------------------------------------------

    def step(self, closure: Closure = None, **kwargs: Any) -> Any:
        """Take this rank's part of the step, and exchange the new values."""
        Join.notify_join_context(self)
        for whole, own in zip(self.param_groups, self.optim.param_groups, strict=True):
            _copy_options(whole, own)
        loss = self.optim.step(**kwargs) if closure is None else self.optim.step(closure, **kwargs)
        for whole, own in zip(self.param_groups, self.optim.param_groups, strict=True):
            _copy_options(own, whole)
        self._exchange()
        return loss

    def _exchange(self) -> None:
        """Send each rank's parameters to all: one message for each rank and type."""
        sent = []
        for tensors in self._by_owner_and_type():
            rank = self._owner[id(tensors[0])]
            values = flatten(tensors)
            work = collectives.broadcast(
                values, group=self.process_group, group_src=rank, async_op=True
            )
            sent.append((work, rank, values, tensors))
        for work, rank, values, tensors in sent:
            work.wait()
            if rank != self.rank:
                unflatten(values, tensors)

    def _by_owner_and_type(self) -> list[list[Tensor]]:
        found: dict[Any, list[Tensor]] = {}
        for parameter in self._all():
            key = self._owner[id(parameter)], parameter.dtype, parameter.device
            found.setdefault(key, []).append(parameter)
        return list(found.values())

    def _all(self) -> list[Tensor]:
        return [p for param_group in self.param_groups for p in param_group["params"]]

    # --- Ranks with fewer inputs ------------------------------------------------------------

    def join_hook(self, **kwargs: Any) -> JoinHook:
        """What a rank without inputs does: the steps of its part."""
        return _Steps(self)

    @property
    def join_device(self) -> Any:
        """Where the parameters are."""
        return self._all()[0].device

    @property
    def join_process_group(self) -> Any:
        """The ranks that share the state."""
        return self.process_group

    # --- State ------------------------------------------------------------------------------

    def consolidate_state_dict(self, to: int = 0) -> None:
        """Gather the whole state on a rank, where `state_dict` then has it. All ranks call this."""
        for whole, own in zip(self.param_groups, self.optim.param_groups, strict=True):
            _copy_options(whole, own)
        places = {id(p): i for i, p in enumerate(self._all())}
        kept = {places[id(p)]: state for p, state in self.optim.state.items()}
        mine = tree_map_only(Tensor, lambda t: t.detach().cpu(), kept)
        here = self.rank == to
        parts: Any = [None] * self.world_size if here else None
        gather_object(mine, parts, group=self.process_group, group_dst=to)
        self._consolidated = None
        if here:
            every = {place: state for part in parts for place, state in part.items()}
            self._consolidated = {place: every[place] for place in sorted(every)}

    def state_dict(self) -> dict[str, Any]:
        """The whole state, as the plain optimizer has it, on the rank where it was gathered."""
        if self._consolidated is None:
            raise RuntimeError(
                "Optimizer state has not been consolidated on this rank. Please call "
                f"`consolidate_state_dict(to={self.rank})` on all ranks beforehand if you meant to "
                "save the global state."
            )
        packed = super().state_dict()
        packed["state"] = self._consolidated
        return packed

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over a whole state: of this rank's part, and the options of all groups."""
        everyone = self._all()
        own = {
            place: state
            for place, state in state_dict["state"].items()
            if self._owner[id(everyone[place])] == self.rank
        }
        super().load_state_dict({**state_dict, "state": {}})
        for place, state in own.items():
            self.optim.state[everyone[place]] = _fitted(deepcopy(state), everyone[place])
        for whole, part in zip(self.param_groups, self.optim.param_groups, strict=True):
            _copy_options(whole, part)

    def owner(self, parameter: Tensor) -> int:
        """The rank, of all, that takes the steps of a parameter."""
        return get_global_rank(self.process_group, self._owner[id(parameter)])


class _Steps(JoinHook):
    """Takes the steps of a rank's part while others have inputs."""

    def __init__(self, optimizer: ZeroRedundancyOptimizer) -> None:
        self.optimizer = optimizer

    def main_hook(self) -> None:
        """One step."""
        self.optimizer.step()


def _copy_options(source: Group, target: Group) -> None:
    """Give a group the options of another, but for the parameters."""
    names = ("params", "param_names")
    target.update({name: value for name, value in source.items() if name not in names})
