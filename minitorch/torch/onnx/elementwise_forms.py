"""What operations on single elements become in ONNX."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ..dtypes import bool_, dtype, float32, int64, promote_types
from ..fx.node import Node
from .building import FORMS, Builder, argument, arguments, form, type_of
from .errors import UnsupportedOperatorError

_SAME = {
    "abs": "Abs", "neg": "Neg", "exp": "Exp", "log": "Log", "sqrt": "Sqrt", "sin": "Sin", "cos": "Cos", "tan": "Tan",
    "asin": "Asin", "acos": "Acos", "atan": "Atan", "sinh": "Sinh", "cosh": "Cosh", "asinh": "Asinh", "acosh": "Acosh",
    "atanh": "Atanh", "floor": "Floor", "ceil": "Ceil", "round": "Round", "sign": "Sign", "erf": "Erf", "sigmoid": "Sigmoid",
    "tanh": "Tanh", "relu": "Relu", "reciprocal": "Reciprocal", "hardswish": "HardSwish", "mish": "Mish",
}  # fmt: skip
"""Operations of one argument that ONNX has, too; whole numbers become real ones first, where results are."""

_TESTS = {"isnan": "IsNaN", "isinf": "IsInf"}
_BINARY = {
    "add": "Add", "sub": "Sub", "mul": "Mul", "div": "Div", "maximum": "Max", "minimum": "Min",
}  # fmt: skip
_COMPARISONS = {
    "eq": "Equal", "gt": "Greater", "ge": "GreaterOrEqual", "lt": "Less", "le": "LessOrEqual",
}  # fmt: skip
_LOGICAL = {"logical_and": "And", "logical_or": "Or", "logical_xor": "Xor"}
_BITWISE = {"bitwise_and": "And", "bitwise_or": "Or", "bitwise_xor": "Xor"}


def common_type(*values: Any) -> dtype:
    """The type in which arguments are compared: tensors' types, numbers only where they are of a higher kind."""
    tensors = [type_of(v) for v in values if isinstance(v, Node)]
    found = tensors[0]
    for other in tensors[1:]:
        found = promote_types(found, other)
    for value in values:
        if isinstance(value, float) and not found.is_floating_point:
            found = float32
        if isinstance(value, int) and found is bool_:
            found = int64
    return found


for _name, _kind in _SAME.items():
    FORMS[_name] = lambda b, node, kind=_kind: b.add(kind, b.of(node.args[0], type_of(node)))
for _name, _kind in _TESTS.items():
    FORMS[_name] = lambda b, node, kind=_kind: b.add(kind, b.of(node.args[0]))
for _name, _kind in _BINARY.items():
    FORMS[_name] = lambda b, node, kind=_kind: _binary(b, node, kind)
for _name, _kind in _COMPARISONS.items():
    FORMS[_name] = lambda b, node, kind=_kind: _comparison(b, node, kind)
for _name, _kind in _LOGICAL.items():
    FORMS[_name] = lambda b, node, kind=_kind: b.add(kind, *(b.of(x, bool_) for x in node.args))
for _name, _kind in _BITWISE.items():
    FORMS[_name] = lambda b, node, kind=_kind: b.add(
        kind if type_of(node) is bool_ else f"Bitwise{kind}",
        *(b.of(x, type_of(node)) for x in node.args),
    )


def _binary(b: Builder, node: Node, kind: str) -> str:
    way = node.kwargs.get("rounding_mode")
    values = [b.of(x, type_of(node)) for x in node.args[:2]]
    if type_of(node) is bool_:
        return b.add({"Add": "Or", "Mul": "And", "Max": "Or", "Min": "And"}[kind], *values)
    alpha = node.kwargs.get("alpha", 1)
    if alpha != 1:
        values[1] = b.add("Mul", values[1], b.constant(alpha, type_of(node)))
    made = b.add(kind, *values)
    if way == "floor":
        return b.add("Floor", made)
    return _trunc(b, made) if way == "trunc" and type_of(node).is_floating_point else made


