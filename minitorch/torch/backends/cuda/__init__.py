"""Torch's switches for products on NVIDIA's GPUs."""

from __future__ import annotations

from ... import environment


class _Products:
    """How products are computed there."""

    allow_fp16_reduced_precision_reduction = False
    allow_bf16_reduced_precision_reduction = False

    @property
    def allow_tf32(self) -> bool:
        """Whether products in float32 may round their factors to 10 bits: `set_float32_matmul_precision("high")`."""
        return environment.get_float32_matmul_precision() != "highest"

    @allow_tf32.setter
    def allow_tf32(self, allowed: bool) -> None:
        environment.set_float32_matmul_precision("high" if allowed else "highest")

    def __setattr__(self, name: str, value: object) -> None:
        if not hasattr(type(self), name):
            raise AttributeError(f"Unknown attribute {name}")
        super().__setattr__(name, value)


matmul = _Products()


def is_built() -> bool:
    """Whether tensors can live on such GPUs: where CuPy is, and a GPU."""
    from .backend import find_cuda

    return find_cuda()[0] is not None
