"""`TorchDispatchMode`: a program's own interpreter."""

from __future__ import annotations

from typing import Any

from ..interpreters import Composite, Interpreter
from ..library import called
from ..overriding import overloaded


class TorchDispatchMode(Interpreter):
    """Sees every operation within `with`: a subclass defines `__torch_dispatch__`."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """The result of an operation, as `func(*args, **kwargs)` gives it."""
        raise NotImplementedError

    def operation(self, op: Any, inputs: Any, params: dict[str, Any], perform: Any) -> Any:
        if type(op) is Composite:
            return perform(op, inputs, params)
        types = tuple(type(x) for x in overloaded(tuple(inputs)))
        func, args, kwargs = called(op, inputs, params)
        return self.__torch_dispatch__(func, types, args, kwargs)

    def __enter__(self) -> Any:
        self.install()
        return self

    def __exit__(self, *_: object) -> None:
        self.remove()