def _comparison(b: Builder, node: Node, kind: str) -> str:
    common = common_type(*node.args)
    if common is bool_ and kind != "Equal":
        common = int64
    return b.add(kind, *(b.of(x, common) for x in node.args))


form("ne")(lambda b, node: b.add("Not", _comparison(b, node, "Equal")))


@form("rsub")
def _rsub(b: Builder, node: Node) -> str:
    kind = type_of(node)
    return b.add("Sub", b.of(node.args[1], kind), b.of(node.args[0], kind))


@form("pow")
def _pow(b: Builder, node: Node) -> str:
    kind = type_of(node)
    base = b.of(node.args[0], kind)
    if node.args[1] == 2:
        return b.add("Mul", base, base)
    return b.add("Pow", base, b.of(node.args[1], kind))


@form("floor_divide")
def _floor_divide(b: Builder, node: Node) -> str:
    kind = type_of(node)
    values = [b.of(x, kind) for x in node.args]
    if kind.is_floating_point:
        return b.add("Floor", b.add("Div", *values))
    rest = b.add("Mod", *values)  # of the divisor's sign, as what a floor division leaves
    return b.add("Div", b.add("Sub", values[0], rest), values[1])


@form("remainder")
def _remainder(b: Builder, node: Node) -> str:
    kind = type_of(node)
    x, y = (b.of(v, kind) for v in node.args)
    if not kind.is_floating_point:
        return b.add("Mod", x, y)
    return b.add("Sub", x, b.add("Mul", b.add("Floor", b.add("Div", x, y)), y))


form("fmod")(lambda b, node: b.add("Mod", *(b.of(v, type_of(node)) for v in node.args), fmod=1))


@form("logical_not", "bitwise_not")
def _not(b: Builder, node: Node) -> str:
    if type_of(node) is not bool_:
        return b.add("BitwiseNot", b.of(node.args[0]))
    return b.add("Not", b.of(node.args[0], bool_))


@form("where")
def _where(b: Builder, node: Node) -> str:
    condition, x, y = node.args
    return b.add("Where", b.of(condition, bool_), b.of(x, type_of(node)), b.of(y, type_of(node)))


@form("masked_fill")
def _masked_fill(b: Builder, node: Node) -> str:
    x, mask, value = node.args
    return b.add("Where", b.of(mask, bool_), b.of(value, type_of(node)), b.of(x))


@form("clamp", "hardtanh")
def _clamp(b: Builder, node: Node) -> str:
    kind = type_of(node)
    low, high = argument(node, 1, name="min"), argument(node, 2, name="max")
    value = b.of(node.args[0], kind)
    if any(isinstance(x, Node) for x in (low, high)):
        value = value if low is None else b.add("Max", value, b.of(low, kind))
        return value if high is None else b.add("Min", value, b.of(high, kind))
    bounds = ["" if x is None else b.constant(x, kind) for x in (low, high)]
    return b.add("Clip", value, *bounds)


@form("lerp")
def _lerp(b: Builder, node: Node) -> str:
    start, end = b.of(node.args[0]), b.of(node.args[1])
    step = b.add("Mul", b.of(node.args[2], type_of(node)), b.add("Sub", end, start))
    return b.add("Add", start, step)


@form("addcmul", "addcdiv")
def _addc(b: Builder, node: Node) -> str:
    x, one, other = (b.of(v, type_of(node)) for v in node.args)
    kind = "Mul" if node.target.overloadpacket.__name__ == "addcmul" else "Div"
    step = b.add(kind, one, other)
    value = node.kwargs.get("value", 1)
    step = step if value == 1 else b.add("Mul", step, b.constant(value, type_of(node)))
    return b.add("Add", x, step)


@form("_to_copy")
def _to_copy(b: Builder, node: Node) -> str:
    return b.of(node.args[0], type_of(node))


form("clone", "detach", "alias", "lift_fresh", "dropout")(lambda b, node: b.of(node.args[0]))


# --- Functions that are made of others -------------------------------------------------------------------


