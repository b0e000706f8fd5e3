"""Softmax and layer norm on a GPU: a block of threads for each row, which stays in the processor.

Each thread takes every 256th number of its row. What a row needs in sum (its largest number, the sum of
its exponentials, its mean) goes through shared memory, and everything is read from memory once or twice
and written once.
"""

from __future__ import annotations

from functools import cache
from math import prod
from typing import Any

import cupy  # pyright: ignore[reportMissingImports]
import numpy as np

from ..interface import Array
from .elementwise import HEAD, TYPES
from .sources import JOINS, OF_BLOCK, SUMS_OF_ROWS

BLOCK = 256
BY_KIND = {kind: names for kind, names in TYPES.items() if kind.kind != "b"}

SOFTMAX = """
extern "C" __global__ void softmax(const E* x, E* out, long long n) {
  x += blockIdx.x * n; out += blockIdx.x * n;
  T top = -INFINITY, sum = 0;
  for (long long i = threadIdx.x; i < n; i += blockDim.x) top = Larger()(top, READ(x[i]));
  top = of_block(top, T(-INFINITY), Larger());
  for (long long i = threadIdx.x; i < n; i += blockDim.x) sum += exp(READ(x[i]) - top);
  sum = of_block(sum, T(0), Plus());
  for (long long i = threadIdx.x; i < n; i += blockDim.x) out[i] = WRITE(exp(READ(x[i]) - top) / sum);
}
extern "C" __global__ void log_softmax(const E* x, E* out, long long n) {
  x += blockIdx.x * n; out += blockIdx.x * n;
  T top = -INFINITY, sum = 0;
  for (long long i = threadIdx.x; i < n; i += blockDim.x) top = Larger()(top, READ(x[i]));
  top = of_block(top, T(-INFINITY), Larger());
  for (long long i = threadIdx.x; i < n; i += blockDim.x) sum += exp(READ(x[i]) - top);
  sum = log(of_block(sum, T(0), Plus()));
  for (long long i = threadIdx.x; i < n; i += blockDim.x) out[i] = WRITE(READ(x[i]) - top - sum);
}
extern "C" __global__ void softmax_backward(const E* g, const E* out, E* by_x, long long n) {
  g += blockIdx.x * n; out += blockIdx.x * n; by_x += blockIdx.x * n;
  T sum = 0;
  for (long long i = threadIdx.x; i < n; i += blockDim.x) sum += READ(g[i]) * READ(out[i]);
  sum = of_block(sum, T(0), Plus());
  for (long long i = threadIdx.x; i < n; i += blockDim.x) by_x[i] = WRITE(READ(out[i]) * (READ(g[i]) - sum));
}
extern "C" __global__ void log_softmax_backward(const E* g, const E* out, E* by_x, long long n) {
  g += blockIdx.x * n; out += blockIdx.x * n; by_x += blockIdx.x * n;
  T sum = 0;
  for (long long i = threadIdx.x; i < n; i += blockDim.x) sum += READ(g[i]);
  sum = of_block(sum, T(0), Plus());
  for (long long i = threadIdx.x; i < n; i += blockDim.x) by_x[i] = WRITE(READ(g[i]) - exp(READ(out[i])) * sum);
}
"""

LAYER_NORM = """
extern "C" __global__ void layer_norm(
    const E* x, const E* weight, const E* bias, E* out, T* means, T* scales, long long n, T eps) {
  x += blockIdx.x * n; out += blockIdx.x * n;
  T sum = 0, squares = 0;
  for (long long i = threadIdx.x; i < n; i += blockDim.x) sum += READ(x[i]);
  T mean = of_block(sum, T(0), Plus()) / n;
  for (long long i = threadIdx.x; i < n; i += blockDim.x) { T d = READ(x[i]) - mean; squares += d * d; }
  T scale = T(1) / sqrt(of_block(squares, T(0), Plus()) / n + eps);
  for (long long i = threadIdx.x; i < n; i += blockDim.x) {
    T y = (READ(x[i]) - mean) * scale;
    if (weight) y *= READ(weight[i]);
    if (bias) y += READ(bias[i]);
    out[i] = WRITE(y);
  }
  if (threadIdx.x == 0) { means[blockIdx.x] = mean; scales[blockIdx.x] = scale; }
}
extern "C" __global__ void layer_norm_backward(
    const E* g, const E* x, const E* weight, const T* means, const T* scales, E* by_x, long long n) {
  g += blockIdx.x * n; x += blockIdx.x * n; by_x += blockIdx.x * n;
  T mean = means[blockIdx.x], scale = scales[blockIdx.x], sum = 0, along = 0;
  for (long long i = threadIdx.x; i < n; i += blockDim.x) {
    T d = READ(g[i]) * (weight ? READ(weight[i]) : T(1));
    sum += d; along += d * (READ(x[i]) - mean) * scale;
  }
  sum = of_block(sum, T(0), Plus()) / n;
  along = of_block(along, T(0), Plus()) / n;
  for (long long i = threadIdx.x; i < n; i += blockDim.x) {
    T d = READ(g[i]) * (weight ? READ(weight[i]) : T(1));
    by_x[i] = WRITE(scale * (d - sum - (READ(x[i]) - mean) * scale * along));
  }
}
"""


