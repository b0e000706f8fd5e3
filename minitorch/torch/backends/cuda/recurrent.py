"""A step of an LSTM on a GPU: all that follows the product is one kernel, a thread for each unit."""

from __future__ import annotations

from functools import cache
from typing import Any

import cupy  # pyright: ignore[reportMissingImports]

from ..interface import Array
from .elementwise import TYPES

BLOCK = 256

SOURCE = """
__device__ T sigmoid(T x) { return T(1) / (T(1) + exp(-x)); }
extern "C" __global__ void step(
    T* gates, const T* product, const T* bias, T* c, T* cells, T* tanhs, T* h, int hidden, int count) {
  int k = blockIdx.x * blockDim.x + threadIdx.x;
  if (k >= count) return;
  int j = k % hidden, at = k / hidden * 4 * hidden + j;
  T i = sigmoid(gates[at] + product[at] + bias[j]);
  T f = sigmoid(gates[at + hidden] + product[at + hidden] + bias[j + hidden]);
  T g = tanh(gates[at + 2 * hidden] + product[at + 2 * hidden] + bias[j + 2 * hidden]);
  T o = sigmoid(gates[at + 3 * hidden] + product[at + 3 * hidden] + bias[j + 3 * hidden]);
  gates[at] = i; gates[at + hidden] = f; gates[at + 2 * hidden] = g; gates[at + 3 * hidden] = o;
  cells[k] = c[k];
  c[k] = f * c[k] + i * g;
  tanhs[k] = tanh(c[k]);
  h[k] = o * tanhs[k];
}
extern "C" __global__ void step_backward(
    const T* gates, const T* cells, const T* tanhs, const T* dh, T* dc, T* slopes, int hidden, int count) {
  int k = blockIdx.x * blockDim.x + threadIdx.x;
  if (k >= count) return;
  int at = k / hidden * 4 * hidden + k % hidden;
  T i = gates[at], f = gates[at + hidden], g = gates[at + 2 * hidden], o = gates[at + 3 * hidden];
  T d = dc[k] + dh[k] * o * (T(1) - tanhs[k] * tanhs[k]);
  slopes[at] = d * g * i * (T(1) - i);
  slopes[at + hidden] = d * cells[k] * f * (T(1) - f);
  slopes[at + 2 * hidden] = d * i * (T(1) - g * g);
  slopes[at + 3 * hidden] = dh[k] * tanhs[k] * o * (T(1) - o);
  dc[k] = d * f;
}
"""


@cache
def _kernel(name: str, kind: Any) -> Any:
    return cupy.RawKernel(f"typedef {TYPES[kind][1]} T;\n{SOURCE}", name).kernel


def _launch(name: str, *arrays: Array, hidden: int, count: int) -> None:
    """Run a kernel on arrays, which are rows of one type without gaps."""
    if not all(x._c_contiguous for x in arrays):
        raise ValueError(f"{name}: rows have gaps")
    if count:
        sizes = hidden, count
        _kernel(name, arrays[0].dtype)(
            (-(-count // BLOCK),), (BLOCK,), (*arrays, *map(cupy.int32, sizes))
        )


def lstm_step(
    gates: Array, product: Array, bias: Array, c: Array, cells: Array, tanhs: Array, h: Array
) -> None:
    """Gates from what input and state give; from them the next cell and state."""
    sizes = {"hidden": c.shape[1], "count": c.size}
    _launch("step", gates, product, bias, c, cells, tanhs, h, **sizes)


def lstm_step_backward(
    gates: Array, cells: Array, tanhs: Array, dh: Array, dc: Array, slopes: Array
) -> None:
    """The gradients of the gates before their curves; dc becomes that of the cell before."""
    sizes = {"hidden": dc.shape[1], "count": dc.size}
    _launch("step_backward", gates, cells, tanhs, dh, dc, slopes, **sizes)


FORMULAS = {"lstm_step": lstm_step, "lstm_step_backward": lstm_step_backward}
"""By the names of formulas."""
