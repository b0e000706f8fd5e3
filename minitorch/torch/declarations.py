"""Classes whose constructors are made from their annotations."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import field, make_dataclass
from inspect import Parameter
from typing import Any


def constructor(
    cls: type, build: Callable[[Any, dict[str, Any]], None], keyword_only: bool = False
) -> Callable[..., None]:
    """An `__init__` that takes what a class annotates, in order, but for a `ClassVar`.

    What follows an annotation `_: KW_ONLY` must be named. Defaults are taken off the class.

    Args:
        cls: the class
        build: `build(self, arguments)` makes an object of them
        keyword_only: whether all must be named
    """
    kind = Parameter.KEYWORD_ONLY if keyword_only else Parameter.POSITIONAL_OR_KEYWORD
    parameters = [Parameter("self", Parameter.POSITIONAL_OR_KEYWORD)]
    for name, annotation in inspect.get_annotations(cls).items():
        if annotation == "KW_ONLY":
            kind = Parameter.KEYWORD_ONLY
        elif "ClassVar" not in str(annotation):
            default = vars(cls).get(name, Parameter.empty)
            parameters.append(Parameter(name, kind, default=default))
            if default is not Parameter.empty:  # on the class it would hide a buffer of that name
                delattr(cls, name)
    return constructor_of(cls, parameters, build)


def constructor_of(
    cls: type, parameters: list[Parameter], build: Callable[[Any, dict[str, Any]], None]
) -> Callable[..., None]:
    """An `__init__` that takes parameters, the first of which is `self`."""
    signature = inspect.Signature(parameters)

    def construct(self: Any, *args: Any, **kwargs: Any) -> None:
        try:
            bound = signature.bind(self, *args, **kwargs)
        except TypeError:
            _refuse(cls, parameters[1:], args, kwargs)
            raise
        bound.apply_defaults()
        del bound.arguments["self"]
        build(self, bound.arguments)

    construct.__signature__ = signature  # type: ignore[attr-defined]
    construct.__name__, construct.__qualname__ = "__init__", f"{cls.__qualname__}.__init__"
    return construct


def _refuse(cls: type, parameters: list[Parameter], args: Any, kwargs: Any) -> None:
    """Raise what Python says to a call that does not fit."""
    fields = [
        (p.name, Any, field(kw_only=p.kind is Parameter.KEYWORD_ONLY))
        if p.default is Parameter.empty
        else (p.name, Any, field(default=None, kw_only=p.kind is Parameter.KEYWORD_ONLY))
        for p in parameters
    ]
    make_dataclass(cls.__name__, fields)(*args, **kwargs)
