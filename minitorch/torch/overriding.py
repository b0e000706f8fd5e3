"""Dispatch to overrides of public functions: classes with `__torch_function__`, and modes.

Every public function and method checks for overrides before it computes. Whether a class has one
is cached by class, and modes are in one list, so that a call with plain tensors costs only a check
of each argument's class.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from functools import partial, wraps
from inspect import CO_VARARGS, CO_VARKEYWORDS
from typing import Any

Arguments = tuple[Any, ...]
Keywords = dict[str, Any]

NOBODY = object()
"""The result if nothing overrides a call: the function computes."""

function_modes: list[Any] = []
"""The active function modes of all threads."""

overriding: set[type] = set()
"""Subclasses of Tensor with overrides."""

watched: list[Any] = []
"""Both: while it is empty, methods of tensors check nothing."""


class _Thread(threading.local):
    modes: tuple[Any, ...] = ()
    without_classes = 0  # how many contexts disable overrides by classes
    without_modes = 0


thread = _Thread()


def disabled(func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
    """As the `__torch_function__` of a class: it overrides nothing."""
    with DisableTorchFunctionSubclass():
        return func(*args, **(kwargs or {}))


def overrides(cls: type) -> bool:
    """Whether a class has overrides."""
    found = getattr(cls, "__torch_function__", None)
    if found is None or found is disabled:
        return False
    return not any(base.__module__ == "torch._C" for base in cls.__mro__)  # PyTorch's own tensors


def overloaded(values: Arguments) -> list[Any]:
    """Values whose classes have overrides, one of each class, subclasses first."""
    found: list[Any] = []
    seen = set()
    for value in _values(values):
        cls = type(value)
        if cls in seen or not overrides(cls):
            continue
        seen.add(cls)
        before = [i for i, other in enumerate(found) if issubclass(cls, type(other))]
        found.insert(before[0] if before else len(found), value)
    return found


def _values(given: Arguments) -> Iterator[Any]:
    """Values, with lists of them flattened."""
    for value in given:
        if type(value) in (list, tuple):
            yield from value
        else:
            yield value


def answer(
    fn: Callable[..., Any], args: Arguments, kwargs: Keywords, relevant: Arguments | None = None
) -> Any:
    """The result of an override by the innermost mode or an argument's class; `NOBODY` if there is none.

    Args:
        fn: the function, as overrides get it
        args: of the call
        kwargs: of the call
        relevant: the values whose classes may override; None: all arguments
    """
    asked = (*args, *kwargs.values()) if relevant is None else relevant
    found = [] if thread.without_classes else overloaded(asked)
    stack = () if thread.without_modes else thread.modes
    if not found and not stack:
        return NOBODY
    types = tuple(type(value) for value in found)
    if stack:
        thread.modes = stack[:-1]
        try:
            result = stack[-1].__torch_function__(fn, types, args, kwargs)
        finally:
            thread.modes = stack
        if result is not NotImplemented:
            return result
    for value in found:
        result = type(value).__torch_function__(fn, types, args, kwargs)
        if result is not NotImplemented:
            return result
    everyone = [*([type(stack[-1])] if stack else []), *types]
    raise TypeError(
        f"Multiple dispatch failed for '{_full_name(fn)}'; all __torch_function__ handlers returned "
        f"NotImplemented:\n\n" + "\n".join(f"  - {cls.__name__}" for cls in everyone)
    )


def _full_name(fn: Any) -> str:
    return f"{getattr(fn, '__module__', None)}.{fn.__name__}"


class of_subclasses:  # noqa: N801
    """A class method that only subclasses have, not the class itself.

    So PyTorch, in the same process, does not take our tensors for subclasses of its own.
    """

    def __init__(self, fn: Callable[..., Any]) -> None:
        self.fn = fn

    def __set_name__(self, owner: type, name: str) -> None:
        self.owner, self.name = owner, name

    def __get__(self, instance: Any, cls: type) -> Any:
        if cls is self.owner:
            raise AttributeError(self.name)
        return partial(self.fn, cls)


def is_plain(values: Arguments) -> bool:
    """Whether none of these values' classes has overrides."""
    return not any(overrides(type(value)) for value in _values(values))


