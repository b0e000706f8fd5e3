"""Branches that are left out at random."""

from __future__ import annotations

from ... import torch
from ...torch import Tensor, nn


def stochastic_depth(input: Tensor, p: float, mode: str, training: bool = True) -> Tensor:
    """Zeros with probability p, and otherwise the input by 1 / (1 - p) (Huang and others, 2016).

    Args:
        input: what a branch gives
        p: how likely it is left out
        mode: "batch": all examples together, "row": each by itself
        training: otherwise nothing is left out
    """
    if not 0.0 <= p <= 1.0:
        raise ValueError(f"drop probability has to be between 0 and 1, but got {p}")
    if mode not in ("batch", "row"):
        raise ValueError(f"mode has to be either 'batch' or 'row', but got {mode}")
    if not training or p == 0.0:
        return input
    rows = input.shape[0] if mode == "row" else 1
    noise = torch.empty([rows] + [1] * (input.ndim - 1), dtype=input.dtype, device=input.device)
    noise = noise.bernoulli_(1.0 - p)
    return input * (noise.div_(1.0 - p) if p < 1.0 else noise)


class StochasticDepth(nn.Module):
    """`stochastic_depth` as a layer."""

    def __init__(self, p: float, mode: str) -> None:
        super().__init__()
        self.p, self.mode = p, mode

    def forward(self, input: Tensor) -> Tensor:
        return stochastic_depth(input, self.p, self.mode, self.training)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(p={self.p}, mode={self.mode})"
