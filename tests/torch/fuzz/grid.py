"""Wrong calls by a grid instead of by chance: each argument of a right call becomes each of many others in turn."""

from __future__ import annotations

import warnings
from dataclasses import replace
from functools import cache
from random import Random
from typing import Any

import numpy as np
import torch as real

from ..oracle import leaves
from .calls import Call, function
from .drawing import WRONG, copied_call, draw_call_of, names

CASES = 1000
"""How many numbers the calls of one function have; most need fewer."""

NUMBERS = (
    0,
    3,
    -2,
    -7,
    100,
    2**62,
    2**64,
    0.0,
    -1.5,
    1e300,
    -float("inf"),
    False,
    np.float64("nan"),
)
LISTS = (
    [0],
    [-1],
    [3, 3],
    [1, 1],
    [-5, 2],
    (2**40, 2),
    [0, 1, 2],
    [1, 1, 1, 1, 1, 1, 1],
    [1.5],
    [None],
    ["x"],
    [True],
)
SHAPES = (
    (),
    (0,),
    (1,),
    (3,),
    (2, 3),
    (3, 2),
    (0, 3),
    (3, 0),
    (2, 3, 4),
    (1, 2, 3, 4),
    (1, 1, 2, 3, 4),
    (1, 1, 1, 1, 1, 1),
)
TYPES = (real.bool, real.int64, real.uint8, real.uint16, real.float16, real.float32, real.float64, real.complex64,
         real.complex128, real.bfloat16)  # fmt: skip

Place = int | str


def grid_call(seed: int, index: int, only: str | None = None) -> Call | None:
    """The call of some number; None where a function has fewer."""
    number, case = divmod(index, CASES)
    known = names(only)
    if number >= len(known):
        return None
    calls = _calls(seed, known[number])
    return copied_call(calls[case]) if case < len(calls) else None


@cache
def _calls(seed: int, name: str) -> list[Call]:
    """All calls of a function, around one that PyTorch answers."""
    base = _right_call(seed, name)
    if base is None:
        return []
    found = []
    for place, value in [*enumerate(base.args), *base.kwargs.items()]:
        others: list[Any] = []
        if place != 0 or not name.startswith("Tensor."):  # a method is called on a tensor
            others += [*WRONG, *NUMBERS, *LISTS]
        if isinstance(value, real.Tensor):
            others += [real.ones(s, dtype=value.dtype) for s in SHAPES]
            others += [value.to(kind) for kind in TYPES]
        else:
            kinds = (real.bool, real.int64, real.float32)
            others += [real.ones(s, dtype=kind) for s in ((), (1,), (2, 3)) for kind in kinds]
        found += [_replaced(base, place, v) for v in others]
    return found + [_in_type(base, kind) for kind in TYPES]


def _replaced(call: Call, place: Place, value: Any) -> Call:
    """The same call with another argument in one place."""
    if isinstance(place, str):
        return replace(call, kwargs={**call.kwargs, place: value})
    return replace(call, args=[*call.args[:place], value, *call.args[place + 1 :]])


def _in_type(call: Call, dtype: Any) -> Call:
    """The same call with all tensors of a type."""
    for place, value in [*enumerate(call.args), *call.kwargs.items()]:
        if isinstance(value, real.Tensor):
            call = _replaced(call, place, value.to(dtype))
    return call


def _right_call(seed: int, name: str) -> Call | None:
    """A call that PyTorch answers."""
    for attempt in range(40):
        call = draw_call_of(Random(f"{seed}/{name}/{attempt}"), name)
        given = copied_call(call)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                function(real, name)(*given.args, **given.kwargs)
        except Exception:
            continue
        if all(t.numel() for t in leaves((call.args, call.kwargs))):
            return call
    return None
