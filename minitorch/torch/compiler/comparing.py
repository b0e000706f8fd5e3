"""When two values are the same to a tape, and small questions about tensors and variables."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..attributes import all_attributes
from ..backends.interface import ARRAYS, backend_of
from ..tensor import Size, Tensor

MISSING = object()
"""Stands where there is nothing."""

PLAIN = frozenset((bool, int, float, complex, str, bytes, type(None), Size, range, slice))
"""Values that never change, and are compared as such."""


def same(a: Any, b: Any) -> bool:
    """Whether two values are one object, or equal plain values of one type."""
    if a is b:
        return True
    kind = type(a)
    if kind is not type(b):
        return False
    if kind is tuple:
        return len(a) == len(b) and all(map(same, a, b))
    if kind is float or kind is complex:
        return repr(a) == repr(b)  # tells -0.0 from 0.0
    return kind in PLAIN and a == b


class Free:
    """Stands for a number that may change as long as it does not become, or cease to be, 0."""

    def __init__(self, value: Any) -> None:
        self.kind, self.truth = type(value), _truth(value)

    def fits(self, value: Any) -> bool:
        """Whether a number may stand there."""
        return type(value) is self.kind and _truth(value) == self.truth


def _truth(value: Any) -> Any:
    return [bool(v) for v in value] if type(value) is tuple else bool(value)


def is_number(value: Any) -> bool:
    """Whether a value is one of Python's numbers, or some of them."""
    if type(value) is tuple:
        return all(type(v) in (float, int) for v in value)
    return type(value) in (float, int)


def hooks_of(tensor: Tensor) -> tuple[list[Any], ...]:
    """The hooks that a gradient meets at a leaf: before it is added, after that, and of the leaf as a node."""
    if tensor._hooks is None and tensor._after_accumulate is None and tensor._accumulator is None:
        return NO_HOOKS
    node = None if tensor._accumulator is None else tensor._accumulator()
    of_node = [] if node is None or node.hooks is None else list(node.hooks.values())
    dicts = (tensor._hooks, tensor._after_accumulate, *of_node)
    found = tuple([list(hooks.values()) if hooks else [] for hooks in dicts])
    return found if any(found) else NO_HOOKS


NO_HOOKS: tuple[list[Any], ...] = ()


def attributes_of(tensor: Tensor) -> dict[str, Any]:
    """What the program has set on a tensor."""
    every = all_attributes(tensor)
    if every.keys() <= OWN:
        return NOTHING
    return {name: each for name, each in every.items() if name not in OWN}


OWN = Tensor.__annotations__.keys()
NOTHING: dict[str, Any] = {}


def owner(array: Any) -> Any:
    """What holds an array's memory."""
    if not isinstance(array, np.ndarray):
        return backend_of(array).owner(array)
    while isinstance(array.base, np.ndarray):
        array = array.base
    return array


def is_traced(array: Any) -> bool:
    """Whether tapes may be written of what is done with an array."""
    backend = ARRAYS.get(type(array))
    return backend is not None and backend.is_traced


def fills_memory(array: Any) -> bool:
    """Whether an array's elements are all of the memory that its owner holds."""
    if not isinstance(array, np.ndarray):
        return backend_of(array).fills(array)
    whole = owner(array)
    return whole.nbytes == array.nbytes and whole.base is None


def fits(expected: Any, now: Any) -> bool:
    """Whether a value may stand where another one, or a free number, is expected."""
    return expected.fits(now) if type(expected) is Free else same(now, expected)


def same_key(a: Any, b: Any) -> bool:
    """Whether two keys of dictionaries are the same; tensors are keys, too, and are not compared."""
    return a is b or (type(a) in PLAIN and same(a, b))


def contents_of(cell: Any) -> Any:
    """What a variable of an enclosing function holds, if anything."""
    try:
        return cell.cell_contents
    except ValueError:
        return MISSING
