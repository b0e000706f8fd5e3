"""Lessons 0 and 1: what a student's functions of numbers, modules and scalars are asked."""

from __future__ import annotations

import dis
import types
from collections.abc import Callable, Sequence
from functools import cache
from itertools import pairwise
from typing import Any

import minitorch
from minitorch import module, operators, scalar_functions
from minitorch.scalar import Scalar

# --- Lesson 0 ------------------------------------------------------------------------------


def called_by(fn: Callable[..., Any]) -> list[str]:
    """The functions of operators.py that a function calls."""
    loads = {i.argval for i in dis.get_instructions(fn) if i.opname == "LOAD_GLOBAL"}
    return sorted(n for n in loads if callable(vars(operators).get(n)))


def kind(value: Any) -> list[Any]:
    """A value and the name of its type."""
    return [type(value).__name__, value]


def alone(fn: Any, *arguments: Any) -> Any:
    """What a function gives where it can call no other function of its file, as in a kernel."""
    if not isinstance(fn, types.FunctionType):
        return fn(*arguments)
    known = {n: v for n, v in fn.__globals__.items() if not callable(v)}
    known["__builtins__"] = fn.__globals__.get("__builtins__", __builtins__)
    made = types.FunctionType(fn.__code__, known, fn.__name__, fn.__defaults__, fn.__closure__)
    return made(*arguments)


def minus(x: float, y: float) -> float:
    return x - y


def line_of(slope: float, offset: float) -> Callable[[float], float]:
    return lambda x: slope * x + offset


def plane_of(a: float, b: float) -> Callable[[float, float], float]:
    return lambda x, y: a * x + b * y


def twice(fn: Callable[[Any], Any], given: Any) -> list[Any]:
    """What a function gives the first and the second time."""
    return [fn(given), fn(given)]


def unchanged(fn: Callable[..., Any], given: list[float]) -> list[float]:
    """The list that a function was given, afterwards."""
    fn(*[given] * (2 if fn is operators.addLists else 1))
    return given


def tree() -> Any:
    root, a, b, c = (module.Module() for _ in range(4))
    root.p, a.p, c.p = (module.Parameter(float(i)) for i in range(3))
    root.a, root.b, b.c = a, b, c
    return root


def modes_after_eval(root: Any) -> list[bool]:
    root.eval()
    return [root.training, root.a.training, root.b.training, root.b.c.training]


def built(parts: dict[str, Any]) -> Any:
    """A tree of modules: numbers are parameters, dictionaries are children."""
    root = module.Module()
    for name, part in parts.items():
        setattr(root, name, built(part) if isinstance(part, dict) else module.Parameter(part))
    return root


def named(root: Any) -> list[Any]:
    return [[name, p.value] for name, p in root.named_parameters()]


def unnamed(root: Any) -> list[Any]:
    return [p.value for p in root.parameters()]


def at(root: Any, path: str) -> Any:
    for name in path.split(".") if path else ():
        root = getattr(root, name)
    return root


def modes(root: Any, *calls: tuple[str, str]) -> list[bool]:
    """Whether each module of a tree is training, after calls of `train` and `eval` at places."""
    for path, method in calls:
        getattr(at(root, path), method)()
    queue, found = [root], []
    while queue:
        current = queue.pop(0)
        found.append(current.training)
        queue += current.modules()
    return found


def assigned(root: Any, name: str, value: Any) -> list[Any]:
    setattr(root, name, value)
    return named(root)


def added(root: Any, name: str, value: Any) -> list[Any]:
    made = root.add_parameter(name, value)
    return [type(made).__name__, made.value, made.name, named(root)]


def names(root: Any) -> list[str]:
    return [name for name, _ in root.named_parameters()]


def replaced() -> Any:
    root = module.Module()
    root.p = module.Parameter(1.0)
    root.p = "no parameter any more"
    return root


def asked_for_gradient() -> bool:
    class Value:
        asked = False

        def requires_grad_(self, x: bool) -> None:
            self.asked = x

    return module.Parameter(Value()).value.asked


# --- Lesson 1 ------------------------------------------------------------------------------


def cube(x: float) -> float:
    return x * x * x


def square(x: float) -> float:
    return x * x


def hundreds(x: float, y: float) -> float:
    return 100.0 * x + y


def polynomial(*factors: float) -> Callable[[float], float]:
    """The function f0 + f1 x + f2 x² + ..."""
    return lambda x: sum(f * x**n for n, f in enumerate(factors))


