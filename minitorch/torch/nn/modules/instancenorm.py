"""Normalization of each channel of each example."""

from __future__ import annotations

import warnings
from typing import Any

from ...tensor import Tensor
from .. import functional as F
from .batchnorm import _LazyNormBase, _NormBase


class _InstanceNorm(_NormBase):
    """Each channel of each example normalized, then scaled and shifted."""

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float = 0.1,
        affine: bool = False,
        track_running_stats: bool = False,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        given = (num_features, eps, momentum, affine, track_running_stats, device, dtype)
        super().__init__(*given, bias=bias)

    def _load_from_state_dict(
        self, state_dict: Any, prefix: str, local_metadata: dict[str, Any], *rest: Any
    ) -> None:
        if local_metadata.get("version") is None and not self.track_running_stats:
            names = (f"{prefix}running_mean", f"{prefix}running_var")
            found = [name for name in names if name in state_dict]
            if found:
                rest[-1].append(self._about_statistics(found))
            for name in found:
                del state_dict[name]
        super()._load_from_state_dict(state_dict, prefix, local_metadata, *rest)

    def _about_statistics(self, found: list[str]) -> str:
        """The error for running statistics in a state dict of an old version of Torch."""
        named = " and ".join(f'"{name}"' for name in found)
        kind = type(self).__name__
        return (
            f"Unexpected running stats buffer(s) {named} for {kind} with track_running_stats=False. "
            "If state_dict is a checkpoint saved before 0.4.0, this may be expected because "
            f"{kind} does not track running stats by default since 0.4.0. Please remove these keys "
            "from state_dict. If the running stats are actually needed, instead set "
            f"track_running_stats=True in {kind} to enable them. See the documentation of {kind} "
            "for details."
        )

    def forward(self, input: Tensor) -> Tensor:
        self._check_input_dim(input)
        unbatched = self._input_dims[0]
        self._check_channels(input, input.ndim - unbatched)
        if input.ndim == unbatched:
            return self._normalized(input.unsqueeze(0)).squeeze(0)
        return self._normalized(input)

    def _normalized(self, input: Tensor) -> Tensor:
        return F.instance_norm(
            input, self.running_mean, self.running_var, self.weight, self.bias,
            self.training or not self.track_running_stats,
            0.0 if self.momentum is None else self.momentum, self.eps,
        )  # fmt: skip

    def _check_channels(self, input: Tensor, dim: int) -> None:
        size = input.shape[dim]
        if size == self.num_features:
            return
        if self.affine:
            raise ValueError(
                f"expected input's size at dim={dim} to match num_features ({self.num_features}), "
                f"but got: {size}."
            )
        warnings.warn(
            f"input's size at dim={dim} does not match num_features. You can silence this warning "
            "by not passing in num_features, which is not used because affine=False",
            stacklevel=3,
        )


class InstanceNorm1d(_InstanceNorm, input_dims=(2, 3)):
    """Instance normalization of sequences (N, C, L)."""


class InstanceNorm2d(_InstanceNorm, input_dims=(3, 4)):
    """Instance normalization of images (N, C, H, W)."""


class InstanceNorm3d(_InstanceNorm, input_dims=(4, 5)):
    """Instance normalization of volumes (N, C, D, H, W)."""


class LazyInstanceNorm1d(_LazyNormBase, _InstanceNorm, becomes=InstanceNorm1d):
    """`InstanceNorm1d` that takes `num_features` from its first input."""


class LazyInstanceNorm2d(_LazyNormBase, _InstanceNorm, becomes=InstanceNorm2d):
    """`InstanceNorm2d` that takes `num_features` from its first input."""


class LazyInstanceNorm3d(_LazyNormBase, _InstanceNorm, becomes=InstanceNorm3d):
    """`InstanceNorm3d` that takes `num_features` from its first input."""