def register(cls: type, base: type) -> None:
    """Register a new subclass of Tensor; if it has overrides, properties call them, too."""
    if not overrides(cls):
        return
    overriding.add(cls)
    watched.append(cls)
    for name, found in vars(base).items():
        if isinstance(found, property) and getattr(cls, name, None) is found and name != "__dict__":
            setattr(cls, name, _asking_property(found))


def _asking_property(found: property) -> property:
    def get(self: Any) -> Any:
        result = answer(found.__get__, (self,), {})
        return found.__get__(self) if result is NOBODY else result

    def put(self: Any, value: Any) -> None:
        if answer(found.__set__, (self, value), {}) is NOBODY:
            found.__set__(self, value)

    return property(get, put if found.fset else None, found.fdel, found.__doc__)


def is_watched(first: Any, second: Any = None) -> bool:
    """Whether a mode, or the class of a tensor, may override a call."""
    return bool(function_modes) or type(first) in overriding or type(second) in overriding


def asking(fn: Callable[..., Any]) -> Callable[..., Any]:
    """A method that checks for overrides first; methods without arguments, and operators, have a fast path."""

    def alone(self: Any) -> Any:
        if watched and is_watched(self):
            result = answer(alone, (self,), {})
            if result is not NOBODY:
                return result
        return fn(self)

    def operator(self: Any, other: Any) -> Any:
        if watched and is_watched(self, other):
            result = answer(operator, (self, other), {})
            if result is not NOBODY:
                return result
        return fn(self, other)

    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        if watched and is_watched(self):
            result = answer(call, (self, *args), kwargs)
            if result is not NOBODY:
                return result
        return fn(self, *args, **kwargs)

    made = {1: alone, 2: operator}.get(_places(fn), call)
    made.asks = True  # type: ignore[attr-defined]
    return wraps(fn)(made)


def _places(fn: Any) -> int:
    """The number of positional parameters of a function; 0 if it has others, too."""
    code = fn.__code__
    varies = code.co_flags & (CO_VARARGS | CO_VARKEYWORDS) or code.co_kwonlyargcount
    by_name = code.co_argcount > 1 and not fn.__name__.startswith("__")
    return 0 if varies or by_name or fn.__defaults__ else code.co_argcount


class TorchFunctionMode:
    """Overrides all public functions within `with`: a subclass defines `__torch_function__`."""

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        """The override; within it, this mode is inactive."""
        raise NotImplementedError

    def __enter__(self) -> Any:
        function_modes.append(self)
        watched.append(self)
        thread.modes = (*thread.modes, self)
        return self

    def __exit__(self, *_: object) -> None:
        thread.modes = thread.modes[:-1]
        function_modes.remove(self)
        watched.remove(self)

    @classmethod
    def push(cls, *args: Any, **kwargs: Any) -> Any:
        """A new mode (deprecated)."""
        return cls(*args, **kwargs)


class BaseTorchFunctionMode(TorchFunctionMode):
    """A mode that changes nothing."""

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        return func(*args, **(kwargs or {}))


class DisableTorchFunctionSubclass:
    """Disables overrides by classes within `with`."""

    def __enter__(self) -> None:
        thread.without_classes += 1

    def __exit__(self, *_: object) -> None:
        thread.without_classes -= 1


class DisableTorchFunction(DisableTorchFunctionSubclass):
    """Disables all overrides within `with`."""

    def __enter__(self) -> None:
        super().__enter__()
        thread.without_modes += 1

    def __exit__(self, *_: object) -> None:
        thread.without_modes -= 1
        super().__exit__()
