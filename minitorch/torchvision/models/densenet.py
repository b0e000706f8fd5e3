"""DenseNet: every layer of a block sees the outputs of all layers before it."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from typing import Any

from ...torch import Tensor, cat, nn
from ...torch.nn import functional
from ...torch.utils.checkpoint import checkpoint
from .registry import register


class _DenseLayer(nn.Module):
    """Channels are reduced by a window of 1 x 1, then `growth_rate` new ones are made."""

    def __init__(
        self,
        channels: int,
        growth_rate: int,
        bn_size: int,
        drop_rate: float,
        memory_efficient: bool,
    ) -> None:
        super().__init__()
        self.norm1 = nn.BatchNorm2d(channels)
        self.relu1 = nn.ReLU(inplace=True)
        self.conv1 = nn.Conv2d(channels, bn_size * growth_rate, kernel_size=1, bias=False)
        self.norm2 = nn.BatchNorm2d(bn_size * growth_rate)
        self.relu2 = nn.ReLU(inplace=True)
        self.conv2 = nn.Conv2d(bn_size * growth_rate, growth_rate, 3, padding=1, bias=False)
        self.drop_rate, self.memory_efficient = float(drop_rate), memory_efficient

    def _reduced(self, *inputs: Tensor) -> Tensor:
        return self.conv1(self.relu1(self.norm1(cat(inputs, 1))))

    def forward(self, input: Tensor | Sequence[Tensor]) -> Tensor:
        inputs = [input] if isinstance(input, Tensor) else list(input)
        if self.memory_efficient and any(x.requires_grad for x in inputs):
            reduced: Any = checkpoint(self._reduced, *inputs, use_reentrant=False)
        else:
            reduced = self._reduced(*inputs)
        made = self.conv2(self.relu2(self.norm2(reduced)))
        if self.drop_rate > 0:
            made = functional.dropout(made, p=self.drop_rate, training=self.training)
        return made


class _DenseBlock(nn.ModuleDict):
    """Layers that see all channels before them."""

    def __init__(
        self,
        num_layers: int,
        num_input_features: int,
        bn_size: int,
        growth_rate: int,
        drop_rate: float,
        memory_efficient: bool = False,
    ) -> None:
        super().__init__()
        for i in range(num_layers):
            channels = num_input_features + i * growth_rate
            layer = _DenseLayer(channels, growth_rate, bn_size, drop_rate, memory_efficient)
            self.add_module(f"denselayer{i + 1}", layer)

    def forward(self, init_features: Tensor) -> Tensor:
        features = [init_features]
        for layer in self.values():
            features.append(layer(features))
        return cat(features, 1)


class _Transition(nn.Sequential):
    """Between blocks: half the channels, and half the sides."""

    def __init__(self, num_input_features: int, num_output_features: int) -> None:
        super().__init__()
        self.norm = nn.BatchNorm2d(num_input_features)
        self.relu = nn.ReLU(inplace=True)
        self.conv = nn.Conv2d(num_input_features, num_output_features, kernel_size=1, bias=False)
        self.pool = nn.AvgPool2d(kernel_size=2, stride=2)


class DenseNet(nn.Module):
    """DenseNet-BC (Huang et al., 2017).

    Args:
        growth_rate: how many channels each layer adds
        block_config: how many layers each block has
        num_init_features: channels of the first convolution
        bn_size: layers reduce channels to `bn_size * growth_rate`
        drop_rate: of the dropout after each layer
        num_classes: how many scores there are
        memory_efficient: compute joined channels again in backward
    """

    def __init__(
        self,
        growth_rate: int = 32,
        block_config: Sequence[int] = (6, 12, 24, 16),
        num_init_features: int = 64,
        bn_size: int = 4,
        drop_rate: float = 0,
        num_classes: int = 1000,
        memory_efficient: bool = False,
    ) -> None:
        super().__init__()
        layers: OrderedDict[str, nn.Module] = OrderedDict(
            conv0=nn.Conv2d(3, num_init_features, 7, stride=2, padding=3, bias=False),
            norm0=nn.BatchNorm2d(num_init_features),
            relu0=nn.ReLU(inplace=True),
            pool0=nn.MaxPool2d(kernel_size=3, stride=2, padding=1),
        )
        channels = num_init_features
        for i, count in enumerate(block_config, 1):
            layers[f"denseblock{i}"] = _DenseBlock(
                count, channels, bn_size, growth_rate, drop_rate, memory_efficient
            )
            channels += count * growth_rate
            if i < len(block_config):
                layers[f"transition{i}"] = _Transition(channels, channels // 2)
                channels //= 2
        layers["norm5"] = nn.BatchNorm2d(channels)
        self.features = nn.Sequential(layers)
        self.classifier = nn.Linear(channels, num_classes)
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                nn.init.kaiming_normal_(module.weight)
            elif isinstance(module, nn.Linear):
                nn.init.constant_(module.bias, 0)

    def forward(self, x: Tensor) -> Tensor:
        features = functional.relu(self.features(x), inplace=True)
        return self.classifier(functional.adaptive_avg_pool2d(features, (1, 1)).flatten(1))


def _declare(name: str, doc: str, *sizes: Any) -> Any:
    return register(lambda **options: DenseNet(*sizes, **options), name, doc)


densenet121 = _declare("densenet121", "DenseNet of 121 layers.", 32, (6, 12, 24, 16), 64)
densenet161 = _declare(
    "densenet161",
    "DenseNet of 161 layers, each of which adds 48 channels.",
    48,
    (6, 12, 36, 24),
    96,
)
densenet169 = _declare("densenet169", "DenseNet of 169 layers.", 32, (6, 12, 32, 32), 64)
densenet201 = _declare("densenet201", "DenseNet of 201 layers.", 32, (6, 12, 48, 32), 64)
