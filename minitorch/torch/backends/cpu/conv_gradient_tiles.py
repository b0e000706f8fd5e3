"""The gradient of a convolution's weight, compiled by Numba.

Each weight's gradient is one long dot product: of the output's gradient with what its tap
met in the input. The input is laid out in a sheet as for the convolution itself (see
`conv_plans`), the gradient in *lines*: its rows at the positions of the sheet, with zeros
between them, so that both are read as they lie. (An infinite input meets these zeros too:
where an infinite gradient is right this one is NaN.)
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .conv_tiles import SLACK, clear_lines, copy_lines, in_lines, lay_out
from .kernels import from_source, kernel, share
from .vectors import VERBS, lanes

ROWS = 3
"""Rows of the gradient that meet TAPS taps at once: twelve sums of vectors in registers."""

PASS = 1024
"""How many positions are multiplied before the next ones."""

NEAR = 1 << 15
"""How many elements of a sheet stay near while all rows of lines pass."""


def lay_lines(
    gradient: Any, start: int, sample: int, rows: int, count: int, places: Any, line: int, length: int, run: int,
    lines: Any, pitch: int,
) -> None:  # fmt: skip
    """Copy `count` samples, `sample` elements apart, to where their positions are in a sheet.

    A band begins at a line of the gradient; lines that are missing at its end are zeros.
    """
    slices, height, width, band = places
    high = min(band, height - line)
    for r in range(rows):
        for n in range(count * slices):
            p = start + n // slices * sample + (r * slices + n % slices) * height * width
            q = r * pitch + n * run
            copy_lines(lines, q, length, 1, gradient, p + line * width, width, 1, high, width)
            clear_lines(lines, q + high * length, length, band - high, width)


TAPS = 4
"""How many taps meet the gradient at once."""


def _multiplying(rows: int) -> Any:
    """A function that adds the dot products of so many rows of lines with what each tap meets, over some slices.

    It is written out with a variable for each sum: those stay in registers.
    """
    tile = [(r, j) for j in range(TAPS) for r in range(rows)]
    lines = [
        "def multiply(lines, g, sheet, p, offsets, taps, starts, walk, sums, s):",
        " first, last, run, count = walk",
        " n = lanes(sheet)",
        f" for k in range(taps[0], taps[1], {TAPS}):",
        *(f"  tap_{j} = get(offsets, k + {j})" for j in range(TAPS)),
        *(f"  sum_{r}_{j} = zero(sheet)" for r, j in tile),
        "  for m in range(first, last):",
        "   x, y = p + get(starts, m), m * run",
        "   for i in range(0, count, n):",
        *(f"    y_{r} = load(lines, g[{r}] + y + i)" for r in range(rows)),
        *(f"    x_{j} = load(sheet, tap_{j} + x + i)" for j in range(TAPS)),
        *(f"    sum_{r}_{j} = multiply_add(x_{j}, y_{r}, sum_{r}_{j})" for r, j in tile),
    ]
    for r in range(rows):
        given = ", ".join(f"sum_{r}_{j}" for j in range(TAPS))
        lines.append(f"  add_totals(sums, s + {r} * len(offsets) + k, {given})")
    return from_source("\n".join(lines), **VERBS)


multiply_three, multiply_one = _multiplying(ROWS), _multiplying(1)


def gather_block(
    lines: Any, g: int, rows: int, pitch: int, run: int, sheet: Any, p: int, starts: Any, slices: int, channels: int,
    offsets: Any, sums: Any, s: int,
) -> None:  # fmt: skip
    """Add what the slices of a block of samples bring to the gradient of some rows of weights.

    Three rows of lines stay in the inner cache while all taps of some channels pass, and
    these channels stay in the next one while all rows pass.
    """
    step, taps = max(1, PASS // run), len(offsets)
    for m in range(0, slices, step):
        last = min(m + step, slices)
        for q in range(0, run, PASS):
            walk = (m, last, run, min(PASS, run - q))
            near = max(1, NEAR // (walk[3] * (last - m))) * taps // channels // 4 * 4 + 4
            for first in range(0, taps, near):
                some = (first, min(first + near, taps))
                for r in range(0, rows, 1 if rows == 1 else ROWS):
                    at = s + r * taps
                    y0 = g + q + r * pitch
                    y1 = g + q + min(r + 1, rows - 1) * pitch
                    y2 = g + q + min(r + 2, rows - 1) * pitch
                    if rows == 1:
                        multiply_one(lines, (y0,), sheet, p + q, offsets, some, starts, walk, sums, at)  # fmt: skip
                    else:
                        multiply_three(lines, (y0, y1, y2), sheet, p + q, offsets, some, starts, walk, sums, at)  # fmt: skip


def workspace(layout: Any, work: Any, n: int) -> tuple[int, int]:
    """How many elements a task needs for its sheet and for lines, in whole lines of a cache; n are a vector."""
    _, groups, rows, slices, _, width, _, row_parts, in_place = work
    if in_place:
        return 0, 0
    tall = 1 if rows == 1 else ROWS
    tiles = (rows + tall - 1) // tall
    most = min(rows, (groups * tiles + row_parts - 1) // row_parts * tall)
    pitch = layout[0] * slices * run_of(layout, width, n)
    return in_lines(layout[1] * layout[11] + SLACK), in_lines(most * pitch)


def run_of(layout: Any, width: int, n: int) -> int:
    """How many positions a band has, in whole vectors."""
    return ((layout[12] - 1) * layout[7] + width + n - 1) // n * n


def gather_task(
    task: int, gradient: Any, source: Any, sums: Any, room: Any, layout: Any, work: Any, splits: Any, offsets: Any
) -> None:  # fmt: skip
    """The share of one task: some samples, and some tiles of rows in some groups."""
    batch, groups, rows, slices, height, width, sample_parts, row_parts, in_place = work
    block, channels, band = layout[0], layout[1], layout[12]
    depth, lines_apart, length = layout[5:8]
    volume, places = channels * layout[2] * layout[3] * layout[4], slices * height * width
    n = lanes(source)
    run = run_of(layout, width, n)
    tall = 1 if rows == 1 else ROWS
    tiles = (rows + tall - 1) // tall
    part, share = task // row_parts, task % row_parts
    first, last = share * groups * tiles // row_parts, (share + 1) * groups * tiles // row_parts
    end = (part + 1) * batch // sample_parts
    sheet, lines, pitch = source, gradient, places
    if not in_place:
        pitch = block * slices * run
        size, _ = workspace(layout, work, n)
        sheet, lines = room[:size], room[size:]
        clear_lines(room, 0, 0, 1, len(room))
    starts = np.empty(block * slices, np.int64)
    for m in range(len(starts)):
        starts[m] = (m // slices * depth + m % slices) * lines_apart * length
    for group in range(first // tiles, (last + tiles - 1) // tiles):
        low = max(first - group * tiles, 0) * tall
        some = min((last - group * tiles) * tall, rows) - low
        s = ((part * groups + group) * tiles * tall + low) * len(offsets)
        for b in range(part * batch // sample_parts, end, block):
            count = min(block, end - b)
            p, g = (b * groups + group) * volume, ((b * groups + group) * rows + low) * places
            for line in range(0, height, band):
                if not in_place:
                    lay_out(source, p, groups * volume, count, line, layout, splits, sheet)
                    lay_lines(
                        gradient, g, groups * rows * places, some, count, (slices, height, width, band), line,
                        length, run, lines, pitch,
                    )  # fmt: skip
                gather_block(
                    lines, g if in_place else 0, some, pitch, run, sheet, p if in_place else 0, starts,
                    count * slices, channels, offsets, sums, s,
                )  # fmt: skip


@kernel
def gather_all(
    task: int, tasks: int, gradient: Any, source: Any, sums: Any, room: Any, layout: Any, work: Any, splits: Any,
    offsets: Any,
) -> None:  # fmt: skip
    """The gradient of a weight, in as many sums as the batch has parts.

    gradient, source and room, the `workspace` of all parts, are 1-d; sums is (parts of samples, groups, rows, taps), flat; layout,
    splits and offsets are those of a `Plan`; work is samples, groups, rows in each, places (3),
    parts of samples and of rows, whether the input is its own sheet.
    """
    first, last = share(task, tasks, work[6] * work[7])
    size = len(room) // (work[6] * work[7])
    for part in range(first, last):
        own = room[part * size : (part + 1) * size]
        gather_task(part, gradient, source, sums, own, layout, work, splits, offsets)
