"""The decorator for layers that are constants and a function, declared like dataclasses.

    @layer(F.elu, shows="alpha={alpha}")
    class ELU(Module):
        "alpha * (exp(x) - 1) below zero."

        alpha: float = 1.0
        inplace: bool = False

The annotations are the constructor's arguments, in order (but for a `ClassVar`). Each becomes
an attribute; then `_normalize_arguments`, if the class has it, makes of them what the layer needs. `forward` calls the
function with its inputs and the constants that both have: `F.elu(input, self.alpha, self.inplace)`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, TypeVar, dataclass_transform

from ...declarations import constructor
from ...ops.creation import empty
from ...tensor import Size, Tensor
from .. import functional as F
from ..parameter import Parameter
from .module import Module

_NOT_CONSTANT = ("size_average", "reduce", "weight", "pos_weight", "_random_samples")
_LEGACY = ("size_average", "reduce")
Layer = TypeVar("Layer", bound=type[Module])


@dataclass_transform(eq_default=False)
def layer(
    function: Callable[..., Any] | None = None, *, shows: str | None = None, keyword_only: bool = False
) -> Callable[[Layer], Layer]:  # fmt: skip
    """Generate a class's `__init__`, `__constants__` and `extra_repr` from its annotations, and `forward`.

    Without annotations of its own, the class keeps the first three of its base class.

    Args:
        function: what `forward` calls; None: the class has a `forward`
        shows: a format for `extra_repr`; `inplace=True` follows if it is set
        keyword_only: whether all arguments are keyword-only
    """

    def build(self: Any, arguments: dict[str, Any]) -> None:
        Module.__init__(self)
        for name, value in arguments.items():
            setattr(self, name, value)
        self._normalize_arguments()

    def declare(cls: Layer) -> Layer:
        has_own = bool(inspect.get_annotations(cls))
        if has_own:
            cls.__init__ = constructor(cls, build, keyword_only)
        fields = list(inspect.signature(cls).parameters)
        if has_own:
            constants = [name for name in fields if name not in _NOT_CONSTANT]
            cls.__constants__ = constants  # type: ignore[attr-defined]
        if shows is not None:
            cls.extra_repr = _text(shows, "inplace" in fields)  # type: ignore[assignment]
        if function is not None:
            cls.forward = _forward(cls, function, fields)
        return cls

    return declare


def _forward(cls: type, function: Callable[..., Any], fields: list[str]) -> Callable[..., Any]:
    """A `forward` method: the function of its inputs and of a layer's constants, by position where they follow each other."""
    inputs, passed, in_order = [], [], True
    signature = inspect.signature(function)
    for name, parameter in signature.parameters.items():
        constant = name == "training" or (name in fields and name not in _LEGACY)
        if not constant and parameter.default is parameter.empty:
            inputs.append(parameter)
        elif constant:
            in_order = in_order and parameter.kind is not parameter.KEYWORD_ONLY
            passed.append(f"self.{name}" if in_order else f"{name}=self.{name}")
        else:
            in_order = False
    arguments = ", ".join(f"{p.name}: {p.annotation}" for p in inputs)
    body = f"return F.{function.__name__}({', '.join([p.name for p in inputs] + passed)})"
    source = f"def forward(self, {arguments}) -> {signature.return_annotation}:\n    {body}"
    names = {"F": F, "Tensor": Tensor, "Any": Any, "__name__": cls.__module__}
    code = f"from __future__ import annotations\n{source}"
    exec(compile(code, f"<{cls.__name__}>", "exec"), names)
    forward = names["forward"]
    forward.__qualname__ = f"{cls.__qualname__}.forward"
    return forward


def _text(shows: str, has_inplace: bool) -> Callable[[Any], str]:
    """An `extra_repr` method from a format."""
    flagged = has_inplace and "inplace" not in shows

    def extra_repr(self: Any) -> str:
        text = shows.format_map(self.__dict__)
        if flagged and self.inplace:
            text += ", inplace=True" if text else "inplace=True"
        return text

    return extra_repr


class Variants:
    """A base class whose subclasses set constants in their headers: `class Conv1d(_Convolution, dims=1)` has `_dims`."""

    def __init_subclass__(cls, **constants: Any) -> None:
        super().__init_subclass__()
        for name, value in constants.items():
            setattr(cls, f"_{name}", staticmethod(value) if callable(value) else value)


def as_tuple(value: Any, count: int) -> tuple[Any, ...]:
    """A tuple with one number for each dimension; a single number is repeated."""
    return tuple(value) if isinstance(value, (tuple, list, Size)) else (value,) * count


def add_parameters(
    module: Module, device: Any, dtype: Any, **shapes: tuple[int, ...] | None
) -> None:
    """Register uninitialized parameters of given shapes; None registers None."""
    for name, shape in shapes.items():
        made = None if shape is None else Parameter(empty(shape, device=device, dtype=dtype))
        module.register_parameter(name, made)
