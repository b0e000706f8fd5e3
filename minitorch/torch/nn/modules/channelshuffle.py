"""Channel shuffle."""

from __future__ import annotations

from .. import functional as F
from .layer import layer
from .module import Module


@layer(F.channel_shuffle, shows="groups={groups}")
class ChannelShuffle(Module):
    """The channels of several groups interleaved."""

    groups: int
