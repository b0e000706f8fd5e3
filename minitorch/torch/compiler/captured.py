"""`torch.compile` with a backend of one's own: a function that is given a graph, and returns what is called instead.

The graph has the calls that the program makes, as Torch writes them: functions, methods and operators, with all
tensors that they read as inputs. It is captured by running the call: first, so that its code is known and guards see all that it
reads; then twice more, which must give the same. What these runs write into tensors is put back, and the function that the backend
returns does the work. A call that cannot be captured stays as it was run.
"""

from __future__ import annotations

import copy
import dis
import inspect
import operator
import sys
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import CodeType, FrameType
from typing import Any

from ..autograd.graph import modes
from ..autograd.modes import _set_grad_enabled
from ..fx.graph_module import GraphModule
from ..fx.node import Node
from ..fx.recording import Recorder
from ..nn.modules.module import Module
from ..overriding import TorchFunctionMode
from ..random import get_rng_state, set_rng_state
from ..tensor import Tensor
from ..utils._pytree import tree_flatten, tree_leaves, tree_unflatten
from .compiled import Compiled, Traced
from .equality import same_tape
from .reading import COMPILER, CannotTrace, Reading, is_of_library, is_of_program, place_of
from .state import mode_state
from .tracing import Tracer

_KEEPS = frozenset(("STORE_ATTR", "STORE_SUBSCR", "STORE_GLOBAL", "STORE_DEREF", "DELETE_ATTR", "DELETE_SUBSCR"))  # fmt: skip
_CHANGES = frozenset(
    ("append", "extend", "insert", "pop", "popitem", "remove", "clear", "sort", "reverse", "update", "setdefault", "add",
     "discard", "appendleft", "popleft", "rotate")
)  # fmt: skip
_OPERATORS = frozenset(("BINARY_OP", "COMPARE_OP", "UNARY_NEGATIVE", "UNARY_INVERT"))
_SPELLED = {"div": "truediv", "bitwise_and": "and_", "bitwise_or": "or_", "bitwise_xor": "xor", "bitwise_not": "invert",
            "remainder": "mod", "floor_divide": "floordiv"}  # fmt: skip
"""Operators that Python calls otherwise."""
_UNSEEN = frozenset(
    (
        "backward",
        "register_hook",
        "retain_grad",
        "register_post_accumulate_grad_hook",
        "set_",
        "grad",
    )
)
"""What changes more than the memory of tensors, or reads what is no input."""


class Captured(Compiled):
    """A function whose calls are given, as graphs, to a backend."""

    def __init__(
        self, fn: Callable[..., Any], fullgraph: bool, name: str, backend: Callable[..., Any]
    ) -> None:
        super().__init__(fn, fullgraph, name)
        self.backend = backend

    def __deepcopy__(self, memo: Any) -> Captured:
        return Captured(copy.deepcopy(self.fn, memo), self.fullgraph, self.name, self.backend)

    def __reduce__(self) -> Any:
        found = super().__reduce__()
        return found if isinstance(found, str) else (Captured, (*found[1], self.backend))

    def _trace(self, args: tuple[Any, ...], kwargs: dict[str, Any], state: Any) -> Any:
        earlier: Traced | None = None
        while True:
            result = None
            try:
                traced, tracer = self._begin(args, kwargs, state)
            except CannotTrace as reason:
                self._stay_eager(str(reason))
                return self.fn(*args, **kwargs)
            tracer.reading = reading = _Reading()
            before = _Before(tracer)
            calls = _Calls(tracer, self._names(args, kwargs, traced))
            with calls.recording():
                result = self._run(tracer, args, kwargs)
            try:
                settled = self._is_settled(traced, tracer, result)
                if settled and earlier is not None and same_tape(earlier.tape, traced.tape):
                    graph = calls.finished(result, traced)
                    break
            except CannotTrace as reason:
                self._stay_eager(str(reason))
                return result
            if not settled and reading.keeps():
                return result  # what it kept must not be done again
            earlier = traced if settled else None
            before.restore()
        before.restore()
        return self._handed_over(traced, graph, calls)(traced.given.tensors)

    def _handed_over(self, traced: Traced, graph: GraphModule, calls: _Calls) -> Any:
        """What plays a call from now on: what the backend makes of its graph."""
        compute: Any = self.backend(graph, list(calls.inputs.values()))
        if not callable(compute):
            raise TypeError(
                f"the backend of {self.name!r} returned {type(compute).__name__}, not a function"
            )
        places = {id(tensor): i for i, tensor in enumerate(traced.given.tensors)}
        sources = [(places.get(id(t)), t) for t in calls.inputs.values()]

        def play(tensors: list[Tensor]) -> Any:
            results: Any = compute(*(t if i is None else tensors[i] for i, t in sources))
            made = iter(results)
            leaves = [next(made) if isinstance(x, Tensor) else x for x in calls.leaves]
            return tree_unflatten(leaves, calls.spec)

        traced.play = play
        traced.once.acquire()  # no programs are made of its tape
        self.traced.append(traced)
        self.unstable = 0
        return play

    def _names(self, args: Any, kwargs: Any, traced: Traced) -> dict[int, str]:
        """What tensors are called, by their addresses."""
        names: dict[int, str] = {}
        of = getattr(self.fn, "__self__", None)
        if isinstance(of, Module):
            for kind, found in (("parameters", of.named_parameters()), ("buffers", of.named_buffers())):  # fmt: skip
                for path, tensor in found:
                    *within, name = path.split(".")
                    names[id(tensor)] = "_".join(["self", *(f"modules_{m}" for m in within), kind, name])  # fmt: skip
        try:
            bound = inspect.signature(of.forward if isinstance(of, Module) else self.fn).bind(*args, **kwargs)  # fmt: skip
        except (TypeError, ValueError):
            return names
        for name, value in bound.arguments.items():
            _name_leaves(value, name, names)
        return names


