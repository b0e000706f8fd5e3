"""Overriding Torch's functions: `__torch_function__` of classes, and modes."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

from .overriding import NOBODY, answer, overrides, thread
from .overriding import BaseTorchFunctionMode as BaseTorchFunctionMode
from .overriding import DisableTorchFunction as DisableTorchFunction
from .overriding import DisableTorchFunctionSubclass as DisableTorchFunctionSubclass
from .overriding import TorchFunctionMode as TorchFunctionMode
from .tensor import Tensor

_SECTIONS = ("", "nn.functional", "linalg", "fft", "special")
"""Modules whose functions can be overridden."""


def has_torch_function(relevant_args: Any) -> bool:
    """Whether the class of one of these values, or a mode, overrides functions."""
    if thread.modes and not thread.without_modes:
        return True
    return not thread.without_classes and any(overrides(type(v)) for v in relevant_args)


def has_torch_function_unary(value: Any) -> bool:
    """Whether the class of a value, or a mode, overrides functions."""
    return has_torch_function((value,))


def has_torch_function_variadic(*values: Any) -> bool:
    """Whether the class of one of these values, or a mode, overrides functions."""
    return has_torch_function(values)


def handle_torch_function(
    public_api: Callable[..., Any], relevant_args: Any, *args: Any, **kwargs: Any
) -> Any:
    """Call the override of a user function by a mode or the class of one of `relevant_args`."""
    result = answer(public_api, args, kwargs, tuple(relevant_args))
    if result is NOBODY:
        name = f"{public_api.__module__}.{public_api.__name__}"
        raise TypeError(f"no implementation found for '{name}': no argument overrides functions")
    return result


def wrap_torch_function(dispatcher: Callable[..., Any]) -> Callable[..., Any]:
    """Make a user function overridable: `dispatcher` returns the arguments whose classes may override it."""

    def decorate(func: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(func)
        def call(*args: Any, **kwargs: Any) -> Any:
            relevant = dispatcher(*args, **kwargs)
            if has_torch_function(relevant):
                return handle_torch_function(call, relevant, *args, **kwargs)
            return func(*args, **kwargs)

        return call

    return decorate


def is_tensor_like(inp: Any) -> bool:
    """Whether a value is a tensor or its class has `__torch_function__`."""
    return type(inp) is Tensor or hasattr(inp, "__torch_function__")


def is_tensor_method_or_property(func: Callable[..., Any]) -> bool:
    """Whether a function is a method, or the getter of a property, of tensors."""
    return func in vars(Tensor).values() or func.__name__ in ("__get__", "__set__")


@contextmanager
def enable_reentrant_dispatch() -> Iterator[None]:
    """A context in which overrides are called again, also from within an override."""
    before = thread.without_classes, thread.without_modes
    thread.without_classes = thread.without_modes = 0
    try:
        yield
    finally:
        thread.without_classes, thread.without_modes = before


def _places() -> list[Any]:
    """The modules whose functions can be overridden, and Tensor."""
    package = __name__.rpartition(".")[0]
    return [*[import_module(f"{package}.{s}" if s else package) for s in _SECTIONS], Tensor]


def get_overridable_functions() -> dict[Any, list[Callable[..., Any]]]:
    """Modules, and Tensor, with those of their functions that can be overridden."""
    found: dict[Any, list[Callable[..., Any]]] = {
        place: [fn for fn in list(vars(place).values()) if hasattr(fn, "asks")]
        for place in _places()
    }
    found[Tensor] += [p.__get__ for p in vars(Tensor).values() if isinstance(p, property)]
    return found


def resolve_name(f: Callable[..., Any]) -> str | None:
    """The name of a function that was passed to `__torch_function__`: `torch.Tensor.add`."""
    own = getattr(f, "__self__", None)
    sought = own if isinstance(own, property) else f if hasattr(f, "asks") else None
    for place in _places() if sought is not None else ():
        if sought in vars(place).values():
            section = "Tensor" if place is Tensor else place.__name__.partition("torch.")[2]
            section = section.removeprefix("torch").strip(".")
            name = f.__name__
            if sought is own:
                name = next(n for n, p in vars(Tensor).items() if p is own) + ".__get__"
            return ".".join(filter(None, ("torch", section, name)))
    return None
