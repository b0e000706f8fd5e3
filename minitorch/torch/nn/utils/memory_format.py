"""The memory format of convolutions' weights."""

from __future__ import annotations

from typing import Any

from ..modules.conv import Conv2d, Conv3d, ConvTranspose2d, ConvTranspose3d
from ..modules.module import Module


def convert_conv2d_weight_memory_format(module: Module, memory_format: Any) -> Module:
    """Convert the weights of all convolutions over images to a memory format."""
    return _convert(module, (Conv2d, ConvTranspose2d), memory_format)


def convert_conv3d_weight_memory_format(module: Module, memory_format: Any) -> Module:
    """Convert the weights of all convolutions over volumes to a memory format."""
    return _convert(module, (Conv3d, ConvTranspose3d), memory_format)


def _convert(module: Module, kinds: tuple[type, ...], memory_format: Any) -> Module:
    for each in module.modules():
        if isinstance(each, kinds):
            each.weight.data = each.weight.detach().contiguous(memory_format=memory_format)
    return module
