"""Channels in another order."""

from __future__ import annotations

from ...tensor import Tensor
from .. import functional as F
from .layer import layer
from .module import Module


@layer(shows="groups={groups}")
class ChannelShuffle(Module):
    """Channels dealt out among groups."""

    groups: int

    def forward(self, input: Tensor) -> Tensor:
        return F.channel_shuffle(input, self.groups)
