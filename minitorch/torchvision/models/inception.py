"""Inception V3: blocks of branches, with large windows taken apart into small and long ones."""

from __future__ import annotations

from typing import Any, NamedTuple

from ...torch import Tensor, cat, nn
from ...torch.nn import functional
from .googlenet import BasicConv2d, initialize, normalized_anew
from .registry import register


class InceptionOutputs(NamedTuple):
    """Scores of the classes, and those of the classifier further down, which helps in training."""

    logits: Tensor
    aux_logits: Tensor | None


def _pooled(x: Tensor) -> Tensor:
    return functional.avg_pool2d(x, kernel_size=3, stride=1, padding=1)


class InceptionA(nn.Module):
    """Windows of 1, 5 and twice 3, and a mean."""

    def __init__(self, in_channels: int, pool_features: int) -> None:
        super().__init__()
        self.branch1x1 = BasicConv2d(in_channels, 64, kernel_size=1)
        self.branch5x5_1 = BasicConv2d(in_channels, 48, kernel_size=1)
        self.branch5x5_2 = BasicConv2d(48, 64, kernel_size=5, padding=2)
        self.branch3x3dbl_1 = BasicConv2d(in_channels, 64, kernel_size=1)
        self.branch3x3dbl_2 = BasicConv2d(64, 96, kernel_size=3, padding=1)
        self.branch3x3dbl_3 = BasicConv2d(96, 96, kernel_size=3, padding=1)
        self.branch_pool = BasicConv2d(in_channels, pool_features, kernel_size=1)

    def forward(self, x: Tensor) -> Tensor:
        double = self.branch3x3dbl_3(self.branch3x3dbl_2(self.branch3x3dbl_1(x)))
        five = self.branch5x5_2(self.branch5x5_1(x))
        return cat([self.branch1x1(x), five, double, self.branch_pool(_pooled(x))], 1)


class InceptionB(nn.Module):
    """Half the size: windows of 3 and twice 3, and the largest neighbour."""

    def __init__(self, in_channels: int) -> None:
        super().__init__()
        self.branch3x3 = BasicConv2d(in_channels, 384, kernel_size=3, stride=2)
        self.branch3x3dbl_1 = BasicConv2d(in_channels, 64, kernel_size=1)
        self.branch3x3dbl_2 = BasicConv2d(64, 96, kernel_size=3, padding=1)
        self.branch3x3dbl_3 = BasicConv2d(96, 96, kernel_size=3, stride=2)

    def forward(self, x: Tensor) -> Tensor:
        double = self.branch3x3dbl_3(self.branch3x3dbl_2(self.branch3x3dbl_1(x)))
        return cat(
            [self.branch3x3(x), double, functional.max_pool2d(x, kernel_size=3, stride=2)], 1
        )


class InceptionC(nn.Module):
    """Windows of 7, taken apart into rows and columns."""

    def __init__(self, in_channels: int, channels_7x7: int) -> None:
        super().__init__()
        c, row, column = channels_7x7, {"kernel_size": (1, 7), "padding": (0, 3)}, {"kernel_size": (7, 1), "padding": (3, 0)}  # fmt: skip
        self.branch1x1 = BasicConv2d(in_channels, 192, kernel_size=1)
        self.branch7x7_1 = BasicConv2d(in_channels, c, kernel_size=1)
        self.branch7x7_2 = BasicConv2d(c, c, **row)
        self.branch7x7_3 = BasicConv2d(c, 192, **column)
        self.branch7x7dbl_1 = BasicConv2d(in_channels, c, kernel_size=1)
        self.branch7x7dbl_2 = BasicConv2d(c, c, **column)
        self.branch7x7dbl_3 = BasicConv2d(c, c, **row)
        self.branch7x7dbl_4 = BasicConv2d(c, c, **column)
        self.branch7x7dbl_5 = BasicConv2d(c, 192, **row)
        self.branch_pool = BasicConv2d(in_channels, 192, kernel_size=1)

    def forward(self, x: Tensor) -> Tensor:
        single = self.branch7x7_3(self.branch7x7_2(self.branch7x7_1(x)))
        double = self.branch7x7dbl_3(self.branch7x7dbl_2(self.branch7x7dbl_1(x)))
        double = self.branch7x7dbl_5(self.branch7x7dbl_4(double))
        return cat([self.branch1x1(x), single, double, self.branch_pool(_pooled(x))], 1)


class InceptionD(nn.Module):
    """Half the size again."""

    def __init__(self, in_channels: int) -> None:
        super().__init__()
        self.branch3x3_1 = BasicConv2d(in_channels, 192, kernel_size=1)
        self.branch3x3_2 = BasicConv2d(192, 320, kernel_size=3, stride=2)
        self.branch7x7x3_1 = BasicConv2d(in_channels, 192, kernel_size=1)
        self.branch7x7x3_2 = BasicConv2d(192, 192, kernel_size=(1, 7), padding=(0, 3))
        self.branch7x7x3_3 = BasicConv2d(192, 192, kernel_size=(7, 1), padding=(3, 0))
        self.branch7x7x3_4 = BasicConv2d(192, 192, kernel_size=3, stride=2)

    def forward(self, x: Tensor) -> Tensor:
        long = self.branch7x7x3_3(self.branch7x7x3_2(self.branch7x7x3_1(x)))
        three = self.branch3x3_2(self.branch3x3_1(x))
        return cat([three, self.branch7x7x3_4(long), functional.max_pool2d(x, 3, stride=2)], 1)


