"""Entries of a tape that models of sequences are made of: rows of tables, attention, joined tensors."""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from ..formulas.indexing import check_rows
from .kernel_forms import Kernel, are_plain, form
from .loops import bits_of
from .memory import OWN, REALS, is_compact, is_dense
from .product_forms import address_of_product
from .tape import Entry, Layout, Slot

if TYPE_CHECKING:
    from .lowering import Lowering


# --- Rows of tables ----------------------------------------------------------------------------------------


def _is_index(layout: Layout) -> bool:
    return layout[2] == np.int64 and is_compact(layout) and 0 not in layout[0]


@form("embedding")
def _embedding(lowering: Lowering, entry: Entry) -> bool:
    table, index = map(lowering.canonical, entry.inputs)
    real = are_plain(lowering, [table], entry.layouts)
    if real is None or not _is_index(lowering.layout(index)):
        return False
    rows, width = lowering.layout(table)[0]
    count, made = math.prod(lowering.layout(index)[0]), entry.outputs[0]
    check = partial(check_rows, rows=rows), index
    words = [table, index, made, None, rows, count, width]
    step = Kernel("take_rows", real, words, [table, index], [made], count * width, check)
    lowering.add(step, entry.layouts)
    return True


@form("embedding_backward")
def _embedding_backward(lowering: Lowering, entry: Entry) -> bool:
    g, index = entry.inputs
    real = are_plain(lowering, [], entry.layouts)
    if real is None or entry.params["by_frequency"] or not _is_index(lowering.layout(index)):
        return False
    if lowering.layout(g)[2] != np.dtype(real):
        return False
    g, index = lowering.in_order(g), lowering.canonical(index)
    (rows, width), count = entry.layouts[0][0], math.prod(lowering.layout(index)[0])
    padding, made = entry.params["padding_idx"], entry.outputs[0]
    check = partial(check_rows, rows=rows), index
    words = [g, index, made, None, rows, count, width, -1 if padding is None else padding]
    step = Kernel("add_rows", real, words, [g, index], [made], max(count, rows) * width, check)
    lowering.add(step, entry.layouts)
    return True


# --- Attention ---------------------------------------------------------------------------------------------


def _rows_are_whole(layout: Layout) -> bool:
    """Whether the numbers of a row are neighbours, and rows do not overlap."""
    shape, strides, kind = layout
    near = strides[-1] == kind.itemsize or shape[-1] == 1
    return near and strides[-2] >= shape[-1] * kind.itemsize


def _heads(slot: Slot, layout: Layout) -> list[Any]:
    """An operand of attention as words: where it is, and the bytes from a batch, a head and a row to the next."""
    strides = layout[1]
    return [slot, *(0,) * (4 - len(strides)), *strides[:-1]]


def _whole(lowering: Lowering, slot: Slot) -> Slot:
    """A slot whose rows are whole: itself, or a copy."""
    whole = _rows_are_whole(lowering.layout(slot))
    return lowering.canonical(slot) if whole else lowering.copy_in_order(slot)


def _takes_heads(lowering: Lowering, entry: Entry, heads: Any, mask: Any) -> bool:
    from ..backends.cpu.attention_kernels import takes

    layouts = [lowering.layout(slot) for slot in heads]
    kinds = {layout[2] for layout in (*layouts, *entry.layouts)}
    if mask is not None or len(kinds) > 1 or not kinds <= REALS.keys():
        return False
    shapes = [np.broadcast_to(np.empty((), layout[2]), layout[0]) for layout in layouts[:3]]
    made = all(is_dense(layout) and _rows_are_whole(layout) for layout in entry.layouts)
    return made and all(x.size for x in shapes) and takes(*shapes)


def _sizes(lowering: Lowering, query: Slot, value: Slot, params: Any) -> list[int]:
    """Batch, heads, queries, keys, width of keys and of values; causal or not; the scale."""
    *batch, length, width = lowering.layout(query)[0]
    *_, keys, deep = lowering.layout(value)[0]
    batch = [1] * (2 - len(batch)) + batch
    return [*batch, length, keys, width, deep, int(params["causal"]), bits_of(params["scale"])]


def _work(sizes: list[int]) -> int:
    from ..backends.cpu.kernels import PRODUCTS

    batch, heads, length, keys, width, deep = sizes[:6]
    return batch * heads * length * keys * (width + deep) // PRODUCTS


@form("scaled_dot_product_attention")
def _attention(lowering: Lowering, entry: Entry) -> bool:
    *heads, mask = entry.inputs
    if entry.params["scale"] <= 0 or not _takes_heads(lowering, entry, heads, mask):
        return False
    given = [_whole(lowering, slot) for slot in heads]
    sizes = _sizes(lowering, given[0], given[2], entry.params)
    _add_attention(lowering, entry, "attend", given, sizes)
    return True


@form("scaled_dot_product_attention_backward")
def _attention_backward(lowering: Lowering, entry: Entry) -> bool:
    g, query, key, value, mask, weights = entry.inputs
    heads = [query, key, value, g, weights]
    if entry.params["with_mask"] or not _takes_heads(lowering, entry, heads, mask):
        return False
    given = [_whole(lowering, slot) for slot in heads]
    sizes = _sizes(lowering, given[0], given[2], entry.params)
    _add_attention(lowering, entry, "attend_backward", given, sizes)
    return True


def _add_attention(
    lowering: Lowering, entry: Entry, name: str, given: list[Slot], sizes: list[int]
) -> None:
    real, made = entry.layouts[0][2].type, list(entry.outputs)
    words = [word for slot in given for word in _heads(slot, lowering.layout(slot))]
    words += [word for slot, own in zip(made, entry.layouts, strict=True) for word in _heads(slot, own)]  # fmt: skip
    words += [*sizes, address_of_product(real)]
    lowering.add(Kernel(name, real, words, given, made, _work(sizes)), entry.layouts)


# --- Joined tensors ----------------------------------------------------------------------------------------


@form("cat")
def _cat(lowering: Lowering, entry: Entry) -> bool:
    """Each tensor is copied to its part; where a loop computes it, by that loop."""
    layout, made = entry.layouts[0], entry.outputs[0]
    shape, strides, kind = layout
    layouts = [lowering.layout(slot) for slot in entry.inputs]
    if kind not in REALS or any(own[2] != kind or 0 in own[0] for own in layouts):
        return False
    if not is_dense(layout) or any(len(own[0]) != len(shape) for own in layouts):
        return False
    dim, at = entry.params["dim"], 0
    lowering.memory.add(made, OWN, layout, len(lowering.steps))
    for slot, own in zip(entry.inputs, layouts, strict=True):
        part = lowering.view(made, (own[0], strides, kind), at * strides[dim])
        lowering.copy_into(part, lowering.canonical(slot))
        at += own[0][dim]
    return True
