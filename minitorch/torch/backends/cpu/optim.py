"""Steps of optimizers over all parameters at once.

`update` is given a formula and, for each parameter, its arrays and the numbers of this step. Large
models take one kernel call for all parameters, on all cores. Small ones are computed by NumPy at
first: loading a kernel pays after some steps.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np

from .kinds import KERNEL_TYPES, is_half, kernels_from

Array = Any
Formula = Callable[..., tuple[Any, ...]]
Job = tuple[list[Array], Sequence[float]]
"""A parameter, its gradient and what is remembered of it; the numbers of this step."""

LARGE = kernels_from(65_536)
"""With this many elements in all, kernels pay from the first step on."""

PATIENCE = {True: kernels_from(300), False: kernels_from(30_000)}
"""After so many parameters that NumPy has updated, kernels pay for small models too: soon, where
Numba is loaded already."""

_updated: dict[Any, int] = {}  # by formula and type
_compiled: set[Any] = set()


def update(formula: Formula, jobs: list[Job]) -> None:
    """Take one step: write new parameters, and what is to be remembered, into their arrays."""
    if not jobs:
        return
    which = formula, jobs[0][0][0].dtype
    if which not in _compiled and not _is_worth_it(which, jobs):
        _by_numpy(formula, jobs)
        return
    _compiled.add(which)
    ready: dict[Any, list[Job]] = {kind: [] for kind in KERNEL_TYPES}
    for arrays, numbers in jobs:
        kind = arrays[0].dtype
        if kind in ready and _are_runs(arrays):
            ready[kind].append((arrays, numbers))
        else:
            _by_numpy(formula, [(arrays, numbers)])
    for kind, some in ready.items():
        if some:
            _kernels().run(formula, kind, some)


def _is_worth_it(which: Any, jobs: list[Job]) -> bool:
    """Whether it is time to load, or to compile, a formula's kernel for a type."""
    done = _updated[which] = _updated.get(which, 0) + len(jobs)
    if done > PATIENCE["numba" in sys.modules]:
        return True
    return sum(arrays[0].size for arrays, _ in jobs) >= LARGE


@cache
def _kernels() -> Any:
    """What needs Numba, when it is needed."""
    from . import optim_kernels

    return optim_kernels


def _are_runs(arrays: list[Array]) -> bool:
    """Whether kernels can walk over all arrays side by side; the gradient is copied if need be."""
    first = arrays[0]
    for i, array in enumerate(arrays):
        if array.dtype != first.dtype or array.size != first.size:
            return False
        flags = array.flags
        if i == 1:
            if not (flags.c_contiguous and flags.aligned):
                arrays[1] = np.ascontiguousarray(array)
        elif not (flags.c_contiguous and flags.aligned and flags.writeable):
            return False
    return True


def _by_numpy(formula: Formula, jobs: list[Job]) -> None:
    """The same by NumPy, for any type and layout."""
    known: Any = None  # the last numbers, and what they were made to
    with np.errstate(all="ignore"):
        for arrays, numbers in jobs:
            if arrays[0].dtype not in KERNEL_TYPES:
                _update_unusual(formula, arrays, numbers)
                continue
            real = arrays[0].dtype.type
            if known is None or known[0] != numbers or known[1] is not real:
                known = numbers, real, [real(n) for n in numbers]
            _write(arrays, formula(*_checked(arrays), *known[2]))


def _update_unusual(formula: Formula, arrays: list[Array], numbers: Sequence[float]) -> None:
    """Complex numbers are pairs of real ones; half precision is computed in float32."""
    arrays = [_real_parts(a) for a in _checked(arrays)]
    wide = [a.astype(np.float32) for a in arrays] if is_half(arrays[0]) else arrays
    real = wide[0].dtype.type
    _write(arrays, formula(*wide, *[real(n) for n in numbers]))


def _checked(arrays: list[Array]) -> list[Array]:
    if arrays[1].shape != arrays[0].shape:
        raise RuntimeError(
            f"optimizer: the gradient has shape {list(arrays[1].shape)}, the parameter "
            f"{list(arrays[0].shape)}"
        )
    return arrays


def _write(arrays: list[Array], results: tuple[Array, ...]) -> None:
    """Put new values where the old ones are."""
    arrays[0][...] = results[0]
    for kept, new in zip(arrays[2:], results[1:], strict=True):
        kept[...] = new


def _real_parts(array: Array) -> Array:
    """Complex numbers as pairs of real ones, which optimizers treat each by itself."""
    if array.dtype.kind != "c":
        return array
    return array[..., None].view(array.real.dtype)
