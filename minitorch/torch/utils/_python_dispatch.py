"""`TorchDispatchMode`: a program's own interpreter."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..interpreters import Composite, Interpreter
from ..overriding import overloaded


class Overload:
    """An operation as a dispatch mode sees it: called, it is performed."""

    def __init__(self, op: Any, perform: Callable[..., Any]) -> None:
        self.op, self.perform = op, perform
        self.__name__ = op.name

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.perform(self.op, args, kwargs)

    def __repr__(self) -> str:
        return f"aten.{self.op.name}"


class TorchDispatchMode(Interpreter):
    """Sees every operation within `with`: a subclass defines `__torch_dispatch__`."""

    def __torch_dispatch__(
        self, func: Overload, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        """The result of an operation, as `func(*args, **kwargs)` gives it."""
        raise NotImplementedError

    def operation(self, op: Any, inputs: Any, params: dict[str, Any], perform: Any) -> Any:
        if type(op) is Composite:
            return perform(op, inputs, params)
        types = tuple(type(x) for x in overloaded(tuple(inputs)))
        return self.__torch_dispatch__(Overload(op, perform), types, tuple(inputs), dict(params))

    def __enter__(self) -> Any:
        self.install()
        return self

    def __exit__(self, *_: object) -> None:
        self.remove()
