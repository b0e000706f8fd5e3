"""RegNet: networks whose widths and depths follow from four numbers."""

from __future__ import annotations

import math
from collections import OrderedDict
from functools import partial
from typing import Any

from ...torch import Tensor, nn
from ..ops.misc import Conv2dNormActivation, SqueezeExcitation
from .mobilenetv2 import rounded
from .registry import register

# Depth, first width, slope of the widths, factor between stages, width of a group, and how much channels are squeezed.
SETTINGS: dict[str, tuple[int, int, float, float, int, float | None]] = {
    "regnet_x_400mf": (22, 24, 24.48, 2.54, 16, None), "regnet_x_800mf": (16, 56, 35.73, 2.28, 16, None),
    "regnet_x_1_6gf": (18, 80, 34.01, 2.25, 24, None), "regnet_x_3_2gf": (25, 88, 26.31, 2.25, 48, None),
    "regnet_x_8gf": (23, 80, 49.56, 2.88, 120, None), "regnet_x_16gf": (22, 216, 55.59, 2.1, 128, None),
    "regnet_x_32gf": (23, 320, 69.86, 2.0, 168, None), "regnet_y_400mf": (16, 48, 27.89, 2.09, 8, 0.25),
    "regnet_y_800mf": (14, 56, 38.84, 2.4, 16, 0.25), "regnet_y_1_6gf": (27, 48, 20.71, 2.65, 24, 0.25),
    "regnet_y_3_2gf": (21, 80, 42.63, 2.66, 24, 0.25), "regnet_y_8gf": (17, 192, 76.82, 2.19, 56, 0.25),
    "regnet_y_16gf": (18, 200, 106.23, 2.48, 112, 0.25), "regnet_y_32gf": (20, 232, 115.89, 2.53, 232, 0.25),
    "regnet_y_128gf": (27, 456, 160.83, 2.52, 264, 0.25),
}  # fmt: skip


def stages_of(
    depth: int, first: int, slope: float, factor: float, group: int
) -> list[tuple[int, int, int]]:
    """Of each stage its width, how many blocks it has, and the width of its groups."""
    widths = []
    for place in range(depth):
        straight = first + slope * place
        power = round(math.log(straight / first) / math.log(factor))
        widths.append(int(round(first * factor**power / 8) * 8))
    made = []
    for width in sorted(set(widths)):
        fitting = min(group, width)
        made.append((rounded(width, fitting), widths.count(width), fitting))
    return made


class ResBottleneckBlock(nn.Module):
    """Three convolutions, the middle one in groups, added to the input."""

    def __init__(
        self, inputs: int, outputs: int, stride: int, group: int, squeeze: float | None
    ) -> None:
        super().__init__()
        layer = partial(Conv2dNormActivation, norm_layer=nn.BatchNorm2d)
        self.proj = None
        if inputs != outputs or stride != 1:
            self.proj = layer(inputs, outputs, 1, stride, activation_layer=None)
        parts: OrderedDict[str, nn.Module] = OrderedDict()
        parts["a"] = layer(inputs, outputs, 1)
        parts["b"] = layer(outputs, outputs, 3, stride, groups=outputs // group)
        if squeeze:
            parts["se"] = SqueezeExcitation(outputs, round(squeeze * inputs))
        parts["c"] = layer(outputs, outputs, 1, activation_layer=None)
        self.f = nn.Sequential(parts)
        self.activation = nn.ReLU(inplace=True)

    def forward(self, x: Tensor) -> Tensor:
        return self.activation((x if self.proj is None else self.proj(x)) + self.f(x))


class RegNet(nn.Module):
    """Designing network design spaces (Radosavovic and others, 2020)."""

    def __init__(
        self,
        stages: list[tuple[int, int, int]],
        squeeze: float | None = None,
        num_classes: int = 1000,
        stem_width: int = 32,
    ) -> None:
        super().__init__()
        self.stem = Conv2dNormActivation(3, stem_width, 3, 2)
        width, parts = stem_width, OrderedDict()
        for number, (outputs, count, group) in enumerate(stages, 1):
            blocks: OrderedDict[str, nn.Module] = OrderedDict()
            for place in range(count):
                inputs, stride = (outputs, 1) if place else (width, 2)
                blocks[f"block{number}-{place}"] = ResBottleneckBlock(inputs, outputs, stride, group, squeeze)  # fmt: skip
            parts[f"block{number}"] = nn.Sequential(blocks)
            width = outputs
        self.trunk_output = nn.Sequential(parts)
        self.avgpool = nn.AdaptiveAvgPool2d((1, 1))
        self.fc = nn.Linear(width, num_classes)
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                fan = module.kernel_size[0] * module.kernel_size[1] * module.out_channels
                nn.init.normal_(module.weight, mean=0.0, std=math.sqrt(2.0 / fan))
            elif isinstance(module, nn.Linear):
                nn.init.normal_(module.weight, mean=0.0, std=0.01)
                nn.init.zeros_(module.bias)  # type: ignore[arg-type]

    def forward(self, x: Tensor) -> Tensor:
        return self.fc(self.avgpool(self.trunk_output(self.stem(x))).flatten(start_dim=1))


def _declare(name: str) -> Any:
    *numbers, squeeze = SETTINGS[name]

    def build(**kwargs: Any) -> RegNet:
        return RegNet(stages_of(*numbers), squeeze, **kwargs)  # type: ignore[arg-type]

    return register(build, name, f"RegNet of {numbers[0]} blocks.")


regnet_x_400mf, regnet_x_800mf, regnet_x_1_6gf, regnet_x_3_2gf, regnet_x_8gf, regnet_x_16gf, regnet_x_32gf = (
    _declare(name) for name in SETTINGS if "_x_" in name
)  # fmt: skip
regnet_y_400mf, regnet_y_800mf, regnet_y_1_6gf, regnet_y_3_2gf, regnet_y_8gf, regnet_y_16gf, regnet_y_32gf, regnet_y_128gf = (
    _declare(name) for name in SETTINGS if "_y_" in name
)  # fmt: skip
