"""Branches and loops as functions, and arithmetic of sizes: plain Python here."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from .surface import FUNCTIONS, function


@function
def cond(pred: Any, true_fn: Callable[..., Any], false_fn: Callable[..., Any], operands: Any = ()) -> Any:  # fmt: skip
    """`true_fn(*operands)` if the condition holds, else `false_fn(*operands)`."""
    return (true_fn if pred else false_fn)(*operands)


@function
def while_loop(cond_fn: Callable[..., Any], body_fn: Callable[..., Any], carried_inputs: Any) -> Any:  # fmt: skip
    """Call the body on its own results while the condition holds."""
    values = tuple(carried_inputs)
    while cond_fn(*values):
        found = body_fn(*values)
        values = tuple(found) if isinstance(found, (tuple, list)) else (found,)
    return values


def _sym_ite(condition: Any, first: Any, second: Any) -> Any:
    """The first value if the condition holds, else the second."""
    return first if condition else second


def _sym_sum(numbers: Sequence[Any]) -> Any:
    """The sum of sizes."""
    return sum(numbers)


FUNCTIONS |= {
    "sym_float": float, "sym_int": int, "sym_ite": _sym_ite, "sym_max": max, "sym_min": min,
    "sym_not": lambda a: not a, "sym_sqrt": math.sqrt, "sym_sum": _sym_sum,
}  # fmt: skip
