"""Where the weights of the 2-D networks start, the same for scalars and for tensors.

The course starts everything at 2 * (random - 0.5). With two hidden units that leaves a dead
ReLU every other time, and with 100 the outputs start so large that sigmoid is flat. So:

- a layer that reads points of the unit square gets weights in -6 ... 6, and a bias that puts
  each unit's kink (where ReLU switches on) through a random point of the square;
- every other layer gets weights in -s ... s with s = sqrt(6 / inputs), so that sums stay as
  large as what goes in (He et al. 2015), and bias 0.
"""

from __future__ import annotations

import math
import random

POINT_SCALE = 6.0


def weights_and_bias(
    in_size: int, out_size: int, reads_points: bool
) -> tuple[list[list[float]], list[float]]:
    """First weights, as in_size rows of out_size, and biases, drawn from Python's `random`."""
    scale = POINT_SCALE if reads_points else math.sqrt(6.0 / in_size)
    weights = [[scale * _symmetric() for _ in range(out_size)] for _ in range(in_size)]
    if not reads_points:
        return weights, [0.0] * out_size
    kinks = [[random.random() for _ in range(in_size)] for _ in range(out_size)]
    bias = [-sum(weights[i][j] * kinks[j][i] for i in range(in_size)) for j in range(out_size)]
    return weights, bias


def _symmetric() -> float:
    return 2.0 * (random.random() - 0.5)
