"""Models whose parameters, gradients and optimizer's state are spread over the ranks."""

from .fully_shard import FSDPModule as FSDPModule
from .fully_shard import MixedPrecisionPolicy as MixedPrecisionPolicy
from .fully_shard import fully_shard as fully_shard
