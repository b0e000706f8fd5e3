"""Torch's calls of functions on other ranks, which are not supported: `is_available` says so.

Programs find out when they call one of them; ranks can send each other tensors and objects
(`torch.distributed.send`, `broadcast_object_list`).
"""

from __future__ import annotations

from typing import Any, NoReturn


def is_available() -> bool:
    """Whether functions can be called on other ranks: no."""
    return False


def _refuse(*args: Any, **kwargs: Any) -> NoReturn:
    raise NotImplementedError("torch.distributed.rpc is not supported by minitorch.torch")


init_rpc = rpc_sync = rpc_async = remote = shutdown = get_worker_info = _refuse


class TensorPipeRpcBackendOptions:
    """Options of such calls: there are none."""

    __init__ = _refuse


class RRef:
    """A value of another rank: there are none."""

    __init__ = _refuse
