"""Sizes that may change from call to call: `Dim`, and where `dynamic_shapes` says that there are some."""

from __future__ import annotations

from typing import Any, NamedTuple

from ..compiler.exceptions import UserError
from ..tensor import Tensor
from ..utils._pytree import tree_flatten


class Dim:
    """A size with a name: the same wherever it is used.

    >>> Dim("batch", max=64)
    <class 'minitorch.torch.export.dynamic_shapes.Dim'>: batch, 0 to 64
    """

    AUTO: Dim
    DYNAMIC: Dim
    STATIC: Dim

    def __init__(self, name: str, *, min: int | None = None, max: int | None = None) -> None:  # noqa: A002
        lowest, highest = min or 0, int_max if max is None else max
        if not name.isidentifier():
            raise AssertionError(f"Dim name must be a valid identifier, got {name}")
        if highest <= lowest:
            raise AssertionError(f"Cannot create Dim with inconsistent min={min}, max={max}")
        self.__name__, self.min, self.max = name, lowest, highest

    def __repr__(self) -> str:
        most = "" if self.max == int_max else f" to {self.max}"
        return f"{type(self)}: {self.__name__}, {self.min}{most}"


int_max = 2**63 - 1
Dim.AUTO, Dim.DYNAMIC, Dim.STATIC = Dim("AUTO"), Dim("DYNAMIC"), Dim("STATIC")


def dims(*names: str, min: int | None = None, max: int | None = None) -> tuple[Dim, ...]:  # noqa: A002
    """Several sizes with names."""
    return tuple(Dim(name, min=min, max=max) for name in names)


class ValueRanges(NamedTuple):
    """From which number to which."""

    lower: int
    upper: int

    def __repr__(self) -> str:
        return f"VR[{self.lower}, {'int_oo' if self.upper == int_max else self.upper}]"


class Symbol(NamedTuple):
    """A size that may change: its name and range, and where inputs have it.

    Attributes:
        name: as the program gave it
        range: of its values
        places: which input, by its number, at which of its dimensions
    """

    name: str
    range: ValueRanges
    places: list[tuple[int, int]]


def symbols_of(dynamic_shapes: Any, names: list[str], values: list[Any]) -> list[Symbol]:
    """The changing sizes of arguments.

    Args:
        dynamic_shapes: by names of arguments or in their order: for each, a dict from dimensions to `Dim`s, a sequence of
            those, or None; in the structure of an argument that is one
        names: of the arguments
        values: the arguments
    """
    if dynamic_shapes is None:
        return []
    given = _in_order(dynamic_shapes, names)
    found: dict[Any, Symbol] = {}
    start = 0
    for name, value, shapes in zip(names, values, given, strict=True):
        for leaf, shape in _leaves(name, value, shapes):
            for dim, size in _pairs(shape):
                _add(found, f"{name}_{dim}", size, leaf, start, dim)
            start += 1
    return list(found.values())


def _add(found: dict[Any, Symbol], name: str, size: Any, leaf: Any, place: int, dim: int) -> None:
    if size is None or size is Dim.STATIC or isinstance(size, int):
        if isinstance(size, int) and leaf.shape[dim] != size:
            raise UserError(f"Static shape constraint of {size} does not match input size of {leaf.shape[dim]}")  # fmt: skip
        return
    if not isinstance(size, Dim):
        raise UserError(
            f"Unexpected dynamic_shape {size!r}: try None, an int or a torch.export.Dim"
        )
    if not isinstance(leaf, Tensor) or not -leaf.ndim <= dim < leaf.ndim:
        raise UserError(
            f"dynamic_shapes: there is no dimension {dim} of {name.rpartition('_')[0]!r}"
        )
    own = size is Dim.AUTO or size is Dim.DYNAMIC
    key = (place, dim) if own else size.__name__
    symbol = found.setdefault(
        key, Symbol(name if own else size.__name__, ValueRanges(size.min, size.max), [])
    )
    symbol.places.append((place, dim % leaf.ndim))
    if not size.min <= leaf.shape[dim] <= size.max:
        raise UserError(f"Expected input {name} = {leaf.shape[dim]} to be in {ValueRanges(size.min, size.max)}")  # fmt: skip


def _in_order(dynamic_shapes: Any, names: list[str]) -> list[Any]:
    if isinstance(dynamic_shapes, dict):
        if list(dynamic_shapes) and set(dynamic_shapes) != set(names):
            raise UserError(
                f"When `dynamic_shapes` is specified as a dict, its top-level keys must be the arg names {names} of "
                f"`inputs`, but here they are {list(dynamic_shapes)}."
            )
        return [dynamic_shapes.get(name) for name in names]
    given = list(dynamic_shapes)
    if len(given) != len(names):
        raise UserError(
            f"dynamic_shapes has {len(given)} entries for the {len(names)} arguments {names}"
        )
    return given


def _leaves(name: str, value: Any, shapes: Any) -> list[tuple[Any, Any]]:
    """The leaves of an argument, with what is said of each."""
    if isinstance(value, Tensor):
        return [(value, shapes)]
    leaves, _ = tree_flatten(value)
    if shapes is None or not isinstance(value, (list, tuple, dict)):
        return [(leaf, None) for leaf in leaves]
    if isinstance(value, dict):
        return [pair for key in value for pair in _leaves(name, value[key], shapes.get(key))]
    if len(shapes) != len(value):
        raise UserError(
            f"dynamic_shapes of {name!r} has {len(shapes)} entries for {len(value)} values"
        )
    return [pair for v, s in zip(value, shapes, strict=True) for pair in _leaves(name, v, s)]


def _pairs(shape: Any) -> list[tuple[int, Any]]:
    if shape is None:
        return []
    return list(shape.items()) if isinstance(shape, dict) else list(enumerate(shape))
