"""Gradients through calls of functions on other ranks, which are not supported: `is_available` says so."""

from __future__ import annotations

from typing import Any, NoReturn


def is_available() -> bool:
    """Whether gradients pass through calls on other ranks: no."""
    return False


def _refuse(*args: Any, **kwargs: Any) -> NoReturn:
    raise NotImplementedError("torch.distributed.autograd is not supported by minitorch.torch")


backward = get_gradients = _refuse


class context:  # noqa: N801
    """What belongs to one walk back over ranks: there is none."""

    __init__ = _refuse


DistAutogradContext = context
