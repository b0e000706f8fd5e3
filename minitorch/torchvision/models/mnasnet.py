"""MNASNet: blocks of MobileNet V2 in an order that a search has found."""

from __future__ import annotations

from typing import Any

from ...torch import Tensor, nn
from .mobilenetv2 import rounded
from .registry import register

MOMENTUM = 1 - 0.9997

# Channels in and out by their places among the widths, kernel, stride of the first block, how much blocks widen, how many.
STACKS = [
    (1, 3, 2, 3, 3), (2, 5, 2, 3, 3), (3, 5, 2, 6, 3), (4, 3, 1, 6, 2), (5, 5, 2, 6, 4),
    (6, 3, 1, 6, 1),
]  # fmt: skip


def _convolution(inputs: int, outputs: int, kernel: int, stride: int = 1, groups: int = 1, relu: bool = True) -> list[nn.Module]:  # fmt: skip
    layers: list[nn.Module] = [
        nn.Conv2d(
            inputs, outputs, kernel, padding=kernel // 2, stride=stride, groups=groups, bias=False
        ),
        nn.BatchNorm2d(outputs, momentum=MOMENTUM),
    ]
    return [*layers, nn.ReLU(inplace=True)] if relu else layers


class _InvertedResidual(nn.Module):
    """One block; it adds to its input where sizes allow."""

    def __init__(self, inputs: int, outputs: int, kernel: int, stride: int, expand: int) -> None:
        super().__init__()
        hidden = inputs * expand
        self.apply_residual = inputs == outputs and stride == 1
        self.layers = nn.Sequential(
            *_convolution(inputs, hidden, 1),
            *_convolution(hidden, hidden, kernel, stride, hidden),
            *_convolution(hidden, outputs, 1, relu=False),
        )

    def forward(self, input: Tensor) -> Tensor:
        return self.layers(input) + input if self.apply_residual else self.layers(input)


class MNASNet(nn.Module):
    """Platform-aware neural architecture search for mobile (Tan and others, 2018)."""

    def __init__(self, alpha: float, num_classes: int = 1000, dropout: float = 0.2) -> None:
        super().__init__()
        if alpha <= 0.0:
            raise ValueError(f"alpha should be greater than 0.0 instead of {alpha}")
        self.alpha, self.num_classes = alpha, num_classes
        widths = [rounded(width * alpha) for width in (32, 16, 24, 40, 80, 96, 192, 320)]
        layers = [
            *_convolution(3, widths[0], 3, 2),
            *_convolution(widths[0], widths[0], 3, 1, widths[0]),
            *_convolution(widths[0], widths[1], 1, relu=False),
        ]
        for place, kernel, stride, expand, count in STACKS:
            inputs, outputs = widths[place], widths[place + 1]
            blocks = [_InvertedResidual(inputs, outputs, kernel, stride, expand)]
            blocks += [
                _InvertedResidual(outputs, outputs, kernel, 1, expand) for _ in range(count - 1)
            ]
            layers.append(nn.Sequential(*blocks))
        self.layers = nn.Sequential(*layers, *_convolution(widths[7], 1280, 1))
        self.classifier = nn.Sequential(
            nn.Dropout(p=dropout, inplace=True), nn.Linear(1280, num_classes)
        )
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")
            elif isinstance(module, nn.Linear):
                nn.init.kaiming_uniform_(module.weight, mode="fan_out", nonlinearity="sigmoid")
                nn.init.zeros_(module.bias)  # type: ignore[arg-type]

    def forward(self, x: Tensor) -> Tensor:
        return self.classifier(self.layers(x).mean([2, 3]))


def _declare(name: str, alpha: float) -> Any:
    doc = f"MNASNet, {alpha} times as wide as the first."
    return register(lambda **options: MNASNet(alpha, **options), name, doc)


mnasnet0_5 = _declare("mnasnet0_5", 0.5)
mnasnet0_75 = _declare("mnasnet0_75", 0.75)
mnasnet1_0 = _declare("mnasnet1_0", 1.0)
mnasnet1_3 = _declare("mnasnet1_3", 1.3)
