"""Settings that hold for a while: `torch._dynamo.config.patch(cache_size_limit=1)`, as a context or a decorator."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import ContextDecorator
from typing import Any


class Patch(ContextDecorator):
    """Sets attributes of a module, dotted names of what is in it, from `with` to its end."""

    def __init__(self, module: str, known_as: str, values: dict[str, Any]) -> None:
        self.module, self.known_as, self.values = module, known_as, values
        self.before: list[list[tuple[Any, str, Any]]] = []

    def _place(self, name: str) -> tuple[Any, str, Any]:
        """The object that has a setting, its name there, and its value."""
        place: Any = sys.modules[self.module]
        *path, last = name.split(".")
        for part in path:
            place = getattr(place, part, None)
        if not hasattr(place, last):
            raise AttributeError(f"{self.known_as}.{name} does not exist")
        return place, last, getattr(place, last)

    def __enter__(self) -> None:
        self.before.append([self._place(name) for name in self.values])
        for (place, name, _), value in zip(self.before[-1], self.values.values(), strict=True):
            setattr(place, name, value)

    def __exit__(self, *_: object) -> None:
        for place, name, value in self.before.pop():
            setattr(place, name, value)


def patch_of(module: str, known_as: str) -> Callable[..., Patch]:
    """The function `patch` of a module of settings, and what programs call that."""

    def patch(arg1: str | dict[str, Any] | None = None, arg2: Any = None, **kwargs: Any) -> Patch:
        """Settings that hold within `with` or a function: a name and a value, a dictionary, or by name."""
        values = {arg1: arg2} if isinstance(arg1, str) else dict(arg1 or {})
        return Patch(module, known_as, {**values, **kwargs})

    return patch
