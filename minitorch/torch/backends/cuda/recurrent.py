"""LSTM and GRU layers on a GPU.

A step is one product and one kernel, a thread for each unit. All steps of a small LSTM layer are one kernel, with
a block of threads for each sequence: starting two kernels for each step would take longer than what they compute.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, lru_cache
from typing import Any

import cupy  # pyright: ignore[reportMissingImports]
import numpy as np

from ...formulas.recurrent import walk
from ..interface import Array
from .products import multiply
from .recurrent_sources import HELD
from .sources import RECURRENT
from .typed_kernels import fit, kernel_for

BLOCK = 256
WIDEST = 256
"""How wide the state of a layer may be whose steps are one kernel."""

HELD_WIDTHS = frozenset((8, 16, 32, 64))
"""How wide the state of a layer may be whose weights threads hold in registers."""

MOST_BYTES = 1 << 25
"""How many bytes of weights the blocks of such a kernel may read in a step, all together."""


@lru_cache(maxsize=64)
def _steps_on_gpu(sizes: tuple[int, ...], reverse: bool, gpu: int) -> Array:
    """The first row of each step, and how many there are, in the order of the steps, on the GPU in use."""
    steps = [(rows.start, n) for rows, n in walk(sizes, reverse)]
    return cupy.asarray(np.array(steps, np.int64))


@cache
def _held(hidden: int) -> str:
    return f"{RECURRENT}\n#define HIDDEN {hidden}\n{HELD}"


class _Steps:
    """A layer whose steps are computed one after another, each on rows of arrays for all steps."""

    def __init__(self, gates: Array, w_hh: Array, state: Array) -> None:
        self.kind, self.units, self.hidden = gates.dtype, gates.shape[1], state.shape[1]
        self.weight = cupy.ascontiguousarray(w_hh)

    def launch(self, name: str, n: int, *args: Any) -> None:
        """Let a thread compute each unit of n rows."""
        count = n * self.hidden
        if count:
            sizes = self.hidden, count
            kernel = kernel_for(RECURRENT, name, self.kind)
            kernel((-(-count // BLOCK),), (BLOCK,), (*args, *sizes))

    def from_state(self, h: Array, n: int, out: Array) -> None:
        """What the state gives to the gates of a step."""
        if n:
            sizes = n, self.hidden, self.units
            weight = self.weight.data.ptr, True, self.hidden, 0
            multiply(sizes, (h.data.ptr, False, self.hidden, 0), weight, (out.data.ptr, self.units, 0), self.kind)  # fmt: skip

    def to_state(self, slopes: int, n: int, dh: Array, add: bool) -> None:
        """What the gradients of gates, from an address on, give to the state."""
        if n:
            weight = self.weight.data.ptr, False, self.hidden, 0
            sizes = n, self.units, self.hidden
            multiply(sizes, (slopes, False, self.units, 0), weight, (dh.data.ptr, self.hidden, 0), self.kind, add=add)  # fmt: skip

    def are_one(self, batch: int) -> bool:
        """Whether one kernel had better compute all steps."""
        small = batch * self.weight.nbytes <= MOST_BYTES and self.hidden <= WIDEST
        return small and batch > 0 and self.weight.size > 0

    def launch_all(self, name: str, batch: int, walked: tuple[Any, bool], *args: Any) -> None:
        """Let a block compute all steps of each sequence."""
        steps = _steps_on_gpu(tuple(walked[0]), walked[1], cupy.cuda.runtime.getDevice())
        sizes = len(steps), self.hidden
        if self.hidden in HELD_WIDTHS and self.kind.itemsize == 4:
            kernel = kernel_for(_held(self.hidden), f"held_{name}", self.kind)
        else:
            kernel = kernel_for(RECURRENT, name, self.kind)
        kernel((batch,), (min(self.units, 1024),), (*args, steps, *sizes))

    def rows(self, start: int, *arrays: Array) -> list[Any]:
        """Where a step's rows begin in arrays."""
        return [x.data.ptr + start * x.shape[1] * x.itemsize for x in arrays]


