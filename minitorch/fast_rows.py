"""Lesson 3: how a compiled loop over tensors walks through memory.

It is a loop over rows, and in each a loop along the row. Where neighbouring dimensions follow each
other in the memory of every operand they are one dimension, so most loops have few rows, and most
rows are one run of memory.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .jit import compile_part

if TYPE_CHECKING:
    from .tensor_data import Shape, Strides


def _plan_rows(
    out_shape: Shape,
    out_strides: Strides,
    a_shape: Shape,
    a_strides: Strides,
    b_shape: Shape,
    b_strides: Strides,
) -> Any:
    """A table of the dimensions that are left after joining: size, step in out, in a, in b.

    An operand that is broadcast along a dimension has step 0 there.
    """
    plan = np.ones((len(out_shape) + 1, 4), dtype=np.int64)
    plan[0, 1:] = 0
    last = 0
    for d in range(len(out_shape)):
        size = out_shape[d]
        if size == 1:
            continue
        a_d = d - (len(out_shape) - len(a_shape))
        b_d = d - (len(out_shape) - len(b_shape))
        a_step = a_strides[a_d] if a_d >= 0 and a_shape[a_d] != 1 else 0
        b_step = b_strides[b_d] if b_d >= 0 and b_shape[b_d] != 1 else 0
        joins = (
            plan[last, 1] == size * out_strides[d]
            and plan[last, 2] == size * a_step
            and plan[last, 3] == size * b_step
        )
        if joins or plan[last, 0] == 1:
            size *= plan[last, 0]
        else:
            last += 1
        plan[last, 0] = size
        plan[last, 1] = out_strides[d]
        plan[last, 2] = a_step
        plan[last, 3] = b_step
    return plan[: last + 1]


def _row_start(row: int, plan: Any, operand: int) -> int:
    """Where in an operand's storage a row begins."""
    position = 0
    rest = np.int64(row)  # the index of a parallel loop is unsigned
    for d in range(len(plan) - 2, -1, -1):
        position += rest % plan[d, 0] * plan[d, operand]
        rest //= plan[d, 0]
    return position


def _one_by_one(plan: Any) -> Any:
    """The same walk in rows of one element each."""
    longer = np.ones((len(plan) + 1, 4), dtype=np.int64)
    for d in range(len(plan)):
        for operand in range(4):
            longer[d, operand] = plan[d, operand]
    return longer


plan_rows = compile_part(_plan_rows)
row_start = compile_part(_row_start)
one_by_one = compile_part(_one_by_one)
