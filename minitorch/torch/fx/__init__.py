"""Torch's `fx` as far as programs use it without tracing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def wrap(fn_or_name: str | Callable[..., Any]) -> Any:
    """Return what it is given: nothing is traced here, so nothing needs to be kept from it."""
    return fn_or_name


def symbolic_trace(root: Any, concrete_args: Any = None) -> Any:
    """Refuse: programs are not traced into graphs here."""
    raise NotImplementedError(
        "torch.fx.symbolic_trace is not supported by minitorch.torch: call the module itself"
    )
