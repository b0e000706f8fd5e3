"""Parts of a model that forget their activations and compute them again in backward; names of parameters stay as they were."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum, auto
from functools import partial
from typing import Any

from ....nn.modules.module import Module
from ....utils.checkpoint import checkpoint
from ...fsdp.wrap import wrap_parts
from ...wrapping import ModuleWrapper


class CheckpointImpl(Enum):
    """Which way of `torch.utils.checkpoint` is used."""

    REENTRANT = auto()
    NO_REENTRANT = auto()


class CheckpointWrapper(ModuleWrapper):
    """A module that forgets its activations and computes them again in backward."""

    inner_name = "_checkpoint_wrapped_module"

    def __init__(
        self,
        mod: Module,
        checkpoint_impl: CheckpointImpl = CheckpointImpl.NO_REENTRANT,
        checkpoint_fn: Callable[..., Any] | None = None,
        **checkpoint_fn_kwargs: Any,
    ) -> None:
        super().__init__(mod)
        reentrant = checkpoint_impl is CheckpointImpl.REENTRANT
        self.checkpoint_fn = partial(
            checkpoint_fn or partial(checkpoint, use_reentrant=reentrant), **checkpoint_fn_kwargs
        )

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        return self.checkpoint_fn(self._checkpoint_wrapped_module, *args, **kwargs)


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
    """Wrap all parts of a model that a function, or a policy, chooses, inner ones first."""
    if auto_wrap_policy is not None:
        wrap_parts(model, auto_wrap_policy, checkpoint_wrapper_fn, set())
        return
    for name, child in list(model.named_children()):
        apply_activation_checkpointing(child, checkpoint_wrapper_fn, check_fn)
        if check_fn(child):
            setattr(model, name, checkpoint_wrapper_fn(child))
