"""MobileNet V3: the blocks of V2 with channels weighed against each other, and activations that are cheap to compute."""

from __future__ import annotations

from functools import partial
from typing import Any

from ...torch import Tensor, nn
from ..ops.misc import Conv2dNormActivation, SqueezeExcitation
from .mobilenetv2 import initialize, rounded
from .registry import register

# Channels in, kernel, channels within, channels out, whether channels are weighed, whether Hardswish, stride.
LARGE = [
    (16, 3, 16, 16, False, False, 1), (16, 3, 64, 24, False, False, 2), (24, 3, 72, 24, False, False, 1),
    (24, 5, 72, 40, True, False, 2), (40, 5, 120, 40, True, False, 1), (40, 5, 120, 40, True, False, 1),
    (40, 3, 240, 80, False, True, 2), (80, 3, 200, 80, False, True, 1), (80, 3, 184, 80, False, True, 1),
    (80, 3, 184, 80, False, True, 1), (80, 3, 480, 112, True, True, 1), (112, 3, 672, 112, True, True, 1),
    (112, 5, 672, 160, True, True, 2), (160, 5, 960, 160, True, True, 1), (160, 5, 960, 160, True, True, 1),
]  # fmt: skip
SMALL = [
    (16, 3, 16, 16, True, False, 2), (16, 3, 72, 24, False, False, 2), (24, 3, 88, 24, False, False, 1),
    (24, 5, 96, 40, True, True, 2), (40, 5, 240, 40, True, True, 1), (40, 5, 240, 40, True, True, 1),
    (40, 5, 120, 48, True, True, 1), (48, 5, 144, 48, True, True, 1), (48, 5, 288, 96, True, True, 2),
    (96, 5, 576, 96, True, True, 1), (96, 5, 576, 96, True, True, 1),
]  # fmt: skip

_norm = partial(nn.BatchNorm2d, eps=0.001, momentum=0.01)


class InvertedResidual(nn.Module):
    """One block; it adds to its input where sizes allow."""

    def __init__(
        self, inputs: int, kernel: int, hidden: int, outputs: int, weighed: bool, hard: bool, stride: int
    ) -> None:  # fmt: skip
        super().__init__()
        self.use_res_connect = stride == 1 and inputs == outputs
        layer = partial(
            Conv2dNormActivation,
            norm_layer=_norm,
            activation_layer=nn.Hardswish if hard else nn.ReLU,
        )
        layers: list[nn.Module] = [layer(inputs, hidden, 1)] if hidden != inputs else []
        layers.append(layer(hidden, hidden, kernel, stride, groups=hidden))
        if weighed:
            layers.append(
                SqueezeExcitation(hidden, rounded(hidden // 4), scale_activation=nn.Hardsigmoid)
            )
        layers.append(
            Conv2dNormActivation(hidden, outputs, 1, norm_layer=_norm, activation_layer=None)
        )
        self.block = nn.Sequential(*layers)

    def forward(self, input: Tensor) -> Tensor:
        return input + self.block(input) if self.use_res_connect else self.block(input)


class MobileNetV3(nn.Module):
    """Searching for MobileNetV3 (Howard and others, 2019)."""

    def __init__(
        self,
        inverted_residual_setting: Any,
        last_channel: int,
        num_classes: int = 1000,
        dropout: float = 0.2,
    ) -> None:
        super().__init__()
        setting = inverted_residual_setting
        layer = partial(Conv2dNormActivation, norm_layer=_norm, activation_layer=nn.Hardswish)
        layers: list[nn.Module] = [layer(3, setting[0][0], 3, 2)]
        layers += [InvertedResidual(*row) for row in setting]
        last = setting[-1][3]
        layers.append(layer(last, 6 * last, 1))
        self.features = nn.Sequential(*layers)
        self.avgpool = nn.AdaptiveAvgPool2d(1)
        self.classifier = nn.Sequential(
            nn.Linear(6 * last, last_channel),
            nn.Hardswish(inplace=True),
            nn.Dropout(p=dropout, inplace=True),
            nn.Linear(last_channel, num_classes),
        )
        for module in self.modules():
            initialize(module)

    def forward(self, x: Tensor) -> Tensor:
        return self.classifier(self.avgpool(self.features(x)).flatten(1))


def _scaled(setting: Any, width: float) -> Any:
    """Blocks of another width."""
    return [
        (rounded(a * width), k, rounded(b * width), rounded(c * width), *rest)
        for a, k, b, c, *rest in setting
    ]


@register
def mobilenet_v3_large(width_mult: float = 1.0, **kwargs: Any) -> MobileNetV3:
    """The larger MobileNet V3."""
    return MobileNetV3(_scaled(LARGE, width_mult), rounded(1280 * width_mult), **kwargs)


@register
def mobilenet_v3_small(width_mult: float = 1.0, **kwargs: Any) -> MobileNetV3:
    """The smaller MobileNet V3."""
    return MobileNetV3(_scaled(SMALL, width_mult), rounded(1024 * width_mult), **kwargs)
