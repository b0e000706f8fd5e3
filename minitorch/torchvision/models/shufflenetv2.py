"""ShuffleNet V2: half of the channels pass by, and channels are mixed by reordering them."""

from __future__ import annotations

from typing import Any

from ...torch import Tensor, cat, nn
from .registry import register


def channel_shuffle(x: Tensor, groups: int) -> Tensor:
    """Channels of several groups, taken in turn from each."""
    n, channels, height, width = x.size()
    return x.view(n, groups, channels // groups, height, width).transpose(1, 2).reshape(n, channels, height, width)  # fmt: skip


def _pointwise(inputs: int, outputs: int) -> list[nn.Module]:
    return [
        nn.Conv2d(inputs, outputs, 1, bias=False),
        nn.BatchNorm2d(outputs),
        nn.ReLU(inplace=True),
    ]


def _filter(channels: int, stride: int) -> list[nn.Module]:
    return [
        nn.Conv2d(channels, channels, 3, stride, 1, groups=channels, bias=False),
        nn.BatchNorm2d(channels),
    ]


class InvertedResidual(nn.Module):
    """One block: at stride 1 half of the channels pass by, otherwise both halves are computed."""

    def __init__(self, inp: int, oup: int, stride: int) -> None:
        super().__init__()
        self.stride = stride
        half = oup // 2
        first = [*_filter(inp, stride), *_pointwise(inp, half)] if stride > 1 else []
        self.branch1 = nn.Sequential(*first)
        inside = inp if stride > 1 else half
        self.branch2 = nn.Sequential(
            *_pointwise(inside, half), *_filter(half, stride), *_pointwise(half, half)
        )

    def forward(self, x: Tensor) -> Tensor:
        if self.stride == 1:
            one, other = x.chunk(2, dim=1)
            return channel_shuffle(cat((one, self.branch2(other)), 1), 2)
        return channel_shuffle(cat((self.branch1(x), self.branch2(x)), 1), 2)


class ShuffleNetV2(nn.Module):
    """Practical guidelines for efficient CNN architecture design (Ma and others, 2018)."""

    def __init__(
        self, stages_repeats: list[int], stages_out_channels: list[int], num_classes: int = 1000
    ) -> None:
        super().__init__()
        if len(stages_repeats) != 3:
            raise ValueError("expected stages_repeats as list of 3 positive ints")
        if len(stages_out_channels) != 5:
            raise ValueError("expected stages_out_channels as list of 5 positive ints")
        channels = stages_out_channels[0]
        self.conv1 = nn.Sequential(
            nn.Conv2d(3, channels, 3, 2, 1, bias=False),
            nn.BatchNorm2d(channels),
            nn.ReLU(inplace=True),
        )
        self.maxpool = nn.MaxPool2d(kernel_size=3, stride=2, padding=1)
        for name, count, outputs in zip(
            ("stage2", "stage3", "stage4"), stages_repeats, stages_out_channels[1:], strict=False
        ):
            blocks = [InvertedResidual(channels, outputs, 2)]
            blocks += [InvertedResidual(outputs, outputs, 1) for _ in range(count - 1)]
            setattr(self, name, nn.Sequential(*blocks))
            channels = outputs
        last = stages_out_channels[-1]
        self.conv5 = nn.Sequential(*_pointwise(channels, last))
        self.fc = nn.Linear(last, num_classes)

    def forward(self, x: Tensor) -> Tensor:
        x = self.maxpool(self.conv1(x))
        x = self.conv5(self.stage4(self.stage3(self.stage2(x))))
        return self.fc(x.mean([2, 3]))


def _declare(name: str, channels: list[int]) -> Any:
    doc = f"ShuffleNet V2 with {channels[1]} channels in its second stage."
    return register(lambda **options: ShuffleNetV2([4, 8, 4], channels, **options), name, doc)


shufflenet_v2_x0_5 = _declare("shufflenet_v2_x0_5", [24, 48, 96, 192, 1024])
shufflenet_v2_x1_0 = _declare("shufflenet_v2_x1_0", [24, 116, 232, 464, 1024])
shufflenet_v2_x1_5 = _declare("shufflenet_v2_x1_5", [24, 176, 352, 704, 1024])
shufflenet_v2_x2_0 = _declare("shufflenet_v2_x2_0", [24, 244, 488, 976, 2048])
