"""Handles of hooks of tensors, nodes, modules and optimizers: each hook has an id in a dict."""

from __future__ import annotations

import weakref
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Any

Hooks = OrderedDict[int, Callable[..., Any]]


class RemovableHandle:
    """Removes a hook by its id from a dict of hooks, and from the dicts of its options."""

    next_id: int = 0

    def __init__(self, hooks_dict: Any, *, extra_dict: Any = None) -> None:
        self.id = RemovableHandle.next_id
        RemovableHandle.next_id += 1
        extra = [extra_dict] if isinstance(extra_dict, dict) else list(extra_dict or ())
        self._places = [weakref.ref(place) for place in (hooks_dict, *extra)]

    def remove(self) -> None:
        """Remove the hook."""
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


RemovableHandle.__module__ = f"{__package__}.utils.hooks"  # the name in pickles, as in Torch


def add_hook(
    hooks: Hooks,
    hook: Callable[..., Any],
    prepend: bool = False,
    marks: Sequence[tuple[dict[int, bool], bool]] = (),
) -> RemovableHandle:
    """Add a hook to a dict, last or first, and its id to the dicts of its options."""
    handle = RemovableHandle(hooks, extra_dict=[marked for marked, _ in marks])
    hooks[handle.id] = hook
    if prepend:
        hooks.move_to_end(handle.id, last=False)
    for marked, is_marked in marks:
        if is_marked:
            marked[handle.id] = True
    return handle
