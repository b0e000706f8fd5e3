"""Expressions that a user types: parsed into a tree and computed node by node, never executed."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from typing import Any

LIMIT = 200
"""Characters that an expression may have."""

_BINARY: dict[type[ast.operator], str] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.MatMult: "@",
}
_COMPARE: dict[type[ast.cmpop], str] = {ast.Lt: "<", ast.Gt: ">", ast.Eq: "=="}


class ExpressionError(ValueError):
    """What the user typed is no expression we know; the text says which part."""


Node = ast.expr
Values = Mapping[str, Any]
Functions = Mapping[str, Callable[..., Any]]
Operators = Mapping[str, Callable[[Any, Any], Any]]

PLAIN: dict[str, Callable[[Any, Any], Any]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": lambda a, b: a / b,
    "@": lambda a, b: a @ b,
    "<": lambda a, b: a < b,
    ">": lambda a, b: a > b,
    "==": lambda a, b: a == b,
}
"""What the signs mean for values that know them, such as Scalar and Tensor."""


def parse(text: str) -> Node:
    """The tree of an expression; ExpressionError if it has anything but numbers and known signs."""
    if len(text) > LIMIT:
        raise ExpressionError(f"at most {LIMIT} characters, these are {len(text)}")
    try:
        tree = ast.parse(text.strip().replace("^", "**"), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise ExpressionError(f"{text!r} is not an expression, such as x * y + log(x)") from None
    _check(tree)
    return tree


def _check(node: ast.AST, depth: int = 0) -> None:
    allowed = (
        ast.Constant, ast.Name, ast.BinOp, ast.UnaryOp, ast.Compare, ast.Call, ast.Attribute,
        ast.operator, ast.unaryop, ast.cmpop, ast.expr_context,
    )  # fmt: skip
    if depth > 50 or not isinstance(node, allowed):
        raise ExpressionError(f"{_source(node)} cannot be used in an expression here")
    if isinstance(node, ast.Constant) and (
        isinstance(node.value, bool) or not isinstance(node.value, (int, float))
    ):
        raise ExpressionError(f"{_source(node)} is not a number")
    if isinstance(node, ast.Attribute) and node.attr.startswith("_"):
        raise ExpressionError(f"no function {node.attr}")
    if isinstance(node, ast.Call) and node.keywords:
        raise ExpressionError("functions take plain arguments here: log(x), x.sum(0)")
    for child in ast.iter_child_nodes(node):
        _check(child, depth + 1)


def names(node: Node) -> list[str]:
    """The variables of an expression, in the order in which they appear."""
    called = {id(n.func) for n in ast.walk(node) if isinstance(n, ast.Call)}
    found = [n for n in ast.walk(node) if isinstance(n, ast.Name) and id(n) not in called]
    found.sort(key=lambda n: n.col_offset)
    return list(dict.fromkeys(n.id for n in found))


def compute(node: Node, values: Values, functions: Functions, signs: Operators = PLAIN) -> Any:
    """The value of an expression.

    Args:
        node: what `parse` gave
        values: what each variable stands for
        functions: what may be called, as log(x) or x.log()
        signs: what + and its like mean
    """
    match node:
        case ast.Constant():
            return float(node.value)  # type: ignore[arg-type]
        case ast.Name():
            if node.id not in values:
                raise ExpressionError(f"no variable {node.id}; there are {', '.join(values)}")
            return values[node.id]
        case ast.UnaryOp(op=ast.USub()):
            return _apply(functions, "neg", [compute(node.operand, values, functions, signs)])
        case ast.BinOp(op=ast.Pow()):
            return _power(node, values, functions, signs)
        case ast.BinOp() if type(node.op) in _BINARY:
            left = compute(node.left, values, functions, signs)
            right = compute(node.right, values, functions, signs)
            return signs[_BINARY[type(node.op)]](left, right)
        case ast.Compare() if len(node.ops) == 1 and type(node.ops[0]) in _COMPARE:
            left = compute(node.left, values, functions, signs)
            right = compute(node.comparators[0], values, functions, signs)
            return signs[_COMPARE[type(node.ops[0])]](left, right)
        case ast.Call(func=ast.Name(id=name), args=given):
            arguments = [compute(a, values, functions, signs) for a in given]
            return _apply(functions, name, arguments)
        case ast.Call(func=ast.Attribute(value=owner, attr=name), args=given):
            arguments = [compute(a, values, functions, signs) for a in [owner, *given]]
            return _apply(functions, name, arguments)
    raise ExpressionError(f"{_source(node)} cannot be used in an expression here")


def _power(node: ast.BinOp, values: Values, functions: Functions, signs: Operators) -> Any:
    """A whole power as a product."""
    times = node.right.value if isinstance(node.right, ast.Constant) else None
    if not isinstance(times, int) or not 1 <= times <= 6:
        raise ExpressionError("powers are whole numbers from 1 to 6: x ** 2")
    base = compute(node.left, values, functions, signs)
    result = base
    for _ in range(times - 1):
        result = signs["*"](result, base)
    return result


def _apply(functions: Functions, name: str, arguments: list[Any]) -> Any:
    if name not in functions:
        raise ExpressionError(f"no function {name}; there are {', '.join(sorted(functions))}")
    try:
        return functions[name](*arguments)
    except TypeError as error:
        if "positional argument" in str(error):
            raise ExpressionError(f"{name} does not take {len(arguments)} arguments") from None
        raise


def _source(node: ast.AST) -> str:
    try:
        return ast.unparse(node)
    except (ValueError, AttributeError):
        return type(node).__name__
