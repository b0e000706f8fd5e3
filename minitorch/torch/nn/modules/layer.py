"""The decorator for layers that are constants and a function, declared like dataclasses.

    @layer(shows="alpha={alpha}")
    class ELU(Module):
        "alpha * (exp(x) - 1) below zero."

        alpha: float = 1.0
        inplace: bool = False

        def forward(self, input):
            return F.elu(input, self.alpha, self.inplace)

The annotations are the constructor's arguments, in order (but for a `ClassVar`). Each becomes
an attribute; then `_settle`, if the class has it, makes of them what the layer needs.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, TypeVar, dataclass_transform

from ...declarations import constructor
from ...ops.creation import empty
from ...tensor import Size
from ..parameter import Parameter
from .module import Module

_NOT_CONSTANT = ("size_average", "reduce", "weight", "pos_weight", "_random_samples")
Layer = TypeVar("Layer", bound=type[Module])


@dataclass_transform(eq_default=False)
def layer(*, shows: str | None = None, keyword_only: bool = False) -> Callable[[Layer], Layer]:
    """Generate a class's `__init__`, `__constants__` and `extra_repr` from its annotations.

    Args:
        shows: a format for `extra_repr`; `inplace=True` follows if it is set
        keyword_only: whether all arguments are keyword-only
    """

    def build(self: Any, arguments: dict[str, Any]) -> None:
        Module.__init__(self)
        for name, value in arguments.items():
            setattr(self, name, value)
        self._settle()

    def declare(cls: Layer) -> Layer:
        cls.__init__ = constructor(cls, build, keyword_only)
        fields = list(inspect.signature(cls).parameters)
        constants = [name for name in fields if name not in _NOT_CONSTANT]
        cls.__constants__ = constants  # type: ignore[attr-defined]
        if shows is not None:
            cls.extra_repr = _text(shows, "inplace" in fields)  # type: ignore[assignment]
        return cls

    return declare


def _text(shows: str, has_inplace: bool) -> Callable[[Any], str]:
    """An `extra_repr` method from a format."""
    flagged = has_inplace and "inplace" not in shows

    def extra_repr(self: Any) -> str:
        text = shows.format_map(self.__dict__)
        if flagged and self.inplace:
            text += ", inplace=True" if text else "inplace=True"
        return text

    return extra_repr


def as_many(value: Any, count: int) -> tuple[Any, ...]:
    """A tuple with one number for each dimension; a single number is repeated."""
    return tuple(value) if isinstance(value, (tuple, list, Size)) else (value,) * count


def add_parameters(
    module: Module, device: Any, dtype: Any, **shapes: tuple[int, ...] | None
) -> None:
    """Register uninitialized parameters of given shapes; None registers None."""
    for name, shape in shapes.items():
        made = None if shape is None else Parameter(empty(shape, device=device, dtype=dtype))
        module.register_parameter(name, made)
