"""A loss for rare classes."""

from __future__ import annotations

from ...torch import Tensor
from ...torch.nn import functional as F


def sigmoid_focal_loss(
    inputs: Tensor, targets: Tensor, alpha: float = 0.25, gamma: float = 2, reduction: str = "none"
) -> Tensor:
    """Cross entropy that counts an example the less, the surer it is (Lin and others, 2017).

    Args:
        inputs: log odds
        targets: 0 or 1
        alpha: the weight of 1, 1 - alpha that of 0; less than 0 for none
        gamma: how fast sure examples lose weight
        reduction: "none", "mean" or "sum"
    """
    if not (0 <= alpha <= 1) and alpha != -1:
        raise ValueError(
            f"Invalid alpha value: {alpha}. alpha must be in the range [0,1] or -1 for ignore."
        )
    p = inputs.sigmoid()
    right = p * targets + (1 - p) * (1 - targets)
    loss = (
        F.binary_cross_entropy_with_logits(inputs, targets, reduction="none") * (1 - right) ** gamma
    )
    if alpha >= 0:
        loss = (alpha * targets + (1 - alpha) * (1 - targets)) * loss
    if reduction not in ("none", "mean", "sum"):
        raise ValueError(
            f"Invalid Value for arg 'reduction': '{reduction} \n Supported reduction modes: 'none', 'mean', 'sum'"
        )
    return loss if reduction == "none" else loss.mean() if reduction == "mean" else loss.sum()
