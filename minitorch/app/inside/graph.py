"""An expression as a graph: its values, the library's own walk backward, and numeric slopes."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

import minitorch
from minitorch import autodiff

from .expression import PLAIN, ExpressionError, Functions, Node, Operators, compute, names, parse

MOST = 40
"""Boxes that a graph may have."""


# --- What was typed --------------------------------------------------------------------------


def read(text: str) -> list[tuple[str, Node]]:
    """The lines of `z = x * y; log(z) + exp(z)`: names with their expressions, the last unnamed."""
    lines: list[tuple[str, Node]] = []
    parts = [part.strip() for part in text.split(";") if part.strip()]
    if not parts:
        raise ExpressionError("type an expression, such as x * y + log(x)")
    for number, part in enumerate(parts):
        name, sign, rest = part.partition("=")
        named = bool(sign) and not rest.startswith("=")
        if named and not name.strip().isidentifier():
            raise ExpressionError(f"{name.strip()!r} is not a name, as in z = x * y")
        if not named and number < len(parts) - 1:
            raise ExpressionError(f"{part!r} needs a name, as in z = {part}")
        lines.append((name.strip(), parse(rest)) if named else ("", parse(part)))
    return lines


def variables(text: str) -> list[str]:
    """The names that need a value."""
    known: set[str] = set()
    found: list[str] = []
    for name, node in read(text):
        found += [n for n in names(node) if n not in known and n not in found]
        known.add(name)
    return found


# --- From the expression to its graph ----------------------------------------------------------


def _numbers() -> tuple[Functions, Operators]:
    """What an expression over Scalars may use."""
    functions: dict[str, Callable[..., Any]] = {"neg": lambda x: -x}
    for name in ("log", "exp", "sigmoid", "relu"):
        functions[name] = lambda x, name=name: getattr(_lift(x, minitorch.Scalar), name)()

    def no_matrices(a: Any, b: Any) -> Any:
        raise ExpressionError("@ multiplies matrices: switch to tensors for it")

    return functions, PLAIN | {"@": no_matrices}


def _tensors() -> tuple[Functions, Operators]:
    """What an expression over Tensors may use."""

    def as_tensor(value: float) -> Any:
        return minitorch.tensor([value], requires_grad=False)

    functions: dict[str, Callable[..., Any]] = {"neg": lambda x: -x}
    for name in ("log", "exp", "sigmoid", "relu", "contiguous"):
        functions[name] = lambda x, name=name: getattr(_lift(x, as_tensor), name)()
    for name in ("sum", "mean", "permute", "view"):
        functions[name] = lambda x, *given, name=name: getattr(_lift(x, as_tensor), name)(
            *[_whole(name, g) for g in given]
        )
    product = {"@": lambda a, b: _lift(a, as_tensor) @ _lift(b, as_tensor)}
    return functions, PLAIN | product


def _lift(value: Any, make: Callable[[float], Any]) -> Any:
    return make(value) if isinstance(value, float) else value


def _whole(name: str, value: Any) -> int:
    if not isinstance(value, float) or not value.is_integer():
        raise ExpressionError(f"{name} takes whole numbers here, such as {name}(x, 0)")
    return int(value)


class Graph:
    """The boxes of an expression, in the order in which they were computed."""

    def __init__(self, kind: str, text: str, values: dict[str, Any]) -> None:
        functions, signs = _numbers() if kind == "numbers" else _tensors()
        known: dict[str, Any] = {}
        for name, value in values.items():
            known[name] = (
                minitorch.Scalar(float(value)) if kind == "numbers" else minitorch.tensor(value)
            )
        self.names = {variable.unique_id: name for name, variable in known.items()}
        result: Any = None
        for name, node in read(text):
            result = compute(node, known, functions, signs)
            if name:
                known[name] = result
                if hasattr(result, "unique_id"):
                    self.names.setdefault(result.unique_id, name)
        if not hasattr(result, "history") or result.history is None:
            raise ExpressionError("there is no variable in it: use a name, such as x")
        self.kind, self.result = kind, result
        self.nodes = self._collect()
        self.numbers = {node.unique_id: number for number, node in enumerate(self.nodes)}

    def _collect(self) -> list[Any]:
        found, waiting = {}, [self.result]
        while waiting:
            node = waiting.pop()
            if node.unique_id not in found:
                found[node.unique_id] = node
                waiting += [p for p in _arguments(node) if _is_variable(p)]
            if len(found) > MOST:
                raise ExpressionError(f"this makes more than {MOST} boxes; take a shorter one")
        return [found[key] for key in sorted(found)]

    def inputs(self, node: Any) -> list[int]:
        """The numbers of the boxes that a box was computed from."""
        return [self.numbers[p.unique_id] for p in _arguments(node) if _is_variable(p)]

    def describe(self, node: Any) -> dict[str, Any]:
        """One box."""
        fn = node.history.last_fn if node.history else None
        return {
            "name": self.names.get(node.unique_id, ""),
            "function": fn.__name__ if fn else "",
            "more": [plain(v) for v in _arguments(node) if not _is_variable(v)],
            "constant": node.history is None,
            "value": plain(node),
            "shape": list(node.shape) if hasattr(node, "shape") else None,
            "inputs": self.inputs(node),
        }


def _arguments(node: Any) -> list[Any]:
    return list(node.history.inputs) if node.history else []


def _is_variable(value: Any) -> bool:
    return hasattr(value, "unique_id")


def plain(value: Any) -> Any:
    """A value of the library as numbers and lists."""
    if hasattr(value, "to_numpy"):
        return value.to_numpy().tolist()
    if isinstance(value, (list, tuple)):
        return [plain(v) for v in value]
    if value is None or isinstance(value, (int, float, str)):
        return value
    return float(value.data) if hasattr(value, "data") else str(value)


@contextmanager
def _explained(answer: dict[str, Any]) -> Iterator[None]:
    """Turn what cannot be computed into words; a function that is still to be written passes."""
    try:
        yield
    except ExpressionError as error:
        answer["wrong"] = str(error)
    except minitorch.IndexingError as error:
        answer["wrong"] = f"the shapes do not fit: {error}"
    except OverflowError:
        answer["wrong"] = "a number in it grows too large; take smaller values"
    except ZeroDivisionError:
        answer["wrong"] = "it divides by 0 there; take other values"
    except ValueError as error:
        if "math domain" not in str(error):
            raise
        answer["wrong"] = "log needs numbers above 0; take other values"


# --- Forward, with the slope of the result by every box ------------------------------------------


def forward(kind: str, text: str, values: dict[str, Any]) -> dict[str, Any]:
    """Every box with its value, in the order of computation, and its slope by small steps.

    With `wrong` instead where the expression has no value.
    """
    answer: dict[str, Any] = {}
    with _explained(answer):
        graph = Graph(kind, text, values)
        answer["nodes"] = [graph.describe(node) for node in graph.nodes]
        for number, node in enumerate(graph.nodes):
            if node.history is not None:
                answer["nodes"][number]["slopes"] = slopes(graph, number)
    return answer


def slopes(graph: Graph, number: int) -> dict[str, Any]:
    """How the result (its sum) changes with a box: central, and to either side."""
    start = np.array(plain(graph.nodes[number]), dtype=float)
    central, left, right = (np.zeros(start.shape) for _ in range(3))
    here = _recompute(graph, number, start)
    for index in np.ndindex(start.shape):
        step = 1e-5 * max(1.0, abs(start[index]))
        above, below = start.copy(), start.copy()
        above[index] += step
        below[index] -= step
        high, low = _recompute(graph, number, above), _recompute(graph, number, below)
        central[index] = (high - low) / (2 * step)
        left[index], right[index] = (here - low) / step, (high - here) / step
    return {"central": central.tolist(), "left": left.tolist(), "right": right.tolist()}


def _recompute(graph: Graph, number: int, value: np.ndarray) -> float:
    """The sum of the result, had box `number` this value."""
    known: dict[int, Any] = {number: _bare(graph, value)}
    for later, node in enumerate(graph.nodes[number + 1 :], number + 1):
        if not any(source in known for source in graph.inputs(node)):
            continue
        arguments = [
            known.get(graph.numbers[a.unique_id], _bare(graph, a)) if _is_variable(a) else a
            for a in _arguments(node)
        ]
        try:
            known[later] = node.history.last_fn.forward(minitorch.Context(), *arguments)
        except (ArithmeticError, ValueError):
            return math.nan
    return float(np.sum(plain(known.get(len(graph.nodes) - 1, 0.0))))


def _bare(graph: Graph, value: Any) -> Any:
    """A value as a function's forward takes it: a number, or a tensor without history."""
    if graph.kind == "numbers":
        return float(value.data) if hasattr(value, "unique_id") else float(value)
    if hasattr(value, "unique_id"):
        return value.detach()
    return minitorch.Tensor.make(value.ravel().tolist(), value.shape)


