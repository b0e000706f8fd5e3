"""Torch's names for what its context managers that are decorators stand on."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from ..autograd.modes import _Mode as _DecoratorContextManager
from ..autograd.modes import _PlainMode as _NoParamDecoratorContextManager
from ..autograd.modes import within


def context_decorator(ctx: Any, func: Callable[..., Any]) -> Callable[..., Any]:
    """A function that runs in a context: one that is entered for each call, or one made anew by a callable."""
    if callable(ctx) and hasattr(ctx, "__enter__"):
        raise AssertionError(f"{ctx} is both callable and a context manager: pass a function that returns it")  # fmt: skip
    if inspect.isclass(func):
        raise RuntimeError("Cannot decorate classes: decorate their methods")
    return within(ctx if callable(ctx) else lambda: ctx, func)


__all__ = ["_DecoratorContextManager", "_NoParamDecoratorContextManager", "context_decorator"]
