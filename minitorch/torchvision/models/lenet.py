"""LeNet: two convolutions and three linear layers, for pictures of 28 x 28."""

from __future__ import annotations

from typing import Any

from ...torch import Tensor, nn
from .registry import register


class LeNet(nn.Module):
    """LeNet-5 (LeCun and others, 1998), with ReLU and maxima."""

    def __init__(self, num_classes: int = 10, in_channels: int = 1) -> None:
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(in_channels, 6, kernel_size=5, padding=2),
            nn.ReLU(inplace=True),
            nn.MaxPool2d(2),
            nn.Conv2d(6, 16, kernel_size=5),
            nn.ReLU(inplace=True),
            nn.MaxPool2d(2),
        )
        self.classifier = nn.Sequential(
            nn.Linear(16 * 5 * 5, 120),
            nn.ReLU(inplace=True),
            nn.Linear(120, 84),
            nn.ReLU(inplace=True),
            nn.Linear(84, num_classes),
        )

    def forward(self, x: Tensor) -> Tensor:
        return self.classifier(self.features(x).flatten(1))


@register
def lenet(**kwargs: Any) -> LeNet:
    """LeNet-5."""
    return LeNet(**kwargs)
