"""Interpreters: objects that see an operation before it is performed, and may do something else instead.

Autocast, the profiler and a program's `TorchDispatchMode` are interpreters. `bind` in `ops/record.py`
checks one list; while that is empty, an operation costs nothing more. Each interpreter is
called with the operation, its inputs and parameters, and a function that performs it, which calls
the next interpreter and, last, computes. Operations that an interpreter performs itself do not
come back to it; those that a composite function consists of do.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, ExitStack, nullcontext
from functools import partial, wraps
from typing import Any

Inputs = Sequence[Any]
Params = dict[str, Any]


class Interpreter:
    """Sees the operations of a thread, from `install` to `remove`."""

    def operation(
        self, op: Any, inputs: Inputs, params: Params, perform: Callable[[Any, Inputs, Params], Any]
    ) -> Any:
        """The result of an operation, by default `perform(op, inputs, params)`.

        Args:
            op: a record, an `Update` or a `Composite`, with a `name`, `writes` (the inputs that it
                changes), and `perform(inputs, params)`, which bypasses interpreters
            inputs: tensors and plain values
            params: keyword arguments
            perform: performs it
        """
        return perform(op, inputs, params)

    def backward(self, node: Any, gradients: Any, perform: Callable[[Any, Any], Any]) -> Any:
        """The gradients that a node of the graph sends on, by default `perform(node, gradients)`."""
        return perform(node, gradients)

    def choosing(self, found: Any, skips: bool) -> AbstractContextManager[Any]:
        """A context for code that runs only if a tensor's number is 0; its value: whether to skip it now."""
        return nullcontext()

    def install(self) -> None:
        """Become the first interpreter of this thread."""
        _thread.stack = (*_thread.stack, self)
        installed.append(self)

    def install_last(self) -> None:
        """Become the last interpreter of this thread: see operations as they are performed, after autocast."""
        _thread.stack = (self, *_thread.stack)
        installed.append(self)

    def remove(self) -> None:
        """Stop interpreting."""
        stack = _thread.stack
        last = max(i for i, each in enumerate(stack) if each is self)
        _thread.stack = stack[:last] + stack[last + 1 :]
        installed.remove(self)

    def is_asked(self) -> bool:
        """Whether it would be called now: not while it, or one after it, performs operations itself."""
        return self in _thread.stack


class GlobalInterpreter(Interpreter):
    """Sees the operations of all threads. It performs no operations itself."""

    def install(self) -> None:
        _of_all_threads.append(self)
        installed.append(self)

    def remove(self) -> None:
        _of_all_threads.remove(self)
        installed.remove(self)


installed: list[Interpreter] = []
"""The interpreters of all threads; while it is empty, operations skip `interpret`."""

_of_all_threads: list[Interpreter] = []


def is_interpreted() -> bool:
    """Whether an interpreter sees the operations of this thread."""
    return bool(_thread.stack or _of_all_threads)


def is_seen(inputs: Inputs) -> bool:
    """Whether an interpreter, or the class of an input, sees an operation."""
    return is_interpreted() or not answering.isdisjoint(map(type, inputs))


class _Thread(threading.local):
    stack: tuple[Interpreter, ...] = ()  # the interpreters to call, the first one last


_thread = _Thread()


def interpret(op: Any, inputs: Inputs, params: Params) -> Any:
    """Perform an operation through the interpreters."""
    return _ask_all("operation", _perform, op, inputs, params)


NOBODY = object()
"""The result if no class handles an operation."""

answering: set[type] = set()
"""Classes of tensors that handle operations themselves."""

answers: list[Callable[[Any, Inputs, Params], Any]] = []
"""Calls the classes of inputs that handle operations, after all interpreters (`wrappers.py`)."""


def _perform(op: Any, inputs: Inputs, params: Params) -> Any:
    for ask in answers:
        result = ask(op, inputs, params)
        if result is not NOBODY:
            return result
    return op.perform(inputs, params)


def unless(found: Any, act: Callable[[], Any]) -> Any:
    """Call a function if a tensor's number is 0; else return None."""
    skips = bool(found._array)
    with ExitStack() as around:
        for each in _thread.stack:
            around.enter_context(each.choosing(found, skips))
        return None if skips else act()


def interpret_backward(node: Any, gradients: Any) -> Any:
    """Compute the gradients of a node through the interpreters."""
    return _ask_all("backward", lambda node, gradients: node.backward(gradients), node, gradients)


def _ask_all(question: str, perform: Callable[..., Any], *call: Any) -> Any:
    stack = _thread.stack
    everyone = (*stack, *_of_all_threads)

    def ask(count: int, *call: Any) -> Any:
        before = _thread.stack
        _thread.stack = stack[: count - 1] if count else stack
        try:
            if not count:
                return perform(*call)
            return getattr(everyone[count - 1], question)(*call, partial(ask, count - 1))
        finally:
            _thread.stack = before

    return ask(len(everyone), *call)


class Composite:
    """A function that is composed of operations, and is visible to interpreters by its name."""

    writes: tuple[int, ...] = ()

    def __init__(self, name: str, compute: Callable[..., Any]) -> None:
        self.name = name
        self.compute = compute

    def perform(self, inputs: Inputs, params: Params) -> Any:
        """Call the function."""
        return self.compute(*inputs, **params)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name})"


class Update(Composite):
    """A primitive function that writes into the memory of some of its inputs."""

    def __init__(self, name: str, compute: Callable[..., Any], writes: tuple[int, ...]) -> None:
        super().__init__(name, compute)
        self.writes = writes


class Exchange(Update):
    """An update in which other ranks take part: it must run once, in the same order on all ranks."""


def composite(fn: Callable[..., Any], name: str = "") -> Callable[..., Any]:
    """Make a composite function visible to interpreters as a whole, before its operations."""
    return _shown(Composite(name or fn.__name__, fn))


def update(*writes: int) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Make a function that writes into inputs at these positions visible to interpreters; without any, one that checks values."""
    return lambda fn: _shown(Update(fn.__name__, fn, writes))


def exchange(*writes: int) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Make a function that exchanges tensors with other ranks, and writes into some inputs, visible to interpreters."""
    return lambda fn: _shown(Exchange(fn.__name__, fn, writes))


unseen: dict[Callable[..., Any], Callable[..., Any]] = {}
"""For functions that interpreters see as a whole: the function called while there are no interpreters."""


def _shown(record: Composite) -> Callable[..., Any]:
    fn = record.compute

    @wraps(fn)
    def call(*args: Any, **kwargs: Any) -> Any:
        if installed:
            return interpret(record, args, kwargs)
        return fn(*args, **kwargs) if kwargs else fn(*args)  # the second is faster

    unseen[call] = fn
    return call
