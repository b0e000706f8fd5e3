"""Entries of a tape that normalize: statistics by kernels, and the rest as loops that join their neighbours."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from ...threads import get_num_threads
from .kernel_forms import Kernel, are_plain, form
from .loops import bits_of
from .memory import PARALLEL, REALS, compact_layout, is_compact, is_dense
from .tape import Entry, Layout, Slot

if TYPE_CHECKING:
    from .lowering import Lowering


# --- Scalar functions ------------------------------------------------------------------------------------


def scaled(x: Any, scale: Any, shift: Any) -> Any:
    """A number on a line."""
    return x * scale + shift


def times_distance(g: Any, x: Any, mean: Any) -> Any:
    """A number times the distance of another from a mean."""
    return g * (x - mean)


def combined(g: Any, x: Any, scale: Any, slope: Any, level: Any) -> Any:
    """A gradient by what was normalized."""
    return (g * scale - x * slope) - level


# --- Batch norm --------------------------------------------------------------------------------------------


class _Channels:
    """Arithmetic on vectors of channels, and on an input (N, C, ...) with one number for each channel."""

    def __init__(self, lowering: Lowering, layout: Layout) -> None:
        shape, _, kind = layout
        self.lowering, self.layout = lowering, layout
        self.own = compact_layout(shape[1:2], kind)
        self.spread = compact_layout((1, shape[1], *(1 for _ in shape[2:])), kind)
        self.dims = 0, *range(2, len(shape))

    def each(self, scalar: Any, *given: Any, made: Slot | None = None) -> Slot:
        """An operation on vectors of channels."""
        return self.lowering.apply(scalar, *given, like=self.own, made=made)

    def all(self, scalar: Any, *given: Slot, made: Slot | None = None) -> Slot:
        """An operation on whole inputs and vectors of channels."""
        slots = [self._spread(v) if self.lowering.layout(v)[0] == self.own[0] else v for v in given]
        return self.lowering.apply(scalar, *slots, like=self.layout, made=made)

    def _spread(self, vector: Slot) -> Slot:
        return self.lowering.view(vector, self.spread)


def _takes_channels(lowering: Lowering, entry: Entry, vectors: Any) -> bool:
    """Whether an entry is of an input (N, C, ...) and vectors of one type of real numbers."""
    shape, _, kind = lowering.layout(entry.inputs[1 if entry.op.name.endswith("backward") else 0])
    layouts = [lowering.layout(v) for v in vectors if v is not None] + list(entry.layouts)
    return (
        len(shape) > 1
        and kind in REALS
        and 0 not in shape
        and all(layout[2] == kind for layout in layouts)
        and all(map(is_compact, layouts))
    )


@form("native_batch_norm")
def _batch_norm(lowering: Lowering, entry: Entry) -> bool:
    x, weight, bias = entry.inputs
    if not _takes_channels(lowering, entry, (x, weight, bias)):
        return False
    shape, _, kind = layout = lowering.layout(x)
    out, mean, r, var = entry.outputs
    x, channels = lowering.canonical(x), _Channels(lowering, layout)
    words = [x, mean, var, shape[0], shape[1], math.prod(shape[2:])]
    size = math.prod(shape)
    lowering.add(Kernel("moments", kind.type, words, [x], [mean, var], size), [channels.own] * 2)
    each = channels.each
    each(np.true_divide, 1, each(np.sqrt, each(np.add, var, entry.params["eps"])), made=r)
    scale = r if weight is None else each(np.multiply, r, weight)
    shift = each(np.multiply, mean, scale)
    shift = each(np.negative, shift) if bias is None else each(np.subtract, bias, shift)
    channels.all(scaled, x, scale, shift, made=out)
    return True


@form("native_batch_norm_backward")
def _batch_norm_backward(lowering: Lowering, entry: Entry) -> bool:
    """Sums of g and of g (x - mean), numbers of channels, and g scale - x slope - level."""
    g, x, weight, mean, r = entry.inputs
    if not _takes_channels(lowering, entry, (weight, mean, r)):
        return False
    layout = lowering.layout(x)
    if lowering.layout(g)[2] != layout[2] or not is_dense(layout):
        return False
    by_input, by_weight, by_bias = entry.outputs
    channels = _Channels(lowering, entry.layouts[0])
    each, whole = channels.each, channels.all
    g, x = lowering.canonical(g), lowering.canonical(x)
    products = whole(times_distance, g, x, mean)
    sums = lowering.sum(g, channels.dims, by_bias)
    products = lowering.sum(products, channels.dims)
    each(np.multiply, products, r, made=by_weight)
    count = math.prod(layout[0]) // layout[0][1]
    scale = r if weight is None else each(np.multiply, r, weight)
    slope = each(np.multiply, each(np.multiply, products, scale), r)
    slope = each(np.true_divide, each(np.multiply, slope, r), count)
    level = each(np.true_divide, each(np.multiply, sums, scale), count)
    level = each(np.subtract, level, each(np.multiply, mean, slope))
    whole(combined, g, x, scale, slope, level, made=by_input)
    return True


# --- Layer norm --------------------------------------------------------------------------------------------


@form("native_layer_norm")
def _layer_norm(lowering: Lowering, entry: Entry) -> bool:
    x, weight, bias = entry.inputs
    real = are_plain(lowering, [s for s in (weight, bias) if s is not None], entry.layouts)
    if real is None or lowering.layout(x)[2] != np.dtype(real):
        return False
    n, size = math.prod(entry.params["by"]), math.prod(entry.layouts[0][0])
    x = lowering.in_order(x)
    weight, bias = _vector(lowering, weight, n, real, 1), _vector(lowering, bias, n, real, 0)
    words = [x, weight, bias, *entry.outputs, size // n, n, bits_of(entry.params["eps"])]
    step = Kernel("normalize", real, words, [x, weight, bias], list(entry.outputs), size)
    lowering.add(step, entry.layouts)
    return True


@form("native_layer_norm_backward")
def _layer_norm_backward(lowering: Lowering, entry: Entry) -> bool:
    g, x, weight, mean, r = entry.inputs
    vectors = [s for s in (weight, mean, r) if s is not None]
    real = are_plain(lowering, vectors, entry.layouts)
    if real is None or {lowering.layout(s)[2] for s in (g, x)} != {np.dtype(real)}:
        return False
    n, size = math.prod(entry.params["by"]), math.prod(entry.layouts[0][0])
    weight = _vector(lowering, weight, n, real, 1)
    given = [lowering.in_order(g), lowering.in_order(x), *map(lowering.canonical, (mean, r)), weight]  # fmt: skip
    tasks = get_num_threads() if size >= PARALLEL else 1
    by_input, by_weight, by_bias = entry.outputs
    sums = lowering.new()
    words = [*given, by_input, sums, tasks, size // n, n]
    step = Kernel("normalize_backward", real, words, given, [by_input, sums], size)
    lowering.add(step, [entry.layouts[0], compact_layout((tasks, 2 * n), np.dtype(real))])
    size = np.dtype(real).itemsize
    for k, made in enumerate((by_weight, by_bias)):
        part = lowering.view(sums, ((tasks, n), (2 * n * size, size), np.dtype(real)), k * n * size)
        lowering.sum(part, (0,), made, layout=entry.layouts[1 + k])
    return True


def _vector(lowering: Lowering, slot: Slot | None, n: int, real: Any, else_all: float) -> Slot:
    """A vector of parameters, or one of equal numbers if there is none."""
    if slot is not None:
        return lowering.canonical(slot)
    return lowering.constant(np.full(n, else_all, real))


# --- Softmax -----------------------------------------------------------------------------------------------


def _softmax(lowering: Lowering, entry: Entry) -> bool:
    """Of rows: along the last dimension."""
    layouts = [lowering.layout(slot) for slot in entry.inputs]
    real = are_plain(lowering, [], entry.layouts)
    shape = entry.layouts[0][0]
    if real is None or not shape or entry.params["dim"] % len(shape) != len(shape) - 1:
        return False
    if set(entry.params) != {"dim"} or any(own[2] != np.dtype(real) for own in layouts):
        return False
    given = [lowering.in_order(slot) for slot in entry.inputs]
    size = math.prod(shape)
    words = [given[0], given[-1], entry.outputs[0], size // shape[-1], shape[-1]]
    step = Kernel(entry.op.name, real, words, given, list(entry.outputs), size)
    lowering.add(step, entry.layouts)
    return True


for _name in ("softmax", "log_softmax", "softmax_backward", "log_softmax_backward"):
    form(_name)(_softmax)


# --- Running statistics ------------------------------------------------------------------------------------


@form("update_running")
def _update_running(lowering: Lowering, entry: Entry) -> bool:
    running, (mean, var), (unbiased, momentum) = entry.inputs[:2], entry.inputs[2:4], entry.inputs[4:6]  # fmt: skip
    sources = lowering.tape.sources
    if any(slot not in sources for slot in running):
        return False
    given = [*running, *map(lowering.canonical, (mean, var))]
    real = are_plain(lowering, given, ())
    count = {math.prod(lowering.layout(slot)[0]) for slot in given}
    if real is None or len(count) != 1 or not isinstance(momentum, float):
        return False
    words = [*given, *count, bits_of(unbiased), bits_of(momentum)]
    lowering.append(Kernel("update_running", real, words, given, [], 0, counted=list(running)))
    for slot in running:
        lowering.note_write(slot)
    return True


@form("add_")
def _count_up(lowering: Lowering, entry: Entry) -> bool:
    """A counter that a whole number is added to, such as the number of batches that were seen."""
    if len(entry.inputs) != 2 or entry.params:
        return False
    counter, number = entry.inputs
    if counter not in lowering.tape.sources or type(number) is not int or abs(number) >= 1 << 31:
        return False
    shape, _, kind = lowering.layout(counter)
    if kind != np.int64 or math.prod(shape) != 1:
        return False
    lowering.append(Kernel("count_up", np.float64, [counter, number], [counter], [], 0))
    lowering.note_write(counter)
    return True
