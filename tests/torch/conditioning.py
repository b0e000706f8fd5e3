"""How far PyTorch's own answers move when its inputs move by a few rounding errors.

Where they move farther than two libraries may differ (a softmax of scores in the hundreds, what
cancellation leaves of a gradient that is 0), the last digits say nothing about either.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch as real

from .oracle import leaves, numbers

NUDGE = 4.0
"""By how many units of precision inputs are moved."""


def allowance(
    fn: Callable[..., Any], args: Any, kwargs: Any, gradients: bool, double: bool
) -> float:
    """How many units of precision answers may differ by: several times what they move by."""
    before = answers(fn, args, kwargs, gradients, double)
    largest = 0.0
    for seed in range(3):
        generator = real.Generator().manual_seed(seed)
        moved_args, moved_kwargs = nudged((args, kwargs), generator)
        after = answers(fn, moved_args, moved_kwargs, gradients, double)
        largest = max(largest, *(_movement(a, b) for a, b in zip(before, after, strict=True)), 0.0)
    return NUDGE * largest


def _movement(a: np.ndarray, b: np.ndarray) -> float:
    """The largest difference in units of precision, judged as the oracle does."""
    with np.errstate(all="ignore"):
        apart, size = np.abs(a - b), np.abs(a)
        unit = np.finfo(a.dtype).eps * (size + 0.05 * size[np.isfinite(size)].max(initial=0.0))
        ratio = np.where(apart == 0, 0.0, apart / unit)
    return float(ratio[~np.isnan(ratio)].max(initial=0.0))


def answers(
    fn: Callable[..., Any], args: Any, kwargs: Any, gradients: bool, double: bool
) -> list[np.ndarray]:
    """Results, gradients and second gradients of a call."""
    real.default_generator.manual_seed(0)
    results = leaves(fn(*args, **kwargs))
    found = [t for t in results if t.is_floating_point() or t.is_complex()]
    inputs = [t for t in leaves((args, kwargs)) if t.requires_grad]
    made = [t for t in results if t.requires_grad]
    if gradients and inputs and made:
        first = _gradients(made, inputs, double)
        found += first
        again = [t for t in first if t.requires_grad]
        found += _gradients(again, inputs, False) if double and again else []
    return [numbers(t) for t in found]


def _gradients(outputs: list[Any], inputs: list[Any], create_graph: bool) -> list[Any]:
    generator = real.Generator().manual_seed(0)
    weights = [real.randn(t.shape, dtype=t.dtype, generator=generator) for t in outputs]
    try:
        found = real.autograd.grad(
            outputs, inputs, weights, allow_unused=True, create_graph=create_graph
        )
    except Exception:
        return []  # PyTorch has no derivative here
    return [t for t in found if t is not None]


def nudged(value: Any, generator: Any) -> Any:
    """The same containers with every floating point number moved by a few rounding errors."""
    if isinstance(value, real.Tensor) and (value.is_floating_point() or value.is_complex()):
        eps = real.finfo(value.dtype).eps
        signs = real.randint(-1, 2, value.shape, generator=generator).to(value.dtype)
        moved = value.detach() * (1 + NUDGE * eps * signs)
        return moved.requires_grad_(value.requires_grad)
    if isinstance(value, (list, tuple)) and not hasattr(value, "_fields"):
        return type(value)(nudged(v, generator) for v in value)
    if isinstance(value, dict):
        return {k: nudged(v, generator) for k, v in value.items()}
    return value
