"""Swin Transformer: attention within small windows, which are shifted in every second layer."""

from __future__ import annotations

from functools import partial
from typing import Any

from ...torch import Tensor, arange, cat, flatten, meshgrid, nn, roll, stack, zeros
from ...torch.nn import functional
from ..ops.misc import MLP, Permute
from ..ops.stochastic_depth import StochasticDepth
from .registry import register


class PatchMerging(nn.Module):
    """Half the size: four neighbours become one pixel of twice the channels."""

    def __init__(self, dim: int, norm_layer: Any = nn.LayerNorm) -> None:
        super().__init__()
        self.dim = dim
        self.reduction = nn.Linear(4 * dim, 2 * dim, bias=False)
        self.norm = norm_layer(4 * dim)

    def forward(self, x: Tensor) -> Tensor:
        """The picture (N, H, W, C) as (N, H / 2, W / 2, 2 C)."""
        return self.reduction(self.norm(self.neighbours(x)))

    def neighbours(self, x: Tensor) -> Tensor:
        """Four pixels side by side (N, H / 2, W / 2, 4 C)."""
        height, width = x.shape[-3:-1]
        x = functional.pad(x, (0, 0, 0, width % 2, 0, height % 2))
        return cat([x[..., i::2, j::2, :] for j in (0, 1) for i in (0, 1)], -1)


def relative_places(window: tuple[int, int]) -> Tensor:
    """For each pair of pixels of a window, the place of their distance in the table of biases."""
    rows, columns = window
    coordinates = flatten(stack(meshgrid(arange(rows), arange(columns), indexing="ij")), 1)
    distances = (coordinates[:, :, None] - coordinates[:, None, :]).permute(1, 2, 0).contiguous()
    distances[:, :, 0] += rows - 1
    distances[:, :, 1] += columns - 1
    distances[:, :, 0] *= 2 * columns - 1
    return distances.sum(-1).flatten()


