"""Reductions and normalizations over the elements that a mask lets through.

Elements that it does not let through are replaced by what changes nothing: 0 in a sum, 1 in
a product, -inf in a maximum. The rest is the plain operation.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from .. import dtypes
from ..ops.comparison import where
from ..ops.creation import ones_like
from ..ops.linalg.norms import vector_norm
from ..tensor import Tensor
from .maskedtensor.core import Filled, is_masked_tensor


def _fill(input: Tensor, mask: Tensor | None, value: Any) -> Tensor:
    """A tensor with a value where the mask is false; of a masked tensor, where its own mask is."""
    if is_masked_tensor(input):
        return Filled.apply(input._masked_data, input._masked_mask, value)
    if mask is None:
        return input
    return where(_whole_mask(input, mask), input, input.new_tensor(value))


def _whole_mask(input: Tensor, mask: Tensor | None) -> Tensor:
    """The mask in the shape of its input."""
    if mask is None:
        return ones_like(input.get_data() if is_masked_tensor(input) else input, dtype=dtypes.bool_)
    if mask.ndim > input.ndim:
        raise IndexError(
            "_input_mask expected broadcastable mask (got mask dimensionality higher than of the input)"
        )
    return mask.to(dtypes.bool_).broadcast_to(input._array.shape)


def _dims(input: Tensor, dim: Any) -> tuple[int, ...]:
    """The dimensions to reduce; () is none of them."""
    if dim is None:
        return tuple(range(input.ndim))
    return tuple(dim) if isinstance(dim, (tuple, list)) else (dim,)


def _count(input: Tensor, mask: Tensor | None, dims: tuple[int, ...], keepdim: bool) -> Tensor:
    seen = _whole_mask(input, mask).to(dtypes.int64)
    return seen.sum(dims, keepdim) if dims else seen


def _summing_type(input: Tensor, dtype: Any) -> Any:
    return dtype or (dtypes.int64 if input.dtype.kind < dtypes.FLOATING else input.dtype)


def _limits(kind: dtypes.dtype) -> tuple[Any, Any]:
    """The least and the greatest value of a type."""
    if kind is dtypes.bool_:
        return False, True
    if kind.kind == dtypes.INTEGRAL:
        limits = dtypes.iinfo(kind)
        return limits.min, limits.max
    return -math.inf, math.inf


# --- Sums and products ----------------------------------------------------------------------------


def sum(
    input: Tensor, dim: Any = None, *, keepdim: bool = False, dtype: Any = None, mask: Tensor | None = None
) -> Tensor:  # fmt: skip
    """The sum of the elements in the mask."""
    x, dims = _fill(input, mask, 0).to(_summing_type(input, dtype)), _dims(input, dim)
    return x.sum(dims, keepdim) if dims else x.clone()


def prod(
    input: Tensor, dim: Any = None, *, keepdim: bool = False, dtype: Any = None, mask: Tensor | None = None
) -> Tensor:  # fmt: skip
    """The product of the elements in the mask."""
    x = _fill(input, mask, 1).to(_summing_type(input, dtype))
    for d in sorted((d % max(input.ndim, 1) for d in _dims(input, dim)), reverse=True):
        x = x.prod(d, keepdim=keepdim) if input.ndim else x
    return x


def cumsum(input: Tensor, dim: int, *, dtype: Any = None, mask: Tensor | None = None) -> Tensor:
    """The running sum of the elements in the mask."""
    return _fill(input, mask, 0).cumsum(dim, dtype=dtype or input.dtype)


def cumprod(input: Tensor, dim: int, *, dtype: Any = None, mask: Tensor | None = None) -> Tensor:
    """The running product of the elements in the mask."""
    return _fill(input, mask, 1).cumprod(dim, dtype=dtype or input.dtype)


# --- Extremes -------------------------------------------------------------------------------------------


def _extreme(name: str, least: bool, doc: str) -> Callable[..., Tensor]:
    """A reduction that the elements out of the mask have the least value in, or the greatest."""

    def reduce(
        input: Tensor, dim: Any = None, *, keepdim: bool = False, dtype: Any = None, mask: Tensor | None = None
    ) -> Tensor:  # fmt: skip
        x = _fill(input, mask, _limits(input.dtype)[0 if least else 1])
        if name.startswith("arg"):
            found = getattr(x, name)(dim, keepdim)
        else:
            dims = _dims(input, dim)
            found = getattr(x, name)(dims, keepdim) if dims else x.clone()
        return found.to(dtype or input.dtype)

    reduce.__name__ = reduce.__qualname__ = name
    reduce.__doc__ = doc
    return reduce


amax = _extreme("amax", True, "The largest element in the mask.")
amin = _extreme("amin", False, "The smallest element in the mask.")
argmax = _extreme("argmax", True, "Where the largest element in the mask is.")
argmin = _extreme("argmin", False, "Where the smallest element in the mask is.")


# --- Moments -----------------------------------------------------------------------------------------------


def mean(
    input: Tensor, dim: Any = None, *, keepdim: bool = False, dtype: Any = None, mask: Tensor | None = None
) -> Tensor:  # fmt: skip
    """The mean of the elements in the mask."""
    kind = dtype or input.dtype
    if kind.kind < dtypes.FLOATING:
        raise ValueError(
            "mean(): Could not infer output dtype. Input dtype must be either a floating point or complex dtype. "
            f"Got: {input.dtype}"
        )
    count = _count(input, mask, _dims(input, dim), keepdim)
    return (sum(input, dim, keepdim=keepdim, dtype=kind, mask=mask) / count).to(kind)


def median(
    input: Tensor, dim: int = -1, *, keepdim: bool = False, dtype: Any = None, mask: Tensor | None = None
) -> Tensor:  # fmt: skip
    """The middle element in the mask, the lower of two."""
    kind = dtype or input.dtype
    if not kind.is_floating_point and not _whole_mask(input, mask).any(dim).all():
        raise ValueError(
            "masked median expects no fully masked out rows if dtype is not floating point"
        )
    floating = input if input.dtype.is_floating_point else input.to(dtypes.get_default_dtype())
    return _fill(floating, mask, math.nan).nanmedian(dim, keepdim).values.to(kind)


def var(
    input: Tensor, dim: Any = None, unbiased: bool | None = None, *, correction: Any = None, keepdim: bool = False,
    dtype: Any = None, mask: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """How far the elements in the mask are from their mean, squared."""
    if correction is not None and unbiased is not None:
        raise ValueError("Only one of unbiased and correction may be given")
    minus = correction if correction is not None else 0 if unbiased is False else 1
    kind = dtype or (
        dtypes.get_default_dtype() if input.dtype.kind < dtypes.FLOATING else input.dtype
    )
    x, dims = input.to(kind), _dims(input, dim)
    center = sum(x, dims, keepdim=True, mask=mask) / _count(input, mask, dims, keepdim=True)
    away = x - center
    total = sum(away * away.conj(), dims, keepdim=keepdim, mask=mask).real
    count = (_count(input, mask, dims, keepdim).to(total.dtype) - minus).clamp(min=0)
    return (total / count).to(kind)


def std(
    input: Tensor, dim: Any = None, unbiased: bool | None = None, *, correction: Any = None, keepdim: bool = False,
    dtype: Any = None, mask: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """How far the elements in the mask are from their mean."""
    return var(
        input, dim, unbiased, correction=correction, keepdim=keepdim, dtype=dtype, mask=mask
    ).sqrt()


def norm(
    input: Tensor, ord: float | None = 2.0, dim: Any = None, *, keepdim: bool = False, dtype: Any = None,
    mask: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """The norm of the elements in the mask."""
    power = 2.0 if ord is None else ord
    x, dims = _fill(input, mask, 0 if power >= 0 else math.inf), _dims(input, dim)
    return vector_norm(x, power, dims, keepdim, dtype=dtype)


# --- Normalizations --------------------------------------------------------------------------------------------


def logsumexp(
    input: Tensor, dim: Any = None, *, keepdim: bool = False, dtype: Any = None, mask: Tensor | None = None
) -> Tensor:  # fmt: skip
    """log(sum(exp(x))) of the elements in the mask."""
    x = _fill(input, mask, _limits(input.dtype)[0])
    return x.logsumexp(_dims(input, dim), keepdim).to(dtype or input.dtype)


def logaddexp(
    input: Tensor, other: Tensor, *, dtype: Any = None, input_mask: Tensor | None = None, other_mask: Tensor | None = None
) -> Tensor:  # fmt: skip
    """log(exp(a) + exp(b)) of the elements in their masks."""
    kind = dtype or input.dtype
    a, b = (_fill(x, m, -math.inf) for x, m in ((input, input_mask), (other, other_mask)))
    return a.logaddexp(b).to(kind)


def softmax(input: Tensor, dim: int, *, dtype: Any = None, mask: Tensor | None = None) -> Tensor:
    """`softmax` of the elements in the mask; 0 at the others."""
    return _fill(input, mask, -math.inf).softmax(dim, dtype=dtype or input.dtype)


def log_softmax(
    input: Tensor, dim: int, *, dtype: Any = None, mask: Tensor | None = None
) -> Tensor:
    """`log_softmax` of the elements in the mask; -inf at the others."""
    return _fill(input, mask, -math.inf).log_softmax(dim, dtype=dtype or input.dtype)


def softmin(input: Tensor, dim: int, *, dtype: Any = None, mask: Tensor | None = None) -> Tensor:
    """`softmax` of minus the elements in the mask; 0 at the others."""
    return _fill(input, mask, math.inf).neg().softmax(dim, dtype=dtype or input.dtype)


def normalize(
    input: Tensor, ord: float, dim: int, *, eps: float = 1e-12, dtype: Any = None, mask: Tensor | None = None
) -> Tensor:  # fmt: skip
    """The elements in the mask divided by their norm; 0 at the others."""
    size = norm(input, ord, dim, keepdim=True, dtype=dtype, mask=mask)
    x = _fill(input, mask, 0).to(dtype or input.dtype)
    return x / size.maximum(size.new_tensor(eps))
