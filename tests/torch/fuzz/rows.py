"""A call of the fuzzer's as a row of a test."""

from __future__ import annotations

from typing import Any

import pytest
import torch as real

from .calls import Call

T = real.tensor
NAN, INF = float("nan"), float("inf")
ONES, CUBE = real.ones(3), real.ones(2, 3, 4)


def leaf(values: Any, dtype: Any = real.float64) -> Any:
    """A tensor that requires grad."""
    return T(values, dtype=dtype, requires_grad=True)


def row(name: str, *args: Any, **kwargs: Any) -> Any:
    """A call, under its name."""
    return pytest.param(Call(name, list(args), kwargs), id=name)
