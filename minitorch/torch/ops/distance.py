"""Distances and similarities of vectors."""

from __future__ import annotations

from typing import Any

from ..tensor import Tensor
from .comparison import where
from .movement import wrap_dim
from .promotion import broadcast_shapes, exact_number, result_type, wide_type
from .surface import function, into


@function
def pairwise_distance(
    x1: Tensor, x2: Tensor, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False
) -> Tensor:
    """The p-norm of the difference of each pair of vectors."""
    return (x1 - x2 + float(eps)).norm(p, -1, keepdim=keepdim)


@function
def cosine_similarity(x1: Tensor, x2: Tensor, dim: int = 1, eps: float = 1e-8) -> Tensor:
    """The cosine of the angle between vectors along a dimension."""
    if not eps >= 0:  # NaN too
        raise RuntimeError(f"eps must be non-negative, got: {eps}")
    shape = broadcast_shapes("cosine_similarity", x1._array.shape, x2._array.shape)
    kind = result_type(x1, x2)
    if not kind.is_floating_point:
        raise RuntimeError(
            "expected common dtype to be floating point, yet common dtype is " + str(kind)
        )
    exact_number(eps, wide_type(kind))
    d = wrap_dim(dim, len(shape))
    a, b = (
        (x if x.dtype.is_floating_point else x.to(kind)).expand(shape) for x in (x1, x2)
    )  # each is divided in its own dtype
    return (a / _length(a, d, eps) * (b / _length(b, d, eps))).sum(d)


def _length(x: Tensor, dim: int, eps: float) -> Tensor:
    """The norm along a dimension, at least `eps`; its derivative is that of the norm there, too."""
    norm = x.norm(2, dim, keepdim=True)
    return where(norm < eps, eps + (norm - norm.detach()), norm)


def normalize(
    input: Tensor, p: float = 2.0, dim: Any = 1, eps: float = 1e-12, out: Any = None
) -> Tensor:
    """Vectors along a dimension divided by their p-norm."""
    result = input / input.norm(p, dim, keepdim=True).clamp_min(eps)
    return result if out is None else into(out, result, "normalize")
