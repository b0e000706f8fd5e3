"""From a function of numbers, as `scalars.py` writes them, to the same function in CUDA C++.

The function is called once with numbers that only note what is done to them: NumPy's functions,
arithmetic, comparisons and `where` each become one line.

>>> program = Program()
>>> x = program.variable("x")
>>> out = (x * x + 1.0) / 2
>>> print(program.text())
T v0 = x * x;
T v1 = v0 + T(1.0);
T v2 = v1 / T(2);
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ...scalars import C_LIBRARY, gelu, gelu_backward


class Unsupported(Exception):  # noqa: N818
    """What a function does to its numbers cannot be said here."""


FUNCTIONS = {
    "absolute": "fabs", "arccos": "acos", "arccosh": "acosh", "arcsin": "asin", "arcsinh": "asinh",
    "arctan": "atan", "arctan2": "atan2", "arctanh": "atanh", "cbrt": "cbrt", "ceil": "ceil", "copysign": "copysign",
    "cos": "cos", "cosh": "cosh", "exp": "exp", "exp2": "exp2", "expm1": "expm1", "fabs": "fabs", "floor": "floor",
    "floor_divide": "floored_quotient", "fmax": "fmax", "fmin": "fmin", "fmod": "fmod", "hypot": "hypot", "log": "log",
    "log10": "log10", "log1p": "log1p", "log2": "log2", "logaddexp": "log_add_exp", "maximum": "larger",
    "minimum": "smaller", "power": "pow", "remainder": "floored_rest", "rint": "rint", "sin": "sin", "sinh": "sinh",
    "sqrt": "sqrt", "tan": "tan", "tanh": "tanh", "trunc": "trunc", "erf (vectorized)": "erf", "erfc (vectorized)": "erfc",
}  # fmt: skip
"""What NumPy's functions of real numbers are called there."""

TESTS = {"isnan": "isnan", "isinf": "isinf", "isfinite": "isfinite", "signbit": "signbit"}
OPERATORS = {"add": "+", "subtract": "-", "multiply": "*", "divide": "/"}
COMPARISONS = {
    "less": "<", "less_equal": "<=", "greater": ">", "greater_equal": ">=", "equal": "==", "not_equal": "!=",
    "logical_and": "&&", "logical_or": "||", "bitwise_and": "&&", "bitwise_or": "||",
}  # fmt: skip
SIMPLE = {
    "negative": "-{0}",
    "positive": "{0}",
    "reciprocal": "T(1) / {0}",
    "square": "{0} * {0}",
    "conjugate": "{0}",
}

PRELUDE = """
__device__ T larger(T a, T b) { return a != a ? a : (a > b ? a : b); }
__device__ T smaller(T a, T b) { return a != a ? a : (a < b ? a : b); }
__device__ T floored_rest(T a, T b) { T r = fmod(a, b); return r != T(0) ? ((r < 0) != (b < 0) ? r + b : r) : copysign(T(0), b); }
__device__ T floored_quotient(T a, T b) {
    T r = fmod(a, b), q = (a - r) / b;
    if (r != T(0) && (r < 0) != (b < 0)) q -= T(1);
    if (q == T(0)) return copysign(T(0), a / b);
    T down = floor(q);
    return q - down > T(0.5) ? down + T(1) : down;
}
__device__ T log_add_exp(T a, T b) {
    if (a == b) return a + T(0.6931471805599453);
    T d = a - b;
    return d > 0 ? a + log1p(exp(-d)) : d <= 0 ? b + log1p(exp(d)) : d;
}
"""
"""Functions that NumPy has and C has not, with NumPy's results for NaN and zeros."""

OF_HALVES = {gelu: "gelu", gelu_backward: "gelu_backward"}
"""Functions that would take longer to compute in float32 than memory takes to deliver numbers of two bytes; see `HALVES`."""

