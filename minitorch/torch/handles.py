"""Hooks of tensors, nodes, modules and optimizers: each a number in a dict, and a handle that takes it out."""

from __future__ import annotations

import weakref
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Any

Hooks = OrderedDict[int, Callable[..., Any]]


class RemovableHandle:
    """Takes a hook away again: its number in a dict of hooks, and in others beside it."""

    next_id: int = 0

    def __init__(self, hooks_dict: Any, *, extra_dict: Any = None) -> None:
        self.id = RemovableHandle.next_id
        RemovableHandle.next_id += 1
        extra = [extra_dict] if isinstance(extra_dict, dict) else list(extra_dict or ())
        self._places = [weakref.ref(place) for place in (hooks_dict, *extra)]

    def remove(self) -> None:
        """Take the hook away."""
        for reference in self._places:
            place = reference()
            if place is not None:
                place.pop(self.id, None)

    def __getstate__(self) -> tuple[Any, int, tuple[Any, ...]]:
        first, *extra = [reference() for reference in self._places]
        return first, self.id, tuple(extra)

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        first, self.id, *extra = state
        places = [first, *(extra[0] if extra and extra[0] else ())]
        self._places = [weakref.ref(OrderedDict() if p is None else p) for p in places]
        RemovableHandle.next_id = max(RemovableHandle.next_id, self.id + 1)

    def __enter__(self) -> RemovableHandle:
        return self

    def __exit__(self, *_: object) -> None:
        self.remove()


RemovableHandle.__module__ = f"{__package__}.utils.hooks"  # its name in files, as in Torch


def add_hook(
    hooks: Hooks,
    hook: Callable[..., Any],
    prepend: bool = False,
    marks: Sequence[tuple[dict[int, bool], bool]] = (),
) -> RemovableHandle:
    """Put a hook into a dict, last or first, and its number into the dicts that mark it."""
    handle = RemovableHandle(hooks, extra_dict=[marked for marked, _ in marks])
    hooks[handle.id] = hook
    if prepend:
        hooks.move_to_end(handle.id, last=False)
    for marked, is_marked in marks:
        if is_marked:
            marked[handle.id] = True
    return handle
