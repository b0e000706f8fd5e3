"""Functions of one number, of two and of a list: values and slopes as the library gives them."""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import minitorch
from minitorch import operators, scalar_functions
from minitorch.testing import MathTest, MathTestVariable

from .expression import PLAIN, ExpressionError, compute, names, parse

OPERATORS = {
    "id": "x * 1",
    "neg": "-x",
    "inv": "1 / x",
    "exp": "exp(x)",
    "log": "log(x)",
    "sigmoid": "sigmoid(x)",
    "relu": "relu(x)",
    "add": "x + y",
    "mul": "x * y",
    "max": "relu(x - y) + y",
    "lt": "x < y",
    "eq": "x == y",
    "is_close": "(x - y < 0.01) * (y - x < 0.01)",
    "log_back": "y / (x + 0.000001)",
    "inv_back": "-y / (x * x)",
    "relu_back": "(x > 0) * y",
}
"""The functions of task 0.1, and how each is written with Scalars or Tensors."""

ONE = {
    "neg": "-x",
    "addConstant": "x + 5",
    "square": "x * x",
    "cube": "x * x * x",
    "subConstant": "x - 5",
    "multConstant": "5 * x",
    "div": "x / 5",
    "inv": "1 / (x + 3.5)",
    "sig": "sigmoid(x)",
    "log": "log(x + 100000)",
    "relu": "relu(x + 5.5)",
    "exp": "exp(x - 200)",
    "explog": "log(x + 100000) + exp(x - 200)",
    "complex": "log(sigmoid(relu(relu(10 * x + 7) * 6 + 5) * 10)) / 50",
}
TWO = {
    "add2": "x + y",
    "mul2": "x * y",
    "div2": "x / (y + 5.5)",
    "gt2": "x + 1.2 > y",
    "lt2": "x + 1.2 < y",
    "eq2": "x == y + 5.5",
}
REDUCE = {
    "sum_red": "the sum of [x, y]",
    "mean_red": "the mean of [x, y] over dimension 0",
    "mean_full_red": "the mean of all of [x, y]",
}

KNOWN: dict[str, Callable[..., Any]] = {
    "neg": lambda a: operators.neg(a),
    "inv": lambda a: operators.inv(a),
    "exp": lambda a: operators.exp(a),
    "log": lambda a: operators.log(a),
    "sigmoid": lambda a: operators.sigmoid(a),
    "relu": lambda a: operators.relu(a),
    "max": lambda a, b: operators.max(a, b),
}
"""What an expression may call, on plain numbers."""

SIGNS: dict[str, Callable[[Any, Any], Any]] = {
    "+": lambda a, b: operators.add(a, b),
    "-": lambda a, b: operators.add(a, operators.neg(b)),
    "*": lambda a, b: operators.mul(a, b),
    "/": lambda a, b: operators.mul(a, operators.inv(b)),
    "<": lambda a, b: operators.lt(a, b),
    ">": lambda a, b: operators.lt(b, a),
    "==": lambda a, b: operators.eq(a, b),
}
"""What its signs mean there."""

METHODS: dict[str, Callable[..., Any]] = {
    "neg": lambda a: -a,
    "inv": lambda a: 1.0 / a,
    "max": lambda a, b: METHODS["relu"](a - b) + b,
    **{name: lambda a, name=name: _method(name, a) for name in ("exp", "log", "sigmoid", "relu")},
}
"""What it may call on Scalars and Tensors, and on the numbers between them."""


def _method(name: str, value: Any) -> Any:
    return KNOWN[name](value) if isinstance(value, float) else getattr(value, name)()


Point = Sequence[float]
Function = Callable[..., Any]
OUTSIDE = (ArithmeticError, ValueError)
"""What a function raises outside its domain; there it has no value."""


# --- Which function -------------------------------------------------------------------------


def check(text: str) -> list[str]:
    """The variables of what a user typed; ExpressionError says what is not allowed."""
    tree = parse(text)
    found = names(tree)
    if not found or not set(found) <= {"x", "y"}:
        raise ExpressionError("the variables are x, or x and y")
    blanks = {name: _blank(2 if name == "max" else 1) for name in KNOWN}
    compute(tree, {"x": 0.0, "y": 0.0}, blanks, dict.fromkeys(SIGNS, _blank(2)) | {"@": _refuse})
    return sorted(found)


def _blank(arguments: int) -> Function:
    """A function of `arguments` numbers that gives 0, to see whether an expression can be called."""
    return (lambda a: 0.0) if arguments == 1 else (lambda a, b: 0.0)


def _refuse(a: Any, b: Any) -> Any:
    raise ExpressionError("@ multiplies matrices; x and y are numbers here, take *")


def on_numbers(kind: str, name: str) -> Function:
    """A function on plain numbers, from `operators`; a reduction takes x and y as a list."""
    if kind == "operators":
        return getattr(operators, name)
    if kind == "typed":
        tree, variables = parse(name), check(name)
        return lambda *at: compute(tree, dict(zip(variables, at, strict=True)), KNOWN, SIGNS)
    function = getattr(MathTest, name)
    return (lambda *at: function(list(at))) if kind == "reduce" else function