class ShiftedWindowAttention(nn.Module):
    """Attention of the pixels of each window to each other, with a bias for each distance."""

    def __init__(
        self, dim: int, window_size: list[int], shift_size: list[int], num_heads: int, attention_dropout: float = 0.0, dropout: float = 0.0
    ) -> None:  # fmt: skip
        super().__init__()
        self.window_size, self.shift_size, self.num_heads = window_size, shift_size, num_heads
        self.attention_dropout, self.dropout = attention_dropout, dropout
        self.qkv = nn.Linear(dim, dim * 3)
        self.proj = nn.Linear(dim, dim)
        self._make_table()
        window = (window_size[0], window_size[1])
        self.register_buffer("relative_position_index", relative_places(window))

    def _make_table(self) -> None:
        """Of which biases are taken."""
        rows, columns = self.window_size
        count = (2 * rows - 1) * (2 * columns - 1)
        self.relative_position_bias_table = nn.Parameter(zeros(count, self.num_heads))
        nn.init.trunc_normal_(self.relative_position_bias_table, std=0.02)

    def _biases(self) -> Tensor:
        """For each distance between pixels, a bias for each head."""
        return self.relative_position_bias_table

    def _scores(self, query: Tensor, key: Tensor) -> Tensor:
        return (query * query.shape[-1] ** -0.5).matmul(key.transpose(-2, -1))

    def _projected(self, x: Tensor) -> Tensor:
        """Queries, keys and values, one after the other."""
        return self.qkv(x)

    def forward(self, x: Tensor) -> Tensor:
        """The picture (N, H, W, C), each pixel with what it took from its window."""
        n, height, width, channels = x.shape
        rows, columns = self.window_size
        x = functional.pad(x, (0, 0, 0, -width % columns, 0, -height % rows))
        _, high, wide, _ = x.shape
        shift = [0 if size >= whole else s for size, whole, s in zip(self.window_size, (high, wide), self.shift_size, strict=True)]  # fmt: skip
        if sum(shift):
            x = roll(x, shifts=(-shift[0], -shift[1]), dims=(1, 2))
        count, size = (high // rows) * (wide // columns), rows * columns
        x = x.view(n, high // rows, rows, wide // columns, columns, channels)
        x = x.permute(0, 1, 3, 2, 4, 5).reshape(n * count, size, channels)  # (windows, pixels, C)
        x = self._attend(x, count, shift, (high, wide))
        x = x.view(n, high // rows, wide // columns, rows, columns, channels)
        x = x.permute(0, 1, 3, 2, 4, 5).reshape(n, high, wide, channels)
        if sum(shift):
            x = roll(x, shifts=(shift[0], shift[1]), dims=(1, 2))
        return x[:, :height, :width, :].contiguous()

    def _attend(self, x: Tensor, count: int, shift: list[int], sizes: tuple[int, int]) -> Tensor:
        windows, size, channels = x.shape
        heads = self.num_heads
        query, key, value = self._projected(x).reshape(windows, size, 3, heads, channels // heads).permute(2, 0, 3, 1, 4)  # fmt: skip
        scores = self._scores(query, key)
        bias = self._biases()[self.relative_position_index]
        scores = scores + bias.view(size, size, -1).permute(2, 0, 1).contiguous().unsqueeze(0)
        if sum(shift):
            mask = self._mask(x, count, shift, sizes)
            scores = scores.view(windows // count, count, heads, size, size)
            scores = (scores + mask.unsqueeze(1).unsqueeze(0)).view(-1, heads, size, size)
        weights = functional.dropout(functional.softmax(scores, dim=-1), self.attention_dropout, self.training)  # fmt: skip
        made = self.proj(weights.matmul(value).transpose(1, 2).reshape(windows, size, channels))
        return functional.dropout(made, self.dropout, self.training)

    def _mask(self, x: Tensor, count: int, shift: list[int], sizes: tuple[int, int]) -> Tensor:
        """-100 between pixels that only the shift has brought together."""
        regions = x.new_zeros(sizes)
        number = 0
        bands = [
            ((0, -w), (-w, -s), (-s, None)) for w, s in zip(self.window_size, shift, strict=True)
        ]
        for top, bottom in bands[0]:
            for left, right in bands[1]:
                regions[top:bottom, left:right] = number
                number += 1
        rows, columns = self.window_size
        regions = regions.view(sizes[0] // rows, rows, sizes[1] // columns, columns)
        regions = regions.permute(0, 2, 1, 3).reshape(count, rows * columns)
        apart = regions.unsqueeze(1) - regions.unsqueeze(2)
        return apart.masked_fill(apart != 0, -100.0).masked_fill(apart == 0, 0.0)


class SwinTransformerBlock(nn.Module):
    """Attention and a small network for each pixel, both added to the input."""

    attention: Any = ShiftedWindowAttention

    def __init__(
        self, dim: int, num_heads: int, window_size: list[int], shift_size: list[int], mlp_ratio: float, dropout: float,
        attention_dropout: float, stochastic_depth_prob: float, norm_layer: Any,
    ) -> None:  # fmt: skip
        super().__init__()
        self.norm1 = norm_layer(dim)
        self.attn = self.attention(dim, window_size, shift_size, num_heads, attention_dropout, dropout)  # fmt: skip
        self.stochastic_depth = StochasticDepth(stochastic_depth_prob, "row")
        self.norm2 = norm_layer(dim)
        self.mlp = MLP(dim, [int(dim * mlp_ratio), dim], activation_layer=nn.GELU, inplace=None, dropout=dropout)  # fmt: skip
        for module in self.mlp.modules():
            if isinstance(module, nn.Linear):
                nn.init.xavier_uniform_(module.weight)
                nn.init.normal_(module.bias, std=1e-6)  # type: ignore[arg-type]

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.stochastic_depth(self.attn(self.norm1(x)))
        return x + self.stochastic_depth(self.mlp(self.norm2(x)))


class SwinTransformer(nn.Module):
    """Hierarchical vision transformer using shifted windows (Liu and others, 2021)."""

    def __init__(
        self,
        patch_size: list[int],
        embed_dim: int,
        depths: list[int],
        num_heads: list[int],
        window_size: list[int],
        mlp_ratio: float = 4.0,
        dropout: float = 0.0,
        attention_dropout: float = 0.0,
        stochastic_depth_prob: float = 0.1,
        num_classes: int = 1000,
        block: Any = SwinTransformerBlock,
        downsample_layer: Any = PatchMerging,
    ) -> None:
        super().__init__()
        self.num_classes = num_classes
        norm = partial(nn.LayerNorm, eps=1e-5)
        patch = (patch_size[0], patch_size[1])
        layers: list[nn.Module] = [
            nn.Sequential(
                nn.Conv2d(3, embed_dim, kernel_size=patch, stride=patch), Permute([0, 2, 3, 1]), norm(embed_dim)
            )
        ]  # fmt: skip
        made = 0
        for stage, count in enumerate(depths):
            width = embed_dim * 2**stage
            blocks: list[nn.Module] = []
            for place in range(count):
                drop = stochastic_depth_prob * made / (sum(depths) - 1)
                shift = [size // 2 if place % 2 else 0 for size in window_size]
                blocks.append(
                    block(
                        width, num_heads[stage], window_size, shift, mlp_ratio, dropout, attention_dropout, drop, norm
                    )
                )  # fmt: skip
                made += 1
            layers.append(nn.Sequential(*blocks))
            if stage < len(depths) - 1:
                layers.append(downsample_layer(width, norm))
        self.features = nn.Sequential(*layers)
        last = embed_dim * 2 ** (len(depths) - 1)
        self.norm = norm(last)
        self.permute = Permute([0, 3, 1, 2])
        self.avgpool = nn.AdaptiveAvgPool2d(1)
        self.flatten = nn.Flatten(1)
        self.head = nn.Linear(last, num_classes)
        for module in self.modules():
            if isinstance(module, nn.Linear):
                nn.init.trunc_normal_(module.weight, std=0.02)
                if module.bias is not None:
                    nn.init.zeros_(module.bias)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.flatten(self.avgpool(self.permute(self.norm(self.features(x))))))


def declare(
    name: str, width: int, depth: int, heads: int, drop: float, window: int = 7, **options: Any
) -> Any:
    """Offer a Swin Transformer of these sizes under a name."""
    fixed = {"window_size": [window, window], "stochastic_depth_prob": drop, **options}

    def build(**kwargs: Any) -> SwinTransformer:
        counts = [heads * 2**stage for stage in range(4)]
        options = {**fixed, **kwargs}
        return SwinTransformer([4, 4], width, [2, 2, depth, 2], counts, **options)

    build.__name__, build.__doc__ = name, f"Swin Transformer that begins with {width} channels."
    return register(build)


swin_t = declare("swin_t", 96, 6, 3, 0.2)
swin_s = declare("swin_s", 96, 18, 3, 0.3)
swin_b = declare("swin_b", 128, 18, 4, 0.5)
