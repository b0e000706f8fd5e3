"""Swin Transformer V2: cosines in the place of products, biases from a small network, norms at the end."""

from __future__ import annotations

import math
from typing import Any

from ...torch import Tensor, arange, cat, float32, log2, meshgrid, nn, ones, sigmoid, sign, stack
from ...torch.nn import functional
from .swin_transformer import PatchMerging, ShiftedWindowAttention, SwinTransformerBlock, declare


class PatchMergingV2(PatchMerging):
    """Half the size, and then the norm."""

    def __init__(self, dim: int, norm_layer: Any = nn.LayerNorm) -> None:
        super().__init__(dim, norm_layer)
        self.norm = norm_layer(2 * dim)

    def forward(self, x: Tensor) -> Tensor:
        return self.norm(self.reduction(self.neighbours(x)))


class ShiftedWindowAttentionV2(ShiftedWindowAttention):
    """Attention by the angle between queries and keys."""

    def __init__(self, dim: int, *args: Any, **kwargs: Any) -> None:
        super().__init__(dim, *args, **kwargs)
        self.logit_scale = nn.Parameter((10 * ones(self.num_heads, 1, 1)).log())
        self.cpb_mlp = nn.Sequential(
            nn.Linear(2, 512), nn.ReLU(inplace=True), nn.Linear(512, self.num_heads, bias=False)
        )
        self.qkv.bias.data[dim : 2 * dim] = 0  # type: ignore[union-attr]

    def _make_table(self) -> None:
        """The distances themselves, large ones closer together."""
        reach = [arange(-(size - 1), size, dtype=float32) / (size - 1) for size in self.window_size]
        far = stack(meshgrid(*reach, indexing="ij")).permute(1, 2, 0).contiguous().unsqueeze(0) * 8
        table = sign(far) * log2(far.abs() + 1.0) / 3.0
        self.register_buffer("relative_coords_table", table)

    def _biases(self) -> Tensor:
        made = self.cpb_mlp(self.relative_coords_table).view(-1, self.num_heads)
        return 16 * sigmoid(made)

    def _scores(self, query: Tensor, key: Tensor) -> Tensor:
        unit = functional.normalize(key, dim=-1).transpose(-2, -1)
        cosines = functional.normalize(query, dim=-1) @ unit
        return cosines * self.logit_scale.clamp(max=math.log(100.0)).exp()

    def _projected(self, x: Tensor) -> Tensor:
        """Keys have no bias."""
        query, key, value = self.qkv.bias.chunk(3)  # type: ignore[union-attr]
        bias = cat([query, key.detach() * 0, value])
        return functional.linear(x, self.qkv.weight, bias)


class SwinTransformerBlockV2(SwinTransformerBlock):
    """As the first version's, with the norms after what is added."""

    attention = ShiftedWindowAttentionV2

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.stochastic_depth(self.norm1(self.attn(x)))
        return x + self.stochastic_depth(self.norm2(self.mlp(x)))


_PARTS = {"block": SwinTransformerBlockV2, "downsample_layer": PatchMergingV2}
swin_v2_t = declare("swin_v2_t", 96, 6, 3, 0.2, 8, **_PARTS)
swin_v2_s = declare("swin_v2_s", 96, 18, 3, 0.3, 8, **_PARTS)
swin_v2_b = declare("swin_v2_b", 128, 18, 4, 0.5, 8, **_PARTS)
