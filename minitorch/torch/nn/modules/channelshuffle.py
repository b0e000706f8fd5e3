"""Channel shuffle."""

from __future__ import annotations

from ...tensor import Tensor
from .. import functional as F
from .layer import layer
from .module import Module


@layer(shows="groups={groups}")
class ChannelShuffle(Module):
    """The channels of several groups interleaved."""

    groups: int

    def forward(self, input: Tensor) -> Tensor:
        return F.channel_shuffle(input, self.groups)