@cache
def kernel_for(source: str, name: str, kind: Any) -> Any:
    """A kernel for a type, which reads with READ, writes with WRITE and joins what threads found with of_block."""
    memory, wide, read, write = BY_KIND[kind]
    head = f"""{HEAD}
typedef {memory} E;
typedef {wide} T;
#define READ(x) {read.format("(x)")}
#define WRITE(x) {write.format("(x)")}
{JOINS}{OF_BLOCK}"""
    return cupy.RawKernel(head + source, name).kernel


def _rows(*arrays: Array, dim: int) -> bool:
    """Whether arrays of one type are rows along their last dimension, without gaps."""
    first = arrays[0]
    last = first.ndim and dim == first.ndim - 1
    return bool(last) and fit(*arrays) and all(x.shape == first.shape for x in arrays)


def _softmax(name: str) -> Any:
    def forward(input: Array, dim: int) -> Array | None:
        if not _rows(input, dim=dim):
            return None
        out = cupy.ndarray(input.shape, input.dtype)
        n = input.shape[-1]
        kernel_for(SOFTMAX, name, input.dtype)((input.size // n,), (BLOCK,), (input, out, n))
        return out

    return forward


def _softmax_backward(name: str) -> Any:
    def backward(grad: Array, output: Array, dim: int) -> Array | None:
        if not _rows(grad, output, dim=dim):
            return None
        out = cupy.ndarray(grad.shape, grad.dtype)
        n = grad.shape[-1]
        kernel_for(SOFTMAX, name, grad.dtype)((grad.size // n,), (BLOCK,), (grad, output, out, n))
        return out

    return backward


def layer_norm(
    input: Array, weight: Array | None, bias: Array | None, by: tuple[int, ...], eps: float
) -> tuple[Array, Array, Array] | None:
    """The rows of an array, centred and scaled, and for each row its mean and its scale."""
    n = prod(by)
    given = [v for v in (weight, bias) if v is not None]
    if not fit(input, *given):
        return None
    wide = np.dtype(np.float64 if input.dtype == np.float64 else np.float32)
    outer = (*input.shape[: input.ndim - len(by)], *(1,) * len(by))
    out = cupy.ndarray(input.shape, input.dtype)
    means, scales = cupy.ndarray(outer, wide), cupy.ndarray(outer, wide)
    args = (input, pointer(weight), pointer(bias), out, means, scales, n, wide.type(eps))
    kernel_for(LAYER_NORM, "layer_norm", input.dtype)((input.size // n,), (BLOCK,), args)
    return out, means, scales


def fit(*arrays: Array) -> bool:
    """Whether arrays are of one type and without gaps, and the first has elements."""
    kind = arrays[0].dtype
    return (
        kind in BY_KIND
        and bool(arrays[0].size)
        and all(x._c_contiguous and x.dtype == kind for x in arrays)
    )


def layer_norm_backward(
    grad: Array, input: Array, weight: Array | None, mean: Array, r: Array, by: tuple[int, ...], eps: float
) -> tuple[Array, ...] | None:  # fmt: skip
    """The gradients of a layer norm by its input, its weight and its bias."""
    n = prod(by)
    given = [v for v in (weight,) if v is not None]
    if not fit(grad, input, *given):
        return None
    out = cupy.ndarray(input.shape, input.dtype)
    args = (grad, input, pointer(weight), mean, r, out, n)
    kernel_for(LAYER_NORM, "layer_norm_backward", input.dtype)((input.size // n,), (BLOCK,), args)
    rows = input.size // n
    if rows <= 1 << 14:
        sums = [cupy.ndarray(by, input.dtype) for _ in range(2)]
        args = (grad, input, mean, r, *sums, rows, n)
        kernel_for(SUMS_OF_ROWS, "layer_norm_sums", input.dtype)((-(-n // 32),), (32, 32), args)
        return out, *sums
    normal = (input.astype(mean.dtype, copy=False) - mean) * r
    outer = tuple(range(input.ndim - len(by)))
    by_weight = (grad * normal).sum(axis=outer).astype(input.dtype, copy=False)
    return out, by_weight, grad.sum(axis=outer, dtype=mean.dtype).astype(input.dtype, copy=False)


def pointer(array: Array | None) -> Any:
    """An array as a kernel takes it; none as the address 0."""
    return np.uintp(0) if array is None else array


KERNELS = {
    "native_layer_norm": layer_norm, "native_layer_norm_backward": layer_norm_backward, "softmax": _softmax("softmax"), "log_softmax": _softmax("log_softmax"),
    "softmax_backward": _softmax_backward("softmax_backward"),
    "log_softmax_backward": _softmax_backward("log_softmax_backward"),
}  # fmt: skip
"""By the names of records; where one returns None, the formula computes."""
