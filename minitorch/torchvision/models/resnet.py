"""ResNet: blocks that add to their input."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ...torch import Tensor, nn
from .registry import register

Norm = Callable[..., nn.Module]


def conv3x3(inputs: int, outputs: int, stride: int = 1, groups: int = 1, dilation: int = 1) -> Any:
    """A convolution of 3 x 3 that keeps the size, but for its stride."""
    return nn.Conv2d(
        inputs, outputs, kernel_size=3, stride=stride, padding=dilation, groups=groups, bias=False,
        dilation=dilation,
    )  # fmt: skip


def conv1x1(inputs: int, outputs: int, stride: int = 1) -> Any:
    """A convolution of single pixels."""
    return nn.Conv2d(inputs, outputs, kernel_size=1, stride=stride, bias=False)


class BasicBlock(nn.Module):
    """Two convolutions of 3 x 3, and the input."""

    expansion = 1

    def __init__(
        self,
        inplanes: int,
        planes: int,
        stride: int = 1,
        downsample: nn.Module | None = None,
        groups: int = 1,
        base_width: int = 64,
        dilation: int = 1,
        norm_layer: Norm = nn.BatchNorm2d,
    ) -> None:
        super().__init__()
        if groups != 1 or base_width != 64:
            raise ValueError("BasicBlock only supports groups=1 and base_width=64")
        if dilation > 1:
            raise NotImplementedError("Dilation > 1 not supported in BasicBlock")
        self.conv1 = conv3x3(inplanes, planes, stride)
        self.bn1 = norm_layer(planes)
        self.relu = nn.ReLU(inplace=True)
        self.conv2 = conv3x3(planes, planes)
        self.bn2 = norm_layer(planes)
        self.downsample = downsample
        self.stride = stride

    def forward(self, x: Tensor) -> Tensor:
        out = self.relu(self.bn1(self.conv1(x)))
        out = self.bn2(self.conv2(out))
        out += x if self.downsample is None else self.downsample(x)
        return self.relu(out)


class Bottleneck(nn.Module):
    """Fewer channels, a convolution of 3 x 3, more channels again, and the input."""

    expansion = 4

    def __init__(
        self,
        inplanes: int,
        planes: int,
        stride: int = 1,
        downsample: nn.Module | None = None,
        groups: int = 1,
        base_width: int = 64,
        dilation: int = 1,
        norm_layer: Norm = nn.BatchNorm2d,
    ) -> None:
        super().__init__()
        width = int(planes * (base_width / 64.0)) * groups
        self.conv1 = conv1x1(inplanes, width)
        self.bn1 = norm_layer(width)
        self.conv2 = conv3x3(width, width, stride, groups, dilation)
        self.bn2 = norm_layer(width)
        self.conv3 = conv1x1(width, planes * self.expansion)
        self.bn3 = norm_layer(planes * self.expansion)
        self.relu = nn.ReLU(inplace=True)
        self.downsample = downsample
        self.stride = stride

    def forward(self, x: Tensor) -> Tensor:
        out = self.relu(self.bn1(self.conv1(x)))
        out = self.relu(self.bn2(self.conv2(out)))
        out = self.bn3(self.conv3(out))
        out += x if self.downsample is None else self.downsample(x)
        return self.relu(out)


class ResNet(nn.Module):
    """Deep residual learning (He and others, 2015).

    Args:
        block: BasicBlock or Bottleneck
        layers: how many blocks each of the four stages has
    """

    def __init__(
        self,
        block: Any,
        layers: Sequence[int],
        num_classes: int = 1000,
        zero_init_residual: bool = False,
        groups: int = 1,
        width_per_group: int = 64,
        replace_stride_with_dilation: Sequence[bool] | None = None,
        norm_layer: Norm | None = None,
    ) -> None:
        super().__init__()
        self._norm_layer: Norm = nn.BatchNorm2d if norm_layer is None else norm_layer
        self.inplanes, self.dilation = 64, 1
        dilate = replace_stride_with_dilation or [False] * 3
        if len(dilate) != 3:
            raise ValueError(
                "replace_stride_with_dilation should be None or a 3-element tuple, got "
                f"{replace_stride_with_dilation}"
            )
        self.groups, self.base_width = groups, width_per_group
        self.conv1 = nn.Conv2d(3, 64, kernel_size=7, stride=2, padding=3, bias=False)
        self.bn1 = self._norm_layer(64)
        self.relu = nn.ReLU(inplace=True)
        self.maxpool = nn.MaxPool2d(kernel_size=3, stride=2, padding=1)
        self.layer1 = self._make_layer(block, 64, layers[0])
        self.layer2 = self._make_layer(block, 128, layers[1], 2, dilate[0])
        self.layer3 = self._make_layer(block, 256, layers[2], 2, dilate[1])
        self.layer4 = self._make_layer(block, 512, layers[3], 2, dilate[2])
        self.avgpool = nn.AdaptiveAvgPool2d((1, 1))
        self.fc = nn.Linear(512 * block.expansion, num_classes)
        self._initialize(zero_init_residual)

    def _initialize(self, zero_init_residual: bool) -> None:
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")
            elif isinstance(module, (nn.BatchNorm2d, nn.GroupNorm)):
                nn.init.constant_(module.weight, 1)
                nn.init.constant_(module.bias, 0)
        for module in self.modules() if zero_init_residual else ():
            if isinstance(module, (BasicBlock, Bottleneck)):
                last: Any = module.bn2 if isinstance(module, BasicBlock) else module.bn3
                nn.init.constant_(last.weight, 0)

    def _make_layer(
        self, block: Any, planes: int, blocks: int, stride: int = 1, dilate: bool = False
    ) -> nn.Sequential:
        """One stage: its first block changes size and channels."""
        norm, before = self._norm_layer, self.dilation
        if dilate:
            self.dilation, stride = self.dilation * stride, 1
        downsample = None
        if stride != 1 or self.inplanes != planes * block.expansion:
            downsample = nn.Sequential(
                conv1x1(self.inplanes, planes * block.expansion, stride),
                norm(planes * block.expansion),
            )
        common = self.groups, self.base_width
        made = [block(self.inplanes, planes, stride, downsample, *common, before, norm)]
        self.inplanes = planes * block.expansion
        for _ in range(1, blocks):
            made.append(block(self.inplanes, planes, 1, None, *common, self.dilation, norm))
        return nn.Sequential(*made)

    def forward(self, x: Tensor) -> Tensor:
        x = self.maxpool(self.relu(self.bn1(self.conv1(x))))
        x = self.layer4(self.layer3(self.layer2(self.layer1(x))))
        return self.fc(self.avgpool(x).flatten(1))


def _declare(name: str, block: Any, layers: list[int], **options: Any) -> Any:
    doc = f"{name}: {block.__name__}s {layers}."
    return register(lambda **given: ResNet(block, layers, **{**options, **given}), name, doc)


resnet18 = _declare("resnet18", BasicBlock, [2, 2, 2, 2])
resnet34 = _declare("resnet34", BasicBlock, [3, 4, 6, 3])
resnet50 = _declare("resnet50", Bottleneck, [3, 4, 6, 3])
resnet101 = _declare("resnet101", Bottleneck, [3, 4, 23, 3])
resnet152 = _declare("resnet152", Bottleneck, [3, 8, 36, 3])
resnext50_32x4d = _declare(
    "resnext50_32x4d", Bottleneck, [3, 4, 6, 3], groups=32, width_per_group=4
)
wide_resnet50_2 = _declare("wide_resnet50_2", Bottleneck, [3, 4, 6, 3], width_per_group=128)
resnext101_32x8d = _declare(
    "resnext101_32x8d", Bottleneck, [3, 4, 23, 3], groups=32, width_per_group=8
)
resnext101_64x4d = _declare(
    "resnext101_64x4d", Bottleneck, [3, 4, 23, 3], groups=64, width_per_group=4
)
wide_resnet101_2 = _declare("wide_resnet101_2", Bottleneck, [3, 4, 23, 3], width_per_group=128)
