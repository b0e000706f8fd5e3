"""EfficientNet: one network, made wider and deeper by two factors; V2 begins with blocks of whole convolutions."""

from __future__ import annotations

import math
from functools import partial
from typing import Any, NamedTuple

from ...torch import Tensor, nn
from ..ops.misc import Conv2dNormActivation, SqueezeExcitation
from ..ops.stochastic_depth import StochasticDepth
from .mobilenetv2 import rounded
from .registry import register


class Stage(NamedTuple):
    """Blocks of one kind: how much they widen, kernel, stride of the first, channels in and out, how many."""

    fused: bool
    expand: int
    kernel: int
    stride: int
    inputs: int
    outputs: int
    count: int


BASE = [
    Stage(False, *row)
    for row in (
        (1, 3, 1, 32, 16, 1), (6, 3, 2, 16, 24, 2), (6, 5, 2, 24, 40, 2), (6, 3, 2, 40, 80, 3), (6, 5, 1, 80, 112, 3),
        (6, 5, 2, 112, 192, 4), (6, 3, 1, 192, 320, 1),
    )
]  # fmt: skip
V2 = {
    "s": [
        (True, 1, 3, 1, 24, 24, 2), (True, 4, 3, 2, 24, 48, 4), (True, 4, 3, 2, 48, 64, 4), (False, 4, 3, 2, 64, 128, 6),
        (False, 6, 3, 1, 128, 160, 9), (False, 6, 3, 2, 160, 256, 15),
    ],
    "m": [
        (True, 1, 3, 1, 24, 24, 3), (True, 4, 3, 2, 24, 48, 5), (True, 4, 3, 2, 48, 80, 5), (False, 4, 3, 2, 80, 160, 7),
        (False, 6, 3, 1, 160, 176, 14), (False, 6, 3, 2, 176, 304, 18), (False, 6, 3, 1, 304, 512, 5),
    ],
    "l": [
        (True, 1, 3, 1, 32, 32, 4), (True, 4, 3, 2, 32, 64, 7), (True, 4, 3, 2, 64, 96, 7), (False, 4, 3, 2, 96, 192, 10),
        (False, 6, 3, 1, 192, 224, 19), (False, 6, 3, 2, 224, 384, 25), (False, 6, 3, 1, 384, 640, 7),
    ],
}  # fmt: skip


