"""Parts of a model that forget their activations and compute them again in backward; names of parameters stay as they were."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from enum import Enum, auto
from functools import partial
from typing import Any

from ....nn.modules.module import Module
from ....utils.checkpoint import checkpoint

_PREFIX = "_checkpoint_wrapped_module."


class CheckpointImpl(Enum):
    """Which way of `torch.utils.checkpoint` is used."""

    REENTRANT = auto()
    NO_REENTRANT = auto()


class CheckpointWrapper(Module):
    """A module that forgets its activations and computes them again in backward."""

    def __init__(
        self,
        mod: Module,
        checkpoint_impl: CheckpointImpl = CheckpointImpl.NO_REENTRANT,
        checkpoint_fn: Callable[..., Any] | None = None,
        **checkpoint_fn_kwargs: Any,
    ) -> None:
        super().__init__()
        self._checkpoint_wrapped_module = mod
        reentrant = checkpoint_impl is CheckpointImpl.REENTRANT
        self.checkpoint_fn = partial(
            checkpoint_fn or partial(checkpoint, use_reentrant=reentrant), **checkpoint_fn_kwargs
        )
        self.register_state_dict_post_hook(_without_prefix)
        self.register_load_state_dict_pre_hook(_with_prefix)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        return self.checkpoint_fn(self._checkpoint_wrapped_module, *args, **kwargs)

    def named_parameters(self, *args: Any, **kwargs: Any) -> Iterator[tuple[str, Any]]:
        """The parameters by the names that they have in the module."""
        for name, parameter in super().named_parameters(*args, **kwargs):
            yield name.replace(_PREFIX, ""), parameter

    def __getattr__(self, name: str) -> Any:
        try:
            return super().__getattr__(name)
        except AttributeError:
            return getattr(super().__getattr__("_checkpoint_wrapped_module"), name)

    def __getitem__(self, key: Any) -> Any:
        return self._checkpoint_wrapped_module[key]  # type: ignore[index]


def _without_prefix(module: Any, state: dict[str, Any], prefix: str, *_: Any) -> None:
    for name in [n for n in state if n.startswith(prefix + _PREFIX)]:
        state[prefix + name.removeprefix(prefix + _PREFIX)] = state.pop(name)


def _with_prefix(module: Any, state: dict[str, Any], prefix: str, *_: Any) -> None:
    for name in [n for n in state if n.startswith(prefix)]:
        state[prefix + _PREFIX + name.removeprefix(prefix)] = state.pop(name)


def checkpoint_wrapper(
    module: Module,
    checkpoint_impl: CheckpointImpl = CheckpointImpl.NO_REENTRANT,
    checkpoint_fn: Callable[..., Any] | None = None,
    **checkpoint_fn_kwargs: Any,
) -> Module:
    """A module as one that computes its activations again in backward."""
    return CheckpointWrapper(module, checkpoint_impl, checkpoint_fn, **checkpoint_fn_kwargs)


def apply_activation_checkpointing(
    model: Module,
    checkpoint_wrapper_fn: Callable[[Module], Module] = checkpoint_wrapper,
    check_fn: Callable[[Module], bool] = lambda _: True,
    auto_wrap_policy: Any = None,
) -> None:
    """Wrap all parts of a model that a function chooses, inner ones first."""
    if auto_wrap_policy is not None:
        raise NotImplementedError("apply_activation_checkpointing: choose parts by check_fn")
    for name, child in list(model.named_children()):
        apply_activation_checkpointing(child, checkpoint_wrapper_fn, check_fn)
        if check_fn(child):
            setattr(model, name, checkpoint_wrapper_fn(child))