def _fits(gates: Array, *others: Array) -> bool:
    return gates.dtype.char in "fd" and fit(gates, *others)


def lstm_steps(
    gates: Array, sizes: Sequence[int], reverse: bool, weights: Any, state: Any, kept: Any
) -> bool:
    """`lstm_steps` of formulas/recurrent.py; False where there is no kernel for it, and nothing was done."""
    (w_hh, bias, w_hr), (h, c), (out, before, cells, tanhs) = weights, state, kept
    if w_hr is not None or not _fits(gates, bias, h, c, out, before, cells, tanhs):
        return False
    steps = _Steps(gates, w_hh, h)
    if steps.are_one(len(h)):
        weight = cupy.ascontiguousarray(steps.weight.T)
        given = gates, weight, bias, h, c, before, cells, tanhs, out
        steps.launch_all("lstm_layer", len(h), (sizes, reverse), *given)
        return True
    product = cupy.ndarray((len(h), steps.units), steps.kind)
    for rows, n in walk(sizes, reverse):
        steps.from_state(h, n, product)
        own, *others = steps.rows(rows.start, gates, before, cells, tanhs, out)
        steps.launch("lstm_step", n, own, product, bias, h, c, *others)
    return True


def lstm_steps_backward(
    gates: Array, sizes: Sequence[int], reverse: bool, weights: Any, state: Any, kept: Any, made: Any
) -> bool:  # fmt: skip
    """`lstm_steps_backward` of formulas/recurrent.py; False where there is no kernel for it."""
    (w_hh, w_hr), (dh, dc), (gy, cells, tanhs), (slopes, _) = weights, state, kept, made
    if w_hr is not None or not _fits(gates, dh, dc, gy, cells, tanhs, slopes):
        return False
    steps = _Steps(gates, w_hh, dc)
    if steps.are_one(len(dc)):
        given = gates, steps.weight, cells, tanhs, gy, dh, dc, slopes
        steps.launch_all("lstm_layer_backward", len(dc), (sizes, reverse), *given)
        return True
    for rows, n in walk(sizes, reverse):
        *given, to = steps.rows(rows.start, gates, cells, tanhs, gy, slopes)
        steps.launch("lstm_step_backward", n, *given, dh, dc, to)
        steps.to_state(to, n, dh, add=False)
    return True


def gru_steps(
    gates: Array, sizes: Sequence[int], reverse: bool, weights: Any, h: Array, kept: Any
) -> bool:
    """`gru_steps` of formulas/recurrent.py; False where there is no kernel for it."""
    (w_hh, bias), (out, before, inner) = weights, kept
    if not _fits(gates, bias, h, out, before, inner):
        return False
    steps = _Steps(gates, w_hh, h)
    product = cupy.ndarray((len(h), steps.units), steps.kind)
    for rows, n in walk(sizes, reverse):
        steps.from_state(h, n, product)
        own, *others = steps.rows(rows.start, gates, before, inner, out)
        steps.launch("gru_step", n, own, product, bias, h, *others)
    return True


def gru_steps_backward(
    gates: Array, sizes: Sequence[int], reverse: bool, w_hh: Array, dh: Array, kept: Any, made: Any
) -> bool:
    """`gru_steps_backward` of formulas/recurrent.py; False where there is no kernel for it."""
    (gy, before, inner), (by_input, by_state) = kept, made
    if not _fits(gates, dh, gy, before, inner, by_input, by_state):
        return False
    steps = _Steps(gates, w_hh, dh)
    for rows, n in walk(sizes, reverse):
        *given, one, other = steps.rows(rows.start, gates, before, inner, gy, by_input, by_state)
        steps.launch("gru_step_backward", n, *given, dh, one, other)
        steps.to_state(other, n, dh, add=True)
    return True


FORMULAS = {
    "lstm_steps": lstm_steps, "lstm_steps_backward": lstm_steps_backward,
    "gru_steps": gru_steps, "gru_steps_backward": gru_steps_backward,
}  # fmt: skip
"""By the names of formulas."""
