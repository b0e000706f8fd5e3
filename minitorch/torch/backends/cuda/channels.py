"""Batch norm on a GPU: a block of threads for each channel, which takes its numbers from all samples."""

from __future__ import annotations

from typing import Any

import cupy  # pyright: ignore[reportMissingImports]
import numpy as np

from ..interface import Array
from .typed_kernels import fit, kernel_for, pointer

BLOCK = 512

SOURCE = """
#define EACH(i) for (long long k = threadIdx.x, i; k < n && (i = (k / rest * channels + blockIdx.x) * rest + k % rest, true); k += blockDim.x)
extern "C" __global__ void batch_norm(
    const E* x, const E* weight, const E* bias, E* out, T* means, T* scales, T* variances,
    long long channels, long long rest, long long n, T eps) {
  T sum = 0, squares = 0;
  EACH(i) sum += READ(x[i]);
  T mean = of_block(sum, T(0), Plus()) / n;
  EACH(i) { T d = READ(x[i]) - mean; squares += d * d; }
  T variance = of_block(squares, T(0), Plus()) / n, scale = T(1) / sqrt(variance + eps);
  T factor = weight ? scale * READ(weight[blockIdx.x]) : scale, shift = bias ? READ(bias[blockIdx.x]) : T(0);
  EACH(i) out[i] = WRITE((READ(x[i]) - mean) * factor + shift);
  if (threadIdx.x == 0) { means[blockIdx.x] = mean; scales[blockIdx.x] = scale; variances[blockIdx.x] = variance; }
}
extern "C" __global__ void batch_norm_backward(
    const E* g, const E* x, const E* weight, const T* means, const T* scales, E* by_x, T* by_weight, T* by_bias,
    long long channels, long long rest, long long n) {
  T mean = means[blockIdx.x], scale = scales[blockIdx.x], sum = 0, along = 0;
  EACH(i) { T d = READ(g[i]); sum += d; along += d * (READ(x[i]) - mean) * scale; }
  sum = of_block(sum, T(0), Plus());
  along = of_block(along, T(0), Plus());
  T factor = weight ? scale * READ(weight[blockIdx.x]) : scale;
  EACH(i) by_x[i] = WRITE(factor * (READ(g[i]) - sum / n - (READ(x[i]) - mean) * scale * along / n));
  if (threadIdx.x == 0) { by_weight[blockIdx.x] = along; by_bias[blockIdx.x] = sum; }
}
"""
RUNNING = """
extern "C" __global__ void move_running(
    T* means, T* variances, const T* mean, const T* variance, T unbiased, T momentum, int channels) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= channels) return;
  if (means) means[i] = momentum * mean[i] + (T(1) - momentum) * means[i];
  if (variances) variances[i] = momentum * unbiased * variance[i] + (T(1) - momentum) * variances[i];
}
"""


def _sizes(x: Array) -> tuple[int, int, int]:
    """How many channels there are, how many numbers of one a sample has, and how many all samples have."""
    channels = x.shape[1]
    return channels, x.size // (x.shape[0] * channels), x.size // channels


def batch_norm(
    input: Array, weight: Array | None, bias: Array | None, by: None, eps: float
) -> tuple[Array, ...] | None:
    """Each channel centred and scaled; its mean, its scale and its variance."""
    if input.ndim < 2 or not fit(input, *(v for v in (weight, bias) if v is not None)):
        return None
    wide = np.dtype(np.float64 if input.dtype == np.float64 else np.float32)
    sizes = _sizes(input)
    out = cupy.ndarray(input.shape, input.dtype)
    facts = [cupy.ndarray((sizes[0],), wide) for _ in range(3)]
    args = (input, pointer(weight), pointer(bias), out, *facts, *sizes, wide.type(eps))
    kernel_for(SOURCE, "batch_norm", input.dtype)((sizes[0],), (BLOCK,), args)
    return out, *facts


def batch_norm_backward(
    grad: Array, input: Array, weight: Array | None, mean: Array, r: Array, by: None, eps: float
) -> tuple[Array, ...] | None:
    """The gradients of a batch norm by its input, its weight and its bias."""
    if input.ndim < 2 or not fit(grad, input, *(v for v in (weight,) if v is not None)):
        return None
    sizes = _sizes(input)
    out = cupy.ndarray(input.shape, input.dtype)
    sums = [cupy.ndarray((sizes[0],), mean.dtype) for _ in range(2)]
    args = (grad, input, pointer(weight), mean, r, out, *sums, *sizes)
    kernel_for(SOURCE, "batch_norm_backward", input.dtype)((sizes[0],), (BLOCK,), args)
    return out, *(v.astype(input.dtype, copy=False) for v in sums)


def move_running(
    means: Array | None, variances: Array | None, mean: Array, variance: Array, unbiased: float, momentum: float
) -> bool:  # fmt: skip
    """`move_running` of formulas/norms.py; False where there is no kernel for it, and nothing was done."""
    given = [v for v in (means, variances) if v is not None]
    if mean.dtype.char not in "fd" or not fit(mean, variance, *given):
        return False
    number, n = mean.dtype.type, mean.size
    args = (
        pointer(means), pointer(variances), mean, variance, number(unbiased), number(momentum), np.int32(n),
    )  # fmt: skip
    kernel_for(RUNNING, "move_running", mean.dtype)((-(-n // BLOCK),), (BLOCK,), args)
    return True


FORMULAS = {"move_running": move_running}
"""By the names of formulas."""

KERNELS: dict[str, Any] = {
    "native_batch_norm": batch_norm, "native_batch_norm_backward": batch_norm_backward,
}  # fmt: skip
"""By the names of records; where one returns None, the formula computes."""
