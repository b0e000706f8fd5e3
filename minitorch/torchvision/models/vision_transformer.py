"""ViT: pictures as sentences of patches."""

from __future__ import annotations

import math
from collections import OrderedDict
from functools import partial
from typing import Any

from ... import torch
from ...torch import Tensor, nn
from .registry import register

_layer_norm = partial(nn.LayerNorm, eps=1e-6)


class MLPBlock(nn.Sequential):
    """Two linear layers with a GELU between them."""

    def __init__(self, in_dim: int, mlp_dim: int, dropout: float) -> None:
        super().__init__(
            nn.Linear(in_dim, mlp_dim),
            nn.GELU(),
            nn.Dropout(dropout),
            nn.Linear(mlp_dim, in_dim),
            nn.Dropout(dropout),
        )
        for module in self.modules():
            if isinstance(module, nn.Linear):
                nn.init.xavier_uniform_(module.weight)
                nn.init.normal_(module.bias, std=1e-6)


class EncoderBlock(nn.Module):
    """Attention and an MLP, each normalized before and added to its input."""

    def __init__(
        self,
        num_heads: int,
        hidden_dim: int,
        mlp_dim: int,
        dropout: float,
        attention_dropout: float,
        norm_layer: Any = _layer_norm,
    ) -> None:
        super().__init__()
        self.num_heads = num_heads
        self.ln_1 = norm_layer(hidden_dim)
        self.self_attention = nn.MultiheadAttention(
            hidden_dim, num_heads, dropout=attention_dropout, batch_first=True
        )
        self.dropout = nn.Dropout(dropout)
        self.ln_2 = norm_layer(hidden_dim)
        self.mlp = MLPBlock(hidden_dim, mlp_dim, dropout)

    def forward(self, input: Tensor) -> Tensor:
        """The same shape: (batch, patches, hidden)."""
        x = self.ln_1(input)
        x, _ = self.self_attention(x, x, x, need_weights=False)
        x = self.dropout(x) + input
        return x + self.mlp(self.ln_2(x))


class Encoder(nn.Module):
    """Positions, and blocks one after the other."""

    def __init__(
        self,
        seq_length: int,
        num_layers: int,
        num_heads: int,
        hidden_dim: int,
        mlp_dim: int,
        dropout: float,
        attention_dropout: float,
        norm_layer: Any = _layer_norm,
    ) -> None:
        super().__init__()
        self.pos_embedding = nn.Parameter(torch.empty(1, seq_length, hidden_dim).normal_(std=0.02))
        self.dropout = nn.Dropout(dropout)
        self.layers = nn.Sequential(
            OrderedDict(
                (
                    f"encoder_layer_{i}",
                    EncoderBlock(
                        num_heads, hidden_dim, mlp_dim, dropout, attention_dropout, norm_layer
                    ),
                )
                for i in range(num_layers)
            )
        )
        self.ln = norm_layer(hidden_dim)

    def forward(self, input: Tensor) -> Tensor:
        """The same shape: (batch, patches, hidden)."""
        return self.ln(self.layers(self.dropout(input + self.pos_embedding)))


class VisionTransformer(nn.Module):
    """An image is worth 16 x 16 words (Dosovitskiy and others, 2020)."""

    def __init__(
        self,
        image_size: int,
        patch_size: int,
        num_layers: int,
        num_heads: int,
        hidden_dim: int,
        mlp_dim: int,
        dropout: float = 0.0,
        attention_dropout: float = 0.0,
        num_classes: int = 1000,
        representation_size: int | None = None,
        norm_layer: Any = _layer_norm,
    ) -> None:
        super().__init__()
        if image_size % patch_size:
            raise AssertionError("Input shape indivisible by patch size!")
        self.image_size, self.patch_size = image_size, patch_size
        self.hidden_dim, self.mlp_dim = hidden_dim, mlp_dim
        self.num_classes, self.representation_size = num_classes, representation_size
        self.conv_proj = nn.Conv2d(3, hidden_dim, kernel_size=patch_size, stride=patch_size)
        self.class_token = nn.Parameter(torch.zeros(1, 1, hidden_dim))
        self.seq_length = (image_size // patch_size) ** 2 + 1
        self.encoder = Encoder(
            self.seq_length, num_layers, num_heads, hidden_dim, mlp_dim, dropout,
            attention_dropout, norm_layer,
        )  # fmt: skip
        heads: OrderedDict[str, nn.Module] = OrderedDict()
        if representation_size is not None:
            heads["pre_logits"] = nn.Linear(hidden_dim, representation_size)
            heads["act"] = nn.Tanh()
        heads["head"] = nn.Linear(representation_size or hidden_dim, num_classes)
        self.heads = nn.Sequential(heads)
        self._initialize()

    def _initialize(self) -> None:
        fan_in = 3 * self.patch_size**2
        nn.init.trunc_normal_(self.conv_proj.weight, std=math.sqrt(1 / fan_in))
        nn.init.zeros_(self.conv_proj.bias)  # type: ignore[arg-type]
        heads: Any = self.heads
        if self.representation_size is not None:
            nn.init.trunc_normal_(heads.pre_logits.weight, std=math.sqrt(1 / self.hidden_dim))
            nn.init.zeros_(heads.pre_logits.bias)
        nn.init.zeros_(heads.head.weight)
        nn.init.zeros_(heads.head.bias)

    def _patches(self, x: Tensor) -> Tensor:
        """(batch, 3, size, size) to (batch, patches, hidden)."""
        for name, size in zip(("height", "width"), x.shape[2:], strict=True):
            if size != self.image_size:
                raise AssertionError(
                    f"Wrong image {name}! Expected {self.image_size} but got {size}!"
                )
        return self.conv_proj(x).flatten(2).permute(0, 2, 1)

    def forward(self, x: Tensor) -> Tensor:
        patches = self._patches(x)
        token = self.class_token.expand(x.shape[0], -1, -1)
        encoded = self.encoder(torch.cat([token, patches], dim=1))
        return self.heads(encoded[:, 0])


def _declare(name: str, patch: int, layers: int, heads: int, hidden: int, mlp: int) -> Any:
    def build(image_size: int = 224, **kwargs: Any) -> VisionTransformer:
        return VisionTransformer(image_size, patch, layers, heads, hidden, mlp, **kwargs)

    doc = f"{name}: {layers} layers, {hidden} wide, patches of {patch} x {patch}."
    return register(build, name, doc)


vit_b_16 = _declare("vit_b_16", 16, 12, 12, 768, 3072)
vit_b_32 = _declare("vit_b_32", 32, 12, 12, 768, 3072)
vit_l_16 = _declare("vit_l_16", 16, 24, 16, 1024, 4096)
vit_l_32 = _declare("vit_l_32", 32, 24, 16, 1024, 4096)
vit_h_14 = _declare("vit_h_14", 14, 32, 16, 1280, 5120)
