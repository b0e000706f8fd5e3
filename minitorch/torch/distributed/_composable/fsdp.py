"""The old place of `torch.distributed.fsdp`."""

from ..fsdp import FSDPModule as FSDPModule
from ..fsdp import MixedPrecisionPolicy as MixedPrecisionPolicy
from ..fsdp import fully_shard as fully_shard
