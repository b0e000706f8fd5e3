"""MobileNet V2: blocks that widen, filter each channel by itself, and narrow again."""

from __future__ import annotations

from typing import Any

from ...torch import Tensor, nn
from .registry import register

# How much a block widens, its channels, how many blocks, the stride of the first.
STAGES = [
    (1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2),
    (6, 320, 1, 1),
]  # fmt: skip


def rounded(channels: float, divisor: int = 8) -> int:
    """A multiple of the divisor near a number, and not much below it."""
    near = max(divisor, int(channels + divisor / 2) // divisor * divisor)
    return near + divisor if near < 0.9 * channels else near


def _convolution(
    inputs: int, outputs: int, kernel: int, stride: int = 1, groups: int = 1
) -> nn.Sequential:
    """A convolution, normalized, and cut off at 0 and 6."""
    return nn.Sequential(
        nn.Conv2d(inputs, outputs, kernel, stride, (kernel - 1) // 2, groups=groups, bias=False),
        nn.BatchNorm2d(outputs),
        nn.ReLU6(inplace=True),
    )


class InvertedResidual(nn.Module):
    """One block; it adds to its input where sizes allow."""

    def __init__(self, inputs: int, outputs: int, stride: int, expand_ratio: int) -> None:
        super().__init__()
        self.use_res_connect = stride == 1 and inputs == outputs
        hidden = round(inputs * expand_ratio)
        layers = [_convolution(inputs, hidden, 1)] if expand_ratio != 1 else []
        self.conv = nn.Sequential(
            *layers,
            _convolution(hidden, hidden, 3, stride, groups=hidden),
            nn.Conv2d(hidden, outputs, 1, bias=False),
            nn.BatchNorm2d(outputs),
        )

    def forward(self, x: Tensor) -> Tensor:
        return x + self.conv(x) if self.use_res_connect else self.conv(x)


class MobileNetV2(nn.Module):
    """Inverted residuals and linear bottlenecks (Sandler and others, 2018)."""

    def __init__(
        self, num_classes: int = 1000, width_mult: float = 1.0, dropout: float = 0.2
    ) -> None:
        super().__init__()
        channels = rounded(32 * width_mult)
        self.last_channel = rounded(1280 * max(1.0, width_mult))
        layers: list[nn.Module] = [_convolution(3, channels, 3, stride=2)]
        for widen, outputs, count, stride in STAGES:
            outputs = rounded(outputs * width_mult)
            for i in range(count):
                layers.append(InvertedResidual(channels, outputs, 1 if i else stride, widen))
                channels = outputs
        layers.append(_convolution(channels, self.last_channel, 1))
        self.features = nn.Sequential(*layers)
        self.classifier = nn.Sequential(
            nn.Dropout(p=dropout), nn.Linear(self.last_channel, num_classes)
        )
        for module in self.modules():
            initialize(module)

    def forward(self, x: Tensor) -> Tensor:
        pooled = nn.functional.adaptive_avg_pool2d(self.features(x), (1, 1))
        return self.classifier(pooled.flatten(1))


def initialize(module: Any) -> None:
    """The first weights of a layer of a MobileNet."""
    if isinstance(module, nn.Conv2d):
        nn.init.kaiming_normal_(module.weight, mode="fan_out")
        if module.bias is not None:
            nn.init.zeros_(module.bias)
    elif isinstance(module, nn.BatchNorm2d):
        nn.init.ones_(module.weight)  # type: ignore[arg-type]
        nn.init.zeros_(module.bias)  # type: ignore[arg-type]
    elif isinstance(module, nn.Linear):
        nn.init.normal_(module.weight, 0, 0.01)
        nn.init.zeros_(module.bias)  # type: ignore[arg-type]


@register
def mobilenet_v2(**kwargs: Any) -> MobileNetV2:
    """MobileNet V2."""
    return MobileNetV2(**kwargs)