HALVES = """
__device__ float normal_below(float x, float density) {
  // the share of a normal distribution below x, to 1.2e-6 of it; density is exp(-x * x / 2)
  float t = __fdividef(1.f, 1.f + 0.26870058f * fabs(x));
  float tail = 0.12391636f + t * (-0.03495580f + t * (0.16801778f - t * 0.06270872f));
  float share = t * density * (0.10714367f + t * (0.10828859f + t * (0.09029761f + t * tail)));
  return x < 0 ? share : 1.f - share;
}
__device__ float gelu(float x) { return x * normal_below(x, __expf(-0.5f * x * x)); }
__device__ float gelu_backward(float g, float x) {
  float density = __expf(-0.5f * x * x);
  return g * (normal_below(x, density) + x * density * 0.39894228f);
}
"""
"""They as exact as halves need. The polynomial is the least relative error's for erfc(x) exp(x * x), found by weighted least squares."""


class Program:
    """Lines of code, each of which gives a name to a number."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def variable(self, name: str, logical: bool = False) -> Code:
        """A number that is given."""
        return Code(self, name, logical)

    def note(self, expression: str, logical: bool = False) -> Code:
        """A number that is computed."""
        name = f"v{len(self.lines)}"
        self.lines.append(f"{'bool' if logical else 'T'} {name} = {expression};")
        return Code(self, name, logical)

    def text(self, indent: str = "") -> str:
        """All lines."""
        return "\n".join(indent + line for line in self.lines)


class Code(np.lib.mixins.NDArrayOperatorsMixin):
    """A number of a program."""

    def __init__(self, program: Program, name: str, logical: bool) -> None:
        self.program, self.name, self.logical = program, name, logical

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Code:
        name = ufunc.__name__
        if method != "__call__" or options:
            raise Unsupported(f"{name}.{method}")
        terms = [literal(x) for x in inputs]
        if name in OPERATORS or name in COMPARISONS:
            sign = OPERATORS.get(name) or COMPARISONS[name]
            return self.program.note(f"{terms[0]} {sign} {terms[1]}", name in COMPARISONS)
        if name in TESTS:
            return self.program.note(f"{TESTS[name]}({terms[0]})", True)
        if name in ("logical_not", "invert") and getattr(inputs[0], "logical", False):
            return self.program.note(f"!{terms[0]}", True)
        if name in SIMPLE:
            return self.program.note(SIMPLE[name].format(terms[0]))
        if name in FUNCTIONS:
            terms = [
                f"T({t})" if getattr(x, "logical", False) else t
                for t, x in zip(terms, inputs, strict=True)
            ]
            return self.program.note(f"{FUNCTIONS[name]}({', '.join(terms)})")
        raise Unsupported(name)

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Code:
        if function is not np.where or len(args) != 3 or kwargs:
            raise Unsupported(function.__name__)
        condition, one, other = map(literal, args)
        return self.program.note(f"{condition} ? {one} : {other}")

    def __bool__(self) -> bool:
        raise Unsupported("a branch")


def literal(value: Any) -> str:
    """A number as it stands in a line."""
    if isinstance(value, Code):
        return value.name
    if isinstance(value, (bool, np.bool_)):
        return "true" if value else "false"
    if isinstance(value, (int, float, np.integer, np.floating)):
        if math.isnan(value):
            return "T(NAN)"
        if math.isinf(value):
            return "T(INFINITY)" if value > 0 else "T(-INFINITY)"
        return f"T({value})"
    raise Unsupported(type(value).__name__)


def called(function: Callable[..., Any], *values: Any, halves: bool = False) -> Any:
    """What a scalar function does to numbers of a program, which may be of two bytes in memory."""
    if halves and function in OF_HALVES:
        return values[0].program.note(f"{OF_HALVES[function]}({', '.join(map(literal, values))})")
    if function in C_LIBRARY:
        (x,) = values
        return x.program.note(f"{C_LIBRARY[function].__name__}({x.name})")
    return function(*values)
