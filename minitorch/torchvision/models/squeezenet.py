"""SqueezeNet: few channels between convolutions, and two sizes of windows side by side."""

from __future__ import annotations

from typing import Any

from ...torch import Tensor, cat, nn
from .registry import register


class Fire(nn.Module):
    """Squeeze to few channels, then expand them by windows of 1 x 1 and of 3 x 3."""

    def __init__(
        self, inplanes: int, squeeze_planes: int, expand1x1_planes: int, expand3x3_planes: int
    ) -> None:
        super().__init__()
        self.inplanes = inplanes
        self.squeeze = nn.Conv2d(inplanes, squeeze_planes, kernel_size=1)
        self.squeeze_activation = nn.ReLU(inplace=True)
        self.expand1x1 = nn.Conv2d(squeeze_planes, expand1x1_planes, kernel_size=1)
        self.expand1x1_activation = nn.ReLU(inplace=True)
        self.expand3x3 = nn.Conv2d(squeeze_planes, expand3x3_planes, kernel_size=3, padding=1)
        self.expand3x3_activation = nn.ReLU(inplace=True)

    def forward(self, x: Tensor) -> Tensor:
        x = self.squeeze_activation(self.squeeze(x))
        small = self.expand1x1_activation(self.expand1x1(x))
        return cat([small, self.expand3x3_activation(self.expand3x3(x))], 1)


_POOL = (0, 0, 0)  # stands for a pooling layer between blocks
_FIRES = {
    "1_0": [(96, 16, 64), (128, 16, 64), (128, 32, 128), _POOL, (256, 32, 128), (256, 48, 192),
            (384, 48, 192), (384, 64, 256), _POOL, (512, 64, 256)],
    "1_1": [(64, 16, 64), (128, 16, 64), _POOL, (128, 32, 128), (256, 32, 128), _POOL,
            (256, 48, 192), (384, 48, 192), (384, 64, 256), (512, 64, 256)],
}  # fmt: skip
"""Channels into each block, squeezed, and out of each of its two expansions."""


class SqueezeNet(nn.Module):
    """SqueezeNet (Iandola et al., 2016), versions 1.0 and 1.1."""

    def __init__(self, version: str = "1_0", num_classes: int = 1000, dropout: float = 0.5) -> None:
        super().__init__()
        if version not in _FIRES:
            raise ValueError(f"Unsupported SqueezeNet version {version}: 1_0 or 1_1 expected")
        first = nn.Conv2d(3, 96, 7, stride=2) if version == "1_0" else nn.Conv2d(3, 64, 3, stride=2)
        layers: list[nn.Module] = [first, nn.ReLU(inplace=True), _pool()]
        for inplanes, squeezed, expanded in _FIRES[version]:
            layers.append(Fire(inplanes, squeezed, expanded, expanded) if inplanes else _pool())
        self.num_classes = num_classes
        self.features = nn.Sequential(*layers)
        final = nn.Conv2d(512, num_classes, kernel_size=1)
        self.classifier = nn.Sequential(
            nn.Dropout(p=dropout), final, nn.ReLU(inplace=True), nn.AdaptiveAvgPool2d((1, 1))
        )
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                if module is final:
                    nn.init.normal_(module.weight, mean=0.0, std=0.01)
                else:
                    nn.init.kaiming_uniform_(module.weight)
                nn.init.constant_(module.bias, 0)

    def forward(self, x: Tensor) -> Tensor:
        return self.classifier(self.features(x)).flatten(1)


def _pool() -> nn.Module:
    return nn.MaxPool2d(kernel_size=3, stride=2, ceil_mode=True)


@register
def squeezenet1_0(**kwargs: Any) -> SqueezeNet:
    """SqueezeNet 1.0."""
    return SqueezeNet("1_0", **kwargs)


@register
def squeezenet1_1(**kwargs: Any) -> SqueezeNet:
    """SqueezeNet 1.1, with 2.4 times less to compute."""
    return SqueezeNet("1_1", **kwargs)