def on_variables(kind: str, name: str) -> Function:
    """The same on Scalars or Tensors, through their methods."""
    if kind in ("operators", "typed"):
        text = OPERATORS[name] if kind == "operators" else name
        tree, variables = parse(text), names(parse(text))
        return lambda *at: compute(
            tree, dict(zip(sorted(variables), at, strict=True)), METHODS, PLAIN
        )
    return getattr(MathTestVariable, name)


CLASSES = {
    "neg": "Neg", "inv": "Inv", "exp": "Exp", "log": "Log", "sigmoid": "Sigmoid", "relu": "ReLU",
    "add": "Add", "mul": "Mul", "lt": "LT", "eq": "EQ",
}  # fmt: skip
"""The function of Scalars that belongs to an operator."""


def source(kind: str, name: str) -> list[dict[str, Any]]:
    """The code behind a function: file, first line and text of each part of it."""
    if kind == "typed":
        called = [each for each in KNOWN if f"{each}(" in name]
        return [_code(getattr(operators, each)) for each in called]
    if kind != "operators":
        return [_code(getattr(MathTest, name))]
    parts = [getattr(operators, name)]
    if name in CLASSES:
        parts.append(getattr(scalar_functions, CLASSES[name]))
    return [_code(part) for part in parts]


def _code(part: Any) -> dict[str, Any]:
    lines, first = inspect.getsourcelines(part)
    file = Path(inspect.getsourcefile(part) or "?").name
    return {"file": file, "line": first, "code": textwrap.dedent("".join(lines))}


# --- Values and slopes at points ------------------------------------------------------------


def values(kind: str, name: str, points: Sequence[Point]) -> list[float | None]:
    """The value at each point; None where there is none."""
    function = on_numbers(kind, name)
    return [_number(function, *point) for point in points]


def central(
    kind: str, name: str, points: Sequence[Point], epsilon: float
) -> list[list[float | None]]:
    """The slopes in each argument at each point, by central difference."""
    function = on_numbers(kind, name)
    return [
        [_slope(function, point, arg, epsilon) for arg in range(len(point))] for point in points
    ]


def _slope(function: Function, point: Point, arg: int, epsilon: float) -> float | None:
    return _number(minitorch.central_difference, function, *point, arg=arg, epsilon=epsilon)


def by_step(kind: str, name: str, point: Point, epsilons: Sequence[float]) -> dict[str, Any]:
    """The slope in the first argument for each step size: central, and to the right only."""
    function = on_numbers(kind, name)
    moved = [(point[0] + epsilon, *point[1:]) for epsilon in epsilons]
    here, there = _number(function, *point), [_number(function, *at) for at in moved]
    forward = [
        None if here is None or value is None else (value - here) / epsilon
        for value, epsilon in zip(there, epsilons, strict=True)
    ]
    return {"central": [_slope(function, point, 0, e) for e in epsilons], "forward": forward}


def autodiff(kind: str, name: str, points: Sequence[Point], variable: str) -> dict[str, Any]:
    """Values and slopes by `backward`, with `Scalar` or `Tensor`; None where there are none."""
    function = on_variables(kind, name)
    walk = {"Scalar": _by_scalars, "Tensor": _by_tensors, "list": _by_list}
    how = walk["list" if kind == "reduce" else variable]
    found = [how(function, point) for point in points]
    return {"values": [v for v, _ in found], "slopes": [d for _, d in found]}


def _by_scalars(function: Function, point: Point) -> tuple[float | None, list[float | None]]:
    try:
        leaves = [minitorch.Scalar(float(value)) for value in point]
        out = function(*leaves)
        out.backward()
    except OUTSIDE:
        return None, [None] * len(point)
    return _plain(out.data), [_plain(leaf.derivative) for leaf in leaves]


def _by_tensors(function: Function, point: Point) -> tuple[float | None, list[float | None]]:
    try:
        leaves = [minitorch.tensor([float(value)], requires_grad=True) for value in point]
        out = function(*leaves)
        out.backward(minitorch.tensor([1.0]))
    except OUTSIDE:
        return None, [None] * len(point)
    return _plain(out[0]), [None if leaf.grad is None else _plain(leaf.grad[0]) for leaf in leaves]


def _by_list(function: Function, point: Point) -> tuple[float | None, list[float | None]]:
    row = minitorch.tensor([float(value) for value in point], requires_grad=True)
    out = function(row)
    out.backward(minitorch.tensor([1.0]))
    slopes: list[float | None] = [None] * len(point)
    if row.grad is not None:
        slopes = [_plain(row.grad[i]) for i in range(len(point))]
    return _plain(out[0]), slopes


def _number(function: Function, *at: Any, **options: Any) -> float | None:
    try:
        return _plain(function(*at, **options))
    except OUTSIDE:
        return None


def _plain(value: Any) -> float | None:
    """A number as JSON knows it."""
    if value is None:
        return None
    number = float(value)
    return number if number - number == 0 else None


# --- Lists ------------------------------------------------------------------------------------


def fold(name: str, numbers: Sequence[float]) -> dict[str, Any]:
    """What a reduction gives, and the running total on the way there."""
    totals: list[float] = []

    def add(total: float, number: float) -> float:
        totals.append(operators.add(total, number))
        return totals[-1]

    operators.reduce(add, 0.0)(numbers)
    return {"totals": totals, "result": float(getattr(MathTest, name)(numbers))}
