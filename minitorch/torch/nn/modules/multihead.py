"""Attention with several heads."""

from __future__ import annotations

from typing import Any, ClassVar

from ...tensor import Tensor
from .. import functional as F
from .. import init
from ..parameter import Parameter
from .layer import add_parameters
from .linear import NonDynamicallyQuantizableLinear
from .module import Module


class MultiheadAttention(Module):
    """Multi-head attention, with projections before and after.

    Args:
        embed_dim: size of queries and of the output
        num_heads: number of heads into which it is split
        dropout: probability of dropping an attention weight in training
        bias: whether projections have biases
        add_bias_kv: whether a learned key and value are appended to each sequence
        add_zero_attn: whether a key and value of zeros are appended to each sequence
        kdim: size of keys, if another
        vdim: size of values, if another
        batch_first: whether inputs are (batch, sequence, feature), not (sequence, batch, feature)
        device: of the parameters
        dtype: of the parameters
    """

    __constants__: ClassVar = ["batch_first"]
    in_proj_weight: Parameter | None
    in_proj_bias: Parameter | None
    q_proj_weight: Parameter | None
    k_proj_weight: Parameter | None
    v_proj_weight: Parameter | None
    bias_k: Parameter | None
    bias_v: Parameter | None

    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        dropout: float = 0.0,
        bias: bool = True,
        add_bias_kv: bool = False,
        add_zero_attn: bool = False,
        kdim: int | None = None,
        vdim: int | None = None,
        batch_first: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        if embed_dim <= 0 or num_heads <= 0:
            raise ValueError(
                "embed_dim and num_heads must be greater than 0, got "
                f"embed_dim={embed_dim} and num_heads={num_heads} instead"
            )
        super().__init__()
        self.embed_dim = embed_dim
        self.kdim = embed_dim if kdim is None else kdim
        self.vdim = embed_dim if vdim is None else vdim
        self._qkv_same_embed_dim = self.kdim == embed_dim and self.vdim == embed_dim
        self.num_heads, self.dropout, self.batch_first = num_heads, dropout, batch_first
        self.head_dim = embed_dim // num_heads
        if self.head_dim * num_heads != embed_dim:
            raise AssertionError("embed_dim must be divisible by num_heads")
        add_parameters(self, device, dtype, **self._shapes(bias))
        self.out_proj = NonDynamicallyQuantizableLinear(
            embed_dim, embed_dim, bias=bias, device=device, dtype=dtype
        )
        if add_bias_kv:
            one = (1, 1, embed_dim)
            add_parameters(self, device, dtype, bias_k=one, bias_v=one)
        else:
            self.bias_k = self.bias_v = None
        self.add_zero_attn = add_zero_attn
        self._reset_parameters()

    def _shapes(self, bias: bool) -> dict[str, tuple[int, ...] | None]:
        """The shapes of the input projections, as one weight or as three."""
        width = self.embed_dim
        names = ("q_proj_weight", "k_proj_weight", "v_proj_weight")
        shapes: dict[str, tuple[int, ...] | None]
        if self._qkv_same_embed_dim:
            shapes = {"in_proj_weight": (3 * width, width), **dict.fromkeys(names)}
        else:
            widths = (width, self.kdim, self.vdim)
            shapes = {name: (width, given) for name, given in zip(names, widths, strict=True)}
            shapes["in_proj_weight"] = None
        shapes["in_proj_bias"] = (3 * width,) if bias else None
        return shapes

    def _reset_parameters(self) -> None:
        for weight in (
            self.in_proj_weight,
            self.q_proj_weight,
            self.k_proj_weight,
            self.v_proj_weight,
        ):
            if weight is not None:
                init.xavier_uniform_(weight)
        if self.in_proj_bias is not None and self.out_proj.bias is not None:
            init.constant_(self.in_proj_bias, 0.0)
            init.constant_(self.out_proj.bias, 0.0)
        for bias in (self.bias_k, self.bias_v):
            if bias is not None:
                init.xavier_normal_(bias)

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__({"_qkv_same_embed_dim": True, **state})

    def forward(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        key_padding_mask: Tensor | None = None,
        need_weights: bool = True,
        attn_mask: Tensor | None = None,
        average_attn_weights: bool = True,
        is_causal: bool = False,
    ) -> tuple[Tensor, Tensor | None]:
        """The output, and the attention weights if `need_weights`."""
        transposed = self.batch_first and query.ndim == 3
        if transposed:
            query, key, value = _transposed(query, key, value)
        out, weights = F.multi_head_attention_forward(
            query, key, value, self.embed_dim, self.num_heads, self.in_proj_weight, self.in_proj_bias,
            self.bias_k, self.bias_v, self.add_zero_attn, self.dropout,
            self.out_proj.weight, self.out_proj.bias, self.training, key_padding_mask, need_weights, attn_mask,
            not self._qkv_same_embed_dim, self.q_proj_weight, self.k_proj_weight, self.v_proj_weight,
            average_attn_weights=average_attn_weights, is_causal=is_causal,
        )  # fmt: skip
        return (out.transpose(0, 1) if transposed else out), weights


def _transposed(query: Tensor, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Queries, keys and values with the sequence first; equal tensors stay one object, which saves projections."""
    transposed = {id(x): x.transpose(0, 1) for x in (query, key, value)}
    return transposed[id(query)], transposed[id(key)], transposed[id(value)]
