"""GoogLeNet: blocks of four branches side by side."""

from __future__ import annotations

from typing import Any, NamedTuple

from ...torch import Tensor, cat, nn
from ...torch.nn import functional
from .registry import register


class GoogLeNetOutputs(NamedTuple):
    """Scores of the classes, and those of the two classifiers further down, which help in training."""

    logits: Tensor
    aux_logits2: Tensor | None
    aux_logits1: Tensor | None


class BasicConv2d(nn.Module):
    """A convolution, normalized, then ReLU."""

    def __init__(self, in_channels: int, out_channels: int, **kwargs: Any) -> None:
        super().__init__()
        self.conv = nn.Conv2d(in_channels, out_channels, bias=False, **kwargs)
        self.bn = nn.BatchNorm2d(out_channels, eps=0.001)

    def forward(self, x: Tensor) -> Tensor:
        return functional.relu(self.bn(self.conv(x)), inplace=True)


def initialize(module: Any, deviation: float = 0.01) -> None:
    """The first weights of a convolution or linear layer: normal, and none far off."""
    if isinstance(module, (nn.Conv2d, nn.Linear)):
        nn.init.trunc_normal_(module.weight, mean=0.0, std=deviation, a=-2, b=2)


def normalized_anew(x: Tensor) -> Tensor:
    """A picture that was normalized by ImageNet's means, as these weights' pictures were: by 0.5 each."""
    means, deviations = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
    parts = [x[:, i : i + 1] * (deviations[i] / 0.5) + (means[i] - 0.5) / 0.5 for i in range(3)]
    return cat(parts, 1)


class Inception(nn.Module):
    """Four branches: windows of 1, of 3, of 3 after another reduction, and the largest neighbour."""

    def __init__(self, inputs: int, one: int, reduced: int, three: int, reduced_more: int, five: int, pooled: int) -> None:  # fmt: skip
        super().__init__()
        self.branch1 = BasicConv2d(inputs, one, kernel_size=1)
        self.branch2 = nn.Sequential(
            BasicConv2d(inputs, reduced, kernel_size=1),
            BasicConv2d(reduced, three, kernel_size=3, padding=1),
        )
        self.branch3 = nn.Sequential(
            BasicConv2d(inputs, reduced_more, kernel_size=1),
            BasicConv2d(reduced_more, five, kernel_size=3, padding=1),
        )
        self.branch4 = nn.Sequential(
            nn.MaxPool2d(kernel_size=3, stride=1, padding=1, ceil_mode=True),
            BasicConv2d(inputs, pooled, kernel_size=1),
        )

    def forward(self, x: Tensor) -> Tensor:
        return cat([self.branch1(x), self.branch2(x), self.branch3(x), self.branch4(x)], 1)


class InceptionAux(nn.Module):
    """A classifier further down."""

    def __init__(self, in_channels: int, num_classes: int, dropout: float = 0.7) -> None:
        super().__init__()
        self.conv = BasicConv2d(in_channels, 128, kernel_size=1)
        self.fc1 = nn.Linear(2048, 1024)
        self.fc2 = nn.Linear(1024, num_classes)
        self.dropout = nn.Dropout(p=dropout)

    def forward(self, x: Tensor) -> Tensor:
        x = self.conv(functional.adaptive_avg_pool2d(x, (4, 4))).flatten(1)
        return self.fc2(self.dropout(functional.relu(self.fc1(x), inplace=True)))


# The channels of each block's branches.
BLOCKS = {
    "3a": (192, 64, 96, 128, 16, 32, 32), "3b": (256, 128, 128, 192, 32, 96, 64), "4a": (480, 192, 96, 208, 16, 48, 64),
    "4b": (512, 160, 112, 224, 24, 64, 64), "4c": (512, 128, 128, 256, 24, 64, 64), "4d": (512, 112, 144, 288, 32, 64, 64),
    "4e": (528, 256, 160, 320, 32, 128, 128), "5a": (832, 256, 160, 320, 32, 128, 128), "5b": (832, 384, 192, 384, 48, 128, 128),
}  # fmt: skip


class GoogLeNet(nn.Module):
    """Going deeper with convolutions (Szegedy and others, 2014).

    Args:
        num_classes: of the result
        aux_logits: whether there are classifiers further down
        transform_input: whether pictures are normalized by other means first
        init_weights: whether first weights are drawn as the paper's
        dropout: before the last layer
        dropout_aux: in the classifiers further down
    """

    def __init__(
        self,
        num_classes: int = 1000,
        aux_logits: bool = True,
        transform_input: bool = False,
        init_weights: bool | None = None,
        dropout: float = 0.2,
        dropout_aux: float = 0.7,
    ) -> None:
        super().__init__()
        self.aux_logits, self.transform_input = aux_logits, transform_input
        self.conv1 = BasicConv2d(3, 64, kernel_size=7, stride=2, padding=3)
        self.maxpool1 = nn.MaxPool2d(3, stride=2, ceil_mode=True)
        self.conv2 = BasicConv2d(64, 64, kernel_size=1)
        self.conv3 = BasicConv2d(64, 192, kernel_size=3, padding=1)
        self.maxpool2 = nn.MaxPool2d(3, stride=2, ceil_mode=True)
        for name, channels in BLOCKS.items():
            setattr(self, f"inception{name}", Inception(*channels))
            if name == "3b":
                self.maxpool3 = nn.MaxPool2d(3, stride=2, ceil_mode=True)
            if name == "4e":
                self.maxpool4 = nn.MaxPool2d(2, stride=2, ceil_mode=True)
        self.aux1 = InceptionAux(512, num_classes, dropout_aux) if aux_logits else None
        self.aux2 = InceptionAux(528, num_classes, dropout_aux) if aux_logits else None
        self.avgpool = nn.AdaptiveAvgPool2d((1, 1))
        self.dropout = nn.Dropout(p=dropout)
        self.fc = nn.Linear(1024, num_classes)
        if init_weights is None or init_weights:
            for module in self.modules():
                initialize(module)

    def forward(self, x: Tensor) -> Any:
        """Scores of the classes; in training, with those of the classifiers further down."""
        if self.transform_input:
            x = normalized_anew(x)
        x = self.maxpool2(self.conv3(self.conv2(self.maxpool1(self.conv1(x)))))
        x = self.inception4a(self.maxpool3(self.inception3b(self.inception3a(x))))
        training = self.training and self.aux_logits
        first = self.aux1(x) if training and self.aux1 is not None else None
        x = self.inception4d(self.inception4c(self.inception4b(x)))
        second = self.aux2(x) if training and self.aux2 is not None else None
        x = self.inception5b(self.inception5a(self.maxpool4(self.inception4e(x))))
        scores = self.fc(self.dropout(self.avgpool(x).flatten(1)))
        return GoogLeNetOutputs(scores, second, first) if training else scores


@register
def googlenet(**kwargs: Any) -> GoogLeNet:
    """GoogLeNet."""
    return GoogLeNet(**kwargs)