def weighted(*weights: float) -> Callable[..., float]:
    """A function of several numbers: the sum of their squares times weights."""
    return lambda *given: sum(w * x * x for w, x in zip(weights, given, strict=True))


def constant_scalar(x: float = 1.0) -> Any:
    made = Scalar(x)
    made.requires_grad_(False)
    return made


def forward_of(name: str, *inputs: float) -> Any:
    """What a function computes from plain numbers."""
    return getattr(scalar_functions, name).forward(minitorch.Context(), *inputs)


def computed(x: Any) -> list[Any]:
    """A scalar's number, and whether it is a constant or a leaf."""
    return [x.data, x.is_constant(), x.is_leaf()]


def last_function(x: Any) -> str:
    return x.history.last_fn.__name__ if x.history and x.history.last_fn else "none"


@cache
def weighted_sum(*weights: float) -> Any:
    """A function of several scalars, whose derivatives are these."""

    class WeightedSum(scalar_functions.ScalarFunction):
        @staticmethod
        def forward(ctx: Any, *inputs: float) -> float:
            return sum(w * x for w, x in zip(weights, inputs, strict=True))

        @staticmethod
        def backward(ctx: Any, d_output: float) -> Any:
            found = [w * d_output for w in weights]
            return tuple(found) if len(found) > 1 else found[0]

    return WeightedSum


def chained(weights: Sequence[float], given: Sequence[Any], d: float) -> list[Any]:
    """What chain_rule gives for a weighted sum: which input, no constant, and the derivative for it."""
    pairs: Any = weighted_sum(*weights).apply(*given).chain_rule(d)
    kept = [(v, dv) for v, dv in pairs if not v.is_constant()]
    return sorted([next(i for i, x in enumerate(given) if x is v), dv] for v, dv in kept)


def _chain_rule(d: float, *inputs: Any) -> list[Any]:
    pairs: Any = weighted_sum(10.0, 100.0).apply(*inputs).chain_rule(d)
    return [(v.data, x) for v, x in pairs]


def chain_rule_of_two(d: float) -> list[Any]:
    return _chain_rule(d, Scalar(1.0), Scalar(2.0))


def chain_rule_with_a_constant(d: float) -> list[Any]:
    return _chain_rule(d, Scalar(1.0), constant_scalar())


class V:
    """A variable of a graph, with a fixed derivative for each parent."""

    count = 0

    def __init__(self, name: str, *parents: V, constant: bool = False) -> None:
        V.count += 1
        self.unique_id = V.count
        self.name, self.parents, self.constant = name, list(parents), constant
        self.derivative: Any = None
        self.slope: float | None = None
        self.history = None if constant else ()  # not part of the protocol, but Scalars have one

    def is_leaf(self) -> bool:
        return not self.parents

    def is_constant(self) -> bool:
        return self.constant

    def chain_rule(self, d: float) -> list[Any]:
        return [
            (p, d * (self.slope or i + 2)) for i, p in enumerate(self.parents) if not p.constant
        ]

    def accumulate_derivative(self, x: float) -> None:
        self.derivative = x if self.derivative is None else self.derivative + x

    def below(self) -> list[V]:
        """This and all it was computed from, each once."""
        found, queue = {}, [self]
        while queue:
            node = queue.pop()
            if node.unique_id not in found:
                found[node.unique_id] = node
                queue += node.parents
        return list(found.values())


def diamond() -> V:
    z = V("z")
    return V("h", V("log(z)", z), V("exp(z)", V("2 z", z)))


def ladder() -> V:
    x = V("x")
    a = V("a", x)
    b = V("b", a, x)
    return V("c", x, b, a)


def with_constant() -> V:
    return V("y", V("x"), V("5", constant=True))


def line() -> V:
    return V("y", V("u", V("x")))


def deep(n: int, first: str = "x") -> V:
    top = V(first)
    for i in range(n):
        top = V(str(i), top)
    return top


def graph(slopes: Sequence[float], parents: Sequence[Sequence[int]], constant: Any = ()) -> V:
    """Variables with these parents, each of which comes earlier; the last one of them."""
    made: list[V] = []
    for i, (slope, earlier) in enumerate(zip(slopes, parents, strict=True)):
        made.append(V(str(i), *[made[p] for p in earlier], constant=i in constant))
        made[-1].slope = slope
    return made[-1]


def order(top: V) -> list[int]:
    """The numbers of variables in topological order."""
    return [int(node.name) for node in minitorch.topological_sort(top)]  # type: ignore


