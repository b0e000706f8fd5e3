"""Batch normalization over the batches of all ranks."""

from __future__ import annotations

from typing import Any

from ...autograd.modes import no_grad
from ...ops.joining import cat
from ...tensor import Tensor
from .functional import all_reduce


def sync_batch_norm(
    input: Tensor,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    weight: Tensor | None,
    bias: Tensor | None,
    momentum: float,
    eps: float,
    group: Any,
) -> Tensor:
    """Mean 0 and variance 1 of each channel over all ranks' batches, then scaled.

    Two sums over the ranks: of the numbers and how many there are, then of the squared differences
    from the mean. Gradients flow through both.
    """
    x = input.float() if input.dtype.itemsize == 2 else input
    channels = input.shape[1]
    dims = (0, *range(2, input.ndim))
    shape = (1, channels) + (1,) * (input.ndim - 2)
    own = x.new_full((1,), input.numel() // channels)
    totals = all_reduce(cat([x.sum(dims), own]), group=group)
    count = totals[-1].detach()
    mean = totals[:-1] / count
    centred = x - mean.view(shape)
    var = all_reduce(centred.square().sum(dims), group=group) / count
    out = centred * (var + eps).rsqrt().view(shape)
    if weight is not None:
        out = out * weight.view(shape)
    if bias is not None:
        out = out + bias.view(shape)
    with no_grad():
        if running_mean is not None:
            running_mean.lerp_(mean.to(running_mean.dtype), momentum)
        if running_var is not None:
            unbiased = var * (count / (count - 1))
            running_var.lerp_(unbiased.to(running_var.dtype), momentum)
    return out.to(input.dtype)
