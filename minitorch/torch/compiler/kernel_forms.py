"""Entries of a tape that are whole kernels: convolutions, pooling, cross entropy.

A form looks at an entry, and adds the steps that do the same, if there are such. It returns whether it did.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from ..formulas.geometry import Geometry
from ..formulas.losses import check_targets
from .memory import REALS, compact_layout, is_compact, is_dense
from .tape import ALIAS, Entry, Layout, Slot

if TYPE_CHECKING:
    from .lowering import Lowering

LARGE = 1 << 20
"""From so many multiplications on, a convolution is shared among threads."""


@dataclass(slots=True)
class Kernel:
    """A step that is one kernel.

    Attributes:
        name: of the function in `backends/cpu/entries.py`
        real: the type of its numbers
        words: what it is given; arrays of numbers that never change among them, and None for where it says that something is wrong
        given: slots that it reads
        made: slots that it writes
        work: how much there is to do, in elements
        check: what raises the error if something is wrong, given the array of a slot
        counted: slots from outside that it writes to as well, and whose versions count that
    """

    name: str
    real: Any
    words: list[int | Slot | np.ndarray | None]
    given: list[Slot]
    made: list[Slot]
    work: int
    check: tuple[Callable[[Any], Any], Slot] | None = None
    counted: list[Slot] = field(default_factory=list)

    def read(self) -> list[Slot]:
        """The slots that it reads."""
        return self.given if self.check is None else [*self.given, self.check[1]]

    def written(self) -> list[Slot]:
        """The slots that it writes."""
        return self.made


FORMS: dict[str, Callable[[Lowering, Entry], bool]] = {}
"""By the name of an operation."""


def form(name: str) -> Callable[[Any], Any]:
    """Declare the form of an operation."""

    def declare(fn: Any) -> Any:
        FORMS[name] = fn
        return fn

    return declare


def are_plain(lowering: Lowering, slots: Any, layouts: Any) -> Any:
    """The one type of real numbers that all have, which lie in order; None where that is not so."""
    found = [lowering.layout(slot) for slot in slots] + list(layouts)
    kinds = {layout[2] for layout in found}
    if len(kinds) != 1 or not all(map(is_compact, found)) or not all(math.prod(f[0]) for f in found):  # fmt: skip
        return None
    kind = kinds.pop()
    return kind.type if kind.char in "fd" else None


def _size(lowering: Lowering, slot: Slot) -> int:
    return math.prod(lowering.layout(slot)[0])


def _table(values: Any) -> list[Any]:
    """A table of whole numbers as two words: the array, and its length."""
    array = np.ascontiguousarray(values, np.int64).reshape(-1)
    return [array, array.size]


# --- Convolutions ------------------------------------------------------------------------------------------


def _geometry(params: dict[str, Any], kernel: tuple[int, ...]) -> Geometry:
    return Geometry(kernel, params["stride"], params["padding"], params["dilation"])


def _convolution(lowering: Lowering, entry: Entry, transposed: bool) -> bool:
    from ..backends.cpu.conv_kernels import planned

    source, weight, bias = entry.inputs
    real = are_plain(lowering, [s for s in entry.inputs if s is not None], entry.layouts)
    made, layout = entry.outputs[0], entry.layouts[0]
    shape, sizes, kernel = layout[0], lowering.layout(source)[0], lowering.layout(weight)[0]
    if real is None or len(sizes) != len(kernel) or (transposed and bias is not None):
        return False
    geometry, groups = _geometry(entry.params, kernel[2:]), entry.params["groups"]
    if geometry.is_pointwise:
        return False
    itemsize = np.dtype(real).itemsize
    plan, work, size = planned(transposed, sizes, kernel, shape, geometry, groups, itemsize)
    given = [lowering.canonical(s) for s in entry.inputs if s is not None]
    words: list[Any] = []
    for slot in given:
        words += [slot, _size(lowering, slot)]
    words += [source, 0] if bias is None else []
    room = lowering.new()
    words += [made, math.prod(shape), room, size]
    words += [*_table(plan.layout), *_table(work), *_table(plan.result)]
    for table in (plan.splits, plan.phases, plan.offsets, plan.weights):
        words += _table(table)
    products = math.prod(sizes if transposed else shape) * math.prod(kernel[1:])
    kernel_step = Kernel("convolve", real, words, given, [made, room], products if products > LARGE else 0)  # fmt: skip
    lowering.add(kernel_step, [layout, compact_layout([size], layout[2])])
    return True


@form("convolution")
def _plain(lowering: Lowering, entry: Entry) -> bool:
    return _convolution(lowering, entry, False)


@form("conv_transpose")
def _transposed(lowering: Lowering, entry: Entry) -> bool:
    return _convolution(lowering, entry, True)


@form("convolution_backward_weight")
def _weight_gradient(lowering: Lowering, entry: Entry) -> bool:
    """Sums of parts of the batch, then the sum of these; of it, the gradient is a part."""
    from ..backends.cpu.conv_kernels import planned_gradient

    g, x = map(lowering.canonical, entry.inputs)
    real = are_plain(lowering, (g, x), ())
    shape, groups = tuple(entry.params["shape"]), entry.params["groups"]
    sizes = lowering.layout(g)[0], lowering.layout(x)[0]
    if real is None or groups != 1 or len(sizes[0]) != len(shape):
        return False
    dtype = np.dtype(real)
    geometry = _geometry(entry.params, shape[2:])
    plan, work, offsets, kept, size = planned_gradient(
        *sizes, shape, geometry, groups, dtype.itemsize
    )
    sums, room, length = lowering.new(), lowering.new(), math.prod(kept)
    each = kept[1:]
    layout = compact_layout((kept[0], math.prod(each)), dtype)
    lowering.add(Kernel("clear", real, [sums, length], [], [sums], 0), [layout])
    words = [g, math.prod(sizes[0]), x, math.prod(sizes[1]), sums, length, room, size, *_table(plan.layout), *_table(work)]  # fmt: skip
    words += [*_table(plan.splits), *_table(offsets)]
    products = math.prod(sizes[0]) * math.prod(shape[1:])
    kernel = Kernel(
        "gather", real, words, [g, x, sums], [room], products if products > LARGE else 0
    )
    lowering.add(kernel, [compact_layout([size], dtype)])
    lowering.ready[int(sums)] = len(lowering.steps)
    if kept[0] == 1:
        total = lowering.view(sums, compact_layout([math.prod(each)], dtype))
    else:
        total = lowering.sum(sums, (0,))
    _part_of_sum(lowering, entry, total, each[-1] * dtype.itemsize)
    return True


def _part_of_sum(lowering: Lowering, entry: Entry, total: Slot, row: int) -> None:
    """The first elements of each row of a sum, in the shape of a weight: as they lie there, or copied."""
    made, layout = entry.outputs[0], entry.layouts[0]
    shape, strides, dtype = layout
    seen = shape, (row, *compact_layout(shape, dtype)[1][1:]), dtype
    if seen[1] == strides:
        lowering.view(total, layout, made=made)
    else:
        lowering.copy(made, lowering.view(total, seen), layout)


# --- Pooling -------------------------------------------------------------------------------------------------


@form("max_pool2d_with_indices")
def _max_pool(lowering: Lowering, entry: Entry) -> bool:
    if entry.params["window"] != ((2, 2), (2, 2), (0, 0), (1, 1), False):
        return False
    x, layouts = lowering.canonical(entry.inputs[0]), entry.layouts
    real = are_plain(lowering, [x], layouts[:1])
    if real is None or not is_compact(layouts[1]):
        return False
    *outer, height, width = lowering.layout(x)[0]
    words: list[Any] = [x, *entry.outputs, math.prod(outer), height, width]
    work = _size(lowering, x)
    name, (shape, _, kind) = "halve", layouts[1]
    if height * width < 1 << 15 and _are_put_back(lowering, entry.outputs[1], layouts[0]):
        name, kind = "halve_short", np.dtype(np.int16)
    made = [layouts[0], compact_layout(shape, kind)]
    lowering.add(Kernel(name, real, words, [x], list(entry.outputs), work), made)
    return True


def _are_put_back(lowering: Lowering, places: Slot, layout: Layout) -> bool:
    """Whether nothing reads places but programs that compute gradients of what was pooled."""
    shown, layouts = {places}, {places: layout}
    for entry in lowering.tape.entries:
        layouts.update(zip(entry.outputs, entry.layouts, strict=True))
        if shown.isdisjoint(entry.slots()):
            continue
        if entry.op is ALIAS:
            shown.add(entry.outputs[0])
        elif entry.op.name != "max_pool_backward":
            return False
        else:
            g = entry.inputs[0]
            lies = layouts[g] if g in layouts else lowering.layout(g)
            if (
                lies != layout
                or entry.layouts[0][2] != layout[2]
                or not is_compact(entry.layouts[0])
            ):
                return False
    return shown.isdisjoint(lowering.returned)


@form("adaptive_avg_pool")
def _mean_of_all(lowering: Lowering, entry: Entry) -> bool:
    """One window is a mean."""
    x, (shape, _, kind) = entry.inputs[0], lowering.layout(entry.inputs[0])
    dims = len(entry.params["size"])
    if kind not in REALS or set(entry.params["size"]) != {1} or 0 in shape or not is_compact(entry.layouts[0]):  # fmt: skip
        return False
    along = tuple(range(len(shape) - dims, len(shape)))
    count = math.prod(shape[-dims:])
    lowering.sum(x, along, entry.outputs[0], count, entry.layouts[0])
    return True


@form("adaptive_avg_pool_backward")
def _mean_of_all_backward(lowering: Lowering, entry: Entry) -> bool:
    g, layout = entry.inputs[0], entry.layouts[0]
    shape, kind = layout[0], layout[2]
    if kind not in REALS or set(entry.params["size"]) != {1} or 0 in shape or not is_dense(layout):
        return False
    if lowering.layout(g)[2] != kind:
        return False
    count = math.prod(shape[-len(entry.params["size"]) :])
    lowering.apply(np.true_divide, g, count, like=layout, made=entry.outputs[0])
    return True


@form("max_pool_backward")
def _max_pool_backward(lowering: Lowering, entry: Entry) -> bool:
    g, places = map(lowering.canonical, entry.inputs)
    layout, dims = entry.layouts[0], entry.params["dims"]
    real = are_plain(lowering, [g], [layout])
    index = lowering.layout(places)
    if real is None or index[2] not in (np.int64, np.int16) or not is_compact(index):
        return False
    shape, size = lowering.layout(g)[0], math.prod(layout[0])
    planes, windows = math.prod(shape[:-dims]), math.prod(shape[-dims:])
    made = entry.outputs[0]
    words: list[Any] = [g, places, made, planes, windows, math.prod(layout[0][-dims:])]
    name = "put_back" if index[2] == np.int64 else "put_back_short"
    lowering.add(Kernel(name, real, words, [g, places], [made], size), [layout])
    return True


# --- Cross entropy ---------------------------------------------------------------------------------------------


def _rows_and_targets(lowering: Lowering, logits: Any, target: Any, weight: Any) -> bool:
    if weight is not None:
        return False
    shape, index = lowering.layout(logits)[0], lowering.layout(target)
    return len(shape) == 2 and index[2] == np.int64 and is_compact(index)


@form("cross_entropy_loss")
def _cross_entropy(lowering: Lowering, entry: Entry) -> bool:
    logits, target, weight = entry.inputs
    params = entry.params
    if params["smoothing"] or params["reduction"] not in ("mean", "sum"):
        return False
    real = are_plain(lowering, [logits], entry.layouts)
    if real is None or not _rows_and_targets(lowering, logits, target, weight):
        return False
    x, classes = map(lowering.canonical, (logits, target))
    rows, width = lowering.layout(x)[0]
    loss, sums, count = entry.outputs
    ignored = params["ignore_index"]
    words = [x, classes, loss, sums, count, None, rows, width, ignored, int(params["reduction"] == "mean")]  # fmt: skip
    check = partial(check_targets, classes=width, ignore_index=ignored), target
    kernel = Kernel("cross_entropy", real, words, [x, classes], list(entry.outputs), 0, check)
    lowering.add(kernel, entry.layouts)
    return True


@form("cross_entropy_loss_backward")
def _cross_entropy_backward(lowering: Lowering, entry: Entry) -> bool:
    g, logits, target, weight, sums, count = entry.inputs
    layout = entry.layouts[0]
    real = are_plain(lowering, [g, logits, sums, count], [layout])
    if real is None or entry.params["smoothing"] or _size(lowering, g) != 1:
        return False
    if not _rows_and_targets(lowering, logits, target, weight) or _size(lowering, count) != 1:
        return False
    given = [lowering.canonical(slot) for slot in (g, logits, target, sums, count)]
    made = entry.outputs[0]
    rows, width = layout[0]
    words: list[Any] = [*given, made, rows, width, entry.params["ignore_index"]]
    lowering.add(Kernel("cross_entropy_backward", real, words, given, [made], rows * width), [layout])  # fmt: skip
    return True
