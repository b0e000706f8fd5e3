"""Noting what happens, and how long it takes.

While something is recorded, the functions by which operations compute are replaced by ones that
look at the clock; the rest of the time nothing is different. Operations, derivatives, steps of
optimizers and the program's own ranges lie within each other like brackets.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import perf_counter_ns
from typing import Any

import numpy as np

from ..autograd.modes import _Mode
from ..ops.record import REGISTRY, OpNode
from ..optim.optimizer import (
    register_optimizer_step_post_hook,
    register_optimizer_step_pre_hook,
)
from .events import FunctionEvent

PARTS = ("compute", "write", "ufunc")
"""The functions of an operation that do the work."""

_recorders: list[Recorder] = []


class Recorder:
    """Events from `start` to `stop`."""

    def __init__(self, shapes: bool = False) -> None:
        self.shapes = shapes
        self.events: list[FunctionEvent] = []
        self.open = threading.local()  # per thread: events that have not ended
        self.undo: list[Callable[[], Any]] = []

    def start(self) -> None:
        """Begin to note what happens."""
        self.begun = perf_counter_ns()
        for op in REGISTRY.values():
            for part in PARTS:
                fn = getattr(op, part)
                if fn is not None:
                    setattr(op, part, self._timed(f"aten::{op.name.removeprefix('_')}", fn))
                    self.undo.append(functools.partial(setattr, op, part, fn))
        backward = OpNode.backward
        OpNode.backward = self._timed_backward(backward)  # type: ignore[method-assign]
        self.undo.append(lambda: setattr(OpNode, "backward", backward))
        self.undo.append(register_optimizer_step_pre_hook(self._step_begins).remove)
        self.undo.append(register_optimizer_step_post_hook(self._step_ends).remove)
        _recorders.append(self)

    def stop(self) -> None:
        """Stop, and let operations be what they were."""
        _recorders.remove(self)
        while self.undo:
            self.undo.pop()()

    def _timed(self, name: str, fn: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(fn)
        def call(*args: Any, **kwargs: Any) -> Any:
            shapes = [_shape(x) for x in args] if self.shapes else []
            with self.range(name, shapes):
                return fn(*args, **kwargs)

        return call

    def _timed_backward(self, backward: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(backward)
        def call(node: Any, gradients: Any) -> Any:
            with self.range(node.name()):
                return backward(node, gradients)

        return call

    def _step_begins(self, optimizer: Any, *_: Any) -> None:
        self.enter(f"Optimizer.step#{type(optimizer).__name__}.step")

    def _step_ends(self, *_: Any) -> None:
        self.leave()

    # --- Brackets ------------------------------------------------------------------------------

    def enter(self, name: str, shapes: list[Any] | None = None) -> None:
        """Something begins."""
        stack = self._stack()
        stack.append(FunctionEvent(name, perf_counter_ns() - self.begun, shapes or []))

    def leave(self) -> None:
        """What began last has ended."""
        stack = self._stack()
        if not stack:
            return  # it began before the recording did
        event = stack.pop()
        event.end(perf_counter_ns() - self.begun)
        if stack:
            stack[-1].add_child(event)
        self.events.append(event)

    @contextmanager
    def range(self, name: str, shapes: list[Any] | None = None) -> Iterator[None]:
        """Note how long something takes."""
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
    return list(x.shape) if isinstance(x, np.ndarray) else []


class record_function(_Mode):  # noqa: N801
    """Give part of a program a name in the record: `with record_function("name"):`."""

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
        """One like this, for a call of its own."""
        return record_function(self.name, self.args)
