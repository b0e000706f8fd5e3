"""Counting and searching where there is nothing, or no width, to count in."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch as real

import minitorch.torch as ours

CASES: dict[str, Callable[[Any], Any]] = {
    "histogram of nothing": lambda t: t.histogram(t.zeros(5, 0, 5), 3),
    "histogram of nothing over a point": lambda t: t.histogram(t.zeros(0), 1, range=(0.0, 0.0)),
    "histogram over a point": lambda t: t.histogram(t.tensor([1.0, 4.0]), 2, range=(0.0, 0.0)),
    "histogram of equal numbers": lambda t: t.histogram(t.ones(4), 2),
    "histogramdd of nothing": lambda t: t.histogramdd(t.zeros(0, 2), [1, 2])[1],
    "histc over a point": lambda t: t.histc(t.tensor([1.0, 3.0]), 2, min=2, max=2),
    "search for nothing": lambda t: t.searchsorted(t.zeros(0, 3), t.zeros(0, 0)),
    "search in empty rows": lambda t: t.searchsorted(t.zeros(2, 0), t.ones(2, 3)),
    "range whose end is a rounding away": lambda t: t.range(2.7, 9.1, 1.6),
    "whole powers": lambda t: t.logspace(0, 1.2, 2, dtype=t.int64),
    "whole powers from below": lambda t: t.logspace(-1.9, 2.9, 4, base=3, dtype=t.int64),
}


@pytest.mark.filterwarnings("ignore:torch.range is deprecated")
@pytest.mark.parametrize("case", CASES)
def test_at_the_edge(case: str) -> None:
    mine, theirs = CASES[case](ours), CASES[case](real)
    pairs = [(mine, theirs)] if isinstance(mine, ours.Tensor) else zip(mine, theirs, strict=True)
    for a, b in pairs:
        assert (a.tolist(), str(a.dtype), a.shape) == (b.tolist(), str(b.dtype), b.shape)