class InceptionE(nn.Module):
    """Rows and columns side by side."""

    def __init__(self, in_channels: int) -> None:
        super().__init__()
        self.branch1x1 = BasicConv2d(in_channels, 320, kernel_size=1)
        self.branch3x3_1 = BasicConv2d(in_channels, 384, kernel_size=1)
        self.branch3x3_2a = BasicConv2d(384, 384, kernel_size=(1, 3), padding=(0, 1))
        self.branch3x3_2b = BasicConv2d(384, 384, kernel_size=(3, 1), padding=(1, 0))
        self.branch3x3dbl_1 = BasicConv2d(in_channels, 448, kernel_size=1)
        self.branch3x3dbl_2 = BasicConv2d(448, 384, kernel_size=3, padding=1)
        self.branch3x3dbl_3a = BasicConv2d(384, 384, kernel_size=(1, 3), padding=(0, 1))
        self.branch3x3dbl_3b = BasicConv2d(384, 384, kernel_size=(3, 1), padding=(1, 0))
        self.branch_pool = BasicConv2d(in_channels, 192, kernel_size=1)

    def forward(self, x: Tensor) -> Tensor:
        three = self.branch3x3_1(x)
        double = self.branch3x3dbl_2(self.branch3x3dbl_1(x))
        return cat(
            [
                self.branch1x1(x), self.branch3x3_2a(three), self.branch3x3_2b(three), self.branch3x3dbl_3a(double),
                self.branch3x3dbl_3b(double), self.branch_pool(_pooled(x)),
            ],
            1,
        )  # fmt: skip


class InceptionAux(nn.Module):
    """A classifier further down."""

    def __init__(self, in_channels: int, num_classes: int) -> None:
        super().__init__()
        self.conv0 = BasicConv2d(in_channels, 128, kernel_size=1)
        self.conv1 = BasicConv2d(128, 768, kernel_size=5)
        self.fc = nn.Linear(768, num_classes)

    def forward(self, x: Tensor) -> Tensor:
        x = self.conv1(self.conv0(functional.avg_pool2d(x, kernel_size=5, stride=3)))
        return self.fc(functional.adaptive_avg_pool2d(x, (1, 1)).flatten(1))


class Inception3(nn.Module):
    """Rethinking the Inception architecture (Szegedy and others, 2015), for pictures of 299 x 299.

    Args:
        num_classes: of the result
        aux_logits: whether there is a classifier further down
        transform_input: whether pictures are normalized by other means first
        init_weights: whether first weights are drawn as the paper's
        dropout: before the last layer
    """

    def __init__(
        self,
        num_classes: int = 1000,
        aux_logits: bool = True,
        transform_input: bool = False,
        init_weights: bool | None = None,
        dropout: float = 0.5,
    ) -> None:
        super().__init__()
        self.aux_logits, self.transform_input = aux_logits, transform_input
        self.Conv2d_1a_3x3 = BasicConv2d(3, 32, kernel_size=3, stride=2)
        self.Conv2d_2a_3x3 = BasicConv2d(32, 32, kernel_size=3)
        self.Conv2d_2b_3x3 = BasicConv2d(32, 64, kernel_size=3, padding=1)
        self.maxpool1 = nn.MaxPool2d(kernel_size=3, stride=2)
        self.Conv2d_3b_1x1 = BasicConv2d(64, 80, kernel_size=1)
        self.Conv2d_4a_3x3 = BasicConv2d(80, 192, kernel_size=3)
        self.maxpool2 = nn.MaxPool2d(kernel_size=3, stride=2)
        self.Mixed_5b = InceptionA(192, pool_features=32)
        self.Mixed_5c = InceptionA(256, pool_features=64)
        self.Mixed_5d = InceptionA(288, pool_features=64)
        self.Mixed_6a = InceptionB(288)
        self.Mixed_6b = InceptionC(768, channels_7x7=128)
        self.Mixed_6c = InceptionC(768, channels_7x7=160)
        self.Mixed_6d = InceptionC(768, channels_7x7=160)
        self.Mixed_6e = InceptionC(768, channels_7x7=192)
        self.AuxLogits = InceptionAux(768, num_classes) if aux_logits else None
        self.Mixed_7a = InceptionD(768)
        self.Mixed_7b = InceptionE(1280)
        self.Mixed_7c = InceptionE(2048)
        self.avgpool = nn.AdaptiveAvgPool2d((1, 1))
        self.dropout = nn.Dropout(p=dropout)
        self.fc = nn.Linear(2048, num_classes)
        if init_weights is None or init_weights:
            self._initialize()

    def _initialize(self) -> None:
        last = None if self.AuxLogits is None else self.AuxLogits.fc
        for module in self.modules():
            initialize(module, 0.001 if module is last else 0.1)

    def forward(self, x: Tensor) -> Any:
        """Scores of the classes; in training, with those of the classifier further down."""
        if self.transform_input:
            x = normalized_anew(x)
        x = self.maxpool1(self.Conv2d_2b_3x3(self.Conv2d_2a_3x3(self.Conv2d_1a_3x3(x))))
        x = self.maxpool2(self.Conv2d_4a_3x3(self.Conv2d_3b_1x1(x)))
        x = self.Mixed_6a(self.Mixed_5d(self.Mixed_5c(self.Mixed_5b(x))))
        x = self.Mixed_6e(self.Mixed_6d(self.Mixed_6c(self.Mixed_6b(x))))
        training = self.training and self.AuxLogits is not None
        aside = self.AuxLogits(x) if training and self.AuxLogits is not None else None
        x = self.Mixed_7c(self.Mixed_7b(self.Mixed_7a(x)))
        scores = self.fc(self.dropout(self.avgpool(x)).flatten(1))
        return InceptionOutputs(scores, aside) if training else scores


@register
def inception_v3(**kwargs: Any) -> Inception3:
    """Inception V3."""
    return Inception3(**kwargs)
