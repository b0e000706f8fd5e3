"""The old form of `torch.amp.GradScaler('cuda')`."""

from __future__ import annotations

from ...cpu.amp.grad_scaler import GradScaler as _GradScaler


class GradScaler(_GradScaler):
    """Scales losses up and gradients down."""

    _of = "cuda"
