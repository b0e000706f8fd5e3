"""The arguments of a call: their structure, and the tensors in it."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..tensor import Tensor, offset_in
from .comparing import PLAIN, attributes_of, hooks_of, same
from .facts import gradient_facts
from .guards import Surroundings
from .tape import Layout, layout_of

_CONTAINERS = (tuple, list, dict)


class Arguments:
    """What the arguments of a traced call were.

    Attributes:
        tensors: in order, each as often as it is given
        facts: of each tensor: class, layout, whether it requires a gradient, and what it has
        fixed: by their places, tensors that the function finds elsewhere, too
        containers: the addresses of lists and dictionaries
    """

    def __init__(self, args: tuple[Any, ...], kwargs: dict[str, Any], around: Surroundings) -> None:
        self.tensors: list[Tensor] = []
        self.containers: set[int] = set()
        self.around = around
        self.given = args, kwargs
        self.none = not args and not kwargs
        self.pattern = self._describe((args, kwargs))
        self.facts = [facts_of(t) for t in self.tensors]
        for tensor in self.tensors:
            if hooks_of(tensor):
                around._refuse("an argument has hooks")
            if not all(type(each) in PLAIN for each in attributes_of(tensor).values()):
                around._refuse("an argument has attributes of its own")

    def _describe(self, value: Any) -> Any:
        kind = type(value)
        if issubclass(kind, Tensor):
            self.tensors.append(value)
            return Tensor
        self.containers.add(id(value))
        if kind in (tuple, list) or (issubclass(kind, tuple) and hasattr(value, "_fields")):
            return kind, [self._describe(v) for v in value]
        if kind is dict:
            return kind, list(value), [self._describe(v) for v in value.values()]
        if kind not in PLAIN:
            self.around.follow(value, "an argument")
        return _Given(value)

    def settle(self) -> None:
        """Note which tensors the function also finds elsewhere."""
        found = self.around.tensors
        self.fixed = [found.get(id(t), (None,))[0] for t in self.tensors]

    def match(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Tensor] | None:
        """The tensors of another call, if it looks alike."""
        tensors: list[Tensor] = []
        if self.none:
            return None if args or kwargs else tensors
        if not _fits(self.pattern, (args, kwargs), tensors) or len(tensors) != len(self.facts):
            return None
        found = self.around.tensors
        for tensor, facts, fixed in zip(tensors, self.facts, self.fixed, strict=True):
            if tensor is not fixed and (fixed is not None or id(tensor) in found):
                return None
            if facts_of(tensor) != facts or hooks_of(tensor):
                return None
        return tensors

    def change(self) -> str:
        """What the call did to its own arguments, besides writing into tensors."""
        tensors: list[Tensor] = []
        if not _fits(self.pattern, self.given, tensors):
            return "an argument"
        for now, tensor, facts in zip(tensors, self.tensors, self.facts, strict=True):
            found = facts_of(now)
            if now is not tensor or found[:3] != facts[:3] or found[-1] != facts[-1]:
                return "an argument"
        self.given = (), {}
        return ""


class _Given:
    """A value that is no tensor."""

    def __init__(self, value: Any) -> None:
        self.value = value


def facts_of(tensor: Tensor) -> tuple[Any, ...]:
    """What a tape depends on, of a tensor that is given to it."""
    array = tensor._array
    layout: Layout = layout_of(array)
    where = None if type(array) is np.ndarray else tensor.device
    flags = tensor._is_inference, tensor._edge is None, tensor._made_as
    base = tensor._base
    whole = None
    if base is not None:
        # a write within is part of its history, with the place where the view begins
        of_base = base._requires_grad
        whole = layout_of(base._array), of_base, of_base and offset_in(array, base._array)
    own = [(name, type(v), repr(v)) for name, v in attributes_of(tensor).items()]
    return (
        type(tensor),
        (layout, where),
        tensor._requires_grad,
        flags,
        whole,
        gradient_facts(tensor, True),
        own,
    )


def _fits(pattern: Any, value: Any, tensors: list[Tensor]) -> bool:
    if pattern is Tensor:
        if not issubclass(type(value), Tensor):
            return False
        tensors.append(value)
        return True
    if type(pattern) is _Given:
        return same(value, pattern.value)
    if type(value) is not pattern[0]:
        return False
    if type(value) is dict:
        if list(value) != pattern[1]:
            return False
        value, parts = value.values(), pattern[2]
    else:
        parts = pattern[1]
    return len(value) == len(parts) and all(
        _fits(part, each, tensors) for part, each in zip(parts, value, strict=True)
    )