def leaf_derivatives(top: V, d: float) -> list[Any]:
    minitorch.backpropagate(top, d)  # type: ignore[arg-type]
    return sorted(([int(v.name), v.derivative] for v in top.below() if not v.parents), key=_first)


def _first(pair: Sequence[Any]) -> Any:
    return pair[0]


def deep_order(n: int) -> list[int]:
    """How many variables of a chain are in order, and at how many steps a parent comes next."""
    found = [int(node.name) for node in minitorch.topological_sort(deep(n, first="-1"))]  # type: ignore
    return [len(found), sum(a == b + 1 for a, b in pairwise(found))]


def deep_derivative(n: int, d: float) -> list[Any]:
    """The derivative at the far end of a chain."""
    top = deep(n, first="0")
    for node in top.below():
        node.slope = 1.0
    return leaf_derivatives(top, d)


def order_problems(top: V) -> list[str]:
    order = minitorch.topological_sort(top)  # type: ignore[arg-type]
    place: dict[str, int] = {}
    problems = []
    for i, node in enumerate(order):
        if node.name in place:  # type: ignore[attr-defined]
            problems.append(f"{node.name} twice")  # type: ignore[attr-defined]
        place.setdefault(node.name, i)  # type: ignore[attr-defined]
        if node.is_constant():
            problems.append(f"constant {node.name}")  # type: ignore[attr-defined]
    for node in top.below():
        if node.constant:
            continue
        if node.name not in place:
            problems.append(f"{node.name} missing")
        for parent in node.parents:
            if place.get(parent.name, len(order)) < place.get(node.name, -1):
                problems.append(f"{parent.name} before {node.name}")
    return sorted(problems)[:4]


def derivatives(top: V, d: float) -> list[Any]:
    minitorch.backpropagate(top, d)  # type: ignore[arg-type]
    return [node.derivative for node in top.below() if not node.parents]


class Pair:
    """A derivative that is no number: pairs are added to pairs only."""

    def __init__(self, *parts: float) -> None:
        self.parts = list(parts)

    def __add__(self, other: Pair) -> Pair:
        if not isinstance(other, Pair):
            return NotImplemented
        return Pair(*(x + y for x, y in zip(self.parts, other.parts, strict=True)))

    def __mul__(self, factor: float) -> Pair:
        return Pair(*(x * factor for x in self.parts))


class PairOrZero(Pair):
    """One to which the number 0 may be added, as to numbers and to tensors."""

    def __add__(self, other: Any) -> PairOrZero:
        return self if other == 0 else PairOrZero(*super().__add__(other).parts)

    __radd__ = __add__

    def __mul__(self, factor: float) -> PairOrZero:
        return PairOrZero(*super().__mul__(factor).parts)


def derivatives_of_equal_values() -> list[Any]:
    a, b = Scalar(2.0), Scalar(2.0)
    (3.0 * a + 5.0 * b).backward()
    return [a.derivative, b.derivative]


def derivative_in_pairs() -> Any:
    z = V("z")
    minitorch.backpropagate(V("h", V("a", z), V("b", z)), Pair(1.0, 10.0))  # type: ignore[arg-type]
    return z.derivative and z.derivative.parts


def pair_derivatives(top: V, *parts: float) -> list[Any]:
    """As `leaf_derivatives`, with derivatives that are no numbers."""
    minitorch.backpropagate(top, PairOrZero(*parts))  # type: ignore[arg-type]
    leaves = [v for v in top.below() if not v.parents and v.derivative is not None]
    return sorted([int(v.name), *v.derivative.parts] for v in leaves)


def derivative_after_two_backwards() -> Any:
    x = Scalar(2.0)
    (x * 3.0).backward()
    (x * 3.0).backward()
    return x.derivative


def scalar_back(name: str, d: float, *inputs: float) -> Any:
    """The derivatives that a function passes back, given d."""
    ctx = minitorch.Context()
    function = getattr(scalar_functions, name)
    function.forward(ctx, *inputs)
    return function.backward(ctx, d)


def passed_back(name: str, d: float, *inputs: float) -> list[float]:
    """The derivatives that a function passes back, one for each input."""
    ctx = minitorch.Context()
    function = getattr(scalar_functions, name)
    function.forward(ctx, *inputs)
    return list(function._backward(ctx, d))


def gradients(fn: Callable[..., Any], *inputs: float, times: int = 1) -> list[Any]:
    """The value of a function of scalars, and the derivative for each input."""
    given = [Scalar(x) for x in inputs]
    out: Any = None
    for _ in range(times):
        out = fn(*given)
        out.backward()
    return [out.data, *[x.derivative for x in given]]