class MBConv(nn.Module):
    """A block that widens, filters each channel, weighs channels, and narrows; it adds to its input where sizes allow."""

    def __init__(self, stage: Stage, inputs: int, stride: int, drop: float, norm: Any) -> None:
        super().__init__()
        self.use_res_connect = stride == 1 and inputs == stage.outputs
        layer = partial(Conv2dNormActivation, norm_layer=norm, activation_layer=nn.SiLU)
        hidden = rounded(inputs * stage.expand)
        layers: list[nn.Module] = [layer(inputs, hidden, 1)] if hidden != inputs else []
        layers.append(layer(hidden, hidden, stage.kernel, stride, groups=hidden))
        squeezed = max(1, inputs // 4)
        layers.append(
            SqueezeExcitation(hidden, squeezed, activation=partial(nn.SiLU, inplace=True))
        )
        layers.append(layer(hidden, stage.outputs, 1, activation_layer=None))
        self.block = nn.Sequential(*layers)
        self.stochastic_depth = StochasticDepth(drop, "row")
        self.out_channels = stage.outputs

    def forward(self, input: Tensor) -> Tensor:
        result = self.block(input)
        return self.stochastic_depth(result) + input if self.use_res_connect else result


class FusedMBConv(MBConv):
    """A block whose first convolution widens and filters at once."""

    def __init__(self, stage: Stage, inputs: int, stride: int, drop: float, norm: Any) -> None:
        nn.Module.__init__(self)
        self.use_res_connect = stride == 1 and inputs == stage.outputs
        layer = partial(Conv2dNormActivation, norm_layer=norm, activation_layer=nn.SiLU)
        hidden = rounded(inputs * stage.expand)
        if hidden != inputs:
            layers = [
                layer(inputs, hidden, stage.kernel, stride),
                layer(hidden, stage.outputs, 1, activation_layer=None),
            ]
        else:
            layers = [layer(inputs, stage.outputs, stage.kernel, stride)]
        self.block = nn.Sequential(*layers)
        self.stochastic_depth = StochasticDepth(drop, "row")
        self.out_channels = stage.outputs


class EfficientNet(nn.Module):
    """Rethinking model scaling (Tan and Le, 2019), and smaller models and faster training (2021)."""

    def __init__(
        self,
        inverted_residual_setting: list[Stage],
        dropout: float,
        stochastic_depth_prob: float = 0.2,
        num_classes: int = 1000,
        norm_layer: Any = None,
        last_channel: int | None = None,
    ) -> None:
        super().__init__()
        stages, norm = inverted_residual_setting, norm_layer or nn.BatchNorm2d
        layer = partial(Conv2dNormActivation, norm_layer=norm, activation_layer=nn.SiLU)
        layers: list[nn.Module] = [layer(3, stages[0].inputs, 3, 2)]
        total, made = sum(stage.count for stage in stages), 0
        for stage in stages:
            blocks: list[nn.Module] = []
            kind = FusedMBConv if stage.fused else MBConv
            for i in range(stage.count):
                inputs, stride = (stage.outputs, 1) if i else (stage.inputs, stage.stride)
                drop = stochastic_depth_prob * made / total
                blocks.append(kind(stage, inputs, stride, drop, norm))
                made += 1
            layers.append(nn.Sequential(*blocks))
        last = stages[-1].outputs
        width = last_channel or 4 * last
        layers.append(layer(last, width, 1))
        self.features = nn.Sequential(*layers)
        self.avgpool = nn.AdaptiveAvgPool2d(1)
        self.classifier = nn.Sequential(
            nn.Dropout(p=dropout, inplace=True), nn.Linear(width, num_classes)
        )
        for module in self.modules():
            _initialize(module)

    def forward(self, x: Tensor) -> Tensor:
        return self.classifier(self.avgpool(self.features(x)).flatten(1))


def _initialize(module: Any) -> None:
    if isinstance(module, nn.Conv2d):
        nn.init.kaiming_normal_(module.weight, mode="fan_out")
        if module.bias is not None:
            nn.init.zeros_(module.bias)
    elif isinstance(module, nn.Linear):
        bound = 1 / math.sqrt(module.out_features)
        nn.init.uniform_(module.weight, -bound, bound)
        nn.init.zeros_(module.bias)  # type: ignore[arg-type]


def _scaled(width: float, depth: float) -> list[Stage]:
    """The network of B0, wider and deeper."""
    return [
        stage._replace(
            inputs=rounded(stage.inputs * width),
            outputs=rounded(stage.outputs * width),
            count=math.ceil(stage.count * depth),
        )
        for stage in BASE
    ]


def _declare(name: str, width: float, depth: float, dropout: float, own_norm: bool = False) -> Any:
    norm = partial(nn.BatchNorm2d, eps=0.001, momentum=0.01) if own_norm else None

    def build(**kwargs: Any) -> EfficientNet:
        options = {"dropout": dropout, "norm_layer": norm, **kwargs}
        return EfficientNet(_scaled(width, depth), **options)

    doc = f"EfficientNet, {width} times as wide and {depth} times as deep as B0."
    return register(build, name, doc)


def _declare_v2(size: str, dropout: float) -> Any:
    norm = partial(nn.BatchNorm2d, eps=1e-3)

    def build(**kwargs: Any) -> EfficientNet:
        options = {"dropout": dropout, "norm_layer": norm, "last_channel": 1280, **kwargs}
        return EfficientNet([Stage(*row) for row in V2[size]], **options)

    return register(build, f"efficientnet_v2_{size}", "EfficientNet V2.")


efficientnet_b0 = _declare("efficientnet_b0", 1.0, 1.0, 0.2)
efficientnet_b1 = _declare("efficientnet_b1", 1.0, 1.1, 0.2)
efficientnet_b2 = _declare("efficientnet_b2", 1.1, 1.2, 0.3)
efficientnet_b3 = _declare("efficientnet_b3", 1.2, 1.4, 0.3)
efficientnet_b4 = _declare("efficientnet_b4", 1.4, 1.8, 0.4)
efficientnet_b5 = _declare("efficientnet_b5", 1.6, 2.2, 0.4, True)
efficientnet_b6 = _declare("efficientnet_b6", 1.8, 2.6, 0.5, True)
efficientnet_b7 = _declare("efficientnet_b7", 2.0, 3.1, 0.5, True)
efficientnet_v2_s = _declare_v2("s", 0.2)
efficientnet_v2_m = _declare_v2("m", 0.3)
efficientnet_v2_l = _declare_v2("l", 0.4)
