"""Steps of optimizers over all parameters at once.

`update` is given a formula and, for each parameter, its arrays and the numbers of this step. Large
models take one kernel call for all parameters, on all cores. Small ones are computed by NumPy at
first: loading a kernel pays after some steps.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from typing import Any

import numpy as np

from ...formulas.half_precision import is_half
from ...numpy_warnings import without_errors
from .dispatch import KERNEL_TYPES, kernels_from

Array = Any
Formula = Callable[..., tuple[Any, ...]]
Numbers = tuple[float, ...]

LARGE = kernels_from(65_536)
"""With this many elements in all, kernels pay from the first step on."""

UPDATES_BEFORE_COMPILING = {True: kernels_from(300), False: kernels_from(30_000)}
"""After so many parameters that NumPy has updated, kernels pay for small models too: soon, where
Numba is loaded already."""

_updated: dict[Any, int] = {}  # by formula and type
_compiled: set[Any] = set()


def update(formula: Formula, columns: Sequence[list[Array]], numbers: Sequence[Numbers]) -> None:
    """Take one step: write new parameters, and what is to be remembered, into their arrays.

    Args:
        formula: what to do with an element
        columns: the parameters, their gradients, and what is remembered, a list of arrays each
        numbers: for each parameter those that the formula takes
    """
    kind = columns[0][0].dtype
    which = formula, kind
    left: Iterable[int] = range(len(numbers))
    if which in _compiled or (kind in KERNEL_TYPES and _is_worth_it(which, columns[0])):
        _compiled.add(which)
        left = _kernels().run(formula, kind, columns, numbers)
        if not left:
            return
    rows = list(zip(*columns, strict=True))
    same = [k for k in left if rows[k][0].dtype == kind]
    without_errors(_by_numpy, formula, [(rows[k], numbers[k]) for k in same])
    others = [k for k in left if k not in same] if len(same) < len(rows) else []
    if others:
        picked = [[column[k] for k in others] for column in columns]
        update(formula, picked, [numbers[k] for k in others])


def _is_worth_it(which: Any, params: list[Array]) -> bool:
    """Whether it is time to load, or to compile, a formula's kernel for a type."""
    done = _updated[which] = _updated.get(which, 0) + len(params)
    return (
        done > UPDATES_BEFORE_COMPILING["numba" in sys.modules]
        or sum([p.size for p in params]) >= LARGE
    )


def expect_many_steps(formula: Formula, kind: Any) -> None:
    """Let a kernel take the next step of a formula for a type: so many follow that it pays."""
    if sys.maxsize != LARGE:
        _updated[formula, kind] = max(UPDATES_BEFORE_COMPILING.values())


@cache
def _kernels() -> Any:
    """What needs Numba, when it is needed."""
    from . import optim_kernels

    return optim_kernels


def _by_numpy(formula: Formula, rows: Sequence[tuple[Sequence[Array], Numbers]]) -> None:
    """The same by NumPy, for parameters of one type, whatever it is, and in any layout.

    Args:
        formula: what to do with an element
        rows: the arrays of each parameter, and its numbers
    """
    numbers, rounded = None, []
    for arrays, own in rows:
        p, g = arrays[:2]
        if g.shape != p.shape:
            raise RuntimeError(
                f"optimizer: the gradient has shape {list(g.shape)}, the parameter {list(p.shape)}"
            )
        if p.dtype.kind == "c":
            arrays = [_real_parts(a) for a in arrays]
        wide = [a.astype(np.float32) for a in arrays] if is_half(p) else arrays
        if own is not numbers:
            numbers, rounded = own, [wide[0].dtype.type(n) for n in own]
        new, *state = formula(np, *wide, *rounded)
        arrays[0][...] = new
        for kept, value in zip(arrays[2:], state, strict=True):
            kept[...] = value


def _real_parts(array: Array) -> Array:
    """Complex numbers as pairs of real ones, which optimizers treat each by itself."""
    return array[..., None].view(array.real.dtype)
