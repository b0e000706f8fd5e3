"""Weight normalization as a hook before each call (deprecated in Torch)."""

from __future__ import annotations

import warnings
from typing import Any, TypeVar

from ...ops.linalg.norms import vector_norm
from ...ops.movement import wrap_dim
from ...ops.surface import function
from ...tensor import Tensor
from ..modules.module import Module
from ..parameter import Parameter
from .computed import check_first, check_shaped, remove_hook

M = TypeVar("M", bound=Module)


@function
def norm_except_dim(v: Tensor, pow: int = 2, dim: int = 0) -> Tensor:
    """Norms over all dimensions except one; with -1, over all."""
    if dim == -1:
        return vector_norm(v, pow)
    if not v.ndim:
        raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions")
    others = [d for d in range(v.ndim) if d != wrap_dim(dim, v.ndim)]
    return vector_norm(v, pow, others, True) if others else vector_norm(v[None], pow, 0)


@function
def _weight_norm(v: Tensor, g: Tensor, dim: int = 0) -> Tensor:
    """g v / |v|: the direction of v with the norm g."""
    return v * (g / norm_except_dim(v, 2, dim))


class WeightNorm:
    """Computes a weight from its direction and norm before each call."""

    def __init__(self, name: str, dim: int | None) -> None:
        self.name = name
        self.dim = -1 if dim is None else dim

    def compute_weight(self, module: Any) -> Tensor:
        """The weight."""
        length, direction = (getattr(module, f"{self.name}_{part}") for part in "gv")
        return _weight_norm(direction, length, self.dim)

    @staticmethod
    def apply(module: Any, name: str, dim: int | None) -> WeightNorm:
        """Replace a weight by its norm and direction."""
        warnings.warn(
            "`torch.nn.utils.weight_norm` is deprecated in favor of "
            "`torch.nn.utils.parametrizations.weight_norm`.",
            FutureWarning,
            stacklevel=3,
        )
        check_first(module, WeightNorm, name, "weight_norm")
        hook = WeightNorm(name, dim)
        weight = getattr(module, name)
        check_shaped(weight, WeightNorm, "weight normalization")
        del module._parameters[name]
        length = norm_except_dim(weight, 2, hook.dim)
        module.register_parameter(f"{name}_g", Parameter(length.data))
        module.register_parameter(f"{name}_v", Parameter(weight.data))
        setattr(module, name, hook.compute_weight(module))
        module.register_forward_pre_hook(hook)
        return hook

    def remove(self, module: Any) -> None:
        """Make the computed weight a plain parameter."""
        weight = self.compute_weight(module)
        for suffix in ("", "_g", "_v"):
            delattr(module, self.name + suffix)
        setattr(module, self.name, Parameter(weight.data))

    def __call__(self, module: Any, inputs: Any) -> None:
        setattr(module, self.name, self.compute_weight(module))


def weight_norm(module: M, name: str = "weight", dim: int | None = 0) -> M:
    """Learn a weight as its norm and direction."""
    WeightNorm.apply(module, name, dim)
    return module


def remove_weight_norm(module: M, name: str = "weight") -> M:
    """Remove weight normalization from a weight."""
    remove_hook(module, WeightNorm, name, "weight_norm")
    return module
