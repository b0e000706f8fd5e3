"""`TorchDispatchMode`, a program's own interpreter, and what classes with `__torch_dispatch__` use."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from .. import interpreters
from ..interpreters import Composite, Interpreter
from ..library import called
from ..overriding import overloaded
from ..tensor import Tensor


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


class BaseTorchDispatchMode(TorchDispatchMode):
    """A mode that leaves everything as it is."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """The result as it is."""
        return func(*args, **(kwargs or {}))


# --- Which modes there are -------------------------------------------------------------------------------


def _get_current_dispatch_mode_stack() -> list[TorchDispatchMode]:
    """The modes of this thread, the first one that was entered first."""
    return [each for each in interpreters._thread.stack if isinstance(each, TorchDispatchMode)]


def _get_current_dispatch_mode() -> TorchDispatchMode | None:
    """The mode that is asked first."""
    stack = _get_current_dispatch_mode_stack()
    return stack[-1] if stack else None


def _len_torch_dispatch_stack() -> int:
    """How many modes there are in this thread."""
    return len(_get_current_dispatch_mode_stack())


def is_in_torch_dispatch_mode(include_infra_modes: bool = True) -> bool:
    """Whether there is a mode in this thread."""
    return bool(_get_current_dispatch_mode_stack())


@contextmanager
def _disable_current_modes() -> Iterator[list[TorchDispatchMode]]:
    """Within `with`, no mode of this thread is asked."""
    modes = _get_current_dispatch_mode_stack()
    before = interpreters._thread.stack
    interpreters._thread.stack = tuple(each for each in before if each not in modes)
    try:
        yield modes
    finally:
        interpreters._thread.stack = before


# --- Classes that wrap tensors ---------------------------------------------------------------------------


def is_traceable_wrapper_subclass(t: Any) -> bool:
    """Whether a tensor is of a class that says which tensors it is made of, and is made of them again."""
    return isinstance(t, Tensor) and is_traceable_wrapper_subclass_type(type(t))


def is_traceable_wrapper_subclass_type(t: type) -> bool:
    """Whether a class of tensors says which tensors it is made of, and is made of them again."""
    return (
        issubclass(t, Tensor)
        and t is not Tensor
        and hasattr(t, "__tensor_flatten__")
        and hasattr(t, "__tensor_unflatten__")
    )


def transform_subclass(
    t: Any, callback: Callable[[str, Any], Any], outer_size: Any = None, outer_stride: Any = None
) -> Any:
    """A wrapper made of what `callback(name, tensor)` gives for each tensor that it is made of.

    Args:
        t: the wrapper
        callback: of a name and a tensor: what takes its place
        outer_size: of the result; None: as before
        outer_stride: of the result; None: as before
    """
    names, context = t.__tensor_flatten__()
    inside = {name: callback(name, getattr(t, name)) for name in names}
    size = t.size() if outer_size is None else outer_size
    stride = t.stride() if outer_stride is None else outer_stride
    made = type(t).__tensor_unflatten__(inside, context, size, stride)
    if made.shape != size:
        raise AssertionError(
            f"Expected return value from {type(t)}__tensor_unflatten__() to have shape equal to {size}, but got: {made.shape}"
        )
    return made


def return_and_correct_aliasing(func: Any, args: Any, kwargs: Any, out: Any) -> Any:
    """What `__torch_dispatch__` returns for an operation: its result, or what it wrote into."""
    return args[0] if func.overloadpacket.writes else out