def _name_leaves(value: Any, name: str, names: dict[int, str]) -> None:
    if isinstance(value, Tensor):
        names.setdefault(id(value), name)
    elif isinstance(value, dict):
        for key, each in value.items():
            _name_leaves(each, f"{name}_{key}", names)
    elif isinstance(value, (list, tuple)):
        for place, each in enumerate(value):
            _name_leaves(each, f"{name}_{place}", names)


class _Reading(Reading):
    """Also notices what a second run would do once more, and functions with a backward of their own."""

    changes = False

    def keeps(self) -> bool:
        """Whether the call may have changed something besides tensors."""
        programs = [code for code, owner in self.codes.items() if owner == "program"]
        return self.changes or any(map(_stores, programs))

    def _called(self, frame: FrameType, code: CodeType, owner: str) -> None:
        if code.co_name == "apply" and code.co_filename.endswith("autograd/function.py"):
            self._stop(frame, "it calls a function with a backward of its own")
        super()._called(frame, code, owner)

    def _called_c(self, frame: FrameType, fn: Any) -> None:
        of = getattr(fn, "__self__", None)
        if isinstance(of, (list, dict, set, deque)) and fn.__name__ in _CHANGES:
            self.changes |= is_of_program(frame)
        super()._called_c(frame, fn)


def _stores(code: CodeType) -> bool:
    """Whether code changes attributes, items or variables that are not its own."""
    return any(each.opname in _KEEPS for each in dis.get_instructions(code))


class _Before:
    """Tensors and the generator as they were."""

    def __init__(self, tracer: Tracer) -> None:
        self.kept = [(t, t._version, t.detach().clone()) for t, _ in tracer.watched]
        self.random = get_rng_state()

    def restore(self) -> None:
        """Undo what was written since."""
        set_rng_state(self.random)
        for tensor, version, value in self.kept:
            if tensor._version != version:
                tensor.detach().copy_(value)


