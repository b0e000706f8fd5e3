"""Interpreters: what sees an operation before it is performed, and may do something else instead.

Autocast, the profiler and a program's `TorchDispatchMode` are interpreters. The door (`bind` in
`ops/record.py`) looks at one list; while that is empty, an operation costs nothing more. Each
interpreter is given the operation, its inputs and parameters, and a function that performs it,
which asks the interpreters below and, last, computes. What an interpreter does itself is not
shown to it again; the operations that a composite function is made of are.
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
    """Sees what a thread computes, from `install` to `remove`."""

    def operation(
        self, op: Any, inputs: Inputs, params: Params, perform: Callable[[Any, Inputs, Params], Any]
    ) -> Any:
        """The result of an operation, as `perform(op, inputs, params)` gives it.

        Args:
            op: a record, an `Update` or a `Composite`: its `name`, in `writes` which inputs it
                changes, and `perform(inputs, params)`, which asks nobody
            inputs: tensors and plain values
            params: what is given by name
            perform: does it
        """
        return perform(op, inputs, params)

    def backward(self, node: Any, gradients: Any, perform: Callable[[Any, Any], Any]) -> Any:
        """The gradients that a node of the graph sends on, as `perform(node, gradients)` gives them."""
        return perform(node, gradients)

    def choosing(self, found: Any, skips: bool) -> AbstractContextManager[Any]:
        """Around what is done only as long as a tensor's number is 0, and whether it is left out now."""
        return nullcontext()

    def install(self) -> None:
        """Be asked first, in this thread, from now on."""
        _thread.stack = (*_thread.stack, self)
        installed.append(self)

    def install_last(self) -> None:
        """Be asked last, in this thread, from now on: see operations as they are performed, what autocast made of them."""
        _thread.stack = (self, *_thread.stack)
        installed.append(self)

    def remove(self) -> None:
        """Be asked no more."""
        stack = _thread.stack
        last = max(i for i, each in enumerate(stack) if each is self)
        _thread.stack = stack[:last] + stack[last + 1 :]
        installed.remove(self)

    def is_asked(self) -> bool:
        """Whether it would be asked now: not while it, or one below it, does something itself."""
        return self in _thread.stack


class GlobalInterpreter(Interpreter):
    """Sees what all threads compute. It performs no operations of its own."""

    def install(self) -> None:
        _of_all_threads.append(self)
        installed.append(self)

    def remove(self) -> None:
        _of_all_threads.remove(self)
        installed.remove(self)


installed: list[Interpreter] = []
"""The interpreters of all threads: while there are none, nobody is asked."""

_of_all_threads: list[Interpreter] = []


def is_interpreted() -> bool:
    """Whether an interpreter sees the operations of this thread."""
    return bool(_thread.stack or _of_all_threads)


class _Thread(threading.local):
    stack: tuple[Interpreter, ...] = ()  # those to ask, the first one last


_thread = _Thread()


def interpret(op: Any, inputs: Inputs, params: Params) -> Any:
    """Let the interpreters perform an operation."""
    return _ask_all("operation", _perform, op, inputs, params)


NOBODY = object()
"""The answer to an operation that nobody answers."""

answers: list[Callable[[Any, Inputs, Params], Any]] = []
"""What asks the classes of inputs, last of all, if there are classes that answer (`wrappers.py`)."""


def _perform(op: Any, inputs: Inputs, params: Params) -> Any:
    for ask in answers:
        result = ask(op, inputs, params)
        if result is not NOBODY:
            return result
    return op.perform(inputs, params)


def unless(found: Any, act: Callable[[], Any]) -> Any:
    """The result of a function; None where a tensor's number is not 0, and then it is not called."""
    skips = bool(found._array)
    with ExitStack() as around:
        for each in _thread.stack:
            around.enter_context(each.choosing(found, skips))
        return None if skips else act()


def interpret_backward(node: Any, gradients: Any) -> Any:
    """Let the interpreters take gradients through a node of the graph."""
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
    """A function that is made of operations and known to interpreters by its name."""

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
    """A function that writes into the memory of some of its inputs, and is made of nothing smaller."""

    def __init__(self, name: str, compute: Callable[..., Any], writes: tuple[int, ...]) -> None:
        super().__init__(name, compute)
        self.writes = writes


class Exchange(Update):
    """An update in which other ranks take part: it is done once, and in the same order on all of them."""


def composite(fn: Callable[..., Any], name: str = "") -> Callable[..., Any]:
    """Let interpreters see a function of tensors as a whole, before they see what it is made of."""
    return _shown(Composite(name or fn.__name__, fn))


def update(*writes: int) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Let interpreters see a function that writes into some of its inputs, given by their places; without any, one that checks values."""
    return lambda fn: _shown(Update(fn.__name__, fn, writes))


def exchange(*writes: int) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Let interpreters see a function that exchanges tensors with other ranks, and writes into some of its inputs."""
    return lambda fn: _shown(Exchange(fn.__name__, fn, writes))


unseen: dict[Callable[..., Any], Callable[..., Any]] = {}
"""Of functions that interpreters see as a whole: what they call while there are no interpreters."""


def _shown(record: Composite) -> Callable[..., Any]:
    fn = record.compute

    @wraps(fn)
    def call(*args: Any, **kwargs: Any) -> Any:
        if installed:
            return interpret(record, args, kwargs)
        return fn(*args, **kwargs) if kwargs else fn(*args)  # the second is sooner

    unseen[call] = fn
    return call
