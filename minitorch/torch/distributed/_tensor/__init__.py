"""The old place of `torch.distributed.tensor`."""

from ..tensor import DTensor as DTensor
from ..tensor import Replicate as Replicate
from ..tensor import Shard as Shard
