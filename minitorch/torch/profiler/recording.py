"""Recording of operations and their durations.

A recorder is an interpreter that reads the clock before and after each operation. Operations, derivatives, steps of
optimizers and the program's own ranges are nested.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from time import perf_counter_ns
from typing import Any

from ..autograd.modes import _Mode
from ..interpreters import GlobalInterpreter
from ..optim.optimizer import register_optimizer_step_post_hook, register_optimizer_step_pre_hook
from ..tensor import Tensor
from .events import FunctionEvent

_recorders: list[Recorder] = []


class Recorder(GlobalInterpreter):
    """Events from `start` to `stop`."""

    def __init__(self, shapes: bool = False) -> None:
        self.shapes = shapes
        self.events: list[FunctionEvent] = []
        self.open = threading.local()  # per thread: events that have not ended

    def start(self) -> None:
        """Start recording."""
        self.begun = perf_counter_ns()
        self.step_hooks = [
            register_optimizer_step_pre_hook(self._step_begins),
            register_optimizer_step_post_hook(self._step_ends),
        ]
        self.install()
        _recorders.append(self)

    def stop(self) -> None:
        """Stop recording."""
        _recorders.remove(self)
        self.remove()
        for hook in self.step_hooks:
            hook.remove()

    def operation(self, op: Any, inputs: Any, params: Any, perform: Any) -> Any:
        name = f"aten::{op.name.removeprefix('_')}"
        stack = self._stack()
        if (
            stack and stack[-1].name == name
        ):  # a function that is known by the name of its one operation
            return perform(op, inputs, params)
        shapes = [_shape(x) for x in inputs] if self.shapes else []
        with self.range(name, shapes):
            return perform(op, inputs, params)

    def backward(self, node: Any, gradients: Any, perform: Any) -> Any:
        with self.range(node.name()):
            return perform(node, gradients)

    def _step_begins(self, optimizer: Any, *_: Any) -> None:
        self.enter(f"Optimizer.step#{type(optimizer).__name__}.step")

    def _step_ends(self, *_: Any) -> None:
        self.leave()

    # --- Brackets ------------------------------------------------------------------------------

    def enter(self, name: str, shapes: list[Any] | None = None) -> None:
        """Begin an event."""
        stack = self._stack()
        stack.append(FunctionEvent(name, perf_counter_ns() - self.begun, shapes or []))

    def leave(self) -> None:
        """End the innermost event."""
        stack = self._stack()
        if not stack:
            return  # it began before the recording
        event = stack.pop()
        event.end(perf_counter_ns() - self.begun)
        if stack:
            stack[-1].add_child(event)
        self.events.append(event)

    @contextmanager
    def range(self, name: str, shapes: list[Any] | None = None) -> Iterator[None]:
        """Record a range within `with`."""
        self.enter(name, shapes)
        try:
            yield
        finally:
            self.leave()

    def _stack(self) -> list[FunctionEvent]:
        if not hasattr(self.open, "stack"):
            self.open.stack = []
        return self.open.stack


def _shape(x: Any) -> list[int]:
    return list(x.shape) if isinstance(x, Tensor) else []


class record_function(_Mode):  # noqa: N801
    """Record part of a program under a name: `with record_function("name"):`."""

    def __init__(self, name: str, args: str | None = None) -> None:
        self.name, self.args = name, args

    def __enter__(self) -> record_function:
        self.recorders = list(_recorders)
        for recorder in self.recorders:
            recorder.enter(self.name)
        return self

    def __exit__(self, *_: object) -> None:
        for recorder in self.recorders:
            recorder.leave()

    def clone(self) -> record_function:
        """A copy, for another call."""
        return record_function(self.name, self.args)
