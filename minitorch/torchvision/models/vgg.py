"""VGG: convolutions of 3 x 3, deep."""

from __future__ import annotations

from typing import Any

from ...torch import Tensor, nn
from .registry import register

# How many channels each convolution has; M halves the picture.
PLANS = {
    11: "64 M 128 M 256 256 M 512 512 M 512 512 M",
    13: "64 64 M 128 128 M 256 256 M 512 512 M 512 512 M",
    16: "64 64 M 128 128 M 256 256 256 M 512 512 512 M 512 512 512 M",
    19: "64 64 M 128 128 M 256 256 256 256 M 512 512 512 512 M 512 512 512 512 M",
}


class VGG(nn.Module):
    """Very deep convolutional networks (Simonyan and Zisserman, 2014)."""

    def __init__(
        self,
        features: nn.Module,
        num_classes: int = 1000,
        init_weights: bool = True,
        dropout: float = 0.5,
    ) -> None:
        super().__init__()
        self.features = features
        self.avgpool = nn.AdaptiveAvgPool2d((7, 7))
        self.classifier = nn.Sequential(
            nn.Linear(512 * 7 * 7, 4096),
            nn.ReLU(True),
            nn.Dropout(p=dropout),
            nn.Linear(4096, 4096),
            nn.ReLU(True),
            nn.Dropout(p=dropout),
            nn.Linear(4096, num_classes),
        )
        if init_weights:
            for module in self.modules():
                _initialize(module)

    def forward(self, x: Tensor) -> Tensor:
        return self.classifier(self.avgpool(self.features(x)).flatten(1))


def _initialize(module: Any) -> None:
    if isinstance(module, nn.Conv2d):
        nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")
        if module.bias is not None:
            nn.init.constant_(module.bias, 0)
    elif isinstance(module, nn.BatchNorm2d):
        nn.init.constant_(module.weight, 1)
        nn.init.constant_(module.bias, 0)
    elif isinstance(module, nn.Linear):
        nn.init.normal_(module.weight, 0, 0.01)
        nn.init.constant_(module.bias, 0)


def make_layers(plan: str, batch_norm: bool = False) -> nn.Sequential:
    """The convolutions of a plan."""
    layers: list[nn.Module] = []
    channels = 3
    for entry in plan.split():
        if entry == "M":
            layers.append(nn.MaxPool2d(kernel_size=2, stride=2))
            continue
        layers.append(nn.Conv2d(channels, int(entry), kernel_size=3, padding=1))
        channels = int(entry)
        layers += [nn.BatchNorm2d(channels)] if batch_norm else []
        layers.append(nn.ReLU(inplace=True))
    return nn.Sequential(*layers)


def _declare(depth: int, batch_norm: bool) -> Any:
    name = f"vgg{depth}{'_bn' * batch_norm}"
    doc = f"VGG with {depth} layers{', normalized by batch' * batch_norm}."
    return register(
        lambda **options: VGG(make_layers(PLANS[depth], batch_norm), **options), name, doc
    )


vgg11, vgg13, vgg16, vgg19 = (_declare(depth, False) for depth in PLANS)
vgg11_bn, vgg13_bn, vgg16_bn, vgg19_bn = (_declare(depth, True) for depth in PLANS)
