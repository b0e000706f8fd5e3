"""ConvNeXt: a convolutional network in the shape of a Transformer."""

from __future__ import annotations

from functools import partial
from typing import Any

from ...torch import Tensor, nn, ones
from ..ops.misc import Conv2dNormActivation, Permute
from ..ops.stochastic_depth import StochasticDepth
from .registry import register


class LayerNorm2d(nn.LayerNorm):
    """Normalizes the channels of each pixel."""

    def forward(self, input: Tensor) -> Tensor:
        """The input (N, C, H, W), normalized over C."""
        return super().forward(input.permute(0, 2, 3, 1)).permute(0, 3, 1, 2)


class CNBlock(nn.Module):
    """A large filter for each channel, then a small network for each pixel, added to the input."""

    def __init__(self, dim: int, layer_scale: float, stochastic_depth_prob: float, norm_layer: Any = None) -> None:  # fmt: skip
        super().__init__()
        norm = norm_layer or partial(nn.LayerNorm, eps=1e-6)
        self.block = nn.Sequential(
            nn.Conv2d(dim, dim, kernel_size=7, padding=3, groups=dim, bias=True),
            Permute([0, 2, 3, 1]),
            norm(dim),
            nn.Linear(dim, 4 * dim),
            nn.GELU(),
            nn.Linear(4 * dim, dim),
            Permute([0, 3, 1, 2]),
        )
        self.layer_scale = nn.Parameter(ones(dim, 1, 1) * layer_scale)
        self.stochastic_depth = StochasticDepth(stochastic_depth_prob, "row")

    def forward(self, input: Tensor) -> Tensor:
        return self.stochastic_depth(self.layer_scale * self.block(input)) + input


class ConvNeXt(nn.Module):
    """A ConvNet for the 2020s (Liu and others, 2022).

    Args:
        block_setting: of each stage: channels, channels of the next one or None, how many blocks
        stochastic_depth_prob: how likely the last block is left out
        layer_scale: the first factor of what blocks add
        num_classes: of the result
    """

    def __init__(
        self,
        block_setting: list[tuple[int, int | None, int]],
        stochastic_depth_prob: float = 0.0,
        layer_scale: float = 1e-6,
        num_classes: int = 1000,
    ) -> None:
        super().__init__()
        norm = partial(LayerNorm2d, eps=1e-6)
        first = block_setting[0][0]
        layers: list[nn.Module] = [
            Conv2dNormActivation(
                3, first, 4, 4, 0, norm_layer=norm, activation_layer=None, bias=True
            )
        ]
        total, made = sum(count for _, _, count in block_setting), 0
        for channels, after, count in block_setting:
            stage = []
            for _ in range(count):
                drop = stochastic_depth_prob * made / (total - 1.0)
                stage.append(CNBlock(channels, layer_scale, drop))
                made += 1
            layers.append(nn.Sequential(*stage))
            if after is not None:
                layers.append(nn.Sequential(norm(channels), nn.Conv2d(channels, after, 2, 2)))
        last = block_setting[-1][0]
        self.features = nn.Sequential(*layers)
        self.avgpool = nn.AdaptiveAvgPool2d(1)
        self.classifier = nn.Sequential(norm(last), nn.Flatten(1), nn.Linear(last, num_classes))
        for module in self.modules():
            if isinstance(module, (nn.Conv2d, nn.Linear)):
                nn.init.trunc_normal_(module.weight, std=0.02)
                if module.bias is not None:
                    nn.init.zeros_(module.bias)

    def forward(self, x: Tensor) -> Tensor:
        return self.classifier(self.avgpool(self.features(x)))


def _declare(name: str, width: int, blocks: int, drop: float) -> Any:
    def build(**kwargs: Any) -> ConvNeXt:
        sizes = [width, 2 * width, 4 * width, 8 * width]
        setting = list(zip(sizes, [*sizes[1:], None], (3, 3, blocks, 3), strict=True))
        return ConvNeXt(setting, **{"stochastic_depth_prob": drop, **kwargs})

    return register(build, name, f"ConvNeXt that begins with {width} channels.")


convnext_tiny = _declare("convnext_tiny", 96, 9, 0.1)
convnext_small = _declare("convnext_small", 96, 27, 0.4)
convnext_base = _declare("convnext_base", 128, 27, 0.5)
convnext_large = _declare("convnext_large", 192, 27, 0.5)
