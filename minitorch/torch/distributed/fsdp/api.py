"""Choices of `FullyShardedDataParallel`."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto
from typing import Any


class ShardingStrategy(Enum):
    """What is sharded. Gradients and the optimizer's state are with every choice, so memory is at most that of the choice."""

    FULL_SHARD = auto()
    """Parameters are whole only while their module computes."""
    SHARD_GRAD_OP = auto()
    """Parameters stay whole between forward and backward."""
    NO_SHARD = auto()
    HYBRID_SHARD = auto()
    _HYBRID_SHARD_ZERO2 = auto()


KEEPS_WHOLE = (ShardingStrategy.SHARD_GRAD_OP, ShardingStrategy.NO_SHARD, ShardingStrategy._HYBRID_SHARD_ZERO2)  # fmt: skip
"""Strategies with which parameters stay whole between forward and backward."""


class BackwardPrefetch(Enum):
    """When parameters of the next module are gathered in backward; here, when it computes."""

    BACKWARD_PRE = auto()
    BACKWARD_POST = auto()


@dataclass
class MixedPrecision:
    """The types of computation.

    Attributes:
        param_dtype: of whole parameters, and of inputs; None: as they are
        reduce_dtype: in which gradients are averaged; None: param_dtype
        buffer_dtype: of buffers; None: as they are
        cast_forward_inputs: whether inputs of inner modules are cast
        cast_root_forward_inputs: whether inputs of the outermost one are
    """

    param_dtype: Any = None
    reduce_dtype: Any = None
    buffer_dtype: Any = None
    keep_low_precision_grads: bool = False
    cast_forward_inputs: bool = False
    cast_root_forward_inputs: bool = True


@dataclass
class CPUOffload:
    """Whether parameters are in main memory while nothing computes with them."""

    offload_params: bool = False


class StateDictType(Enum):
    """What a state has: whole tensors, or those that are sharded."""

    FULL_STATE_DICT = auto()
    LOCAL_STATE_DICT = auto()
    SHARDED_STATE_DICT = auto()


@dataclass
class StateDictConfig:
    """How a state is given. Attributes: offload_to_cpu: in main memory."""

    offload_to_cpu: bool = False


@dataclass
class FullStateDictConfig(StateDictConfig):
    """Whole tensors. Attributes: rank0_only: the other ranks get an empty state."""

    rank0_only: bool = False


@dataclass
class LocalStateDictConfig(StateDictConfig):
    """This rank's parts."""


@dataclass
class ShardedStateDictConfig(StateDictConfig):
    """Tensors that are sharded."""

    _use_dtensor: bool = False


@dataclass
class OptimStateDictConfig:
    """How an optimizer's state is given. Attributes: offload_to_cpu: in main memory."""

    offload_to_cpu: bool = True


@dataclass
class FullOptimStateDictConfig(OptimStateDictConfig):
    """Whole tensors. Attributes: rank0_only: the other ranks get an empty state."""

    rank0_only: bool = False


@dataclass
class LocalOptimStateDictConfig(OptimStateDictConfig):
    """This rank's parts."""

    offload_to_cpu: bool = False


@dataclass
class ShardedOptimStateDictConfig(OptimStateDictConfig):
    """Tensors that are sharded."""

    _use_dtensor: bool = False


@dataclass
class StateDictSettings:
    """What states of a model and of its optimizers have."""

    state_dict_type: StateDictType
    state_dict_config: StateDictConfig
    optim_state_dict_config: OptimStateDictConfig
