"""Hooks by which DistributedDataParallel averages a bucket of gradients: `model.register_comm_hook(state, hook)`."""

from __future__ import annotations

from enum import Enum
from functools import partial
from typing import Any

from . import default_hooks as default
from . import powerSGD_hook as powerSGD  # noqa: N812


def _register(hook: Any, model: Any, state: Any = None) -> None:
    model.register_comm_hook(state, hook)


class DDPCommHookType(Enum):
    """The hooks by name; the value registers one."""

    ALLREDUCE = partial(_register, default.allreduce_hook)
    FP16_COMPRESS = partial(_register, default.fp16_compress_hook)
    BF16_COMPRESS = partial(_register, default.bf16_compress_hook)
    POWER_SGD = partial(_register, powerSGD.powerSGD_hook)


def register_ddp_comm_hook(comm_hook_type: DDPCommHookType, model: Any, state: Any = None) -> None:
    """Let a model average its gradients by a hook."""
    comm_hook_type.value(model=model, state=state)
