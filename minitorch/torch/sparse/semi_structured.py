"""Two of four numbers kept: what tensor cores of some GPUs multiply faster. There are no such products here."""

from __future__ import annotations

from ..tensor import Tensor


class SparseSemiStructuredTensor(Tensor):
    """Exists for isinstance checks: no tensor is one."""


def to_sparse_semi_structured(original_tensor: Tensor, transposed: bool = False) -> Tensor:
    """Refuse: as PyTorch on the CPU, and by name on a GPU."""
    where = original_tensor.device
    if where.type != "cuda":
        raise RuntimeError(f"Error original_tensor.device= {where} is not supported! Only CUDA tensors are currently supported.")  # fmt: skip
    raise NotImplementedError("to_sparse_semi_structured: minitorch.torch has no products of two in four; multiply the dense tensor with a mask")  # fmt: skip
