"""Normalization over the batch, with running statistics for evaluation."""

from __future__ import annotations

from typing import Any, ClassVar

from ...ops.creation import ones, tensor, zeros
from ...tensor import Tensor
from .. import functional as F
from .. import init
from ..parameter import Parameter
from .layer import Variants, add_parameters
from .lazy import LazyModuleMixin, await_buffers, await_parameters
from .module import Module


class _NormBase(Variants, Module):
    """The base class of batch and instance normalization: affine parameters and running statistics."""

    _version = 2
    __constants__: ClassVar = ["track_running_stats", "momentum", "eps", "num_features", "affine"]
    _input_dims: tuple[int, ...] = ()
    weight: Parameter | None
    bias: Parameter | None
    running_mean: Tensor | None
    running_var: Tensor | None
    num_batches_tracked: Tensor | None

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__()
        self.num_features = num_features
        self.eps = eps
        self.momentum = momentum
        self.affine = affine
        self.track_running_stats = track_running_stats
        size = (num_features,)
        shapes = {"weight": size if affine else None, "bias": size if affine and bias else None}
        add_parameters(self, device, dtype, **shapes)
        self._add_statistics(size if track_running_stats else None, device, dtype)
        self.reset_parameters()

    def _add_statistics(self, size: tuple[int, ...] | None, device: Any, dtype: Any) -> None:
        """Register the running statistics, or None for them."""
        for name, fill in (("running_mean", zeros), ("running_var", ones)):
            made = None if size is None else fill(size, device=device, dtype=dtype)
            self.register_buffer(name, made)
        self.register_buffer("num_batches_tracked", None if size is None else _no_batches())

    def reset_running_stats(self) -> None:
        """Reset the running statistics to mean 0 and variance 1."""
        if self.track_running_stats:
            for buffer, value in (
                (self.running_mean, 0), (self.running_var, 1), (self.num_batches_tracked, 0)
            ):  # fmt: skip
                if buffer is not None:
                    buffer.fill_(value)

    def reset_parameters(self) -> None:
        """Reset the running statistics, the weight to 1 and the bias to 0."""
        self.reset_running_stats()
        if self.weight is not None and self.affine:
            init.ones_(self.weight)
            if self.bias is not None:
                init.zeros_(self.bias)

    def _check_input_dim(self, input: Tensor) -> None:
        """ValueError unless the input has as many dimensions as the class takes."""
        if input.ndim not in self._input_dims:
            wanted = " or ".join(f"{dims}D" for dims in self._input_dims)
            raise ValueError(f"expected {wanted} input (got {input.ndim}D input)")

    def extra_repr(self) -> str:
        return (
            f"{self.num_features}, eps={self.eps}, momentum={self.momentum}, affine={self.affine}, "
            f"bias={self.bias is not None}, track_running_stats={self.track_running_stats}"
        )

    def _load_from_state_dict(
        self, state_dict: Any, prefix: str, local_metadata: dict[str, Any], *rest: Any
    ) -> None:
        if (local_metadata.get("version") or 0) < 2 and self.track_running_stats:
            tracked = self.num_batches_tracked
            state_dict.setdefault(
                f"{prefix}num_batches_tracked", _no_batches() if tracked is None else tracked
            )
        super()._load_from_state_dict(state_dict, prefix, local_metadata, *rest)


def _no_batches() -> Tensor:
    """A new layer's count of batches: 0."""
    return tensor(0)


class _BatchNorm(_NormBase):
    """Each channel normalized over the batch, then scaled and shifted."""

    def forward(self, input: Tensor) -> Tensor:
        self._check_input_dim(input)
        factor = self.momentum
        tracked = self.training and self.track_running_stats
        batches = self.num_batches_tracked
        if tracked and batches is not None:
            batches.add_(1)
            if factor is None:  # a cumulative mean over all batches
                factor = 1.0 / float(batches)
        mean, var = self.running_mean, self.running_var
        by_batch = self.training or (mean is None and var is None)
        if self.training and not tracked:
            mean = var = None
        return self._normalize(input, mean, var, by_batch, 0.0 if factor is None else factor)

    def _normalize(
        self, input: Tensor, mean: Any, var: Any, by_batch: bool, factor: float
    ) -> Tensor:
        return F.batch_norm(input, mean, var, self.weight, self.bias, by_batch, factor, self.eps)