class _Calls(Recorder):
    """Writes the calls that a program makes of Torch's functions, and operations that it comes to without one.

    Attributes:
        inputs: tensors from outside, in the order of their placeholders
        leaves: the results, without their structure
        spec: that structure
    """

    def __init__(self, tracer: Tracer, names: dict[int, str]) -> None:
        super().__init__(self._placeholder)
        self.tracer, self.names = tracer, names
        self.known = {id(t) for t, _ in tracer.watched}
        self.inputs: dict[Node, Tensor] = {}
        self.state, self.grad = mode_state()[1:], modes.grad

    @contextmanager
    def recording(self) -> Iterator[None]:
        """Write what happens within `with`."""
        self.install_last()
        try:
            with _Mode(self):
                yield
        finally:
            self.remove()

    def finished(self, result: Any, traced: Traced) -> GraphModule:
        """The graph, with the tensors of a result as its outputs."""
        self.leaves, self.spec = tree_flatten(result)
        self._set_grad(traced.state[0])
        self.graph.output(tuple(self.node_of(x) for x in self.leaves if isinstance(x, Tensor)))
        self._check()
        return GraphModule(self.constants, self.graph)

    def call(self, func: Any, args: Any, kwargs: dict[str, Any]) -> Any:
        """Perform a call, and write it if it gives or changes tensors."""
        if func is Tensor.__iter__:
            return iter(self.call(vars(Tensor)["unbind"], args, kwargs))
        tensors = [x for x in tree_leaves((args, kwargs)) if isinstance(x, Tensor)]
        versions = _versions(tensors)
        self._reading.inside += 1
        try:
            result = func(*args, **kwargs)
        finally:
            self._reading.inside -= 1
        made = any(isinstance(x, Tensor) for x in tree_leaves(result))
        if made or versions != _versions(tensors):
            self.tracer.reading.inside += 1
            try:
                self._write_call(func, args, kwargs, result)
            finally:
                self.tracer.reading.inside -= 1
        elif func.__name__ in _UNSEEN:
            self._stop(f"it calls {func.__name__!r}")
        return result

    def _write(self, *of: Any) -> None:
        self._set_grad(modes.grad)
        super()._write(*of)

    def _write_call(self, func: Any, args: Any, kwargs: dict[str, Any], result: Any) -> None:
        name = func.__name__
        if mode_state()[1:] != self.state:
            self._stop("it changes settings within")
        if name in _UNSEEN:
            self._stop(f"it calls {name!r}")
        self._set_grad(modes.grad)
        if vars(Tensor).get(name) is not func:
            self._add(func, args, kwargs, result)
            return
        target, args = _operator(name, args) if _by_operator() or name.startswith("__") else (None, args)  # fmt: skip
        if target is not None:
            self._add(target, args, kwargs, result)
            return
        node = self.graph.call_method(name, *self.argument((args, kwargs)))
        for place, each in enumerate(result if isinstance(result, (list, tuple)) else ()):
            if isinstance(each, Tensor):
                self._note((node, place), each)
        if isinstance(result, Tensor):
            self._note(node, result)

    def _set_grad(self, enabled: bool) -> None:
        if enabled != self.grad:
            self.grad = enabled
            self.graph.call_function(_set_grad_enabled, (enabled,))

    def _placeholder(self, tensor: Tensor) -> Node | None:
        """An input for a tensor that was there before."""
        if id(tensor) not in self.known:
            self._stop("it uses a tensor that no call of Torch's made")
            return None
        name = f"L_{self.names.get(id(tensor), f'tensor_{len(self.inputs)}')}_"
        last = next(reversed(self.inputs), None)
        with self.graph.inserting_before() if last is None else self.graph.inserting_after(last):
            node = self.graph.placeholder(name)
        self.inputs[node] = tensor
        return node

    def _stop(self, why: str) -> None:
        reading = self.tracer.reading
        reading.reason = reading.reason or CannotTrace(why, place_of(sys._getframe()))

    def _check(self) -> None:
        if self.tracer.reading.reason is not None:
            raise self.tracer.reading.reason


def _versions(tensors: list[Tensor]) -> list[int]:
    """How often each was written."""
    return [t._counter[0] if t._counter else 0 for t in tensors]


class _Mode(TorchFunctionMode):
    """Sees the calls."""

    def __init__(self, calls: _Calls) -> None:
        self.calls = calls

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return self.calls.call(func, args, kwargs or {})


def _by_operator() -> bool:
    """Whether what is called now was spelled as an operator."""
    frame: FrameType | None = sys._getframe()
    while frame is not None and _is_between(frame.f_code.co_filename):
        frame = frame.f_back
    return frame is not None and dis.opname[frame.f_code.co_code[frame.f_lasti]] in _OPERATORS


def _is_between(path: str) -> bool:
    """Whether a file only hands calls on."""
    return path.startswith(COMPILER) or (is_of_library(path) and ("/ops/" in path or path.endswith("/overriding.py")))  # fmt: skip


def _operator(name: str, args: Any) -> tuple[Any, Any]:
    """The operator for a method, and its arguments in order."""
    plain = name.strip("_")
    if name.startswith("__r") and hasattr(operator, plain[1:]):
        return getattr(operator, plain[1:]), args[::-1]
    in_place = not name.startswith("__") and name.endswith("_")
    plain = _SPELLED.get(plain, plain)
    found = getattr(operator, f"i{plain}" if in_place else plain, None)
    return found, args
