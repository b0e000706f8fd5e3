"""Causal masks for attention, aligned with the upper left or the lower right corner.

With as many keys as queries both are the same. Else the triangle begins in the upper left corner, or ends in the lower
right one, as is needed with a cache of earlier keys.
"""

from __future__ import annotations

import warnings
from enum import IntEnum
from typing import Any

from ...dtypes import bool_
from ...ops import FUNCTIONS
from ...overriding import DisableTorchFunctionSubclass
from ...tensor import Tensor
from .. import functional


class CausalVariant(IntEnum):
    """The alignment of a causal mask."""

    UPPER_LEFT = 1
    LOWER_RIGHT = 2


class CausalBias(Tensor):
    """A causal mask for `scaled_dot_product_attention`: queries do not attend to later keys.

    Attributes:
        variant: the alignment
        seq_len_q: number of queries
        seq_len_kv: number of keys
    """

    variant: CausalVariant
    seq_len_q: int
    seq_len_kv: int

    def __new__(cls, variant: CausalVariant, seq_len_q: int, seq_len_kv: int) -> CausalBias:
        """The mask as a matrix, queries by keys."""
        if not isinstance(variant, CausalVariant):
            raise AssertionError(f"variant must be a CausalVariant, got {type(variant).__name__}")
        if seq_len_q > seq_len_kv and variant == CausalVariant.LOWER_RIGHT:
            warnings.warn("Lower right causal bias will produce NaNs in the output when seq_len_q > seq_len_kv!", stacklevel=3)  # fmt: skip
        offset = seq_len_kv - seq_len_q if variant == CausalVariant.LOWER_RIGHT else 0
        ones = FUNCTIONS["ones"](seq_len_q, seq_len_kv, dtype=bool_)
        made: Any = ones.tril(offset).as_subclass(cls)
        made.variant, made.seq_len_q, made.seq_len_kv = variant, seq_len_q, seq_len_kv
        return made

    def __init__(self, variant: CausalVariant, seq_len_q: int, seq_len_kv: int) -> None:
        """All is done by `__new__`."""

    def _materialize(self, device: Any = None) -> Tensor:
        """The mask as a plain tensor."""
        with DisableTorchFunctionSubclass():
            return self.as_subclass(Tensor).to(device or self.device)

    def __repr__(self, **_: Any) -> str:
        return self._materialize().__repr__()

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:  # type: ignore[override]
        """Attention accepts the mask as it is; other functions get an error."""
        kwargs = kwargs or {}
        if getattr(func, "__name__", "") != "scaled_dot_product_attention":
            with DisableTorchFunctionSubclass():
                return func(*args, **kwargs)
        return _attention(*args, **kwargs)


def _attention(query: Any, key: Any, value: Any, attn_mask: Any, dropout_p: float = 0.0, is_causal: bool = False, **kwargs: Any) -> Tensor:  # fmt: skip
    if is_causal:
        raise ValueError("CausalBias should not be used with causal=True")
    if attn_mask.variant == CausalVariant.UPPER_LEFT or attn_mask.seq_len_q == attn_mask.seq_len_kv:
        return functional.scaled_dot_product_attention(
            query, key, value, None, dropout_p, True, **kwargs
        )
    mask = attn_mask._materialize(query.device)
    return functional.scaled_dot_product_attention(query, key, value, mask, dropout_p, **kwargs)


def causal_upper_left(*size: int) -> CausalBias:
    """The causal mask aligned with the upper left corner."""
    if len(size) != 2:
        raise RuntimeError("causal_upper_left only supports 2D tensors")
    return CausalBias(CausalVariant.UPPER_LEFT, *size)


def causal_lower_right(*size: int) -> CausalBias:
    """The causal mask aligned with the lower right corner."""
    if len(size) != 2:
        raise RuntimeError("causal_lower_right only supports 2D tensors")
    return CausalBias(CausalVariant.LOWER_RIGHT, *size)
