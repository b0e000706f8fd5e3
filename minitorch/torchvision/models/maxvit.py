"""MaxViT: convolutions, attention within windows, and attention between pixels that lie windows apart."""

from __future__ import annotations

import itertools
from collections import OrderedDict
from functools import partial
from typing import Any

import numpy as np

from ...torch import Tensor, einsum, empty, nn
from ...torch.nn import functional
from ..ops.misc import Conv2dNormActivation, SqueezeExcitation
from ..ops.stochastic_depth import StochasticDepth
from .registry import register
from .swin_transformer import relative_places


class MBConv(nn.Module):
    """A wide convolution by channels between two that mix them, added to the input."""

    def __init__(self, narrow: int, wide: int, stride: int, norm: Any, drop: float) -> None:
        super().__init__()
        self.proj: nn.Module = nn.Identity()
        if stride != 1 or narrow != wide:
            shrunk = [nn.AvgPool2d(3, stride, 1)] if stride == 2 else []
            self.proj = nn.Sequential(*shrunk, nn.Conv2d(narrow, wide, 1))
        middle = 4 * wide
        self.stochastic_depth = StochasticDepth(drop, "row") if drop else nn.Identity()
        options = {"norm_layer": norm, "activation_layer": nn.GELU, "inplace": None}
        layers = {
            "pre_norm": norm(narrow),
            "conv_a": Conv2dNormActivation(narrow, middle, 1, 1, 0, **options),
            "conv_b": Conv2dNormActivation(middle, middle, 3, stride, 1, middle, **options),
            "squeeze_excitation": SqueezeExcitation(middle, wide // 4, nn.SiLU),
            "conv_c": nn.Conv2d(middle, wide, 1),
        }
        self.layers = nn.Sequential(OrderedDict(layers))

    def forward(self, x: Tensor) -> Tensor:
        """The picture (N, C, H, W), at `stride` 2 of half the size."""
        return self.proj(x) + self.stochastic_depth(self.layers(x))


class RelativePositionalMultiHeadAttention(nn.Module):
    """Attention of the pixels of each group to each other, with a bias for each distance."""

    def __init__(self, width: int, head: int, side: int) -> None:
        super().__init__()
        self.n_heads, self.side = width // head, side
        self.to_qkv = nn.Linear(width, width * 3)
        self.merge = nn.Linear(width, width)
        table = empty((2 * side - 1) ** 2, self.n_heads)
        self.relative_position_bias_table = nn.Parameter(table)
        places = relative_places((side, side)).view(side * side, side * side)
        self.register_buffer("relative_position_index", places)
        nn.init.trunc_normal_(self.relative_position_bias_table, std=0.02)

    def forward(self, x: Tensor) -> Tensor:
        """Groups of pixels (N, groups, pixels, C), after what they took from each other."""
        n, groups, pixels, width = x.shape
        parts = self.to_qkv(x).chunk(3, dim=-1)
        shape = (n, groups, pixels, self.n_heads, width // self.n_heads)
        query, key, value = (part.reshape(shape).permute(0, 1, 3, 2, 4) for part in parts)
        scores = einsum("ngqid,ngqjd->ngqij", query, key * width**-0.5)
        bias = self.relative_position_bias_table[self.relative_position_index.view(-1)]
        bias = bias.view(pixels, pixels, -1).permute(2, 0, 1).contiguous().unsqueeze(0)
        weights = functional.softmax(scores + bias, dim=-1)
        made = einsum("ngqij,ngqjd->ngqid", weights, value).permute(0, 1, 3, 2, 4)
        return self.merge(made.reshape(n, groups, pixels, width))


class PartitionAttentionLayer(nn.Module):
    """Attention within windows, or, of a grid, between the pixels of one place in all windows."""

    def __init__(
        self, width: int, head: int, side: int, grid: bool, sizes: tuple[int, int], mlp_ratio: int,
        attention_dropout: float, mlp_dropout: float, drop: float,
    ) -> None:  # fmt: skip
        super().__init__()
        self.grid, self.sizes = grid, sizes
        self.p = sizes[0] // side if grid else side
        self.attn_layer = nn.Sequential(
            nn.LayerNorm(width),
            RelativePositionalMultiHeadAttention(width, head, side),
            nn.Dropout(attention_dropout),
        )
        self.mlp_layer = nn.Sequential(
            nn.LayerNorm(width), nn.Linear(width, width * mlp_ratio), nn.GELU(),
            nn.Linear(width * mlp_ratio, width), nn.Dropout(mlp_dropout),
        )  # fmt: skip
        self.stochastic_dropout = StochasticDepth(drop, "row")

    def forward(self, x: Tensor) -> Tensor:
        """The picture (N, C, H, W), after attention and a small network for each pixel."""
        n, channels, height, width = x.shape
        side, high, wide = self.p, self.sizes[0] // self.p, self.sizes[1] // self.p
        x = x.reshape(n, channels, height // side, side, width // side, side)
        x = x.permute(0, 2, 4, 3, 5, 1).reshape(n, high * wide, side * side, channels)
        x = x.swapaxes(-2, -3) if self.grid else x
        x = x + self.stochastic_dropout(self.attn_layer(x))
        x = x + self.stochastic_dropout(self.mlp_layer(x))
        x = x.swapaxes(-2, -3) if self.grid else x
        x = x.reshape(n, high, wide, side, side, channels).permute(0, 5, 1, 3, 2, 4)
        return x.reshape(n, channels, high * side, wide * side)


class MaxVitLayer(nn.Module):
    """A convolution, attention within windows, attention between them."""

    def __init__(
        self, narrow: int, wide: int, stride: int, norm: Any, head: int, side: int, sizes: tuple[int, int],
        drop: float, mlp_ratio: int, attention_dropout: float, mlp_dropout: float,
    ) -> None:  # fmt: skip
        super().__init__()
        options = (sizes, mlp_ratio, attention_dropout, mlp_dropout, drop)
        layers = {
            "MBconv": MBConv(narrow, wide, stride, norm, drop),
            "window_attention": PartitionAttentionLayer(wide, head, side, False, *options),
            "grid_attention": PartitionAttentionLayer(wide, head, side, True, *options),
        }
        self.layers = nn.Sequential(OrderedDict(layers))

    def forward(self, x: Tensor) -> Tensor:
        return self.layers(x)


class MaxVitBlock(nn.Module):
    """Layers of one size, of which the first halves it."""

    def __init__(self, layers: list[MaxVitLayer], grid_size: tuple[int, int]) -> None:
        super().__init__()
        self.layers = nn.ModuleList(layers)
        self.grid_size = grid_size

    def forward(self, x: Tensor) -> Tensor:
        for layer in self.layers:
            x = layer(x)
        return x


class MaxVit(nn.Module):
    """Multi-axis vision transformer (Tu and others, 2022), for pictures of one size."""

    def __init__(
        self,
        input_size: tuple[int, int],
        stem_channels: int,
        partition_size: int,
        block_channels: list[int],
        block_layers: list[int],
        head_dim: int,
        stochastic_depth_prob: float,
        norm_layer: Any = None,
        mlp_ratio: int = 4,
        mlp_dropout: float = 0.0,
        attention_dropout: float = 0.0,
        num_classes: int = 1000,
    ) -> None:
        super().__init__()
        norm = norm_layer or partial(nn.BatchNorm2d, eps=1e-3, momentum=0.01)
        sizes = list(itertools.accumulate(block_channels, lambda size, _: _half(size), initial=_half(input_size)))[1:]  # fmt: skip
        for number, size in enumerate(sizes):
            if size[0] % partition_size or size[1] % partition_size:
                raise ValueError(
                    f"Input size {size} of block {number} is not divisible by partition size {partition_size}. Consider "
                    f"changing the partition size or the input size.\nCurrent configuration yields the following block "
                    f"input sizes: {sizes}."
                )
        self.stem = nn.Sequential(
            Conv2dNormActivation(
                3, stem_channels, 3, 2, norm_layer=norm, activation_layer=nn.GELU, bias=False, inplace=None
            ),
            Conv2dNormActivation(
                stem_channels, stem_channels, 3, norm_layer=None, activation_layer=None, bias=True
            ),
        )  # fmt: skip
        self.partition_size = partition_size
        self.blocks = nn.ModuleList()
        drops = iter(np.linspace(0, stochastic_depth_prob, sum(block_layers)).tolist())
        narrow = stem_channels
        for wide, count, size in zip(block_channels, block_layers, sizes, strict=True):
            layers = []
            for place in range(count):
                layers.append(
                    MaxVitLayer(
                        narrow, wide, 1 if place else 2, norm, head_dim, partition_size, size, next(drops),
                        mlp_ratio, attention_dropout, mlp_dropout,
                    )
                )  # fmt: skip
                narrow = wide
            self.blocks.append(MaxVitBlock(layers, size))
        self.classifier = nn.Sequential(
            nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.LayerNorm(narrow), nn.Linear(narrow, narrow), nn.Tanh(),
            nn.Linear(narrow, num_classes, bias=False),
        )  # fmt: skip
        for module in self.modules():
            if isinstance(module, (nn.Conv2d, nn.Linear)):
                nn.init.normal_(module.weight, std=0.02)
                if module.bias is not None:
                    nn.init.zeros_(module.bias)

    def forward(self, x: Tensor) -> Tensor:
        x = self.stem(x)
        for block in self.blocks:
            x = block(x)
        return self.classifier(x)


def _half(size: tuple[int, int]) -> tuple[int, int]:
    """What a convolution of stride 2 leaves of a size."""
    return (size[0] - 1) // 2 + 1, (size[1] - 1) // 2 + 1


@register
def maxvit_t(**kwargs: Any) -> MaxVit:
    """MaxViT, the tiny one."""
    options = {
        "input_size": (224, 224),
        "partition_size": 7,
        "stochastic_depth_prob": 0.2,
        **kwargs,
    }
    return MaxVit(
        stem_channels=64, block_channels=[64, 128, 256, 512], block_layers=[2, 2, 5, 2], head_dim=32, **options
    )  # fmt: skip
