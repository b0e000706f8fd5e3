"""What is asked of a student's library is put into words here: small calls with plain results.

Probes and questions are expressions over these names. They drive a library and hold no answers: what
is right is known only where the results are read.
"""

from __future__ import annotations

from typing import Any

import minitorch
from minitorch import operators

from . import kernels, scalars, tensors, training, transformers
from .values import draw_from as draw_from
from .values import text as text


def names() -> dict[str, Any]:
    """All that an expression may use."""
    found = {n: v for n, v in vars(operators).items() if callable(v)}
    for name in ("Scalar", "shape_broadcast", "central_difference", "tensor", "nn"):
        found[name] = getattr(minitorch, name)
    found["pick"] = minitorch.transformer.pick
    for part in (scalars, tensors, kernels, training, transformers):
        found |= {n: v for n, v in vars(part).items() if _is_public(part, n, v)}
    return found


def _is_public(part: Any, name: str, value: Any) -> bool:
    return getattr(value, "__module__", "") == part.__name__ and not name.startswith("_")
