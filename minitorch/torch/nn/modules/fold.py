"""Windows of images as columns, and back."""

from __future__ import annotations

from typing import Any

from .. import functional as F
from .layer import layer
from .module import Module

_WINDOW = "kernel_size={kernel_size}, dilation={dilation}, padding={padding}, stride={stride}"


@layer(F.fold, shows="output_size={output_size}, " + _WINDOW)
class Fold(Module):
    """Columns summed as overlapping windows of images."""

    output_size: Any
    kernel_size: Any
    dilation: Any = 1
    padding: Any = 0
    stride: Any = 1


@layer(F.unfold, shows=_WINDOW)
class Unfold(Module):
    """The windows of images as columns."""

    kernel_size: Any
    dilation: Any = 1
    padding: Any = 0
    stride: Any = 1
