"""Elementwise functions of arrays: those of `scalars.py`, by name, as `maps.exp(x)`.

All take arrays of one type (and plain numbers) that broadcast together, and `out=`. Small arrays
and unusual types are computed by NumPy, large ones by the loop of `loops.py` on all cores.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from .dispatch import dispatch
from .primitives import LARGEST_ANGLE, SCALARS
from .scalars import NUMPY

Array = Any
Map = Callable[..., Array]


def _map(name: str) -> Map:
    """The function of arrays that a function of numbers stands for."""

    def kernel() -> Map:
        from .loops import elementwise

        return partial(elementwise, name)

    made = dispatch(SCALARS[name].start, of=None, kernel=kernel)(NUMPY[name])
    made.__name__ = name
    return made


def _of_angles(name: str) -> Map:
    """A sine or cosine: kernels reduce float32 to the circle only up to some size."""
    small, any_size = MAPS[name], NUMPY[name]

    def apply(x: Array, out: Array | None = None) -> Array:
        start = SCALARS[name].start
        angles = x.size < start or x.dtype != np.float32 or np.max(np.abs(x)) < LARGEST_ANGLE
        return (small if angles else any_size)(x, out=out)

    return apply


MAPS: dict[str, Map] = {name: _map(name) for name in SCALARS}
"""All of them, by name."""

MAPS.update(sin=_of_angles("sin"), cos=_of_angles("cos"))


def __getattr__(name: str) -> Map:
    if name in MAPS:
        return MAPS[name]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