# --- Backward, as the library walks ----------------------------------------------------------------


def backward(kind: str, text: str, values: dict[str, Any]) -> dict[str, Any]:
    """The library's walk backward: the order it chose, and what each step took and gave.

    A step is a call of `chain_rule`, or of `accumulate_derivative` on a leaf. Beside it stands
    what the dictionary of `backpropagate` held after it, where there is one.
    """
    answer: dict[str, Any] = {}
    with _explained(answer):
        graph = Graph(kind, text, values)
        walk = Walk(graph)
        result = graph.result
        with walk.watching():
            if kind == "numbers":
                result.backward()
            else:
                result.backward(minitorch.Tensor.make([1.0] * result.size, result.shape))
        answer |= walk.report()
        answer["leaves"] = [
            [number, plain(node.derivative if kind == "numbers" else node.grad)]
            for number, node in enumerate(graph.nodes)
            if node.is_leaf()
        ]
    return answer


def _kept(values: Any) -> Any:
    """Values that can be gone through twice: what runs only once is made a list."""
    return list(values) if iter(values) is values else values


class Walk:
    """Watches `backpropagate`: who is asked for derivatives, in which order, with what."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.order: list[int] | None = None
        self.steps: list[dict[str, Any]] = [{"seen": []}]
        self.dictionary = ""

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Record while the block runs."""
        kind = type(self.graph.result)
        chain_rule, accumulate = kind.chain_rule, kind.accumulate_derivative
        sort = autodiff.topological_sort

        def watched_chain_rule(node: Any, d_output: Any) -> Any:
            pairs = _kept(chain_rule(node, d_output))
            self._note(node, d_output, pairs)
            return pairs

        def watched_accumulate(node: Any, x: Any) -> None:
            self._note(node, x, [])
            accumulate(node, x)

        def watched_sort(variable: Any) -> Any:
            order = _kept(sort(variable))
            self.order = [self._number(v) for v in order]
            return order

        before = sys.gettrace()
        kind.chain_rule, kind.accumulate_derivative = watched_chain_rule, watched_accumulate
        autodiff.topological_sort = watched_sort
        sys.settrace(self._look)
        try:
            yield
        finally:
            sys.settrace(before)
            kind.chain_rule, kind.accumulate_derivative = chain_rule, accumulate
            autodiff.topological_sort = sort

    def _number(self, variable: Any) -> int:
        return self.graph.numbers.get(getattr(variable, "unique_id", -1), -1)

    def _note(self, node: Any, derivative: Any, pairs: Any) -> None:
        """A step: the box, what it had, and what goes along each of its arrows."""
        inputs = self.graph.inputs(node)
        free = list(range(len(inputs)))
        gives = []
        for parent, d in pairs:
            number = self._number(parent)
            slot = next((s for s in free if inputs[s] == number), -1)
            if slot >= 0:
                free.remove(slot)
            gives.append({"to": number, "slot": slot, "derivative": plain(d)})
        number = self._number(node)
        took = plain(derivative)
        self.steps.append({"node": number, "took": took, "gives": gives, "seen": []})

    def _look(self, frame: Any, event: str, arg: Any) -> Any:
        """Keep what the dictionary of `backpropagate` holds, line by line."""
        if frame.f_code.co_name != "backpropagate":
            return None
        for name, value in frame.f_locals.items():
            if isinstance(value, dict) and (name == self.dictionary or self._is_waiting(value)):
                self.dictionary = name
                held = [[self._key(key), plain(d)] for key, d in value.items()]
                self.steps[-1]["seen"].append(held)
        return self._look

    def _key(self, key: Any) -> int:
        return self.graph.numbers.get(key, -1) if isinstance(key, int) else self._number(key)

    def _is_waiting(self, value: dict[Any, Any]) -> bool:
        return bool(value) and all(self._key(key) >= 0 for key in value)

    def report(self) -> dict[str, Any]:
        """The order and the steps; each with the dictionary just before the next box is taken."""
        for step, following in zip(self.steps, [*self.steps[1:], {}], strict=True):
            seen = step.pop("seen")
            wanted = following.get("node", -1)
            with_next = [held for held in seen if any(key == wanted for key, _ in held)]
            step["held"] = (with_next or seen or [None])[-1]
        return {"order": self.order, "start": self.steps[0]["held"], "steps": self.steps[1:]}
