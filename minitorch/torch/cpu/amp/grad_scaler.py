"""The old forms of `torch.amp.GradScaler`, with the device in the module's name."""

from __future__ import annotations

import warnings

from ...amp.grad_scaler import GradScaler as _GradScaler


class GradScaler(_GradScaler):
    """Scales losses up and gradients down."""

    _of = "cpu"

    def __init__(
        self,
        init_scale: float = 2.0**16,
        growth_factor: float = 2.0,
        backoff_factor: float = 0.5,
        growth_interval: int = 2000,
        enabled: bool = True,
    ) -> None:
        warnings.warn(
            f"`torch.{self._of}.amp.GradScaler(args...)` is deprecated. Please use "
            f"`torch.amp.GradScaler('{self._of}', args...)` instead.",
            FutureWarning,
            stacklevel=2,
        )
        given = init_scale, growth_factor, backoff_factor, growth_interval, enabled
        super().__init__(self._of, *given)
