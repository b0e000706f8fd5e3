"""Models whose parameters, gradients and optimizer's state are sharded over the ranks."""

from .api import BackwardPrefetch as BackwardPrefetch
from .api import CPUOffload as CPUOffload
from .api import FullOptimStateDictConfig as FullOptimStateDictConfig
from .api import FullStateDictConfig as FullStateDictConfig
from .api import LocalOptimStateDictConfig as LocalOptimStateDictConfig
from .api import LocalStateDictConfig as LocalStateDictConfig
from .api import MixedPrecision as MixedPrecision
from .api import OptimStateDictConfig as OptimStateDictConfig
from .api import ShardedOptimStateDictConfig as ShardedOptimStateDictConfig
from .api import ShardedStateDictConfig as ShardedStateDictConfig
from .api import ShardingStrategy as ShardingStrategy
from .api import StateDictConfig as StateDictConfig
from .api import StateDictSettings as StateDictSettings
from .api import StateDictType as StateDictType
from .fully_shard import CPUOffloadPolicy as CPUOffloadPolicy
from .fully_shard import FSDPModule as FSDPModule
from .fully_shard import MixedPrecisionPolicy as MixedPrecisionPolicy
from .fully_shard import OffloadPolicy as OffloadPolicy
from .fully_shard import UnshardHandle as UnshardHandle
from .fully_shard import fully_shard as fully_shard
from .fully_shard import register_fsdp_forward_method as register_fsdp_forward_method
from .fully_sharded_data_parallel import FullyShardedDataParallel as FullyShardedDataParallel
