"""The core operations on PyTorch's own samples: values, gradients, layouts, edges, wrong inputs.

`python -m tests.torch.opinfo` runs all operations on all of their samples.
"""

from __future__ import annotations

import warnings
from typing import Any

import pytest
import torch as real

from .opinfo import all_operations, check, check_edges, check_errors, check_layouts, core_operations

PARTS = 20
SAMPLES = 3


def _types(name: str) -> tuple[Any, ...]:
    """Floating point and whole numbers, or what the operation takes instead."""
    info = all_operations()[name]
    plain = [d for d in (real.float64, real.int64) if info.supports_dtype(d, "cpu")]
    others = (real.float32, real.complex128, real.bool)
    return tuple(plain or [d for d in others if info.supports_dtype(d, "cpu")][:1])


@pytest.mark.parametrize("part", range(PARTS))
def test_core_operations(part: int) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in core_operations()[part::PARTS]:
            check(name, SAMPLES, _types(name))
            check_layouts(name, SAMPLES)
            check_edges(name)
            check_errors(name)