def _trunc(b: Builder, value: str) -> str:
    return b.add("Mul", b.add("Sign", value), b.add("Floor", b.add("Abs", value)))


def _made(b: Builder, node: Node) -> tuple[str, Any]:
    """The first argument, and a function that makes constants of its type."""
    kind = type_of(node)
    return b.of(node.args[0], kind), lambda value: b.constant(value, kind)


form("rsqrt")(lambda b, node: b.add("Reciprocal", b.add("Sqrt", _made(b, node)[0])))


_COMPOSED: dict[str, Callable[[Builder, str, Any], str]] = {
    "log1p": lambda b, x, number: b.add("Log", b.add("Add", x, number(1))),
    "log2": lambda b, x, number: b.add("Div", b.add("Log", x), number(math.log(2))),
    "log10": lambda b, x, number: b.add("Div", b.add("Log", x), number(math.log(10))),
    "expm1": lambda b, x, number: b.add("Sub", b.add("Exp", x), number(1)),
    "exp2": lambda b, x, number: b.add("Exp", b.add("Mul", x, number(math.log(2)))),
    "erfc": lambda b, x, number: b.add("Sub", number(1), b.add("Erf", x)),
    "trunc": lambda b, x, number: _trunc(b, x),
    "frac": lambda b, x, number: b.add("Sub", x, _trunc(b, x)),
}
for _name, _make in _COMPOSED.items():
    FORMS[_name] = lambda b, node, make=_make: make(b, *_made(b, node))


@form("silu")
def _silu(b: Builder, node: Node) -> str:
    x = b.of(node.args[0])
    return b.add("Mul", x, b.add("Sigmoid", x))


@form("gelu")
def _gelu(b: Builder, node: Node) -> str:
    x, number = _made(b, node)
    if argument(node, 1, "none", "approximate") == "tanh":
        cube = b.add("Mul", b.add("Mul", x, x), x)
        inner = b.add("Add", x, b.add("Mul", cube, number(0.044715)))
        bent = b.add("Tanh", b.add("Mul", inner, number(math.sqrt(2 / math.pi))))
    else:
        bent = b.add("Erf", b.add("Div", x, number(math.sqrt(2))))
    return b.add("Mul", b.add("Mul", x, number(0.5)), b.add("Add", bent, number(1)))


form("hardsigmoid")(lambda b, node: b.add("HardSigmoid", b.of(node.args[0]), alpha=1 / 6, beta=0.5))
form("leaky_relu")(
    lambda b, node: b.add("LeakyRelu", b.of(node.args[0]), alpha=float(argument(node, 1, 0.01)))
)


@form("elu")
def _elu(b: Builder, node: Node) -> str:
    _, alpha, scale, input_scale = arguments(node, None, 1.0, 1.0, 1.0)
    if input_scale != 1:
        raise UnsupportedOperatorError("elu with input_scale has no ONNX form")
    made = b.add("Elu", b.of(node.args[0]), alpha=float(alpha))
    return made if scale == 1 else b.add("Mul", made, b.constant(scale, type_of(node)))


form("celu")(lambda b, node: b.add("Celu", b.of(node.args[0]), alpha=float(argument(node, 1, 1.0))))


@form("softplus")
def _softplus(b: Builder, node: Node) -> str:
    x, number = _made(b, node)
    beta = argument(node, 1, 1.0)
    if beta == 1:
        return b.add("Softplus", x)
    return b.add("Div", b.add("Softplus", b.add("Mul", x, number(beta))), number(beta))


form("log_sigmoid")(
    lambda b, node: b.add("Neg", b.add("Softplus", b.add("Neg", b.of(node.args[0]))))
)
form("_prelu_kernel")(lambda b, node: b.add("PRelu", b.of(node.args[0]), b.of(node.args[1])))


@form("threshold")
def _threshold(b: Builder, node: Node) -> str:
    x, number = _made(b, node)
    return b.add("Where", b.add("Greater", x, number(node.args[1])), x, number(node.args[2]))