class _LazyNormBase(LazyModuleMixin, _NormBase):
    """A normalization that takes `num_features` from its first input."""

    def __init__(
        self,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__(0, eps, momentum, False, False, device, dtype, bias=False)
        self.affine = affine
        self.track_running_stats = track_running_stats
        await_parameters(self, device, dtype, weight=affine, bias=affine and bias)
        if track_running_stats:
            await_buffers(self, device, dtype, "running_mean", "running_var")
            self.num_batches_tracked = _no_batches()

    def __init_subclass__(cls, becomes: Any = None, **constants: Any) -> None:
        dims = {} if becomes is None else {"input_dims": becomes._input_dims}
        super().__init_subclass__(becomes=becomes, **dims, **constants)

    def reset_parameters(self) -> None:
        if not self.has_uninitialized_params() and self.num_features != 0:
            super().reset_parameters()

    def initialize_parameters(self, input: Tensor) -> None:  # type: ignore[override]
        if self.has_uninitialized_params():
            self.num_features = input.shape[1]
            for tensor in (self.weight, self.bias, self.running_mean, self.running_var):
                if tensor is not None:
                    tensor.materialize((self.num_features,))
            self.reset_parameters()


class BatchNorm1d(_BatchNorm, input_dims=(2, 3)):
    """Batch normalization of vectors (N, C) or sequences (N, C, L)."""


class BatchNorm2d(_BatchNorm, input_dims=(4,)):
    """Batch normalization of images (N, C, H, W)."""


class BatchNorm3d(_BatchNorm, input_dims=(5,)):
    """Batch normalization of volumes (N, C, D, H, W)."""


class LazyBatchNorm1d(_LazyNormBase, _BatchNorm, becomes=BatchNorm1d):
    """`BatchNorm1d` that takes `num_features` from its first input."""


class LazyBatchNorm2d(_LazyNormBase, _BatchNorm, becomes=BatchNorm2d):
    """`BatchNorm2d` that takes `num_features` from its first input."""


class LazyBatchNorm3d(_LazyNormBase, _BatchNorm, becomes=BatchNorm3d):
    """`BatchNorm3d` that takes `num_features` from its first input."""


class SyncBatchNorm(_BatchNorm):
    """Batch normalization over the batches of all processes."""

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        process_group: Any = None,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        given = (num_features, eps, momentum, affine, track_running_stats, device, dtype)
        super().__init__(*given, bias=bias)
        self.process_group = process_group

    def _check_input_dim(self, input: Tensor) -> None:
        if input.ndim < 2:
            raise ValueError(f"expected at least 2D input (got {input.ndim}D input)")
        if input.shape[1] == 0:
            raise ValueError("SyncBatchNorm number of input channels should be non-zero")

    def _normalize(
        self, input: Tensor, mean: Any, var: Any, by_batch: bool, factor: float
    ) -> Tensor:
        from ...distributed import world

        group = self.process_group
        if not by_batch or not world.is_initialized() or world.get_world_size(group) == 1:
            return super()._normalize(input, mean, var, by_batch, factor)
        from ...distributed.nn.batch_norm import sync_batch_norm

        given = input, mean, var, self.weight, self.bias
        return sync_batch_norm(*given, factor, self.eps, group)

    @classmethod
    def convert_sync_batchnorm(cls, module: Module, process_group: Any = None) -> Module:
        """The module with each batch normalization in it replaced by a `SyncBatchNorm`."""
        made: Module = module
        if isinstance(module, _BatchNorm):
            settings = (module.num_features, module.eps, module.momentum, module.affine)
            made = cls(*settings, module.track_running_stats, process_group)
            made._parameters.update(module._parameters)
            made._buffers.update(module._buffers)
            made.training = module.training
        for name, child in module.named_children():
            made.add_module(name, cls.convert_sync_batchnorm(child, process_group))
        return made
