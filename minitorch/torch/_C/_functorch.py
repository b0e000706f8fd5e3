"""What libraries ask of the tensors that `vmap` hands to functions."""

from __future__ import annotations

from ..func.batched import BatchedArray
from ..func.vmapping import _add_batch_dim as _add_batch_dim
from ..func.vmapping import _remove_batch_dim as _remove_batch_dim
from ..tensor import Tensor, wrap


def is_batchedtensor(tensor: Tensor) -> bool:
    """Whether a tensor is one example of a batch."""
    return isinstance(tensor._array, BatchedArray)


def get_unwrapped(tensor: Tensor) -> Tensor:
    """All examples of which a tensor is one, along the first dimension, without history; of others, itself."""
    return wrap(tensor._array.stack) if isinstance(tensor._array, BatchedArray) else tensor
