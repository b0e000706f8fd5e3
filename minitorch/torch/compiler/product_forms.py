"""Entries of a tape that are products of matrices, by a BLAS: `mm`, `linear` and its gradients."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from .kernel_forms import form
from .loops import Operation, Sum
from .memory import REALS, is_compact
from .tape import Entry, Layout, Slot

if TYPE_CHECKING:
    from .lowering import Lowering


@dataclass(slots=True)
class Product:
    """C = A B; each operand with whether it is transposed, A and B as matrices (rows, columns)."""

    made: Slot
    a: tuple[Slot, bool]
    b: tuple[Slot, bool]
    sizes: tuple[int, int, int]

    def read(self) -> list[Slot]:
        """The slots that it reads."""
        return [self.a[0], self.b[0]]

    def written(self) -> list[Slot]:
        """The slots that it writes."""
        return [self.made]


@form("mm")
def _mm(lowering: Lowering, entry: Entry) -> bool:
    a, b = entry.inputs
    layout = entry.layouts[0]
    if not (is_matrix(lowering, a) and is_matrix(lowering, b) and is_compact(layout)):
        return False
    if not _can_multiply():
        return False
    left, right = (bool(entry.params.get(side)) for side in ("left", "right"))
    m, n = layout[0]
    k = lowering.layout(a)[0][0 if left else 1]
    multiply(lowering, entry.outputs[0], (a, left), (b, right), (m, n, k), layout)
    return True


@form("linear")
def _linear(lowering: Lowering, entry: Entry) -> bool:
    given: list[Any] = [*entry.inputs, None]
    x, weight, bias = given[:3]
    made, layout = entry.outputs[0], entry.layouts[0]
    kinds = {lowering.layout(s)[2] for s in (x, weight, bias) if s is not None}
    if not is_matrix(lowering, weight) or len(kinds) > 1 or not is_compact(layout):
        return False
    if not _can_multiply():
        return False
    x = _readable(lowering, x)
    if not is_matrix(lowering, x, True):
        return False
    n, k = lowering.layout(weight)[0]
    m = math.prod(lowering.layout(x)[0][:-1])
    target = made if bias is None else lowering.new()
    multiply(lowering, target, (x, False), (weight, True), (m, n, k), layout)
    if bias is not None:
        added = Operation(made, np.add, "add", (target, lowering.canonical(bias)))
        lowering.join(layout[0], REALS[layout[2]], added, layout)
    return True


@form("linear_backward")
def _linear_backward(lowering: Lowering, entry: Entry) -> bool:
    g, x, weight = map(lowering.canonical, entry.inputs)
    wanted = entry.params["wanted"]
    kinds = {lowering.layout(slot)[2] for slot in (g, x, weight)}
    if not is_matrix(lowering, weight) or len(kinds) > 1 or not all(map(is_compact, entry.layouts)):
        return False
    if not _can_multiply():
        return False
    g, x = _readable(lowering, g), _readable(lowering, x)
    if not (is_matrix(lowering, g, True) and is_matrix(lowering, x, True)):
        return False
    n, k = lowering.layout(weight)[0]
    m = math.prod(lowering.layout(x)[0][:-1])
    given = iter(zip(entry.outputs, entry.layouts, strict=True))
    by_input, by_weight, by_bias = (next(given) if wants else None for wants in wanted)
    if by_weight:  # first: the input's gradient may lie where the input lies then
        multiply(lowering, by_weight[0], (g, True), (x, False), (n, k, m), by_weight[1])
    if by_input:
        multiply(lowering, by_input[0], (g, False), (weight, False), (m, k, n), by_input[1])
    if by_bias:
        shape, _, kind = lowering.layout(g)
        dims = tuple(range(len(shape) - 1))
        lowering.join(shape, REALS[kind], Sum(by_bias[0], g, dims, 1), by_bias[1])
    return True


def multiply(
    lowering: Lowering, made: Slot, a: tuple[Slot, bool], b: tuple[Slot, bool], sizes: tuple[int, int, int], layout: Layout
) -> None:  # fmt: skip
    """Add a product: operands with whether they are transposed, and (m, n, k)."""
    a, b = (lowering.canonical(a[0]), a[1]), (lowering.canonical(b[0]), b[1])
    lowering.add(Product(made, a, b, sizes), [layout])


def is_matrix(lowering: Lowering, slot: Any, rows: bool = False) -> bool:
    """Whether a slot is a matrix that a BLAS can read; with `rows`, or more dimensions that lie as one."""
    if not isinstance(slot, Slot):
        return False
    layout = lowering.layout(slot)
    shape, _, kind = layout
    if kind not in REALS or not math.prod(shape) or len(shape) < 2:
        return False
    if len(shape) > 2:
        return rows and is_compact(layout)
    return _leading(layout) is not None


def _readable(lowering: Lowering, slot: Slot) -> Slot:
    """A slot whose rows a BLAS can read: itself, or a copy that lies in order."""
    shape, _, kind = lowering.layout(slot)
    if is_matrix(lowering, slot, True) or kind not in REALS or len(shape) < 2 or 0 in shape:
        return slot
    return lowering.copy_in_order(slot)


@cache
def _can_multiply() -> bool:
    """Whether there is a BLAS that programs can call."""
    from ..backends.cpu.programs import can_multiply

    return can_multiply()


def address_of_product(real: Any) -> int:
    """Where the BLAS's product of a type is."""
    from ..backends.cpu import blas

    return blas.address_of_product(real)


def _leading(layout: Layout) -> tuple[int, bool] | None:
    """How a BLAS reads a matrix: the length of its rows in memory, and whether it is stored transposed."""
    (height, width), (down, across), kind = layout
    size = kind.itemsize
    if (
        (across == size or width == 1)
        and down % size == 0
        and (down >= size * width or height == 1)
    ):
        return max(down // size if height > 1 else width, width, 1), False
    if (
        (down == size or height == 1)
        and across % size == 0
        and (across >= size * height or width == 1)
    ):
        return max(across // size if width > 1 else height, height, 1), True
    return None


def leading(layout: Layout) -> tuple[int, bool]:
    """The same for arrays that can be read as a matrix of rows."""
    if len(layout[0]) > 2:
        return layout[0][-1], False
    found = _leading(layout)
    if found is None:
        raise ValueError(f"no BLAS reads {layout}")
    return found
